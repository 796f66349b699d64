//! What a key takes, and how its text becomes a value.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::str::FromStr;
use std::time::Duration;

use elevator_driver::{Direction, Floor, FloorCount, PanelUrl};
use elevator_fleet::coordination::bully::Estimate;
use elevator_fleet::model::{Mac, NodeId, Role};
use elevator_fleet::wire::Protocol;

use super::settings::LogFormat;
use crate::log::LogFilter;

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// The name of a fleet or a node.
    Name,
    /// What a node is there for.
    Role,
    /// A MAC address.
    Mac,
    /// The address of a host.
    Address,
    /// The address and port of a broadcast.
    Broadcast,
    /// A TCP port.
    Port,
    /// The address of a panel.
    Panel,
    /// The address of a multicast group.
    Multicast,
    /// The name of a network interface.
    Interface,
    /// A number of floors.
    Floors,
    /// A floor.
    Floor,
    /// A group of users.
    Group,
    /// A file or a directory.
    Path,
    /// An election protocol.
    Election,
    /// A time, from the first to the second.
    Time(Duration, Duration),
    /// A number, from the first to the second, in a unit.
    Number(f64, f64, &'static str),
    /// A whole number, from the first to the second.
    Whole(i16, i16),
    /// A rank: a whole number, or `health`.
    Estimate,
    /// A preset of `senior`.
    Preset,
    /// A percentage.
    Percent,
    /// Up or down.
    Direction,
    /// Yes or no.
    Switch,
    /// What is logged.
    Filter,
    /// How it is logged.
    Format,
}

impl Kind {
    /// A time between so many milliseconds.
    pub(super) const fn time(least: u64, most: u64) -> Self {
        Self::Time(Duration::from_millis(least), Duration::from_millis(most))
    }

    pub(super) const fn number(least: f64, most: f64, unit: &'static str) -> Self {
        Self::Number(least, most, unit)
    }

    /// Whether this text is a right value.
    #[must_use]
    pub fn accepts(self, text: &str) -> bool {
        match self {
            Self::Name => name(text).is_some(),
            Self::Role => role(text).is_some(),
            Self::Mac => mac(text).is_some(),
            Self::Address => address(text).is_some(),
            Self::Broadcast => broadcast(text).is_some(),
            Self::Port => port(text).is_some(),
            Self::Multicast => multicast(text).is_some(),
            Self::Interface => interface(text).is_some(),
            Self::Panel => panel(text).is_some(),
            Self::Floors => floors(text).is_some(),
            Self::Floor => floor(text).is_some(),
            Self::Path => !text.is_empty(),
            Self::Group => group(text).is_some(),
            Self::Election => election(text).is_some(),
            Self::Time(least, most) => {
                time(text).is_some_and(|time| (least..=most).contains(&time))
            }
            Self::Number(least, most, _) => {
                number(text).is_some_and(|number| (least..=most).contains(&number))
            }
            Self::Whole(least, most) => {
                whole::<i16>(text).is_some_and(|number| (least..=most).contains(&number))
            }
            Self::Estimate => estimate(text).is_some(),
            Self::Preset => preset(text).is_some(),
            Self::Percent => percent(text).is_some(),
            Self::Direction => direction(text).is_some(),
            Self::Switch => switch(text).is_some(),
            Self::Filter => filter(text).is_some(),
            Self::Format => format(text).is_some(),
        }
    }

