//! How long the dispatcher takes.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::{Direction, FloorCount};
use elevator_fleet::dispatch::{CarSituation, CollectiveCost, Dispatcher, HallDemand, Kinematics};
use elevator_fleet::model::{Availability, CarPhase, CarView, FloorSet, HallCall, Mode, NodeId};
use rustix::time::{ClockId, clock_gettime};

use crate::building::floor;

/// In the thread's own time on the processor: what else the machine does hardly counts.
const LIMIT: Duration = Duration::from_millis(500);

/// How long this thread has run.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a length of time")
}

/// An idle car with passengers for two floors.
fn car(number: u8) -> CarSituation {
    CarSituation {
        car: NodeId::new(&format!("car-{number}")).expect("a name"),
        view: CarView {
            availability: Availability::InService,
            floor: Some(floor(number * 13 % 50)),
            phase: CarPhase::Idle,
            elapsed: Duration::ZERO,
            direction: None,
            load: None,
            locked_out: FloorSet::default(),
            mode: Mode::default(),
        },
        car_calls: BTreeSet::from([floor(number * 7 % 50), floor(number * 11 % 50)]),
    }
}

/// F17: every hall button of a tall building at once.
#[test]
fn a_large_bank_is_planned_long_before_a_person_would_notice() {
    let floors = FloorCount::new(50).expect("a number of floors");
    let cars: Vec<_> = (0..20).map(car).collect();
    let up = (0..49).map(|at| (at, Direction::Up));
    let down = (1..50).map(|at| (at, Direction::Down));
    let fresh = up.chain(down).map(|(at, direction)| HallDemand {
        call: HallCall::new(floor(at), direction),
        waited: Duration::ZERO,
        assigned: None,
    });
    let fresh: Vec<_> = fresh.collect();
    // The worst start: everything with one car.
    let crowded = fresh
        .iter()
        .map(|demand| HallDemand { assigned: Some(cars[3].car.clone()), ..demand.clone() });
    let crowded: Vec<_> = crowded.collect();
    let mut dispatcher = CollectiveCost::new(Kinematics::default(), floors);
    for demand in [fresh, crowded] {
        let times = (0..3).map(|_| {
            let start = processor_time();
            assert_eq!(dispatcher.assign(&cars, &demand).len(), 98);
            processor_time().saturating_sub(start)
        });
        let best = times.min().expect("three");
        println!("98 calls and 20 cars were planned in {best:?}");
        assert!(best < LIMIT, "{best:?}");
    }
}
