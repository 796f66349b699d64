//! A disk with a volatile cache, in memory.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use fastrand::Rng;
use redb::StorageBackend;

/// What a disk writes in one piece, if its power lasts.
const SECTOR: usize = 512;

type Sector = [u8; SECTOR];

/// A disk that forgets at a power cut what it was not told to keep, except for some of its sectors.
///
/// Its operations end in an error from the moment at which the power fails.
#[derive(Debug, Clone)]
pub(super) struct TornDisk(Arc<Mutex<Platter>>);

#[derive(Debug)]
struct Platter {
    /// What is read back while the power is on.
    cached: Vec<u8>,
    /// What survives for certain.
    kept: Vec<u8>,
    /// What was done since the last sync.
    unsynced: Vec<Operation>,
    /// How many more operations there are before the power fails.
    fuse: u32,
}

#[derive(Debug)]
enum Operation {
    Length(usize),
    /// The sector of this index has this content.
    Write(usize, Box<Sector>),
}

/// What is found on the disk after a cut.
#[derive(Debug)]
pub(super) struct Remains {
    pub(super) image: Vec<u8>,
    /// Whether something was not synced.
    pub(super) is_unsynced: bool,
    /// Whether a sector has bytes of two versions, or arbitrary ones.
    pub(super) is_torn: bool,
}

impl TornDisk {
    pub(super) fn new(kept: Vec<u8>, fuse: u32) -> Self {
        let (cached, unsynced) = (kept.clone(), Vec::new());
        Self(Arc::new(Mutex::new(Platter { cached, kept, unsynced, fuse })))
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
        platter.fuse = platter.fuse.saturating_sub(1);
        if platter.fuse == 0 {
            return Err(io::Error::other("the power has failed"));
        }
        Ok(platter)
    }

    /// What is on the disk if the power fails now: what was synced, and of the rest either
    /// everything up to some operation, or a share of it, whatever came before it. One sector at
    /// most is torn; the first one, with the database's header, is split at most.
    pub(super) fn after_the_cut(&self, random: &mut Rng) -> Remains {
        let platter = self.platter();
        let all = &platter.unsynced;
        let (count, share) = if random.bool() {
            (random.usize(..=all.len()), 1.0)
        } else {
            (all.len(), random.f64())
        };
        let mut image = platter.kept.clone();
        for operation in &all[..count] {
            if random.f64() < share {
                operation.apply(&mut image);
            }
        }
        let is_torn = tear(&mut image, all, random);
        Remains { image, is_unsynced: !all.is_empty(), is_torn }
    }
}

impl Operation {
    /// Returns whether the image reaches that far.
    fn apply(&self, image: &mut Vec<u8>) -> bool {
        match self {
            Self::Length(length) => image.resize(*length, 0),
            Self::Write(index, sector) => {
                let range = range(image, *index);
                if range.is_empty() {
                    return false;
                }
                let length = range.len();
                image[range].copy_from_slice(&sector[..length]);
            }
        }
        true
    }
}

/// Tears one of the sectors that were written, or none. Returns whether it did.
fn tear(image: &mut Vec<u8>, operations: &[Operation], random: &mut Rng) -> bool {
    let written = operations.iter().filter_map(|operation| match operation {
        Operation::Write(index, sector) => Some((*index, **sector)),
        Operation::Length(_) => None,
    });
    let mut written: Vec<_> = written.collect();
    // The header is one sector of many, and the one that matters most.
    if random.u8(0..4) == 0 && written.iter().any(|(index, _)| *index == 0) {
        written.retain(|(index, _)| *index == 0);
    }
    let Some(&(index, mut sector)) = random.choice(&written).filter(|_| random.bool()) else {
        return false;
    };
    if index > 0 && random.bool() {
        random.fill(&mut sector);
    } else {
        let at = random.usize(1..SECTOR);
        sector[..at].copy_from_slice(&sector_of(image, index)[..at]);
    }
    Operation::Write(index, Box::new(sector)).apply(image)
}

/// Where a sector is in these bytes, as far as they reach.
fn range(bytes: &[u8], index: usize) -> std::ops::Range<usize> {
    (index * SECTOR).min(bytes.len())..((index + 1) * SECTOR).min(bytes.len())
}

/// What a sector holds; zeros beyond the end of the file.
fn sector_of(bytes: &[u8], index: usize) -> Sector {
    let (mut sector, range) = ([0; SECTOR], range(bytes, index));
    sector[..range.len()].copy_from_slice(&bytes[range]);
    sector
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
        platter.cached.resize(index(length), 0);
        platter.unsynced.push(Operation::Length(index(length)));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut platter = self.use_up()?;
        platter.kept = platter.cached.clone();
        platter.unsynced.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut platter = self.use_up()?;
        let (from, to) = (index(offset), index(offset) + data.len());
        platter.cached[from..to].copy_from_slice(data);
        let indices = from / SECTOR..to.div_ceil(SECTOR);
        let written =
            indices.map(|it| Operation::Write(it, Box::new(sector_of(&platter.cached, it))));
        let written: Vec<_> = written.collect();
        platter.unsynced.extend(written);
        Ok(())
    }
}
