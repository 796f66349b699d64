//! All keys of the configuration as flags.

use std::collections::BTreeMap;

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

use crate::config::{self, KEYS, Key, KeyDefault};

const HEADING: &str =
    "Keys of node.toml; any other as --TABLE-KEY VALUE, see `liftmesh help config`";

/// The settings given as flags, by the paths of their keys; not checked yet.
#[derive(Debug, Clone)]
pub(crate) struct SettingFlags(pub(super) BTreeMap<&'static str, String>);

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = KEYS.iter().filter_map(|key| {
            let value = matches.get_one::<String>(key.path)?;
            Some((key.path, value.clone()))
        });
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        command.args(KEYS.iter().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Every key is a flag; help shows the essential ones.
fn argument(key: &'static Key) -> Arg {
    let default = match key.default {
        KeyDefault::Required(_) => String::new(),
        KeyDefault::Absent(..) | KeyDefault::Value(_) | KeyDefault::Preset(_) => {
            format!(" [default: {}]", config::default(key))
        }
    };
    Arg::new(key.path)
        .long(key.flag())
        .aliases(key.short_flag())
        .hide_short_help(!key.is_essential())
        .hide_long_help(!key.is_essential())
        .allow_negative_numbers(true)
        .value_name(key.kind.placeholder)
        .help(format!("{}{default}", config::brief(key.about)))
        .help_heading(HEADING)
}
