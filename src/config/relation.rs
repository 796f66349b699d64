//! Times that have to go together.

use std::time::Duration;

use super::{ConfigError, Effective};

/// Checks that the time at this key is at most another one.
pub(super) fn at_most(
    values: &Effective,
    (path, time): (&'static str, Duration),
    (what, most): (&str, Duration),
) -> Result<(), ConfigError> {
    if time <= most {
        return Ok(());
    }
    Err(values.relation(path, format!("at most {what} = {}", human(most))))
}

/// Checks that the time at this key is longer than another one.
pub(super) fn longer(
    values: &Effective,
    (path, time): (&'static str, Duration),
    what: &str,
    than: Duration,
) -> Result<(), ConfigError> {
    if time > than {
        return Ok(());
    }
    Err(values.relation(path, format!("longer than {what} = {}", human(than))))
}

pub(super) fn human(time: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(time)
}
