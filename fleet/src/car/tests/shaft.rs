//! A shaft with its panel, small and pure, for the tests of the car: no interlock of its own, a
//! line that takes its time, and faults on command. Whatever a test is about, S1 holds at each
//! tick.

mod drive;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use elevator_driver::{
    Button, Direction, DoorButtons, DoorCommand, DoorState, DriveFeedback, Entrance, Floor,
    FloorCount, KeySwitch, MotorCommand, PanelEvent, PanelInputs, Side,
};

pub(super) use self::drive::{Door, Drive, Faults};
use crate::car::{Car, CarEvent, CarSettings, Errand, HangEvidence, Press, ServedCall, Stops};
pub(super) use crate::election::testing::floor;
use crate::model::{Availability, HallCall, Mode, Timestamp, Unavailable};

pub(super) const TICK: Duration = Duration::from_millis(100);
/// Ticks, at one unit of way each, from a floor to the next.
const STOREY: i32 = 10;
const START_DELAY: u32 = 2;

/// Something that happens to a car.
pub(super) type Event = fn(&mut World);

/// What the car's world is like, and what has been seen of it.
pub(super) struct World {
    pub(super) car: Car,
    pub(super) now: Timestamp,
    pub(super) floors: FloorCount,
    pub(super) faults: Faults,
    pub(super) stop: bool,
    pub(super) obstruction: bool,
    pub(super) key: KeySwitch,
    pub(super) door_buttons: Option<DoorButtons>,
    pub(super) load: Option<u8>,
    pub(super) car_calls: BTreeSet<Entrance>,
    pub(super) assigned: BTreeSet<HallCall>,
    pub(super) hall: BTreeSet<HallCall>,
    pub(super) served: Vec<(Timestamp, ServedCall)>,
    pub(super) events: Vec<CarEvent>,
    /// The floors at which the car came to rest.
    pub(super) arrivals: Vec<u8>,
    /// How many ticks a word takes, one way.
    pub(super) latency: usize,
    /// Units of way a tick, 1 at most.
    pub(super) pace: f64,
    way: i32,
    /// Way that is still less than a unit.
    rest: f64,
    moving: Option<Direction>,
    /// Ticks since the drive set off.
    running: u32,
    /// Ticks until the car slips on, and where to.
    slip: Option<(u32, Direction)>,
    starting: u32,
    gap: i32,
    pub(super) door: DoorState,
    /// The door that opens, or opened last.
    pub(super) side: Side,
    motor_command: MotorCommand,
    door_command: DoorCommand,
    to_panel: VecDeque<(MotorCommand, DoorCommand)>,
    to_car: VecDeque<Option<PanelEvent>>,
    told: Option<PanelInputs>,
    /// What the car knows.
    heard: PanelInputs,
    counted: [u64; 6],
}

impl World {
    /// A car at rest at a floor, its panel just connected.
    pub(super) fn at(index: u8) -> Self {
        Self::new(i32::from(index) * STOREY)
    }

    /// A car at rest half-way above a floor.
    pub(super) fn above(index: u8) -> Self {
        Self::new(i32::from(index) * STOREY + STOREY / 2)
    }

    fn new(way: i32) -> Self {
        let floors = FloorCount::new(6).unwrap();
        let mut world = Self {
            car: Car::new(CarSettings::new(floors)),
            now: Timestamp::START,
            floors,
            faults: Faults::default(),
            stop: false,
            obstruction: false,
            key: KeySwitch::Normal,
            door_buttons: None,
            load: None,
            car_calls: BTreeSet::new(),
            assigned: BTreeSet::new(),
            hall: BTreeSet::new(),
            served: Vec::new(),
            events: Vec::new(),
            arrivals: Vec::new(),
            latency: 0,
            pace: 1.0,
            way,
            rest: 0.0,
            moving: None,
            running: 0,
            slip: None,
            starting: 0,
            gap: 0,
            door: DoorState::Closed,
            side: Side::Front,
            motor_command: MotorCommand::Stop,
            door_command: DoorCommand::Close,
            to_panel: VecDeque::new(),
            to_car: VecDeque::new(),
            told: None,
            heard: PanelInputs::default(),
            counted: [0; 6],
        };
        world.reconnect();
        world
    }

    pub(super) fn settled(mut self) -> Self {
        self.run(10);
        self
    }

    /// The panel restarts, or its line comes back.
    pub(super) fn reconnect(&mut self) {
        self.faults.cut = false;
        self.told = None;
        self.to_panel.clear();
        self.to_car.clear();
        self.halt();
        self.car.handle_panel(&PanelEvent::Connected, self.now);
    }

