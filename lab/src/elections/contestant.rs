//! Who takes part in a comparison.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use elevator_fleet::election::bully::Estimate;
use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::model::Role;
use elevator_fleet::node::MeshTimes;
use elevator_fleet::wire::Protocol;
use serde::{Serialize, Serializer};

use crate::WorldSettings;

/// A run is censored after this time, or after twice the stated bound if that is longer.
const LIMIT: Duration = Duration::from_secs(30);

/// A protocol, and what is changed about it.
///
/// Its name is that of the protocol, and those of the variants after colons, in any order:
///
/// ```
/// use liftmesh_lab::elections::Contestant;
///
/// let contestant: Contestant = "bully:numbers:source".parse()?;
/// assert_eq!(contestant.to_string(), "bully:source:numbers");
/// assert_eq!(Contestant::list("all")?.len(), 5);
/// assert!("lowest-ip:numbers".parse::<Contestant>().is_err());
/// # Ok::<(), liftmesh_lab::elections::UnknownContestant>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Contestant {
    protocol: Protocol,
    variants: Variants,
}

/// What can be changed about a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    /// The figures and rules of the source, [`Preset::Source`].
    Source,
    /// The protocol detects losses by itself, without the mesh (C5).
    OwnDetection,
    /// The same times for the same purposes: see [`EQUAL`].
    EqualTimeouts,
    /// Node A is the designated master: the control unit of `senior`, the regular leader of
    /// `ballot`.
    DesignatedMaster,
    /// Estimates are configured: 1, 2, 3, … (B1).
    Numbers,
}

/// A set of variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
struct Variants(u8);

/// The times that contestants with equal timeouts have in common. Counts, such as the attempts of
/// `senior`, stay as they are.
struct Equal {
    /// How long a master may be silent.
    silence: Duration,
    /// How long an answer is waited for; twice as long if whoever answers waits first.
    answer: Duration,
    /// Between two signs of life, or two repetitions.
    period: Duration,
}

const EQUAL: Equal = Equal {
    silence: Duration::from_millis(200),
    answer: Duration::from_millis(100),
    period: Duration::from_millis(50),
};

/// Text that names no contestant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownContestant {
    /// No such protocol.
    #[error("there is no protocol {0}")]
    Protocol(String),
    /// No such variant.
    #[error(
        "there is no variant {0}; choose from source, own-detection, equal-timeouts, \
         control-unit, regular-leader, numbers"
    )]
    Variant(String),
    /// The protocol has nothing that the variant would change.
    #[error("{protocol} has no variant {variant}")]
    Without {
        /// The protocol.
        protocol: Protocol,
        /// The variant.
        variant: String,
    },
}

impl Variants {
    fn contains(self, variant: Variant) -> bool {
        self.0 & (1 << variant as u8) != 0
    }

    fn with(self, variant: Variant) -> Self {
        Self(self.0 | 1 << variant as u8)
    }
}

impl Variant {
    const ALL: [Self; 5] = [
        Self::Source,
        Self::OwnDetection,
        Self::EqualTimeouts,
        Self::DesignatedMaster,
        Self::Numbers,
    ];

    /// Its name under this protocol, or `None` if the protocol does not have it.
    fn name(self, protocol: Protocol) -> Option<&'static str> {
        let detects = protocol != Protocol::LowestIp;
        match self {
            Self::Source => Some("source"),
            Self::OwnDetection => detects.then_some("own-detection"),
            Self::EqualTimeouts => detects.then_some("equal-timeouts"),
            Self::DesignatedMaster => match protocol {
                Protocol::Senior => Some("control-unit"),
                Protocol::Ballot => Some("regular-leader"),
                Protocol::LowestIp | Protocol::Bully | Protocol::TokenRing => None,
            },
            Self::Numbers => (protocol == Protocol::Bully).then_some("numbers"),
        }
    }

    fn parse(name: &str, protocol: Protocol) -> Result<Self, UnknownContestant> {
        let find = |protocol| Self::ALL.into_iter().find(|one| one.name(protocol) == Some(name));
        find(protocol).ok_or_else(|| {
            if Protocol::ALL.into_iter().any(|protocol| find(protocol).is_some()) {
                UnknownContestant::Without { protocol, variant: name.to_owned() }
            } else {
                UnknownContestant::Variant(name.to_owned())
            }
        })
    }
}

impl Contestant {
    /// The protocol as it is by default.
    #[must_use]
    pub fn of(protocol: Protocol) -> Self {
        Self { protocol, variants: Variants::default() }
    }

