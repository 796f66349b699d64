//! The corpora, the seeds, and a number of mutations of both.
//!
//! Deterministic: the same files and the same number of mutations are the same inputs.
//! `LIFTMESH_FUZZ=N` makes N mutations for each target.

mod mutation;

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use mutation::Mutator;

/// The longest mutated input, in bytes.
const LONGEST: usize = 4096;

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The corpus of a target, in the order of the files' names.
fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let directory = directory("corpus").join(target.name);
    let entries = fs::read_dir(&directory).expect("each target has a corpus");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).expect("a file")).collect()
}

/// Checks everything that is known of a target, and this many mutations of it, unless the
/// environment says otherwise.
fn run(name: &str, mutations: usize) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("one of the targets");
    let mut known = corpus(target);
    known.extend((target.seeds)());
    for input in &known {
        (target.check)(input);
    }
    let wanted = std::env::var("LIFTMESH_FUZZ").ok();
    let mutations = wanted.map_or(mutations, |count| count.parse().expect("a number"));
    let mut mutator = Mutator::new(name, LONGEST);
    for _ in 0..mutations {
        let input = mutator.mutate(&known);
        let checked = std::panic::catch_unwind(|| (target.check)(&input));
        assert!(checked.is_ok(), "{name}: the input is {}", in_full(&input));
    }
}

/// Bytes as `printf` takes them, so that they can become a file of the corpus.
fn in_full(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("\\x{byte:02x}"))
}

/// The seeds are what their targets accept, so that mutations begin where the parsers have work.
#[test]
fn the_seeds_are_accepted() {
    use liftmesh::fuzzing;

    let text = |seed: &[u8]| String::from_utf8(seed.to_vec()).expect("text");
    let seeds = text::config_seeds();
    assert!(seeds.iter().any(|seed| fuzzing::settings("", &text(seed)).is_ok()));
    assert!(fuzzing::key(&text(&text::key_seeds()[0])).is_some());
    for seed in text::assign_seeds() {
        assert!(matches!(fuzzing::assign(&text(&seed), 40), Ok(Some(_))));
    }
    for seed in wire::frame_seeds() {
        assert!(elevator_fleet::wire::codec::decode_frame(&wire::checked(&seed)).is_ok());
    }
}

macro_rules! targets {
    ($($name:ident $mutations:literal)*) => {
        $(#[test] fn $name() { run(stringify!($name), $mutations); })*

        /// Each target has a test, a corpus and a binary of its name, and each of those a target.
        #[test]
        fn every_target_is_run_everywhere() {
            let tested = [$(stringify!($name)),*];
            let targets: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(targets, tested);
            let mut targets: Vec<_> = targets.iter().map(|name| (*name).to_owned()).collect();
            targets.sort();
            for (place, suffix) in [("corpus", ""), ("libfuzzer/fuzz_targets", ".rs")] {
                let entries = fs::read_dir(directory(place)).expect("a directory");
                let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("text");
                let mut names: Vec<_> =
                    entries.map(|entry| name(entry.expect("an entry"))).collect();
                names.sort();
                let expected: Vec<_> = targets.iter().map(|name| format!("{name}{suffix}")).collect();
                assert_eq!(names, expected, "{place}");
            }
        }
    };
}

targets! {
    beacon 2_000
    sealed_beacon 2_000
    packet 2_000
    frame 2_000
    opening 2_000
    panel 2_000
    controller 2_000
    elevator_server 30
    link 2_000
    encrypted_link 100
    greeting 300
    sealed_packets 500
    config 200
    key 2_000
    assign 1_000
    passengers 1_000
    latch 1_000
    mqtt_call 2_000
    journal 50
}
