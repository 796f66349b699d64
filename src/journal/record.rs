//! The records of the journal, byte for byte.
//!
//! A record is one byte, the version of its kind, and a body in postcard. The types here are only
//! for the disk, so that changes of the messages between nodes leave all journals readable. If the
//! body of a kind changes, it gets the next version; a program reads one version of each kind.
//!
//! Ages come from two clocks: from the brain's own while the process runs, and from the wall clock
//! across a restart. The wall clock may have been set meanwhile. So an order never comes back
//! younger than it was written, and at most [`OLDEST`] old; if the wall clock is of no use, its age
//! is as written. Nothing but the age depends on it (E5).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use elevator_driver::{Direction, Floor};
use elevator_fleet::car::{FlightRecord, Leg, LegEnd};
use elevator_fleet::directives::{Directive, Key, Value, Version, Words};
use elevator_fleet::model::{Call, Dot, HallCall, JournalId, NodeId};
use elevator_fleet::orders::{Record, RecordState, Service};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::{OtherFormat, ReadError};

/// The greatest age that an order has after a restart.
pub(super) const OLDEST: Duration = Duration::from_hours(24);

/// A wall clock that shows less, 2024-01-01 in seconds since 1970, has not been set.
const CLOCK_UNSET: u64 = 1_704_067_200;

/// A kind of record: its name, and the version that this program reads and writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) version: u8,
}

/// Order registers, with the body [`Order`].
pub(super) const ORDERS: Kind = Kind { name: "orders", version: 5 };

/// How long the legs of the car take, with the body [`FlightTimes`].
pub(super) const FLIGHT_TIMES: Kind = Kind { name: "flight-times", version: 1 };

/// What operators have commanded, with the body [`StoredDirective`].
pub(super) const DIRECTIVES: Kind = Kind { name: "directives", version: 1 };

impl Kind {
    /// The bytes of a record.
    pub(super) fn encode<T: Serialize>(self, body: &T) -> Result<Vec<u8>, redb::Error> {
        postcard::to_extend(body, vec![self.version]).map_err(unencodable)
    }

    /// The body of a record.
    pub(super) fn decode<T: DeserializeOwned>(self, bytes: &[u8]) -> Result<T, ReadError> {
        let body = match bytes.split_first() {
            None | Some((0, _)) => return Err(ReadError::Malformed(self.name)),
            Some((&found, _)) if found != self.version => {
                let (kind, known) = (self.name, self.version);
                return Err(ReadError::Other(OtherFormat::Record { kind, found, known }));
            }
            Some((_, body)) => body,
        };
        match postcard::take_from_bytes(body) {
            Ok((body, [])) => Ok(body),
            Ok((_, [_, ..])) | Err(_) => Err(ReadError::Malformed(self.name)),
        }
    }
}

