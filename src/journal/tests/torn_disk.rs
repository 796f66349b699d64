//! A disk with a volatile cache, in memory.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use fastrand::Rng;
use redb::StorageBackend;

/// What a disk writes in one piece, if its power lasts.
pub(super) const SECTOR: usize = 512;

type Sector = [u8; SECTOR];

/// A disk that forgets at a power cut what it was not told to keep, except for some of its sectors.
///
/// Its operations end in an error from the moment at which the power fails. Whatever happened to
/// the disk before that is durable only if it was synced.
#[derive(Debug, Clone)]
pub(super) struct TornDisk(Arc<Mutex<Platter>>);

#[derive(Debug)]
struct Platter {
    /// What is read back while the power is on.
    cached: Vec<u8>,
    /// What survives for certain.
    kept: Vec<u8>,
    /// What each sector has held since the last sync, with the operation that wrote it.
    unsynced: BTreeMap<usize, Vec<(u32, Sector)>>,
    /// The lengths that the file has had since, with the operation.
    lengths: Vec<(u32, usize)>,
    /// How many operations there were.
    operations: u32,
    /// How many more there are before the power fails.
    fuse: u32,
}

/// What a power cut did to a sector that was being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Torn {
    /// None was.
    No,
    /// Its first bytes are of one version, and the others of another one.
    Split,
    /// It holds arbitrary bytes.
    Garbage,
}

/// What is found on the disk after a cut.
#[derive(Debug)]
pub(super) struct Remains {
    pub(super) image: Vec<u8>,
    /// How many sectors were not synced.
    pub(super) unsynced: usize,
    pub(super) torn: Torn,
}

/// What a disk had done about its cache when the power failed.
#[derive(Debug, Clone, Copy)]
enum Progress {
    /// It wrote everything in order, up to this operation.
    InOrder(u32),
    /// It wrote this share of the sectors, in any order: each has one of the versions.
    Scattered(f64),
}

impl TornDisk {
    pub(super) fn new(kept: Vec<u8>, fuse: u32) -> Self {
        Self(Arc::new(Mutex::new(Platter {
            cached: kept.clone(),
            kept,
            unsynced: BTreeMap::new(),
            lengths: Vec::new(),
            operations: 0,
            fuse,
        })))
    }

    fn platter(&self) -> MutexGuard<'_, Platter> {
        self.0.lock().expect("no panic while it is held")
    }

    /// Whether the power has failed.
    pub(super) fn is_dark(&self) -> bool {
        self.platter().fuse == 0
    }

    /// So many more operations, and the power fails.
    pub(super) fn set_fuse(&self, fuse: u32) {
        self.platter().fuse = fuse;
    }

    /// The disk, if its power is still on.
    fn use_up(&self) -> io::Result<MutexGuard<'_, Platter>> {
        let mut platter = self.platter();
        platter.operations += 1;
        platter.fuse = platter.fuse.saturating_sub(1);
        if platter.fuse == 0 {
            return Err(io::Error::other("the power has failed"));
        }
        Ok(platter)
    }

    /// What is on the disk if the power fails now.
    ///
    /// Each sector that was not synced is as it was at the last sync, or as any write since left
    /// it. The length of the file is the synced one or a later one. One sector at most is torn; the
    /// first one, with the database's header, is split at most.
    pub(super) fn after_the_cut(&self, random: &mut Rng) -> Remains {
        let platter = self.platter();
        let progress = if random.bool() {
            Progress::InOrder(random.u32(0..=platter.operations))
        } else {
            Progress::Scattered(random.f64())
        };
        let mut image = platter.kept.clone();
        image.resize(platter.length_after(progress, random), 0);
        for (index, versions) in &platter.unsynced {
            let survivor = match progress {
                Progress::InOrder(last) => {
                    versions.iter().rev().find(|(operation, _)| *operation <= last)
                }
                Progress::Scattered(share) if random.f64() < share => random.choice(versions),
                Progress::Scattered(_) => None,
            };
            if let Some((_, sector)) = survivor {
                put(&mut image, *index, sector);
            }
        }
        let torn = platter.tear(&mut image, random);
        Remains { image, unsynced: platter.unsynced.len(), torn }
    }
}

