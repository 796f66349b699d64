//! A noisy line: bytes that are lost or come out wrong.

use fastrand::Rng;

/// Damages a share of all bytes; which ones depends on the seed alone.
#[derive(Debug, Clone)]
pub(crate) struct Noise {
    share: f64,
    random: Rng,
}

impl Noise {
    /// `percent` of all bytes, 0 to 100.
    pub(crate) fn new(percent: u8, seed: u64) -> Self {
        Self { share: f64::from(percent) / 100.0, random: Rng::with_seed(seed) }
    }

    pub(crate) fn set_percent(&mut self, percent: u8) {
        self.share = f64::from(percent) / 100.0;
    }

    /// What arrives of these bytes: of the damaged ones half are lost, half have a flipped bit.
    pub(crate) fn pass(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        if self.share <= 0.0 {
            return bytes;
        }
        bytes
            .into_iter()
            .filter_map(|byte| {
                if self.random.f64() >= self.share {
                    Some(byte)
                } else if self.random.bool() {
                    None
                } else {
                    Some(byte ^ (1 << self.random.u8(0..8)))
                }
            })
            .collect()
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
