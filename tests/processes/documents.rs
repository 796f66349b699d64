//! What the documents say is what the program does: exit codes, alarms.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(path).expect("a document")
}

/// The rows of the table with this header: the cells of each.
fn table(document: &str, header: &str) -> Vec<Vec<String>> {
    let rows = document
        .lines()
        .skip_while(|line| !line.starts_with(header));
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| {
        let cells = row.trim_matches('|').split(" | ");
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    rows.map(cells).collect()
}

/// The codes and their meanings.
fn codes(document: &str, header: &str) -> BTreeMap<u8, String> {
    let rows = table(document, header);
    assert!(!rows.is_empty(), "no table {header}");
    let numbered = rows
        .iter()
        .filter_map(|row| Some((row[0].parse().ok()?, row[1].clone())));
    numbered.collect()
}

#[test]
fn the_exit_codes_are_the_same_everywhere() {
    let output = Command::new(env!("CARGO_BIN_EXE_liftmesh"))
        .arg("--help")
        .output();
    let help = String::from_utf8(output.expect("it runs").stdout).expect("text");
    let listed = help
        .lines()
        .skip_while(|line| *line != "Exit codes:")
        .skip(1);
    let listed: BTreeMap<u8, String> = listed
        .filter_map(|line| line.trim().split_once("  "))
        .map(|(code, meaning)| (code.parse().expect("a code"), meaning.to_owned()))
        .collect();
    assert_eq!(
        listed.keys().copied().collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5]
    );
    assert_eq!(codes(&read("docs/OPERATIONS.md"), "| code |"), listed);
}

/// Every warning and every error of a node, and what its line begins with.
fn alarms() -> Vec<(&'static str, String)> {
    let mut waiting = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut alarms = Vec::new();
    while let Some(path) = waiting.pop() {
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            let entries = std::fs::read_dir(path).expect("a directory");
            waiting.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            alarms.extend(alarms_of(&path));
        }
    }
    alarms
}

fn alarms_of(path: &PathBuf) -> Vec<(&'static str, String)> {
    let source = std::fs::read_to_string(path).expect("text");
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    for (level, name) in [("error", "error!("), ("warning", "warn!(")] {
        for (start, _) in code.match_indices(name) {
            // A message that is an error's own text is none of the log's.
            let message = message(&code[start + name.len()..]);
            found.extend(
                message
                    .filter(|text| !text.starts_with('{'))
                    .map(|text| (level, text)),
            );
        }
    }
    found
}

/// The message among a macro's arguments: the text that is no field's value.
fn message(arguments: &str) -> Option<String> {
    let (mut depth, mut before) = (0, ' ');
    let mut characters = arguments.chars();
    loop {
        match characters.next()? {
            '"' => {
                let text = literal(&mut characters);
                if depth == 0 && before != '=' {
                    return Some(text);
                }
                before = '"';
            }
            ')' | ']' | '}' if depth == 0 => return None,
            character => {
                depth += match character {
                    '(' | '[' | '{' => 1,
                    ')' | ']' | '}' => -1,
                    _ => 0,
                };
                if !character.is_whitespace() {
                    before = character;
                }
            }
        }
    }
}

/// The rest of a text in quotes.
fn literal(characters: &mut std::str::Chars<'_>) -> String {
    let mut text = String::new();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => match characters.next() {
                Some('\n') => {
                    let rest = characters.as_str().trim_start();
                    *characters = rest.chars();
                }
                escaped => text.extend(escaped),
            },
            character => text.push(character),
        }
    }
    text
}

/// Each line that is quoted as an alarm is one, at the level that the table says, and each alarm is
/// in the table.
#[test]
fn the_table_of_alarms_has_every_warning_and_error() {
    let alarms = alarms();
    assert!(alarms.len() > 30, "{alarms:?}");
    let rows = table(&read("docs/OPERATIONS.md"), "| the log says |");
    let mut quoted = Vec::new();
    for row in &rows {
        for quote in row[0].split('`').skip(1).step_by(2) {
            let beginning = quote.trim_end_matches(['…', ' ']).to_owned();
            let meant: Vec<_> = alarms
                .iter()
                .filter(|(_, text)| text.starts_with(&beginning))
                .collect();
            assert!(!meant.is_empty(), "nothing logs `{quote}`");
            for (level, text) in meant {
                assert_eq!(row[1], *level, "the level of `{text}`");
            }
            quoted.push(beginning);
        }
    }
    for (level, text) in &alarms {
        let known = quoted.iter().any(|quote| text.starts_with(quote));
        assert!(known, "the {level} `{text}` is not in the table of alarms");
    }
}
