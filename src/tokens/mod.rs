//! The bearer tokens with which programs may change something over HTTP.
//!
//! ```text
//!   liftmesh token ─▶ the node's loop ─▶ settings ─▶ every node's disk
//!                 └─▶ offline ─▶ journal ┘  └─▶ Tokens ─▶ http
//! ```
//!
//! Tokens and their revocations are settings, so they apply at every node. A setting has the BLAKE3
//! hash of the token, never the token itself. HTTP has a snapshot of the tokens, which the node's
//! loop renews when they change.

mod stored;

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

pub use elevator_fleet::settings::Scope;
use elevator_fleet::settings::{self, Key, Name, Setting, Settings};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use zeroize::Zeroizing;

pub(crate) use self::stored::StoredTokens;
use crate::credentials::secret_text;

/// What a token begins with, so that nobody takes it for something else.
const PREFIX: &str = "liftmesh-token-";

const SECRET: usize = 16;

/// The most tokens of a fleet that count.
const MOST: usize = 64;

/// The most names that tokens of a fleet can have had: a name stays, as the token was revoked.
const MOST_NAMES: usize = 128;

const LONGEST_NAME: usize = 32;

const MAX_LIFETIME: Duration = Duration::from_hours(10 * 365 * 24);

/// The name of a token: 1 to 32 letters, digits, dots, dashes or underscores.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct TokenName(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a token's name must be 1 to {LONGEST_NAME} letters, digits, dots, dashes or underscores")]
pub struct TokenNameError;

impl TokenName {
    fn name(&self) -> Name {
        Name::new(&self.0).unwrap_or_else(|error| unreachable!("it is checked: {error}"))
    }
}

impl TryFrom<String> for TokenName {
    type Error = TokenNameError;

    fn try_from(text: String) -> Result<Self, TokenNameError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let is_name = (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(is_plain);
        if is_name { Ok(Self(text)) } else { Err(TokenNameError) }
    }
}

impl FromStr for TokenName {
    type Err = TokenNameError;

    fn from_str(text: &str) -> Result<Self, TokenNameError> {
        text.to_owned().try_into()
    }
}

impl fmt::Display for TokenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The BLAKE3 hash of a token; 64 hexadecimal digits as text. Two are compared in constant time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct TokenHash(blake3::Hash);

impl TokenHash {
    pub(crate) fn of(token: &str) -> Self {
        Self(blake3::hash(token.as_bytes()))
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

impl TryFrom<String> for TokenHash {
    type Error = blake3::HexError;

    fn try_from(text: String) -> Result<Self, blake3::HexError> {
        blake3::Hash::from_hex(text).map(Self)
    }
}

impl From<TokenHash> for String {
    fn from(hash: TokenHash) -> Self {
        hash.0.to_hex().to_string()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) name: TokenName,
    pub(crate) scope: Scope,
    /// From when on it no longer counts; `None` if it counts until it is revoked.
    pub(crate) expires: Option<SystemTime>,
    pub(crate) hash: TokenHash,
}

impl Token {
    /// The token in a setting, if it is a token that has not been revoked.
    fn of(setting: &Setting) -> Option<Self> {
        let Setting::Token(name, Some(token)) = setting else { return None };
        Some(Self {
            name: name.as_str().parse().ok()?,
            scope: token.scope,
            expires: token.expires.map(|at| SystemTime::UNIX_EPOCH + Duration::from_secs(at)),
            hash: TokenHash(token.hash.0.into()),
        })
    }

    fn counts_at(&self, now: SystemTime) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

/// Draws a token, unless the system has no random numbers.
pub(crate) fn draw() -> Result<Zeroizing<String>, getrandom::Error> {
    let mut secret = Zeroizing::new([0; SECRET]);
    getrandom::fill(&mut *secret)?;
    Ok(secret_text(PREFIX, &*secret))
}

/// What an operator wants to become of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = TokenChange)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Change {
    /// It is to count from now on.
    Create {
        #[schema(value_type = String, example = "kiosk")]
        name: TokenName,
        #[schema(value_type = String, example = "call")]
        scope: Scope,
        /// The BLAKE3 hash of its text, which the node never gets, in hexadecimal digits.
        #[schema(value_type = String)]
        hash: TokenHash,
        /// For how many seconds it counts; absent: until it is revoked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lifetime_s: Option<u64>,
    },
    /// It is to count no more.
    Revoke {
        #[schema(value_type = String, example = "kiosk")]
        name: TokenName,
    },
}

/// A change, and who wants it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct ChangeToken {
    pub(crate) change: Change,
    /// For the audit log: 1 to 64 characters.
    pub(crate) operator: String,
}

/// Why a token can't be made or revoked. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefused {
    #[error("token {0} already exists: revoke it, or use another name")]
    NameTaken(TokenName),
    #[error("there is no token {0}; `liftmesh token list` shows the existing ones")]
    NoToken(TokenName),
    #[error("a token's lifetime must be 1 s to 10 years")]
    Lifetime,
    #[error("there are already {MOST} tokens: revoke one that is no longer needed")]
    TooMany,
    #[error(
        "{MOST_NAMES} token names have been used, the maximum: reuse the name of a revoked token"
    )]
    TooManyNames,
}

