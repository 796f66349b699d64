//! The master restarts. Without `mesh_detection` its slaves may follow it all the time.

use std::time::Duration;

use elevator_driver::FloorCount;
use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{Fault, World, WorldSettings};

use crate::building::{Building, bound_of, millis, mins, seed, up};

const NODES: usize = 3;

/// So high that no car is there before the master leads again.
const CALLS: [u8; 3] = [36, 37, 38];

/// E3, E8, F1: the plan of the new incarnation counts at once, however many versions the plan of
/// the former one had. Otherwise its slave finds the calls without a car, and takes them over.
#[test]
fn the_plan_of_a_restarted_master_counts() {
    for protocol in Protocol::ALL {
        for preset in [Preset::Fleet, Preset::Source] {
            for down in [millis(20), millis(700)] {
                let election = ElectionSettings::preset(protocol, preset);
                let taken_over = a_car_is_lost_after_the_restart(election, down);
                assert_eq!(taken_over, 0, "{protocol}, {preset:?}, {down:?}");
            }
        }
    }
}

/// How many calls the slave has taken over.
fn a_car_is_lost_after_the_restart(election: ElectionSettings, down: Duration) -> u64 {
    let bound = bound_of(&election, NODES) + election.settles_within();
    let mut settings = WorldSettings::new(NODES, seed());
    settings.floors = FloorCount::new(40).expect("floors");
    settings.election = election;
    let mut building = Building::of(settings);
    building.start_all();
    building.until(bound, "one leads", World::has_the_right_master);
    building.run_for(millis(500));
    let master = building.master().expect("one leads");
    let [slave, lost] = [(master + 1) % NODES, (master + 2) % NODES];
    // The plan has as many versions as there are calls, and one car has all of them.
    building.inflict(Fault::StopSwitch(master, true));
    building.inflict(Fault::StopSwitch(slave, true));
    building.run_for(millis(500));
    for floor in CALLS {
        building.press(slave, up(floor));
        building.run_for(millis(300));
    }
    building.inflict(Fault::Kill(master));
    building.run_for(down);
    building.inflict(Fault::Restart(master));
    building.inflict(Fault::StopSwitch(slave, false));
    building.until(bound, "one leads again", World::has_the_right_master);
    building.run_for(millis(500));
    let before = building.taken_over();
    building.inflict(Fault::PowerCut(lost));
    let first = building.call(up(CALLS[0]), slave);
    building.until(mins(4), "the slave's car serves", |world| world.served(&first) > 0);
    let taken_over = building.taken_over() - before;
    building.inflict(Fault::StopSwitch(master, false));
    building.repair_everything();
    building.until_at_rest();
    taken_over
}
