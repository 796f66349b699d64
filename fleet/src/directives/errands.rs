//! Priority calls and emergency power, as directives say it.

use std::collections::BTreeMap;
use std::fmt;

use elevator_driver::Floor;

use super::{Directive, Directives, Key, OFF, ON, Topic, of_kind};
use crate::model::NodeId;

/// A priority call of a car: `FLOOR`, or `FLOOR any` if no operator has named the car.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriorityCall {
    /// Where the car goes.
    pub floor: Floor,
    /// Whether another car takes the call if this one is lost.
    pub any: bool,
}

/// Emergency power: `on CARS`, or `on CARS CAR` with the car that is to serve once all are down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmergencyPower {
    /// How many cars the fleet has, as far as was known where it was commanded, or to any master since.
    /// Turns are given by a master that most of them follow.
    pub cars: usize,
    /// Which one is to serve.
    pub serving: Option<NodeId>,
}

/// Whose turn it is on emergency power.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Turn {
    /// Nobody's.
    #[default]
    None,
    /// That of a car which goes down: `CAR by MASTER`.
    Evacuates {
        /// The car.
        car: NodeId,
        /// The master that has given it. It counts while the car's node follows this one.
        master: NodeId,
    },
    /// That of a car which serves calls: `CAR by MASTER serves`.
    Serves {
        /// The car.
        car: NodeId,
        /// The master, as above.
        master: NodeId,
    },
    /// Nobody's, and a car has had it: `CAR done`.
    Done {
        /// The car.
        car: NodeId,
    },
}

impl PriorityCall {
    const ANY: &str = " any";

    /// The value of a directive; `None` if there is no call, or none that is understood.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (floor, any) = match text.strip_suffix(Self::ANY) {
            Some(floor) => (floor, true),
            None => (text, false),
        };
        let floor = Floor::try_from(floor.parse::<u8>().ok()?).ok()?;
        Some(Self { floor, any })
    }
}

impl fmt::Display for PriorityCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.floor.index(), if self.any { Self::ANY } else { "" })
    }
}

impl EmergencyPower {
    /// What is not understood is emergency power with a fleet of unknown size: no car moves.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        if words.next() == Some(OFF) {
            return None;
        }
        let cars = cars_of(words.next().unwrap_or_default());
        let serving = words.next().and_then(|car| NodeId::new(car).ok());
        Some(Self { cars, serving })
    }
}

/// A number of cars. What is not understood is so many that no master has most of them behind it.
fn cars_of(text: &str) -> usize {
    text.parse().unwrap_or(usize::MAX)
}

impl fmt::Display for EmergencyPower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ON} {}", self.cars)?;
        self.serving.iter().try_for_each(|car| write!(f, " {car}"))
    }
}

impl Turn {
    const NONE: &str = "none";
    const BY: &str = "by";
    const SERVES: &str = "serves";
    const DONE: &str = "done";

    /// The value of a directive. What is not understood is nobody's turn.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let words: Vec<&str> = text.split(' ').collect();
        let node = |text: &str| NodeId::new(text).ok();
        let turn = match words[..] {
            [car, Self::DONE] => node(car).map(|car| Self::Done { car }),
            [car, Self::BY, master] => {
                node(car).zip(node(master)).map(|(car, master)| Self::Evacuates { car, master })
            }
            [car, Self::BY, master, Self::SERVES] => {
                node(car).zip(node(master)).map(|(car, master)| Self::Serves { car, master })
            }
            _ => None,
        };
        turn.unwrap_or_default()
    }

    /// The car whose turn it is, and the master that has given it.
    #[must_use]
    pub fn holder(&self) -> Option<(&NodeId, &NodeId)> {
        match self {
            Self::Evacuates { car, master } | Self::Serves { car, master } => Some((car, master)),
            Self::None | Self::Done { .. } => None,
        }
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str(Self::NONE),
            Self::Evacuates { car, master } => write!(f, "{car} {} {master}", Self::BY),
            Self::Serves { car, master } => {
                write!(f, "{car} {} {master} {}", Self::BY, Self::SERVES)
            }
            Self::Done { car } => write!(f, "{car} {}", Self::DONE),
        }
    }
}

/// What registers say of priority calls. It is asked for at every input, and hardly ever changes.
pub(super) fn read_priorities(
    registers: &BTreeMap<Key, Directive>,
) -> BTreeMap<NodeId, PriorityCall> {
    let calls = of_kind(registers, Topic::PRIORITY).filter_map(|directive| {
        let Topic::Priority(car) = Topic::of(&directive.key)? else { return None };
        Some((car, PriorityCall::parse(directive.value.as_str())?))
    });
    calls.collect()
}

/// Whether a directive of this key may be a priority call.
pub(super) fn is_priority_key(key: &Key) -> bool {
    key.as_str().starts_with(Topic::PRIORITY)
}

impl Directives {
    fn text(&self, topic: &Topic) -> Option<&str> {
        self.about(topic).map(|it| it.value.as_str())
    }

    /// The priority call of a car.
    #[must_use]
    pub fn priority(&self, car: &NodeId) -> Option<PriorityCall> {
        self.priorities.get(car).copied()
    }

    /// The priority calls, by car.
    pub fn priorities(&self) -> impl Iterator<Item = (&NodeId, PriorityCall)> {
        self.priorities.iter().map(|(car, call)| (car, *call))
    }

    /// Whether the building runs on emergency power. Only `off` ends that.
    #[must_use]
    pub fn emergency_power(&self) -> Option<EmergencyPower> {
        let commanded = EmergencyPower::parse(self.text(&Topic::EmergencyPower)?)?;
        let known = self.text(&Topic::Cars).map(cars_of).unwrap_or_default();
        Some(EmergencyPower { cars: commanded.cars.max(known), ..commanded })
    }

    /// Whose turn it is on emergency power.
    #[must_use]
    pub fn turn(&self) -> Turn {
        self.text(&Topic::Turn).map(Turn::parse).unwrap_or_default()
    }
}
