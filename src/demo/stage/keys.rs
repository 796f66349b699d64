//! What the stage does for the keys.

use elevator_driver::{Button, Direction};
use ratatui::crossterm::event::KeyCode;

use super::Stage;
use crate::demo::error::DemoError;
use crate::demo::scene::{Life, Phase, Power, Weight};
use crate::mesh::Cable;

impl Stage {
    pub(in crate::demo) fn handle_key(&mut self, key: KeyCode) -> Result<(), DemoError> {
        let (car, floor) = (self.scene.choice.car, self.scene.choice.floor);
        let scene = &self.scene.cars[car];
        let (faults, cable) = (scene.faults(), scene.node.cable);
        match key {
            KeyCode::Char('u') => self.press_if_there(Button::Hall(floor, Direction::Up)),
            KeyCode::Char('d') => self.press_if_there(Button::Hall(floor, Direction::Down)),
            KeyCode::Char('c') => self.press_if_there(Button::Car(floor)),
            KeyCode::Char('k') => self.kill(car),
            KeyCode::Char('r') => self.start(car)?,
            KeyCode::Char('z') if scene.node.life == Life::Suspended => self.resume(car),
            KeyCode::Char('z') => self.suspend(car),
            KeyCode::Char('n') => {
                self.wire(car, if cable == Cable::Cut { Cable::Whole } else { Cable::Cut });
            }
            KeyCode::Char('l') => self.command_car(car, line_fault(!faults.unplugged)),
            KeyCode::Char('h') => self.command_car(car, motor_fault(!faults.stuck)),
            KeyCode::Char('x') => self.clear_hang(car, "cleared by hand"),
            KeyCode::Char('o') => self.command_car(car, obstruct(!faults.obstructed)),
            KeyCode::Char('s') => self.command_car(car, stop(!faults.stopped)),
            KeyCode::Char('p') if self.scene.power == Power::On => self.cut_power(),
            KeyCode::Char('p') => self.power_up()?,
            KeyCode::Char(' ') => self.pause(),
            key => {
                let (cars, floors) = (self.scene.cars.len(), self.scene.floors);
                self.scene.choice.handle_key(key, cars, floors);
            }
        }
        Ok(())
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
pub(super) fn line_fault(cut: bool) -> &'static str {
    if cut { "fault line unplugged" } else { "fault line ok" }
}

/// To put something in the door, or to take it away.
pub(super) fn obstruct(obstructed: bool) -> &'static str {
    if obstructed { "obstruct on" } else { "obstruct off" }
}

/// To pull the stop switch, or to push it.
pub(super) fn stop(stopped: bool) -> &'static str {
    if stopped { "stop on" } else { "stop off" }
}
