//! A noisy line: bytes that are lost or come out wrong.

use fastrand::Rng;

/// Damages a share of all bytes; which ones depends on the seed alone.
#[derive(Debug, Clone)]
pub(crate) struct Noise {
    /// 0 to 100.
    pub(crate) percent: u8,
    random: Rng,
}

impl Noise {
    pub(crate) fn new(percent: u8, seed: u64) -> Self {
        Self { percent, random: Rng::with_seed(seed) }
    }

    /// What arrives of these bytes: of the damaged ones half are lost, half have a flipped bit.
    pub(crate) fn pass(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        let damaged = |byte: u8| match self.random.u8(0..100) {
            drawn if drawn >= self.percent => Some(byte),
            _ if self.random.bool() => None,
            _ => Some(byte ^ (1 << self.random.u8(0..8))),
        };
        bytes.into_iter().filter_map(damaged).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noisy_line_damages_the_stated_share_and_repeats_itself_by_seed() {
        let bytes = vec![0x55; 10_000];
        assert_eq!(Noise::new(0, 1).pass(bytes.clone()), bytes);
        let noisy = |seed| Noise::new(20, seed).pass(bytes.clone());
        let arrived = noisy(1);
        let right: usize = arrived.iter().map(|&byte| usize::from(byte == 0x55)).sum();
        assert!((7700..8300).contains(&right), "{right} of 10000");
        assert!((8800..9200).contains(&arrived.len()));
        assert_eq!(arrived, noisy(1));
        assert_ne!(arrived, noisy(2));
    }
}
