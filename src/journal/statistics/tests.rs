use std::time::Duration;

use elevator_driver::{Direction, Floor};
use elevator_fleet::model::{Call, HallCall};
use redb::ReadableTableMetadata;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::*;
use crate::journal::{Journal, JournalWriter};
use crate::statistics::{CarState, Kind};

fn node() -> NodeId {
    NodeId::new("car-1").unwrap()
}

fn quarter(calls: u8) -> Quarter {
    let mut quarter = Quarter::default();
    for call in 0..calls {
        let hall = HallCall::new(Floor::try_from(call % 9).unwrap(), Direction::Up);
        let waited = Duration::from_millis(1_500 * u64::from(call));
        quarter.record_call(Kind::Hall, &Call::Hall(hall), waited);
    }
    quarter.record_car(&node(), CarState::InService, Duration::from_mins(5));
    quarter.record_car(&node(), CarState::Down, Duration::from_secs(2));
    quarter.record_watch(Duration::from_secs(302));
    quarter.journeys.record(Duration::from_secs(5_000));
    quarter
}

fn changes(changed: Vec<(Slot, Quarter)>) -> Changes {
    Changes { changed, removed: Vec::new() }
}

async fn kept(journal: Journal) -> Vec<(Slot, Quarter)> {
    let writer = JournalWriter::start(journal).unwrap();
    let (answer, quarters) = oneshot::channel();
    writer.read_statistics(answer).unwrap();
    let quarters = quarters.await.unwrap();
    writer.finish().await;
    quarters
}

#[tokio::test]
async fn what_was_kept_is_there_after_the_next_start() {
    let directory = TempDir::new().unwrap();
    let (journal, _) = Journal::open(directory.path(), &node()).unwrap();
    let writer = JournalWriter::start(journal).unwrap();
    writer.keep_statistics(changes(vec![(Slot(7), quarter(3)), (Slot(8), quarter(4))])).unwrap();
    let removed = vec![Slot(7), Slot(1)];
    writer.keep_statistics(Changes { changed: vec![(Slot(9), quarter(5))], removed }).unwrap();
    assert_eq!(writer.finish().await.failure, None);

    let (journal, _) = Journal::open(directory.path(), &node()).unwrap();
    assert_eq!(kept(journal).await, [(Slot(8), quarter(4)), (Slot(9), quarter(5))]);
}

/// A journal of an earlier program has no such table; it takes the first quarter.
#[tokio::test]
async fn a_journal_of_an_earlier_program_has_no_statistics_and_takes_some() {
    let directory = TempDir::new().unwrap();
    let testdata = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/journal/testdata");
    let path = directory.path().join("journal.redb");
    std::fs::copy(testdata.join("format-2.redb"), &path).unwrap();
    let owner = {
        let database = Database::open(&path).unwrap();
        crate::journal::tables::owner(&database.begin_read().unwrap()).unwrap()
    };
    let (journal, before) = Journal::open(directory.path(), &owner).unwrap();
    assert_eq!(read(&journal.database).unwrap(), []);
    write(&journal.database, &changes(vec![(Slot(7), quarter(2))])).unwrap();
    drop(journal);
    let (journal, after) = Journal::open(directory.path(), &owner).unwrap();
    assert_eq!(after.records.len(), before.records.len());
    assert_eq!(kept(journal).await, [(Slot(7), quarter(2))]);
}

/// Damage, and a later version: neither keeps the journal from opening.
#[test]
fn a_quarter_that_can_not_be_read_is_left_out() {
    let directory = TempDir::new().unwrap();
    let (journal, _) = Journal::open(directory.path(), &node()).unwrap();
    write(&journal.database, &changes(vec![(Slot(7), quarter(2))])).unwrap();
    let transaction = journal.database.begin_write().unwrap();
    {
        let mut table = transaction.open_table(STATISTICS).unwrap();
        let whole = encode(&quarter(2)).unwrap();
        let later = [&[2], &whole[1..]].concat();
        let bodies = [&[][..], &[1, 255], &whole[..whole.len() - 1], &later];
        for (slot, bytes) in (8..).zip(bodies) {
            table.insert(slot, bytes).unwrap();
        }
        assert_eq!(table.len().unwrap(), 5);
    }
    transaction.commit().unwrap();
    drop(journal);
    let (journal, _) = Journal::open(directory.path(), &node()).unwrap();
    assert_eq!(read(&journal.database).unwrap(), [(Slot(7), quarter(2))]);
}

/// The bytes on disk: a change of them needs a new version.
#[test]
fn a_quarter_has_these_bytes() {
    let bytes = encode(&quarter(2)).unwrap();
    let text: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [
        // The version. Hall: two bins with a call each, the sum and the longest in milliseconds.
        "01",
        "0200010101dc0bdc0b",
        // Destination, car, and journeys: one in bin 196.
        "000000",
        "000000",
        "01c401c096b102c096b102",
        // Two floors with a call up, a car, and for how long the node has watched.
        "0200010000000101000000",
        "01056361722d31e0a71200d00f",
        "b0b712",
    ];
    assert_eq!(text.concat(), parts.concat());
    assert_eq!(decode(&bytes).unwrap(), quarter(2));
}

/// What docs/API.md says of the space that the statistics take.
#[test]
fn a_quarter_is_small_and_bounded() {
    let mut busy = Quarter::default();
    for call in 0..400_u64 {
        let floor = Floor::try_from(u8::try_from(call % 20).unwrap()).unwrap();
        let waited = Duration::from_millis(call * call * 2 / 3);
        busy.record_call(Kind::Car, &Call::Car { car: node(), floor }, waited);
        let hall = Call::Hall(HallCall::new(floor, Direction::Down));
        busy.record_call(Kind::Hall, &hall, waited);
    }
    for car in 0..8 {
        let car = NodeId::new(&format!("car-{car}")).unwrap();
        busy.record_car(&car, CarState::InService, Duration::from_mins(15));
    }
    let size = encode(&busy).unwrap().len();
    assert!(size < 1_000, "{size} bytes");

    let mut fullest = Histogram { sum: u64::MAX, longest: u32::MAX, ..Histogram::default() };
    fullest.bins = (0..BINS).map(|bin| (bin, u32::MAX)).collect();
    let calls = FloorCalls { up: u32::MAX, down: u32::MAX, destination: u32::MAX, car: u32::MAX };
    let time = CarTime { in_service: u32::MAX, reserved: u32::MAX, down: u32::MAX };
    let cars = (0..CARS).map(|car| (NodeId::new(&format!("car-{car:012}")).unwrap(), time));
    let largest = Quarter {
        hall: fullest.clone(),
        destination: fullest.clone(),
        car: fullest.clone(),
        journeys: fullest,
        floors: (0..=254).map(|floor| (floor, calls)).collect(),
        cars: cars.collect(),
        watched: u32::MAX,
    };
    let size = encode(&largest).unwrap().len();
    assert!(size < 12_500, "{size} bytes");
}
