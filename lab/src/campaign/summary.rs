//! What many campaigns of one protocol come to.

use std::hash::Hasher;

use elevator_fleet::election::Preset;
use elevator_fleet::wire::Protocol;
use serde::{Serialize, Serializer};
use siphasher::sip::SipHasher13;

use super::{Tally, Verdict};

/// So many of a hundred campaigns may be void, and one in any case.
const MOST_VOID: u64 = 5;

/// The figures of the campaigns of one protocol.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    pub protocol: Protocol,
    pub preset: Preset,
    pub seeds: u64,
    /// Those that are void: their seeds, each with the reason. They have not passed.
    pub void: Vec<(u64, String)>,
    pub failed: Vec<Failure>,
    /// What they consisted of in all.
    #[serde(flatten)]
    pub tally: Tally,
    /// The hash of the campaigns' hashes, in the order of their seeds.
    #[serde(serialize_with = "value")]
    hash: SipHasher13,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    pub seed: u64,
    /// What was wrong, for people.
    pub violations: Vec<String>,
}

impl Summary {
    /// Of no campaign yet.
    #[must_use]
    pub fn new(protocol: Protocol, preset: Preset) -> Self {
        Self {
            protocol,
            preset,
            seeds: 0,
            void: Vec::new(),
            failed: Vec::new(),
            tally: Tally::default(),
            hash: SipHasher13::new(),
        }
    }

    /// Adds a campaign. The hash depends on the order.
    pub fn add(&mut self, verdict: &Verdict) {
        let Verdict { seed, violations, void, tally, hash } = verdict;
        self.seeds += 1;
        self.tally += tally;
        self.hash.write_u64(*seed);
        self.hash.write_u64(*hash);
        if !violations.is_empty() {
            let violations = violations.iter().map(ToString::to_string).collect();
            self.failed.push(Failure { seed: *seed, violations });
        } else if let Some(void) = void {
            self.void.push((*seed, void.to_string()));
        }
    }

    /// How many campaigns neither failed nor were void.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.seeds - self.failed.len() as u64 - self.void.len() as u64
    }

    /// Whether so many are void that the others prove little: more than 5 % and more than one, or
    /// all that did not fail.
    #[must_use]
    pub fn is_void(&self) -> bool {
        let void = self.void.len() as u64;
        let allowed = (self.seeds * MOST_VOID / 100).max(1);
        void > allowed || (void > 0 && self.passed() == 0)
    }

    /// The hash of the campaigns' hashes, in the order of their seeds.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash.finish()
    }
}

fn value<S: Serializer>(hash: &SipHasher13, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{:016x}", hash.finish()))
}