impl Platter {
    fn length_after(&self, progress: Progress, random: &mut Rng) -> usize {
        let survivor = match progress {
            Progress::InOrder(last) => {
                self.lengths.iter().rev().find(|(operation, _)| *operation <= last)
            }
            Progress::Scattered(_) if random.bool() => random.choice(&self.lengths),
            Progress::Scattered(_) => None,
        };
        survivor.map_or(self.kept.len(), |(_, length)| *length)
    }

    /// Tears one sector that was not synced, or none.
    fn tear(&self, image: &mut [u8], random: &mut Rng) -> Torn {
        let indices: Vec<usize> = self.unsynced.keys().copied().collect();
        let Some(&index) = random.choice(&indices) else { return Torn::No };
        // The header is one sector of many, and the one that matters most.
        let index = if indices[0] == 0 && random.u8(0..4) == 0 { 0 } else { index };
        let (torn, sector) = match random.u8(0..4) {
            0 | 1 => return Torn::No,
            2 if index > 0 => (Torn::Garbage, garbage(random)),
            _ => {
                let mut versions = vec![sector(&self.kept, index)];
                versions.extend(self.unsynced[&index].iter().map(|(_, sector)| *sector));
                let mut split = *random.choice(&versions).expect("at least one");
                let other = random.choice(&versions).expect("at least one");
                let at = random.usize(1..SECTOR);
                split[at..].copy_from_slice(&other[at..]);
                (Torn::Split, split)
            }
        };
        if put(image, index, &sector) { torn } else { Torn::No }
    }

    /// Notes what these sectors hold now.
    fn note(&mut self, from: usize, to: usize) {
        for index in from / SECTOR..to.div_ceil(SECTOR) {
            let version = (self.operations, sector(&self.cached, index));
            self.unsynced.entry(index).or_default().push(version);
        }
    }
}

fn garbage(random: &mut Rng) -> Sector {
    let mut sector = [0; SECTOR];
    random.fill(&mut sector);
    sector
}

/// What a sector holds; zeros beyond the end of the file.
fn sector(bytes: &[u8], index: usize) -> Sector {
    let mut sector = [0; SECTOR];
    let from = (index * SECTOR).min(bytes.len());
    let to = (from + SECTOR).min(bytes.len());
    sector[..to - from].copy_from_slice(&bytes[from..to]);
    sector
}

/// Puts a sector into an image, and says whether the image reaches that far.
fn put(image: &mut [u8], index: usize, sector: &Sector) -> bool {
    let from = (index * SECTOR).min(image.len());
    let to = (from + SECTOR).min(image.len());
    image[from..to].copy_from_slice(&sector[..to - from]);
    to > from
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("a small file")
}

impl StorageBackend for TornDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.platter().cached.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let platter = self.platter();
        let part = platter.cached.get(index(offset)..index(offset) + out.len());
        out.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut platter = self.use_up()?;
        let (before, length) = (platter.cached.len(), index(length));
        platter.cached.resize(length, 0);
        let operation = platter.operations;
        platter.lengths.push((operation, length));
        // What is cut off and comes back is zero, or has not been cut off yet.
        let known = platter.kept.len().min(length);
        platter.note(before.min(known), known);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut platter = self.use_up()?;
        let Platter { cached, kept, unsynced, lengths, .. } = &mut *platter;
        kept.resize(cached.len(), 0);
        for index in std::mem::take(unsynced).into_keys() {
            put(kept, index, &sector(cached, index));
        }
        lengths.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut platter = self.use_up()?;
        let at = index(offset);
        platter.cached[at..at + data.len()].copy_from_slice(data);
        platter.note(at, at + data.len());
        Ok(())
    }
}
