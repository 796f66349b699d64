//! A bank of cars with its passengers: one run, step by step.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::{
    Button, Climate, Direction, DoorCommand, DoorState, DriveFeedback, Entrance, Floor,
    HallLantern, MotorCommand, PanelEvent, PanelInputs, PanelOutputs,
};
use elevator_fleet::car::{Car, CarEvent, CarSettings, ServedCall, Stops};
use elevator_fleet::dispatch::{
    Bank as Situation, CarSituation, Destinations, Dispatcher, HallDemand, Plan, ProgramHealth,
};
use elevator_fleet::model::{FloorSet, HallCall, NodeId, Timestamp};
use elevator_simulator::SimulatedCar;
use elevator_simulator::building::{Action, Building, Crowd, Landed, Passenger};

use super::strategy::{dispatcher, kinematics};
use super::{Stopwatch, Strategy};
use crate::WorldError;

pub(super) const STEP: Duration = Duration::from_millis(50);

/// A plan is made at least this often.
const REPLAN: Duration = Duration::from_secs(1);

/// Rounds of panel and passengers within a step. More would be a cycle.
const ROUNDS: usize = 64;

/// A bank of cars with its passengers.
pub(super) struct Bank {
    building: Building,
    pub(super) crowd: Crowd,
    pub(super) cabins: Vec<Cabin>,
    /// The lit hall buttons and the destinations that people wait for, and since when.
    calls: BTreeMap<HallCall, Duration>,
    dispatcher: Box<dyn Dispatcher>,
    plan: Plan,
    destinations: Destinations,
    /// The hall calls or the plan have changed since the cars learned of them.
    news: bool,
    planned_for: Vec<CarSituation>,
    /// When the next plan is made at the latest: at once if the hall calls have changed.
    plan_due: Duration,
    pub(super) now: Duration,
    stopwatch: Stopwatch,
    /// How long each plan took.
    pub(super) plans: Vec<Duration>,
}

/// A car, its control, and the line between them.
pub(super) struct Cabin {
    name: NodeId,
    pub(super) car: SimulatedCar,
    control: Car,
    /// What the control was last told, and what it last commanded.
    reported: Option<PanelInputs>,
    sent: (MotorCommand, DoorCommand),
    calls: BTreeSet<Entrance>,
    /// The calls or the plan have changed since the control learned of them.
    news: bool,
    seen: Landed,
    /// The way it last went.
    way: Option<Direction>,
    /// It changes its direction until then.
    turning: Option<Duration>,
    pub(super) starts: u32,
    pub(super) metres: f64,
}

impl Bank {
    pub(super) fn new(
        building: &Building,
        passengers: &[Passenger],
        strategy: Strategy,
        seed: u64,
        stopwatch: Stopwatch,
    ) -> Result<Self, WorldError> {
        let cabins = (0..building.cars).map(|number| Cabin::new(building, number));
        Ok(Self {
            crowd: Crowd::new(building, passengers, seed).with_panels(strategy.panels()),
            cabins: cabins.collect::<Result<_, _>>()?,
            calls: BTreeMap::new(),
            dispatcher: dispatcher(strategy, building),
            plan: Plan::default(),
            destinations: Destinations::default(),
            news: false,
            planned_for: Vec::new(),
            plan_due: Duration::ZERO,
            now: Duration::ZERO,
            stopwatch,
            plans: Vec::new(),
            building: building.clone(),
        })
    }

    /// Lets a step of time pass.
    pub(super) fn step(&mut self) {
        self.advance();
        if self.is_plan_due() {
            self.make_plan();
            self.settle();
        }
    }

    /// Lets a step of time pass under the present plan.
    pub(super) fn advance(&mut self) {
        self.now += STEP;
        for cabin in &mut self.cabins {
            let before = cabin.car.shaft().position();
            cabin.car.advance(STEP);
            cabin.metres += (cabin.car.shaft().position() - before).abs();
        }
        self.crowd.handle_time(self.now);
        self.settle();
    }

