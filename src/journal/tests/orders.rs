//! What a journal restores.

use super::*;
use crate::statistics::{CarState, Kind, Quarter, Slot};

/// F13, P3, O6: the later state of a press takes the place of the earlier one, and what is forgotten
/// is gone.
#[tokio::test]
async fn what_was_durable_is_there_after_the_next_start() {
    let directory = TempDir::new().expect("a directory");
    let (journal, restored) = open(&directory);
    assert_eq!(restored.records, []);
    let mut writer = JournalWriter::start(journal).expect("a thread");
    let later = record(2, 3, served());
    let mut pressed = open_order(5);
    pressed.origin = car("car-2");
    pressed.absorbed = vec![dot(1), Dot { incarnation: Nonce(77), sequence: 300 }];
    for (lsn, change) in (1..).zip([
        Change::Record(open_order(1)),
        Change::Record(open_order(2)),
        Change::Record(later.clone()),
        Change::Record(pressed.clone()),
        Change::Forget(dot(1)),
        Change::Forget(dot(77)),
    ]) {
        writer.submit(Lsn(lsn), vec![change]).expect("room");
    }
    durable(&mut writer, Lsn(6)).await;
    writer.finish().await;

    let mut found = open(&directory).1.records;
    let RecordState::Open { waited, .. } = &mut found[1].state else {
        panic!("{found:?}");
    };
    let grown = waited.checked_sub(Duration::from_secs(3)).expect("no younger");
    assert!(grown < Duration::from_mins(1), "{grown:?}");
    *waited -= grown;
    assert_eq!(found, [later, pressed]);
}

/// E3
#[test]
fn a_term_is_kept_and_never_becomes_less() {
    let directory = TempDir::new().expect("a directory");
    for (written, kept) in [(5, 5), (9, 9), (4, 9), (0, 9)] {
        let (journal, _) = open(&directory);
        write(&journal, vec![Change::Term(Term(written))]);
        drop(journal);
        assert_eq!(open(&directory).1.term, Term(kept));
    }
}

fn quarter(calls: u8) -> Quarter {
    let mut quarter = Quarter::default();
    for call in 0..calls {
        let hall = HallCall::new(floor(call % 9), Direction::Up);
        let waited = Duration::from_millis(1_500 * u64::from(call));
        quarter.record_call(Kind::Hall, &Call::Hall(hall), waited);
    }
    quarter.record_car(&node(), CarState::InService, Duration::from_mins(5));
    quarter.record_watch(Duration::from_secs(302));
    quarter
}

#[tokio::test]
async fn statistics_are_kept_until_they_are_removed() {
    let directory = TempDir::new().expect("a directory");
    let writer = JournalWriter::start(open(&directory).0).expect("a thread");
    let changed = vec![(Slot(7), quarter(3)), (Slot(8), quarter(4))];
    for changes in [
        Changes { changed, removed: Vec::new() },
        Changes { changed: vec![(Slot(9), quarter(5))], removed: vec![Slot(7), Slot(1)] },
    ] {
        writer.queue(Work::KeepStatistics(changes)).expect("room");
    }
    let kept = [(Slot(8), quarter(4)), (Slot(9), quarter(5))];
    let (answer, quarters) = tokio::sync::oneshot::channel();
    writer.ask(answer, Journal::statistics).expect("room");
    assert_eq!(quarters.await.expect("an answer"), kept);
    assert_eq!(writer.finish().await.failure, None);
    assert_eq!(open(&directory).0.statistics().expect("read"), kept);
}
