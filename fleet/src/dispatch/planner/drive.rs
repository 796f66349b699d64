//! Drives one car through its calls and adds up what that costs its passengers.

use elevator_driver::{Direction, FloorCount};

use super::traffic::Traffic;
use super::{side, weight};
use crate::car::CarSettings;
use crate::dispatch::predict::{Micros, Predictor, micros};
use crate::dispatch::{CarDetail, CarSituation, Kinematics};
use crate::model::CarPhase;

/// Passengers arrive behind a button for at most so many seconds before they count as one crowd.
const CROWD: f64 = 60.0;

/// Riders who get off beyond the last stop spend this share of the way there in the car.
const SHARE_OF_THE_WAY: f64 = 0.6;

/// Stops beyond the last one weigh half: a rider does not wait for those after his own.
const SHARE_OF_THE_STOPS: f64 = 0.5;

/// The times of a car, in seconds, and what it holds.
#[derive(Debug, Clone)]
pub(super) struct Model {
    kinematics: Kinematics,
    predictor: Predictor,
    /// From rest to rest, by the number of floors.
    travel: Vec<f64>,
    /// Up to rated speed and down again, beyond the time at rated speed.
    ramps: f64,
    opening: f64,
    closing: f64,
    dwell: f64,
    transfer: f64,
    /// Passengers.
    capacity: f64,
    /// From so many passengers on, a car passes calls by.
    bypass: f64,
}

/// A hall call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) floor: usize,
    pub(super) direction: Direction,
    /// Seconds.
    pub(super) waited: f64,
    /// Its car before this plan.
    pub(super) present: Option<usize>,
}

/// Where a car's door is at the start.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Door {
    Shut,
    /// Open in so many seconds.
    Open(f64),
    /// Open again in so many seconds, if it is to.
    Closing(f64),
}

/// A car at the start of a plan.
#[derive(Debug, Clone)]
pub(super) struct Start {
    /// Where it is at rest, or can come to rest first.
    floor: usize,
    direction: Option<Direction>,
    /// Seconds until the door is shut, without further passengers.
    shut: f64,
    door: Door,
    /// For a moving car, the seconds to each floor.
    reach: Option<Vec<f64>>,
    /// The floor where it stops whatever the plan says, and the direction of the calls there that
    /// it serves, if not both.
    stops: Option<(usize, Option<Direction>)>,
    /// Its riders by destination.
    off: Vec<f64>,
    wants: Vec<bool>,
    riders: f64,
}

impl Start {
    pub(super) fn floor(&self) -> usize {
        self.floor
    }

    /// Whether nobody rides.
    pub(super) fn is_empty(&self) -> bool {
        !self.wants.contains(&true)
    }

    /// Whether the car may begin with either direction.
    pub(super) fn may_turn(&self) -> bool {
        self.direction.is_none() && self.is_empty()
    }

    /// Whether it already stops for this call.
    pub(super) fn stops_for(&self, call: &Call) -> bool {
        self.stops.is_some_and(|(floor, direction)| {
            floor == call.floor && direction.is_none_or(|direction| direction == call.direction)
        })
    }
}

impl Model {
    pub(super) fn new(kinematics: Kinematics, floors: FloorCount, capacity: f64) -> Self {
        let trips = 0..=floors.top().index();
        Self {
            predictor: Predictor::new(kinematics, floors),
            travel: trips.map(|trip| kinematics.travel(trip).as_secs_f64()).collect(),
            ramps: kinematics.rated_speed / kinematics.acceleration
                + kinematics.acceleration / kinematics.jerk,
            opening: kinematics.door_opening.as_secs_f64(),
            closing: kinematics.door_closing.as_secs_f64(),
            dwell: kinematics.dwell.as_secs_f64(),
            transfer: kinematics.transfer.as_secs_f64(),
            bypass: share(CarSettings::BYPASS_LOAD) * capacity,
            capacity,
            kinematics,
        }
    }

