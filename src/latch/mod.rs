//! The hang latch, which keeps a node from starting again after its car hung (F9, H1–H4).
//!
//! ```text
//!   car hung ─▶ motor stop ─▶ set() ─▶ hang.toml ─▶ the process ends
//!                                         │
//!   liftmesh run ────────────── find() ◀──┤ refused while it is there
//!   liftmesh clear-hang ─ audit record ─▶ remove()
//! ```
//!
//! The latch is a separate file in the data directory, in readable text, which survives a damaged
//! journal. A file that can't be parsed counts as a latch.
//!
//! The audit log has the hang as well, so that a latch that was removed by hand is noticed. Both
//! are written at once, on two threads, and either may be missing after a crash:
//!
//! - a latch whose hang is not in the log: the start refuses, and completes the log;
//! - a hang in the log that was not cleared, without a latch: the start refuses, and puts a latch
//!   back ([`Latch::Removed`]).
//!
//! Next to it is the mark of a commissioned node, [`commission`]: a node that has run before and
//! finds its journal missing can't know what else is lost.

pub(crate) mod commission;
pub(crate) mod file;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use elevator_driver::{Direction, Floor};
use elevator_fleet::car::{HangCause, HangEvidence};
use elevator_fleet::model::NodeId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::data_dir;

pub(crate) const FILE: &str = "hang.toml";

/// What the latch is called while it is written. One that is left over is a latch as well.
const UNFINISHED: &str = "hang.toml.new";

const FORMAT: u32 = 1;

/// The version of this program, as latch and audit log name it.
pub(crate) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

const PREAMBLE: &str = "\
# The car of this node hung, and the node does not start while this file exists. Do not delete it:
# inspect the car, then run `liftmesh clear-hang`, which keeps a record.
";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum Latch {
    Hang(Hang),
    /// The node has run before, and its journal is gone or was damaged and set aside: a hang may
    /// have been lost with it (P5).
    JournalLost,
    Unreadable {
        reason: String,
    },
    /// The audit log has a hang that was not cleared, and its latch is missing.
    Removed {
        recorded: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hang {
    /// When, in UTC by the machine's clock; for people only (E5).
    pub(crate) at: String,
    pub(crate) node: NodeId,
    pub(crate) program: String,
    pub(crate) evidence: Evidence,
}

/// What was known when a car hung. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Evidence {
    /// The floor of its stop; absent while homing, or if it was told to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "5")]
    pub(crate) floor: Option<Label>,
    /// Where it was going, or went last.
    #[schema(value_type = String, example = "up")]
    pub(crate) direction: Direction,
    /// The time that the flight was allowed.
    pub(crate) expected_s: f64,
    /// How long the motor had been driven without a new floor, over all tries; or, if it did not
    /// stop, since it was told to.
    pub(crate) actual_s: f64,
    /// So many flights in a row did not end where they were to, or searches found no floor; absent
    /// where the motor was driven for too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) flights_off_target: Option<u8>,
    /// Whether the motor did not stop on command; absent if it did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) not_stopped: bool,
    /// The last floor sensor seen, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "2")]
    pub(crate) last_sensor: Option<Label>,
}

/// The label that a floor had, for readers that don't know the building. Older programs wrote the
/// index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub(crate) struct Label(String);

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Label(String),
    Index(u8),
}

impl From<Written> for Label {
    fn from(written: Written) -> Self {
        match written {
            Written::Label(label) => Self(label),
            Written::Index(index) => Self(index.to_string()),
        }
    }
}

