//! Times that have to go together.

use std::time::Duration;

use super::check::Checker;

/// Checks that the time at this key is at most another one, or a part of it.
pub(super) fn at_most(
    check: &Checker<'_>,
    (path, time): (&'static str, Duration),
    (other, what, most): (&'static str, &str, Duration),
) {
    if time > most {
        let relation = format!("at most {what} = {}", human(most));
        check.refuse_relation(path, &[other], relation);
    }
}

/// Checks that the time at this key is longer than another one.
pub(super) fn longer(
    check: &Checker<'_>,
    (path, time): (&'static str, Duration),
    (others, what, than): (&[&'static str], &str, Duration),
) {
    if time <= than {
        let relation = format!("longer than {what} = {}", human(than));
        check.refuse_relation(path, others, relation);
    }
}

pub(super) fn human(time: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(time)
}