    /// Lets panels, cars and passengers react to each other until nothing changes.
    pub(super) fn settle(&mut self) {
        for _ in 0..ROUNDS {
            let mut changed = std::mem::take(&mut self.news);
            while let Some(action) = self.crowd.poll_action() {
                self.act(action);
                changed = true;
            }
            for (car, cabin) in self.cabins.iter_mut().enumerate() {
                cabin.news |= changed;
                let goes = |call: &HallCall| self.building.goes_on(car, call.floor, call.direction);
                let lit = self.calls.keys().filter(|call| call.to.is_none() && goes(call));
                changed |= cabin.control(&self.building, lit.copied(), &self.plan, self.now);
            }
            for car in 0..self.cabins.len() {
                changed |= self.report(car);
            }
            if !changed {
                return;
            }
        }
        debug_assert!(false, "passengers and cars go on for ever at {:?}", self.now);
    }

    fn act(&mut self, action: Action) {
        let now = Timestamp::after_start(self.now);
        match action {
            Action::PressHall(floor, direction) => {
                let call = HallCall::new(floor, direction);
                let button = Button::Hall(floor, direction);
                let absorbed =
                    self.cabins.iter_mut().any(|cabin| cabin.control.absorbs(button, now));
                if !absorbed && !self.calls.contains_key(&call) {
                    self.calls.insert(call, self.now);
                    self.crowd.handle_lamp(floor, direction, true, self.now);
                    self.plan_due = self.now;
                }
            }
            Action::GiveDestination(from, to) => {
                let Some(call) = HallCall::to(from, to) else { return };
                if !self.answer(call) && !self.calls.contains_key(&call) {
                    self.calls.insert(call, self.now);
                    self.plan_due = self.now;
                }
            }
            Action::PressCar(car, floor) => {
                let cabin = &mut self.cabins[car];
                if !cabin.control.absorbs(Button::Car(floor), now) {
                    cabin.calls.insert(floor.into());
                }
            }
            Action::Load(car, percent) => self.cabins[car].car.set_load(Some(percent)),
            Action::Doorway(car, occupied) => self.cabins[car].car.set_obstruction(occupied),
        }
    }

    /// Removes what a car has served, and shows people what it does. Returns whether anything
    /// changed.
    fn report(&mut self, car: usize) -> bool {
        let cabin = &mut self.cabins[car];
        let mut changed = false;
        while let Some(event) = cabin.control.poll_event() {
            cabin.starts += u32::from(matches!(event, CarEvent::Departed));
            let CarEvent::Served(calls) = event else { continue };
            for call in calls {
                changed = true;
                match call {
                    ServedCall::Car(entrance) => {
                        cabin.calls.remove(&entrance);
                    }
                    ServedCall::Hall(landing) => {
                        self.plan_due = self.now;
                        for (call, to) in trips(&self.plan, &cabin.name, landing) {
                            self.calls.remove(&call);
                            self.plan.assignments.remove(&call);
                            cabin.news |= cabin.calls.insert(to.into());
                        }
                        let HallCall { floor, direction, .. } = landing;
                        self.calls.remove(&landing);
                        self.plan.assignments.remove(&landing);
                        self.crowd.handle_lamp(floor, direction, false, self.now);
                    }
                }
            }
        }
        let seen = cabin.landed();
        if seen != cabin.seen {
            cabin.seen = seen;
            changed = true;
            self.crowd.handle_car(car, seen, self.now);
        }
        changed
    }

    /// Whether the inputs of the plan have changed, but for the time.
    pub(super) fn is_plan_due(&self) -> bool {
        if self.now >= self.plan_due {
            return true;
        }
        let now = Timestamp::after_start(self.now);
        self.cabins.iter().zip(&self.planned_for).any(|(cabin, then)| {
            let mut view = cabin.control.view(now);
            view.elapsed = then.view.elapsed;
            view != then.view || !cabin.floors().eq(then.car_calls.iter().copied())
        })
    }

