//! The types of the keys: what each takes, and how its text becomes a value.

use std::fmt;
use std::marker::PhantomData;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use elevator_driver::{Direction, Floor, FloorCount, PanelUrl};
use elevator_fleet::dispatch::{Schedule, Strategy};
use elevator_fleet::election::Preset;
use elevator_fleet::election::bully::Estimate;
use elevator_fleet::model::{FleetName, Mac, NodeId, Role};
use elevator_fleet::wire::Protocol;

use crate::alerts::WebhookUrl;
use crate::command_line::CommandLine;
use crate::dispatcher::Choice;
use crate::fleet_key::KeyFiles;
use crate::log::{LogFilter, LogFormat};
use crate::mesh::OwnAddress;
use crate::mqtt::{Broker, Prefix};

/// The type of a key: the domain's own, or one of this module that adds a range or a unit.
pub(super) trait KeyType {
    type Value;
    /// What messages, flags and the example file say about the type.
    const KIND: Kind;

    /// The value, if the text is right.
    fn parse(text: &str) -> Option<Self::Value>;

    /// The value of a key that is not given, if it may be left out.
    fn absent() -> Option<Self::Value> {
        None
    }
}

/// What a key takes, whatever its type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// The value's place in a usage line.
    pub(crate) placeholder: &'static str,
    /// Whether a file writes the value without quotes.
    pub(crate) is_bare: bool,
    /// Whether it may also write it with quotes.
    pub(crate) is_quoted: bool,
    accepts: fn(&str) -> bool,
    expected: fn() -> String,
    offered: fn() -> Vec<String>,
}

impl Kind {
    /// A type that a file writes in quotes.
    const fn of<T: KeyType>(placeholder: &'static str, expected: fn() -> String) -> Self {
        let accepts = |text: &str| T::parse(text).is_some();
        Self { placeholder, is_bare: false, is_quoted: false, accepts, expected, offered: Vec::new }
    }

    const fn bare(self) -> Self {
        Self { is_bare: true, ..self }
    }

    const fn bare_or_quoted(self) -> Self {
        Self { is_bare: true, is_quoted: true, ..self }
    }

    const fn offering(self, offered: fn() -> Vec<String>) -> Self {
        Self { offered, ..self }
    }

    /// Whether this text is a right value.
    #[must_use]
    pub(crate) fn accepts(self, text: &str) -> bool {
        (self.accepts)(text)
    }

    /// All values of a type that has a few words; none of others.
    #[must_use]
    pub(crate) fn offered(self) -> Vec<String> {
        (self.offered)()
    }

    /// A value as a file writes it.
    #[must_use]
    pub(crate) fn written(self, value: &str) -> String {
        // TOML has no number 01.
        let is_number = || value.parse::<u8>().is_ok_and(|number| number.to_string() == value);
        let is_bare = self.is_bare && (!self.is_quoted || is_number());
        if is_bare { value.to_owned() } else { format!("{value:?}") }
    }
}

/// What is right, as the end of "expected …".
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&(self.expected)())
    }
}

/// A key that may be left out.
impl<T: KeyType> KeyType for Option<T> {
    type Value = Option<T::Value>;
    const KIND: Kind = T::KIND;

    fn parse(text: &str) -> Option<Self::Value> {
        T::parse(text).map(Some)
    }

    fn absent() -> Option<Self::Value> {
        Some(None)
    }
}

/// A time; the range is in milliseconds.
pub(super) enum Time<const LEAST: u64, const MOST: u64> {}

impl<const LEAST: u64, const MOST: u64> Time<LEAST, MOST> {
    const RANGE: [Duration; 2] = [Duration::from_millis(LEAST), Duration::from_millis(MOST)];
}

impl<const LEAST: u64, const MOST: u64> KeyType for Time<LEAST, MOST> {
    type Value = Duration;
    const KIND: Kind = Kind::of::<Self>("TIME", || {
        let [least, most] = Self::RANGE.map(humantime::format_duration);
        format!("a time with its unit, from {least} to {most}")
    });

    fn parse(text: &str) -> Option<Duration> {
        let [least, most] = Self::RANGE;
        let time = humantime::parse_duration(text).ok()?;
        (least..=most).contains(&time).then_some(time)
    }
}

/// A whole number in a range.
pub(super) struct Whole<T, const LEAST: i16, const MOST: i16>(PhantomData<T>);

impl<T: TryFrom<i16>, const LEAST: i16, const MOST: i16> KeyType for Whole<T, LEAST, MOST> {
    type Value = T;
    const KIND: Kind =
        Kind::of::<Self>("NUMBER", || format!("a whole number from {LEAST} to {MOST}")).bare();