impl Change {
    /// The setting that makes the change, at this time of the wall clock.
    pub(crate) fn register(
        &self,
        settings: &Settings,
        now: SystemTime,
    ) -> Result<Setting, TokenRefused> {
        let tokens = Tokens::of(settings);
        let counting = || tokens.0.iter().filter(|token| token.counts_at(now));
        let is_there = |name: &TokenName| counting().any(|token| token.name == *name);
        Ok(match self {
            Self::Create { name, .. } if is_there(name) => {
                return Err(TokenRefused::NameTaken(name.clone()));
            }
            Self::Create { .. } if counting().count() >= MOST => return Err(TokenRefused::TooMany),
            Self::Create { name, .. }
                if settings.get(&Key::Token(name.name())).is_none()
                    && names(settings) >= MOST_NAMES =>
            {
                return Err(TokenRefused::TooManyNames);
            }
            Self::Create { name, scope, hash, lifetime_s } => {
                let since_1970 = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                let created = since_1970.as_secs();
                let lifetimes = 1..=MAX_LIFETIME.as_secs();
                if lifetime_s.is_some_and(|seconds| !lifetimes.contains(&seconds)) {
                    return Err(TokenRefused::Lifetime);
                }
                let expires = lifetime_s.map(|seconds| created.saturating_add(seconds));
                let hash = settings::TokenHash(*hash.as_bytes());
                let token = settings::Token { scope: *scope, created, expires, hash };
                Setting::Token(name.name(), Some(token))
            }
            // Also an expired one: it may still count at a node whose clock is behind.
            Self::Revoke { name } if !tokens.0.iter().any(|token| token.name == *name) => {
                return Err(TokenRefused::NoToken(name.clone()));
            }
            Self::Revoke { name } => Setting::Token(name.name(), None),
        })
    }
}

fn names(settings: &Settings) -> usize {
    settings.iter().filter(|it| matches!(it.setting, Setting::Token(..))).count()
}

/// Name, scope, creation and expiry of a token that was not revoked.
pub(crate) fn listed(setting: &Setting) -> Option<[String; 4]> {
    let Setting::Token(name, Some(token)) = setting else { return None };
    let shown = token.to_string();
    let mut words = shown.split(' ');
    let (scope, created) = (words.next()?, words.next()?);
    Some([name.as_str(), scope, created, words.next().unwrap_or("never")].map(str::to_owned))
}

/// The tokens that were not revoked. Each question gives the time, because a token may expire.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tokens(Vec<Token>);

impl Tokens {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self(settings.iter().filter_map(|it| Token::of(&it.setting)).collect())
    }

    pub(crate) fn has(&self, needed: Scope, now: SystemTime) -> bool {
        self.0.iter().any(|token| token.scope >= needed && token.counts_at(now))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Token> {
        self.0.iter()
    }

    pub(crate) fn without(&self, name: &TokenName) -> Self {
        Self(self.0.iter().filter(|token| token.name != *name).cloned().collect())
    }

    /// How long the token of this hash still counts: [`Duration::MAX`] if for ever, `None` if not.
    pub(crate) fn time_left(&self, hash: &TokenHash, now: SystemTime) -> Option<Duration> {
        let token = self.0.iter().find(|token| token.hash == *hash)?;
        let Some(expires) = token.expires else {
            return Some(Duration::MAX);
        };
        expires.duration_since(now).ok().filter(|left| !left.is_zero())
    }

    pub(crate) fn find(&self, text: &str, now: SystemTime) -> Option<&Token> {
        let hash = TokenHash::of(text);
        self.0.iter().find(|token| token.hash == hash && token.counts_at(now))
    }
}

#[cfg(test)]
mod tests;
