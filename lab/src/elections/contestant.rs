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
use crate::controls::Control;

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
    variants: Variants,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Base {
    Protocol(Protocol),
    Control(Control),
}

impl Base {
    /// The names of all.
    fn names() -> String {
        let protocols = Protocol::ALL.map(|protocol| protocol.to_string());
        let controls = Control::ALL.map(|control| control.to_string());
        protocols.into_iter().chain(controls).collect::<Vec<_>>().join(", ")
    }

    /// The error that it lacks this variant.
    fn without(self, variant: &str) -> UnknownContestant {
        let has: Vec<&str> = Variant::ALL.iter().filter_map(|one| one.name(self)).collect();
        let choices = if has.is_empty() {
            "it has none".into()
        } else {
            format!("it has {}", has.join(", "))
        };
        let contestant = self.to_string();
        UnknownContestant::Without { contestant, variant: variant.to_owned(), choices }
    }
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
    /// How long an answer is waited for; twice as long if the node that answers waits first.
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
    /// No such protocol or control.
    #[error("there is no contestant {0}; choose from {names}", names = Base::names())]
    Base(String),
    /// No such variant.
    #[error(
        "there is no variant {0}; choose from source, own-detection, equal-timeouts, \
         control-unit, regular-leader, numbers"
    )]
    Variant(String),
    /// There is nothing that the variant would change.
    #[error("{contestant} has no variant {variant}; {choices}")]
    Without {
        /// The protocol or control.
        contestant: String,
        /// The variant.
        variant: String,
        /// Which variants it has.
        choices: String,
    },
    /// No protocol has all of these variants.
    #[error("no protocol has all of the variants {0}; name protocols one by one")]
    Nobody(String),
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

    /// Its name with this contestant, or `None` if there is none.
    fn name(self, base: Base) -> Option<&'static str> {
        match base {
            Base::Protocol(protocol) => self.name_of(protocol),
            Base::Control(_) => None,
        }
    }

    fn name_of(self, protocol: Protocol) -> Option<&'static str> {
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

    fn parse(name: &str, base: Base) -> Result<Self, UnknownContestant> {
        let find = |base| Self::ALL.into_iter().find(|one| one.name(base) == Some(name));
        find(base).ok_or_else(|| {
            if Protocol::ALL.into_iter().any(|protocol| find(Base::Protocol(protocol)).is_some()) {
                base.without(name)
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
        Self { base: Base::Protocol(protocol), variants: Variants::default() }
    }

    /// A preset of the protocol.
    #[must_use]
    pub fn preset(protocol: Protocol, preset: Preset) -> Self {
        let variants = match preset {
            Preset::Fleet => Variants::default(),
            Preset::Source => Variants::default().with(Variant::Source),
        };
        Self { base: Base::Protocol(protocol), variants }
    }

    /// This, under a preset. `None` for a control, which has no presets, and if the name says that
    /// the preset is another one.
    #[must_use]
    pub fn under(self, preset: Preset) -> Option<Self> {
        match (self.base, preset) {
            (Base::Control(_), Preset::Fleet | Preset::Source) => None,
            (Base::Protocol(_), Preset::Fleet) => {
                (!self.variants.contains(Variant::Source)).then_some(self)
            }
            (Base::Protocol(_), Preset::Source) => {
                Some(Self { variants: self.variants.with(Variant::Source), ..self })
            }
        }
    }

    /// The protocol and its preset, if it is nothing else.
    #[must_use]
    pub fn as_preset(self) -> Option<(Protocol, Preset)> {
        let Base::Protocol(protocol) = self.base else {
            return None;
        };
        let mut presets = Preset::ALL.into_iter();
        let preset = presets.find(|preset| self == Self::preset(protocol, *preset))?;
        Some((protocol, preset))
    }

    /// The contestants that a text means: one, or after `all` every protocol that has the variants.
    /// `controls` means every control.
    ///
    /// # Errors
    /// [`UnknownContestant`]
    pub fn list(text: &str) -> Result<Vec<Self>, UnknownContestant> {
        let (name, variants) = text.split_at(text.find(':').unwrap_or(text.len()));
        match name {
            "all" => Self::protocols(variants),
            "controls" => {
                let controls = Control::ALL.iter().map(|control| format!("{control}{variants}"));
                controls.map(|text| text.parse()).collect()
            }
            _ => Ok(vec![text.parse()?]),
        }
    }

    /// Every protocol that has these variants, of which each follows a colon.
    fn protocols(variants: &str) -> Result<Vec<Self>, UnknownContestant> {
        let mut found = Vec::new();
        for protocol in Protocol::ALL {
            match format!("{protocol}{variants}").parse() {
                Ok(contestant) => found.push(contestant),
                Err(UnknownContestant::Without { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if found.is_empty() {
            return Err(UnknownContestant::Nobody(variants.trim_start_matches(':').to_owned()));
        }
        Ok(found)
    }

    /// Its settings of the election in a fleet of so many nodes, without what differs between them.
    #[must_use]
    pub fn election(self, nodes: usize) -> ElectionSettings {
        let has = |variant| self.variants.contains(variant);
        let preset = if has(Variant::Source) { Preset::Source } else { Preset::Fleet };
        let mut settings = match self.base {
            Base::Protocol(protocol) => ElectionSettings::preset(protocol, preset),
            Base::Control(control) => control.settings(nodes),
        };
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
        let mut settings = WorldSettings::without_parking(nodes, seed);
        settings.election = self.election(nodes);
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
    pub fn bound(self, nodes: usize) -> Duration {
        self.election(nodes).bound(&MeshTimes::default(), nodes)
    }

    /// Whether it is not one of the five protocols.
    pub(super) fn is_control(self) -> bool {
        matches!(self.base, Base::Control(_))
    }

    /// Whether the bound is stated for a network that loses up to 5 % too.
    pub(super) fn bears_loss(self) -> bool {
        self.election(2).bears_loss()
    }

    /// After this time a fleet of so many nodes counts as unsettled: 30 s, or twice the bound.
    #[must_use]
    pub fn limit(self, nodes: usize) -> Duration {
        LIMIT.max(self.bound(nodes) * 2)
    }

    /// How long all interruptions of an agreement together may last.
    pub(super) fn allowance(self) -> Duration {
        self.election(2).settles_within()
    }

    /// Whether the mastership rotates.
    pub(super) fn rotates(self) -> bool {
        self.election(2).profile().rotates
    }
}

fn detect_losses_alone(settings: &mut ElectionSettings) {
    match settings {
        ElectionSettings::LowestIp(_) | ElectionSettings::Experiment(_) => {}
        ElectionSettings::Bully(settings) => settings.mesh_detection = false,
        ElectionSettings::Senior(settings) => settings.mesh_detection = false,
        ElectionSettings::Ballot(settings) => settings.mesh_detection = false,
        ElectionSettings::TokenRing(settings) => settings.mesh_detection = false,
    }
}

fn equalise(settings: &mut ElectionSettings) {
    let Equal { silence, answer, period } = EQUAL;
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

impl fmt::Display for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut name = self.base.to_string();
        let variants = Variant::ALL.into_iter().filter(|variant| self.variants.contains(*variant));
        for variant in variants.filter_map(|variant| variant.name(self.base)) {
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
        let protocol = name.parse().map(Base::Protocol);
        let base = protocol.or_else(|_| name.parse().map(Base::Control));
        let base = base.map_err(|_| UnknownContestant::Base(name.to_owned()))?;
        let mut contestant = Self { base, variants: Variants::default() };
        for part in parts {
            contestant.variants = contestant.variants.with(Variant::parse(part, base)?);
        }
        Ok(contestant)
    }
}

impl Serialize for Contestant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
