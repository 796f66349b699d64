//! Drives one car through its calls and adds up what that costs its passengers.

use elevator_driver::Direction;

use super::model::{Call, Door, Model, Start};
use super::traffic::Traffic;
use super::{Weights, count_as};
use crate::dispatch::side;
use crate::model::FloorSet;

/// Passengers arrive behind a button for at most this many seconds before they count as one crowd.
const CROWD: f64 = 60.0;

/// Riders who get off beyond the last stop spend this share of the way there in the car.
const SHARE_OF_THE_WAY: f64 = 0.6;

/// Stops beyond the last one weigh half: a rider does not wait for those after his own.
const SHARE_OF_THE_STOPS: f64 = 0.5;

/// The calls of a car by direction and floor, as indices.
#[derive(Debug, Clone)]
pub(super) struct CallTable {
    /// The first call of each landing.
    by_side: [Vec<Option<usize>>; 2],
    /// By call: the next one from the same landing, in ascending order.
    next: Vec<Option<usize>>,
    numbers: [usize; 2],
}

impl CallTable {
    pub(super) fn new(floors: usize, calls: usize) -> Self {
        Self {
            by_side: [vec![None; floors], vec![None; floors]],
            next: vec![None; calls],
            numbers: [0; 2],
        }
    }

    pub(super) fn add(&mut self, call: &Call, index: usize) {
        let (head, next) = (&mut self.by_side[side(call.direction)][call.floor], &mut self.next);
        self.numbers[side(call.direction)] += usize::from(head.is_none());
        let mut link = head;
        while let Some(other) = link.filter(|&other| other < index) {
            link = &mut next[other];
        }
        let after = link.replace(index);
        next[index] = after;
    }

    pub(super) fn remove(&mut self, call: &Call, index: usize) {
        let after = self.next[index].take();
        let (head, next) = (&mut self.by_side[side(call.direction)][call.floor], &mut self.next);
        let mut link = head;
        while let Some(other) = link.filter(|&other| other != index) {
            link = &mut next[other];
        }
        *link = after;
        let is_empty = self.by_side[side(call.direction)][call.floor].is_none();
        self.numbers[side(call.direction)] -= usize::from(is_empty);
    }

    fn get(&self, floor: usize, direction: Direction) -> Option<usize> {
        self.by_side[side(direction)][floor]
    }
}

/// Who is expected behind each call: computed once for all drives.
#[derive(Debug, Clone)]
pub(super) struct Crowds {
    floors: usize,
    rates: Vec<f64>,
    /// By call and floor: the share that gets off there.
    shares: Vec<f64>,
    /// With destinations, by floor: seconds to where passengers come from.
    away: Vec<f64>,
}

impl Crowds {
    pub(super) fn new(model: &Model, traffic: &Traffic, calls: &[Call]) -> Self {
        let floors = model.floors();
        let mut shares = vec![0.0; calls.len() * floors];
        for (call, shares) in calls.iter().zip(shares.chunks_exact_mut(floors)) {
            traffic.spread(call.floor, call.direction, shares);
        }
        let rates = calls.iter().zip(shares.chunks_exact(floors)).map(|(call, shares)| {
            let share = call.to.map_or(1.0, |to| shares[usize::from(to.index())]);
            share * traffic.rate(call.floor, call.direction)
        });
        let rates = rates.collect();
        let has_destinations = calls.iter().any(|call| call.to.is_some());
        let away = if has_destinations { traffic.away(model) } else { Vec::new() };
        Self { floors, rates, shares, away }
    }

    fn shares(&self, call: usize) -> &[f64] {
        &self.shares[call * self.floors..][..self.floors]
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub(super) cost: f64,
    /// Seconds until the last passenger has left.
    pub(super) free: f64,
    /// Where that is.
    pub(super) end: usize,
    pub(super) first: Direction,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) model: &'a Model,
    pub(super) crowds: &'a Crowds,
    pub(super) calls: &'a [Call],
    pub(super) weights: Weights,
}

impl Scene<'_> {
    /// The better of both first directions, where there is a choice. `guests` is scratch space.
    pub(super) fn drive(self, start: &Start, table: &CallTable, guests: &mut [f64]) -> Outcome {
        if let Some(direction) = start.direction {
            return Drive::new(self, start, table, guests, direction).outcome();
        }
        let up = Drive::new(self, start, table, guests, Direction::Up).outcome();
        let down = Drive::new(self, start, table, guests, Direction::Down).outcome();
        if down.cost < up.cost { down } else { up }
    }
}

/// The floors of the three sweeps: on ahead, back over all floors, and on from behind the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sweep {
    On,
    Back,
    OnFromBehind,
}

