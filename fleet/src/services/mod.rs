//! The services of a bank beside assigning and serving calls: rules over the store and a read-only
//! view of the [`Bank`].
//!
//! A rule says what is to be set, or why something is refused. Setting it is up to the node, so
//! that the store has one writer. What a rule remembers is its own, and on no disk.

pub(crate) mod access;
mod bank;
mod boarding;
pub(crate) mod command;
mod key;
pub(crate) mod power;
pub(crate) mod priority;
pub(crate) mod sessions;

pub(crate) use self::access::AccessControl;
pub(crate) use self::bank::Bank;
pub(crate) use self::boarding::Boarding;
pub(crate) use self::key::{KeyWatch, end_of_hang, fire_key, recall_by_key};
pub(crate) use self::power::Turns;
pub(crate) use self::priority::Priorities;
pub(crate) use self::sessions::Sessions;
use crate::car::Errand;
use crate::model::NodeId;
use crate::settings::Settings;

/// What the services remember, one file each.
#[derive(Debug, Default)]
pub(crate) struct Services {
    pub(crate) access: AccessControl,
    pub(crate) boarding: Boarding,
    pub(crate) key: KeyWatch,
    pub(crate) turns: Turns,
    pub(crate) priorities: Priorities,
    pub(crate) sessions: Sessions,
}

/// What the car of this node is to do besides its calls: a priority call goes first.
pub(crate) fn errand(settings: &Settings, own: &NodeId) -> Option<Errand> {
    let priority = settings.priority(own).map(|call| Errand::Priority(call.floor));
    priority.or_else(|| Some(settings.session_of(own)?.errand()))
}
