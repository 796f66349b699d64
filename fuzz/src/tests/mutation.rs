//! Inputs made of known ones: the usual mutations of a fuzzer, in an order that a seed decides.

use std::hash::{DefaultHasher, Hash, Hasher};

use fastrand::Rng;

/// Values at which code often decides otherwise.
const EDGES: [u8; 8] = [0, 1, 0x7f, 0x80, 0xfe, 0xff, b'"', b'\n'];

pub(super) struct Mutator {
    random: Rng,
    longest: usize,
}

impl Mutator {
    /// The mutations of this target.
    pub(super) fn new(target: &str, longest: usize) -> Self {
        let mut hasher = DefaultHasher::new();
        target.hash(&mut hasher);
        Self { random: Rng::with_seed(hasher.finish()), longest }
    }

    /// One of these inputs with one to eight changes.
    pub(super) fn mutate(&mut self, known: &[Vec<u8>]) -> Vec<u8> {
        let mut input = self.random.choice(known).cloned().unwrap_or_default();
        for _ in 0..self.random.usize(1..=8) {
            self.change(&mut input, known);
        }
        input.truncate(self.longest);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, known: &[Vec<u8>]) {
        let random = &mut self.random;
        let place = random.usize(0..=input.len());
        let length = random.usize(0..=(input.len() - place).min(64));
        let byte = random.u8(..);
        match random.u8(0..9) {
            0 => input.iter_mut().skip(place).take(1).for_each(|at| *at ^= 1 << (byte % 8)),
            1 => input.iter_mut().skip(place).take(1).for_each(|at| *at = byte),
            2 => {
                let edge = EDGES[usize::from(byte) % EDGES.len()];
                input.iter_mut().skip(place).take(1).for_each(|at| *at = edge);
            }
            3 => {
                let by = if byte.is_multiple_of(2) { 1 } else { u8::MAX };
                input.iter_mut().skip(place).take(1).for_each(|at| *at = at.wrapping_add(by));
            }
            4 => drop(input.drain(place..place + length)),
            5 => {
                let copied = input[place..place + length].to_vec();
                let to = random.usize(0..=input.len());
                input.splice(to..to, copied);
            }
            6 => {
                let inserted: Vec<u8> = (0..=byte % 8).map(|_| random.u8(..)).collect();
                input.splice(place..place, inserted);
            }
            7 => input.truncate(place),
            _ => {
                // The rest of another input.
                if let Some(other) = random.choice(known) {
                    let from = random.usize(0..=other.len());
                    input.truncate(place);
                    input.extend_from_slice(&other[from..]);
                }
            }
        }
    }
}
