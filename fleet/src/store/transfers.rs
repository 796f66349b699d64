//! State transfers: which are being sent, and in which order.
//!
//! A state is sent in parts; after each the peer asks for the next. A master with many slaves may
//! have to send its state to all of them, so only some transfers run at once and the others wait
//! for a turn. Links that are not synced come before repairs, because their peers give up if it
//! takes too long. Among equals the transfer with the fewest turns so far comes first.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Item;
use crate::model::Timestamp;
use crate::wire::LinkId;

/// How many transfers run at once. At most this many times [`PARTS_AHEAD`] times 16 KiB are in
/// flight.
const AT_ONCE: usize = 8;

/// How many of them may be for links that are not synced while a repair waits, so that peers that
/// never sync do not block repairs.
const MOST_JOINING: usize = AT_ONCE - 1;

/// How many parts of a state may be in flight on a link: several, so that one lost packet does not
/// delay all of them; few, so that the receiver's loop turns between them.
const PARTS_AHEAD: usize = 4;

/// While others wait, a transfer yields its turn if its peer has not asked for more for this long.
const STALLED_AFTER: Duration = Duration::from_millis(250);

/// While others wait, a transfer yields its turn after this time.
const SLICE: Duration = Duration::from_secs(1);

/// The same while another waits for its first turn, or more than [`AT_ONCE`] wait: a fraction of
/// the 1.6 s after which a peer gives up a link that is not synced.
const SHORT_SLICE: Duration = Duration::from_millis(200);

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
    /// How many parts the peer is ready for.
    room: usize,
    /// How many turns it has had, including the current one.
    turns: u32,
    place: Place,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Waiting { since: Timestamp },
    Turn(Turn),
}

#[derive(Debug, Clone, Copy)]
struct Turn {
    since: Timestamp,
    /// When the peer last asked for more.
    asked_at: Timestamp,
}

impl Transfer {
    fn turn(&self) -> Option<Turn> {
        match self.place {
            Place::Turn(turn) => Some(turn),
            Place::Waiting { .. } => None,
        }
    }

    /// Since when it has waited for its turn, if its peer is ready for a part.
    fn waits_since(&self) -> Option<Timestamp> {
        match self.place {
            Place::Waiting { since } => (self.room > 0).then_some(since),
            Place::Turn(_) => None,
        }
    }
}

impl Transfers {
    /// Starts a transfer over this link, unless one is running.
    pub(crate) fn begin(&mut self, link: LinkId, purpose: Purpose, now: Timestamp) {
        let transfer = self.states.entry(link).or_insert(Transfer {
            purpose,
            last: None,
            room: PARTS_AHEAD,
            turns: 0,
            place: Place::Waiting { since: now },
        });
        transfer.purpose = transfer.purpose.min(purpose);
    }

    pub(crate) fn ask(&mut self, link: LinkId, now: Timestamp) {
        if let Some(transfer) = self.states.get_mut(&link) {
            transfer.room = (transfer.room + 1).min(PARTS_AHEAD);
            if let Place::Turn(turn) = &mut transfer.place {
                turn.asked_at = now;
            }
        }
    }

    pub(super) fn retain(&mut self, stands: impl Fn(LinkId) -> bool) {
        self.states.retain(|link, _| stands(*link));
    }

    /// The link over which to send a part now, and the item after which it begins.
    pub(super) fn next(&mut self, now: Timestamp) -> Option<(LinkId, Option<Item>)> {
        self.share(now);
        let mut ready = self.states.iter();
        let (link, transfer) = ready.find(|(_, state)| state.turn().is_some() && state.room > 0)?;
        Some((*link, transfer.last.clone()))
    }

    /// A part was sent, up to this item; `None` if it was the last part.
    pub(super) fn sent(&mut self, link: LinkId, to: Option<Item>) {
        if to.is_none() {
            self.states.remove(&link);
        } else if let Some(transfer) = self.states.get_mut(&link) {
            transfer.last = to;
            transfer.room = transfer.room.saturating_sub(1);
        }
    }

    /// Gives the free turns to transfers that wait.
    fn share(&mut self, now: Timestamp) {
        while let Some(link) = self.first_waiting() {
            if !self.has_room() && !self.make_room(link, now) {
                break;
            }
            if let Some(transfer) = self.states.get_mut(&link) {
                transfer.turns = transfer.turns.saturating_add(1);
                transfer.place = Place::Turn(Turn { since: now, asked_at: now });
            }
        }
    }

