//! A building that is looked at closely.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use elevator_driver::Button;
use elevator_fleet::model::CarPhase;
use elevator_simulator::{CarState, ControlClient};
use liftmesh_harness::building::{Building, PATIENCE};

pub(crate) const CARS: [&str; 3] = ["A", "B", "C"];

/// A bank as large as they usually are.
pub(crate) const BANK: [&str; 8] = ["A", "B", "C", "D", "E", "F", "G", "H"];

/// Between two looks at the panels.
const LOOK_EVERY: Duration = Duration::from_micros(500);

/// The panels of some cars, with open connections to them.
pub(crate) struct Panels(Vec<ControlClient>);

impl Panels {
    pub(crate) fn of(building: &Building, names: &[&str]) -> Self {
        Self(names.iter().map(|name| building.panel(name)).collect())
    }

    /// Waits until one, or every one, of the panels shows something.
    pub(crate) fn until(&mut self, which: Which, shows: impl Fn(&CarState) -> bool) -> Instant {
        let began = Instant::now();
        let mut seen = vec![false; self.0.len()];
        loop {
            for (panel, seen) in self.0.iter_mut().zip(&mut seen) {
                *seen = *seen || shows(&panel.state().expect("a state"));
            }
            let enough = match which {
                Which::Any => seen.contains(&true),
                Which::All => !seen.contains(&false),
            };
            if enough {
                return Instant::now();
            }
            assert!(began.elapsed() < PATIENCE, "waited in vain");
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// How many panels have to show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Any,
    All,
}

/// Brings each car to its floor, and waits until nothing moves and nothing is open.
pub(crate) fn rest(building: &Building, places: &[(&str, u8)]) {
    until_idle(building, places);
    for (name, floor) in places {
        if building.car(name).floor != Some(building.floor(*floor)) {
            building.press(name, building.car_call(*floor));
            building.wait("it is there", |building| {
                building.car(name).is_at_rest_at(building.floor(*floor))
            });
        }
    }
    until_idle(building, places);
}

fn until_idle(building: &Building, places: &[(&str, u8)]) {
    building.wait("everything is at rest", |building| {
        places.iter().all(|(name, _)| {
            building.status(name).is_some_and(|status| {
                let car = status.car.as_ref();
                let idle = car.is_some_and(|car| {
                    car.view.is_in_service() && car.view.phase == CarPhase::Idle
                });
                let merged = status.peers.len() + 1 == places.len()
                    && status.peers.iter().all(|peer| peer.in_step);
                idle && merged && status.orders.is_empty()
            })
        })
    });
}

/// Pulls or pushes the stop switches, so that orders stay open.
pub(crate) fn stop(building: &Building, names: &[&str], word: &str) {
    for name in names {
        let command = format!("stop {word}");
        building.panel(name).send(&command).expect("a stop switch");
    }
}

/// Every button of a car's panel that the others show too.
pub(crate) fn halls(building: &Building, floors: u8) -> Vec<Button> {
    use elevator_driver::Direction::{Down, Up};
    let up = (0..floors - 1).map(|floor| building.hall(floor, Up));
    let down = (1..floors).map(|floor| building.hall(floor, Down));
    up.chain(down).collect()
}

/// Does something over and over on a thread of its own until the measurement has ended.
pub(crate) fn while_repeating<T>(mut step: impl FnMut() + Send, measure: impl FnOnce() -> T) -> T {
    /// Ends it even where the measurement panics.
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                step();
            }
        });
        let _done = Done(&is_done);
        measure()
    })
}