    /// Sets from which load on a car passes calls by, in per cent of the rated load.
    pub(super) fn set_bypass_load(&mut self, load: u8) {
        self.bypass = share(load) * self.capacity;
    }

    pub(super) fn floors(&self) -> usize {
        self.travel.len()
    }

    pub(super) fn travel(&self, floors: usize) -> f64 {
        self.travel[floors]
    }

    /// Passengers in the car, by its load; by its car calls, if the load is unknown.
    pub(super) fn riders(&self, car: &CarSituation) -> f64 {
        match car.view.load {
            Some(load) => share(load) * self.capacity,
            None => car.car_calls.iter().map(|_| 1.0).sum(),
        }
    }

    /// Whether there is a car call, by floor.
    pub(super) fn wants(&self, car: &CarSituation) -> Vec<bool> {
        let mut wants = vec![false; self.floors()];
        for floor in &car.car_calls {
            if let Some(wanted) = wants.get_mut(usize::from(floor.index())) {
                *wanted = true;
            }
        }
        wants
    }

    /// What a plan has to know about a car that can serve.
    pub(super) fn start(&self, car: &CarSituation, detail: Option<&CarDetail>) -> Start {
        let view = &car.view;
        let wants = self.wants(car);
        let stops: f64 = wants.iter().map(|&wanted| if wanted { 1.0 } else { 0.0 }).sum();
        let each = if stops > 0.0 { (self.riders(car) / stops).max(1.0) } else { 0.0 };
        let floor = view.floor.map_or(0, |floor| usize::from(floor.index()));
        let mut start = Start {
            floor,
            direction: view.direction,
            shut: 0.0,
            door: Door::Shut,
            reach: None,
            stops: None,
            off: wants.iter().map(|&wanted| if wanted { each } else { 0.0 }).collect(),
            wants,
            riders: each * stops,
        };
        let elapsed = view.elapsed.as_secs_f64();
        let left = |whole: f64| {
            detail.map_or((whole - elapsed).max(0.0), |detail| detail.door_left.as_secs_f64())
        };
        match view.phase {
            CarPhase::Idle | CarPhase::Homing => start.turn_freely(),
            CarPhase::Moving { direction, stop_at, next_stop } => {
                let next = usize::from(next_stop.index());
                start.reach = Some(self.reach(car, direction, detail));
                start.floor = next;
                start.direction = Some(direction);
                start.stops = (stop_at == next_stop).then_some((next, None));
            }
            CarPhase::Opening => {
                let left = left(self.opening);
                start.turn_freely();
                start.door = Door::Open(left);
                start.shut = left + self.dwell + self.closing;
                start.stops = Some((floor, start.direction));
            }
            CarPhase::Open => {
                start.turn_freely();
                start.door = Door::Open(0.0);
                start.shut = left(self.dwell) + self.closing;
                start.stops = Some((floor, start.direction));
            }
            CarPhase::Closing => {
                start.shut = left(self.closing);
                start.door = Door::Closing(self.opening);
            }
        }
        start
    }

    /// The time to rest at each floor of a moving car.
    fn reach(
        &self,
        car: &CarSituation,
        direction: Direction,
        detail: Option<&CarDetail>,
    ) -> Vec<f64> {
        let elapsed = micros(car.view.elapsed);
        let mut height = 0.0;
        let mut times = Vec::with_capacity(self.floors());
        for index in 0..self.floors() {
            let time = match (detail, super::floor(index), car.view.floor) {
                (Some(detail), _, _) => {
                    self.to_rest(f64::abs(height - detail.metres), detail.speed)
                }
                (None, Some(stop), Some(at)) => {
                    seconds(self.predictor.flight(at, stop, direction, elapsed))
                }
                (None, None, _) | (None, _, None) => 0.0,
            };
            times.push(time);
            height += self.kinematics.floor_height;
        }
        times
    }

