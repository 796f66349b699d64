//! What the stage does for the demo's operator.

use elevator_driver::{Button, Direction};

use super::Stage;
use crate::demo::error::DemoError;
use crate::demo::keys::Wish;
use crate::demo::scene::{Life, Phase, Power, Weight};
use crate::mesh::Cable;

impl Stage {
    /// Does what the operator wants; the caller handles [`Wish::Quit`].
    ///
    /// # Errors
    /// A node could not be started.
    pub(in crate::demo) fn fulfil(&mut self, wish: Wish) -> Result<(), DemoError> {
        let car = self.scene.car;
        let scene = &self.scene.cars[car];
        let (faults, cable, line) = (scene.faults, scene.node.cable, scene.line);
        match wish {
            Wish::Car(direction) => self.select_car(direction),
            Wish::Floor(direction) => {
                if let Some(next) = self.scene.floors.next(self.scene.floor, direction) {
                    self.scene.floor = next;
                }
            }
            Wish::Hall(direction) => self.press_if_there(Button::Hall(self.scene.floor, direction)),
            Wish::CarCall => self.press_if_there(Button::Car(self.scene.floor)),
            Wish::Kill => self.kill(car),
            Wish::Restart => self.start(car)?,
            Wish::Suspend if scene.node.life == Life::Suspended => self.resume(car),
            Wish::Suspend => self.suspend(car),
            Wish::Network => self.wire(car, other(cable)),
            Wish::Line => self.command_car(car, line_fault(other(line))),
            Wish::Motor => self.command_car(car, motor_fault(!faults.stuck)),
            Wish::ClearHang => self.clear_hang(car, "cleared by hand"),
            Wish::Obstruct => self.command_car(car, obstruct(!faults.obstructed)),
            Wish::Stop => self.command_car(car, stop(!faults.stopped)),
            Wish::Power => match self.scene.power {
                Power::On => self.cut_power(),
                Power::Off => self.power_up()?,
            },
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
        if self.scene.power == Power::Off {
            self.log(Some(car), Weight::Notable, "there is no power");
        } else if self.scene.floors.has_button(button) {
            self.log(Some(car), Weight::Notable, format!("pressed {button}"));
            self.press(car, button);
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

/// What a simulator is told to stick its motor, or to free it.
pub(super) fn motor_fault(stuck: bool) -> &'static str {
    if stuck { "fault motor stuck" } else { "fault motor ok" }
}

/// To cut the line of its panel, or to plug it again.
pub(super) fn line_fault(line: Cable) -> &'static str {
    match line {
        Cable::Cut => "fault line unplugged",
        Cable::Whole => "fault line ok",
    }
}

/// To put something in the door, or to take it away.
pub(super) fn obstruct(obstructed: bool) -> &'static str {
    if obstructed { "obstruct on" } else { "obstruct off" }
}

/// To pull the stop switch, or to push it.
pub(super) fn stop(stopped: bool) -> &'static str {
    if stopped { "stop on" } else { "stop off" }
}

fn other(cable: Cable) -> Cable {
    match cable {
        Cable::Whole => Cable::Cut,
        Cable::Cut => Cable::Whole,
    }
}
