//! Errors of the configuration.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use super::{Key, Kind};

/// An error of the configuration. Nothing was started or changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error("the configuration file {path} can't be read; check --config and the file's rights", path = path.display())]
    File { path: PathBuf, source: io::Error },
    /// The file is not valid TOML.
    #[error("{origin}: {message}; the file has to be TOML, see config/node.toml")]
    Syntax {
        /// File, line and column.
        origin: String,
        /// The parser's message.
        message: String,
    },
    /// There is no such key.
    #[error("{origin}: there is no key `{key}`; {hint}")]
    UnknownKey {
        origin: String,
        /// The key, as written.
        key: String,
        /// A hint at the right key.
        hint: String,
    },
    /// A variable of the environment is not text.
    #[error("variable {name} is not UTF-8 text; set it to {right}, or unset it", right = key.kind)]
    NotText { name: String, key: &'static Key },
    /// A value has the wrong type or is out of range.
    #[error("{origin}: {key} = {value} is wrong; expected {right}")]
    Value {
        /// The file with line and column, the variable or the flag that has it.
        origin: String,
        key: &'static str,
        /// The value, as written.
        value: String,
        /// The valid type and range.
        right: Kind,
    },
    /// The value is valid, but not its notation.
    #[error("{origin}: {key} = {value} is wrong; write {right}")]
    Writing {
        origin: String,
        key: &'static str,
        /// The value as written.
        value: String,
        /// How to write it.
        right: String,
    },
    /// A key that has to be given is not.
    #[error(
        "{path} is not set; give --{flag} {placeholder}, set {variable}, or write {path} = {example} in the file of --config",
        path = .0.path, flag = .0.flag(), placeholder = .0.kind.placeholder,
        variable = .0.variable(), example = super::example::written(.0)
    )]
    Missing(&'static Key),
    /// A value does not go with another one.
    #[error("{origin}: {key} = {value} is wrong; it has to be {relation}")]
    Relation {
        origin: String,
        key: &'static str,
        /// The value as written.
        value: String,
        /// What would be right, with the other value.
        relation: String,
    },
    /// A broadcast to everywhere.
    #[error(
        "{origin}: broadcast = {value} is refused: 255.255.255.255 leaves by whichever interface \
         the system picks; give the directed broadcast address of the fleet's LAN, such as \
         192.168.1.255:46100 (`ip address` shows it as `brd`)"
    )]
    LimitedBroadcast {
        origin: String,
        /// The value as written.
        value: String,
    },
    /// A key for something that this program does not do.
    #[error("{origin}: {key} is not supported: {why}; remove the key")]
    Unsupported {
        origin: String,
        /// The key, or its variable.
        key: String,
        /// What is missing, and what there is in its place.
        why: &'static str,
    },
    /// The layers can't be put together.
    #[error("the layers of the configuration can't be merged")]
    Layers(#[from] config::ConfigError),
}

/// Everything that is wrong with a configuration, in the order file, environment, flags, relations.
/// There is at least one error. Nothing was started or changed.
#[derive(Debug)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    /// Returns `value` if there are no errors.
    pub(super) fn check<T>(errors: Vec<ConfigError>, value: T) -> Result<T, Self> {
        if errors.is_empty() { Ok(value) } else { Err(Self(errors)) }
    }

    /// Each error.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.0.iter()
    }
}

impl IntoIterator for ConfigErrors {
    type Item = ConfigError;
    type IntoIter = std::vec::IntoIter<ConfigError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}

/// One error as it is, several on a line each with their causes.
impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [error] = self.0.as_slice() {
            return error.fmt(f);
        }
        write!(f, "the configuration has {} errors", self.0.len())?;
        self.iter().try_for_each(|error| {
            write!(f, "\n  {error}")?;
            let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
            causes.try_for_each(|cause| write!(f, ": {cause}"))
        })
    }
}

impl Error for ConfigErrors {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self.0.as_slice() {
            [error] => error.source(),
            _ => None,
        }
    }
}
