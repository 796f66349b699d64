//! What the stage does for the demo's operator.

use elevator_driver::{Button, Direction};

use super::Stage;
use crate::clearance::{self, Clearance};
use crate::demo::error::DemoError;
use crate::demo::keys::Wish;
use crate::demo::scene::{Life, Phase, Weight};
use crate::mesh::Cable;

impl Stage {
    /// Does what the operator wants; [`Wish::Quit`] is for whoever called.
    ///
    /// # Errors
    /// A node could not be started.
    pub(in crate::demo) fn fulfil(&mut self, wish: Wish) -> Result<(), DemoError> {
        let car = self.scene.car;
        let faults = self.scene.cars[car].faults;
        match wish {
            Wish::Car(direction) => self.select_car(direction),
            Wish::Floor(direction) => {
                if let Some(next) = self.scene.floors.next(self.scene.floor, direction) {
                    self.scene.floor = next;
                }
            }
            Wish::Hall(direction) => self.press_if_there(Button::Hall(self.scene.floor, direction)),
            Wish::Cab => self.press_if_there(Button::Cab(self.scene.floor)),
            Wish::Kill => self.kill(car),
            Wish::Restart => self.restart(car)?,
            Wish::Network => self.change_cable(car),
            Wish::Motor => {
                let state = if faults.stuck { "ok" } else { "stuck" };
                self.tell_car(car, format!("fault motor {state}"));
            }
            Wish::Obstruct => self.tell_car(car, format!("obstruct {}", on(!faults.obstructed))),
            Wish::Stop => self.tell_car(car, format!("stop {}", on(!faults.stopped))),
            Wish::Pause => self.pause(),
            Wish::Quit => {}
        }
        Ok(())
    }

    fn select_car(&mut self, direction: Direction) {
        let cars = self.scene.cars.len();
        let step = match direction {
            Direction::Up => 1,
            Direction::Down => cars - 1,
        };
        self.scene.car = (self.scene.car + step) % cars;
    }

    fn press_if_there(&mut self, button: Button) {
        let car = self.scene.car;
        if self.scene.floors.has_button(button) {
            self.tell(Some(car), Weight::Notable, format!("pressed {button}"));
            self.press(car, button);
        }
    }

    fn kill(&mut self, car: usize) {
        if let Some(node) = self.actors[car].node.take() {
            node.kill();
            let scene = &mut self.scene.cars[car].node;
            (scene.life, scene.said) = (Life::Killed, None);
            self.tell(Some(car), Weight::Bad, "node killed (kill -9)");
        }
    }

    fn restart(&mut self, car: usize) -> Result<(), DemoError> {
        if self.actors[car].node.is_none() {
            if self.scene.cars[car].node.life == Life::Hung {
                self.clear_hang(car);
            }
            self.start_node(car)?;
            self.tell(Some(car), Weight::Notable, "node started again");
        }
        Ok(())
    }

    /// Whoever starts a hung car again has looked at it: it is on the screen (H3).
    fn clear_hang(&mut self, car: usize) {
        let by = Clearance {
            operator: "demo",
            reason: "started again by hand",
        };
        match clearance::clear(&self.site.data_dir(car), None, by) {
            Ok(_) => self.tell(Some(car), Weight::Notable, "hang cleared"),
            Err(error) => self.tell(Some(car), Weight::Bad, error.to_string()),
        }
    }

    fn change_cable(&mut self, car: usize) {
        let node = &mut self.scene.cars[car].node;
        if node.life != Life::Running {
            return;
        }
        let (next, text) = match node.cable {
            Cable::Whole => (Cable::Cut, "network cut: the node is alone"),
            Cable::Cut => (Cable::Whole, "network mended"),
        };
        if self.actors[car].to_node.say(next) {
            node.cable = next;
            self.tell(Some(car), Weight::Bad, text);
        }
    }

    fn tell_car(&mut self, car: usize, command: String) {
        if !self.actors[car].to_car.say(command) {
            self.tell(Some(car), Weight::Bad, "the simulator is too busy");
        }
    }

    fn pause(&mut self) {
        self.scene.phase = match self.scene.phase {
            Phase::Traffic => Phase::Paused,
            Phase::Paused => Phase::Traffic,
            other @ (Phase::Starting | Phase::Draining) => other,
        };
    }
}

fn on(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}
