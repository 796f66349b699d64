//! The header of the database's file: which format it has, and which commit counts.
//!
//! Commits have two phases, so that damage to the newest one is not mistaken for a power cut, after
//! which the database would silently go back to the commit before:
//!
//! ```text
//!   write pages and slot ──▶ sync ──▶ name the slot in the header ──▶ sync
//! ```
//!
//! Nothing protects the bit that names the slot: [`prefer_newer`] does.

use std::ops::RangeInclusive;

use redb::{Builder, Database, DatabaseError, StorageBackend, TransactionError, WriteTransaction};

use super::memory;

/// The file format of the database that this program reads and writes.
pub(super) const DATABASE: u8 = 3;

/// In all of its formats: a magic number, and two commit slots that begin with the version.
const MAGIC: [u8; 9] = *b"redb\x1A\x0A\xA9\x0D\x0A";
pub(super) const SLOTS: [usize; 2] = [64, 192];

/// File formats are numbered from 1 on, one by one: a byte beyond these is damage.
const CONCEIVABLE: RangeInclusive<u8> = 1..=16;

/// Where the header has its flags, and what two of them mean.
const FLAGS: usize = MAGIC.len();
const NAMES_SECOND: u8 = 1;
const TWO_PHASES: u8 = 4;

/// Where a slot has the number of its transaction.
const TRANSACTION: usize = 104;

const HEADER: usize = 320;

pub(super) fn begin(database: &Database) -> Result<WriteTransaction, TransactionError> {
    let mut transaction = database.begin_write()?;
    transaction.set_two_phase_commit(true);
    Ok(transaction)
}

/// Another file format of the database. One slot is enough: they are written one after the other.
pub(super) fn other_format(bytes: &[u8]) -> Option<u8> {
    if !bytes.starts_with(&MAGIC) {
        return None;
    }
    let mut versions = SLOTS.iter().filter_map(|slot| bytes.get(*slot).copied());
    versions.find(|version| *version != DATABASE && CONCEIVABLE.contains(version))
}

/// Makes the database choose the newer commit, if it verifies, where the header names the older
/// one: the power failed between the two phases, or a bit has flipped. It is an error if the commit
/// that is named does not verify: it may be the newer one, with a damaged number.
pub(super) fn prefer_newer(
    builder: &Builder,
    backend: &impl StorageBackend,
) -> Result<(), DatabaseError> {
    let length = usize::try_from(backend.len()?).unwrap_or_default();
    let mut header = [0; HEADER];
    if length < HEADER {
        return Ok(());
    }
    backend.read(0, &mut header)?;
    let Some(flags) = names_older(&header) else {
        return Ok(());
    };
    let mut bytes = vec![0; length];
    backend.read(0, &mut bytes)?;
    let mut named = builder.create_with_backend(memory(&bytes)?)?;
    named.check_integrity()?;
    backend.write(FLAGS as u64, &[flags & !TWO_PHASES])?;
    Ok(())
}

/// The flags of a header that names the commit with the lower number.
fn names_older(header: &[u8; HEADER]) -> Option<u8> {
    let flags = header[FLAGS];
    let number = |slot: usize| {
        let bytes = header[SLOTS[slot] + TRANSACTION..].first_chunk::<8>();
        bytes.map(|bytes| u64::from_le_bytes(*bytes))
    };
    let named = usize::from(flags & NAMES_SECOND);
    let is_older = header.starts_with(&MAGIC) && number(named) < number(1 - named);
    (is_older && flags & TWO_PHASES != 0).then_some(flags)
}
