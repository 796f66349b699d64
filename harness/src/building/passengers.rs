//! Passengers of a building of real processes. They press, board and get off as those of the
//! simulator's own buildings do, in real time or faster.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use elevator_driver::{Button, Direction, Floor};
use elevator_simulator::building::{Action, Crowd, Journey, Landed, Passenger};
use elevator_simulator::{CarState, ControlClient};

use super::books::watch;

/// How many changes of cars wait for the passengers; a thread that sees more waits.
const CHANGES: usize = 1024;

/// Time passes for the passengers at least this often, in real time.
const TICK: Duration = Duration::from_millis(5);

/// In a car, a rider whose button stays dark presses again after this time, in real time.
const PRESS_AGAIN: Duration = Duration::from_secs(1);

/// Passengers who are on their way.
pub struct Journeys {
    begun: Instant,
    pace: u32,
    thread: JoinHandle<Vec<(Passenger, Journey)>>,
}

impl Journeys {
    /// As [`carry`](super::Building::carry), at the panels with these control sockets.
    pub(super) fn begin(panels: &[PathBuf], crowd: Crowd, pace: u32, limit: Duration) -> Self {
        let (changes, seen) = sync_channel(CHANGES);
        let connect = |panel: &PathBuf| ControlClient::connect(panel).expect("a control socket");
        for (car, panel) in panels.iter().enumerate() {
            watch(panel, changes.clone(), move |state| (car, state));
        }
        let begun = Instant::now();
        let landings = Landings {
            begun,
            pace,
            crowd,
            panels: panels.iter().map(connect).collect(),
            cars: vec![None; panels.len()],
            lit: BTreeSet::new(),
            pressed: BTreeMap::new(),
            presses: 0,
        };
        let thread = std::thread::spawn(move || landings.live(&seen, limit));
        Self { begun, pace, thread }
    }

    /// Waits until this moment of their time.
    pub fn wait_until(&self, moment: Duration) {
        std::thread::sleep((moment / self.pace).saturating_sub(self.begun.elapsed()));
    }

    /// Waits until everybody has arrived, or was given up.
    pub fn end(self) -> Vec<(Passenger, Journey)> {
        self.thread.join().expect("the passengers")
    }
}

struct Landings {
    begun: Instant,
    pace: u32,
    crowd: Crowd,
    panels: Vec<ControlClient>,
    cars: Vec<Option<CarState>>,
    /// The hall buttons that are lit on any panel.
    lit: BTreeSet<(Floor, Direction)>,
    /// When riders last pressed in a car.
    pressed: BTreeMap<(usize, Floor), Instant>,
    presses: usize,
}

impl Landings {
    fn live(
        mut self,
        seen: &Receiver<(usize, CarState)>,
        limit: Duration,
    ) -> Vec<(Passenger, Journey)> {
        while !self.crowd.is_done() && self.now() < limit {
            match seen.recv_timeout(TICK) {
                Ok((car, state)) => self.see(car, state),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.crowd.handle_time(self.now());
            while let Some(action) = self.crowd.poll_action() {
                self.act(action);
            }
            self.press_again();
        }
        self.crowd.trips().map(|(passenger, trip)| (*passenger, trip)).collect()
    }

    fn now(&self) -> Duration {
        self.begun.elapsed() * self.pace
    }

    fn see(&mut self, car: usize, state: CarState) {
        let now = self.now();
        let floor = state.floor.filter(|_| state.driven.is_none() && state.speed == 0.0);
        let landed = Landed { floor, door: state.door, lantern: state.lantern };
        self.cars[car] = Some(state);
        self.crowd.handle_car(car, landed, now);
        let lamps = self.cars.iter().flatten().flat_map(|state| &state.lamps);
        let hall = lamps.filter_map(|lamp| match lamp {
            Button::Hall(floor, direction) => Some((*floor, *direction)),
            Button::Car(_) => None,
        });
        let lit: BTreeSet<_> = hall.collect();
        for &(floor, direction) in lit.symmetric_difference(&self.lit) {
            let is_lit = lit.contains(&(floor, direction));
            self.crowd.handle_lamp(floor, direction, is_lit, now);
        }
        self.lit = lit;
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::PressHall(floor, direction) => {
                // Panels in turn, so that a repeated press meets another node.
                self.presses += 1;
                let panel = self.presses % self.panels.len();
                self.press(panel, Button::Hall(floor, direction));
            }
            Action::PressCar(car, floor) => self.press(car, Button::Car(floor)),
            Action::GiveDestination(from, to) => panic!("a crowd with buttons goes {from} to {to}"),
            Action::Load(car, percent) => self.send(car, &format!("load {percent}")),
            Action::Doorway(car, occupied) => {
                self.send(car, if occupied { "obstruct on" } else { "obstruct off" });
            }
        }
    }

    /// Riders press again whose button stays dark: the node of their car may have been down.
    fn press_again(&mut self) {
        let mut due = Vec::new();
        for (car, state) in self.cars.iter().enumerate() {
            let Some(state) = state else { continue };
            let is_there = |floor| state.is_at_rest_at(floor);
            let is_lit = |floor| state.lamps.contains(&Button::Car(floor));
            let wanted =
                self.crowd.destinations(car).filter(|floor| !is_lit(*floor) && !is_there(*floor));
            due.extend(wanted.map(|floor| (car, floor)));
        }
        for (car, floor) in due {
            let last = self.pressed.get(&(car, floor));
            if last.is_none_or(|last| last.elapsed() >= PRESS_AGAIN) {
                self.press(car, Button::Car(floor));
            }
        }
    }

    fn press(&mut self, panel: usize, button: Button) {
        if let Button::Car(floor) = button {
            self.pressed.insert((panel, floor), Instant::now());
        }
        self.panels[panel].press(button).expect("a press");
    }

    fn send(&mut self, car: usize, command: &str) {
        self.panels[car].send(command).expect("a command");
    }
}