    fn make_plan(&mut self) {
        let (situations, demand) = self.inputs();
        let begun = (self.stopwatch)();
        let plan = self.dispatcher.plan(&Situation {
            now: Timestamp::after_start(self.now),
            cars: &situations,
            demand: &demand,
            // Cars are told at once: they show where they go.
            parked: &BTreeMap::new(),
        });
        let took = (self.stopwatch)().saturating_sub(begun);
        self.plans.push(took);
        self.follow(plan, situations);
    }

    /// What a plan is made from.
    pub(super) fn inputs(&mut self) -> (Vec<CarSituation>, Vec<HallDemand>) {
        let now = Timestamp::after_start(self.now);
        let situation = |cabin: &Cabin| CarSituation {
            car: cabin.name.clone(),
            view: cabin.control.view(now),
            car_calls: cabin.floors().collect(),
        };
        let situations: Vec<_> = self.cabins.iter().map(situation).collect();
        let demand = self.calls.iter().map(|(&call, &pressed)| HallDemand {
            call,
            waited: self.now.saturating_sub(pressed),
            assigned: self.plan.assignments.get(&call).cloned(),
            wanted: FloorSet::default(),
        });
        let mut demand: Vec<_> = demand.collect();
        self.destinations.note(&mut demand, &situations, self.building.floors);
        (situations, demand)
    }

    /// Replaces the plan by one that was made for these cars. The cars learn of it once things
    /// [settle](Self::settle).
    pub(super) fn follow(&mut self, plan: Plan, situations: Vec<CarSituation>) {
        self.news = plan != self.plan;
        self.plan = plan;
        self.planned_for = situations;
        self.plan_due = self.now + REPLAN;
        let calls: Vec<HallCall> = self.plan.assignments.keys().copied().collect();
        for call in calls {
            self.answer(call);
        }
    }

    /// Tells those who wait for this trip which car takes them. Returns whether one does.
    fn answer(&mut self, call: HallCall) -> bool {
        let Some(name) = self.plan.assignments.get(&call) else { return false };
        let car = self.cabins.iter().position(|cabin| cabin.name == *name);
        if let (Some(car), Some(to)) = (car, call.to) {
            self.crowd.handle_answer(call.floor, to, car, self.now);
        }
        true
    }

    /// How the program does that dispatches, if one does.
    pub(super) fn program(&self) -> Option<ProgramHealth> {
        self.dispatcher.health().cloned()
    }

    /// Riders in moving cars, and those of them who are carried away from their destination.
    pub(super) fn riding(&self) -> (u64, u64) {
        let (mut riding, mut wrong) = (0, 0);
        for (number, cabin) in self.cabins.iter().enumerate() {
            let (speed, position) = (cabin.car.shaft().speed(), cabin.car.shaft().position());
            if speed == 0.0 {
                continue;
            }
            for to in self.crowd.destinations(number) {
                let way = cabin.car.shaft().height(to) - position;
                riding += 1;
                wrong += u64::from(way * speed < 0.0);
            }
        }
        (riding, wrong)
    }
}

/// The trips that this car takes up when it opens at a landing, with their destinations.
fn trips(plan: &Plan, car: &NodeId, landing: HallCall) -> Vec<(HallCall, Floor)> {
    let its = plan.assignments.iter().filter(|(_, other)| *other == car);
    let here = its.map(|(call, _)| *call).filter(|call| call.landing() == landing);
    here.filter_map(|call| Some((call, call.to?))).collect()
}

impl Cabin {
    fn new(building: &Building, number: usize) -> Result<Self, WorldError> {
        let mut car = SimulatedCar::new(&building.car(), 0)?;
        car.set_load(Some(0));
        let mut settings = CarSettings::new(building.floors);
        settings.dwell = Duration::from_secs_f64(building.dwell);
        // As long as it takes to fill and to empty any car: people here do not dawdle.
        settings.nudge_after = Duration::from_mins(9);
        settings.door_blocked_after = Duration::from_mins(10);
        let layout = building.layout();
        settings.nominal_flight = kinematics(building).longest_flight(&layout.heights(), 1);
        settings.bypass_load = building.bypass_load;
        // People leave before they overload a car.
        settings.overload = u8::MAX;
        let floors = building.floors.floors();
        settings.unserved = floors.filter(|floor| !building.serves(number, *floor)).collect();
        let mut cabin = Self {
            name: NodeId::new(&format!("car-{number}"))?,
            reported: None,
            sent: (MotorCommand::Stop, DoorCommand::Close),
            car,
            control: Car::new(settings),
            calls: BTreeSet::new(),
            news: false,
            seen: Landed { floor: None, door: DoorState::Closed, lantern: None },
            way: None,
            turning: None,
            starts: 0,
            metres: 0.0,
        };
        cabin.control.handle_panel(&PanelEvent::Connected, Timestamp::START);
        cabin.read(Duration::ZERO);
        Ok(cabin)
    }