struct Drive<'a> {
    scene: Scene<'a>,
    start: &'a Start,
    table: &'a CallTable,
    first: Direction,
    at: usize,
    clock: f64,
    cost: f64,
    riders: f64,
    /// Expected riders by destination: those who have boarded during the drive.
    guests: &'a mut [f64],
    has_guests: bool,
    /// Where passengers of destination calls get off: sure stops.
    destinations: FloorSet,
    /// The calls and the floors of known riders still ahead in any sweep.
    calls_left: [usize; 2],
    wanted_left: usize,
    /// The seconds of the stops for guests since the last sure one, and how many got off there.
    detour: f64,
    gone: f64,
    served: Option<usize>,
    /// It is still on the flight of the start.
    in_flight: bool,
}

impl<'a> Drive<'a> {
    fn new(
        scene: Scene<'a>,
        start: &'a Start,
        table: &'a CallTable,
        guests: &'a mut [f64],
        first: Direction,
    ) -> Self {
        guests.fill(0.0);
        Self {
            scene,
            start,
            table,
            first,
            at: start.floor,
            clock: start.shut,
            cost: 0.0,
            riders: start.riders,
            guests,
            has_guests: false,
            destinations: FloorSet::default(),
            calls_left: table.numbers,
            wanted_left: start.wanted - usize::from(start.lets_out()),
            detour: 0.0,
            gone: 0.0,
            served: None,
            in_flight: start.reach.is_some(),
        }
    }

    fn outcome(mut self) -> Outcome {
        self.leave_open_door();
        self.sweep(Sweep::On);
        self.sweep(Sweep::Back);
        self.sweep(Sweep::OnFromBehind);
        if let Some(reach) = self.start.reach.as_ref().filter(|_| self.in_flight) {
            self.clock += reach[self.at];
        }
        self.cost += self.scene.weights.busy * self.clock;
        let away = self.scene.crowds.away.get(self.at).copied().unwrap_or_default();
        self.cost += self.scene.weights.busy * away;
        Outcome { cost: self.cost, free: self.clock, end: self.at, first: self.first }
    }

    /// Each passenger through an open door restarts the dwell; a closing one opens again.
    fn leave_open_door(&mut self) {
        let Model { dwell, closing, transfer, .. } = *self.scene.model;
        let here = self.at;
        let call = self.table.get(here, self.first);
        match self.start.door {
            Door::Shut => return,
            Door::Open(after) => {
                let mut passing = self.start.off[here];
                self.riders -= passing;
                if let Some(call) = call {
                    self.serve_at_once(call);
                    passing += self.board(call, after);
                }
                if passing > 0.0 {
                    self.clock = self.clock.max(after + dwell + passing * transfer + closing);
                }
            }
            Door::Closing(after) => {
                if let Some(call) = call {
                    self.serve_at_once(call);
                    let boarding = self.board(call, after);
                    self.clock = after + dwell + boarding * transfer + closing;
                }
            }
        }
        self.cost += self.scene.weights.riding * self.riders * self.clock;
    }

    fn sweep(&mut self, sweep: Sweep) {
        let origin = self.start.floor;
        let way = if sweep == Sweep::Back { self.first.opposite() } else { self.first };
        let top = self.scene.model.floors() - 1;
        // Distances from the floor at which the sweep begins, if it went from end to end.
        let turn = if way == Direction::Up { origin } else { top - origin };
        let steps = match sweep {
            Sweep::On => turn..=top,
            Sweep::OnFromBehind if turn == 0 => return,
            Sweep::Back | Sweep::OnFromBehind => 0..=top,
        };
        for step in steps {
            let is_done = self.calls_left[side(way)] == 0 && self.wanted_left == 0;
            if is_done && !self.has_guests {
                break;
            }
            let floor = match way {
                Direction::Up => step,
                Direction::Down => top - step,
            };
            let is_wanted = match sweep {
                Sweep::On => !(floor == origin && self.start.lets_out()),
                // Riders ahead have got off in the sweep before.
                Sweep::Back => step > turn,
                Sweep::OnFromBehind => false,
            };
            let wanted = is_wanted && self.start.wants[floor];
            let is_again = sweep == Sweep::OnFromBehind && step >= turn;
            let call = self.table.get(floor, way).filter(|&call| Some(call) != self.served);
            let call = call.filter(|_| !is_again);
            self.wanted_left -= usize::from(wanted);
            self.calls_left[side(way)] -= usize::from(call.is_some());
            if call.is_some() || wanted || self.is_destination(floor) {
                self.stop(floor, call, wanted);
            } else if is_again && !self.has_destinations() {
                break;
            } else if self.has_guests && !is_again {
                self.stop_for_guests(floor);
            }
        }
        self.run_out(way);
        self.has_guests = false;
    }

    fn has_destinations(&self) -> bool {
        self.destinations != FloorSet::default()
    }

    fn is_destination(&self, floor: usize) -> bool {
        self.has_destinations()
            && super::floor(floor).is_some_and(|floor| self.destinations.contains(floor))
    }

