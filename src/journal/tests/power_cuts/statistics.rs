//! The statistics on such a disk.

use std::time::Duration;

use super::super::statistics;
use super::*;
use crate::statistics::{Changes, Quarter, Slot};

const SLOT: Slot = Slot(1_900_000);

/// Disks, and how often the power is cut on each.
const DISKS: u64 = 20;
const LIVES: u32 = 10;

/// A quarter that tells how often it was written.
fn quarter(count: u32) -> Quarter {
    let mut quarter = Quarter::default();
    quarter.record_watch(Duration::from_millis(count.into()));
    quarter
}

/// How often the quarter on the disk was written.
fn written(journal: &Journal) -> u32 {
    let quarters = statistics::read(&journal.database).expect("statistics");
    quarters.iter().find(|(slot, _)| *slot == SLOT).map_or(0, |(_, quarter)| quarter.watched)
}

fn opened(disk: &TornDisk) -> Option<Journal> {
    let Attempt::Open(database, contents) = attempt(|| Ok(disk.clone())) else {
        return None;
    };
    let begun = Journal::begin(database, contents, &node(), PathBuf::from("the disk"), || Ok(()));
    begun.ok().map(|(journal, _)| journal)
}

/// Writes until the power fails. Returns the last write that was on disk.
fn write_until_the_cut(journal: &Journal, mut count: u32) -> u32 {
    loop {
        let present = vec![(SLOT, quarter(count + 1))];
        let changes = Changes { changed: present, removed: Vec::new() };
        if statistics::write(&journal.database, &changes).is_err() {
            return count;
        }
        count += 1;
    }
}

#[test]
fn a_power_cut_loses_the_last_statistics_at_most() {
    let (mut cuts, mut most) = (0, 0);
    for seed in 0..DISKS {
        let mut random = Rng::with_seed(seed);
        let sound = TornDisk::new(Vec::new(), u32::MAX);
        drop(opened(&sound).expect("a journal"));
        let mut image = sound.after_the_cut(&mut random).image;
        // What the disk may have: what was acknowledged, or one write more.
        let mut known = 0..=0;
        for _ in 0..LIVES {
            let disk = TornDisk::new(image, random.u32(20..200));
            if let Some(journal) = opened(&disk) {
                let found = written(&journal);
                assert!(known.contains(&found), "seed {seed}: {found} instead of {known:?}");
                let count = write_until_the_cut(&journal, found);
                known = count..=count + 1;
                most = most.max(count);
                cuts += 1;
            }
            image = disk.after_the_cut(&mut random).image;
        }
    }
    assert!(cuts > 100 && most > 20, "{cuts} cuts, {most} writes");
}