    /// The contestants that a text means: one, or after `all` every protocol that has the variants.
    ///
    /// # Errors
    /// [`UnknownContestant`]
    pub fn list(text: &str) -> Result<Vec<Self>, UnknownContestant> {
        let Some(variants) =
            text.strip_prefix("all").filter(|rest| rest.is_empty() || rest.starts_with(':'))
        else {
            return Ok(vec![text.parse()?]);
        };
        let mut found = Vec::new();
        for protocol in Protocol::ALL {
            match format!("{protocol}{variants}").parse() {
                Ok(contestant) => found.push(contestant),
                Err(UnknownContestant::Without { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Its settings of the election, without what differs between nodes.
    #[must_use]
    pub fn election(self) -> ElectionSettings {
        let has = |variant| self.variants.contains(variant);
        let preset = if has(Variant::Source) { Preset::Source } else { Preset::Fleet };
        let mut settings = ElectionSettings::preset(self.protocol, preset);
        if has(Variant::OwnDetection) {
            detect_losses_alone(&mut settings);
        }
        if has(Variant::EqualTimeouts) {
            equalise(&mut settings);
        }
        settings
    }

    /// A fleet of it.
    pub(super) fn settings(self, nodes: usize, seed: u64) -> WorldSettings {
        let mut settings = WorldSettings::new(nodes, seed);
        settings.election = self.election();
        if self.variants.contains(Variant::DesignatedMaster) {
            settings.roles.insert(0, Role::ControlUnit);
        }
        if let ElectionSettings::Bully(bully) = &settings.election
            && self.variants.contains(Variant::Numbers)
        {
            let numbered = (1..).zip(0..nodes).map(|(number, node)| {
                let mut bully = bully.clone();
                bully.estimate = Estimate::Fixed(number);
                (node, ElectionSettings::Bully(bully))
            });
            settings.elections = numbered.collect();
        }
        settings
    }

    /// The stated bound of a fleet of so many nodes (C3).
    #[must_use]
    pub fn bound(self, _nodes: usize) -> Duration {
        self.election().bound(&MeshTimes::default())
    }

    /// After this time a fleet of so many nodes counts as unsettled: 30 s, or twice the bound.
    #[must_use]
    pub fn limit(self, nodes: usize) -> Duration {
        LIMIT.max(self.bound(nodes) * 2)
    }

    /// How long all interruptions of an agreement together may last.
    pub(super) fn allowance(self) -> Duration {
        self.election().settles_within()
    }

    /// Whether the mastership rotates.
    pub(super) fn rotates(self) -> bool {
        self.election().profile().rotates
    }
}

fn detect_losses_alone(settings: &mut ElectionSettings) {
    match settings {
        ElectionSettings::LowestIp(_) => {}
        ElectionSettings::Bully(settings) => settings.mesh_detection = false,
        ElectionSettings::Senior(settings) => settings.mesh_detection = false,
        ElectionSettings::Ballot(settings) => settings.mesh_detection = false,
        ElectionSettings::TokenRing(settings) => settings.mesh_detection = false,
    }
}

fn equalise(settings: &mut ElectionSettings) {
    let Equal { silence, answer, period } = EQUAL;
    match settings {
        ElectionSettings::LowestIp(_) => {}
        ElectionSettings::Bully(settings) => {
            settings.silence = silence;
            settings.answer_wait = answer;
            settings.coordinator_wait = answer * 2;
            settings.ask_again = period;
        }
        ElectionSettings::Senior(settings) => {
            settings.master_loss = silence;
            settings.answer_wait = answer;
            settings.request_period = period;
        }
        ElectionSettings::Ballot(settings) => {
            settings.lost_after = silence;
            settings.round = answer;
            settings.control_period = period;
        }
        ElectionSettings::TokenRing(settings) => {
            settings.t = silence;
            settings.search_wait = answer;
            settings.acknowledgement_wait = answer;
            settings.claim_wait = answer;
            settings.grace = period;
        }
    }
}

impl fmt::Display for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut name = self.protocol.to_string();
        let variants = Variant::ALL.into_iter().filter(|variant| self.variants.contains(*variant));
        for variant in variants.filter_map(|variant| variant.name(self.protocol)) {
            name.push(':');
            name.push_str(variant);
        }
        f.pad(&name)
    }
}

impl FromStr for Contestant {
    type Err = UnknownContestant;

    fn from_str(text: &str) -> Result<Self, UnknownContestant> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let protocol = name.parse().map_err(|_| UnknownContestant::Protocol(name.to_owned()))?;
        let mut contestant = Self::of(protocol);
        for part in parts {
            contestant.variants = contestant.variants.with(Variant::parse(part, protocol)?);
        }
        Ok(contestant)
    }
}

impl Serialize for Contestant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
