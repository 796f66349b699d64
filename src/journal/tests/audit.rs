//! The records of the audit log, of this program and of others.

use super::*;
use crate::journal::audit::{AUDIT, MOST_RECORDS};

/// H3
#[tokio::test]
async fn the_audit_log_is_kept_in_order() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    assert_eq!(journal.audit().expect("read"), []);
    journal.record(&[hang("1"), hang("2")]).expect("on disk");
    let writer = JournalWriter::start(journal, None).expect("a thread");
    let record = |at| writer.queue(Work::Record(Box::new(hang(at)))).expect("room");
    record("3");
    let (answer, records) = tokio::sync::oneshot::channel();
    writer.ask(answer, Journal::audit).expect("room");
    let all = [hang("1"), hang("2"), hang("3"), hang("4")];
    assert_eq!(records.await.expect("an answer"), all[..3]);
    record("4");
    writer.finish().await;
    assert_eq!(audit_of(directory.path(), None).expect("read"), all);
}

#[test]
fn the_audit_log_keeps_its_latest_records() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    let number = |number: u64| hang(&number.to_string());
    let many: Vec<_> = (1..=MOST_RECORDS + 5).map(number).collect();
    journal.record(&many).expect("on disk");
    assert_eq!(journal.record(&[hang("last")]).expect("on disk"), MOST_RECORDS + 6);
    let records = journal.audit().expect("read");
    assert_eq!(records.len() as u64, MOST_RECORDS);
    assert_eq!((&records[0], records.last()), (&number(7), Some(&hang("last"))));
}

/// P5: also what a node left that was killed, and that the database would repair.
#[test]
fn reading_a_journal_makes_nothing_and_changes_nothing() {
    let directory = TempDir::new().expect("a directory");
    assert_eq!(audit_of(directory.path(), None).expect("read"), []);
    complete_audit(directory.path(), &node(), |_| Some(hang("1"))).expect("nothing to do");
    assert!(!exists(directory.path()));

    let live = TempDir::new().expect("a directory");
    let (journal, _) = open(&live);
    write(&journal, vec![Change::Record(open_order(1))]);
    journal.record(&[hang("1")]).expect("on disk");
    let path = directory.path().join(FILE);
    fs::copy(live.path().join(FILE), &path).expect("copied");
    let left = bytes(&directory);
    let seen = look(&path, Some(&node())).expect("sound").expect("a journal");
    assert_eq!(seen.1.records, [open_order(1)]);
    assert_eq!(audit_of(directory.path(), None).expect("read"), [hang("1")]);
    assert!(bytes(&directory) == left, "it has changed");

    fs::write(&path, [7; 4096]).expect("written");
    let refused = audit_of(directory.path(), None);
    assert!(matches!(refused, Err(JournalError::Damaged { .. })), "{refused:?}");
    assert!(complete_audit(directory.path(), &node(), |_| Some(hang("1"))).is_err());
    assert_eq!(bytes(&directory), [7; 4096]);
    assert_eq!(fs::read_dir(directory.path()).expect("there").count(), 1);
}

/// H3: a record of a later program is kept word by word, and one that is no record is shown.
#[test]
fn an_audit_record_of_another_program_is_kept_and_shown() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    let later = [
        r#"{"at":"1","node":"car-1","program":"9.0.0","kind":"brake-test","passed":true,"runs":[1,2]}"#,
        r#"{"at":"2","node":"car-1","program":"9.0.0","kind":"hang","evidence":{"torque":7}}"#,
    ];
    let transaction = journal.database.begin_write().expect("a transaction");
    {
        let mut table = transaction.open_table(AUDIT).expect("a table");
        for (number, text) in (1..).zip(later.into_iter().chain(["no JSON"])) {
            table.insert(number, text.as_bytes()).expect("inserted");
        }
    }
    transaction.commit().expect("on disk");
    journal.record(&[hang("3")]).expect("on disk");
    let records = journal.audit().expect("read");
    for (record, kind) in records.iter().zip(["brake-test", "hang", "unreadable"]) {
        let AuditEvent::Other(fields) = &record.event else { panic!("{record:?}") };
        assert_eq!(fields["kind"], kind);
    }
    assert_eq!(records[3], hang("3"));
    for (record, text) in records.iter().zip(later) {
        let again = serde_json::to_value(record).expect("JSON");
        let before: serde_json::Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(again, before);
    }
    assert_eq!(uncleared(&records), Some(&hang("3")));
    assert_eq!(uncleared(&records[..3]), None);
}
