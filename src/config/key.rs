//! What a key is. The flags of the command line, the reader of the files and of the environment,
//! and the commented example file are all made from [`KEYS`].

use std::sync::LazyLock;

use super::tables::TABLES;
use super::value::Kind;

#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name, prefixed by that of its table and a dot if it is in one.
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    /// What holds without it: a value, or in words.
    pub(crate) default: KeyDefault,
    /// Its meaning, and its relation to other keys.
    pub(crate) about: &'static str,
}

/// What holds for a key that is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyDefault {
    /// It has to be given; this is an example.
    Required(&'static str),
    /// It may be left out; what that means in words, and an example.
    Absent(&'static str, &'static str),
    /// This value.
    Value(&'static str),
    /// A value for each preset of the key's table, that of the table's default preset first.
    Preset(&'static [(&'static str, &'static str)]),
}

/// One table, or a part of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table {
    /// Its name; `_` for the keys that are in none.
    pub(crate) name: &'static str,
    /// What it is about; empty for a further part.
    pub(crate) about: &'static str,
    pub(crate) keys: &'static [Key],
}

/// Every key, those of one table together, in the order of the example file.
pub(crate) static KEYS: LazyLock<Vec<Key>> =
    LazyLock::new(|| TABLES.iter().flat_map(|table| table.keys).copied().collect());

impl Key {
    pub(crate) fn find(path: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.path == path)
    }

    /// The table it is in, if any, and its name there.
    pub(crate) fn split(&self) -> (Option<&'static str>, &'static str) {
        self.path.split_once('.').map_or((None, self.path), |(table, name)| (Some(table), name))
    }

    /// The key that chooses the preset of this key's table.
    pub(super) fn preset(&self) -> Option<&'static Self> {
        Self::find(&format!("{}.preset", self.split().0?))
    }

    /// The flag, without its dashes.
    pub(crate) fn flag(&self) -> String {
        self.path.replace(['.', '_'], "-")
    }

    /// A flag without the table, where the name says enough alone.
    pub(crate) fn short_flag(&self) -> Option<String> {
        let (table, name) = self.split();
        let is_clear = matches!(table?, "door" | "motion" | "service" | "mesh" | "operator");
        is_clear.then(|| name.replace('_', "-"))
    }

    /// Whether help on flags shows it: a fleet that is no demonstration needs it.
    pub(crate) fn is_essential(&self) -> bool {
        matches!(self.default, KeyDefault::Required(_)) || self.path == "fleet_keys"
    }

    pub(crate) fn variable(&self) -> String {
        format!("LIFTMESH__{}", self.path.replace('.', "__").to_uppercase())
    }
}

/// The first sentence of a text.
pub(crate) fn brief(text: &'static str) -> &'static str {
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.')
}

impl Table {
    /// The names of the tables in a file.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        TABLES.iter().filter(|table| !table.about.is_empty()).map(|table| table.name)
    }
}

impl KeyDefault {
    /// The default, or the example if there is none.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Required(text) | Self::Absent(_, text) | Self::Value(text) => text,
            Self::Preset(values) => values.first().map_or("", |(_, text)| text),
        }
    }

    /// The value that holds under the chosen preset; with the preset, where that decides.
    pub(super) fn value(
        self,
        chosen: Option<&String>,
    ) -> Option<(&'static str, Option<&'static str>)> {
        match self {
            Self::Required(_) | Self::Absent(..) => None,
            Self::Value(value) => Some((value, None)),
            Self::Preset(values) => {
                let of_preset =
                    values.iter().find(|(preset, _)| chosen.is_some_and(|it| it == preset));
                let of_preset = of_preset.map(|(preset, value)| (*value, Some(*preset)));
                Some(of_preset.unwrap_or((self.text(), None)))
            }
        }
    }
}
