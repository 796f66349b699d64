//! Chance by seed.

/// The first of the seeds that the hash of a commit determines, by its first 12 digits: nobody can
/// have tuned on them before it was made. `None` if it is not a hash of at least 12 digits.
#[must_use]
pub fn seed_of_commit(hash: &str) -> Option<u64> {
    let is_hash = hash.bytes().all(|digit| digit.is_ascii_hexdigit());
    u64::from_str_radix(hash.get(..12).filter(|_| is_hash)?, 16).ok()
}

/// A generator of random numbers; equal seeds give equal numbers.
///
/// Steele, Lea and Flood: Fast splittable pseudorandom number generators, 2014.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number in [0, 1), from the upper 53 bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub fn unit(&mut self) -> f64 {
        (self.next_bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number from 0 to less than `count`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to less than `count`"
    )]
    pub fn below(&mut self, count: u8) -> u8 {
        (self.unit() * f64::from(count)) as u8
    }

    /// A time of an exponential distribution with this rate.
    pub fn exponential(&mut self, rate: f64) -> f64 {
        -(1.0 - self.unit()).ln() / rate
    }
}
