//! The bearer tokens with which programs may change something over HTTP.
//!
//! ```text
//!   liftmesh token ─▶ TokenStore ─▶ tokens.json in the data directory ◀─ TokenStore ◀─ http
//! ```
//!
//! The file has the BLAKE3 hash of each token, never the token itself. A token counts at the node in
//! whose data directory it was made, and a change counts from the next request on: the file is read
//! for each request that needs a token.

mod file;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

pub use self::file::StoreError;
use self::file::{Locked, read};

/// What a token begins with, so that nobody takes it for something else.
const PREFIX: &str = "liftmesh-token-";

/// The number of random bytes of a token.
const SECRET: usize = 16;

/// The most tokens of a node.
const MOST: usize = 64;

/// The longest name of a token, in bytes.
const LONGEST_NAME: usize = 32;

/// What the bearer of a token may do. Each includes those before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    /// Read
    View,
    /// Also place calls
    Call,
    /// Also what an operator does
    Operate,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::View => "view",
            Self::Call => "call",
            Self::Operate => "operate",
        })
    }
}

/// The name of a token: 1 to 32 letters, digits, dots, dashes or underscores.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TokenName(String);

/// A text that is no name of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a token's name has 1 to {LONGEST_NAME} letters, digits, dots, dashes or underscores")]
pub struct TokenNameError;

impl FromStr for TokenName {
    type Err = TokenNameError;

    fn from_str(text: &str) -> Result<Self, TokenNameError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let is_name = (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(is_plain);
        if is_name { Ok(Self(text.to_owned())) } else { Err(TokenNameError) }
    }
}

impl TryFrom<String> for TokenName {
    type Error = TokenNameError;

    fn try_from(text: String) -> Result<Self, TokenNameError> {
        text.parse()
    }
}

impl From<TokenName> for String {
    fn from(name: TokenName) -> Self {
        name.0
    }
}

impl fmt::Display for TokenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A token as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Token {
    pub(crate) name: TokenName,
    pub(crate) scope: Scope,
    /// When it was made, in UTC.
    pub(crate) created: String,
    /// The BLAKE3 hash of the token, as 64 hexadecimal digits.
    hash: String,
}

impl Token {
    /// Compares in constant time.
    fn is(&self, hash: &blake3::Hash) -> bool {
        blake3::Hash::from_hex(&self.hash).is_ok_and(|own| own == *hash)
    }
}

/// The tokens of one node.
#[derive(Debug, Clone)]
pub(crate) struct TokenStore {
    data_dir: PathBuf,
}

impl TokenStore {
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self { data_dir: data_dir.to_owned() }
    }

    /// Makes a token; returns its text, which is stored nowhere.
    ///
    /// # Errors
    /// [`StoreError`]: there is no new token.
    pub(crate) fn create(
        &self,
        name: TokenName,
        scope: Scope,
    ) -> Result<Zeroizing<String>, StoreError> {
        let file = Locked::open(&self.data_dir)?;
        let mut tokens = read(&self.data_dir)?;
        if tokens.iter().any(|token| token.name == name) {
            return Err(StoreError::NameTaken(name));
        }
        if tokens.len() >= MOST {
            return Err(StoreError::TooMany);
        }
        let mut secret = Zeroizing::new([0; SECRET]);
        getrandom::fill(&mut *secret)?;
        let mut text = Zeroizing::new(String::with_capacity(PREFIX.len() + 2 * SECRET));
        text.push_str(PREFIX);
        let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('0');
        for byte in secret.iter() {
            text.push(digit(byte >> 4));
            text.push(digit(byte & 0xf));
        }
        tokens.push(Token {
            name,
            scope,
            created: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            hash: blake3::hash(text.as_bytes()).to_hex().to_string(),
        });
        file.write(&tokens)?;
        Ok(text)
    }

    /// Every token, the oldest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(crate) fn list(&self) -> Result<Vec<Token>, StoreError> {
        read(&self.data_dir)
    }

    /// Takes a token back.
    ///
    /// # Errors
    /// [`StoreError`]: the token counts as before.
    pub(crate) fn revoke(&self, name: &TokenName) -> Result<(), StoreError> {
        let file = Locked::open(&self.data_dir)?;
        let mut tokens = read(&self.data_dir)?;
        let before = tokens.len();
        tokens.retain(|token| token.name != *name);
        if tokens.len() == before {
            return Err(StoreError::NoToken(name.clone()));
        }
        file.write(&tokens)
    }

    /// Makes the tokens of this node those of another one too, which has none yet.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    #[cfg(feature = "simulator")]
    pub(crate) fn copy_to(&self, data_dir: &Path) -> Result<(), StoreError> {
        file::copy(&self.data_dir, data_dir)
    }

    /// The token with this text, if there is one.
    ///
    /// # Errors
    /// [`StoreError`]: the file can't be used, so nobody's token counts.
    pub(crate) fn find(&self, text: &str) -> Result<Option<Token>, StoreError> {
        let hash = blake3::hash(text.as_bytes());
        Ok(read(&self.data_dir)?.into_iter().find(|token| token.is(&hash)))
    }
}

#[cfg(test)]
mod tests;
