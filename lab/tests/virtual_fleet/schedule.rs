//! The schedules of `liftmesh demo --chaos`, in virtual time.

use fastrand::Rng;
use liftmesh_lab::{Schedule, ScheduleSettings, ScheduledFault, World, WorldSettings};

use crate::building::{Building, car_call, down, millis, mins, secs, seed, up};

const NODES: usize = 3;

/// E1, F6 to F9, F12, F13, O1, O7, S1: every fault once a round, at a node with nothing else wrong.
#[test]
fn every_order_is_served_under_a_schedule_of_faults() {
    for seed in seed()..seed() + 8 {
        let mut building = Building::of(WorldSettings::new(NODES, seed));
        building.start_all();
        building.run_for(secs(3));
        let start = building.now();
        let schedule = Schedule::new(seed, NODES, ScheduleSettings::default());
        let mut random = Rng::with_seed(seed ^ 0x5c4e);
        let mut lasting: Vec<ScheduledFault> = Vec::new();
        for fault in schedule.take_while(|fault| fault.at < mins(1)) {
            while building.now() < start + fault.at {
                let node = random.usize(..NODES);
                let button = match random.u8(..3) {
                    0 => up(random.u8(..3)),
                    1 => down(random.u8(1..4)),
                    _ => car_call(random.u8(..4)),
                };
                building.press(node, button);
                building.run_for(millis(random.u64(20..500)));
                let now = building.now();
                let over = lasting.extract_if(.., |fault| start + fault.at + fault.lasts <= now);
                over.for_each(|fault| building.end(fault.kind, fault.node));
            }
            let is_sound = |node: &usize| lasting.iter().all(|fault| fault.node != *node);
            let mut nodes = (0..NODES).map(|step| (fault.node + step) % NODES);
            if let Some(node) = nodes.find(is_sound) {
                building.begin(fault.kind, node);
                lasting.push(ScheduledFault { node, ..fault });
            }
        }
        let rests =
            |world: &World| world.is_idle() && world.in_step() && world.has_the_right_master();
        // A car may come to count as hung after its motor has been repaired.
        let rested = (0..20).any(|_| {
            building.repair_everything();
            building.run_until(secs(25), rests).is_some()
        });
        assert!(rested, "seed {seed}: {}", building.story(120));
        assert!(!building.services().is_empty(), "nobody was served");
        assert!(building.broken_promises().is_empty(), "seed {seed}: {}", building.story(120));
    }
}
