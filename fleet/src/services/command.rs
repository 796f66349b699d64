//! What an operator commands, and what it sets, by [`Command::settings`].

use elevator_driver::{Alarm, Floor};
use serde::{Deserialize, Serialize};

use super::{Bank, power, priority};
use crate::model::{Mode, NodeId};
use crate::settings::{Request, SessionEnd, SessionState, Setting, SettingError};

/// A command of an operator, which any node takes. It holds until another one is given, whatever is
/// restarted meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Command {
    /// Sets the service mode of a car. Its key switch, or a fire recall, may be more restrictive.
    Mode {
        #[cfg_attr(feature = "schema", schema(value_type = String, example = "B"))]
        car: NodeId,
        /// One of `modes` of the fleet.
        #[cfg_attr(feature = "schema", schema(value_type = String, example = "independent"))]
        mode: Mode,
    },
    /// Starts a fire recall of all cars (ASME A17.1 *Phase I*), or ends all that the node knows of.
    /// Nothing else ends them.
    FireRecall { on: bool },
    /// Locks a floor, or unlocks it: calls to a locked floor need a right of access.
    FloorLock {
        #[cfg_attr(feature = "schema", schema(value_type = String, example = "5"))]
        floor: Floor,
        locked: bool,
    },
    /// Sends a car to a floor with priority, or ends its priority call and session.
    ///
    /// The car takes no more hall calls, and those that it has go to others. It serves the car calls
    /// on its way, opens at the floor and stays there for `service.priority_stay`, or until somebody
    /// presses a button in it. A car in a more restrictive mode goes once that is over; a fire recall
    /// and emergency power end the call.
    Priority {
        /// The car; null means the one in service that gets there first.
        #[cfg_attr(feature = "schema", schema(value_type = Option<String>, example = "B"))]
        car: Option<NodeId>,
        /// The floor; null ends the priority call of the car.
        #[cfg_attr(feature = "schema", schema(value_type = Option<String>, example = "5"))]
        floor: Option<Floor>,
    },
    /// Starts or ends emergency power. To start it again gives each car another turn.
    EmergencyPower {
        on: bool,
        /// The car that serves calls once all are down; null means the first one that can.
        #[cfg_attr(feature = "schema", schema(value_type = Option<String>, example = "B"))]
        car: Option<NodeId>,
    },
    /// Answers the alarm from a car: its alarm lamp says so until the door next closes.
    AcknowledgeAlarm {
        #[cfg_attr(feature = "schema", schema(value_type = String, example = "B"))]
        car: NodeId,
    },
}

/// Why a command is refused. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandRefused {
    /// A setting of this car would stay forever.
    #[error("unknown car {car}{}", choice(.known))]
    UnknownCar { car: NodeId, known: Vec<NodeId> },
    #[error("there is no floor {floor}: the building has floors 0 to {top}")]
    NoSuchFloor { floor: Floor, top: u8 },
    /// A car is in this mode for another reason.
    #[error("`{0}` can't be set as a mode")]
    NoModeToSet(Mode),
    /// A priority call has one car.
    #[error("to end a priority call, name its car")]
    NoCarNamed,
    #[error("no alarm from car {0} waits for an answer")]
    NoAlarm(NodeId),
    #[error("all cars are recalled because of a fire")]
    FireRecall,
    /// One car moves at a time.
    #[error("the building runs on emergency power")]
    EmergencyPower,
    #[error("car {car} does not serve floor {floor}")]
    NotServed { car: NodeId, floor: Floor },
    #[error("no car can be sent to floor {floor}: none is in service, or all are already sent")]
    NoCar { floor: Floor },
    /// It can't become a setting. Of several, those before it hold.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// The end of the sentence about an unknown car.
fn choice(known: &[NodeId]) -> String {
    let known: Vec<_> = known.iter().map(NodeId::as_str).collect();
    match known[..] {
        [] => ": this node knows no cars".to_owned(),
        _ => format!("; use one of {}", known.join(", ")),
    }
}

impl Command {
    /// The command as it is carried out, with the car that it chooses, and what it sets.
    pub(crate) fn settings(self, bank: &Bank<'_>) -> Result<(Self, Vec<Setting>), CommandRefused> {
        self.check(bank)?;
        let settings = match &self {
            Self::Mode { car, mode } => vec![Setting::Mode(car.clone(), *mode)],
            Self::FireRecall { on: true } => vec![bank.settings().next_recall(bank.own.nonce)],
            Self::FireRecall { on: false } => match bank.settings().ends_of_recalls() {
                ends if ends.is_empty() => return Err(SettingError::NoRecall.into()),
                ends => ends,
            },
            Self::FloorLock { floor, locked } => vec![Setting::FloorLock(*floor, *locked)],
            Self::Priority { car, floor: Some(floor) } => {
                let (chosen, call) = priority::command(bank, car.as_ref(), *floor)?;
                let command = Self::Priority { car: Some(chosen.clone()), floor: Some(*floor) };
                return Ok((command, vec![Setting::Priority(chosen, Some(call))]));
            }
            Self::Priority { car: Some(car), floor: None } => {
                let session = bank.settings().session_of(car).cloned();
                let ended = session.map(|it| it.with(SessionState::Ended(SessionEnd::Operator)));
                let ended = ended.map(|it| Setting::Request(Request::Session(it)));
                ended.into_iter().chain([Setting::Priority(car.clone(), None)]).collect()
            }
            Self::Priority { car: None, floor: None } => return Err(CommandRefused::NoCarNamed),
            Self::EmergencyPower { on, car } => power::command(bank, *on, car.as_ref()),
            Self::AcknowledgeAlarm { car } if bank.settings().alarm(car) == Alarm::Sent => {
                vec![Setting::Alarm(car.clone(), Alarm::Acknowledged)]
            }
            Self::AcknowledgeAlarm { car } => return Err(CommandRefused::NoAlarm(car.clone())),
        };
        Ok((self, settings))
    }

    /// Whether the building has what is commanded: what it has not would stay set forever.
    fn check(&self, bank: &Bank<'_>) -> Result<(), CommandRefused> {
        let (car, floor) = match self {
            Self::Mode { mode, .. } if !Mode::ALL.contains(mode) => {
                return Err(CommandRefused::NoModeToSet(*mode));
            }
            Self::Mode { car, .. } => (Some(car), None),
            Self::FireRecall { .. } | Self::AcknowledgeAlarm { .. } => (None, None),
            // One that is locked can be unlocked, whatever the building has become.
            Self::FloorLock { floor, locked: false } if bank.settings().is_locked(*floor) => {
                (None, None)
            }
            Self::FloorLock { floor, .. } => (None, Some(*floor)),
            Self::Priority { car, floor } => (car.as_ref(), *floor),
            Self::EmergencyPower { car, .. } => (car.as_ref(), None),
        };
        if let Some(floor) = floor.filter(|floor| !bank.own.floors.contains(*floor)) {
            let top = bank.own.floors.top().index();
            return Err(CommandRefused::NoSuchFloor { floor, top });
        }
        if let (Some(car), Some(floor)) = (car, floor)
            && !bank.serves(car, &[floor])
        {
            return Err(CommandRefused::NotServed { car: car.clone(), floor });
        }
        let settings = bank.settings();
        let is_commanded =
            |car: &NodeId| settings.priority(car).is_some() || settings.session_of(car).is_some();
        match car.filter(|car| !bank.has_heard_of(car) && !is_commanded(car)) {
            Some(car) => Err(CommandRefused::UnknownCar { car: car.clone(), known: bank.cars() }),
            None => Ok(()),
        }
    }
}