    /// Seconds to rest `metres` ahead of a car that has this speed.
    fn to_rest(&self, metres: f64, speed: f64) -> f64 {
        let Kinematics { rated_speed: rated, acceleration, jerk, .. } = self.kinematics;
        let peak = (acceleration * metres + speed * speed / 2.0).sqrt();
        let smoothing = acceleration / jerk;
        if peak <= rated {
            return ((peak - speed).max(0.0) + peak) / acceleration + smoothing;
        }
        let ramps = (2.0 * rated * rated - speed * speed) / (2.0 * acceleration);
        (2.0 * rated - speed) / acceleration + (metres - ramps) / rated + smoothing
    }
}

impl Start {
    /// An empty car at rest has no direction yet.
    fn turn_freely(&mut self) {
        if self.is_empty() {
            self.direction = None;
        }
    }
}

/// Per cent.
fn share(load: u8) -> f64 {
    f64::from(load) / 100.0
}

fn seconds(time: Micros) -> f64 {
    std::time::Duration::from_micros(time).as_secs_f64()
}

/// The calls of a car by direction and floor, as indices.
#[derive(Debug, Clone)]
pub(super) struct CallTable([Vec<Option<usize>>; 2]);

impl CallTable {
    pub(super) fn new(floors: usize) -> Self {
        Self([vec![None; floors], vec![None; floors]])
    }

    pub(super) fn set(&mut self, call: &Call, index: Option<usize>) {
        self.0[side(call.direction)][call.floor] = index;
    }

    fn get(&self, floor: usize, direction: Direction) -> Option<usize> {
        self.0[side(direction)][floor]
    }
}

/// What a car's calls come to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub(super) cost: f64,
    /// Seconds until the last passenger has left.
    pub(super) free: f64,
    /// Where that is.
    pub(super) end: usize,
    /// The direction to begin with.
    pub(super) first: Direction,
}

/// What everyone's cars are driven through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) model: &'a Model,
    pub(super) traffic: &'a Traffic,
    pub(super) calls: &'a [Call],
}

impl Scene<'_> {
    /// The better of both first directions, where the car has the choice.
    pub(super) fn drive(self, start: &Start, table: &CallTable) -> Outcome {
        if let Some(direction) = start.direction {
            return Drive::new(self, start, table, direction).outcome();
        }
        let up = Drive::new(self, start, table, Direction::Up).outcome();
        let down = Drive::new(self, start, table, Direction::Down).outcome();
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
    guests: Vec<f64>,
    /// The seconds of the stops for guests since the last sure one, and how many got off there.
    detour: f64,
    gone: f64,
    /// The call at the open door.
    served: Option<usize>,
    /// It is still on the flight of the start.
    in_flight: bool,
}

