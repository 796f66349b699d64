//! The role of a node, and the address of its network interface.

use core::net::Ipv4Addr;
use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It drives the car of its cabin.
    #[default]
    Cabin,
    /// It has no car, and is the designated master where the protocol has one: the control unit of
    /// `senior` (M2), the regular leader of `ballot` (V7).
    ControlUnit,
    /// It has no car, and shows the fleet's state: a display in a lobby.
    Indicator,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::Cabin, Self::ControlUnit, Self::Indicator];
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cabin => "cabin",
            Self::ControlUnit => "control-unit",
            Self::Indicator => "indicator",
        })
    }
}

/// The MAC address of a node's interface; ranks the nodes under `senior` and `token-ring` (C7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Mac(pub [u8; 6]);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a MAC address is six pairs of hex digits separated by colons")]
pub struct MacError;

impl Mac {
    /// The substitute where there is none, such as loopback: 02:00 and the IPv4 address (C7).
    #[must_use]
    pub const fn of(address: Ipv4Addr) -> Self {
        let [a, b, c, d] = address.octets();
        Self([2, 0, a, b, c, d])
    }
}

impl std::str::FromStr for Mac {
    type Err = MacError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 6];
        let mut pairs = text.split(':');
        for byte in &mut bytes {
            let digits =
                |pair: &&str| pair.len() == 2 && pair.bytes().all(|b| b.is_ascii_hexdigit());
            let pair = pairs.next().filter(digits).ok_or(MacError)?;
            *byte = u8::from_str_radix(pair, 16).or(Err(MacError))?;
        }
        pairs.next().is_none().then_some(Self(bytes)).ok_or(MacError)
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            let colon = if at == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_address_is_read_as_it_is_written() {
        let mac = Mac::of(Ipv4Addr::new(127, 0, 0, 0xfe));
        assert_eq!(mac.to_string(), "02:00:7f:00:00:fe");
        assert_eq!(mac.to_string().parse(), Ok(mac));
        assert_eq!("02:00:7F:00:00:FE".parse(), Ok(mac));
        for wrong in
            ["", "02:00:7f:00:00", "02:00:7f:00:00:fe:00", "2:00:7f:00:00:fe", "02:00:7f:00:00:+e"]
        {
            assert_eq!(wrong.parse::<Mac>(), Err(MacError), "{wrong}");
        }
    }
}
