//! The configuration: a file, the environment, flags; the later override the earlier.
//!
//! ```text
//!   file ──▶ ┐ each value   ┌──────────┐ required, ┌──────────┐
//!   env  ──▶ ├─ checked ──▶ │ Effective│─ related ▶│ Settings │
//!   flags ─▶ ┘ by itself    └──────────┘           └──────────┘
//! ```
//!
//! `tables/` has every key, once, with its meaning, type, range, default and relations to others;
//! `value.rs` has the types, `layer.rs` reads one source, `settings.rs` puts the values together.

pub(crate) mod building;
mod check;
mod error;
mod example;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod key;
mod layer;
mod settings;
mod tables;
mod value;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use config::{Config, Value, ValueKind};
use elevator_driver::Building;
use elevator_driver::vocabulary::show_labels_here;

pub(crate) use self::error::{ConfigError, ConfigErrors};
pub(crate) use self::example::{default, example, explain, list};
pub(crate) use self::key::{KEYS, Key, KeyDefault, Table, brief};
pub use self::settings::Settings;
pub(crate) use self::settings::{DispatchSettings, HTTP_PORT};

use self::check::Checker;
use self::layer::{Findings, Layer};

/// Where a configuration comes from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources {
    /// The file, if any.
    pub(crate) file: Option<PathBuf>,
    /// The variables of the environment; those that don't begin with `LIFTMESH__` are passed over.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The flags that were given, by the paths of their keys.
    pub(crate) flags: BTreeMap<&'static str, String>,
}

/// Where the configuration is if nothing names another place.
const FILE: &str = "/etc/liftmesh/node.toml";

/// The configuration file: this one, or else that of `LIFTMESH_CONFIG`, of which an empty text means
/// none, or else [`FILE`] if there is one.
pub(crate) fn find(named: Option<PathBuf>) -> Option<PathBuf> {
    match named.or_else(|| env::var_os("LIFTMESH_CONFIG").map(PathBuf::from)) {
        Some(path) => Some(path).filter(|path| !path.as_os_str().is_empty()),
        None => Some(PathBuf::from(FILE)).filter(|path| !matches!(path.try_exists(), Ok(false))),
    }
}

impl Sources {
    pub(crate) fn of_process(file: Option<PathBuf>, flags: BTreeMap<&'static str, String>) -> Self {
        Self { file, variables: env::vars_os().collect(), flags }
    }

    /// Reads them all and puts one over the other. Whatever is wrong in any of them is an error,
    /// even where a later one overrides it.
    pub(crate) fn read(&self) -> Result<Effective, ConfigErrors> {
        let (values, findings) = self.gather()?;
        ConfigErrors::check(findings.errors, values)
    }

    /// Reads them all and checks what holds: also for keys that are missing, and values that don't
    /// go together.
    pub(crate) fn check(&self) -> Result<(Effective, Settings), ConfigErrors> {
        let (values, findings) = self.gather()?;
        let settings = values.check(findings)?;
        Ok((values, settings))
    }

    fn gather(&self) -> Result<(Effective, Findings), ConfigErrors> {
        let mut findings = Findings::default();
        // Without the building nothing that names a floor can be checked.
        let building = self.building().transpose()?;
        // Values that name a floor are read with its labels.
        show_labels_here(building.clone());
        let file = match &self.file {
            Some(path) => Layer::of_file(path, &mut findings),
            None => Layer::default(),
        };
        let environment = Layer::of_environment(self.variables.iter().cloned(), &mut findings);
        let flags = self.flags.iter().filter_map(|(path, value)| Some((Key::find(path)?, value)));
        let flags = Layer::of_flags(flags, &mut findings);
        let values = Effective::layered(vec![file, environment, flags])?;
        Ok((Effective { building, ..values }, findings))
    }

    /// The building that the last of the sources names.
    fn building(&self) -> Option<Result<Arc<Building>, ConfigError>> {
        let flag = || self.flags.get("building").map(PathBuf::from);
        let variable = || {
            let name = known("building").variable();
            let mut all = self.variables.iter();
            all.find_map(|(key, value)| (*key == *name).then(|| PathBuf::from(value)))
        };
        let in_file = || {
            let file = self.file.as_ref()?;
            let table: toml::Table = std::fs::read_to_string(file).ok()?.parse().ok()?;
            Some(building::beside(file, table.get("building")?.as_str()?))
        };
        flag().or_else(variable).or_else(in_file).map(|path| building::read(&path))
    }
}

/// A value as it was written, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) value: String,
    /// `FILE:LINE:COLUMN`, `variable NAME`, `flag --NAME`, `preset NAME` or `default`.
    pub(crate) origin: String,
}

/// The effective value of each key, and its origin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Effective {
    values: BTreeMap<&'static str, Setting>,
    building: Option<Arc<Building>>,
}

impl Effective {
    fn check(&self, findings: Findings) -> Result<Settings, ConfigErrors> {
        let checker = Checker::new(self, findings);
        let settings = Settings::check(&checker);
        checker.finish(settings)
    }

    /// The data directory alone, for commands that need no more.
    pub(crate) fn data_dir(&self) -> Result<PathBuf, ConfigErrors> {
        let checker = Checker::new(self, Findings::default());
        let path = checker.value::<PathBuf>("data_dir");
        checker.finish(path)
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Setting> {
        self.values.get(path)
    }

    /// These layers, of which a later one overrides an earlier one, over the defaults.
    fn layered(given: Vec<Layer>) -> Result<Self, ConfigError> {
        let mut builder = Config::builder().add_source(Layer::of_defaults(&given));
        for layer in given {
            builder = builder.add_source(layer);
        }
        let merged = builder.build()?.cache;
        let setting = |key: &'static Key| {
            let value = descend(&merged, key.path)?;
            let origin = value.origin().unwrap_or_default().to_owned();
            Some((key.path, Setting { value: value.to_string(), origin }))
        };
        Ok(Self { values: KEYS.iter().filter_map(setting).collect(), building: None })
    }
}

/// The value of a path, of which the crate makes a table in a table.
fn descend<'a>(merged: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(merged, |value, name| match &value.kind {
        ValueKind::Table(table) => table.get(name),
        _ => None,
    })
}

impl fmt::Display for Effective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for key in KEYS.iter() {
            let path = key.path;
            if let Some(Setting { value, origin }) = self.get(path) {
                let value = key.kind.written(value);
                writeln!(f, "{:<60} # {origin}", format!("{path} = {value}"))?;
            } else {
                let (path, default) = (format!("# {path}"), example::default(key));
                writeln!(f, "{path:<60} # default: {default}")?;
            }
        }
        Ok(())
    }
}

/// The key of a path that this module's own code uses.
fn known(path: &str) -> &'static Key {
    Key::find(path).unwrap_or_else(|| unreachable!("{path} is one of the keys"))
}

#[cfg(test)]
mod tests;
