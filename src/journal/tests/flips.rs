//! One flipped bit in what a node leaves behind that was killed.

use fastrand::Rng;

use super::*;

/// How many bits are flipped, one at a time.
const FLIPS: u64 = 1_000;

/// The bytes of the database's header.
const HEADER: usize = 320;

/// A journal as a killed node leaves it.
struct Image {
    bytes: Vec<u8>,
    /// What the newest commit has written.
    newest: Vec<usize>,
    holds: String,
}

/// What opens in these bytes, as text; `None` if that is refused.
fn opened(bytes: &[u8]) -> Option<String> {
    match in_memory(bytes, Path::new("memory"), None) {
        Ok((database, _)) => held(&database),
        // Of a read past its end memory says something else than a file.
        Err(
            JournalError::Damaged { .. }
            | JournalError::Format { .. }
            | JournalError::Failing { .. },
        ) => None,
        Err(other) => panic!("{other:?}"),
    }
}

/// Images with a newest commit of each kind.
fn images() -> Vec<Image> {
    let directory = TempDir::new().expect("a directory");
    let (journal, _) = open(&directory);
    let mut before = bytes(&directory);
    let image = |step: u64| {
        match step % 4 {
            0 => drop(journal.record(&[hang(&step.to_string())]).expect("recorded")),
            1 => {
                let locked = register(Setting::FloorLock(floor(3), true), step);
                write(&journal, vec![Change::Setting(locked)]);
            }
            2 => write(&journal, vec![Change::Term(Term(step))]),
            _ => {
                let served = Change::Record(record(step, 3, served()));
                write(&journal, vec![served, Change::Forget(dot(step.saturating_sub(8)))]);
            }
        }
        let bytes = bytes(&directory);
        let is_new = |at: &usize| before.get(*at) != Some(&bytes[*at]);
        let newest = (HEADER..bytes.len()).filter(is_new).collect();
        before.clone_from(&bytes);
        Image { holds: opened(&bytes).expect("a sound journal"), bytes, newest }
    };
    (0..16).map(image).collect()
}

/// O1, F13: an order, a revoked token, a term or a record of the audit log is there, or the journal
/// is refused.
#[test]
fn one_flipped_bit_loses_nothing_silently() {
    let images = images();
    let (mut refused, mut silent) = (0, Vec::new());
    let mut flip = |image: &Image, at: usize, bit: u8| {
        let mut bytes = image.bytes.clone();
        bytes[at] ^= 1 << bit;
        match opened(&bytes) {
            Some(holds) if holds != image.holds => silent.push((at, bit)),
            Some(_) => {}
            None => refused += 1,
        }
    };
    // The flags and the magic number before them have no checksum.
    for (at, bit) in (0..12).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        flip(&images[15], at, bit);
        flip(&images[14], at, bit);
    }
    for seed in 0..FLIPS {
        let mut random = Rng::with_seed(seed);
        let image = random.choice(&images).expect("images");
        let at = match random.u8(0..4) {
            0 => random.usize(..HEADER),
            1 | 2 => *random.choice(&image.newest).expect("the newest commit wrote something"),
            _ => random.usize(..image.bytes.len()),
        };
        flip(image, at, random.u8(0..8));
    }
    assert_eq!(silent, [], "of {FLIPS}");
    assert!(refused > FLIPS / 10, "only {refused} were noticed");
}
