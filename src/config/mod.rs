//! The configuration: a file, the environment, flags; the later override the earlier.
//!
//! ```text
//!   file ──▶ ┐ each value   ┌──────────┐ required, ┌──────────┐
//!   env  ──▶ ├─ checked ──▶ │ Effective│─ related ▶│ Settings │
//!   flags ─▶ ┘ by itself    └──────────┘           └──────────┘
//! ```
//!
//! `key.rs` says what a key is, and the files beside it have every one with its meaning, range and
//! default; `layer.rs` reads one source, `settings.rs` has the relations between keys.

mod elections;
mod error;
mod example;
mod key;
mod kind;
mod layer;
mod relation;
mod settings;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use config::{Config, Value, ValueKind};

pub use self::error::ConfigError;
pub use self::example::example;
pub use self::key::{KEYS, Key, KeyDefault, TABLES};
pub use self::kind::Kind;

pub use self::settings::{FaultInjection, LogFormat, LogSettings, Settings};

use self::layer::Layer;

/// Where a configuration comes from.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The file, if any.
    pub file: Option<PathBuf>,
    /// The variables of the environment; those that don't begin with `LIFTMESH__` are passed over.
    pub variables: Vec<(OsString, OsString)>,
    /// The flags that were given, by the paths of their keys.
    pub flags: BTreeMap<&'static str, String>,
}

impl Sources {
    /// Reads them all and puts one over the other.
    ///
    /// # Errors
    /// [`ConfigError`] for anything wrong in any of them, even where a later one overrides it.
    pub fn read(&self) -> Result<Effective, ConfigError> {
        let file = match &self.file {
            Some(path) => Layer::of_file(path)?,
            None => Layer::default(),
        };
        let environment = Layer::of_environment(self.variables.iter().cloned())?;
        let flags = self
            .flags
            .iter()
            .filter_map(|(path, value)| Some((Key::find(path)?, value)));
        Effective::layered([
            Layer::of_defaults(),
            file,
            environment,
            Layer::of_flags(flags)?,
        ])
    }
}

/// A value as it was written, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The value.
    pub value: String,
    /// `FILE:LINE:COLUMN`, `variable NAME`, `flag --NAME` or `default`.
    pub origin: String,
}

/// The value that holds for each key, and where it comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effective(BTreeMap<&'static str, Setting>);

impl Effective {
    /// Checks all of it.
    ///
    /// # Errors
    /// [`ConfigError`] where a key is missing, two don't go together, or the file of the fleet's
    /// key can't be read.
    pub fn settings(&self) -> Result<Settings, ConfigError> {
        Settings::check(self)
    }

    /// The data directory alone, for commands that need no more.
    ///
    /// # Errors
    /// [`ConfigError::Missing`].
    pub fn data_dir(&self) -> Result<PathBuf, ConfigError> {
        self.required("data_dir", |text| Some(PathBuf::from(text)))
    }

    /// The value that holds for a key.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Setting> {
        self.0.get(path)
    }

    fn layered(layers: impl IntoIterator<Item = Layer>) -> Result<Self, ConfigError> {
        let mut builder = Config::builder();
        for layer in layers {
            builder = builder.add_source(layer);
        }
        let merged = builder.build()?.cache;
        let setting = |key: &'static Key| {
            let value = descend(&merged, key.path)?;
            let origin = value.origin().unwrap_or_default().to_owned();
            match &value.kind {
                ValueKind::String(text) => {
                    let value = text.clone();
                    Some((key.path, Setting { value, origin }))
                }
                _ => None,
            }
        };
        Ok(Self(KEYS.iter().filter_map(setting).collect()))
    }

    fn required<T>(&self, path: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, ConfigError> {
        let missing = || ConfigError::Missing(known(path));
        self.optional(path, parse)?.ok_or_else(missing)
    }

    fn optional<T>(
        &self,
        path: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(Setting { value, origin }) = self.get(path) else {
            return Ok(None);
        };
        let key = known(path);
        let wrong = || ConfigError::Value {
            origin: origin.clone(),
            key: key.path,
            value: key.kind.written(value),
            right: key.kind,
        };
        parse(value).map(Some).ok_or_else(wrong)
    }

    /// A value as it was written, and where.
    fn written(&self, path: &str) -> (String, String) {
        self.get(path).map_or_else(Default::default, |setting| {
            (setting.value.clone(), setting.origin.clone())
        })
    }

    fn relation(&self, path: &'static str, relation: String) -> ConfigError {
        let (value, origin) = self.written(path);
        ConfigError::Relation {
            origin,
            key: path,
            value: known(path).kind.written(&value),
            relation,
        }
    }
}

/// One line a key: what holds, and where it comes from.
impl fmt::Display for Effective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for key in KEYS.iter() {
            let path = key.path;
            match self.get(path) {
                Some(Setting { value, origin }) => {
                    let value = key.kind.written(value);
                    writeln!(f, "{:<60} # {origin}", format!("{path} = {value}"))?;
                }
                None => writeln!(
                    f,
                    "{:<60} # default: {}",
                    format!("# {path}"),
                    example::default(key)
                )?,
            }
        }
        Ok(())
    }
}

fn descend<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .try_fold(value, |value, name| match &value.kind {
            ValueKind::Table(table) => table.get(name),
            _ => None,
        })
}

/// The key of a path that stands in this module's own code.
fn known(path: &str) -> &'static Key {
    Key::find(path).unwrap_or_else(|| unreachable!("{path} is one of the keys"))
}

#[cfg(test)]
mod tests;
