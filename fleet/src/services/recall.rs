//! The fire recall of all cars (ASME A17.1 *Phase I*), by command.

use super::Bank;
use crate::settings::{Setting, SettingError};

/// What becomes of the fire recall of the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FireRecall {
    /// All cars go to their recall floor.
    Start,
    /// Return them to what they did before.
    End,
}

/// What starts a recall, or ends all that this node knows of.
pub(crate) fn command(bank: &Bank<'_>, recall: FireRecall) -> Result<Vec<Setting>, SettingError> {
    let settings = match recall {
        FireRecall::Start => vec![bank.settings().next_recall(bank.own.nonce)],
        FireRecall::End => bank.settings().ends_of_recalls(),
    };
    if settings.is_empty() { Err(SettingError::NoRecall) } else { Ok(settings) }
}