impl<'a> Drive<'a> {
    fn new(scene: Scene<'a>, start: &'a Start, table: &'a CallTable, first: Direction) -> Self {
        Self {
            scene,
            start,
            table,
            first,
            at: start.floor,
            clock: start.shut,
            cost: 0.0,
            riders: start.riders,
            guests: vec![0.0; scene.model.floors()],
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
        self.cost += weight::BUSY * self.clock;
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
                    self.served = Some(call);
                    passing += self.board(call, after);
                }
                if passing > 0.0 {
                    self.clock = self.clock.max(after + dwell + passing * transfer + closing);
                }
            }
            Door::Closing(after) => {
                if let Some(call) = call {
                    self.served = Some(call);
                    let boarding = self.board(call, after);
                    self.clock = after + dwell + boarding * transfer + closing;
                }
            }
        }
        self.cost += weight::RIDING * self.riders * self.clock;
    }

    fn sweep(&mut self, sweep: Sweep) {
        let origin = self.start.floor;
        let way = if sweep == Sweep::Back { self.first.opposite() } else { self.first };
        let top = self.scene.model.floors() - 1;
        for step in 0..=top {
            let floor = match way {
                Direction::Up => step,
                Direction::Down => top - step,
            };
            let is_ahead = match self.first {
                Direction::Up => floor >= origin,
                Direction::Down => floor <= origin,
            };
            let wanted = self.start.wants[floor];
            let (in_range, wanted) = match sweep {
                Sweep::On => (is_ahead, wanted && !(floor == origin && self.is_open())),
                Sweep::Back => (true, wanted && !is_ahead),
                Sweep::OnFromBehind => (!is_ahead, false),
            };
            if !in_range {
                continue;
            }
            let call = self.table.get(floor, way).filter(|&call| Some(call) != self.served);
            if call.is_some() || wanted {
                self.stop(floor, call, wanted);
            } else if floor != self.at {
                self.stop_for_guests(floor);
            }
        }
        self.run_out(way);
    }

    fn is_open(&self) -> bool {
        matches!(self.start.door, Door::Open(_))
    }

    fn stop(&mut self, floor: usize, call: Option<usize>, wanted: bool) {
        let Model { opening, closing, dwell, transfer, .. } = *self.scene.model;
        let time = self.flight(floor) + self.detour;
        self.cost += weight::RIDING * (self.riders - self.gone / 2.0) * time;
        self.riders -= self.gone;
        (self.detour, self.gone) = (0.0, 0.0);
        self.clock += time + opening;
        self.at = floor;

        let mut passing = std::mem::take(&mut self.guests[floor]);
        if wanted {
            passing += self.start.off[floor];
        }
        self.riders = (self.riders - passing).max(0.0);
        if let Some(call) = call {
            passing += self.board(call, self.clock);
        }
        let stay = dwell + passing * transfer + closing;
        self.cost += weight::RIDING * self.riders * (opening + stay);
        self.clock += stay;
    }

    /// The time to a sure stop.
    fn flight(&mut self, floor: usize) -> f64 {
        let travel = self.scene.model.travel(self.at.abs_diff(floor));
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
        let room = match way {
            Direction::Up => self.scene.model.floors() - 1 - self.at,
            Direction::Down => self.at,
        };
        // The farthest of n passengers whose destinations are spread evenly.
        let share = gone / (gone + 1.0);
        let (mut floors, mut way_there) = (0, 0.0);
        while floors < room && (floors == 0 || way_there < share * floors_as(room)) {
            floors += 1;
            way_there += 1.0;
        }
        let exact = (share * floors_as(room)).max(1.0).min(floors_as(room));
        let time = SHARE_OF_THE_STOPS * detour
            + exact * kinematics.floor_height / kinematics.rated_speed
            + ramps;
        self.cost += weight::RIDING * gone * SHARE_OF_THE_WAY * time;
        self.riders = (self.riders - gone).max(0.0);
        self.clock += time;
        self.at = match way {
            Direction::Up => self.at + floors,
            Direction::Down => self.at - floors,
        };
    }

    /// Passengers of a call board so many seconds from now; returns how many.
    fn board(&mut self, call: usize, after: f64) -> f64 {
        let Scene { model, traffic, calls } = self.scene;
        let Call { floor, direction, waited, .. } = calls[call];
        let wait = waited + after;
        let rate = traffic.rate(floor, direction);
        let passengers = 1.0 + rate * wait.min(CROWD);
        let boarding = passengers.min((model.capacity - self.riders).max(0.0));
        self.cost += wait + (rate / 2.0 + weight::SQUARE) * wait * wait;
        self.cost += weight::LEFT_BEHIND * (passengers - boarding);
        if self.riders >= model.bypass {
            self.cost += weight::LEFT_BEHIND * passengers;
        }
        self.riders += boarding;
        traffic.spread(boarding, floor, direction, &mut self.guests);
        boarding
    }
}

/// A building has at most 256 floors.
fn floors_as(floors: usize) -> f64 {
    u32::try_from(floors).map_or(0.0, f64::from)
}