    fn has_room(&self) -> bool {
        let turns = self.states.values().filter(|state| state.turn().is_some());
        turns.count() < AT_ONCE
    }

    /// Whether links that are not synced have used up their share of the turns.
    fn joins_have_their_share(&self) -> bool {
        let turns = self.states.values().filter(|state| state.turn().is_some());
        let joining = turns.filter(|state| state.purpose == Purpose::Join);
        joining.count() >= MOST_JOINING
    }

    /// The transfer that gets the next turn.
    fn first_waiting(&self) -> Option<LinkId> {
        let first = if self.joins_have_their_share() { Purpose::Repair } else { Purpose::Join };
        let waiting = self.states.iter().filter_map(|(link, state)| {
            let since = state.waits_since()?;
            Some((state.purpose != first, state.turns, since, *link))
        });
        waiting.min().map(|(_, _, _, link)| link)
    }

    /// Takes the turn of another transfer for this one, if one is over; `true` if it did.
    fn make_room(&mut self, link: LinkId, now: Timestamp) -> bool {
        let Some(next) = self.states.get(&link) else {
            return false;
        };
        let is_urgent = next.purpose == Purpose::Join && !self.joins_have_their_share();
        let waiting = self.states.values().filter(|s| s.waits_since().is_some());
        let slice = if next.turns == 0 || waiting.count() > AT_ONCE { SHORT_SLICE } else { SLICE };
        let over = self.states.iter_mut().filter_map(|(_, state)| {
            let turn = state.turn()?;
            let is_over = now.since(turn.asked_at) >= STALLED_AFTER
                || now.since(turn.since) >= slice
                || (is_urgent && state.purpose == Purpose::Repair);
            is_over.then_some((state.purpose, now.since(turn.since), state))
        });
        let longest = over.max_by_key(|(purpose, since, _)| (*purpose, *since));
        let Some((_, _, state)) = longest else {
            return false;
        };
        state.place = Place::Waiting { since: now };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Dot, Nonce};

    /// F14: peers that receive a state slowly, for a new link or a repair, do not delay a link that
    /// is opened later: its peer gives up after 1.6 s. Nor do they block repairs.
    #[test]
    fn slow_peers_hold_no_other_up() {
        const LATE: LinkId = LinkId(1_000);
        let joining = |link: LinkId| link.0 < 12;
        let all: fn(LinkId) -> bool = |_| true;
        let none: fn(LinkId) -> bool = |_| false;
        for (slow, joins, of_the_late) in [
            (8, all, Purpose::Join),
            (15, all, Purpose::Join),
            (24, all, Purpose::Join),
            (24, none, Purpose::Join),
            (24, joining, Purpose::Join),
            (24, all, Purpose::Repair),
            (24, none, Purpose::Repair),
        ] {
            let mut transfers = Transfers::default();
            let purpose = |joins| {
                if joins { Purpose::Join } else { Purpose::Repair }
            };
            let start = Timestamp::START;
            for link in (0..slow).map(LinkId) {
                transfers.begin(link, purpose(joins(link)), start);
            }
            let mut below = 1_000_000;
            let mut waits_since = start;
            for millis in (0..20_000).step_by(20) {
                let now = start + Duration::from_millis(millis);
                if millis % 240 == 0 {
                    (0..slow).for_each(|link| transfers.ask(LinkId(link), now));
                }
                // Once the others have had their first turns.
                if millis % 2_500 == 2_400 {
                    transfers.begin(LATE, of_the_late, now);
                    waits_since = now;
                }
                while let Some((link, _)) = transfers.next(now) {
                    below -= 1;
                    let dot = Dot { incarnation: Nonce(1), sequence: below };
                    transfers.sent(link, (link != LATE).then_some(Item::Press(dot)));
                    if link == LATE {
                        let waited = now.since(waits_since);
                        assert!(waited <= Duration::from_millis(400), "{waited:?}");
                        waits_since = now;
                    }
                }
                assert!(
                    millis < 2_400 || now.since(waits_since) <= Duration::from_millis(2_500),
                    "{slow} {of_the_late:?}"
                );
            }
        }
    }
}
