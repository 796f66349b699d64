//! The states that are being sent to peers, and how much of them at a time.
//!
//! A state goes in parts; for each that it has taken in, the peer asks for one more. A master with
//! many slaves may have to send its state to all of them, so only some states are sent at once. The
//! others wait, and are served in turn.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::LinkId;
use crate::model::{Dot, Timestamp};

/// How many states are sent at once: no more than this times [`PARTS_AHEAD`] times 16 KiB are on
/// their way for peers that ask for more.
const AT_ONCE: usize = 8;

/// How many parts of a state may be on their way over a link: several, so that a lost packet does
/// not hold all of them up, and few, so that the receiver's loop turns between them.
const PARTS_AHEAD: usize = 4;

/// While others wait, a state makes room whose peer has not asked for more for this long.
const STALLED_AFTER: Duration = Duration::from_millis(250);

/// While others wait, a state that has been sent for this long makes room.
const SLICE: Duration = Duration::from_secs(1);

/// The states that are not sent to their ends yet, by link.
#[derive(Debug, Clone, Default)]
pub(super) struct Transfers {
    states: BTreeMap<LinkId, Transfer>,
    /// Those that wait for their turn.
    queue: VecDeque<LinkId>,
}

#[derive(Debug, Clone)]
struct Transfer {
    /// Everything from this dot up has been sent: from the greatest dot down, so that of each
    /// journal the latest press comes first, by which the receiver judges what the journal is worth.
    below: Option<Dot>,
    /// How many parts the peer is ready for.
    room: usize,
    turn: Option<Turn>,
}

#[derive(Debug, Clone, Copy)]
struct Turn {
    since: Timestamp,
    /// When the peer last asked for more.
    asked_at: Timestamp,
}

impl Transfers {
    /// The state is to be sent over this link, unless it is being sent already.
    pub(super) fn begin(&mut self, link: LinkId) {
        if self.states.contains_key(&link) {
            return;
        }
        let transfer = Transfer {
            below: None,
            room: PARTS_AHEAD,
            turn: None,
        };
        self.states.insert(link, transfer);
        self.queue.push_back(link);
    }

    /// The peer has taken a part in.
    pub(super) fn ask(&mut self, link: LinkId, now: Timestamp) {
        if let Some(transfer) = self.states.get_mut(&link) {
            transfer.room = (transfer.room + 1).min(PARTS_AHEAD);
            if let Some(turn) = transfer.turn.as_mut() {
                turn.asked_at = now;
            }
        }
    }

    /// Drops the transfers over links that are gone.
    pub(super) fn retain(&mut self, stands: impl Fn(LinkId) -> bool) {
        self.states.retain(|link, _| stands(*link));
        self.queue.retain(|link| stands(*link));
    }

    /// Over which link a part is to be sent now, and below which dot it begins.
    pub(super) fn next(&mut self, now: Timestamp) -> Option<(LinkId, Option<Dot>)> {
        self.share(now);
        let mut ready = self.states.iter();
        let (link, transfer) = ready.find(|(_, state)| state.turn.is_some() && state.room > 0)?;
        Some((*link, transfer.below))
    }

    /// A part has been sent, down to this dot; the last one, if `None`.
    pub(super) fn sent(&mut self, link: LinkId, to: Option<Dot>) {
        if to.is_none() {
            self.states.remove(&link);
        } else if let Some(transfer) = self.states.get_mut(&link) {
            transfer.below = to;
            transfer.room = transfer.room.saturating_sub(1);
        }
    }

    /// Gives the turns to those that wait, as far as there are any to give.
    fn share(&mut self, now: Timestamp) {
        let is_ready = |states: &BTreeMap<LinkId, Transfer>, link: &LinkId| {
            states.get(link).is_some_and(|state| state.room > 0)
        };
        let waiting = self
            .queue
            .iter()
            .filter(|link| is_ready(&self.states, link));
        let waiting = waiting.count();
        let taken = self.states.values().filter(|s| s.turn.is_some()).count();
        let mut wanted = waiting.saturating_sub(AT_ONCE.saturating_sub(taken));
        for (link, transfer) in &mut self.states {
            let is_over = |turn: &mut Turn| {
                now.since(turn.asked_at) >= STALLED_AFTER || now.since(turn.since) >= SLICE
            };
            if wanted > 0 && transfer.turn.take_if(is_over).is_some() {
                self.queue.push_back(*link);
                wanted -= 1;
            }
        }
        let mut taken = self.states.values().filter(|s| s.turn.is_some()).count();
        let states = &mut self.states;
        self.queue.retain(|link| {
            let gets_it = taken < AT_ONCE && is_ready(states, link);
            if gets_it && let Some(transfer) = states.get_mut(link) {
                taken += 1;
                transfer.turn = Some(Turn {
                    since: now,
                    asked_at: now,
                });
            }
            !gets_it
        });
    }
}
