//! The layers: file, environment, flags. Each is checked by itself, value by value.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use config::{Map, Source, Value, ValueKind};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key::{KEYS, Key, Table};
use super::{ConfigError, Setting};

/// What one source says: each value right by itself, and where it stands.
#[derive(Debug, Clone, Default)]
pub(super) struct Layer(BTreeMap<&'static str, Setting>);

/// What is wrong with the sources.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) errors: Vec<ConfigError>,
    /// The keys with a wrong value somewhere.
    pub(super) wrong: BTreeSet<&'static str>,
    /// The file could not be read at all, so that a key that is missing may stand in it.
    pub(super) unread: bool,
}

impl Findings {
    fn add_of(&mut self, key: &'static Key, value: String, origin: String, right: String) {
        self.wrong.insert(key.path);
        self.errors.push(ConfigError::Wrong { origin, key: key.path, value, right });
    }

    fn add_unread(&mut self, error: ConfigError) {
        self.unread = true;
        self.errors.push(error);
    }
}

impl Layer {
    /// What holds where these layers, of which a later one overrides an earlier one, say nothing.
    pub(super) fn of_defaults(given: &[Self]) -> Self {
        let chosen = |key: &Key| {
            let preset = key.preset()?;
            given.iter().rev().find_map(|layer| layer.0.get(preset.path))
        };
        let default = |key: &'static Key| {
            let (value, preset) = key.default.value(chosen(key).map(|it| &it.value))?;
            let origin = preset.map_or("default".to_owned(), |preset| format!("preset {preset}"));
            Some((key.path, Setting { value: value.to_owned(), origin }))
        };
        Self(KEYS.iter().filter_map(default).collect())
    }

    pub(super) fn of_file(path: &Path, findings: &mut Findings) -> Self {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::of_text(&path.display().to_string(), &text, findings),
            Err(source) => {
                let path = path.to_owned();
                findings.add_unread(ConfigError::File { path, source });
                Self::default()
            }
        }
    }

    pub(super) fn of_text(file: &str, text: &str, findings: &mut Findings) -> Self {
        let mut reader = Reader { file, text, layer: Self::default(), findings };
        match DeTable::parse(text) {
            Ok(table) => reader.read(None, table.get_ref()),
            Err(error) => {
                let origin = reader.origin(error.span().map_or(0, |span| span.start));
                let message = error.message().trim().replace('\n', ", ");
                reader.findings.add_unread(ConfigError::Syntax { origin, message });
            }
        }
        reader.layer
    }

    pub(super) fn of_environment(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        findings: &mut Findings,
    ) -> Self {
        let mut layer = Self::default();
        for (name, value) in variables {
            let Some(name) = name.to_str().filter(|name| name.starts_with("LIFTMESH__")) else {
                continue;
            };
            let Some(key) = KEYS.iter().find(|key| key.variable() == name) else {
                findings.errors.push(unknown_variable(name));
                continue;
            };
            let origin = format!("variable {name}");
            match value.into_string() {
                Ok(value) => layer.insert(key, value, origin, findings),
                Err(value) => {
                    let value = key.kind.written(&value.to_string_lossy());
                    findings.add_of(key, value, origin, "expected UTF-8 text".to_owned());
                }
            }
        }
        layer
    }

    pub(super) fn of_flags<'a>(
        flags: impl IntoIterator<Item = (&'static Key, &'a String)>,
        findings: &mut Findings,
    ) -> Self {
        let mut layer = Self::default();
        for (key, value) in flags {
            let origin = format!("flag --{}", key.flag());
            layer.insert(key, value.clone(), origin, findings);
        }
        layer
    }

    fn insert(
        &mut self,
        key: &'static Key,
        value: String,
        origin: String,
        findings: &mut Findings,
    ) {
        if key.kind.accepts(&value) {
            self.0.insert(key.path, Setting { value, origin });
        } else {
            let right = format!("expected {}", key.kind);
            findings.add_of(key, key.kind.written(&value), origin, right);
        }
    }
}

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, config::ConfigError> {
        let value = |setting: &Setting| {
            Value::new(Some(&setting.origin), ValueKind::String(setting.value.clone()))
        };
        Ok(self.0.iter().map(|(&path, setting)| (path.to_owned(), value(setting))).collect())
    }
}

