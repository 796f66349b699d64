//! Every key of the configuration: its meaning, range and default, once.
//!
//! The flags of the command line, the reader of the files and of the environment, and the
//! commented example file are all made from [`KEYS`].

mod car;
mod elections;
mod fleet;
mod host;
mod node;

use std::sync::LazyLock;

use super::kind::Kind;

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name, after that of its table and a dot where it is in one.
    pub path: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds without it: a value, or in words.
    pub default: KeyDefault,
    /// Its meaning, and its relation to other keys.
    pub about: &'static str,
}

/// What holds for a key that is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyDefault {
    /// It has to be given; this is an example.
    Required(&'static str),
    /// It may be left out; what that means in words, and an example.
    Absent(&'static str, &'static str),
    /// This value.
    Value(&'static str),
}

impl Key {
    /// The key of this path.
    #[must_use]
    pub fn find(path: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.path == path)
    }

    /// The table it is in, if any, and its name there.
    #[must_use]
    pub fn split(&self) -> (Option<&'static str>, &'static str) {
        self.path
            .split_once('.')
            .map_or((None, self.path), |(table, name)| (Some(table), name))
    }

    /// The flag, without its dashes: the key's own name, behind that of its table in
    /// `[log]`, `[panel_line]`, `[climate]` and those of the election protocols, whose keys would
    /// say too little alone.
    #[must_use]
    pub fn flag(&self) -> String {
        let (table, name) = self.split();
        match table {
            Some(
                table @ ("bully" | "senior" | "ballot" | "token_ring" | "climate" | "panel_line"
                | "log"),
            ) => format!("{table}-{name}").replace('_', "-"),
            _ => name.replace('_', "-"),
        }
    }

    /// The variable of the environment.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("LIFTMESH__{}", self.path.replace('.', "__").to_uppercase())
    }

    const fn new(path: &'static str, kind: Kind, default: KeyDefault, about: &'static str) -> Self {
        Self {
            path,
            kind,
            default,
            about,
        }
    }
}

/// The tables, in the order of [`KEYS`], and what each is about.
pub const TABLES: &[(&str, &str)] = &[
    ("door", "The door of this node's car."),
    (
        "motion",
        "How the cars move, the same on every node, and how long this node's car may take.",
    ),
    ("service", "The service modes of this node's car."),
    (
        "mesh",
        "The times of the mesh. They suit a LAN with some loss and jitter; alike on every node.",
    ),
    (
        "climate",
        "What the climate sensors measure and the indicators show; alike on every node.",
    ),
    ("bully", "Ranks and times of the protocol `bully`."),
    (
        "senior",
        "Times of the protocol `senior`, alike on every node.",
    ),
    (
        "ballot",
        "Rules and times of the protocol `ballot`, alike on every node, and its packets.",
    ),
    (
        "token_ring",
        "Times of the protocol `token-ring`, alike on every node.",
    ),
    ("operator", "Who may look at the node, beside its own user."),
    ("panel_line", "The line to the panel."),
    ("log", "The log, on standard error."),
];

/// Keys that are refused by name: this program does not do what they ask for. Each with what is
/// missing, and what there is in its place.
pub(super) const UNSUPPORTED: &[(&str, &str)] = &[
    (
        "fleet_key_file",
        "this version does not authenticate nodes, so a key would protect nothing; keep strangers \
         off the fleet's LAN",
    ),
    (
        "http",
        "this version has no web panel; `liftmesh status --json` and the operator's socket show \
         the node's state",
    ),
];

/// Every key, those of one table together, in the order of the example file.
pub static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    [
        node::KEYS,
        car::KEYS,
        fleet::KEYS,
        elections::KEYS,
        host::KEYS,
    ]
    .concat()
});