/// The wall clock in milliseconds since 1970; `None` if it has not been set.
fn wall(at: SystemTime) -> Option<u64> {
    let passed = at.duration_since(UNIX_EPOCH).ok()?;
    if passed.as_secs() < CLOCK_UNSET {
        return None;
    }
    u64::try_from(passed.as_millis()).ok()
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Order {
    journal: u64,
    sequence: u64,
    origin: String,
    call: StoredCall,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    Open {
        /// How long the order had waited when it was written, in milliseconds.
        waited: u64,
        /// When that was by the wall clock.
        written: Option<u64>,
        /// The recall number.
        recall: u64,
    },
    Served {
        car: String,
        /// How long the order had waited, in milliseconds.
        waited: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum StoredCall {
    Hall { floor: u8, direction: StoredDirection },
    Car { car: String, floor: u8 },
    Destination { from: u8, to: u8 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum StoredDirection {
    Up,
    Down,
}

/// The key of an order's register: the journal, big-endian, and the call in postcard.
pub(super) fn order_key(record: &Record) -> Result<Vec<u8>, redb::Error> {
    let key = record.dot.journal.0.to_be_bytes().to_vec();
    postcard::to_extend(&StoredCall::from(&record.call), key).map_err(unencodable)
}

/// Before and after all keys of a journal: a call's choice is one byte, 0 to 2.
pub(super) fn journal_keys(journal: JournalId) -> [Vec<u8>; 2] {
    let key = journal.0.to_be_bytes();
    [key.to_vec(), [&key[..], &[u8::MAX]].concat()]
}

/// An order, as written at this moment.
pub(super) fn order(record: &Record, now: SystemTime) -> Result<Vec<u8>, redb::Error> {
    ORDERS.encode(&Order {
        journal: record.dot.journal.0,
        sequence: record.dot.sequence,
        origin: record.origin.to_string(),
        call: (&record.call).into(),
        state: match &record.state {
            RecordState::Open { waited, recall } => {
                State::Open { waited: millis(*waited), written: wall(now), recall: *recall }
            }
            RecordState::Served(service) => {
                State::Served { car: service.car.to_string(), waited: millis(service.waited) }
            }
        },
    })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The order in a record, with its age at this moment.
pub(super) fn read_order(bytes: &[u8], now: SystemTime) -> Result<Record, ReadError> {
    let stored: Order = ORDERS.decode(bytes)?;
    Ok(Record {
        dot: Dot { journal: JournalId(stored.journal), sequence: stored.sequence },
        origin: NodeId::new(&stored.origin).map_err(malformed)?,
        call: stored.call.try_into()?,
        state: match stored.state {
            State::Open { waited, written, recall } => {
                RecordState::Open { waited: age(waited, written, now), recall }
            }
            State::Served { car, waited } => RecordState::Served(Service {
                waited: Duration::from_millis(waited),
                car: NodeId::new(&car).map_err(malformed)?,
            }),
        },
    })
}

/// The age of an order that had waited for `waited` when it was written.
fn age(waited: u64, written: Option<u64>, now: SystemTime) -> Duration {
    let since = match (written, wall(now)) {
        (Some(written), Some(now)) => now.saturating_sub(written),
        (None, _) | (_, None) => 0,
    };
    Duration::from_millis(waited.saturating_add(since)).min(OLDEST)
}

/// A leg's times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FlightTimes {
    leg: StoredLeg,
    /// In hundredths of a second.
    samples: Vec<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct StoredLeg {
    from: u8,
    to: u8,
    start: StoredEnd,
    end: StoredEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum StoredEnd {
    Rest,
    Passing,
}

impl From<LegEnd> for StoredEnd {
    fn from(end: LegEnd) -> Self {
        match end {
            LegEnd::Rest => Self::Rest,
            LegEnd::Passing => Self::Passing,
        }
    }
}

impl From<StoredEnd> for LegEnd {
    fn from(end: StoredEnd) -> Self {
        match end {
            StoredEnd::Rest => Self::Rest,
            StoredEnd::Passing => Self::Passing,
        }
    }
}

impl From<Leg> for StoredLeg {
    fn from(leg: Leg) -> Self {
        Self {
            from: leg.from.index(),
            to: leg.to.index(),
            start: leg.start.into(),
            end: leg.end.into(),
        }
    }
}

/// The key of a leg, in postcard.
pub(super) fn leg_key(record: &FlightRecord) -> Result<Vec<u8>, redb::Error> {
    postcard::to_stdvec(&StoredLeg::from(record.leg)).map_err(unencodable)
}

/// How long a leg takes.
pub(super) fn flight_times(record: &FlightRecord) -> Result<Vec<u8>, redb::Error> {
    FLIGHT_TIMES.encode(&FlightTimes { leg: record.leg.into(), samples: record.samples.clone() })
}

/// How long a leg takes, as it was written.
pub(super) fn read_flight_times(bytes: &[u8]) -> Result<FlightRecord, ReadError> {
    let FlightTimes { leg, samples } = FLIGHT_TIMES.decode(bytes)?;
    let floor = |index| Floor::try_from(index).map_err(|_| ReadError::Malformed(FLIGHT_TIMES.name));
    let leg = Leg {
        from: floor(leg.from)?,
        to: floor(leg.to)?,
        start: leg.start.into(),
        end: leg.end.into(),
    };
    Ok(FlightRecord { leg, samples })
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredDirective {
    key: String,
    counter: u64,
    journal: u64,
    value: String,
    operator: String,
}

/// A directive.
pub(super) fn directive(directive: &Directive) -> Result<Vec<u8>, redb::Error> {
    let Directive { key, version, value, operator } = directive;
    DIRECTIVES.encode(&StoredDirective {
        key: key.to_string(),
        counter: version.counter,
        journal: version.journal.0,
        value: value.to_string(),
        operator: operator.to_string(),
    })
}

/// A directive, as it was written.
pub(super) fn read_directive(bytes: &[u8]) -> Result<Directive, ReadError> {
    let StoredDirective { key, counter, journal, value, operator } = DIRECTIVES.decode(bytes)?;
    let wrong = |_| ReadError::Malformed(DIRECTIVES.name);
    Ok(Directive {
        key: Key::new(&key).map_err(wrong)?,
        version: Version { counter, journal: JournalId(journal) },
        value: Value::new(&value).map_err(wrong)?,
        operator: Words::new(&operator).map_err(wrong)?,
    })
}

fn malformed<E>(_: E) -> ReadError {
    ReadError::Malformed(ORDERS.name)
}

fn unencodable(error: postcard::Error) -> redb::Error {
    std::io::Error::other(error).into()
}

impl From<&Call> for StoredCall {
    fn from(call: &Call) -> Self {
        match call {
            Call::Hall(HallCall { floor, to: Some(to), .. }) => {
                Self::Destination { from: floor.index(), to: to.index() }
            }
            Call::Hall(HallCall { floor, direction, to: None }) => Self::Hall {
                floor: floor.index(),
                direction: match direction {
                    Direction::Up => StoredDirection::Up,
                    Direction::Down => StoredDirection::Down,
                },
            },
            Call::Car { car, floor } => Self::Car { car: car.to_string(), floor: floor.index() },
        }
    }
}

impl TryFrom<StoredCall> for Call {
    type Error = ReadError;

    fn try_from(call: StoredCall) -> Result<Self, ReadError> {
        Ok(match call {
            StoredCall::Hall { floor, direction } => Self::Hall(HallCall::new(
                Floor::try_from(floor).map_err(malformed)?,
                match direction {
                    StoredDirection::Up => Direction::Up,
                    StoredDirection::Down => Direction::Down,
                },
            )),
            StoredCall::Destination { from, to } => {
                let from = Floor::try_from(from).map_err(malformed)?;
                let to = Floor::try_from(to).map_err(malformed)?;
                Self::Hall(HallCall::to(from, to).ok_or(ReadError::Malformed(ORDERS.name))?)
            }
            StoredCall::Car { car, floor } => Self::Car {
                car: NodeId::new(&car).map_err(malformed)?,
                floor: Floor::try_from(floor).map_err(malformed)?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: Duration = Duration::from_hours(500_000);

    fn age_of(waited: u64, written: Duration, now: Duration) -> Duration {
        age(waited, wall(UNIX_EPOCH + written), UNIX_EPOCH + now)
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn an_age_goes_on_between_writing_and_reading() {
        assert_eq!(age_of(3_000, WRITTEN, WRITTEN + seconds(60)), seconds(63));
        assert_eq!(age_of(0, WRITTEN, WRITTEN), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_jumped_makes_no_age_negative_or_endless() {
        assert_eq!(age_of(3_000, WRITTEN + seconds(60), WRITTEN), seconds(3));
        assert_eq!(age_of(3_000, WRITTEN, WRITTEN * 2), OLDEST);
        assert_eq!(age_of(u64::MAX, WRITTEN, WRITTEN + seconds(1)), OLDEST);
    }

    #[test]
    fn a_clock_that_was_never_set_leaves_the_age_as_written() {
        let unset = seconds(40);
        assert_eq!(age_of(3_000, unset, WRITTEN), seconds(3));
        assert_eq!(age_of(3_000, WRITTEN, unset), seconds(3));
        assert_eq!(age_of(3_000, unset, unset + seconds(9)), seconds(3));
    }
}