    /// The values that it takes, or such that a completion may offer; none where there are too
    /// many.
    #[must_use]
    pub fn offered(self) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        match self {
            Self::Role => Role::ALL.map(|role| role.to_string()).to_vec(),
            Self::Election => Protocol::ALL.map(|known| known.to_string()).to_vec(),
            Self::Estimate => words(&["health"]),
            Self::Preset => words(&["fleet", "source", "emulator"]),
            Self::Direction => Direction::BOTH.map(|way| way.to_string()).to_vec(),
            Self::Switch => words(&["true", "false"]),
            Self::Filter => words(&["error", "warn", "info", "debug", "trace"]),
            Self::Format => words(&["human", "journal"]),
            Self::Name
            | Self::Mac
            | Self::Address
            | Self::Broadcast
            | Self::Port
            | Self::Panel
            | Self::Multicast
            | Self::Interface
            | Self::Floors
            | Self::Floor
            | Self::Group
            | Self::Path
            | Self::Time(..)
            | Self::Number(..)
            | Self::Whole(..)
            | Self::Percent => Vec::new(),
        }
    }

    /// Whether a file writes the value without quotes.
    #[must_use]
    pub fn is_bare(self) -> bool {
        match self {
            Self::Port
            | Self::Floors
            | Self::Floor
            | Self::Number(..)
            | Self::Whole(..)
            | Self::Percent
            | Self::Switch => true,
            Self::Name
            | Self::Role
            | Self::Mac
            | Self::Address
            | Self::Broadcast
            | Self::Multicast
            | Self::Interface
            | Self::Panel
            | Self::Path
            | Self::Group
            | Self::Election
            | Self::Estimate
            | Self::Preset
            | Self::Time(..)
            | Self::Direction
            | Self::Filter
            | Self::Format => false,
        }
    }

    /// A value as a file writes it.
    #[must_use]
    pub fn written(self, value: &str) -> String {
        if self.is_bare() {
            value.to_owned()
        } else {
            format!("{value:?}")
        }
    }

    /// The value's place in a usage line.
    #[must_use]
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Name => "NAME",
            Self::Role => "ROLE",
            Self::Mac => "MAC",
            Self::Address | Self::Multicast => "ADDRESS",
            Self::Interface => "INTERFACE",
            Self::Broadcast => "ADDRESS:PORT",
            Self::Port => "PORT",
            Self::Panel => "URL",
            Self::Floors | Self::Number(..) | Self::Whole(..) => "NUMBER",
            Self::Floor => "FLOOR",
            Self::Path => "PATH",
            Self::Group => "GROUP",
            Self::Election => "PROTOCOL",
            Self::Time(..) => "TIME",
            Self::Estimate => "ESTIMATE",
            Self::Preset => "PRESET",
            Self::Percent => "PERCENT",
            Self::Direction => "DIRECTION",
            Self::Switch => "BOOL",
            Self::Filter => "FILTER",
            Self::Format => "FORMAT",
        }
    }
}

/// What is right, as the end of "expected …".
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("1 to 16 letters, digits, dots, dashes or underscores"),
            Self::Role => f.write_str("cabin, control-unit or indicator"),
            Self::Mac => f.write_str("six pairs of hex digits, such as 02:00:c0:a8:01:0b"),
            Self::Address => f.write_str("the IPv4 address of one host, such as 192.168.1.11"),
            Self::Broadcast => f.write_str(
                "an IPv4 broadcast or multicast address and a UDP port, such as \
                 192.168.1.255:46100",
            ),
            Self::Port => f.write_str("a port from 1 to 65535"),
            Self::Multicast => {
                f.write_str("the IPv4 address of a multicast group, such as 239.192.46.101")
            }
            Self::Interface => f.write_str("the name of a network interface, such as eth0"),
            Self::Panel => f.write_str(
                "serial:///dev/DEVICE?baud=NUMBER (an absolute path) or tcp://HOST:PORT",
            ),
            Self::Floors => write!(
                f,
                "a whole number from {} to {}",
                FloorCount::MIN,
                FloorCount::MAX
            ),
            Self::Floor => f.write_str("a floor from 0 to 253"),
            Self::Path => f.write_str("a path"),
            Self::Group => f.write_str("the name or the number of a group of users"),
            Self::Election => {
                let names = Protocol::ALL.map(|protocol| protocol.to_string());
                f.write_str(&names.join(", "))
            }
            Self::Time(least, most) => write!(
                f,
                "a time with its unit, from {} to {}",
                humantime::format_duration(*least),
                humantime::format_duration(*most)
            ),
            Self::Number(least, most, unit) => {
                write!(f, "a number from {least} to {most}, in {unit}")
            }
            Self::Whole(least, most) => write!(f, "a whole number from {least} to {most}"),
            Self::Estimate => f.write_str("a whole number from 0 to 10000, or health, in quotes"),
            Self::Preset => f.write_str("fleet, source or emulator"),
            Self::Percent => f.write_str("a whole number from 1 to 200, in per cent"),
            Self::Direction => f.write_str("up or down"),
            Self::Switch => f.write_str("true or false"),
            Self::Filter => {
                f.write_str("a level, or levels by module, such as info,liftmesh::mesh=debug")
            }
            Self::Format => f.write_str("auto, human, journal or json"),
        }
    }
}