    fn parse(text: &str) -> Option<T> {
        let number = parsed(text).filter(|number| (LEAST..=MOST).contains(number))?;
        number.try_into().ok()
    }
}

/// Other types, a row each: `TYPE => VALUE: "PLACEHOLDER", EXPECTED, PARSE`, and what to adjust of
/// the kind.
macro_rules! key_types {
    ($($Type:ty => $Value:ty: $placeholder:literal, $expected:expr, $parse:expr
        $(, $adjust:ident($($with:expr)?))?;)+) => {$(
        impl KeyType for $Type {
            type Value = $Value;
            const KIND: Kind = Kind::of::<Self>($placeholder, || $expected.to_string())
                $(.$adjust($($with)?))?;

            fn parse(text: &str) -> Option<$Value> {
                $parse(text)
            }
        }
    )+};
}

key_types! {
    FleetName => Self: "NAME", "1 to 16 letters, digits, dots, dashes or underscores", parsed;
    NodeId => Self: "NAME", "1 to 16 letters, digits, dots, dashes or underscores", parsed;
    Mac => Self: "MAC", "six pairs of hex digits, such as 02:00:c0:a8:01:0b", parsed;
    OwnAddress => Self: "ADDRESS",
        "the IPv4 address of one host, such as 192.168.1.11, or the name of a network interface, such \
         as eth0",
        |text: &str| match text.parse() {
            Ok(host) => is_host(host).then_some(Self::Fixed(host)),
            // What begins like an address is a wrong one.
            Err(_) if text.starts_with(|first: char| first.is_ascii_alphabetic()) => {
                Interface::parse(text).map(Self::Of)
            }
            Err(_) => None,
        };
    Broadcast => SocketAddrV4: "ADDRESS:PORT",
        "an IPv4 broadcast or multicast address and a UDP port, such as 192.168.1.255:46100",
        |text| parsed(text)
            .filter(|to: &SocketAddrV4| to.port() > 0 && !to.ip().is_unspecified());
    SocketAddr => Self: "ADDRESS:PORT",
        "an IP address and a TCP port, such as 127.0.0.1:7080 or [::1]:7080",
        |text| parsed(text).filter(|address: &SocketAddr| address.port() > 0);
    Port => u16: "PORT", "a port from 1 to 65535", |text| parsed(text).filter(|&port| port > 0),
        bare();
    Multicast => Ipv4Addr: "ADDRESS",
        "the IPv4 address of a multicast group, such as 239.192.46.101",
        |text| parsed(text).filter(Ipv4Addr::is_multicast);
    Interface => String: "INTERFACE", "the name of a network interface, such as eth0",
        |text| plain(text, 15, |byte| byte.is_ascii_graphic() && byte != b'/');
    PanelUrl => Self: "URL",
        "serial:///dev/DEVICE?baud=NUMBER (an absolute path), tcp://HOST:PORT, \
         modbus+tcp://HOST:PORT?unit=NUMBER or modbus+rtu:///dev/DEVICE?baud=NUMBER", parsed;
    FloorCount => Self: "NUMBER",
        format!("a whole number from {} to {}", Self::MIN, Self::MAX),
        |text| Self::new(parsed(text)?), bare();
    Schedule => Self: "ENTRIES",
        "entries such as mon-fri 07:00-09:30 park 0; daily 22:00-06:00 park 0 8 cars 2", parsed;
    Height => f64: "NUMBER", "a number from 1 to 50, in m", |text| number(text, 1.0..=50.0), bare();
    Speed => f64: "NUMBER", "a number from 0.1 to 20, in m/s", |text| number(text, 0.1..=20.0),
        bare();
    Acceleration => f64: "NUMBER", "a number from 0.1 to 3, in m/s²",
        |text| number(text, 0.1..=3.0), bare();
    Jerk => f64: "NUMBER", "a number from 0.1 to 10, in m/s³", |text| number(text, 0.1..=10.0),
        bare();
    Floor => Self: "FLOOR", "the label of a floor", parsed, bare_or_quoted();
    Percent => u8: "PERCENT", "a whole number from 1 to 200, in per cent",
        |text| parsed(text).filter(|percent| (1..=200).contains(percent)), bare();
    Count => u64: "NUMBER", "a whole number from 1 to 1000000000",
        |text| parsed(text).filter(|count| (1..=1_000_000_000).contains(count)), bare();
    PathBuf => Self: "PATH", "a path",
        |text: &str| (!text.is_empty()).then(|| Self::from(text));
    KeyFiles => Self: "FILES",
        "absolute paths of key files, or none, separated by commas", Self::parse;
    Group => String: "GROUP", "the name or the number of a group of users",
        |text| plain(text, 32, |byte| byte.is_ascii_alphanumeric() || b"-_.$".contains(&byte));
    Username => String: "NAME", "1 to 64 bytes without spaces",
        |text| plain(text, 64, |byte| byte.is_ascii_graphic());
    Broker => Self: "URL", "mqtt://HOST:PORT or mqtts://HOST:PORT, without a user name or password", parsed;
    CommandLine => Self: "COMMAND", "a program and its arguments, separated by spaces, without quotes, up to 1024 bytes",
        parsed;
    WebhookUrl => Self: "URL", "https://HOST:PORT/PATH or http://HOST:PORT/PATH, without a user name",
        parsed;
    Prefix => Self: "TOPIC", "up to 128 bytes, levels separated by slashes, without + and #",
        Self::new;
    Protocol => Self: "PROTOCOL", texts(&Self::ALL).join(", "), parsed,
        offering(|| texts(&Self::ALL));
    Estimate => Self: "ESTIMATE", "a whole number from 0 to 10000, or health, in quotes",
        |text| match text {
            "health" => Some(Self::Health),
            _ => parsed(text).filter(|estimate| *estimate <= 10_000).map(Self::Fixed),
        },
        offering(|| texts(&["health"]));
    Choice => Self: "STRATEGY",
        format!(
            "{} or exec: and a program with its arguments, without quotes",
            texts(&Strategy::ALL).join(", ")
        ),
        parsed, offering(|| texts(&Strategy::ALL));
    LogFilter => Self: "FILTER",
        "a level, or levels by module, such as info,liftmesh::mesh=debug", Self::new,
        offering(|| texts(&["error", "warn", "info", "debug", "trace"]));
}

