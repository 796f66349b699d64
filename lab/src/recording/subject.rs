//! Which run to record.

use std::fmt;
use std::time::Duration;

use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::wire::Protocol;

use crate::elections::{Conditions, Trial};
use crate::trace::{Trace, Window};
use crate::{Campaign, Outcome, Script, WorldError};

/// A drawing of a situation begins so long before it, and ends twice as long after one node leads.
const MARGIN: Duration = Duration::from_millis(20);

/// How long a drawing of anything else is; of a violation it is the time before.
const USUAL: Duration = Duration::from_secs(2);

/// A drawing of a campaign ends so long after its first violation.
const AFTER_VIOLATION: Duration = Duration::from_millis(200);

/// Where a drawing begins and ends, where that is said.
type Said = (Option<Duration>, Option<Duration>);

/// A run that can be recorded: always the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// What happens to one fleet of [`elections`](crate::elections).
    /// The drawing's 0 is the event.
    Situation(Trial),
    /// A campaign of random faults; the drawing's 0 is its beginning.
    Campaign {
        seed: u64,
        protocol: Protocol,
        preset: Preset,
        /// How long faults happen.
        duration: Duration,
    },
}

impl Subject {
    /// Records it from one moment to another, both relative to the drawing's 0. Without them the
    /// drawing shows the situation until one node leads, or the first violation of the campaign. If
    /// the one that is given lies beyond the other, the drawing is 2 s long.
    ///
    /// # Errors
    /// There is no such world.
    pub fn trace(&self, from: Option<Duration>, to: Option<Duration>) -> Result<Trace, WorldError> {
        let (mut trace, title) = match *self {
            Self::Situation(trial) => {
                let run = trial.run()?;
                let (zero, lasts) = if run.prepared {
                    (run.began, run.took.unwrap_or(run.watched))
                } else {
                    (Duration::ZERO, USUAL)
                };
                let usual = (zero.saturating_sub(MARGIN), zero + lasts + MARGIN * 2);
                let (from, to) =
                    span((from.map(|from| zero + from), to.map(|to| zero + to)), usual);
                let Trial { contestant, size, loss, situation, seed, .. } = trial;
                let situation = situation.title();
                let title =
                    format!("{contestant}: {situation}, {size} nodes, {loss} % loss, seed {seed}");
                (trial.record(Window { from, to, zero })?, title)
            }
            Self::Campaign { seed, protocol, preset, duration } => {
                let election = ElectionSettings::preset(protocol, preset);
                let campaign = Campaign::by_seed(seed).under(election).lasting(duration);
                let window = around_violation((from, to), || campaign.run())?;
                let title = format!("{protocol}: campaign of random faults, seed {seed}");
                (campaign.record(window)?.world.recorded(), title)
            }
        };
        trace.title = title;
        trace.command = self.to_string();
        Ok(trace)
    }
}

impl Script {
    /// Records it from one moment to another. Without them the drawing shows the first violation, or
    /// the start. The caller adds the command.
    ///
    /// # Errors
    /// There is no such world.
    pub fn trace(&self, from: Option<Duration>, to: Option<Duration>) -> Result<Trace, WorldError> {
        let window = around_violation((from, to), || self.run())?;
        let mut trace = self.record(window)?.world.recorded();
        let (protocol, nodes) = (self.world.election.protocol(), self.world.nodes);
        let steps = self.steps.len();
        trace.title = format!("{protocol}: script of {steps} steps, {nodes} nodes");
        Ok(trace)
    }
}

/// What a drawing of random faults shows, if it is not said: the first violation, or the start.
fn around_violation(
    said: Said,
    run: impl FnOnce() -> Result<Outcome, WorldError>,
) -> Result<Window, WorldError> {
    if let (Some(from), Some(to)) = said {
        return Ok(Window::new(from, to));
    }
    let first = run()?.violations.iter().map(|violation| violation.at).min();
    let around = |at: Duration| (at.saturating_sub(USUAL), at + AFTER_VIOLATION);
    let (from, to) = span(said, first.map_or((Duration::ZERO, USUAL), around));
    Ok(Window::new(from, to))
}

/// Where a drawing begins and ends: where it is said to, or else as usual.
fn span(said: Said, usual: (Duration, Duration)) -> (Duration, Duration) {
    match said {
        (Some(from), None) if from >= usual.1 => (from, from + USUAL),
        (None, Some(to)) if to <= usual.0 => (to.saturating_sub(USUAL), to),
        (from, to) => (from.unwrap_or(usual.0), to.unwrap_or(usual.1)),
    }
}

/// The command that draws it, without what it writes to.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Situation(trial) => {
                let Trial { contestant, size, loss, conditions, situation, watch, seed } = trial;
                write!(
                    f,
                    "liftmesh lab trace --election {contestant} --size {size} --loss {loss} \
                     --situation {situation} --seed {seed}"
                )?;
                if *conditions != Conditions::Steady {
                    write!(f, " --conditions {conditions}")?;
                }
                if !situation.settles() {
                    write!(f, " --watch {}", watch.as_secs())?;
                }
                Ok(())
            }
            Self::Campaign { seed, protocol, preset, duration } => {
                write!(f, "liftmesh lab trace --campaign {seed} --election {protocol}")?;
                match preset {
                    Preset::Fleet => {}
                    Preset::Source => f.write_str(" --preset source")?,
                }
                if *duration == Campaign::USUAL_DURATION {
                    return Ok(());
                }
                let duration = humantime::format_duration(*duration).to_string();
                write!(f, " --duration {}", duration.replace(' ', ""))
            }
        }
    }
}
