//! All keys of the configuration as flags.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

use crate::config::{KEYS, Key, KeyDefault, by_preset};

/// The settings given as flags, by the paths of their keys. Their values are checked with the rest
/// of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SettingFlags(BTreeMap<&'static str, String>);

static FLAGS: LazyLock<Vec<(&'static Key, String)>> =
    LazyLock::new(|| KEYS.iter().map(|key| (key, key.flag())).collect());

impl SettingFlags {
    /// The settings that were given.
    #[must_use]
    pub(crate) fn given(&self) -> &BTreeMap<&'static str, String> {
        &self.0
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for key in KEYS.iter() {
            if let Some(value) = matches.get_one::<String>(key.path) {
                self.0.insert(key.path, value.clone());
            }
        }
        Ok(())
    }
}

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        command.args(FLAGS.iter().map(|(key, flag)| argument(key, flag)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn argument(key: &'static Key, flag: &'static str) -> Arg {
    let default = match key.default {
        KeyDefault::Required(_) => String::new(),
        KeyDefault::Absent(meaning, _) => format!(" [default: {meaning}]"),
        KeyDefault::Value(value) => format!(" [default: {value}]"),
        KeyDefault::Preset(values) => {
            format!(" [default: {}]", by_preset(values, str::to_owned))
        }
    };
    let brief = key.about.split_once(". ").map_or(key.about, |(s, _)| s);
    let brief = brief.trim_end_matches('.');
    Arg::new(key.path)
        .long(flag)
        .allow_negative_numbers(true)
        .value_name(key.kind.placeholder)
        .help(format!("{brief}{default}"))
        .long_help(format!("{} Takes {}.{default}", key.about, key.kind))
        .help_heading(heading(key.split().0.unwrap_or("node")))
}

/// The name of a table as a heading.
fn heading(table: &str) -> String {
    let (first, others) = table.split_at(1);
    first.to_uppercase() + &others.replace('_', " ")
}