    fn serve_at_once(&mut self, call: usize) {
        self.served = Some(call);
        self.calls_left[side(self.first)] -= 1;
    }

    fn stop(&mut self, floor: usize, call: Option<usize>, wanted: bool) {
        let Model { opening, closing, dwell, transfer, .. } = *self.scene.model;
        let time = self.flight(floor) + self.detour;
        self.cost += self.scene.weights.riding * (self.riders - self.gone / 2.0) * time;
        self.riders -= self.gone;
        (self.detour, self.gone) = (0.0, 0.0);
        self.clock += time + opening;
        self.at = floor;

        let mut passing = std::mem::take(&mut self.guests[floor]);
        if let Some(floor) = super::floor(floor) {
            self.destinations.remove(floor);
        }
        if wanted {
            passing += self.start.off[floor];
        }
        self.riders = (self.riders - passing).max(0.0);
        if let Some(call) = call {
            passing += self.board(call, self.clock);
        }
        let stay = dwell + passing * transfer + closing;
        self.cost += self.scene.weights.riding * self.riders * (opening + stay);
        self.clock += stay;
    }

    fn flight(&mut self, floor: usize) -> f64 {
        let travel = self.scene.model.travel(self.at, floor);
        let Some(reach) = self.start.reach.as_ref().filter(|_| self.in_flight) else {
            return travel;
        };
        self.in_flight = false;
        let is_ahead = match self.start.direction {
            Some(Direction::Down) => floor <= self.at,
            Some(Direction::Up) | None => floor >= self.at,
        };
        if is_ahead { reach[floor] } else { reach[self.at] + travel }
    }

    /// A floor without a call: some guests may get off.
    fn stop_for_guests(&mut self, floor: usize) {
        let guests = std::mem::take(&mut self.guests[floor]);
        if guests > 0.0 {
            let Model { opening, closing, dwell, transfer, ramps, .. } = *self.scene.model;
            let probability = (guests / (1.0 + 0.58 * guests)).min(1.0);
            self.detour += probability * (ramps + opening + dwell + closing) + guests * transfer;
            self.gone += guests;
        }
    }

    /// Takes the guests beyond the last sure stop to their floors.
    fn run_out(&mut self, way: Direction) {
        let gone = std::mem::take(&mut self.gone);
        let detour = std::mem::take(&mut self.detour);
        if gone < 1e-9 {
            return;
        }
        let Model { kinematics, ramps, .. } = self.scene.model;
        let (end, room) = match way {
            Direction::Up => {
                let top = self.scene.model.floors() - 1;
                (top, top - self.at)
            }
            Direction::Down => (0, self.at),
        };
        // The farthest of n passengers whose destinations are spread evenly.
        let share = gone / (gone + 1.0);
        let (mut floors, mut way_there) = (0, 0.0);
        while floors < room && (floors == 0 || way_there < share * count_as(room)) {
            floors += 1;
            way_there += 1.0;
        }
        let exact = (share * count_as(room)).max(1.0).min(count_as(room));
        let time = SHARE_OF_THE_STOPS * detour
            + exact * self.scene.model.storey(self.at, end) / kinematics.rated_speed
            + ramps;
        self.cost += self.scene.weights.riding * gone * SHARE_OF_THE_WAY * time;
        self.riders = (self.riders - gone).max(0.0);
        self.clock += time;
        self.at = match way {
            Direction::Up => self.at + floors,
            Direction::Down => self.at - floors,
        };
    }

    /// Passengers of this call and of others from its landing board after so long; how many.
    fn board(&mut self, first: usize, after: f64) -> f64 {
        let is_full = self.riders >= self.scene.model.bypass;
        let calls = std::iter::successors(Some(first), |&call| self.table.next[call]);
        calls.map(|call| self.board_one(call, after, is_full)).sum()
    }

    fn board_one(&mut self, call: usize, after: f64, is_full: bool) -> f64 {
        let Scene { model, crowds, calls, weights } = self.scene;
        let wait = calls[call].waited + after;
        let rate = crowds.rates[call];
        let passengers = 1.0 + rate * wait.min(CROWD);
        let boarding = passengers.min((model.capacity - self.riders).max(0.0));
        // Those who come for the same trip meanwhile would wait for whichever car has it.
        let followers = if calls[call].to.is_some() { 0.0 } else { rate };
        self.cost += wait + (followers / 2.0 + weights.square) * wait * wait;
        self.cost += weights.left_behind * (passengers - boarding);
        if is_full {
            self.cost += weights.left_behind * passengers;
        }
        self.riders += boarding;
        self.has_guests = true;
        if let Some(to) = calls[call].to {
            self.guests[usize::from(to.index())] += boarding;
            self.destinations.insert(to);
            return boarding;
        }
        for (guests, share) in self.guests.iter_mut().zip(crowds.shares(call)) {
            *guests += boarding * share;
        }
        boarding
    }
}
