mod audit;
mod damage;
mod flips;
mod golden;
mod orders;
mod power_cuts;
mod queue;

use std::time::Duration;

use elevator_driver::{Direction, Floor, FloorCount};
use elevator_fleet::model::{Call, Dot, HallCall};
use elevator_fleet::node::Lsn;
use elevator_fleet::orders::{Record, RecordState, Service};
use tempfile::TempDir;

use super::*;

/// A wall clock that has not been set: ages stay as they were written.
const UNSET: SystemTime = SystemTime::UNIX_EPOCH;

fn node() -> NodeId {
    NodeId::new("car-1").expect("a name")
}

fn floor(index: u8) -> Floor {
    FloorCount::new(9).and_then(|floors| floors.floor(index)).expect("a floor")
}

fn record(journal: JournalId, sequence: u64, index: u8, state: RecordState) -> Record {
    Record {
        dot: Dot { journal, sequence },
        origin: node(),
        call: Call::Hall(HallCall::new(floor(index), Direction::Up)),
        state,
    }
}

fn served() -> RecordState {
    RecordState::Served(Service { waited: Duration::from_secs(9), car: node() })
}

fn open_order(journal: JournalId, sequence: u64, index: u8) -> Record {
    let waited = Duration::from_secs(3);
    record(journal, sequence, index, RecordState::Open { waited, recall: 0 })
}

fn open(directory: &TempDir) -> (Journal, Restored) {
    Journal::open(directory.path(), &node()).expect("a journal")
}

/// Whether a record is what was written a moment ago, a little older now.
fn is_same(found: &Record, written: &Record) -> bool {
    const MOMENT: Duration = Duration::from_mins(1);
    let is_as_old = match (&found.state, &written.state) {
        (RecordState::Open { waited, .. }, RecordState::Open { waited: before, .. }) => {
            (*before..*before + MOMENT).contains(waited)
        }
        (RecordState::Served(found), RecordState::Served(written)) => found == written,
        (RecordState::Open { .. }, RecordState::Served(_))
        | (RecordState::Served(_), RecordState::Open { .. }) => false,
    };
    let state = found.state.clone();
    is_as_old && *found == Record { state, ..written.clone() }
}

async fn durable(writer: &mut JournalWriter, lsn: Lsn) {
    let reached = async { while writer.progress().await.durable < lsn {} };
    tokio::time::timeout(Duration::from_secs(20), reached).await.expect("on disk in time");
}

fn hang(at: &str) -> AuditRecord {
    AuditRecord::hang(&crate::latch::Hang {
        at: at.to_owned(),
        node: node(),
        program: "0.1.0".to_owned(),
        evidence: crate::latch::Evidence {
            floor: None,
            direction: Direction::Up,
            expected_s: 10.0,
            actual_s: 10.5,
            flights_off_target: None,
            not_stopped: false,
            last_sensor: Some(2),
        },
    })
}
