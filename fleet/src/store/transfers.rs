//! State transfers: which are being sent, and in which order.
//!
//! A state is sent in parts; after each the peer asks for the next. A master with many slaves may have
//! to send its state to all of them, so only so many parts are in flight. Links that are not synced come
//! before repairs, because their peers give up if it takes too long. Among equals the link with the fewest
//! parts in flight comes first. So a peer that is slow holds up no other.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Item;
use crate::model::Timestamp;
use crate::wire::LinkId;

/// How many parts of 16 KiB may be in flight. Those of stalled links do not count.
const MOST_IN_FLIGHT: usize = 32;

/// How many of them may be on one link: several, so that one lost packet does not delay all of them;
/// few, so that the receiver's loop turns between them.
const PARTS_AHEAD: usize = 4;

/// A link is stalled if its peer has not asked for more for this long.
const STALLED_AFTER: Duration = Duration::from_millis(250);

/// The purpose of a transfer, by priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// The handshake of a link that is not synced.
    Join,
    /// A difference between the stores (O7).
    Repair,
}

/// The unfinished transfers, by link.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transfers {
    states: BTreeMap<LinkId, Transfer>,
}

#[derive(Debug, Clone)]
struct Transfer {
    purpose: Purpose,
    /// The last item that was sent: settings come first, then presses, whose dots descend.
    last: Option<Item>,
    /// How many parts were sent.
    sent: u32,
    /// How many of them the peer has not answered.
    in_flight: usize,
    /// When the peer last asked for more, or was sent the first part.
    asked_at: Timestamp,
}

impl Transfers {
    /// Starts a transfer over this link, unless one is running.
    pub(crate) fn begin(&mut self, link: LinkId, purpose: Purpose, now: Timestamp) {
        let transfer = self.states.entry(link).or_insert(Transfer {
            purpose,
            last: None,
            sent: 0,
            in_flight: 0,
            asked_at: now,
        });
        transfer.purpose = transfer.purpose.min(purpose);
    }

    pub(crate) fn ask(&mut self, link: LinkId, now: Timestamp) {
        if let Some(transfer) = self.states.get_mut(&link) {
            transfer.in_flight = transfer.in_flight.saturating_sub(1);
            transfer.asked_at = now;
        }
    }

    pub(super) fn retain(&mut self, stands: impl Fn(LinkId) -> bool) {
        self.states.retain(|link, _| stands(*link));
    }

    /// The link over which to send a part now, and the item after which it begins.
    pub(super) fn next(&self, now: Timestamp) -> Option<(LinkId, Option<Item>)> {
        let moving = self.states.values().filter(|it| now.since(it.asked_at) < STALLED_AFTER);
        if moving.map(|it| it.in_flight).sum::<usize>() >= MOST_IN_FLIGHT {
            return None;
        }
        let ready = self.states.iter().filter(|(_, it)| it.in_flight < PARTS_AHEAD);
        let (link, transfer) = ready.min_by_key(|(_, it)| (it.purpose, it.in_flight, it.sent))?;
        Some((*link, transfer.last.clone()))
    }

    /// A part was sent, up to this item; `None` if it was the last part.
    pub(super) fn sent(&mut self, link: LinkId, to: Option<Item>, now: Timestamp) {
        if to.is_none() {
            self.states.remove(&link);
        } else if let Some(transfer) = self.states.get_mut(&link) {
            transfer.last = to;
            if transfer.sent == 0 {
                transfer.asked_at = now;
            }
            transfer.sent = transfer.sent.saturating_add(1);
            transfer.in_flight += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Dot, Nonce};

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn item(sequence: u64) -> Item {
        Item::Press(Dot { incarnation: Nonce(1), sequence })
    }

    /// However many peers link at once, few parts are in flight, and each peer gets all: those that ask
    /// for no more hold nobody up.
    #[test]
    fn few_parts_are_in_flight() {
        let (mut transfers, start) = (Transfers::default(), Timestamp::START);
        (0..40).for_each(|link| transfers.begin(LinkId(link), Purpose::Join, start));
        let (mut sent, mut in_flight) = ([0; 40], Vec::new());
        for millis in 0..1_000 {
            let now = start + MS(millis);
            while let Some((link, _)) = transfers.next(now) {
                let sent = &mut sent[usize::try_from(link.0).expect("few")];
                *sent += 1;
                transfers.sent(link, (*sent < 12).then(|| item(1_000 - *sent)), now);
                in_flight.push(link);
            }
            assert!(in_flight.len() <= MOST_IN_FLIGHT + 8 * PARTS_AHEAD, "{millis} ms");
            let is_silent = |link: &LinkId| link.0 < 8;
            for link in in_flight.extract_if(.., |link| !is_silent(link)) {
                transfers.ask(link, now);
            }
        }
        assert!(sent[8..].iter().all(|sent| *sent == 12), "{sent:?}");
    }

    /// F14: peers that receive a state slowly, for a new link or a repair, do not delay a link that
    /// is opened later: its peer gives up after 1.6 s.
    #[test]
    fn slow_peers_hold_no_other_up() {
        const LATE: LinkId = LinkId(1_000);
        for (slow, purpose) in [(8, Purpose::Join), (24, Purpose::Join), (24, Purpose::Repair)] {
            let (mut transfers, start) = (Transfers::default(), Timestamp::START);
            (0..slow).for_each(|link| transfers.begin(LinkId(link), purpose, start));
            let (mut below, mut late) = (1_000_000, 0);
            for millis in (0..4_000).step_by(20) {
                let now = start + MS(millis);
                if millis % 240 == 0 {
                    (0..slow).for_each(|link| transfers.ask(LinkId(link), now));
                }
                if millis == 2_400 {
                    transfers.begin(LATE, Purpose::Join, now);
                }
                transfers.ask(LATE, now);
                while let Some((link, _)) = transfers.next(now) {
                    (below, late) = (below - 1, late + usize::from(link == LATE));
                    transfers.sent(link, Some(item(below)), now);
                }
            }
            assert!(late > 60, "{slow} {purpose:?}: {late} parts in 1.6 s");
        }
    }
}
