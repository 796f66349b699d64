//! What the keys do, and what they and chaos do to nodes, cars and the building.

use elevator_driver::{Button, Direction};
use liftmesh_harness::kill_all;
use ratatui::crossterm::event::KeyCode;
use rustix::process::Signal;

use super::Stage;
use crate::clearance::{self, Clearance};
use crate::demo::error::DemoError;
use crate::demo::scene::{Life, Phase, Power, Switch, Weight};
use crate::journal::Account;
use crate::mesh::Cable;

/// Why a node does not start. It fits in the list of events.
pub(super) const HANG_NOT_CLEARED: &str = "hung: clear it (x), then start it";

impl Stage {
    pub(in crate::demo) fn handle_key(&mut self, key: KeyCode) -> Result<(), DemoError> {
        let (car, floor) = (self.scene.choice.car, self.scene.choice.floor);
        let node = &self.scene.cars[car].node;
        match key {
            KeyCode::Char('u') => self.press_if_there(Button::Hall(floor, Direction::Up)),
            KeyCode::Char('d') => self.press_if_there(Button::Hall(floor, Direction::Down)),
            KeyCode::Char('c') => self.press_if_there(Button::Car(floor)),
            KeyCode::Char('k') => self.kill(car),
            KeyCode::Char('r') => self.start(car)?,
            KeyCode::Char('z') if node.life == Life::Suspended => self.resume(car),
            KeyCode::Char('z') => self.suspend(car),
            KeyCode::Char('n') if node.cable == Cable::Cut => self.wire(car, Cable::Whole),
            KeyCode::Char('n') => self.wire(car, Cable::Cut),
            KeyCode::Char('l') => self.toggle(car, Switch::Line),
            KeyCode::Char('h') => self.toggle(car, Switch::Motor),
            KeyCode::Char('x') => self.clear_hang(car, "cleared by hand"),
            KeyCode::Char('o') => self.toggle(car, Switch::Door),
            KeyCode::Char('s') => self.toggle(car, Switch::Stop),
            KeyCode::Char('p') if self.scene.power == Power::On => self.cut_power(),
            KeyCode::Char('p') => self.power_up()?,
            KeyCode::Char(' ') => {
                self.scene.phase = match self.scene.phase {
                    Phase::Traffic => Phase::Paused,
                    Phase::Paused => Phase::Traffic,
                    other @ (Phase::Starting | Phase::Draining) => other,
                };
            }
            key => {
                let (cars, floors) = (self.scene.cars.len(), self.scene.floors);
                self.scene.choice.handle_key(key, cars, floors);
            }
        }
        Ok(())
    }

    fn toggle(&mut self, car: usize, switch: Switch) {
        self.switch(car, switch, !self.scene.cars[car].is(switch));
    }

    fn press_if_there(&mut self, button: Button) {
        let car = self.scene.choice.car;
        if self.scene.power == Power::Off {
            self.log(Some(car), Weight::Notable, "there is no power");
        } else if self.scene.floors.has_button(button) {
            self.log(Some(car), Weight::Notable, format!("pressed {button}"));
            self.press(car, button);
        }
    }

    pub(super) fn switch(&mut self, car: usize, switch: Switch, on: bool) {
        self.command_car(car, switch.words(on).0);
    }

    pub(super) fn kill(&mut self, car: usize) {
        if let Some(node) = self.actors[car].node.take() {
            node.kill();
            self.lose_node(car);
            self.log(Some(car), Weight::Bad, "node killed (kill -9)");
        }
    }

    /// Starts a node that does not run, or says why that is of no use (H3).
    pub(super) fn start(&mut self, car: usize) -> Result<(), DemoError> {
        if self.scene.power == Power::Off {
            self.log(Some(car), Weight::Notable, "there is no power");
            return Ok(());
        }
        let (weight, text) = match &self.scene.cars[car].node.life {
            Life::Hung => (Weight::Bad, HANG_NOT_CLEARED),
            Life::Suspended => (Weight::Notable, "the node is suspended (z resumes it)"),
            Life::Starting | Life::Running => (Weight::Notable, "the node is already running"),
            Life::Killed | Life::Cleared | Life::Ended(_) => {
                self.start_node(car)?;
                (Weight::Notable, "node started again")
            }
        };
        self.log(Some(car), weight, text);
        Ok(())
    }

