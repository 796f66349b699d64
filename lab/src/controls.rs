//! Elections that readers know, to compare the five protocols with.
//!
//! They run as [experiments](elevator_fleet::election::experiment) in the real node, under the same
//! faults and with the same messages' delays, and in virtual time only. As each pair of nodes keeps
//! a link, they see a peer while it is synced, just as `bully` does.
//!
//! | control | source | what it answers |
//! | --- | --- | --- |
//! | [`Raft`](Control::Raft) | Ongaro and Ousterhout, *In Search of an Understandable Consensus Algorithm*, 2014, section 5.2 | what a majority costs, and what it buys |
//! | [`ChangRoberts`](Control::ChangRoberts) | Chang and Roberts, *An Improved Algorithm for Decentralized Extrema-Finding in Circular Configurations of Processes*, 1979 | what a ring of neighbours costs |
//! | [`Invitation`](Control::Invitation) | Garcia-Molina, *Elections in a Distributed Computing System*, 1982, section 5 | how groups merge without a preferred master |

mod chang_roberts;
mod invitation;
mod raft;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use elevator_fleet::election::{
    ElectionSettings, ElectionTimer, Experiment, LinkRule, Output, Profile, experiment,
};
use elevator_fleet::model::NodeId;

/// A control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Control {
    /// A leader of a term, elected by a majority of the configured members.
    Raft,
    /// The highest name, found by messages round a ring.
    ChangRoberts,
    /// Coordinators invite each other's groups.
    Invitation,
}

impl Control {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Raft, Self::ChangRoberts, Self::Invitation];

    /// Its settings, in a fleet of so many members.
    #[must_use]
    pub fn settings(self, members: usize) -> ElectionSettings {
        ElectionSettings::Experiment(match self {
            Self::Raft => Experiment::new(raft::Settings::new(members)),
            Self::ChangRoberts => Experiment::new(chang_roberts::Settings::default()),
            Self::Invitation => Experiment::new(invitation::Settings::default()),
        })
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Raft => "raft",
            Self::ChangRoberts => "chang-roberts",
            Self::Invitation => "invitation",
        })
    }
}

/// Text that does not name a control.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a control; there are {names}", names = Control::ALL.map(|known| known.to_string()).join(", "))]
pub struct UnknownControl(String);

impl FromStr for Control {
    type Err = UnknownControl;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|known| known.to_string() == text)
            .ok_or_else(|| UnknownControl(text.to_owned()))
    }
}

/// What the controls have in common: a link between each two nodes, and one line of details.
const PROFILE: Profile =
    Profile { link_rule: LinkRule::EveryPair, detail_lines: 1, ..Profile::USUAL };

fn message(kind: &'static str, number: u64) -> experiment::Message {
    experiment::Message { kind, number, node: None }
}

fn send(to: &NodeId, message: experiment::Message) -> Output {
    Output::Send(to.clone(), message.into())
}

/// The name of the timer, if it is one of an experiment.
fn name_of(timer: &ElectionTimer) -> Option<&'static str> {
    if let ElectionTimer::Experiment(timer) = timer { Some(timer.0) } else { None }
}