pub(super) fn name(text: &str) -> Option<NodeId> {
    NodeId::new(text).ok()
}

pub(super) fn role(text: &str) -> Option<Role> {
    Role::ALL.into_iter().find(|role| role.to_string() == text)
}

pub(super) fn mac(text: &str) -> Option<Mac> {
    text.parse().ok()
}

pub(super) fn address(text: &str) -> Option<Ipv4Addr> {
    let address: Ipv4Addr = text.parse().ok()?;
    let host = !address.is_unspecified() && !address.is_broadcast() && !address.is_multicast();
    host.then_some(address)
}

/// 255.255.255.255 is let through here, so that it can be refused with its own reason.
pub(super) fn broadcast(text: &str) -> Option<SocketAddrV4> {
    let broadcast: SocketAddrV4 = text.parse().ok()?;
    (broadcast.port() > 0 && !broadcast.ip().is_unspecified()).then_some(broadcast)
}

pub(super) fn port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|&port| port > 0)
}

pub(super) fn multicast(text: &str) -> Option<Ipv4Addr> {
    text.parse().ok().filter(Ipv4Addr::is_multicast)
}

/// As the system names interfaces: at most 15 bytes, no slash, no space.
pub(super) fn interface(text: &str) -> Option<String> {
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'/');
    ((1..16).contains(&text.len()) && plain).then(|| text.to_owned())
}

pub(super) fn group(text: &str) -> Option<String> {
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.$".contains(&byte));
    ((1..=32).contains(&text.len()) && plain).then(|| text.to_owned())
}

pub(super) fn panel(text: &str) -> Option<PanelUrl> {
    text.parse().ok()
}

pub(super) fn floors(text: &str) -> Option<FloorCount> {
    FloorCount::new(text.parse().ok()?)
}

pub(super) fn floor(text: &str) -> Option<Floor> {
    Floor::try_from(text.parse::<u8>().ok()?).ok()
}

pub(super) fn election(text: &str) -> Option<Protocol> {
    text.parse().ok()
}

pub(super) fn time(text: &str) -> Option<Duration> {
    humantime::parse_duration(text).ok()
}

pub(super) fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

pub(super) fn whole<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

pub(super) fn estimate(text: &str) -> Option<Estimate> {
    if text == "health" {
        return Some(Estimate::Health);
    }
    let fixed = whole::<u32>(text).filter(|estimate| *estimate <= 10_000);
    fixed.map(Estimate::Fixed)
}

/// A preset of `senior`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Preset {
    Fleet,
    Source,
    Emulator,
}

pub(super) fn preset(text: &str) -> Option<Preset> {
    match text {
        "fleet" => Some(Preset::Fleet),
        "source" => Some(Preset::Source),
        "emulator" => Some(Preset::Emulator),
        _ => None,
    }
}

pub(super) fn percent(text: &str) -> Option<u8> {
    text.parse()
        .ok()
        .filter(|percent| (1..=200).contains(percent))
}

pub(super) fn direction(text: &str) -> Option<Direction> {
    Direction::BOTH
        .into_iter()
        .find(|direction| direction.to_string() == text)
}

pub(super) fn switch(text: &str) -> Option<bool> {
    text.parse().ok()
}

pub(super) fn filter(text: &str) -> Option<LogFilter> {
    LogFilter::new(text)
}

pub(super) fn format(text: &str) -> Option<LogFormat> {
    match text {
        "auto" => Some(LogFormat::Auto),
        "human" => Some(LogFormat::Human),
        "journal" => Some(LogFormat::Journal),
        "json" => Some(LogFormat::Json),
        _ => None,
    }
}
