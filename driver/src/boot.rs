//! The one thing about a line that is drawn at random.

use std::hash::{BuildHasher, RandomState};

use crate::protocol::BootId;

/// Draws the boot id of a session that starts, of either end. Also differs between processes.
#[must_use]
pub fn draw_boot_id() -> BootId {
    let drawn = RandomState::new().hash_one("boot");
    let low = u32::try_from(drawn & u64::from(u32::MAX)).unwrap_or(1);
    BootId::new(low).unwrap_or(BootId::MIN)
}
