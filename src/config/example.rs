//! The commented example file.

use std::fmt::Write;

use super::ConfigErrors;
use super::key::{KEYS, Key, KeyDefault, brief};
use super::layer::unknown;
use super::tables::TABLES;

/// How wide a comment is.
const WIDTH: usize = 96;

/// The whole of `config/node.toml`: every key with its meaning, range, relations and default.
pub(crate) fn example() -> String {
    let mut text = comment(
        "The configuration of one Liftmesh node. The keys that are not commented out are \
         required, here or elsewhere; the others show their default or, if they have none, an \
         example. An environment variable overrides this file, and a flag overrides both: the \
         key `dwell` of the table `[door]` is LIFTMESH__DOOR__DWELL and --door-dwell. \
         `liftmesh check-config` shows each value and where it comes from.",
    );
    for table in TABLES {
        if !table.about.is_empty() {
            text.extend(["\n", &comment(table.about), "[", table.name, "]\n"]);
        }
        text.extend(table.keys.iter().map(|key| entry(key, "")));
    }
    text
}

/// Every key with the first sentence of its meaning, by table.
pub(crate) fn list() -> String {
    let mut text = String::from("Keys of node.toml\n");
    for table in TABLES {
        if !table.about.is_empty() {
            text.extend(["\n[", table.name, "]  ", brief(table.about), "\n"]);
        }
        for key in table.keys {
            // Writing to a string does not fail.
            writeln!(text, "  {:<22} {}", key.split().1, brief(key.about)).unwrap_or_default();
        }
    }
    text + "\n`liftmesh help config KEY` explains a key, `liftmesh help config TABLE` a whole table.\n"
}

/// All about the keys that a word means: the name of a key or of its table, a flag or a variable.
///
/// # Errors
/// It means none.
pub(crate) fn explain(word: &str) -> Result<String, ConfigErrors> {
    let word = word.trim_matches(['-', '[', ']']);
    let is_meant = |key: &&Key| {
        let (table, name) = key.split();
        let names = [key.path, name, table.unwrap_or(name), &key.flag(), &key.variable()];
        names.contains(&word)
    };
    let (mut text, mut latest) = (String::new(), None);
    for key in KEYS.iter().filter(is_meant) {
        let table = key.split().0;
        if let Some(name) = table.filter(|_| table != latest) {
            text.extend(["\n[", name, "]\n"]);
        }
        latest = table;
        let (variable, flag, kind) = (key.variable(), key.flag(), key.kind.placeholder);
        text += &entry(key, &format!("# Variable: {variable}\n# Flag: --{flag} {kind}\n"));
    }
    if text.is_empty() {
        return Err(unknown("help config".to_owned(), None, word).into());
    }
    Ok(text.trim_start().to_owned())
}

/// The value as a file writes it.
pub(super) fn written(key: &Key) -> String {
    key.kind.written(key.default.text())
}

/// What holds without the key, in words.
pub(crate) fn default(key: &Key) -> String {
    match key.default {
        KeyDefault::Required(_) => "none, it is required".to_owned(),
        KeyDefault::Absent(meaning, _) => meaning.to_owned(),
        KeyDefault::Value(_) => written(key),
        KeyDefault::Preset(values) => {
            let default = written(key);
            let others = values.iter().skip(1).map(|(preset, value)| {
                format!(", {} with preset = \"{preset}\"", key.kind.written(value))
            });
            default + &others.collect::<String>()
        }
    }
}

/// A key with its comment, which ends with these lines.
fn entry(key: &Key, more: &str) -> String {
    let about = comment(key.about);
    let range = comment(&format!("Takes {}.", key.kind));
    let (default, off) = if let KeyDefault::Required(_) = key.default {
        ("# Required.\n".to_owned(), "")
    } else {
        (comment(&format!("Default: {}.", default(key))), "# ")
    };
    let (_, name) = key.split();
    format!("\n{about}{range}{default}{more}{off}{name} = {}\n", written(key))
}

fn comment(text: &str) -> String {
    let mut lines = vec![String::from("#")];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("# {word}")),
        }
    }
    lines.join("\n") + "\n"
}
