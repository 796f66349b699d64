//! How far what others say may be ahead of what a node knows.
//!
//! Sequences, terms and the stamps of tokens only grow, and the greatest that a node hears of
//! wins. So a single number near the end of its range, from one faulty node, would stay with the
//! whole fleet and leave nothing to count on with.

/// The furthest that one message moves a number: no fleet counts that far in its life, and it would
/// take billions of such messages to reach the end.
pub(crate) const JUMP: u64 = 1 << 32;

/// What is taken in of a number that is heard, by a node that knows this one.
#[must_use]
pub(crate) fn bounded(known: u64, heard: u64) -> u64 {
    heard.min(known.saturating_add(JUMP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_moves_by_a_jump_at_most() {
        assert_eq!(bounded(7, 3), 3);
        assert_eq!(bounded(7, 7 + JUMP), 7 + JUMP);
        assert_eq!(bounded(7, 8 + JUMP), 7 + JUMP);
        assert_eq!(bounded(7, u64::MAX), 7 + JUMP);
        assert_eq!(bounded(u64::MAX - 1, u64::MAX), u64::MAX);
    }
}
