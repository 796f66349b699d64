//! Journals that are damaged, in use, of another node, or in a place that can't be used.

use std::os::unix::fs::symlink;
use std::thread;

use super::*;

fn journal_with_orders(directory: &TempDir) -> JournalId {
    let (journal, restored) = open(directory);
    let orders: Vec<Change> = (0..8)
        .map(|index| Change::Record(open_order(restored.journal, u64::from(index) + 1, index)))
        .collect();
    tables::write(&journal.database, &orders, UNSET).expect("written");
    restored.journal
}

/// O4
#[test]
fn a_damaged_file_is_set_aside_and_a_new_journal_made() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join(FILE);
    let mut ids = vec![journal_with_orders(&directory)];
    for round in 1..=2 {
        let garbage = vec![round; 10_000];
        fs::write(&path, &garbage).expect("written");
        let (_, restored) = open(&directory);
        assert!(!ids.contains(&restored.journal), "a fresh identity");
        assert_eq!(restored.records, []);
        let aside = directory.path().join(format!("{DAMAGED}-{round}"));
        assert_eq!(fs::read(aside).expect("set aside"), garbage);
        ids.push(restored.journal);
    }
}

/// Whichever part of the file is hit: either the journal is whole, or it is set aside untouched.
#[test]
fn a_journal_with_flipped_bytes_is_whole_or_set_aside() {
    let directory = TempDir::new().expect("a directory");
    let id = journal_with_orders(&directory);
    let sound = fs::read(directory.path().join(FILE)).expect("the file");
    let mut random = fastrand::Rng::with_seed(7);
    let mut set_aside = 0;
    for round in 0..60 {
        let directory = TempDir::new().expect("a directory");
        let mut hurt = sound.clone();
        for _ in 0..=random.usize(..4) {
            let end = if round % 2 == 0 { 64 * 1024 } else { hurt.len() };
            let at = random.usize(..end.min(hurt.len()));
            hurt[at] ^= random.u8(1..);
        }
        fs::write(directory.path().join(FILE), &hurt).expect("written");
        let (_, restored) = open(&directory);
        if restored.journal == id {
            assert_eq!(restored.records.len(), 8);
        } else {
            set_aside += 1;
            assert_eq!(restored.records, []);
            let aside = directory.path().join(format!("{DAMAGED}-1"));
            assert!(aside.exists(), "set aside");
        }
    }
    assert!(set_aside > 0, "no damage was found in 60 rounds");
}

#[test]
fn the_journal_of_another_node_is_refused_and_left_alone() {
    let directory = TempDir::new().expect("a directory");
    let id = journal_with_orders(&directory);
    let other = NodeId::new("car-2").expect("a name");
    let error = Journal::open(directory.path(), &other).expect_err("refused");
    assert!(
        matches!(&error, JournalError::Foreign { owner, node, .. }
            if owner.as_str() == "car-1" && *node == other),
        "{error:?}"
    );
    let (_, restored) = open(&directory);
    assert_eq!((restored.journal, restored.records.len()), (id, 8));
}

#[test]
fn a_journal_that_is_open_is_refused() {
    let directory = TempDir::new().expect("a directory");
    let (_journal, _) = open(&directory);
    let error = Journal::open(directory.path(), &node()).expect_err("refused");
    assert!(matches!(error, JournalError::InUse { .. }), "{error:?}");
}

/// The caretaker reads the journal while the node starts.
#[test]
fn who_reads_a_journal_keeps_no_node_from_starting() {
    let directory = TempDir::new().expect("a directory");
    drop(open(&directory));
    let reader = open_sound(directory.path().join(FILE)).expect("read");
    let refused = Journal::open(directory.path(), &node());
    assert!(matches!(refused, Err(JournalError::InUse { .. })), "{refused:?}");
    let read = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        drop(reader);
    });
    let opened = Journal::open_claimed(directory.path(), &node(), Lost::Refuse);
    assert!(opened.is_ok(), "{opened:?}");
    read.join().expect("read");
}

#[test]
fn a_directory_in_which_others_write_is_refused() {
    let directory = TempDir::new().expect("a directory");
    let own = Permissions::from_mode(0o777);
    fs::set_permissions(directory.path(), own).expect("its own");
    let error = Journal::open(directory.path(), &node()).expect_err("refused");
    assert!(matches!(error, JournalError::Exposed(_)), "{error:?}");
    assert!(!directory.path().join(FILE).exists());
}

#[test]
fn a_symbolic_link_is_no_journal_and_its_target_is_left_as_it_is() {
    let directory = TempDir::new().expect("a directory");
    let (target, link) = (directory.path().join("target"), directory.path().join(FILE));
    fs::write(&target, "").expect("written");
    fs::set_permissions(&target, Permissions::from_mode(0o666)).expect("its own");
    symlink(&target, &link).expect("made");
    let error = Journal::open(directory.path(), &node()).expect_err("refused");
    assert!(matches!(error, JournalError::Irregular { .. }), "{error:?}");
    assert!(file(&link).is_err());
    let found = fs::metadata(&target).expect("there");
    assert_eq!((found.len(), found.permissions().mode() & 0o777), (0, 0o666));
}

#[test]
fn a_directory_that_cannot_be_used_is_named_with_the_right_it_takes() {
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("file");
    fs::write(&file, "").expect("written");
    for unusable in [file.clone(), file.join("below")] {
        let error = Journal::open(&unusable, &node()).expect_err("refused");
        assert!(
            matches!(&error, JournalError::Directory { path, .. } if *path == unusable),
            "{error:?}"
        );
        let text = error.to_string();
        assert!(text.contains(&format!("data_dir = {unusable:?}")), "{text}");
        assert!(text.contains("right to read, write"), "{text}");
    }
}
