//! A set of floors of as many words as the bank needs.

/// A set of floors, a bit a floor, up to 64 × `WORDS`.
///
/// [`FloorSet`](crate::model::FloorSet) always has four words. A wide bank asks some hundred
/// thousand times what lies above and below, most banks need one word, and with one word each
/// answer is a few instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Floors<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Default for Floors<WORDS> {
    fn default() -> Self {
        Self([0; WORDS])
    }
}

impl<const WORDS: usize> Floors<WORDS> {
    pub(super) fn with(mut self, floor: u8) -> Self {
        let (word, bit) = place(floor);
        self.0[word] |= bit;
        self
    }

    pub(super) fn without(mut self, floor: u8) -> Self {
        let (word, bit) = place(floor);
        self.0[word] &= !bit;
        self
    }

    pub(super) fn contains(&self, floor: u8) -> bool {
        let (word, bit) = place(floor);
        self.0[word] & bit != 0
    }

    /// Removes a floor; whether it was there.
    pub(super) fn take(&mut self, floor: u8) -> bool {
        let found = self.contains(floor);
        *self = self.without(floor);
        found
    }

    pub(super) fn union(mut self, other: &Self) -> Self {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
        self
    }

    /// Those strictly above the floor.
    pub(super) fn above(mut self, floor: u8) -> Self {
        let (own, bit) = place(floor);
        self.0[..own].fill(0);
        self.0[own] &= !(bit | (bit - 1));
        self
    }

    /// Those strictly below the floor.
    pub(super) fn below(mut self, floor: u8) -> Self {
        let (own, bit) = place(floor);
        self.0[own] &= bit - 1;
        self.0[own + 1..].fill(0);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub(super) fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    pub(super) fn lowest(&self) -> Option<u8> {
        let word = self.0.iter().position(|&word| word != 0)?;
        index(word, self.0[word].trailing_zeros())
    }

    pub(super) fn highest(&self) -> Option<u8> {
        let word = self.0.iter().rposition(|&word| word != 0)?;
        index(word, self.0[word].checked_ilog2()?)
    }
}

/// The word and the bit in it that stand for a floor.
fn place(floor: u8) -> (usize, u64) {
    (usize::from(floor >> 6), 1 << (floor & 63))
}

fn index(word: usize, bit: u32) -> Option<u8> {
    u8::try_from(64 * word + usize::try_from(bit).ok()?).ok()
}
