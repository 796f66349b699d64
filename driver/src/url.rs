//! Where a panel is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The address of a panel: `serial:///dev/ttyUSB0?baud=115200`, `tcp://host:port`,
/// `modbus+tcp://host:port?unit=1` or `modbus+rtu:///dev/ttyUSB0?baud=19200&unit=1`.
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
    /// A PLC.
    Modbus(ModbusUrl),
}

/// The address of a PLC that is a Modbus server (`docs/MODBUS.md`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ModbusUrl {
    /// Modbus TCP.
    Tcp {
        /// As in [`PanelUrl::Tcp`].
        host: String,
        /// The TCP port. Default 502.
        port: u16,
        /// The unit identifier. Default 1.
        unit: u8,
    },
    /// Modbus RTU, with eight data bits and even parity.
    Rtu {
        /// The device, an absolute path.
        path: String,
        /// Bits per second. Default 19,200.
        baud: u32,
        /// The PLC's address on the line, 1 to 247. Default 1.
        unit: u8,
    },
}

impl PanelUrl {
    /// The speed of a serial line whose address doesn't say it, in bits per second.
    pub const DEFAULT_BAUD: u32 = 115_200;
    /// The port of an elevator server whose address doesn't say it.
    pub const DEFAULT_PORT: u16 = 15657;
}

impl ModbusUrl {
    /// The speed of a Modbus line whose address doesn't say it, in bits per second.
    pub const DEFAULT_BAUD: u32 = 19_200;
    /// The port of a Modbus server whose address doesn't say it.
    pub const DEFAULT_PORT: u16 = 502;
    const DEFAULT_UNIT: u8 = 1;
}

/// What is wrong with a panel's address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PanelUrlError {
    #[error(
        "a panel's address must begin with serial://, tcp://, modbus+tcp:// or modbus+rtu://, not \
         `{0}`"
    )]
    Scheme(String),
    #[error("a serial address needs an absolute path, such as serial:///dev/ttyUSB0, not `{0}`")]
    Path(String),
    #[error("a {scheme} address has no option `{option}`, only {known} (=VALUE)")]
    UnknownOption { scheme: &'static str, option: String, known: &'static str },
    #[error("the speed `{0}` is not a positive number of bits per second")]
    Baud(String),
    #[error("a TCP address must be tcp://HOST:PORT, not `{0}`")]
    Host(String),
    #[error("the port `{0}` is not a number from 1 to 65535")]
    Port(String),
    #[error("the unit `{0}` is not a number from 1 to 247 (over TCP, from 0 to 255)")]
    Unit(String),
}

impl FromStr for PanelUrl {
    type Err = PanelUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(rest) = text.strip_prefix("serial://") {
            parse_serial(rest)
        } else if let Some(rest) = text.strip_prefix("tcp://") {
            let (host, port) = parse_host(rest, Self::DEFAULT_PORT)?;
            Ok(Self::Tcp { host, port })
        } else if let Some(rest) = text.strip_prefix("modbus+tcp://") {
            parse_modbus_tcp(rest).map(Self::Modbus)
        } else if let Some(rest) = text.strip_prefix("modbus+rtu://") {
            parse_modbus_rtu(rest).map(Self::Modbus)
        } else {
            Err(PanelUrlError::Scheme(text.to_owned()))
        }
    }
}

fn parse_serial(rest: &str) -> Result<PanelUrl, PanelUrlError> {
    let (path, options) = split_options("serial", rest, "baud")?;
    let baud = options.baud.unwrap_or(PanelUrl::DEFAULT_BAUD);
    Ok(PanelUrl::Serial { path: parse_path(path)?, baud })
}

fn parse_modbus_tcp(rest: &str) -> Result<ModbusUrl, PanelUrlError> {
    let (rest, Options { unit, .. }) = split_options("modbus+tcp", rest, "unit")?;
    let (host, port) = parse_host(rest, ModbusUrl::DEFAULT_PORT)?;
    Ok(ModbusUrl::Tcp { host, port, unit })
}

fn parse_modbus_rtu(rest: &str) -> Result<ModbusUrl, PanelUrlError> {
    let (path, Options { baud, unit }) = split_options("modbus+rtu", rest, "baud, unit")?;
    if !(1..=247).contains(&unit) {
        return Err(PanelUrlError::Unit(unit.to_string()));
    }
    let baud = baud.unwrap_or(ModbusUrl::DEFAULT_BAUD);
    Ok(ModbusUrl::Rtu { path: parse_path(path)?, baud, unit })
}

/// What may follow the question mark of an address.
struct Options {
    baud: Option<u32>,
    unit: u8,
}

