//! Journals that are damaged, in use, of another node, or in a place that can't be used.

use std::fs::{File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::thread;

use super::place::{DAMAGED, MODE};
use super::*;

/// O4, P5: nothing is overwritten. A node that has run before is not started without its journal.
#[test]
fn a_damaged_file_is_set_aside_and_a_new_journal_made() {
    let directory = TempDir::new().expect("a directory");
    write(&open(&directory).0, vec![Change::Record(open_order(1))]);
    for (round, lost) in [(1, Lost::MakeAnew), (2, Lost::Refuse)] {
        let garbage = vec![round; 10_000];
        fs::write(directory.path().join(FILE), &garbage).expect("written");
        match (lost, Journal::open_or(directory.path(), &node(), lost)) {
            (Lost::MakeAnew, Ok((_, restored))) => assert_eq!(restored.records, []),
            (Lost::Refuse, Err(JournalError::Lost { .. })) => assert!(!exists(directory.path())),
            (_, other) => panic!("{other:?}"),
        }
        let aside = directory.path().join(format!("{DAMAGED}-{round}"));
        assert_eq!(fs::read(aside).expect("set aside"), garbage);
    }
}

/// The caretaker reads the journal while the node starts.
#[test]
fn who_reads_a_journal_keeps_no_node_from_starting() {
    let directory = TempDir::new().expect("a directory");
    drop(open(&directory));
    let reader = File::open(directory.path().join(FILE)).expect("read");
    reader.try_lock_shared().expect("locked");
    assert_eq!(audit_of(directory.path(), None).expect("another reader"), []);
    let opening = thread::spawn(move || drop(open(&directory)));
    drop(reader);
    opening.join().expect("opened");
}

#[test]
fn a_journal_that_is_open_or_of_another_node_is_refused_and_left_alone() {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    write(&journal, vec![Change::Record(open_order(1))]);
    for refused in [
        Journal::open(directory.path(), &node()).map(drop),
        audit_of(directory.path(), None).map(drop),
    ] {
        assert!(matches!(refused, Err(JournalError::InUse { .. })), "{refused:?}");
    }
    drop(journal);
    let (other, before) = (car("car-2"), bytes(&directory));
    for refused in [
        Journal::open(directory.path(), &other).map(drop),
        settings_of(directory.path(), &other).map(drop),
        complete_audit(directory.path(), &other, |_| Some(hang("1"))),
    ] {
        assert!(
            matches!(&refused, Err(JournalError::Foreign { owner, node, .. })
                if *owner == car("car-1") && *node == other),
            "{refused:?}"
        );
    }
    assert!(bytes(&directory) == before, "it has changed");
    assert_eq!(open(&directory).1.records.len(), 1);
}

#[test]
fn a_place_that_can_not_be_used_is_refused_and_left_as_it_is() {
    let directory = TempDir::new().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let refused = |name: &str| Journal::open(&path(name), &node()).expect_err("refused");
    let set = |name: &str, mode| fs::set_permissions(path(name), Permissions::from_mode(mode));
    fs::write(path("file"), "").expect("written");
    for name in ["file", "file/below"] {
        assert!(matches!(refused(name), JournalError::Directory { .. }), "{name}");
    }
    for name in ["exposed", "linked"] {
        fs::create_dir(path(name)).expect("made");
    }
    set("exposed", 0o777).expect("its own");
    assert!(matches!(refused("exposed"), JournalError::Exposed(_)));
    assert!(!exists(&path("exposed")));
    set("file", 0o666).expect("its own");
    symlink(path("file"), path("linked").join(FILE)).expect("made");
    assert!(matches!(refused("linked"), JournalError::Irregular { .. }));
    assert!(file(&path("linked").join(FILE)).is_err());
    let found = fs::metadata(path("file")).expect("there");
    assert_eq!((found.len(), found.permissions().mode() & 0o777), (0, 0o666));
}

/// Whatever the umask, and whatever the rights were before.
#[test]
fn a_journal_is_for_its_user_and_group_alone() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join(FILE);
    drop(open(&directory));
    for (before, after) in [(0o666, 0o640), (0o600, 0o600)] {
        let mode = |path| fs::metadata(path).expect("there").permissions().mode() & 0o7777;
        assert_eq!(mode(&path) & !MODE, 0, "{:o}", mode(&path));
        fs::set_permissions(&path, Permissions::from_mode(before)).expect("set");
        drop(open(&directory));
        assert_eq!(mode(&path), after);
    }
}