    pub(super) fn disconnect(&mut self) {
        self.faults.cut = true;
        self.halt();
        self.car.handle_panel(&PanelEvent::Disconnected("line cut".into()), self.now);
    }

    /// The drive comes to rest, and starts again if it is still told to run.
    pub(super) fn rest_drive(&mut self) {
        self.moving = None;
        self.running = 0;
        self.starting = START_DELAY;
    }

    /// The car is sent somewhere besides its calls, or not any more.
    pub(super) fn send(&mut self, errand: Option<Errand>) {
        self.car.set_errand(errand, self.now);
        let mode = if errand.is_some() { Mode::Priority } else { Mode::InService };
        self.car.set_command(mode, self.now);
        self.update_stops();
    }

    fn halt(&mut self) {
        self.motor_command = MotorCommand::Stop;
        self.moving = None;
    }

    /// A press, which becomes an order of this car unless the open door absorbs it.
    pub(super) fn press(&mut self, button: Button) {
        if button.direction().is_none()
            && self.car.handle_press(button.entrance(), self.now) == Press::Command
        {
            return self.drain();
        }
        if self.car.absorbs(button, self.now) {
            return;
        }
        if let Some(direction) = button.direction() {
            let call = HallCall::at(button.entrance(), direction);
            self.hall.insert(call);
            self.assigned.insert(call);
        } else {
            self.car_calls.insert(button.entrance());
        }
        self.update_stops();
    }

    /// Hall calls of this car that are known at the same moment.
    pub(super) fn assign(&mut self, calls: &[(u8, Direction)]) {
        for (at, direction) in calls {
            let call = HallCall::new(floor(*at), *direction);
            self.hall.insert(call);
            self.assigned.insert(call);
        }
        self.update_stops();
    }

    pub(super) fn press_hall(&mut self, index: u8, direction: Direction) {
        self.press(Button::Hall(floor(index), direction));
    }

    pub(super) fn press_car(&mut self, index: u8) {
        self.press(Button::Car(floor(index)));
    }

    pub(super) fn update_stops(&mut self) {
        let stops =
            Stops { car_calls: &self.car_calls, assigned: &self.assigned, hall: &self.hall };
        self.car.set_stops(stops, self.now);
        self.drain();
    }

    /// Holds these door buttons from here on.
    pub(super) fn hold(&mut self, open: bool, close: bool) {
        self.door_buttons = Some(DoorButtons { open, close, open_rear: false });
        self.tick();
    }