    pub(super) fn suspend(&mut self, car: usize) {
        let node = &mut self.scene.cars[car].node;
        if !matches!(node.life, Life::Starting | Life::Running) {
            return;
        }
        // Before the signal: what its panel shows from then on means nothing.
        (node.life, node.said) = (Life::Suspended, None);
        self.signal(car, Signal::STOP);
        self.log(Some(car), Weight::Bad, "node suspended (SIGSTOP)");
    }

    pub(super) fn resume(&mut self, car: usize) {
        let node = &mut self.scene.cars[car].node;
        if node.life == Life::Suspended {
            node.life = Life::Starting;
            self.signal(car, Signal::CONT);
            self.log(Some(car), Weight::Notable, "node resumed (SIGCONT)");
        }
    }

    pub(super) fn wire(&mut self, car: usize, cable: Cable) {
        let node = &mut self.scene.cars[car].node;
        if node.life != Life::Running || node.cable == cable {
            return;
        }
        if self.actors[car].to_node.say(cable) {
            node.cable = cable;
            let text = match cable {
                Cable::Cut => "network cut: the node is alone",
                Cable::Whole => "network repaired",
            };
            self.log(Some(car), Weight::Bad, text);
        }
    }

    /// On record, as by an operator (F9). The node still has to be started.
    pub(super) fn clear_hang(&mut self, car: usize, reason: &str) {
        if self.actors[car].node.is_some() || self.scene.cars[car].node.life != Life::Hung {
            self.log(Some(car), Weight::Notable, "no hang to clear");
            return;
        }
        let by = Clearance { operator: "demo", reason, account: &Account::of_process() };
        let (weight, text) = match clearance::clear(&self.site.data_dir(car), None, by) {
            Ok(Some(_)) => {
                self.scene.cars[car].node.life = Life::Cleared;
                (Weight::Notable, "hang cleared; the node can start".to_owned())
            }
            Ok(None) => (Weight::Notable, "no hang to clear".to_owned()),
            Err(error) => (Weight::Bad, error.to_string()),
        };
        self.log(Some(car), weight, text);
    }

    /// All nodes at once; the panels forget, and so the motors stop.
    pub(super) fn cut_power(&mut self) {
        self.scene.power = Power::Off;
        let mut nodes = Vec::new();
        for car in 0..self.actors.len() {
            if let Some(node) = self.actors[car].node.take() {
                nodes.push(node);
                self.lose_node(car);
            }
        }
        kill_all(nodes);
        for car in 0..self.actors.len() {
            self.command_car(car, "fault panel restart");
        }
        self.log(None, Weight::Bad, "the building has lost its power");
    }

    pub(super) fn power_up(&mut self) -> Result<(), DemoError> {
        self.scene.power = Power::On;
        self.log(None, Weight::Notable, "the power is back: every node starts");
        for car in 0..self.actors.len() {
            // A hung one would only refuse.
            if self.scene.cars[car].node.life != Life::Hung {
                self.start(car)?;
            }
        }
        Ok(())
    }

    pub(super) fn command_car(&mut self, car: usize, command: impl Into<String>) {
        if !self.actors[car].to_car.say(command.into()) {
            self.log(Some(car), Weight::Bad, "the simulator is too busy");
        }
    }

    fn lose_node(&mut self, car: usize) {
        let node = &mut self.scene.cars[car].node;
        (node.life, node.said) = (Life::Killed, None);
    }

    fn signal(&self, car: usize, signal: Signal) {
        if let Some(node) = &self.actors[car].node {
            node.signal(signal);
        }
    }
}
