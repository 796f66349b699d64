//! Where a panel is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The address of a panel: `serial:///dev/ttyUSB0?baud=115200` or `tcp://host:port`.
///
/// ```
/// use elevator_driver::PanelUrl;
///
/// let url: PanelUrl = "tcp://panel.local".parse()?;
/// assert_eq!(url, PanelUrl::Tcp { host: "panel.local".to_owned(), port: 15657 });
/// assert_eq!(url.to_string(), "tcp://panel.local:15657");
/// # Ok::<(), elevator_driver::PanelUrlError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PanelUrl {
    /// A panel that speaks the panel protocol on a serial line.
    Serial {
        /// The device, an absolute path.
        path: String,
        /// Bits per second. Default 115,200.
        baud: u32,
    },
    /// An elevator server.
    Tcp {
        /// A name, an IPv4 address, or an IPv6 address (in brackets when written down).
        host: String,
        /// The TCP port. Default 15657.
        port: u16,
    },
}

impl PanelUrl {
    /// The speed of a serial line whose address doesn't say it, in bits per second.
    pub const DEFAULT_BAUD: u32 = 115_200;
    /// The port of an elevator server whose address doesn't say it.
    pub const DEFAULT_PORT: u16 = 15657;
}

/// What is wrong with a panel's address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PanelUrlError {
    #[error("a panel's address must begin with serial:// or tcp://, not `{0}`")]
    Scheme(String),
    #[error("a serial address needs an absolute path, such as serial:///dev/ttyUSB0, not `{0}`")]
    Path(String),
    #[error("a serial address has no option `{0}`, only baud=NUMBER")]
    UnknownOption(String),
    #[error("the speed `{0}` is not a positive number of bits per second")]
    Baud(String),
    #[error("a TCP address must be tcp://HOST:PORT, not `{0}`")]
    Host(String),
    #[error("the port `{0}` is not a number from 1 to 65535")]
    Port(String),
}

impl FromStr for PanelUrl {
    type Err = PanelUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(rest) = text.strip_prefix("serial://") {
            parse_serial(rest)
        } else if let Some(rest) = text.strip_prefix("tcp://") {
            parse_tcp(rest)
        } else {
            Err(PanelUrlError::Scheme(text.to_owned()))
        }
    }
}

fn parse_serial(rest: &str) -> Result<PanelUrl, PanelUrlError> {
    let (path, options) =
        rest.split_once('?').map_or((rest, None), |(path, options)| (path, Some(options)));
    if !path.starts_with('/') || path.len() < 2 {
        return Err(PanelUrlError::Path(path.to_owned()));
    }
    let mut baud = PanelUrl::DEFAULT_BAUD;
    for option in options.into_iter().flat_map(|options| options.split('&')) {
        let speed = option
            .strip_prefix("baud=")
            .ok_or_else(|| PanelUrlError::UnknownOption(option.to_owned()))?;
        baud = speed
            .parse()
            .ok()
            .filter(|&baud| baud > 0)
            .ok_or_else(|| PanelUrlError::Baud(speed.to_owned()))?;
    }
    Ok(PanelUrl::Serial { path: path.to_owned(), baud })
}

fn parse_tcp(rest: &str) -> Result<PanelUrl, PanelUrlError> {
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let bad_host = || PanelUrlError::Host(rest.to_owned());
    let (host, port) = if let Some(inner) = rest.strip_prefix('[') {
        let (host, port) = inner.split_once(']').ok_or_else(bad_host)?;
        (host, port.strip_prefix(':').or((port.is_empty()).then_some("")))
    } else {
        rest.split_once(':').map_or((rest, Some("")), |(host, port)| (host, Some(port)))
    };
    let port = port.ok_or_else(bad_host)?;
    if host.is_empty() || host.contains(['/', '?', '#', '@']) {
        return Err(bad_host());
    }
    let port = if port.is_empty() {
        PanelUrl::DEFAULT_PORT
    } else {
        port.parse()
            .ok()
            .filter(|&port| port > 0)
            .ok_or_else(|| PanelUrlError::Port(port.to_owned()))?
    };
    Ok(PanelUrl::Tcp { host: host.to_owned(), port })
}

impl fmt::Display for PanelUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial { path, baud } => write!(f, "serial://{path}?baud={baud}"),
            Self::Tcp { host, port } if host.contains(':') => write!(f, "tcp://[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "tcp://{host}:{port}"),
        }
    }
}

impl TryFrom<String> for PanelUrl {
    type Error = PanelUrlError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<PanelUrl> for String {
    fn from(url: PanelUrl) -> Self {
        url.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<PanelUrl, PanelUrlError> {
        text.parse()
    }

    #[test]
    fn addresses_are_read_and_written_alike() {
        for text in [
            "serial:///dev/ttyUSB0?baud=9600",
            "tcp://127.0.0.1:15657",
            "tcp://panel.local:4000",
            "tcp://[::1]:15657",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn speed_and_port_have_defaults() {
        assert_eq!(
            parse("serial:///dev/ttyS1").unwrap().to_string(),
            "serial:///dev/ttyS1?baud=115200"
        );
        assert_eq!(parse("tcp://panel").unwrap().to_string(), "tcp://panel:15657");
        assert_eq!(parse("tcp://[::1]").unwrap().to_string(), "tcp://[::1]:15657");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text: &str| parse(text).unwrap_err();
        assert_eq!(wrong("http://x"), PanelUrlError::Scheme("http://x".to_owned()));
        assert_eq!(wrong("serial://ttyUSB0"), PanelUrlError::Path("ttyUSB0".to_owned()));
        assert_eq!(wrong("serial:///dev/ttyS0?baud=0"), PanelUrlError::Baud("0".to_owned()));
        assert_eq!(
            wrong("serial:///dev/ttyS0?parity=even"),
            PanelUrlError::UnknownOption("parity=even".to_owned())
        );
        assert_eq!(wrong("tcp://:80"), PanelUrlError::Host(":80".to_owned()));
        assert_eq!(wrong("tcp://a:0"), PanelUrlError::Port("0".to_owned()));
        assert_eq!(wrong("tcp://a:66000"), PanelUrlError::Port("66000".to_owned()));
        assert_eq!(wrong("tcp://[::1"), PanelUrlError::Host("[::1".to_owned()));
    }
}
