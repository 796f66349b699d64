//! What still fits into a beacon.

use serde::Serialize;

use super::Beacon;
use super::codec::{DATAGRAM_BODY, size};

/// By how many bytes the lengths of a beacon's lists can grow as they fill.
const LENGTHS: usize = 8;

#[derive(Debug)]
pub(crate) struct Room(usize);

impl Room {
    pub(crate) fn left_by(beacon: &Beacon) -> Self {
        Self(DATAGRAM_BODY.saturating_sub(size(beacon) + LENGTHS))
    }

    /// Adds an item to one of the beacon's lists; `true` if it fits.
    pub(crate) fn add<T: Serialize>(&mut self, list: &mut Vec<T>, part: T) -> bool {
        let bytes = size(&part);
        let fits = bytes <= self.0;
        if fits {
            self.0 -= bytes;
            list.push(part);
        }
        fits
    }
}
