//! The layers: file, environment, flags. Each is checked by itself, value by value.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use config::{Map, Source, Value, ValueKind};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key::{KEYS, Key, KeyDefault, TABLES};
use super::{ConfigError, Setting};

/// What one source says: each value right by itself, and where it stands.
#[derive(Debug, Clone, Default)]
pub(super) struct Layer(BTreeMap<&'static str, Setting>);

impl Layer {
    pub(super) fn of_defaults() -> Self {
        Self(
            KEYS.iter()
                .filter_map(|key| match key.default {
                    KeyDefault::Value(value) => Some((
                        key.path,
                        Setting {
                            value: value.to_owned(),
                            origin: "default".to_owned(),
                        },
                    )),
                    KeyDefault::Required(_) | KeyDefault::Absent(..) => None,
                })
                .collect(),
        )
    }

    pub(super) fn of_file(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::File {
            path: path.to_owned(),
            source,
        })?;
        Self::of_text(&path.display().to_string(), &text)
    }

    /// The text of a file of this name.
    pub(super) fn of_text(file: &str, text: &str) -> Result<Self, ConfigError> {
        let reader = Reader { file, text };
        let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            origin: reader.origin(error.span().map_or(0, |span| span.start)),
            message: error.message().trim().replace('\n', ", "),
        })?;
        let mut layer = Self::default();
        reader.read(None, table.get_ref(), &mut layer)?;
        Ok(layer)
    }

    pub(super) fn of_environment(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let mut layer = Self::default();
        for (name, value) in variables {
            let Some(name) = name.to_str().filter(|name| name.starts_with("LIFTMESH__")) else {
                continue;
            };
            let Some(key) = KEYS.iter().find(|key| key.variable() == name) else {
                let names = KEYS.iter().map(Key::variable);
                return Err(ConfigError::UnknownKey {
                    origin: "environment".to_owned(),
                    key: name.to_owned(),
                    hint: hint(name, names, "see `liftmesh run --help`"),
                });
            };
            let Ok(value) = value.into_string() else {
                let name = name.to_owned();
                return Err(ConfigError::NotText { name, key });
            };
            layer.insert(key, value, format!("variable {name}"))?;
        }
        Ok(layer)
    }

    pub(super) fn of_flags<'a>(
        flags: impl IntoIterator<Item = (&'static Key, &'a String)>,
    ) -> Result<Self, ConfigError> {
        let mut layer = Self::default();
        for (key, value) in flags {
            layer.insert(key, value.clone(), format!("flag --{}", key.flag()))?;
        }
        Ok(layer)
    }

    fn insert(
        &mut self,
        key: &'static Key,
        value: String,
        origin: String,
    ) -> Result<(), ConfigError> {
        if !key.kind.accepts(&value) {
            return Err(ConfigError::Value {
                origin,
                key: key.path,
                value: key.kind.written(&value),
                right: key.kind,
            });
        }
        self.0.insert(key.path, Setting { value, origin });
        Ok(())
    }
}

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, config::ConfigError> {
        let value = |setting: &Setting| {
            Value::new(
                Some(&setting.origin),
                ValueKind::String(setting.value.clone()),
            )
        };
        Ok(self
            .0
            .iter()
            .map(|(&path, setting)| (path.to_owned(), value(setting)))
            .collect())
    }
}

/// Reads one file.
struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn read(
        &self,
        table: Option<&str>,
        entries: &DeTable<'_>,
        layer: &mut Layer,
    ) -> Result<(), ConfigError> {
        for (name, value) in entries {
            let origin = self.origin(name.span().start);
            let name = name.get_ref();
            let path = table.map_or_else(|| name.to_string(), |table| format!("{table}.{name}"));
            match value.get_ref() {
                DeValue::Table(entries)
                    if table.is_none() && TABLES.iter().any(|(table, _)| table == name) =>
                {
                    self.read(Some(name), entries, layer)?;
                }
                _ => match Key::find(&path) {
                    Some(key) => self.read_value(key, value, layer)?,
                    None => return Err(unknown(origin, table, &path)),
                },
            }
        }
        Ok(())
    }

    fn read_value(
        &self,
        key: &'static Key,
        value: &Spanned<DeValue<'_>>,
        layer: &mut Layer,
    ) -> Result<(), ConfigError> {
        let origin = self.origin(value.span().start);
        let written = self.text.get(value.span()).unwrap_or_default();
        let bare = match value.get_ref() {
            DeValue::String(text) if !key.kind.is_bare() => {
                return layer.insert(key, text.to_string(), origin);
            }
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => true,
            DeValue::String(_) => false,
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                return Err(ConfigError::Value {
                    origin,
                    key: key.path,
                    value: written.to_owned(),
                    right: key.kind,
                });
            }
        };
        if bare && key.kind.is_bare() {
            return layer.insert(key, written.replace('_', ""), origin);
        }
        let right = if bare {
            format!("it in quotes: {}", key.kind)
        } else {
            format!("it without quotes: {}", key.kind)
        };
        Err(ConfigError::Writing {
            origin,
            key: key.path,
            value: written.to_owned(),
            right,
        })
    }

    /// File, line and column of a place in the text.
    fn origin(&self, place: usize) -> String {
        let before = self.text.get(..place).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            + 1;
        format!("{}:{line}:{column}", self.file)
    }
}

fn unknown(origin: String, table: Option<&str>, path: &str) -> ConfigError {
    let here = KEYS
        .iter()
        .filter(|key| key.split().0 == table)
        .map(|key| key.split().1);
    let tables = TABLES
        .iter()
        .filter(|_| table.is_none())
        .map(|(table, _)| *table);
    let right: Vec<_> = here.chain(tables).collect();
    let otherwise = match table {
        Some(table) => format!("[{table}] has {}", right.join(", ")),
        None => format!("there are {}", right.join(", ")),
    };
    let names = KEYS.iter().map(|key| key.path.to_owned());
    ConfigError::UnknownKey {
        origin,
        key: path.to_owned(),
        hint: hint(path, names, &otherwise),
    }
}

/// The nearest of the names, where one is near enough to be meant.
fn hint(wrong: &str, names: impl Iterator<Item = String>, otherwise: &str) -> String {
    // A key in the wrong table, or with a few letters wrong.
    let own = |path: &str| path.rsplit(['.']).next().unwrap_or_default().to_owned();
    let near = |name: &String| {
        let distance = distance(wrong, name);
        let misplaced = own(name) == own(wrong);
        (misplaced || distance <= 2).then_some(distance)
    };
    names
        .filter_map(|name| near(&name).map(|distance| (distance, name)))
        .min()
        .map_or_else(
            || otherwise.to_owned(),
            |(_, name)| format!("`{name}` may be meant"),
        )
}

/// How many letters to insert, drop or change to make one text of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, &against) in other.iter().enumerate() {
            let change = diagonal + usize::from(letter != against);
            diagonal = row[column + 1];
            row[column + 1] = change.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}
