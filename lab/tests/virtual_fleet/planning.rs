//! A master whose plans take their time.

use liftmesh_lab::{Fault, WorldSettings};

use crate::building::{Building, car_call, down, millis, secs, seed, up};

/// A bank whose plans take up to a second.
fn slow_planners(nodes: usize, seed: u64) -> Building {
    let mut settings = WorldSettings::new(nodes, seed);
    settings.planning = 0..=1_000_000;
    let mut building = Building::of(settings);
    building.start_all();
    building.run_for(secs(2));
    building
}

/// F6, O7: what has changed since a plan was asked for does no harm.
#[test]
fn a_late_plan_harms_nobody() {
    for round in 0..4 {
        let seed = seed() + round;
        let mut building = slow_planners(4, seed);
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..60 {
            let at = random.u8(0..4);
            let button = [up(at), down(at), car_call(at)][random.usize(0..3)];
            building.press(random.usize(0..4), button);
            let node = random.usize(0..4);
            match random.u8(0..12) {
                0 => building.inflict(Fault::Kill(node)),
                1 => building.inflict(Fault::StopSwitch(node, true)),
                2 => building.inflict(Fault::Partition(vec![vec![0, 1], vec![2, 3]])),
                3 => building.inflict(Fault::Suspend(node)),
                4..8 => building.repair_everything(),
                _ => {}
            }
            building.run_for(millis(random.u64(10..3_000)));
        }
        building.recovers();
    }
}
