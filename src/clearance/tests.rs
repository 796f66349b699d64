use std::fs;
use std::path::Path;
use std::thread;

use tempfile::TempDir;

use super::*;
use crate::journal::AuditEvent;
use crate::latch::tests::{hang, node};

const BY: Clearance<'_> =
    Clearance { operator: "kovac", reason: "brake replaced", account: &ACCOUNT };

const ACCOUNT: Account =
    Account { uid: 990, login_uid: Some(1000), sudo_user: None, terminal: None, token: None };

/// The directory of a node that has run.
fn commissioned() -> TempDir {
    let directory = TempDir::new().expect("a directory");
    drop(Journal::open(directory.path(), &node()).expect("a journal"));
    commission::mark(directory.path(), &node(), SystemTime::UNIX_EPOCH).expect("marked");
    directory
}

fn latched() -> TempDir {
    let directory = commissioned();
    latch::set(directory.path(), &Latch::Hang(hang())).expect("on disk");
    directory
}

fn kinds(data_dir: &Path) -> Vec<&'static str> {
    let records = audit(data_dir).expect("an audit log");
    let kind = |record: AuditRecord| match record.event {
        AuditEvent::Hang { .. } => "hang",
        AuditEvent::LatchFound { .. } => "latch-found",
        AuditEvent::ClearHang { .. } => "clear-hang",
        other => panic!("{other:?}"),
    };
    records.into_iter().map(kind).collect()
}

/// What a start makes of the directory: whether it is refused.
fn starts(directory: &TempDir) -> Option<Latch> {
    if let Some(latch) = latch::find(directory.path()) {
        note_latch(directory.path(), &node(), &latch).expect("noted");
        return Some(latch);
    }
    removed(&audit(directory.path()).expect("an audit log"))
}

/// H3: one whose words were lost does not go unnoticed.
#[test]
fn a_latch_that_cant_be_read_is_recorded_and_cleared_all_the_same() {
    let directory = commissioned();
    let unreadable = || fs::write(directory.path().join(latch::FILE), "?").expect("written");
    unreadable();
    for _ in 0..2 {
        assert!(starts(&directory).is_some());
        assert_eq!(kinds(directory.path()), ["latch-found"]);
    }
    fs::remove_file(directory.path().join(latch::FILE)).expect("there");
    assert!(matches!(starts(&directory), Some(Latch::Removed { .. })));
    clear(directory.path(), None, BY).expect("cleared");
    assert_eq!(starts(&directory), None);
    unreadable();
    let cleared = clear(directory.path(), None, BY).expect("cleared");
    assert!(matches!(cleared, Some(Cleared { latch: Latch::Unreadable { .. }, .. })));
    assert_eq!(latch::find(directory.path()), None);
    // Without a mark only the configuration knows the node's name.
    fs::remove_file(directory.path().join(commission::FILE)).expect("removed");
    unreadable();
    let nameless = clear(directory.path(), None, BY);
    assert!(matches!(nameless, Err(ClearError::Nameless)), "{nameless:?}");
    assert!(clear(directory.path(), Some(node()), BY).expect("cleared").is_some());
}

/// H3: and may be repeated.
#[test]
fn clearing_takes_the_latch_away_and_leaves_both_records() {
    let directory = latched();
    let cleared = clear(directory.path(), None, BY).expect("cleared");
    assert_eq!(cleared, Some(Cleared { latch: Latch::Hang(hang()), record: 2 }));
    assert_eq!(latch::find(directory.path()), None);
    let records = audit(directory.path()).expect("an audit log");
    let event = AuditEvent::ClearHang {
        operator: "kovac".to_owned(),
        reason: "brake replaced".to_owned(),
        account: Some(ACCOUNT),
        cleared: Latch::Hang(hang()),
    };
    assert_eq!((&records[0], &records[1].event), (&AuditRecord::hang(&hang()), &event));
    // The power went when the clearing was recorded and the latch was still there.
    latch::set(directory.path(), &Latch::Hang(hang())).expect("on disk");
    assert_eq!(starts(&directory), Some(Latch::Hang(hang())));
    clear(directory.path(), None, BY).expect("cleared");
    assert_eq!(starts(&directory), None);
    assert_eq!(kinds(directory.path()), ["hang", "clear-hang", "clear-hang"]);
}

