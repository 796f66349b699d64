//! Where the broker is, and below which topic the fleet is: the values of the configuration.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use elevator_fleet::model::FleetName;

/// The longest prefix of topics, in bytes.
const LONGEST_PREFIX: usize = 128;

/// The address of a broker: `mqtt://HOST:PORT`, or `mqtts://HOST:PORT` for TLS. Without a port it is
/// 1883, or 8883 with TLS. An IPv6 address is in brackets; for TLS the broker needs a name or an IPv4
/// address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broker {
    /// An IPv6 address is in brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) encryption: Encryption,
}

/// Whether others on the network can read along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encryption {
    None,
    Tls,
}

impl Broker {
    /// Whether what is sent stays on this machine.
    pub(crate) fn is_on_loopback(&self) -> bool {
        self.host == "localhost"
            || ipv6(&self.host).is_some_and(|ip| ip.is_loopback())
            || self.host.parse().is_ok_and(|ip: Ipv4Addr| ip.is_loopback())
    }
}

/// Not the URL of a broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoBroker;

impl FromStr for Broker {
    type Err = NoBroker;

    fn from_str(text: &str) -> Result<Self, NoBroker> {
        let (scheme, rest) = text.split_once("://").ok_or(NoBroker)?;
        let (encryption, usual) = match scheme {
            "mqtt" => (Encryption::None, 1883),
            "mqtts" => (Encryption::Tls, 8883),
            _ => return Err(NoBroker),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let end = rest.find(']').map_or(0, |end| end + 1);
        let (host, port) = match rest[end..].split_once(':') {
            Some((name, port)) => {
                (&rest[..end + name.len()], port.parse().map_err(|_error| NoBroker)?)
            }
            None => (rest, usual),
        };
        // A name and a password in it would show in lists of processes.
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let is_host = match encryption {
            Encryption::None if ipv6(host).is_some() => true,
            Encryption::None | Encryption::Tls => {
                (1..=253).contains(&host.len()) && host.bytes().all(is_name)
            }
        };
        if port == 0 || !is_host {
            return Err(NoBroker);
        }
        Ok(Self { host: host.to_owned(), port, encryption })
    }
}

fn ipv6(host: &str) -> Option<Ipv6Addr> {
    host.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

impl fmt::Display for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.encryption {
            Encryption::None => "mqtt",
            Encryption::Tls => "mqtts",
        };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

/// What every topic of a fleet begins with, such as `liftmesh/north`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prefix(String);

impl Prefix {
    /// The prefix, unless another one is configured.
    pub(crate) fn of(fleet: &FleetName) -> Self {
        Self(format!("liftmesh/{fleet}"))
    }

    /// A prefix: levels with slashes between, none of them empty, no wildcard, no space or control
    /// character. Topics that begin with `$` belong to the broker.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let is_level = |level: &str| {
            !level.is_empty() && level.bytes().all(|b| b.is_ascii_graphic() && !b"+#".contains(&b))
        };
        let is_prefix =
            text.len() <= LONGEST_PREFIX && !text.starts_with('$') && text.split('/').all(is_level);
        is_prefix.then(|| Self(text.to_owned()))
    }

    /// A topic of the fleet.
    pub(crate) fn topic(&self, name: &str) -> String {
        format!("{}/{name}", self.0)
    }

    /// The rest of a topic of the fleet.
    pub(crate) fn strip<'a>(&self, topic: &'a str) -> Option<&'a str> {
        topic.strip_prefix(&self.0)?.strip_prefix('/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_is_a_scheme_a_host_and_a_port() {
        for (text, shown) in [
            ("mqtt://broker", "mqtt://broker:1883"),
            ("mqtts://broker.example/", "mqtts://broker.example:8883"),
            ("mqtt://127.0.0.1:2883", "mqtt://127.0.0.1:2883"),
            ("mqtt://[2001:db8::1]", "mqtt://[2001:db8::1]:1883"),
            ("mqtt://[::1]:2883/", "mqtt://[::1]:2883"),
        ] {
            assert_eq!(text.parse::<Broker>().map(|broker| broker.to_string()), Ok(shown.into()));
        }
        for wrong in [
            "",
            "broker:1883",
            "http://broker",
            "mqtt://",
            "mqtt://user:secret@broker",
            "mqtt://broker:0",
            "mqtt://broker:65536",
            "mqtt://broker/topic",
            "mqtt://bro ker",
            "mqtt://2001:db8::1",
            "mqtt://[2001:db8::1",
            "mqtt://[broker]",
            "mqtt://[::1]x:1883",
            "mqtts://[::1]",
        ] {
            assert_eq!(wrong.parse::<Broker>(), Err(NoBroker), "{wrong}");
        }
        assert!("mqtt://127.3.4.5".parse::<Broker>().unwrap().is_on_loopback());
        assert!("mqtt://[::1]".parse::<Broker>().unwrap().is_on_loopback());
        assert!(!"mqtt://[::2]".parse::<Broker>().unwrap().is_on_loopback());
        assert!(!"mqtt://10.0.0.1".parse::<Broker>().unwrap().is_on_loopback());
    }

    #[test]
    fn a_prefix_has_no_wildcard_and_no_empty_level() {
        let prefix = Prefix::new("campus/north").unwrap();
        assert_eq!(prefix.topic("cars/A"), "campus/north/cars/A");
        assert_eq!(prefix.strip("campus/north/cars/A"), Some("cars/A"));
        assert_eq!(prefix.strip("campus/northern/cars/A"), None);
        let long = "x".repeat(LONGEST_PREFIX + 1);
        for wrong in ["", "/a", "a/", "a//b", "a/+", "#", "a b", "$SYS/a", "a\0", &long] {
            assert_eq!(Prefix::new(wrong), None, "{wrong}");
        }
    }
}
