//! Text of bounded length, which is checked before it is believed.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::model::NodeId;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    #[error("{length} bytes, more than the {most} allowed")]
    Long {
        length: usize,
        /// The greatest length, in bytes.
        most: usize,
    },
    #[error("a control character")]
    Control,
    #[error("empty")]
    Empty,
}

/// Whether a character shows nothing, or changes how others show, which texts must not.
#[must_use]
pub fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $most:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub struct $name(Box<str>);

        impl $name {
            /// The greatest length, in bytes.
            pub const MOST: usize = $most;

            /// Checks a text.
            ///
            /// # Errors
            /// It is empty, longer than [`MOST`](Self::MOST) bytes, or has a control character.
            pub fn new(text: &str) -> Result<Self, TextError> {
                if text.is_empty() {
                    Err(TextError::Empty)
                } else if text.len() > Self::MOST {
                    Err(TextError::Long { length: text.len(), most: Self::MOST })
                } else if text.chars().any(char::is_control) {
                    Err(TextError::Control)
                } else {
                    Ok(Self(text.into()))
                }
            }

            /// As much of a text as fits, without [hidden](is_hidden) characters; `None` if empty.
            #[must_use]
            pub fn of(text: &str) -> Option<Self> {
                Self::new(&visible(text, Self::MOST)).ok()
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::new(&text).map_err(D::Error::custom)
            }
        }
    };
}

text! {
    Name, 32
}

text! {
    /// Who set a setting: `OPERATOR at NODE` for a command, else the name of the node.
    Words, 64
}

text! {
    Why, 120
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    pub operator: Words,
    pub reason: Option<Why>,
}

impl From<Words> for By {
    fn from(operator: Words) -> Self {
        Self { operator, reason: None }
    }
}

impl Words {
    const AT: &str = " at ";
    const UNNAMED: &str = "unnamed";

    /// Of a command that is entered at this node: as much of the operator's name as fits.
    #[must_use]
    pub fn entered(operator: &str, node: &NodeId) -> Self {
        let place = format!("{}{node}", Self::AT);
        let name = visible(operator, Self::MOST.saturating_sub(place.len()));
        let name = if name.is_empty() { Self::UNNAMED } else { &name };
        Self(format!("{name}{place}").into())
    }

    /// Who gave a command, and at which node; `None` if a node has set it by itself.
    #[must_use]
    pub fn command(&self) -> Option<(&str, NodeId)> {
        let (operator, node) = self.0.rsplit_once(Self::AT)?;
        Some((operator, NodeId::new(node).ok()?))
    }

    /// For a command without a name.
    #[must_use]
    pub fn unnamed() -> Self {
        Self(Self::UNNAMED.into())
    }
}

/// Of what a node sets by itself.
impl From<&NodeId> for Words {
    fn from(node: &NodeId) -> Self {
        Self(node.as_str().into())
    }
}

/// As much of a text as fits, without [hidden](is_hidden) characters.
fn visible(text: &str, most: usize) -> String {
    let mut kept = String::new();
    for char in text.chars().filter(|&char| !is_hidden(char)) {
        if kept.len() + char.len_utf8() > most {
            break;
        }
        kept.push(char);
    }
    kept
}
