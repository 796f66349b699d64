//! Passengers who press at random: at a landing, and in the cabin that came for them, where they
//! weigh something.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use elevator_driver::{Building, Button, DoorState, Entrance, Floor, Side};
use elevator_fleet::model::{Call, HallCall};
use elevator_simulator::building::{Pattern, SplitMix64};
use elevator_simulator::car::PERSONS;
use liftmesh_lab::{Act, World};
use serde::{Deserialize, Serialize};

/// How long somebody takes from the landing to the buttons of the cabin.
const BOARDING: Duration = Duration::from_millis(1_500);

/// Whoever finds a full car presses again after this time.
const FULL: Duration = Duration::from_secs(10);

/// Whose button is dark after this time gets off at the next open door: the trip was cancelled.
const LIT: Duration = Duration::from_secs(10);

/// So many wait at a landing in each direction at most; others take the stairs.
const MOST_WAITING: usize = 20;

/// How many passengers come, and where they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demand {
    /// How many come in a minute on average, at most 600; 0: nobody.
    pub passengers: u32,
    /// Where they come from, and where they go.
    pub pattern: Pattern,
}

impl Demand {
    /// The most passengers in a minute.
    pub const MOST: u32 = 600;
}

/// Passengers by seed. They draw from a separate generator, and only when they come, so that the
/// same seed gives the same trips whatever is done to the fleet meanwhile.
#[derive(Debug)]
pub(crate) struct Passengers {
    random: SplitMix64,
    building: Arc<Building>,
    demand: Demand,
    next: Duration,
    /// Where those go who wait at a landing.
    waiting: BTreeMap<HallCall, Vec<Floor>>,
    /// Who is about to press in a cabin, or again at a landing, by when: the node, and the button.
    boarding: BTreeMap<Duration, Vec<(usize, Button)>>,
    riding: Vec<Rider>,
    /// How many services of the world have been looked at.
    looked_at: usize,
}

#[derive(Debug)]
struct Rider {
    node: usize,
    to: Floor,
    since: Duration,
}

impl Passengers {
    pub(crate) fn new(seed: u64, building: Arc<Building>, demand: Demand) -> Self {
        let random = SplitMix64::new(seed ^ 0x9a55_e26e);
        let mut passengers = Self {
            random,
            building,
            demand,
            next: Duration::MAX,
            waiting: BTreeMap::new(),
            boarding: BTreeMap::new(),
            riding: Vec::new(),
            looked_at: 0,
        };
        passengers.set_demand(demand, Duration::ZERO);
        passengers
    }

    /// From here on they come like this.
    pub(crate) fn set_demand(&mut self, demand: Demand, now: Duration) {
        self.demand = demand;
        self.next = self.after(now);
    }

    pub(crate) fn demand(&self) -> Demand {
        self.demand
    }

    /// How many wait at the landings.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.values().map(Vec::len).sum()
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
            let press = |(node, button)| Act::Press { node, button };
            presses.extend(boarding.remove().into_iter().map(press));
        }
        if self.next <= now {
            presses.extend(self.arrive(world));
            self.next = self.after(now);
        }
        presses
    }

    /// Somebody comes to a landing, and presses at the panel of any node.
    fn arrive(&mut self, world: &World) -> Option<Act> {
        let trip = self.demand.pattern.trip(self.building.floors(), &mut self.random);
        let node = usize::from(self.random.below(u8::try_from(world.size()).unwrap_or(u8::MAX)));
        let (from, to) = trip?;
        let rear = Entrance { floor: from, side: Side::Rear };
        let has_rear = self.building.has(rear);
        let at = if has_rear && self.random.below(2) == 0 { rear } else { from.into() };
        let rides =
            |car, at| [at, to.into()].iter().all(|it| self.building.door(car, *it).is_some());
        let mut cars = (0..world.size()).map(|node| world.name(node).as_str());
        // Where not every car goes, passengers say at a kiosk where they want to.
        let call = if cars.clone().all(|car| rides(car, at)) {
            HallCall::at(at, from.direction_to(to)?)
        } else if cars.any(|car| rides(car, from.into())) {
            HallCall::to(from, to)?
        } else {
            return None;
        };
        let waiting = self.waiting.entry(call).or_default();
        if waiting.len() >= MOST_WAITING {
            return None;
        }
        waiting.push(to);
        Some(match call.to {
            Some(to) => Act::Request { node, from, to },
            None => Act::Press { node, button: Button::hall(at, call.direction) },
        })
    }

    /// Those who were waiting where a car has come board it as far as there is room; those who are
    /// where they want to be get off.
    pub(crate) fn board(&mut self, world: &mut World) {
        let before = self.riders(world);
        let now = world.now();
        self.riding.retain(|Rider { node, to, since }| {
            let inputs = world.car(*node).inputs();
            let cancelled = now > *since + LIT && !world.is_lit(*node, Button::Car(*to));
            inputs.door != DoorState::Open || inputs.floor != Some(*to) && !cancelled
        });
        for service in world.services().iter().skip(self.looked_at) {
            let (node, at) = (service.node, service.at);
            let Call::Hall(call) = &service.call else {
                continue;
            };
            let mut waiting = self.waiting.remove(call).unwrap_or_default();
            let riders = self.riding.iter().filter(|rider| rider.node == node).count();
            let room = PERSONS.saturating_sub(riders).min(waiting.len());
            let left = waiting.split_off(room);
            if !left.is_empty() {
                let button = Button::hall(call.entrance(), call.direction);
                self.boarding.entry(at + FULL).or_default().push((node, button));
                self.waiting.insert(*call, left);
            }
            let floors: BTreeSet<Floor> = waiting.iter().copied().collect();
            let presses = floors.into_iter().map(|floor| (node, Button::Car(floor)));
            self.boarding.entry(at + BOARDING).or_default().extend(presses);
            self.riding.extend(waiting.into_iter().map(|to| Rider { node, to, since: at }));
        }
        self.looked_at = world.services().len();
        for (node, (before, after)) in before.into_iter().zip(self.riders(world)).enumerate() {
            if before != after {
                world.set_people(node, after);
            }
        }
    }

    /// How many ride in each car.
    fn riders(&self, world: &World) -> Vec<usize> {
        let riders = |node| self.riding.iter().filter(|rider| rider.node == node).count();
        (0..world.size()).map(riders).collect()
    }

    fn after(&mut self, now: Duration) -> Duration {
        if self.demand.passengers == 0 {
            return Duration::MAX;
        }
        // Independent arrivals.
        let gap = self.random.exponential(f64::from(self.demand.passengers) / 60.0);
        now + Duration::from_secs_f64(gap)
    }
}