/// Reads one file.
struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    layer: Layer,
    findings: &'a mut Findings,
}

impl Reader<'_> {
    fn read(&mut self, table: Option<&str>, entries: &DeTable<'_>) {
        for (name, value) in entries {
            let origin = self.origin(name.span().start);
            let name = name.get_ref();
            let path = table.map_or_else(|| name.to_string(), |table| format!("{table}.{name}"));
            match value.get_ref() {
                DeValue::Table(entries)
                    if table.is_none() && Table::names().any(|table| table == name) =>
                {
                    self.read(Some(name), entries);
                }
                _ => match Key::find(&path) {
                    Some(key) => self.read_value(key, value),
                    None => self.findings.errors.push(unknown(origin, table, &path)),
                },
            }
        }
    }

    fn read_value(&mut self, key: &'static Key, value: &Spanned<DeValue<'_>>) {
        let origin = self.origin(value.span().start);
        let written = self.text.get(value.span()).unwrap_or_default().to_owned();
        let Self { layer, findings, .. } = self;
        let bare = match value.get_ref() {
            DeValue::String(text) if !key.kind.is_bare || key.kind.is_quoted => {
                return layer.insert(key, text.to_string(), origin, findings);
            }
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => true,
            DeValue::String(_) => false,
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                return findings.add_of(key, written, origin, format!("expected {}", key.kind));
            }
        };
        if bare && key.kind.is_bare {
            return layer.insert(key, written.replace('_', ""), origin, findings);
        }
        let way = if bare { "in" } else { "without" };
        findings.add_of(key, written, origin, format!("write it {way} quotes: {}", key.kind));
    }

    fn origin(&self, place: usize) -> String {
        origin(self.file, self.text, place)
    }
}

/// File, line and column of a place in a text.
pub(super) fn origin(file: &str, text: &str, place: usize) -> String {
    let before = text.get(..place).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{file}:{line}:{column}")
}

fn unknown_variable(name: &str) -> ConfigError {
    let hint = hint(name, KEYS.iter().map(Key::variable), "see `liftmesh help config`");
    ConfigError::UnknownKey { origin: "environment".to_owned(), key: name.to_owned(), hint }
}

pub(super) fn unknown(origin: String, table: Option<&str>, path: &str) -> ConfigError {
    let tables = || Table::names().filter(|_| table.is_none());
    let here = KEYS.iter().filter(|key| key.split().0 == table).map(|key| key.split().1);
    let right: Vec<_> = here.chain(tables()).collect();
    let place = table.map_or("there are".to_owned(), |table| format!("[{table}] has"));
    let otherwise = format!("{place} {}", right.join(", "));
    let tables = tables().map(|table| format!("[{table}]"));
    let names = KEYS.iter().map(|key| key.path.to_owned()).chain(tables);
    ConfigError::UnknownKey { origin, key: path.to_owned(), hint: hint(path, names, &otherwise) }
}

/// The nearest of the names, where one is near enough to be meant.
fn hint(wrong: &str, names: impl Iterator<Item = String>, otherwise: &str) -> String {
    // A key in the wrong table, or with a few letters wrong.
    let own = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let near = |name: String| {
        let distance = strsim::levenshtein(wrong, name.trim_matches(['[', ']']));
        (own(&name) == own(wrong) || distance <= 2).then_some((distance, name))
    };
    names
        .filter_map(near)
        .min()
        .map_or_else(|| otherwise.to_owned(), |(_, name)| format!("did you mean `{name}`?"))
}
