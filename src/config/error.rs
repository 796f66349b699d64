//! Errors of the configuration.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use super::Key;

/// An error of the configuration. Nothing was started or changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("the configuration file {path} can't be read; check --config, LIFTMESH_CONFIG and the file's permissions", path = path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{origin}: {message}; `liftmesh check-config --example` prints a valid file")]
    Syntax { origin: String, message: String },
    #[error("the building file {path} can't be read; `building` names it", path = path.display())]
    Building { path: PathBuf, source: io::Error },
    /// What the building file says can't be.
    #[error("{origin}: {message}")]
    Floors { origin: String, message: String },
    #[error("{origin}: unknown key `{key}`; {hint}")]
    UnknownKey { origin: String, key: String, hint: String },
    /// A value has the wrong type, notation or range, or does not go with another one. The origin
    /// is the file with line and column, the variable or the flag that has it.
    #[error("{origin}: {key} = {value} is wrong; {right}")]
    Wrong { origin: String, key: &'static str, value: String, right: String },
    #[error(
        "{path} is not set; give --{flag} {placeholder}, set {variable}, or write {path} = {example} in the \
         configuration file (--config, LIFTMESH_CONFIG or /etc/liftmesh/node.toml)",
        path = .0.path, flag = .0.flag(), placeholder = .0.kind.placeholder,
        variable = .0.variable(), example = super::example::written(.0)
    )]
    Missing(&'static Key),
    #[error(transparent)]
    Layers(#[from] config::ConfigError),
}

/// Everything that is wrong with a configuration, in the order file, environment, flags, relations.
/// There is at least one error. Nothing was started or changed.
#[derive(Debug, thiserror::Error)]
pub struct ConfigErrors(pub(super) Vec<ConfigError>);

impl ConfigErrors {
    pub(super) fn check<T>(errors: Vec<ConfigError>, value: T) -> Result<T, Self> {
        if errors.is_empty() { Ok(value) } else { Err(Self(errors)) }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.0.iter()
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}

/// One error as it is, several on a line each; with their causes.
impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_list = self.0.len() > 1;
        if is_list {
            write!(f, "the configuration has {} errors", self.0.len())?;
        }
        self.iter().try_for_each(|error| {
            write!(f, "{}{error}", if is_list { "\n  " } else { "" })?;
            let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
            causes.try_for_each(|cause| write!(f, ": {cause}"))
        })
    }
}
