//! The journal's file: bytes that are none, and damage to one that is.

use std::sync::LazyLock;

use liftmesh::fuzzing::{self, Opened};

use crate::text::file;
use crate::wire::node;

/// A journal as a node has left it.
static GOLDEN: LazyLock<Vec<u8>> = LazyLock::new(|| file("src/journal/testdata/format-3.redb"));

static CONTENTS: LazyLock<Opened> = LazyLock::new(|| open(&GOLDEN).expect("a sound journal"));

fn open(bytes: &[u8]) -> Result<Opened, String> {
    fuzzing::journal(bytes, &node("A"))
}

/// After a 0, each four bytes change one of the journal: where, in three bytes, and which bits;
/// after anything else they are the file. It opens, or is refused; what is opened has nothing that
/// was not in it before, and its audit log continues.
pub(crate) fn journal(bytes: &[u8]) {
    let changes = match bytes {
        [0, changes @ ..] => changes,
        [_, file @ ..] => {
            // Few bytes are no journal; none at all become a new one.
            return assert_eq!(open(file).is_ok(), file.is_empty());
        }
        [] => return,
    };
    let mut damaged = GOLDEN.clone();
    for change in changes.chunks_exact(4) {
        let at = u32::from_be_bytes([0, change[0], change[1], change[2]]) as usize;
        let at = at % damaged.len();
        damaged[at] ^= change[3];
    }
    let opened = match open(&damaged) {
        Ok(opened) => opened,
        Err(error) => return assert!(damaged != *GOLDEN, "{error}"),
    };
    let (continued, added) = &opened.continued;
    assert_eq!(continued, &[&opened.audit[..], std::slice::from_ref(added)].concat());
    assert!(CONTENTS.audit.starts_with(&opened.audit), "{:?}", opened.audit);
    for record in &opened.records {
        // Apart from ages, which depend on the time.
        let known = CONTENTS.records.iter().map(|known| (known.dot, &known.origin, &known.call));
        assert!(known.clone().any(|it| it == (record.dot, &record.origin, &record.call)));
    }
    if damaged == *GOLDEN {
        assert_eq!(opened.audit, CONTENTS.audit);
        assert_eq!(opened.records.len(), CONTENTS.records.len());
    }
}

pub(crate) fn journal_seeds() -> Vec<Vec<u8>> {
    // One byte of each page's beginning, and the beginning of the file.
    let damaged = (0..16).map(|page: u8| vec![0, 0, page << 4, 0, 1]);
    let beginning = [&[255][..], &GOLDEN[..2048]].concat();
    damaged.chain([vec![0], beginning]).collect()
}
