//! Who takes part in a comparison.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use elevator_fleet::election::bully::Estimate;
use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::model::Role;
use elevator_fleet::node::MeshTimes;
use elevator_fleet::wire::Protocol;
use serde::{Deserialize, Serialize, Serializer};

use crate::WorldSettings;
use crate::controls::Control;
use crate::names::{self, UnknownName};

/// A run is censored after this time, or after twice the stated bound if that is longer.
const LIMIT: Duration = Duration::from_secs(30);

/// A protocol and what is changed about it, or a control.
///
/// The name of a protocol is followed by those of the variants, after colons and in any order:
///
/// ```
/// use liftmesh_lab::elections::Contestant;
///
/// let contestant: Contestant = "bully:numbers:source".parse()?;
/// assert_eq!(contestant.to_string(), "bully:source:numbers");
/// assert_eq!(Contestant::list("all")?.len(), 5);
/// assert_eq!(Contestant::list("controls")?.len(), 3);
/// assert!("lowest-ip:numbers".parse::<Contestant>().is_err());
/// # Ok::<(), liftmesh_lab::elections::UnknownContestant>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Contestant {
    base: Base,
    /// A bit for each variant.
    variants: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Base {
    Protocol(Protocol),
    Control(Control),
}

/// What can be changed about a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Variant {
    /// The figures and rules of the source, [`Preset::Source`].
    Source,
    /// The protocol detects losses by itself, without the mesh (C5).
    OwnDetection,
    /// The same times for the same purposes.
    EqualTimeouts,
    /// Node A is the designated master: the control unit of `senior`.
    ControlUnit,
    /// Node A is the designated master: the regular leader of `ballot`.
    RegularLeader,
    /// Estimates are configured: 1, 2, 3, … (B1).
    Numbers,
    /// Raft asks before it begins a term.
    PreVote,
    /// The network loses no message of the election, as the paper of the control assumes.
    Reliable,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UnknownContestant {
    #[error("unknown contestant {0}; choose from {names}", names = Base::names())]
    Base(String),
    #[error(transparent)]
    Variant(#[from] UnknownName),
    /// There is nothing that the variant would change.
    #[error("{0}")]
    Without(String),
    /// None of the list has all of these variants.
    #[error("{0}: none has all of these variants; name contestants one by one")]
    Nobody(String),
}

impl Base {
    fn all() -> impl Iterator<Item = Self> {
        let protocols = Protocol::ALL.into_iter().map(Self::Protocol);
        protocols.chain(Control::ALL.into_iter().map(Self::Control))
    }

    fn names() -> String {
        Self::all().map(|base| base.to_string()).collect::<Vec<_>>().join(", ")
    }

    fn variants(self) -> impl Iterator<Item = Variant> {
        Variant::ALL.into_iter().filter(move |variant| match (self, variant) {
            (Self::Control(control), Variant::PreVote) => control == Control::Raft,
            (Self::Control(control), Variant::Reliable) => control != Control::Raft,
            (Self::Control(_), _) | (Self::Protocol(_), Variant::PreVote | Variant::Reliable) => {
                false
            }
            (Self::Protocol(_), Variant::Source) => true,
            (Self::Protocol(protocol), Variant::OwnDetection | Variant::EqualTimeouts) => {
                protocol != Protocol::LowestIp
            }
            (Self::Protocol(protocol), Variant::ControlUnit) => protocol == Protocol::Senior,
            (Self::Protocol(protocol), Variant::RegularLeader) => protocol == Protocol::Ballot,
            (Self::Protocol(protocol), Variant::Numbers) => protocol == Protocol::Bully,
        })
    }

    /// Its variant of this name.
    fn variant(self, name: &str) -> Result<Variant, UnknownContestant> {
        let wanted = names::parse(name)?;
        self.variants().find(|variant| *variant == wanted).ok_or_else(|| {
            let has: Vec<String> = self.variants().map(|variant| variant.to_string()).collect();
            let has = has.join(", ");
            UnknownContestant::Without(format!("{self} has no variant {name}; it has {has}"))
        })
    }
}

impl Variant {
    const ALL: [Self; 8] = [
        Self::Source,
        Self::OwnDetection,
        Self::EqualTimeouts,
        Self::ControlUnit,
        Self::RegularLeader,
        Self::Numbers,
        Self::PreVote,
        Self::Reliable,
    ];
}

impl Contestant {
    /// The protocol as it is by default.
    #[must_use]
    pub fn of(protocol: Protocol) -> Self {
        Self { base: Base::Protocol(protocol), variants: 0 }
    }

    fn has(self, variant: Variant) -> bool {
        self.variants & (1 << variant as u8) != 0
    }

    fn with(self, variant: Variant) -> Self {
        Self { variants: self.variants | 1 << variant as u8, ..self }
    }

    /// This, under a preset. `None` for a control, which has no presets, and if the name says that
    /// the preset is another one.
    #[must_use]
    pub fn under(self, preset: Preset) -> Option<Self> {
        let is_source = self.has(Variant::Source);
        match (self.base, preset) {
            (Base::Control(_), _) => None,
            (Base::Protocol(_), Preset::Fleet) => (!is_source).then_some(self),
            (Base::Protocol(_), Preset::Source) => Some(self.with(Variant::Source)),
        }
    }

    /// The protocol and its preset, if it is nothing else.
    #[must_use]
    pub fn as_preset(self) -> Option<(Protocol, Preset)> {
        let Base::Protocol(protocol) = self.base else {
            return None;
        };
        let is_this = |preset: &Preset| Self::of(protocol).under(*preset) == Some(self);
        Some((protocol, Preset::ALL.into_iter().find(is_this)?))
    }

    /// The contestants that a text means: one, or after `all` every protocol that has the variants,
    /// and after `controls` every control that has them.
    ///
    /// # Errors
    /// [`UnknownContestant`]
    pub fn list(text: &str) -> Result<Vec<Self>, UnknownContestant> {
        let (name, variants) = text.split_at(text.find(':').unwrap_or(text.len()));
        let is_of_list: fn(&Base) -> bool = match name {
            "all" => |base| matches!(base, Base::Protocol(_)),
            "controls" => |base| matches!(base, Base::Control(_)),
            _ => return Ok(vec![text.parse()?]),
        };
        let mut found = Vec::new();
        for base in Base::all().filter(is_of_list) {
            match format!("{base}{variants}").parse() {
                Ok(contestant) => found.push(contestant),
                Err(UnknownContestant::Without(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let nobody = || UnknownContestant::Nobody(text.to_owned());
        if found.is_empty() { Err(nobody()) } else { Ok(found) }
    }

    /// Its settings of the election in a fleet of this many nodes, without what differs between
    /// them.
    fn election(self, nodes: usize) -> ElectionSettings {
        let preset = if self.has(Variant::Source) { Preset::Source } else { Preset::Fleet };
        let mut settings = match self.base {
            Base::Protocol(protocol) => ElectionSettings::preset(protocol, preset),
            Base::Control(control) => control.settings(nodes, self.has(Variant::PreVote)),
        };
        if self.has(Variant::OwnDetection) {
            match &mut settings {
                ElectionSettings::LowestIp(_) | ElectionSettings::Experiment(_) => {}
                ElectionSettings::Bully(settings) => settings.mesh_detection = false,
                ElectionSettings::Senior(settings) => settings.mesh_detection = false,
                ElectionSettings::Ballot(settings) => settings.mesh_detection = false,
                ElectionSettings::TokenRing(settings) => settings.mesh_detection = false,
            }
        }
        if self.has(Variant::EqualTimeouts) {
            equalise(&mut settings);
        }
        settings
    }

    /// A fleet of it.
    pub(super) fn settings(self, nodes: usize, seed: u64) -> WorldSettings {
        let mut settings = WorldSettings::without_parking(nodes, seed);
        settings.election = self.election(nodes);
        settings.reliable_elections = self.has(Variant::Reliable);
        if self.has(Variant::ControlUnit) || self.has(Variant::RegularLeader) {
            settings.roles.insert(0, Role::ControlUnit);
        }
        if let ElectionSettings::Bully(bully) = &settings.election
            && self.has(Variant::Numbers)
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

    /// The stated bound of a fleet of this many nodes (C3).
    #[must_use]
    pub fn bound(self, nodes: usize) -> Duration {
        self.election(nodes).bound(&MeshTimes::default(), nodes)
    }

    /// Whether a group of so many of the nodes can have a master: under Raft only a majority can.
    pub(super) fn can_elect(self, group: usize, nodes: usize) -> bool {
        match self.base {
            Base::Protocol(_) => true,
            Base::Control(control) => control.can_elect(group, nodes),
        }
    }

    pub(super) fn is_control(self) -> bool {
        matches!(self.base, Base::Control(_))
    }

    /// Whether the bound is stated for a network that loses up to 5 % too.
    pub(super) fn bears_loss(self) -> bool {
        self.election(2).bears_loss()
    }

    /// After this time a fleet of this many nodes counts as unsettled: 30 s, or twice the bound.
    #[must_use]
    pub fn limit(self, nodes: usize) -> Duration {
        LIMIT.max(self.bound(nodes) * 2)
    }

    /// How long all interruptions of an agreement together may last.
    pub(super) fn allowance(self) -> Duration {
        self.election(2).settles_within()
    }

    pub(super) fn rotates(self) -> bool {
        self.election(2).profile().rotates
    }
}

/// Counts, such as the attempts of `senior`, stay as they are.
fn equalise(settings: &mut ElectionSettings) {
    // How long a master may be silent.
    let silence = Duration::from_millis(200);
    // How long an answer is waited for; twice as long if the node that answers waits first.
    let answer = Duration::from_millis(100);
    // Between two signs of life, or two repetitions.
    let period = Duration::from_millis(50);
    match settings {
        ElectionSettings::LowestIp(_) | ElectionSettings::Experiment(_) => {}
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

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(protocol) => protocol.fmt(f),
            Self::Control(control) => control.fmt(f),
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut name = self.base.to_string();
        for variant in Variant::ALL.into_iter().filter(|variant| self.has(*variant)) {
            name = format!("{name}:{variant}");
        }
        f.pad(&name)
    }
}

impl FromStr for Contestant {
    type Err = UnknownContestant;

    fn from_str(text: &str) -> Result<Self, UnknownContestant> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let base = Base::all().find(|base| base.to_string() == name);
        let base = base.ok_or_else(|| UnknownContestant::Base(name.to_owned()))?;
        let mut contestant = Self { base, variants: 0 };
        for part in parts {
            contestant = contestant.with(base.variant(part)?);
        }
        Ok(contestant)
    }
}

impl Serialize for Contestant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
