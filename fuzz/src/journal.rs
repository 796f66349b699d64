//! The journal's file: bytes that are none, and damage to one that is.

use std::sync::LazyLock;

use elevator_fleet::model::NodeId;
use elevator_fleet::store::Record;
use liftmesh::fuzzing::{self, Opened};

use crate::text::file;
use crate::wire::node;

/// Journals as nodes have left them.
static JOURNALS: LazyLock<[Vec<u8>; GOLDEN.len()]> =
    LazyLock::new(|| GOLDEN.map(|name| file(&format!("src/journal/testdata/{name}"))));

/// Where they are.
const GOLDEN: [&str; 1] = ["format-3.redb"];

/// How long a change is: where, in three bytes, and the new value.
const CHANGE: usize = 4;

/// What is in them.
static CONTENTS: LazyLock<[Opened; GOLDEN.len()]> = LazyLock::new(|| {
    JOURNALS.each_ref().map(|journal| fuzzing::journal(journal, &owner()).expect("a sound journal"))
});

/// The first byte says which journal, the others change bytes of it, four each; or all of them are
/// the file. It opens, or is refused; what is opened has nothing that was not in it before, and its
/// audit log continues.
pub(crate) fn journal(bytes: &[u8]) {
    let Some((&which, rest)) = bytes.split_first() else {
        return;
    };
    let Some(base) = JOURNALS.get(usize::from(which)) else {
        assert_refused(rest);
        return;
    };
    let contents = &CONTENTS[usize::from(which)];
    let mut damaged = base.clone();
    for change in rest.chunks_exact(CHANGE) {
        let at =
            usize::from(change[0]) << 16 | usize::from(change[1]) << 8 | usize::from(change[2]);
        let at = at % damaged.len();
        damaged[at] ^= change[3];
    }
    let opened = fuzzing::journal(&damaged, &owner());
    if damaged == *base {
        assert!(opened.is_ok(), "{opened:?}");
    }
    let Ok(opened) = opened else {
        return;
    };
    let (continued, added) = &opened.continued;
    assert_eq!(continued, &[&opened.audit[..], std::slice::from_ref(added)].concat());
    assert!(contents.audit.starts_with(&opened.audit), "{:?}", opened.audit);
    for record in &opened.records {
        assert!(contents.records.iter().any(|known| is_same(known, record)), "{record:?}");
    }
    if damaged == *base {
        assert_eq!(opened.audit, contents.audit);
        assert_eq!(opened.records.len(), contents.records.len());
    }
}

/// Apart from ages, which depend on the time.
fn is_same(one: &Record, two: &Record) -> bool {
    (one.dot, &one.origin, &one.call) == (two.dot, &two.origin, &two.call)
}

/// Few bytes are no journal; none at all become a new one.
fn assert_refused(bytes: &[u8]) {
    let opened = fuzzing::journal(bytes, &owner());
    assert_eq!(opened.is_ok(), bytes.is_empty(), "{opened:?}");
}

/// Whose journals they are.
fn owner() -> NodeId {
    node("A")
}

pub(crate) fn journal_seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = (0_u8..).take(GOLDEN.len()).map(|which| vec![which]).collect();
    // One byte of each page's beginning.
    seeds.extend((0..16).map(|page: u8| vec![0, 0, page << 4, 0, 1]));
    seeds.push([&[255][..], &JOURNALS[0][..2048]].concat());
    seeds
}
