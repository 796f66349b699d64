//! The service mode of a car.

use std::fmt;
use std::str::FromStr;

use elevator_driver::KeySwitch;
use serde::{Deserialize, Serialize};

use super::Unavailable;

/// The service mode of a car, the least restrictive first: see `Car::mode`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The group assigns hall calls to it.
    #[default]
    InService,
    /// The group assigns hall calls to it; at each stop its door waits for its attendant's button.
    Attendant,
    /// It takes no hall call, and serves car calls on the way to a priority call. Not set by name.
    Priority,
    /// It serves its car calls only, and keeps its door open until the next one (ASME A17.1
    /// *independent service*).
    Independent,
    /// It takes its riders where they want to go, and then stays where it is, its door closed.
    OutOfService,
    /// It goes to the recall floor when it is its turn, and keeps its door open there (ASME A17.1
    /// *emergency power*). No operator sets it by its name.
    EmergencyPower,
    /// It goes to the recall floor, and keeps its door open there (ASME A17.1 *Phase I*, EN 81-73).
    FireRecall,
    /// A firefighter drives it from within, floor by floor (ASME A17.1 *Phase II*).
    FireService,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown service mode {0:?}; use one of {names}", names = Mode::ALL.map(|known| known.to_string()).join(", "))]
pub struct UnknownMode(String);

impl Mode {
    /// Every mode that an operator can set by its name, the least restrictive first.
    pub const ALL: [Self; 6] = [
        Self::InService,
        Self::Attendant,
        Self::Independent,
        Self::OutOfService,
        Self::FireRecall,
        Self::FireService,
    ];

    /// The mode's name, as in settings, on the command line and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InService => "in-service",
            Self::Attendant => "attendant",
            Self::Priority => "priority",
            Self::Independent => "independent",
            Self::EmergencyPower => "emergency-power",
            Self::OutOfService => "out-of-service",
            Self::FireRecall => "fire-recall",
            Self::FireService => "fire-service",
        }
    }

    /// The most restrictive one of this commanded mode and of a key switch. *Out of service* by key
    /// comes before everything, as a mechanic may be in the shaft.
    pub(crate) fn with_key(self, key: KeySwitch) -> Self {
        match key {
            KeySwitch::Normal => self,
            KeySwitch::Independent => self.max(Self::Independent),
            KeySwitch::FireRecall | KeySwitch::RecallAll => self.max(Self::FireRecall),
            KeySwitch::Attendant => self.max(Self::Attendant),
            KeySwitch::OutOfService => Self::OutOfService,
        }
    }

    /// Why no hall call may be assigned to a car in this mode, as beacons say it.
    pub(crate) fn unavailable(self) -> Option<Unavailable> {
        match self {
            Self::InService | Self::Attendant => None,
            Self::Priority | Self::Independent => Some(Unavailable::Independent),
            Self::OutOfService | Self::EmergencyPower => Some(Unavailable::OutOfService),
            Self::FireRecall | Self::FireService => Some(Unavailable::FireRecall),
        }
    }

    /// The mode as messages carry it, which know only four.
    pub(crate) fn on_the_wire(self) -> Self {
        match self {
            Self::InService | Self::Attendant => Self::InService,
            Self::Priority | Self::Independent => Self::Independent,
            Self::OutOfService | Self::EmergencyPower => Self::OutOfService,
            Self::FireRecall | Self::FireService => Self::FireRecall,
        }
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|known| known.name() == text);
        known.ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A mode in the bytes between nodes: see [`Mode::on_the_wire`].
pub(crate) mod wire {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Mode;

    /// In the order of their numbers.
    const MODES: [Mode; 4] =
        [Mode::InService, Mode::Independent, Mode::OutOfService, Mode::FireRecall];

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in references")]
    pub(crate) fn serialize<S: Serializer>(mode: &Mode, to: S) -> Result<S::Ok, S::Error> {
        let number = MODES.iter().position(|known| *known == mode.on_the_wire());
        number.unwrap_or_default().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Mode, D::Error> {
        let number = usize::deserialize(from)?;
        MODES.get(number).copied().ok_or_else(|| D::Error::custom("no mode"))
    }
}
