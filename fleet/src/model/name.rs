//! Names of nodes and fleets.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};

/// The longest name, in bytes: short enough that a table of them fits a datagram.
const LONGEST: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a name must be 1 to 16 letters, digits, dots, dashes or underscores, not {0:?}")]
pub struct NameError(String);

/// The text, with zeros behind it.
fn check(text: &str) -> Result<[u8; LONGEST], NameError> {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let mut name = [0; LONGEST];
    match name.get_mut(..text.len()) {
        Some(part) if !text.is_empty() && text.bytes().all(valid) => {
            part.copy_from_slice(text.as_bytes());
            Ok(name)
        }
        Some(_) | None => Err(NameError(text.to_owned())),
    }
}

/// A text that is deserialized without allocating, because every beacon has several names.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; LONGEST]);

        impl $name {
            /// Checks a text.
            ///
            /// # Errors
            /// The text is empty, longer than 16 bytes, or has a character that is no ASCII
            /// letter, digit, dot, dash or underscore.
            pub fn new(text: &str) -> Result<Self, NameError> {
                check(text).map(Self)
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                let length = self.0.iter().position(|byte| *byte == 0);
                let text = self.0.get(..length.unwrap_or(LONGEST)).unwrap_or_default();
                str::from_utf8(text).unwrap_or_default()
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, text: &str) -> bool {
                self.as_str() == text
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, text: &&str) -> bool {
                self.as_str() == *text
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let Text(text) = Text::deserialize(deserializer)?;
                Self::new(&text).map_err(D::Error::custom)
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.as_str(), f)
            }
        }
    };
}

name! {
    /// A node's configured name, and its car's: it outlives a change of address (C7).
    NodeId
}

name! {
    /// The fleet's configured name: nodes of other fleets on the same LAN are not heard.
    FleetName
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_to_sixteen_plain_characters_and_the_order_of_its_text() {
        assert!(NodeId::new("car-3_b.A").is_ok());
        for wrong in ["", "a name", "ä", "12345678901234567"] {
            assert_eq!(NodeId::new(wrong), Err(NameError(wrong.to_owned())));
        }

        let texts = ["-", "A", "A.", "A1", "AB", "B", "a", "abcdefghijklmnop"];
        let names = texts.map(|text| NodeId::new(text).expect("a name"));
        assert!(names.is_sorted());
        assert_eq!(names.each_ref().map(NodeId::as_str), texts);
    }
}
