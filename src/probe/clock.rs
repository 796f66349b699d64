//! The clock of the day. A node needs it for the time on its displays, and for the times in its
//! audit log and its events; no car moves by it.

use std::env;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::Verdict;

/// How long the clock is watched, and how far it may be off by then.
const WATCH: Duration = Duration::from_millis(100);
const JUMP: Duration = Duration::from_millis(50);

const REMEDY: &str = "set the clock, for example with `timedatectl set-ntp true`";

pub(super) fn clock() -> Verdict {
    let made = env::current_exe().and_then(fs::metadata).and_then(|program| program.modified());
    let (start, began) = (SystemTime::now(), Instant::now());
    thread::sleep(WATCH);
    let passed = start.elapsed().ok().map(|passed| passed.abs_diff(began.elapsed()));
    let synchronized = [TIMESYNC, SYNCHRONIZED].map(|path| Path::new(path).exists());
    judge(start, made.ok(), passed, synchronized)
}

/// systemd-timesyncd makes the directory, and the file once it has the time.
const TIMESYNC: &str = "/run/systemd/timesync";
const SYNCHRONIZED: &str = "/run/systemd/timesync/synchronized";

/// Of the time now, the time when the program was made, the deviation from the monotonic clock, or
/// `None` if the clock went back; and whether there is a service that sets it, and has.
fn judge(
    now: SystemTime,
    made: Option<SystemTime>,
    deviation: Option<Duration>,
    [has_service, is_synchronized]: [bool; 2],
) -> Verdict {
    let shown = humantime::format_rfc3339_seconds(now);
    if let Some(made) = made.filter(|made| now < *made) {
        let made = humantime::format_rfc3339_seconds(made);
        return Verdict::warning(
            format!("it is {shown}, before this program was built ({made}): the clock is slow"),
            REMEDY,
        );
    }
    match deviation {
        Some(deviation) if deviation <= JUMP => {}
        Some(_) | None => {
            return Verdict::warning(
                "the clock jumped while it was watched",
                "check what sets it: two services may be fighting over it",
            );
        }
    }
    if has_service && !is_synchronized {
        return Verdict::warning(
            format!("it is {shown}, and systemd-timesyncd has not heard from a time server"),
            "let the computer reach its time server, or set NTP= in timesyncd.conf",
        );
    }
    Verdict::good(format!("it is {shown}"))
}

#[cfg(test)]
mod tests {
    use super::super::Outcome;
    use super::*;

    const NONE: [bool; 2] = [false, false];

    fn judged(deviation: Option<Duration>, service: [bool; 2]) -> Verdict {
        let made = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        judge(made + Duration::from_secs(1), Some(made), deviation, service)
    }

    fn is_warning(verdict: &Verdict, text: &str) -> bool {
        verdict.result == Outcome::Warning && verdict.what.contains(text)
    }

    #[test]
    fn a_clock_before_the_program_is_slow() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_mins(1);
        let made = Some(now + Duration::from_secs(1));
        let verdict = judge(now, made, Some(Duration::ZERO), NONE);
        assert!(is_warning(&verdict, "it is 1970-01-01T00:01:00Z"), "{verdict:?}");
    }

    #[test]
    fn a_clock_that_jumps_or_is_not_set_is_told() {
        assert!(judged(Some(Duration::ZERO), NONE).result == Outcome::Ok);
        assert!(judged(Some(Duration::ZERO), [true, true]).result == Outcome::Ok);
        assert!(is_warning(&judged(Some(Duration::from_secs(2)), NONE), "jumped"));
        assert!(is_warning(&judged(None, NONE), "jumped"));
        assert!(is_warning(&judged(Some(Duration::ZERO), [true, false]), "time server"));
    }
}
