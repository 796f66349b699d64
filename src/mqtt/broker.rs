//! Where the broker is, how it and the node trust each other, and below which topic the fleet is:
//! the values of the configuration.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Uri;
use elevator_fleet::model::FleetName;
use rumqttc::v5::MqttOptions;
use rustls::ClientConfig;

use crate::credentials::{self, CredentialsError};

/// The longest prefix of topics, in bytes.
const LONGEST_PREFIX: usize = 128;

/// How long the disk may take.
const READ_LIMIT: Duration = Duration::from_secs(5);

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encryption {
    None,
    Tls,
}

impl Broker {
    pub(crate) fn is_on_loopback(&self) -> bool {
        self.host == "localhost"
            || ipv6(&self.host).is_some_and(|ip| ip.is_loopback())
            || self.host.parse().is_ok_and(|ip: Ipv4Addr| ip.is_loopback())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoBroker;

impl FromStr for Broker {
    type Err = NoBroker;

    fn from_str(text: &str) -> Result<Self, NoBroker> {
        let uri: Uri = text.parse().map_err(|_error| NoBroker)?;
        let (encryption, usual) = match uri.scheme_str() {
            Some("mqtt") => (Encryption::None, 1883),
            Some("mqtts") => (Encryption::Tls, 8883),
            Some(_) | None => return Err(NoBroker),
        };
        let authority = uri.authority().ok_or(NoBroker)?;
        let (host, port) = (authority.host(), authority.port_u16().unwrap_or(usual));
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let is_host = (1..=253).contains(&host.len()) && host.bytes().all(is_name)
            || encryption == Encryption::None && ipv6(host).is_some();
        // A name and a password in it would show in lists of processes.
        let is_bare = authority.as_str() == host || authority.as_str() == format!("{host}:{port}");
        let is_whole = uri.path_and_query().is_none_or(|rest| matches!(rest.as_str(), "" | "/"));
        if port == 0 || !is_host || !is_bare || !is_whole {
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

/// What proves node and broker to each other, read anew for each connection.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) encryption: Encryption,
    pub(crate) username: Option<String>,
    pub(crate) password_file: Option<PathBuf>,
    pub(crate) ca_file: Option<PathBuf>,
}

impl Access {
    /// Puts the password into the options of a connection; returns whom to trust over TLS.
    pub(super) async fn apply(
        self,
        mut options: MqttOptions,
    ) -> Result<(MqttOptions, Option<Arc<ClientConfig>>), CredentialsError> {
        let read = tokio::task::spawn_blocking(move || {
            let password = self.password_file.as_deref().map(credentials::password).transpose()?;
            if let Some(username) = &self.username {
                let password = password.as_ref().map_or("", |word| word.as_str());
                options.set_credentials(username, password);
            }
            let tls = match self.encryption {
                Encryption::None => None,
                Encryption::Tls => Some(Arc::new(credentials::tls(self.ca_file.as_deref())?)),
            };
            Ok((options, tls))
        });
        match tokio::time::timeout(READ_LIMIT, read).await {
            Ok(Ok(read)) => read,
            Ok(Err(_)) | Err(_) => Err(CredentialsError::NoAnswer),
        }
    }
}

/// What every topic of a fleet begins with, such as `liftmesh/north`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prefix(String);

impl Prefix {
    pub(crate) fn of(fleet: &FleetName) -> Self {
        Self(format!("liftmesh/{fleet}"))
    }

    /// A prefix: non-empty levels with slashes between, printable, without a wildcard or a first
    /// `$`.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let is_level = |level: &str| {
            !level.is_empty() && level.bytes().all(|b| b.is_ascii_graphic() && !b"+#".contains(&b))
        };
        let is_prefix =
            text.len() <= LONGEST_PREFIX && !text.starts_with('$') && text.split('/').all(is_level);
        is_prefix.then(|| Self(text.to_owned()))
    }

    pub(crate) fn topic(&self, name: &str) -> String {
        format!("{}/{name}", self.0)
    }

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
        ] {
            assert_eq!(text.parse::<Broker>().map(|broker| broker.to_string()), Ok(shown.into()));
        }
        for wrong in [
            "",
            "broker:1883",
            "mqtt://",
            "mqtt://user:secret@broker",
            "mqtt://broker:0",
            "mqtt://broker:65536",
            "mqtt://broker/topic",
            "mqtt://2001:db8::1",
            "mqtt://[2001:db8::1",
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
