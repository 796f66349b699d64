//! What the stage does for the keys.

use elevator_driver::{Button, Direction};
use ratatui::crossterm::event::KeyCode;

use super::Stage;
use crate::demo::error::DemoError;
use crate::demo::scene::{Life, Phase, Power, Switch, Weight};
use crate::mesh::Cable;

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
}
