//! What people do: they come to a landing, press, board, ride and get off.

mod kiosk;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use elevator_driver::{Direction, DoorState, Floor};

use self::kiosk::Answer;
use super::{Building, Passenger, SplitMix64};

/// After this time somebody whose button stays dark, or who is told no car, presses again.
const PRESS_AGAIN: Duration = Duration::from_secs(3);

/// What people see of a car from a landing, and from inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Landed {
    /// The floor where it stands; `None` while it moves, or between floors.
    pub floor: Option<Floor>,
    pub door: DoorState,
    /// The direction that it announces; `None` while its lantern is dark.
    pub lantern: Option<Direction>,
}

/// How people at a landing call a car.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Panels {
    /// By a button for each direction. The destination is pressed in the car.
    #[default]
    Buttons,
    /// By the destination. The panel says which car to take; the car has no buttons.
    Kiosks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    PressHall(Floor, Direction),
    /// Gives a destination at a landing: from, to.
    GiveDestination(Floor, Floor),
    PressCar(usize, Floor),
    /// Changes the load of a car, in per cent of the rated load.
    Load(usize, u8),
    /// Steps into the door of a car, or leaves it free: the light barrier.
    Doorway(usize, bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Journey {
    pub boarded: Option<Duration>,
    pub exited: Option<Duration>,
}

/// All passengers of a run, and what they do.
///
/// Drive it like everything here: call a `handle_*` method, then drain
/// [`poll_action`](Self::poll_action).
///
/// - Who comes to a landing presses the button, unless it is lit or a car stands open that goes
///   the same way. Where it stays dark, somebody presses again after 3 s.
/// - Riders get off before anybody boards, and one at a time passes the door. People board in the
///   order of their arrival, and only a car that announces their direction.
/// - People board only a car that stops at their destination, and press again when another one
///   has closed its door.
/// - Who would exceed the load or the number of persons of a car stays behind with all behind him,
///   and presses again once its door is closed.
///
/// With [`Panels::Kiosks`], everybody gives the destination on arrival, and again after 3 s without
/// an answer. Each boards only the car that the panel [told](Self::handle_answer), if it announces
/// the right direction, and presses nothing in it. Who is still at the landing when the door of
/// that car is closed gives the destination again.
#[derive(Debug, Clone)]
pub struct Crowd {
    panels: Panels,
    rated_load: f64,
    persons: usize,
    people: Vec<Person>,
    /// The first who has not arrived yet.
    expected: usize,
    landings: BTreeMap<(Floor, Direction), Landing>,
    cabins: Vec<Cabin>,
    actions: VecDeque<Action>,
    passed_by: u32,
}

#[derive(Debug, Clone)]
struct Person {
    passenger: Passenger,
    boarding: Duration,
    alighting: Duration,
    trip: Journey,
    /// What the panel has told, of [`Panels::Kiosks`].
    answer: Answer,
}

#[derive(Debug, Clone, Default)]
struct Landing {
    queue: VecDeque<usize>,
    lit: bool,
    /// When somebody last pressed, unless the lamp or a car has answered since.
    pressed: Option<Duration>,
}

#[derive(Debug, Clone)]
struct Cabin {
    seen: Landed,
    /// The floors at which it does not stop.
    unserved: Vec<u8>,
    riders: Vec<usize>,
    mass: f64,
    passing: Option<Passing>,
}

impl Cabin {
    fn serves(&self, to: Floor) -> bool {
        !self.unserved.contains(&to.index())
    }
}

#[derive(Debug, Clone, Copy)]
struct Passing {
    person: usize,
    way: Way,
    until: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    pub waiting: usize,
    pub riding: usize,
    pub served: usize,
}

impl Crowd {
    /// The passengers of a run, in the order of their arrival, before it starts. The seed
    /// determines how long each of them takes to board and to get off.
    #[must_use]
    pub fn new(building: &Building, passengers: &[Passenger], seed: u64) -> Self {
        // Other numbers than those that the passengers were drawn with.
        let mut random = SplitMix64::new(!seed);
        let people = passengers.iter().map(|&passenger| Person {
            passenger,
            boarding: building.transfer.draw(&mut random),
            alighting: building.transfer.draw(&mut random),
            trip: Journey::default(),
            answer: Answer::None,
        });
        let cabin = |car: usize| Cabin {
            seen: Landed { floor: None, door: DoorState::Closed, lantern: None },
            unserved: building.unserved.get(car).cloned().unwrap_or_default(),
            riders: Vec::new(),
            mass: 0.0,
            passing: None,
        };
        Self {
            panels: Panels::default(),
            rated_load: building.rated_load,
            persons: usize::from(building.persons),
            people: people.collect(),
            expected: 0,
            landings: BTreeMap::new(),
            cabins: (0..building.cars).map(cabin).collect(),
            actions: VecDeque::new(),
            passed_by: 0,
        }
    }

    /// How often somebody saw a car open and leave that does not stop at the destination.
    #[must_use]
    pub fn passed_by(&self) -> u32 {
        self.passed_by
    }

    #[must_use]
    pub fn with_panels(mut self, panels: Panels) -> Self {
        self.panels = panels;
        self
    }

    pub fn trips(&self) -> impl Iterator<Item = (&Passenger, Journey)> {
        self.people.iter().map(|person| (&person.passenger, person.trip))
    }

    #[must_use]
    pub fn is_done(&self) -> bool {
        let Count { waiting, riding, .. } = self.count();
        self.expected == self.people.len() && waiting + riding == 0
    }

    #[must_use]
    pub fn count(&self) -> Count {
        let waiting = self.landings.values().map(|landing| landing.queue.len()).sum();
        let boarding = self.cabins.iter().filter_map(|cabin| cabin.passing);
        let boarding = boarding.filter(|passing| passing.way == Way::In).count();
        let riding = self.cabins.iter().map(|cabin| cabin.riders.len()).sum::<usize>() + boarding;
        Count { waiting, riding, served: self.expected - waiting - riding }
    }

    #[must_use]
    pub fn waiting_at(&self, floor: Floor) -> usize {
        let landings = self.landings.iter().filter(|((at, _), _)| *at == floor);
        landings.map(|(_, landing)| landing.queue.len()).sum()
    }

    pub fn destinations(&self, car: usize) -> impl Iterator<Item = Floor> {
        let riders = self.cabins.get(car).into_iter().flat_map(|cabin| &cabin.riders);
        riders.map(|&rider| self.people[rider].passenger.to)
    }

    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`handle_time`](Self::handle_time) is due; `None` if nothing happens by itself.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let arrival = self.people.get(self.expected).map(|person| person.passenger.arrival);
        let passing = self.cabins.iter().filter_map(|cabin| cabin.passing);
        let passing = passing.map(|passing| passing.until).min();
        let again = self.unserved().filter_map(|(_, landing)| Some(landing.pressed? + PRESS_AGAIN));
        let again = match self.panels {
            Panels::Buttons => again.min(),
            Panels::Kiosks => self.next_question(),
        };
        [arrival, passing, again].into_iter().flatten().min()
    }

    pub fn handle_time(&mut self, now: Duration) {
        while let Some(person) = self.people.get(self.expected)
            && person.passenger.arrival <= now
        {
            let Passenger { from, to, .. } = person.passenger;
            if let Some(direction) = from.direction_to(to) {
                self.landings.entry((from, direction)).or_default().queue.push_back(self.expected);
            }
            self.expected += 1;
        }
        for car in 0..self.cabins.len() {
            self.pass_door(car, now);
        }
        self.press(now);
    }

    /// Shows what a car does, after every change of it.
    pub fn handle_car(&mut self, car: usize, seen: Landed, now: Duration) {
        let Some(cabin) = self.cabins.get_mut(car) else { return };
        let before = std::mem::replace(&mut cabin.seen, seen);
        if before == seen {
            return;
        }
        if before.door != DoorState::Closed
            && seen.door == DoorState::Closed
            && let Some(floor) = seen.floor
        {
            let queue = |way| self.landings.get(&(floor, way)).map(|landing| &landing.queue);
            for &person in before.lantern.and_then(queue).into_iter().flatten() {
                let goes = self.cabins[car].serves(self.people[person].passenger.to);
                self.passed_by += u32::from(!goes && self.panels == Panels::Buttons);
            }
            for direction in Direction::BOTH {
                if let Some(landing) = self.landings.get_mut(&(floor, direction)) {
                    landing.pressed = None;
                }
            }
            self.leave_behind(car, floor);
        }
        self.pass_door(car, now);
        self.press(now);
    }

    /// Shows whether the lamp of a hall button is lit, after every change of it.
    pub fn handle_lamp(&mut self, floor: Floor, direction: Direction, lit: bool, now: Duration) {
        if let Some(landing) = self.landings.get_mut(&(floor, direction)) {
            landing.lit = lit;
            landing.pressed = None;
            self.press(now);
        }
    }

    /// Lets people through the door of a car, one after the other.
    fn pass_door(&mut self, car: usize, now: Duration) {
        let was_occupied = self.cabins[car].passing.is_some();
        loop {
            if let Some(passing) = self.cabins[car].passing {
                if passing.until > now {
                    break;
                }
                self.finish(car, passing);
            }
            let Some(passing) = self.next_through(car, now) else { break };
            self.cabins[car].passing = Some(passing);
        }
        let is_occupied = self.cabins[car].passing.is_some();
        if was_occupied != is_occupied {
            self.actions.push_back(Action::Doorway(car, is_occupied));
        }
    }

    fn finish(&mut self, car: usize, Passing { person, way, until }: Passing) {
        let cabin = &mut self.cabins[car];
        cabin.passing = None;
        let Person { passenger, trip, .. } = &mut self.people[person];
        match way {
            Way::In => {
                cabin.riders.push(person);
                match self.panels {
                    Panels::Buttons => self.actions.push_back(Action::PressCar(car, passenger.to)),
                    Panels::Kiosks => {}
                }
            }
            Way::Out => {
                cabin.riders.retain(|rider| *rider != person);
                cabin.mass -= passenger.mass;
                trip.exited = Some(until);
                self.report_load(car);
            }
        }
    }

    fn next_through(&mut self, car: usize, now: Duration) -> Option<Passing> {
        let cabin = &self.cabins[car];
        let Landed { floor: Some(floor), door: DoorState::Open, lantern } = cabin.seen else {
            return None;
        };
        let leaves = |rider: &&usize| self.people[**rider].passenger.to == floor;
        if let Some(&person) = cabin.riders.iter().find(leaves) {
            let until = now + self.people[person].alighting;
            return Some(Passing { person, way: Way::Out, until });
        }
        let place = (floor, lantern?);
        let queue = &self.landings.get(&place)?.queue;
        let position = queue.iter().position(|&person| match self.panels {
            Panels::Buttons => cabin.serves(self.people[person].passenger.to),
            Panels::Kiosks => self.is_told(person, car),
        })?;
        let &person = queue.get(position)?;
        if !self.fits(cabin, person) {
            return None;
        }
        self.landings.get_mut(&place)?.queue.remove(position);
        let Person { passenger, boarding, trip, .. } = &mut self.people[person];
        trip.boarded = Some(now);
        let until = now + *boarding;
        self.cabins[car].mass += passenger.mass;
        self.report_load(car);
        Some(Passing { person, way: Way::In, until })
    }

    fn fits(&self, cabin: &Cabin, person: usize) -> bool {
        let boarding = cabin.passing.is_some_and(|passing| passing.way == Way::In);
        let mass = cabin.mass + self.people[person].passenger.mass;
        mass <= self.rated_load && cabin.riders.len() + usize::from(boarding) < self.persons
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to 100, as nobody exceeds the rated load"
    )]
    fn report_load(&mut self, car: usize) {
        let percent = (100.0 * self.cabins[car].mass.max(0.0) / self.rated_load).round() as u8;
        self.actions.push_back(Action::Load(car, percent));
    }

    fn press(&mut self, now: Duration) {
        match self.panels {
            Panels::Buttons => self.press_buttons(now),
            Panels::Kiosks => self.give_destinations(now),
        }
    }

    fn press_buttons(&mut self, now: Duration) {
        let is_due = |landing: &Landing| landing.pressed.is_none_or(|at| now >= at + PRESS_AGAIN);
        let due = self.unserved().filter(|(_, landing)| is_due(landing));
        let due: Vec<_> = due.map(|(place, _)| place).collect();
        for (floor, direction) in due {
            if let Some(landing) = self.landings.get_mut(&(floor, direction)) {
                landing.pressed = Some(now);
            }
            self.actions.push_back(Action::PressHall(floor, direction));
        }
    }

    /// The landings where somebody waits whose button is dark and for whom no car is there.
    fn unserved(&self) -> impl Iterator<Item = ((Floor, Direction), &Landing)> {
        self.landings.iter().filter_map(|(&(floor, direction), landing)| {
            landing.queue.front()?;
            let stands_here = |cabin: &Cabin| self.stands_here(cabin, floor, direction, landing);
            let served = landing.lit || self.cabins.iter().any(stands_here);
            (!served).then_some(((floor, direction), landing))
        })
    }

    /// Whether a car is here for those who wait: open, about to be, or not worth calling back, as
    /// it is too full or goes elsewhere.
    fn stands_here(
        &self,
        cabin: &Cabin,
        floor: Floor,
        direction: Direction,
        landing: &Landing,
    ) -> bool {
        let seen = cabin.seen;
        if seen.floor != Some(floor) || seen.lantern != Some(direction) {
            return false;
        }
        match seen.door {
            DoorState::Open | DoorState::Opening => true,
            DoorState::Closing => {
                let goes = |&&person: &&usize| cabin.serves(self.people[person].passenger.to);
                landing.queue.iter().find(goes).is_none_or(|&first| !self.fits(cabin, first))
            }
            DoorState::Closed => false,
        }
    }
}
