//! What passengers and surroundings do to a car, and what breaks in it.

use std::collections::BTreeSet;

use elevator_driver::{Button, Climate, DoorButtons, Floor, KeySwitch, STUCK_AFTER, Trip};

use super::{Contact, DoorButton, NotInShaft, PRESSES, SHORTEST_PRESS, SimulatedCar};
use crate::shaft::{LevellingFault, MotorFault};

impl SimulatedCar {
    /// Presses a button for a moment.
    ///
    /// # Errors
    /// The shaft has no such button; nothing happened.
    pub fn press(&mut self, button: Button) -> Result<(), NotInShaft> {
        self.check_button(button)?;
        if self.presses.len() < PRESSES {
            self.presses.push_back(button);
        }
        Ok(())
    }

    /// The presses since the last call, oldest first.
    pub fn take_presses(&mut self) -> impl Iterator<Item = Button> + use<'_> {
        self.presses.drain(..)
    }

    /// Gives a destination at the kiosk of a landing.
    ///
    /// # Errors
    /// The shaft has no such floors; nothing happened.
    pub fn request(&mut self, trip: Trip) -> Result<(), NotInShaft> {
        if !self.floors.has_trip(trip) {
            return Err(self.lacks(format!("trip from {trip}")));
        }
        if self.requests.len() < PRESSES {
            self.requests.push_back(trip);
        }
        Ok(())
    }

    /// The requests since the last call, oldest first.
    pub fn take_requests(&mut self) -> impl Iterator<Item = Trip> + use<'_> {
        self.requests.drain(..)
    }

    /// Holds a button down (one press, and its contact stays closed), or lets it go.
    ///
    /// # Errors
    /// The shaft has no such button; nothing happened.
    pub fn set_button_stuck(&mut self, button: Button, stuck: bool) -> Result<(), NotInShaft> {
        self.check_button(button)?;
        if !stuck {
            self.stuck_buttons.remove(&button);
        } else if !self.stuck_buttons.contains_key(&button) {
            self.stuck_buttons.insert(button, self.clock);
            self.press(button)?;
        }
        Ok(())
    }

    pub fn stuck_buttons(&self) -> impl Iterator<Item = Button> + use<'_> {
        self.stuck_buttons.keys().copied()
    }

    /// The buttons held for so long that the panel reports them as stuck.
    pub(super) fn known_stuck(&self) -> BTreeSet<Button> {
        self.stuck_buttons
            .iter()
            .filter(|(_, since)| self.clock.saturating_sub(**since) >= STUCK_AFTER)
            .map(|(&button, _)| button)
            .collect()
    }

    /// Puts door buttons into a car, which has none at first.
    pub fn fit_door_buttons(&mut self) {
        self.inputs.door.get_or_insert_default();
    }

    /// Presses a door button, or lets it go. Without door buttons nothing happens.
    pub fn set_door_button(&mut self, button: DoorButton, is_pressed: bool) {
        let Some([open, close, open_rear]) = &mut self.inputs.door else { return };
        let contact = match button {
            DoorButton::Open => open,
            DoorButton::Close => close,
            DoorButton::OpenRear => open_rear,
        };
        let until = if is_pressed { self.clock + SHORTEST_PRESS } else { contact.until };
        *contact = Contact { is_pressed, until };
    }

    /// The door buttons as the panel reports them.
    pub(super) fn door_buttons(&self) -> Option<DoorButtons> {
        let reads = |contact: Contact| contact.is_pressed || self.clock < contact.until;
        let [open, close, open_rear] = self.inputs.door?.map(reads);
        Some(DoorButtons { open, close, open_rear })
    }

    /// Pulls or pushes the stop switch. It is an input alone: to stop is the controller's part.
    pub fn set_stop(&mut self, pulled: bool) {
        self.inputs.stop = pulled;
    }

    pub fn set_obstruction(&mut self, active: bool) {
        self.inputs.obstruction = active;
    }

    pub fn set_key(&mut self, key: KeySwitch) {
        self.inputs.key = key;
    }

    /// Sets the load in per cent of the rated load, or removes the load cell.
    pub fn set_load(&mut self, load: Option<u8>) {
        self.inputs.load = load;
    }

    pub fn set_climate(&mut self, climate: Climate) {
        self.inputs.climate = climate;
    }

    pub fn set_motor_fault(&mut self, fault: Option<MotorFault>) {
        self.shaft.set_motor_fault(fault);
    }

    /// Makes the drive stop without levelling, or repairs it.
    pub fn set_levelling_fault(&mut self, fault: Option<LevellingFault>) {
        self.shaft.set_levelling_fault(fault);
    }

    /// Makes the car faster or slower, in per cent of what is configured; at least 1.
    pub fn set_speed(&mut self, percent: u8) {
        self.shaft.set_speed(percent);
    }

    pub fn set_door_jammed(&mut self, jammed: bool) {
        self.door.set_jammed(jammed);
    }

    pub fn set_sensor_dead(&mut self, floor: Floor, dead: bool) {
        self.shaft.set_sensor_dead(floor, dead);
    }

    /// Makes a floor's sensor report another floor, or repairs it.
    pub fn set_sensor_wrong(&mut self, floor: Floor, reports: Option<Floor>) {
        self.shaft.set_sensor_wrong(floor, reports);
    }

    pub fn set_all_sensors_dead(&mut self, dead: bool) {
        for floor in self.floors.floors() {
            self.shaft.set_sensor_dead(floor, dead);
        }
    }

    fn check_button(&self, button: Button) -> Result<(), NotInShaft> {
        if self.floors.has_button(button) {
            Ok(())
        } else {
            Err(self.lacks(format!("button \"{button}\"")))
        }
    }

    fn lacks(&self, what: String) -> NotInShaft {
        NotInShaft { floors: self.floors.get(), what }
    }
}