impl From<Floor> for Label {
    fn from(floor: Floor) -> Self {
        Self(floor.to_string())
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a latch came to be on disk.
#[derive(Debug)]
pub enum Kept {
    Whole,
    /// The latch could not be written: the mark of the commissioned node was renamed to it, which
    /// needs no space. The node does not start; the reason is only in the log.
    Bare(io::Error),
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "refused to start: {latch}\nInspect the car. Once it is fit to run:\n  {}",
    remedy(data_dir)
)]
pub struct Refusal {
    pub(crate) data_dir: PathBuf,
    pub(crate) latch: Box<Latch>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    format: u32,
    #[serde(flatten)]
    latch: Latch,
}

/// The latch in a data directory, if there is one, or if that can't be determined.
pub(crate) fn find(data_dir: &Path) -> Option<Latch> {
    [FILE, UNFINISHED].into_iter().find_map(|name| {
        let path = data_dir.join(name);
        match data_dir::read_text(&path) {
            Ok(text) => Some(parse(&text).unwrap_or_else(|error| unreadable(&path, &error))),
            Err(error) if is_absent(&error) => None,
            Err(error) => Some(unreadable(&path, &error)),
        }
    })
}

/// Refuses the start of a node that has a latch.
pub(crate) fn check(data_dir: &Path) -> Result<(), Refusal> {
    find(data_dir).map_or(Ok(()), |latch| Err(Refusal::new(data_dir, latch)))
}

/// Puts a latch on disk; it is there when this returns (H2), however long the disk takes.
///
/// # Errors
/// The disk took neither the latch nor a bare one: the node would start.
pub fn set(data_dir: &Path, latch: &Latch) -> io::Result<Kept> {
    let written = text(latch).and_then(|text| {
        file::replace(data_dir, UNFINISHED, FILE, text.as_bytes())?;
        Ok(Kept::Whole)
    });
    written.or_else(|error| {
        commission::turn_into(data_dir, FILE).map_or_else(
            // The first error says more of the disk than the second.
            |_| Err(io::Error::new(error.kind(), error.to_string())),
            |()| Ok(Kept::Bare(io::Error::new(error.kind(), error.to_string()))),
        )
    })
}

/// Removes the latch durably. It is not an error if there is none.
pub(crate) fn remove(data_dir: &Path) -> io::Result<()> {
    for name in [UNFINISHED, FILE] {
        file::remove(&data_dir.join(name))?;
    }
    file::sync_directory(data_dir)
}

/// The node whose directory this is, by its latch, even a damaged one, or its mark.
pub(crate) fn owner(data_dir: &Path) -> Option<NodeId> {
    #[derive(Deserialize)]
    struct Named {
        node: NodeId,
    }
    [FILE, UNFINISHED, commission::FILE]
        .into_iter()
        .filter_map(|name| data_dir::read_text(&data_dir.join(name)).ok())
        .find_map(|text| Some(toml::from_str::<Named>(&text).ok()?.node))
}

#[derive(Debug, thiserror::Error)]
enum ParseError {
    #[error("{}", .0.message())]
    Malformed(toml::de::Error),
    #[error("it has format {0}, but this program reads format {FORMAT}")]
    Format(u32),
}

fn parse(text: &str) -> Result<Latch, ParseError> {
    let Stored { format, latch } = toml::from_str(text).map_err(ParseError::Malformed)?;
    if format == FORMAT { Ok(latch) } else { Err(ParseError::Format(format)) }
}

fn text(latch: &Latch) -> io::Result<String> {
    let stored = Stored { format: FORMAT, latch: latch.clone() };
    let body = toml::to_string(&stored).map_err(io::Error::other)?;
    Ok(format!("{PREAMBLE}{body}"))
}

fn unreadable(path: &Path, reason: &dyn fmt::Display) -> Latch {
    Latch::Unreadable { reason: format!("{} can't be read: {reason}", path.display()) }
}

/// A directory that is not there has no latch either.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The command that clears a latch.
pub(crate) fn remedy(data_dir: &Path) -> String {
    let data_dir = data_dir.display();
    format!("liftmesh clear-hang --operator NAME --reason TEXT --data-dir {data_dir}")
}

impl Refusal {
    pub(crate) fn new(data_dir: &Path, latch: Latch) -> Self {
        Self { data_dir: data_dir.to_owned(), latch: Box::new(latch) }
    }
}

impl Hang {
    /// A hang of this node's car, at this moment of the wall clock.
    #[must_use]
    pub fn new(node: NodeId, evidence: &HangEvidence, at: SystemTime) -> Self {
        Self { at: wall(at), node, program: PROGRAM.to_owned(), evidence: evidence.into() }
    }
}

/// A moment of the wall clock, as latch and audit log have it.
pub(crate) fn wall(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at).to_string()
}

impl From<&HangEvidence> for Evidence {
    fn from(evidence: &HangEvidence) -> Self {
        let seconds = |time: std::time::Duration| (time.as_secs_f64() * 1000.0).round() / 1000.0;
        Self {
            floor: evidence.floor.map(Label::from),
            direction: evidence.direction,
            expected_s: seconds(evidence.expected),
            actual_s: seconds(evidence.actual),
            flights_off_target: evidence.cause.flights(),
            not_stopped: evidence.cause == HangCause::NotStopped,
            last_sensor: evidence.last_sensor.map(Label::from),
        }
    }
}

impl fmt::Display for Latch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hang(hang) => {
                write!(f, "the car of node {} hung at {}, {}", hang.node, hang.at, hang.evidence)
            }
            Self::JournalLost => f.write_str(
                "this node has run before and its journal is gone or damaged; a hang of its car \
                 may have been lost with it",
            ),
            Self::Unreadable { reason } => write!(
                f,
                "there is a latch, so the car may have hung, but it can't be read: {reason}"
            ),
            Self::Removed { recorded } => write!(
                f,
                "{recorded}. {FILE} is missing, but nobody cleared the hang: the file was removed \
                 by hand or lost in a power cut. Use `liftmesh clear-hang` to clear it"
            ),
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { direction: way, expected_s, actual_s, .. } = self;
        match &self.floor {
            Some(floor) => write!(f, "on its way {way} to floor {floor}: ")?,
            None if self.not_stopped => f.write_str("told to stop: ")?,
            None => write!(f, "on its way {way} to find a floor: ")?,
        }
        match (self.flights_off_target, self.not_stopped) {
            (Some(count), _) => write!(
                f,
                "{count} flights or searches in a row did not end where they should (one the wrong \
                 way counts twice); driven for {actual_s:.1} s without a new floor sensor, "
            ),
            (None, true) => write!(
                f,
                "driven on for {actual_s:.1} s ({expected_s:.1} s allowed); of the floor sensors, "
            ),
            (None, false) => write!(
                f,
                "driven for {actual_s:.1} s ({expected_s:.1} s allowed) without a new floor sensor, "
            ),
        }?;
        match &self.last_sensor {
            Some(floor) => write!(f, "the last was floor {floor}"),
            None => f.write_str("none was seen before"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
