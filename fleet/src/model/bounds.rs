//! Bounds on how far numbers of other nodes may be ahead.
//!
//! Sequences, terms and the stamps of tokens only grow, and the greatest that a node receives wins.
//! Without a bound, a single number near the end of its range, sent by one faulty node, would stay
//! with the whole fleet and leave no number to continue with.

/// The furthest that one message can move a number; no fleet counts that far.
pub(crate) const JUMP: u64 = 1 << 32;

/// The number to adopt when a node that knows `known` receives another one.
#[must_use]
pub(crate) fn bounded(known: u64, heard: u64) -> u64 {
    heard.min(known.saturating_add(JUMP))
}
