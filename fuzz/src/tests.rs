//! The corpora, the seeds, and a number of mutations of both.
//!
//! Deterministic: the same files and the same number of mutations are the same inputs.
//! `LIFTMESH_FUZZ=N` makes N mutations for each target.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use super::*;
use fastrand::Rng;

/// The longest mutated input, in bytes.
const LONGEST: usize = 4096;

/// Values at which code often decides otherwise.
const EDGES: [u8; 8] = [0, 1, 0x7f, 0x80, 0xfe, 0xff, b'"', b'\n'];

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The corpus of a target, in the order of the files' names.
fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(directory("corpus").join(target.name));
    let entries = entries.expect("each target has a corpus");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).expect("a file")).collect()
}

fn run(target: &Target) {
    let mut known = corpus(target);
    known.extend((target.seeds)());
    for input in &known {
        (target.check)(input);
    }
    let wanted = std::env::var("LIFTMESH_FUZZ").ok();
    let count = wanted.map_or(target.mutations, |count| count.parse().expect("a number"));
    let mut random = Rng::with_seed(target.mutations as u64);
    for _ in 0..count {
        let input = mutation(&mut random, &known);
        let checked = std::panic::catch_unwind(|| (target.check)(&input));
        // As `printf` takes it, so that it can become a file of the corpus.
        let shown =
            || input.iter().map(|byte| format!("\\x{byte:02x}")).collect::<Vec<_>>().concat();
        assert!(checked.is_ok(), "{}: the input is {}", target.name, shown());
    }
}

/// One of these inputs with one to eight changes.
fn mutation(random: &mut Rng, known: &[Vec<u8>]) -> Vec<u8> {
    let mut input = random.choice(known).cloned().unwrap_or_default();
    for _ in 0..random.usize(1..=8) {
        let place = random.usize(0..=input.len());
        let length = random.usize(0..=(input.len() - place).min(64));
        let other = random.choice(known).map_or(&[][..], |other| &other[..]);
        let from = random.usize(0..=other.len());
        match (random.u8(0..8), input.get_mut(place)) {
            (0, Some(at)) => *at ^= 1 << random.u8(0..8),
            (1, Some(at)) => *at = random.u8(..),
            (2, Some(at)) => *at = EDGES[random.usize(0..EDGES.len())],
            (3, Some(at)) => *at = at.wrapping_add(if random.bool() { 1 } else { u8::MAX }),
            (4, _) => drop(input.drain(place..place + length)),
            (5, _) => drop(input.splice(place..place, other[from..].iter().take(8).copied())),
            (6, _) => input.extend_from_within(place..place + length),
            _ => drop(input.splice(place.., other[from..].iter().copied())),
        }
    }
    input.truncate(LONGEST);
    input
}

#[test]
fn nothing_known_and_no_mutation_of_it_breaks_a_target() {
    thread::scope(|scope| {
        for target in TARGETS {
            let named = thread::Builder::new().name(target.name.to_owned());
            named.spawn_scoped(scope, || run(target)).expect("a thread");
        }
    });
}

#[test]
fn every_target_has_a_corpus_and_a_binary() {
    let manifest = fs::read_to_string(directory("libfuzzer/Cargo.toml")).expect("a manifest");
    for Target { name, .. } in TARGETS {
        assert!(directory("corpus").join(name).is_dir(), "{name}");
        assert!(manifest.contains(&format!("[[bin]]\nname = \"{name}\"\n")), "{name}");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
}
