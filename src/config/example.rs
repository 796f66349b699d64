//! The commented example file.

use super::Key;
use super::key::KeyDefault;
use super::tables::TABLES;

/// How wide a comment is.
const WIDTH: usize = 96;

/// The whole of `config/node.toml`: every key with its meaning, range, relations and default.
#[must_use]
pub(crate) fn example() -> String {
    let mut text = comment(
        "The configuration of one Liftmesh node. The keys that are not commented out have to be \
         given, here or elsewhere; the others show their default or, where they have none, an \
         example. A variable of the environment overrides this file, a flag overrides both: the \
         key `dwell` of the table `[door]` is LIFTMESH__DOOR__DWELL and --dwell. `liftmesh \
         check-config` shows what holds and where it comes from.",
    );
    for table in TABLES {
        if !table.about.is_empty() {
            text.extend(["\n", &comment(table.about), "[", table.name, "]\n"]);
        }
        text.extend(table.keys.iter().map(entry));
    }
    text
}

/// The value as a file writes it.
pub(super) fn written(key: &Key) -> String {
    key.kind.written(key.default.text())
}

/// What holds without the key, in words.
pub(super) fn default(key: &Key) -> String {
    match key.default {
        KeyDefault::Required(_) => "it has to be given".to_owned(),
        KeyDefault::Absent(meaning, _) => meaning.to_owned(),
        KeyDefault::Value(_) => written(key),
        KeyDefault::Preset(values) => by_preset(values, |value| key.kind.written(value)),
    }
}

/// The values of the presets, in words.
pub(crate) fn by_preset(values: &[(&str, &str)], written: impl Fn(&str) -> String) -> String {
    let others = values
        .iter()
        .skip(1)
        .map(|(preset, value)| format!("{} with preset = \"{preset}\"", written(value)));
    let first = values.first().map(|(_, value)| written(value));
    first.into_iter().chain(others).collect::<Vec<_>>().join(", ")
}

fn entry(key: &Key) -> String {
    let about = comment(key.about);
    let range = comment(&format!("Takes {}.", key.kind));
    let (default, off) = match key.default {
        KeyDefault::Required(_) => ("# It has to be given.\n".to_owned(), ""),
        KeyDefault::Absent(..) | KeyDefault::Value(_) | KeyDefault::Preset(_) => {
            (comment(&format!("Default: {}.", default(key))), "# ")
        }
    };
    let (_, name) = key.split();
    format!("\n{about}{range}{default}{off}{name} = {}\n", written(key))
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