    pub(super) fn run(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.tick();
        }
    }

    pub(super) fn run_until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        for _ in 0..6000 {
            if done(self) {
                return;
            }
            self.tick();
        }
        panic!("not in ten minutes: {what}; {:?}", self.car);
    }

    pub(super) fn run_until_open_at(&mut self, index: u8) {
        let at = Some(floor(index));
        self.run_until("open there", |w| w.floor() == at && w.door == DoorState::Open);
    }

    pub(super) fn assert_at(&self, index: u8, door: DoorState) {
        assert_eq!((self.floor(), self.door), (Some(floor(index)), door));
        assert!(!self.is_moving());
    }

    pub(super) fn tick(&mut self) {
        self.now = self.now + TICK;
        let was_moving = self.is_moving();
        self.move_car();
        if let Some(floor) = self.floor().filter(|_| was_moving && !self.is_moving()) {
            self.arrivals.push(floor.index());
        }
        self.move_door();
        self.report();
        if self.car.poll_timeout().is_some_and(|(due, _)| due <= self.now) {
            self.car.handle_timeout(self.now);
            let next = self.car.poll_timeout();
            assert!(next.is_none_or(|(due, _)| due > self.now), "{next:?} again");
        }
        self.drain();
        self.command();
        self.check();
        let counted = self.car.counters().numbers();
        let grows = self.counted.iter().zip(counted).all(|(before, after)| *before <= after);
        assert!(grows, "{:?}, then {counted:?}", self.counted);
        self.counted = counted;
    }

    pub(super) fn floor(&self) -> Option<Floor> {
        let index = u8::try_from(self.way / STOREY).unwrap();
        (self.way % STOREY == 0).then(|| floor(index))
    }

    pub(super) fn is_moving(&self) -> bool {
        self.moving.is_some()
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.car_calls.is_empty() && self.assigned.is_empty() && self.hall.is_empty()
    }

    pub(super) fn served_hall(&self, index: u8, direction: Direction) -> Option<Timestamp> {
        self.served_at(ServedCall::Hall(HallCall::new(floor(index), direction)))
    }

    pub(super) fn served_at(&self, call: ServedCall) -> Option<Timestamp> {
        let served = self.served.iter().find(|(_, served)| *served == call);
        served.map(|(at, _)| *at)
    }

    pub(super) fn is_in_service(&self) -> bool {
        self.car.availability() == Availability::InService
    }

    pub(super) fn is_out_for(&self, reason: Unavailable) -> bool {
        self.car.availability() == Availability::Unavailable(reason)
    }

    pub(super) fn hang(&self) -> Option<HangEvidence> {
        self.events.iter().find_map(|event| {
            if let CarEvent::Hung(evidence) = event { Some(*evidence) } else { None }
        })
    }

    pub(super) fn count(&self, what: impl Fn(&CarEvent) -> bool) -> usize {
        self.events.iter().filter(|event| what(event)).count()
    }

    pub(super) fn departures(&self) -> usize {
        self.count(|event| matches!(event, CarEvent::Departed))
    }

    /// How often the group was told that it may count on the car.
    pub(super) fn times_in_service(&self) -> usize {
        self.count(|event| *event == CarEvent::AvailabilityChanged(None))
    }

    pub(super) fn is_hung(&self) -> bool {
        self.hang().is_some()
    }

    /// How often the door has become fully open.
    pub(super) fn openings(&self) -> usize {
        self.count(|event| *event == CarEvent::DoorChanged { to: DoorState::Open })
    }

    fn report(&mut self) {
        let inputs = PanelInputs {
            floor: self.sensor(),
            next_stop: self.next_stop(),
            drive: self.moving.map_or(DriveFeedback::Stopped, DriveFeedback::Driven),
            door: self.door,
            side: if self.door == DoorState::Closed { Side::Front } else { self.side },
            stop: self.stop,
            obstruction: self.obstruction,
            load: self.load,
            key: self.key,
            door_buttons: self.door_buttons,
            ..PanelInputs::default()
        };
        let has_changed = self.told.as_ref() != Some(&inputs) && !self.faults.cut;
        if has_changed {
            self.told = Some(inputs.clone());
        }
        self.to_car.push_back(has_changed.then_some(PanelEvent::Inputs(inputs)));
        while self.to_car.len() > self.latency {
            if let Some(event) = self.to_car.pop_front().flatten() {
                self.car.handle_panel(&event, self.now);
                if let PanelEvent::Inputs(inputs) = event {
                    self.heard = inputs;
                }
            }
        }
    }

    fn drain(&mut self) {
        let mut served = false;
        while let Some(event) = self.car.poll_event() {
            if let CarEvent::Served(calls) = &event {
                served = true;
                for call in calls {
                    self.served.push((self.now, *call));
                    match call {
                        ServedCall::Hall(call) => {
                            self.hall.remove(call);
                            self.assigned.remove(call);
                        }
                        ServedCall::Car(entrance) => {
                            self.car_calls.remove(entrance);
                        }
                    }
                }
            }
            self.events.push(event);
        }
        if served {
            self.update_stops();
        }
    }

    fn command(&mut self) {
        self.to_panel.push_back((self.car.motor(), self.car.door()));
        while self.to_panel.len() > self.latency {
            if let Some((motor, door)) = self.to_panel.pop_front()
                && !self.faults.cut
            {
                self.motor_command = motor;
                self.door_command = door;
            }
        }
    }

    /// S1, by what the car knows and by what is really so.
    fn check(&self) {
        let open = self.car.door().opens().is_some();
        let wall = self.car.door().opens().is_some_and(|door| {
            let here = self.floor().map(|floor| self.car.settings().entrances(floor, door).count());
            here == Some(0)
        });
        let run = self.car.motor() != MotorCommand::Stop;
        let heard = &self.heard;
        let still = heard.drive == DriveFeedback::Stopped;
        let pried = self.faults.door == Door::Pried;
        let faults = [
            (run && self.car.door() != DoorCommand::Close, "run, not close"),
            (run && heard.door != DoorState::Closed, "run with a door seen open"),
            (run && heard.stop, "run with the stop switch seen pulled"),
            (open && !still, "open while seen moving"),
            (open && heard.floor.is_none(), "open with no floor seen"),
            (open && self.is_moving(), "open while moving"),
            (run && self.gap > 0 && !pried, "run with an open door"),
            (self.is_moving() && self.gap > 0 && !pried, "moves with an open door"),
            (wall, "open where the floor has no door"),
        ];
        for (wrong, what) in faults {
            assert!(!wrong, "{}: {what}: {:#?}", self.now, self.car);
        }
    }
}