#[test]
fn there_is_nothing_to_clear_in_a_new_directory_nor_in_none() {
    let new = TempDir::new().expect("a directory");
    assert_eq!(clear(new.path(), None, BY).expect("asked"), None);
    assert!(!journal::exists(new.path()), "a journal was made");
    assert_eq!(kinds(new.path()), Vec::<&str>::new());
    let gone = new.path().join("gone");
    let refused = clear(&gone, None, BY);
    assert!(matches!(refused, Err(ClearError::Directory { .. })), "{refused:?}");
    assert!(!gone.exists());
}

/// H3: no record, no clearing.
#[test]
fn what_cant_be_recorded_is_not_cleared() {
    let directory = latched();
    let (journal, _) = Journal::open(directory.path(), &node()).expect("a journal");
    let refused = clear(directory.path(), None, BY);
    assert!(matches!(refused, Err(ClearError::Journal(JournalError::InUse { .. }))), "{refused:?}");
    assert!(latch::find(directory.path()).is_some());
    drop(journal);
    assert!(clear(directory.path(), None, BY).expect("cleared").is_some());
}

/// P5: a node that has run before does not make a new journal in place of the one that is gone,
/// and an operator's word makes it do so.
#[test]
fn a_lost_journal_is_cleared_like_a_hang() {
    for damage in [
        |path: &Path| fs::remove_file(path).expect("removed"),
        |path: &Path| fs::write(path, [7; 4096]).expect("written"),
        |path: &Path| fs::write(path, []).expect("written"),
    ] {
        let directory = commissioned();
        damage(&directory.path().join("journal.redb"));
        let open = || Journal::open_or(directory.path(), &node(), journal::Lost::Refuse);
        for _ in 0..2 {
            let lost = open().expect_err("lost");
            assert!(matches!(lost, JournalError::Lost { .. }), "{lost:?}");
        }
        let cleared = clear(directory.path(), None, BY).expect("cleared");
        assert_eq!(cleared.map(|cleared| cleared.latch), Some(Latch::JournalLost));
        assert_eq!(kinds(directory.path()), ["latch-found", "clear-hang"]);
        open().expect("a journal");
    }
}

/// H2
#[test]
fn a_hang_survives_a_damaged_journal() {
    let directory = latched();
    fs::write(directory.path().join("journal.redb"), [7; 4096]).expect("written");
    let cleared = clear(directory.path(), None, BY).expect("cleared");
    assert_eq!(cleared.map(|cleared| cleared.latch), Some(Latch::Hang(hang())));
    assert_eq!(kinds(directory.path()), ["latch-found", "hang", "clear-hang"]);
    assert!(directory.path().join("journal.damaged-1").exists());
}

/// A node that runs holds its claim; one that hung lets go of it in a moment.
#[test]
fn a_directory_in_use_is_left_alone_unless_its_node_is_about_to_end() {
    let directory = commissioned();
    let node = Claim::new(directory.path()).expect("claimed");
    let refused = clear(directory.path(), None, BY);
    assert!(matches!(refused, Err(ClearError::Running(_))), "{refused:?}");
    let refused = audit(directory.path());
    assert!(matches!(refused, Err(ClearError::Running(_))), "{refused:?}");
    latch::set(directory.path(), &Latch::Hang(hang())).expect("on disk");
    let ending = thread::spawn(move || drop(node));
    assert!(clear(directory.path(), None, BY).expect("cleared").is_some());
    ending.join().expect("no panic");
}
