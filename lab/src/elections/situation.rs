//! What happens to a fleet, and in which network.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use fastrand::Rng;
use serde::Serialize;

use crate::{Bursts, WorldSettings};

/// What happens to a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Situation {
    /// All nodes start at once.
    Start,
    /// The master's process is killed; its kernel resets its links.
    MasterDead,
    /// The master's machine loses power: no link is reset.
    PowerLoss,
    /// The master's process is suspended.
    MasterHung,
    /// The master's process is killed, and the next master's at the moment in which it becomes
    /// master (B8).
    Cascade,
    /// The killed master starts again, after the others have settled.
    MasterReturns,
    /// The suspended master goes on, after the others have settled.
    HungReturns,
    /// The network is partitioned into two halves.
    Partition,
    /// The halves merge, after both have settled.
    Merge,
    /// Nothing happens.
    Quiet,
    /// Packets from the master to one slave get lost, those from the slave to the master do not.
    OneWay,
    /// The master and one slave do not reach each other, all others reach both.
    NonTransitive,
    /// Each second a node at random is killed, and starts again after half a second.
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

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::MasterDead => "master-dead",
            Self::PowerLoss => "power-loss",
            Self::MasterHung => "master-hung",
            Self::Cascade => "cascade",
            Self::MasterReturns => "master-returns",
            Self::HungReturns => "hung-returns",
            Self::Partition => "partition",
            Self::Merge => "merge",
            Self::Quiet => "quiet",
            Self::OneWay => "one-way",
            Self::NonTransitive => "non-transitive",
            Self::Churn => "churn",
        }
    }

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
            Self::HungReturns => "the suspended master goes on",
            Self::Partition => "the network is partitioned into two halves",
            Self::Merge => "the halves merge",
            Self::Quiet => "nothing happens",
            Self::OneWay => "a slave does not hear its master any more",
            Self::NonTransitive => "the master and a slave do not reach each other",
            Self::Churn => "nodes die and return, one each second",
        }
    }

    /// Whether the groups are expected to agree, and the time until then is measured. Otherwise the
    /// fleet is watched for a fixed time.
    #[must_use]
    pub fn settles(self) -> bool {
        match self {
            Self::Start
            | Self::MasterDead
            | Self::PowerLoss
            | Self::MasterHung
            | Self::Cascade
            | Self::MasterReturns
            | Self::HungReturns
            | Self::Partition
            | Self::Merge => true,
            Self::Quiet | Self::OneWay | Self::NonTransitive | Self::Churn => false,
        }
    }

    /// How often the master changes at most in a group, if all goes well.
    pub(super) fn changes(self) -> u32 {
        match self {
            Self::Cascade => 2,
            Self::Start
            | Self::MasterDead
            | Self::PowerLoss
            | Self::MasterHung
            | Self::MasterReturns
            | Self::HungReturns
            | Self::Partition
            | Self::Merge
            | Self::Quiet
            | Self::OneWay
            | Self::NonTransitive
            | Self::Churn => 1,
        }
    }

    /// The smallest fleet to which it can happen.
    #[must_use]
    pub fn smallest(self) -> usize {
        match self {
            Self::Cascade | Self::OneWay | Self::NonTransitive => 3,
            Self::Start
            | Self::MasterDead
            | Self::PowerLoss
            | Self::MasterHung
            | Self::MasterReturns
            | Self::HungReturns
            | Self::Partition
            | Self::Merge
            | Self::Quiet
            | Self::Churn => 2,
        }
    }
}

/// How the network and the clocks are, all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conditions {
    /// A packet takes 0.1 to 1 ms, losses are independent, and clocks are right.
    Steady,
    /// A packet takes 0.1 to 40 ms.
    Jitter,
    /// Losses come in bursts: see [`Bursts`].
    Bursts,
    /// Each node's clock is wrong by up to 5 %.
    Clocks,
}

impl Conditions {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Steady, Self::Jitter, Self::Bursts, Self::Clocks];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Jitter => "jitter",
            Self::Bursts => "bursts",
            Self::Clocks => "clocks",
        }
    }

    /// Whether the stated bounds are stated for them.
    pub(super) fn are_sound(self) -> bool {
        match self {
            Self::Steady | Self::Jitter => true,
            Self::Bursts | Self::Clocks => false,
        }
    }

    pub(super) fn apply(self, settings: &mut WorldSettings, random: &mut Rng) {
        match self {
            Self::Steady => {}
            Self::Jitter => {
                let longest = Duration::from_millis(40).as_micros();
                settings.weather.delay = 100..=u64::try_from(longest).unwrap_or(u64::MAX);
            }
            Self::Bursts => settings.bursts = Some(Bursts::default()),
            Self::Clocks => {
                settings.clock_rates =
                    (0..settings.nodes).map(|node| (node, random.u32(950..=1_050))).collect();
            }
        }
    }
}

/// A name of no situation, or of no conditions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} is not known; choose from {known}")]
pub struct UnknownName {
    name: String,
    known: String,
}

fn by_name<T: Copy>(name: &str, all: &[T], of: fn(T) -> &'static str) -> Result<T, UnknownName> {
    let found = all.iter().copied().find(|one| of(*one) == name);
    found.ok_or_else(|| UnknownName {
        name: name.to_owned(),
        known: all.iter().map(|one| of(*one)).collect::<Vec<_>>().join(", "),
    })
}

impl FromStr for Situation {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        by_name(name, &Self::ALL, Self::name)
    }
}

impl FromStr for Conditions {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        by_name(name, &Self::ALL, Self::name)
    }
}

impl fmt::Display for Situation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
