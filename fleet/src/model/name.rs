//! Names of nodes and fleets.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest name, in bytes: short enough that a table of them fits a datagram.
const LONGEST: usize = 16;

/// Text that is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a name has 1 to 16 letters, digits, dots, dashes or underscores; {0:?} is none")]
pub struct NameError(String);

fn check(text: &str) -> Result<Arc<str>, NameError> {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if (1..=LONGEST).contains(&text.len()) && text.bytes().all(valid) {
        Ok(Arc::from(text))
    } else {
        Err(NameError(text.to_owned()))
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks a text.
            ///
            /// # Errors
            /// The text is empty, longer than 16 bytes, or has a character that is no ASCII
            /// letter, digit, dot, dash or underscore.
            pub fn new(text: &str) -> Result<Self, NameError> {
                check(text).map(Self)
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::new(&text)
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

name! {
    /// A node's configured name, which is also its car's name: it outlives a change of address
    /// (C7).
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
    fn a_name_has_one_to_sixteen_plain_characters() {
        assert!(NodeId::new("car-3_b.A").is_ok());
        for wrong in ["", "a name", "ä", "12345678901234567"] {
            assert_eq!(NodeId::new(wrong), Err(NameError(wrong.to_owned())));
        }
    }
}