fn split_options<'a>(
    scheme: &'static str,
    rest: &'a str,
    known: &'static str,
) -> Result<(&'a str, Options), PanelUrlError> {
    let (place, texts) =
        rest.split_once('?').map_or((rest, None), |(place, options)| (place, Some(options)));
    let mut options = Options { baud: None, unit: ModbusUrl::DEFAULT_UNIT };
    for option in texts.into_iter().flat_map(|options| options.split('&')) {
        let is_known = |(key, _): &(&str, &str)| known.split(", ").any(|known| known == *key);
        match option.split_once('=').filter(is_known) {
            Some(("baud", speed)) => options.baud = Some(parse_baud(speed)?),
            Some((_unit, number)) => {
                let unit = number.parse().map_err(|_| PanelUrlError::Unit(number.to_owned()));
                options.unit = unit?;
            }
            None => {
                let option = option.to_owned();
                return Err(PanelUrlError::UnknownOption { scheme, option, known });
            }
        }
    }
    Ok((place, options))
}

fn parse_path(path: &str) -> Result<String, PanelUrlError> {
    if !path.starts_with('/') || path.len() < 2 {
        return Err(PanelUrlError::Path(path.to_owned()));
    }
    Ok(path.to_owned())
}

fn parse_baud(speed: &str) -> Result<u32, PanelUrlError> {
    let baud = speed.parse().ok().filter(|&baud| baud > 0);
    baud.ok_or_else(|| PanelUrlError::Baud(speed.to_owned()))
}

fn parse_host(rest: &str, default: u16) -> Result<(String, u16), PanelUrlError> {
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
        default
    } else {
        port.parse()
            .ok()
            .filter(|&port| port > 0)
            .ok_or_else(|| PanelUrlError::Port(port.to_owned()))?
    };
    Ok((host.to_owned(), port))
}

impl fmt::Display for PanelUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial { path, baud } => write!(f, "serial://{path}?baud={baud}"),
            Self::Tcp { host, port } => write!(f, "tcp://{}:{port}", Bracketed(host)),
            Self::Modbus(url) => url.fmt(f),
        }
    }
}

impl fmt::Display for ModbusUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port, unit } => {
                write!(f, "modbus+tcp://{}:{port}?unit={unit}", Bracketed(host))
            }
            Self::Rtu { path, baud, unit } => {
                write!(f, "modbus+rtu://{path}?baud={baud}&unit={unit}")
            }
        }
    }
}

/// A host as it is written before a port.
struct Bracketed<'a>(&'a str);

impl fmt::Display for Bracketed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.contains(':') { write!(f, "[{}]", self.0) } else { f.write_str(self.0) }
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
            "modbus+tcp://192.168.1.20:502?unit=1",
            "modbus+tcp://[::1]:1502?unit=255",
            "modbus+rtu:///dev/ttyUSB0?baud=38400&unit=247",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_an_address_does_not_say_has_a_default() {
        assert_eq!(
            parse("serial:///dev/ttyS1").unwrap().to_string(),
            "serial:///dev/ttyS1?baud=115200"
        );
        assert_eq!(parse("tcp://panel").unwrap().to_string(), "tcp://panel:15657");
        assert_eq!(parse("tcp://[::1]").unwrap().to_string(), "tcp://[::1]:15657");
        assert_eq!(parse("modbus+tcp://plc").unwrap().to_string(), "modbus+tcp://plc:502?unit=1");
        assert_eq!(
            parse("modbus+rtu:///dev/ttyS1").unwrap().to_string(),
            "modbus+rtu:///dev/ttyS1?baud=19200&unit=1"
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text: &str| parse(text).unwrap_err();
        assert_eq!(wrong("http://x"), PanelUrlError::Scheme("http://x".to_owned()));
        assert_eq!(wrong("serial://ttyUSB0"), PanelUrlError::Path("ttyUSB0".to_owned()));
        assert_eq!(wrong("serial:///dev/ttyS0?baud=0"), PanelUrlError::Baud("0".to_owned()));
        let unknown = wrong("serial:///dev/ttyS0?parity=even").to_string();
        let expected = "a serial address has no option `parity=even`, only baud (=VALUE)";
        assert_eq!(unknown, expected);
        assert_eq!(wrong("tcp://:80"), PanelUrlError::Host(":80".to_owned()));
        assert_eq!(wrong("tcp://a:0"), PanelUrlError::Port("0".to_owned()));
        assert_eq!(wrong("tcp://a:66000"), PanelUrlError::Port("66000".to_owned()));
        assert_eq!(wrong("tcp://[::1"), PanelUrlError::Host("[::1".to_owned()));
        assert_eq!(wrong("modbus+tcp://?unit=1"), PanelUrlError::Host(String::new()));
        for (text, unit) in [("tcp://plc?unit=256", "256"), ("rtu:///dev/ttyS0?unit=0", "0")] {
            assert_eq!(wrong(&format!("modbus+{text}")), PanelUrlError::Unit(unit.to_owned()));
        }
    }
}