    /// Lets the control of the car react to its panel and its calls. Returns whether it did.
    fn control(
        &mut self,
        building: &Building,
        lit: impl Iterator<Item = HallCall>,
        plan: &Plan,
        now: Duration,
    ) -> bool {
        let mut changed = self.read(now);
        let at = Timestamp::after_start(now);
        if self.control.poll_timeout().is_some_and(|(due, _)| due <= at) {
            self.control.handle_timeout(at);
            changed = true;
        }
        if std::mem::take(&mut self.news) || changed {
            let assigned = plan.assignments.iter().filter(|(_, car)| **car == self.name);
            // A car deals in landings, and knows of no destinations that others are told.
            let assigned: BTreeSet<_> = assigned.map(|(call, _)| call.landing()).collect();
            let hall: BTreeSet<_> = lit.chain(assigned.iter().copied()).collect();
            self.control.set_plan(plan.cars.get(&self.name).copied().unwrap_or_default());
            let stops = Stops { car_calls: &self.calls, assigned: &assigned, hall: &hall };
            self.control.set_stops(stops, at);
        }
        changed | self.command(building, now)
    }

    /// Brings the panel in line with what the control wants. Returns whether that changed anything.
    fn command(&mut self, building: &Building, now: Duration) -> bool {
        let outputs = (self.motor(building, now), self.control.door());
        if outputs == self.sent {
            return false;
        }
        self.sent = outputs;
        let (motor, door) = outputs;
        self.car.set_outputs(&PanelOutputs { motor, door, ..PanelOutputs::default() });
        true
    }

    /// The command of the control; a car at rest that turns gets it later.
    fn motor(&mut self, building: &Building, now: Duration) -> MotorCommand {
        let wanted = self.control.motor();
        let MotorCommand::Run { direction, .. } = wanted else {
            self.turning = None;
            return wanted;
        };
        let at_rest = self.car.shaft().driven().is_none();
        if at_rest && self.way.is_some_and(|way| way != direction) {
            let turn = Duration::from_secs_f64(building.turn);
            let until = *self.turning.get_or_insert(now + turn);
            if now < until {
                return MotorCommand::Stop;
            }
        }
        self.turning = None;
        self.way = Some(direction);
        wanted
    }

    /// Passes new inputs on. The climate concerns nobody here.
    fn read(&mut self, now: Duration) -> bool {
        let inputs = PanelInputs { climate: Climate::default(), ..self.car.inputs() };
        if self.reported.as_ref() == Some(&inputs) {
            return false;
        }
        self.control.handle_panel(&PanelEvent::Inputs(inputs.clone()), Timestamp::after_start(now));
        self.reported = Some(inputs);
        true
    }

    /// The floors of its car calls.
    fn floors(&self) -> impl Iterator<Item = Floor> {
        self.calls.iter().map(|call| call.floor)
    }

    fn landed(&self) -> Landed {
        let inputs = self.reported.as_ref();
        let at_rest = inputs.filter(|inputs| inputs.drive == DriveFeedback::Stopped);
        Landed {
            floor: at_rest.and_then(|inputs| inputs.floor),
            door: inputs.map_or(DoorState::Closed, |inputs| inputs.door),
            lantern: match self.control.lantern() {
                HallLantern::Lit(direction) => Some(direction),
                HallLantern::Dark => None,
            },
        }
    }
}
