//! What can be done to nodes, cars and the building: by the keys, and by chaos.

use liftmesh_harness::kill_all;
use rustix::process::Signal;

use super::Stage;
use crate::clearance::{self, Clearance};
use crate::demo::error::DemoError;
use crate::demo::scene::{Life, Power, Switch, Weight};
use crate::journal::Account;
use crate::mesh::Cable;

/// Why a node does not start. It fits in the list of events.
pub(super) const HANG_NOT_CLEARED: &str = "hung: clear it (x), then start it";

impl Stage {
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

    /// Starts a node that does not run. One whose hang has not been cleared would refuse, as it
    /// does everywhere (H3), so that the reason is told instead.
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

    /// On record, as an operator does who has looked into the car (F9). The node still has to be
    /// started.
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

    /// All nodes at once; the panels forget, and so the motors stop. What no power moves stays as
    /// it is: cars where they are, latches, and whatever stands in a door.
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
