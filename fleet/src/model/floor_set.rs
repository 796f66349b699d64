//! A set of floors that answers "which is the next one?" in a few machine instructions.

use std::num::NonZero;

use elevator_driver::{Building, Direction, Entrance, Floor, FloorCount, Side};
use serde::{Deserialize, Serialize};

/// A set of floors, a bit a floor: a tree is too slow for the predictor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct FloorSet([u64; 4]);

impl FloorSet {
    pub fn insert(&mut self, floor: Floor) {
        let (word, bit) = place(floor);
        self.0[word] |= bit;
    }

    /// Takes a floor away; whether it was there.
    pub fn remove(&mut self, floor: Floor) -> bool {
        let (word, bit) = place(floor);
        let present = self.0[word] & bit != 0;
        self.0[word] &= !bit;
        present
    }

    #[must_use]
    pub fn contains(&self, floor: Floor) -> bool {
        let (word, bit) = place(floor);
        self.0[word] & bit != 0
    }

    pub fn iter(&self) -> impl Iterator<Item = Floor> {
        (0..FloorCount::MAX)
            .filter_map(|index| Floor::try_from(index).ok())
            .filter(|floor| self.contains(*floor))
    }

    #[must_use]
    pub(crate) fn union(mut self, other: &Self) -> Self {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
        self
    }

    /// Whether all of it is in the other.
    #[must_use]
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.union(other) == *other
    }

    /// The nearest one strictly beyond `floor` in `direction`.
    #[must_use]
    pub(crate) fn nearest_beyond(&self, floor: Floor, direction: Direction) -> Option<Floor> {
        let (own, bit) = place(floor);
        match direction {
            Direction::Up => lowest(own, self.0[own] & above(bit))
                .or_else(|| (own + 1..4).find_map(|word| lowest(word, self.0[word]))),
            Direction::Down => highest(own, self.0[own] & (bit - 1))
                .or_else(|| (0..own).rev().find_map(|word| highest(word, self.0[word]))),
        }
    }

    /// The farthest one strictly beyond `floor` in `direction`.
    #[must_use]
    pub(crate) fn farthest_beyond(&self, floor: Floor, direction: Direction) -> Option<Floor> {
        let (own, bit) = place(floor);
        match direction {
            Direction::Up => (own + 1..4)
                .rev()
                .find_map(|word| highest(word, self.0[word]))
                .or_else(|| highest(own, self.0[own] & above(bit))),
            Direction::Down => (0..own)
                .find_map(|word| lowest(word, self.0[word]))
                .or_else(|| lowest(own, self.0[own] & (bit - 1))),
        }
    }
}

/// The entrances that a car passes by, at floors where it stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Shut {
    front: FloorSet,
    /// A car opens at all rear entrances where it stops, or at none.
    rear: bool,
}

impl Shut {
    /// Those of a car in this building, by its name.
    #[must_use]
    pub fn of(building: &Building, car: &str) -> Self {
        let opens = |entrance: &Entrance| building.door(car, *entrance).is_some();
        let (front, rear): (Vec<_>, Vec<_>) =
            building.entrances().partition(|entrance| entrance.side == Side::Front);
        let shut = front.into_iter().filter(|entrance| !opens(entrance));
        Self {
            front: shut.map(|it| it.floor).collect(),
            rear: !rear.is_empty() && !rear.iter().any(opens),
        }
    }

    #[must_use]
    pub(crate) fn contains(&self, Entrance { floor, side }: Entrance) -> bool {
        match side {
            Side::Front => self.front.contains(floor),
            Side::Rear => self.rear,
        }
    }
}

impl FromIterator<Floor> for FloorSet {
    fn from_iter<T: IntoIterator<Item = Floor>>(floors: T) -> Self {
        let mut set = Self::default();
        for floor in floors {
            set.insert(floor);
        }
        set
    }
}

/// The word and the bit in it that stand for a floor.
fn place(floor: Floor) -> (usize, u64) {
    (usize::from(floor.index() >> 6), 1 << (floor.index() & 63))
}

fn above(bit: u64) -> u64 {
    !(bit | (bit - 1))
}

fn lowest(word: usize, bits: u64) -> Option<Floor> {
    NonZero::new(bits).and_then(|bits| floor(word, bits.trailing_zeros()))
}

fn highest(word: usize, bits: u64) -> Option<Floor> {
    floor(word, bits.checked_ilog2()?)
}

fn floor(word: usize, bit: u32) -> Option<Floor> {
    let index = u8::try_from(64 * word).ok()? + u8::try_from(bit).ok()?;
    Floor::try_from(index).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn any_floor() -> impl Strategy<Value = Floor> {
        (0..FloorCount::MAX).prop_map(|index| Floor::try_from(index).unwrap())
    }

    proptest! {
        #[test]
        fn a_floor_set_answers_as_a_tree_does(
            floors in proptest::collection::btree_set(any_floor(), 0..12),
            at in any_floor(),
        ) {
            let mut set = FloorSet::default();
            for &floor in &floors {
                set.insert(floor);
            }
            let above: BTreeSet<_> = floors.iter().copied().filter(|&floor| floor > at).collect();
            let below: BTreeSet<_> = floors.iter().copied().filter(|&floor| floor < at).collect();
            let (up, down) = (Direction::Up, Direction::Down);
            prop_assert_eq!(set.nearest_beyond(at, up), above.first().copied());
            prop_assert_eq!(set.farthest_beyond(at, up), above.last().copied());
            prop_assert_eq!(set.nearest_beyond(at, down), below.last().copied());
            prop_assert_eq!(set.farthest_beyond(at, down), below.first().copied());
            prop_assert!(set.iter().eq(floors.iter().copied()));
            prop_assert_eq!(set.contains(at), floors.contains(&at));
            prop_assert_eq!(set.remove(at), floors.contains(&at));
            prop_assert!(!set.contains(at));
        }
    }
}
