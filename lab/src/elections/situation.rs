//! What happens to a fleet, and in which network.

use std::fmt;
use std::str::FromStr;

use fastrand::Rng;
use serde::{Deserialize, Serialize};

use crate::names::{self, UnknownName};
use crate::{Bursts, WorldSettings};

/// What happens to a fleet: see [`Situation::title`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Situation {
    Start,
    /// Its kernel resets its links.
    MasterDead,
    /// No link is reset.
    PowerLoss,
    MasterHung,
    /// B8.
    Cascade,
    /// After the others have settled, as in [`HungReturns`](Self::HungReturns).
    MasterReturns,
    HungReturns,
    Partition,
    /// After both have settled.
    Merge,
    Quiet,
    /// It still hears the slave.
    OneWay,
    /// All others reach both.
    NonTransitive,
    /// They return after half a second.
    Churn,
}

impl Situation {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 13] = [
        Self::Start,
        Self::MasterDead,
        Self::PowerLoss,
        Self::MasterHung,
        Self::Cascade,
        Self::MasterReturns,
        Self::HungReturns,
        Self::Partition,
        Self::Merge,
        Self::Quiet,
        Self::OneWay,
        Self::NonTransitive,
        Self::Churn,
    ];

    /// What happens, for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Start => "all nodes start at once",
            Self::MasterDead => "the master's process is killed",
            Self::PowerLoss => "the master loses power",
            Self::MasterHung => "the master is suspended",
            Self::Cascade => "the master is killed, and the next one as soon as it is master",
            Self::MasterReturns => "the killed master starts again",
            Self::HungReturns => "the suspended master resumes",
            Self::Partition => "the network is partitioned into two halves",
            Self::Merge => "the halves merge",
            Self::Quiet => "nothing happens",
            Self::OneWay => "a slave no longer hears its master",
            Self::NonTransitive => "the master and a slave do not reach each other",
            Self::Churn => "nodes die and return, one each second",
        }
    }

    /// Whether the groups are expected to agree, and the time until then is measured. Otherwise the
    /// fleet is watched for a fixed time.
    #[must_use]
    pub fn settles(self) -> bool {
        !matches!(self, Self::Quiet | Self::OneWay | Self::NonTransitive | Self::Churn)
    }

    /// How often the master changes at most in a group, if all goes well.
    pub(super) fn changes(self) -> u32 {
        if self == Self::Cascade { 2 } else { 1 }
    }

    /// The smallest fleet to which it can happen.
    #[must_use]
    pub fn smallest(self) -> usize {
        if matches!(self, Self::Cascade | Self::OneWay | Self::NonTransitive) { 3 } else { 2 }
    }
}

/// How the network and the clocks are, all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conditions {
    /// A packet takes 0.1 to 1 ms, losses are independent, and clocks are right.
    Steady,
    Jitter,
    /// Losses come in bursts: see [`Bursts`].
    Bursts,
    /// Each node's clock is wrong by up to 5 %.
    Clocks,
}

impl Conditions {
    pub const ALL: [Self; 4] = [Self::Steady, Self::Jitter, Self::Bursts, Self::Clocks];

    /// Whether the stated bounds are stated for them.
    pub(super) fn are_sound(self) -> bool {
        matches!(self, Self::Steady | Self::Jitter)
    }

    pub(super) fn apply(self, settings: &mut WorldSettings, random: &mut Rng) {
        match self {
            Self::Steady => {}
            Self::Jitter => settings.weather.delay = 100..=40_000,
            Self::Bursts => settings.bursts = Some(Bursts::default()),
            Self::Clocks => {
                settings.clock_rates =
                    (0..settings.nodes).map(|node| (node, random.u32(950..=1_050))).collect();
            }
        }
    }
}

impl FromStr for Situation {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        names::parse(name)
    }
}

impl FromStr for Conditions {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        names::parse(name)
    }
}

impl fmt::Display for Situation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
