//! Passengers who press at random: at a landing, and in the cabin that came for them.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Button, Direction, Floor, FloorCount};
use elevator_fleet::model::Call;
use fastrand::Rng;
use liftmesh_lab::{Act, World};

/// How long somebody takes from the landing to the buttons of the cabin.
const BOARDING: Duration = Duration::from_millis(1_500);

/// Passengers by seed. They draw from a generator of their own, so that the same seed gives the same
/// presses whatever is done to the fleet meanwhile.
#[derive(Debug)]
pub(crate) struct Passengers {
    random: Rng,
    floors: FloorCount,
    /// How many come in a minute on average.
    per_minute: u32,
    next: Duration,
    /// Who is about to press in a cabin, by when: the node, and the floor.
    boarding: BTreeMap<Duration, Vec<(usize, Floor)>>,
    /// How many services of the world have been looked at.
    looked_at: usize,
}

impl Passengers {
    pub(crate) fn new(seed: u64, floors: FloorCount, per_minute: u32) -> Self {
        let random = Rng::with_seed(seed ^ 0x9a55_e26e);
        let mut passengers = Self {
            random,
            floors,
            per_minute,
            next: Duration::MAX,
            boarding: BTreeMap::new(),
            looked_at: 0,
        };
        passengers.set_rate(per_minute, Duration::ZERO);
        passengers
    }

    /// From here on so many come in a minute on average; 0: nobody.
    pub(crate) fn set_rate(&mut self, per_minute: u32, now: Duration) {
        self.per_minute = per_minute;
        self.next = self.after(now);
    }

    /// When somebody presses next.
    pub(crate) fn due(&self) -> Duration {
        let boarding = self.boarding.keys().next().copied();
        boarding.map_or(self.next, |boarding| boarding.min(self.next))
    }

    /// What is pressed at this moment.
    pub(crate) fn presses(&mut self, world: &World) -> Vec<Act> {
        let now = world.now();
        let mut presses = Vec::new();
        while let Some(boarding) = self.boarding.first_entry().filter(|entry| *entry.key() <= now) {
            let press = |(node, floor)| Act::Press { node, button: Button::Car(floor) };
            presses.extend(boarding.remove().into_iter().map(press));
        }
        if self.next <= now {
            let node = self.random.usize(0..world.size());
            let button = Button::Hall(self.floor(), self.direction());
            if self.floors.has_button(button) {
                presses.push(Act::Press { node, button });
            }
            self.next = self.after(now);
        }
        presses
    }

    /// Those who were waiting where a car has come board it.
    pub(crate) fn board(&mut self, world: &World) {
        let services = world.services();
        for service in services.iter().skip(self.looked_at) {
            let Call::Hall(call) = &service.call else {
                continue;
            };
            let onwards = |floor: &Floor| call.floor.direction_to(*floor) == Some(call.direction);
            let floors: Vec<Floor> = self.floors.floors().filter(onwards).collect();
            if let Some(floor) = self.random.choice(floors) {
                self.boarding.entry(service.at + BOARDING).or_default().push((service.node, floor));
            }
        }
        self.looked_at = services.len();
    }

    fn after(&mut self, now: Duration) -> Duration {
        if self.per_minute == 0 {
            return Duration::MAX;
        }
        let mean = 60.0 / f64::from(self.per_minute);
        // Independent arrivals: exponential gaps. 1 - [0, 1) is not 0.
        let gap = -mean * (1.0 - self.random.f64()).ln();
        now + Duration::from_secs_f64(gap)
    }

    fn floor(&mut self) -> Floor {
        let floors: Vec<Floor> = self.floors.floors().collect();
        self.random.choice(floors).unwrap_or(Floor::BOTTOM)
    }

    fn direction(&mut self) -> Direction {
        if self.random.bool() { Direction::Up } else { Direction::Down }
    }
}
