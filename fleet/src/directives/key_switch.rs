//! Where the key switches of cars stand: `key/CAR`, with the switch's position in words.
//!
//! No operator commands it: the node of the car sets it as the key is turned. Beacons name four modes
//! only, so without it other nodes could not tell a car that a mechanic has switched off from one that
//! waits for emergency power. To the car itself it says nothing.

use elevator_driver::KeySwitch;

use super::{Directives, Key};
use crate::model::{Mode, NodeId};

/// The key of the directive about this car.
pub(crate) fn key_switch_key(car: &NodeId) -> Key {
    let text = format!("key/{car}");
    Key::new(&text).unwrap_or_else(|error| unreachable!("a name is short: {error}"))
}

impl Directives {
    /// Where the key switch of this car stands, as far as is known here. A position that is not
    /// understood counts as *out of service*: somebody has turned the key away from *normal*.
    #[must_use]
    pub fn key_switch(&self, car: &NodeId) -> KeySwitch {
        let Some(directive) = self.get(&key_switch_key(car)) else {
            return KeySwitch::Normal;
        };
        let said = directive.value.as_str();
        let known = KeySwitch::ALL.into_iter().find(|position| position.to_string() == said);
        known.unwrap_or(KeySwitch::OutOfService)
    }

    /// The mode of a car as it follows from commands, its key switch, and who holds the key.
    pub(crate) fn mode_with_key(&self, car: &NodeId) -> Mode {
        if self.has_firefighter(car) {
            return Mode::FireService;
        }
        self.mode(car).with_key(self.key_switch(car))
    }
}
