mod audit;
mod damage;
mod flips;
mod golden;
mod power_cuts;
mod queue;
mod torn_disk;

use std::time::Duration;

use elevator_driver::{Direction, Floor, FloorCount};
use elevator_fleet::car::{FlightRecord, Leg, LegEnd};
use elevator_fleet::model::{Call, Counters, Dot, HallCall, Mode, Term};
use elevator_fleet::node::Lsn;
use elevator_fleet::settings::{Register, Setting, Version, Words};
use elevator_fleet::store::{Record, RecordState, Service};
use elevator_fleet::wire::Nonce;
use tempfile::TempDir;

use super::*;

/// A wall clock that has not been set: ages stay as they were written.
const UNSET: SystemTime = SystemTime::UNIX_EPOCH;

fn node() -> NodeId {
    car("car-1")
}

fn car(name: &str) -> NodeId {
    NodeId::new(name).expect("a name")
}

fn floor(index: u8) -> Floor {
    FloorCount::new(9).and_then(|floors| floors.floor(index)).expect("a floor")
}

fn dot(sequence: u64) -> Dot {
    Dot { incarnation: Nonce(0x0123_4567_89ab_cdef), sequence }
}

fn served() -> RecordState {
    RecordState::Served(Service { waited: Duration::from_secs(9), car: node() })
}

/// A call to go up that has this state.
fn record(sequence: u64, index: u8, state: RecordState) -> Record {
    Record {
        dot: dot(sequence),
        origin: node(),
        call: Call::Hall(HallCall::new(floor(index), Direction::Up)),
        state,
        absorbed: Vec::new(),
    }
}

fn open_order(sequence: u64) -> Record {
    let waited = Duration::from_secs(3);
    record(sequence, 3, RecordState::Open { waited, recall: 0 })
}

/// This setting, given for the `counter`th time.
fn register(setting: Setting, counter: u64) -> Register {
    Register {
        setting,
        version: Version { counter, incarnation: dot(0).incarnation },
        operator: Words::new("kovac").expect("a name"),
        reason: None,
    }
}

/// Everything that a journal holds, as text, with ages as they were written, if there is one.
fn held(database: &Database) -> Option<String> {
    let restored = tables::read(database, UNSET).expect("sound")?;
    let statistics = tables::read_statistics(database).expect("statistics");
    let audit = super::audit::read(database).expect("an audit log");
    Some(format!("{restored:?} {statistics:?} {audit:?}"))
}

/// The flights from this floor to the next one.
fn flights(from: u8, samples: Vec<u16>) -> FlightRecord {
    let leg =
        Leg { from: floor(from), to: floor(from + 1), start: LegEnd::Rest, end: LegEnd::Passing };
    FlightRecord { leg, samples }
}

fn open(directory: &TempDir) -> (Journal, Restored) {
    Journal::open(directory.path(), &node()).expect("a journal")
}

/// Writes these changes, as with a wall clock that has not been set.
fn write(journal: &Journal, changes: Vec<Change>) {
    let group = Group { changes, ..Group::default() };
    journal.commit(&group, UNSET).expect("on disk");
}

fn bytes(directory: &TempDir) -> Vec<u8> {
    fs::read(directory.path().join(FILE)).expect("the journal")
}

fn hang(at: &str) -> AuditRecord {
    let hang = crate::latch::tests::hang();
    AuditRecord::hang(&crate::latch::Hang { at: at.to_owned(), ..hang })
}
