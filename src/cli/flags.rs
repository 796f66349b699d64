//! All keys of the configuration as flags.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::LazyLock;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, ValueHint};

use crate::config::{KEYS, Key, KeyDefault, Kind, by_preset};

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
    let hint = match key.kind.placeholder {
        "PATH" => ValueHint::AnyPath,
        _ => ValueHint::Unknown,
    };
    Arg::new(key.path)
        .long(flag)
        .value_parser(Offer(key.kind))
        .hide_possible_values(true)
        .value_hint(hint)
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

/// Accepts any text, which is checked with the rest of the configuration. Completions offer valid
/// values.
#[derive(Debug, Clone)]
struct Offer(Kind);

impl TypedValueParser for Offer {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let offered = self.0.offered();
        let values = offered.into_iter().map(PossibleValue::new);
        (values.len() > 0).then(|| Box::new(values) as Box<dyn Iterator<Item = _>>)
    }
}
