//! The options of `liftmesh assign` as people write them.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Args, Command};

use super::AssignArgs;

/// The words of a command line with the options of `assign` as this program spells them, and without
/// those that it does not know: the course's program ignores letter case, and what it does not know.
/// Each change is a `--remark`. With `--strict`, and for other commands, nothing changes.
pub(crate) fn tolerant(words: Vec<OsString>) -> Vec<OsString> {
    let is_assign = words.get(1).is_some_and(|word| word == "assign");
    if !is_assign || words.iter().any(|word| word == "--strict") {
        return words;
    }
    let known = AssignArgs::augment_args(Command::new("assign"));
    let mut words = words.into_iter();
    let mut kept: Vec<OsString> = words.by_ref().take(2).collect();
    let mut remarks = Vec::new();
    while let Some(word) = words.next() {
        let shown = word.to_string_lossy();
        if let Some(spelled) = spelled(&known, &word) {
            if spelled.word != word {
                let known = spelled.word.to_string_lossy();
                remarks.push(format!("--remark=option {shown:?} is read as {known:?}"));
            }
            kept.push(spelled.word);
            kept.extend(spelled.takes_next.then(|| words.next()).flatten());
        } else {
            remarks.push(format!("--remark=unknown option {shown:?} is ignored"));
        }
    }
    kept.extend(remarks.into_iter().map(OsString::from));
    kept
}

struct Spelled {
    word: OsString,
    /// Whether the next word is its value.
    takes_next: bool,
}

fn spelled(known: &Command, word: &OsStr) -> Option<Spelled> {
    let text = word.to_str()?;
    let takes_value = |arg: &Arg| arg.get_num_args().is_none_or(|values| values.min_values() > 0);
    if let Some(long) = text.strip_prefix("--") {
        let (name, value) =
            long.split_once('=').map_or((long, None), |(name, it)| (name, Some(it)));
        if name == "help" {
            return Some(Spelled { word: word.to_owned(), takes_next: false });
        }
        let is_meant = |arg: &&Arg| {
            !arg.is_hide_set() && arg.get_long().is_some_and(|long| long.eq_ignore_ascii_case(name))
        };
        let arg = known.get_arguments().find(is_meant)?;
        let long = arg.get_long()?;
        let word = value.map_or_else(|| format!("--{long}"), |value| format!("--{long}={value}"));
        return Some(Spelled {
            word: word.into(),
            takes_next: value.is_none() && takes_value(arg) && arg.get_action().takes_values(),
        });
    }
    let mut letters = text.strip_prefix('-')?.chars();
    let letter = letters.next()?.to_ascii_lowercase();
    let rest = letters.as_str();
    if letter == 'h' && rest.is_empty() {
        return Some(Spelled { word: word.to_owned(), takes_next: false });
    }
    let arg = known.get_arguments().find(|arg| arg.get_short() == Some(letter))?;
    let takes_next = rest.is_empty() && arg.get_action().takes_values();
    Some(Spelled { word: format!("-{letter}{rest}").into(), takes_next })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(words: &[&str], expected: &[&str]) {
        let words = ["liftmesh", "assign"].iter().chain(words).map(OsString::from).collect();
        assert_eq!(tolerant(words)[2..], expected.iter().map(OsString::from).collect::<Vec<_>>());
    }

    #[test]
    fn options_are_known_in_any_case_and_the_rest_is_dropped() {
        becomes(&["-i", "-e", "--includeCab"], &["-i", "-e", "--includeCab"]);
        becomes(
            &["--clearrequesttype", "all", "-e", "5"],
            &[
                "--clearRequestType",
                "all",
                r#"--remark=option "--clearrequesttype" is read as "--clearRequestType""#,
                r#"--remark=unknown option "-e" is ignored"#,
                r#"--remark=unknown option "5" is ignored"#,
            ],
        );
        becomes(
            &["--TRAVELDURATION=7"],
            &[
                "--travelDuration=7",
                r#"--remark=option "--TRAVELDURATION=7" is read as "--travelDuration=7""#,
            ],
        );
        becomes(&["-e", "--strict"], &["-e", "--strict"]);
    }
}
