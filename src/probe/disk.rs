//! The disk: room, whether it outlives a power cut, and whether the journal opens.

use std::path::Path;

use elevator_fleet::model::NodeId;
use rustix::fs::{statfs, statvfs};

use super::{Running, Verdict};
use crate::clearance;
use crate::journal::{self, JournalError};
use crate::latch;

/// Free bytes below which the disk soon, or already, takes no more orders.
const LITTLE: u64 = 64 << 20;
const NOTHING: u64 = 1 << 20;

/// File systems in memory, by the magic numbers of `statfs(2)`.
const IN_MEMORY: [(u64, &str); 2] = [(0x0102_1994, "tmpfs"), (0x8584_58f6, "ramfs")];

pub(super) fn disk(data_dir: &Path) -> Verdict {
    let Some(place) = data_dir.ancestors().find(|place| place.exists()) else {
        return Verdict::unchecked(format!("no part of {} exists", data_dir.display()));
    };
    let shown = place.display();
    let room = match statvfs(place) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(error) => return Verdict::unchecked(format!("{shown}: {error}")),
    };
    #[expect(clippy::cast_sign_loss, reason = "a magic number has 32 bits, whatever its type")]
    let kind = statfs(place).ok().map(|disk| disk.f_type as u64 & 0xffff_ffff);
    let free = format!("{} MiB are free on the disk of {shown}", room >> 20);
    if room < NOTHING {
        return Verdict::wrong(free, "make room: a node that can't write lights fewer lamps");
    }
    if let Some((_, name)) = IN_MEMORY.into_iter().find(|(magic, _)| Some(*magic) == kind) {
        return Verdict::warning(
            format!("{shown} is on {name}, in memory: a power cut erases orders and latches"),
            "put data_dir on a disk",
        );
    }
    if room < LITTLE { Verdict::warning(free, "make room") } else { Verdict::good(free) }
}

pub(super) fn journal(data_dir: &Path, node: &NodeId, running: Running) -> Verdict {
    let file = data_dir.join(journal::FILE);
    let shown = file.display();
    if clearance::is_lost(data_dir) {
        return Verdict::wrong(
            format!("{shown} is gone, and this node has run before: it does not start"),
            format!(
                "put the file back, or inspect the car and run: {}; the orders come back from the \
                 other nodes",
                latch::remedy(data_dir)
            ),
        );
    }
    if running == Running::Yes {
        return Verdict::good("it is in use by this node, which is running");
    }
    if !journal::exists(data_dir) {
        return Verdict::good("none yet; the first start creates it");
    }
    let (error, remedy) = match journal::audit_of(data_dir, Some(node)) {
        Ok(records) => {
            let count = records.len();
            return Verdict::good(format!(
                "{shown} can be opened; the audit log has {count} records"
            ));
        }
        Err(error @ JournalError::InUse { .. }) => return Verdict::unchecked(error.to_string()),
        Err(error @ (JournalError::Format { .. } | JournalError::Foreign { .. })) => {
            (error.to_string(), "run the program and node that wrote it, or move it away")
        }
        Err(error @ (JournalError::Rights { .. } | JournalError::Failing { .. })) => (
            error.to_string(),
            "give it to the node's user, or check the disk (`dmesg` shows its errors)",
        ),
        Err(error) => (
            format!("{shown} is damaged: {error}"),
            "the start sets it aside and needs `liftmesh clear-hang`; its orders come back from \
             the other nodes",
        ),
    };
    Verdict::wrong(error, remedy)
}