fn is_host(address: Ipv4Addr) -> bool {
    !address.is_unspecified() && !address.is_broadcast() && !address.is_multicast()
}

// Types with a range of their own. 255.255.255.255 is refused later, with a reason of its own.
pub(super) enum Broadcast {}
pub(super) enum Port {}
pub(super) enum Multicast {}
pub(super) enum Interface {}
pub(super) enum Percent {}
pub(super) enum Count {}
pub(super) enum Height {}
pub(super) enum Speed {}
pub(super) enum Acceleration {}
pub(super) enum Jerk {}
pub(super) enum Username {}
pub(super) enum Group {}

/// Types of which every value is a word, a row each: `TYPE: "PLACEHOLDER", WORDS`.
macro_rules! words {
    ($($Type:ty: $placeholder:literal, $words:expr $(, $adjust:ident())?;)+) => {$(
        impl KeyType for $Type {
            type Value = Self;
            const KIND: Kind = Kind::of::<Self>($placeholder, || one_of(Self::KIND.offered()))
                .offering(|| texts(&$words.map(|(word, _)| word)))
                $(.$adjust())?;

            fn parse(text: &str) -> Option<Self> {
                let word = Self::KIND.offered().iter().position(|word| word == text)?;
                Some($words[word].1)
            }
        }
    )+};
}

words! {
    Role: "ROLE", Self::ALL.map(|role| (role, role));
    Direction: "DIRECTION", Self::BOTH.map(|direction| (direction, direction));
    bool: "BOOL", [("true", true), ("false", false)], bare();
    Preset: "PRESET", [("fleet", Self::Fleet), ("source", Self::Source)];
    SeniorPreset: "PRESET",
        [("fleet", Self::Fleet), ("source", Self::Source), ("emulator", Self::Emulator)];
    LogFormat: "FORMAT",
        [("auto", Self::Auto), ("human", Self::Human), ("journal", Self::Journal), ("json", Self::Json)];
}

/// The presets of `senior`, which has one more than the other protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeniorPreset {
    Fleet,
    Source,
    Emulator,
}

fn parsed<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn number(text: &str, range: RangeInclusive<f64>) -> Option<f64> {
    parsed(text).filter(|number| range.contains(number))
}

/// A text of at most `most` bytes, each of which is accepted.
fn plain(text: &str, most: usize, is_accepted: impl Fn(u8) -> bool) -> Option<String> {
    let is_right = (1..=most).contains(&text.len()) && text.bytes().all(is_accepted);
    is_right.then(|| text.to_owned())
}

fn texts<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

fn one_of(mut words: Vec<String>) -> String {
    let last = words.pop().unwrap_or_default();
    format!("{} or {last}", words.join(", "))
}
