//! What the documents say is what the program does: exit codes, alarms.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(path).expect("a document")
}

/// The rows of the table with this header: the cells of each.
pub(crate) fn table(document: &str, header: &str) -> Vec<Vec<String>> {
    let rows = document.lines().skip_while(|line| !line.starts_with(header));
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
    let numbered = rows.iter().filter_map(|row| Some((row[0].parse().ok()?, row[1].clone())));
    numbered.collect()
}

#[test]
fn the_exit_codes_are_the_same_everywhere() {
    let output = Command::new(env!("CARGO_BIN_EXE_liftmesh")).arg("--help").output();
    let help = String::from_utf8(output.expect("it runs").stdout).expect("text");
    let listed = help.lines().skip_while(|line| *line != "Exit codes:").skip(1);
    let listed: BTreeMap<u8, String> = listed
        .filter_map(|line| line.trim().split_once("  "))
        .map(|(code, meaning)| (code.parse().expect("a code"), meaning.to_owned()))
        .collect();
    assert_eq!(listed.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(codes(&read("docs/OPERATIONS.md"), "| code |"), listed);
}

/// The sources below a directory, file by file, but those of files and directories with this name.
pub(crate) fn sources(directory: &str, but: &str) -> Vec<(PathBuf, String)> {
    let mut waiting = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)];
    let mut sources = Vec::new();
    while let Some(path) = waiting.pop() {
        if path.file_stem().is_some_and(|name| name == but) {
            continue;
        }
        if path.is_dir() {
            let entries = std::fs::read_dir(path).expect("a directory");
            waiting.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = std::fs::read_to_string(&path).expect("text");
            sources.push((path, source));
        }
    }
    sources
}

/// The code below a directory, file by file, without comments and tests. A text that goes on in the
/// next line is on one.
fn code_of(directory: &str) -> Vec<String> {
    let code = |(_, source): &(PathBuf, String)| {
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code: String = lines.flat_map(|line| [line, "\n"]).collect();
        let mut parts = code.split("\\\n");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |joined, part| joined + part.trim_start())
    };
    sources(directory, "tests").iter().map(code).collect()
}

/// Every warning and error that a node logs: the level, and what the line begins with.
fn alarms() -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for code in code_of("src") {
        for (level, name) in [("error", "error!("), ("warning", "warn!(")] {
            for (start, _) in code.match_indices(name) {
                // A message that is an error's own text is none of the log's.
                let message = message(&code[start + name.len()..]);
                let message = message.filter(|text| !text.starts_with('{'));
                found.extend(message.map(|text| (level, text)));
            }
        }
    }
    found
}

/// The message among a macro's arguments: the first text that is no field's value, nor inside one.
fn message(arguments: &str) -> Option<String> {
    let mut parts = arguments.split('"');
    let mut depth = 0;
    loop {
        let before = parts.next().filter(|before| !before.contains(");"))?;
        depth = (depth + before.matches('(').count()).checked_sub(before.matches(')').count())?;
        let text = parts.next()?;
        if depth == 0 && !before.trim_end().ends_with('=') {
            return Some(text.to_owned());
        }
    }
}

/// Each line that the table quotes is logged, at the level that the table says; and each warning and
/// error is in the table.
#[test]
fn the_table_of_alarms_has_every_warning_and_error() {
    let alarms = alarms();
    assert!(alarms.len() > 30, "{alarms:?}");
    let mut quoted = Vec::new();
    for row in table(&read("docs/OPERATIONS.md"), "| the log says |") {
        for quote in row[0].split('`').skip(1).step_by(2) {
            let beginning = quote.trim_end_matches(['…', ' ']).to_owned();
            let is_whole = alarms.iter().any(|(_, text)| *text == beginning);
            let is_meant = |text: &str| {
                if is_whole { text == beginning } else { text.starts_with(&beginning) }
            };
            let meant: Vec<_> = alarms.iter().filter(|(_, text)| is_meant(text)).collect();
            assert!(!meant.is_empty(), "nothing logs `{quote}`");
            for (level, text) in meant {
                assert_eq!(row[1], *level, "the level of `{text}`");
            }
            quoted.push((row[1].clone(), beginning));
        }
    }
    for (level, text) in &alarms {
        let known = quoted.iter().any(|(of, quote)| of == level && text.starts_with(quote));
        assert!(known, "the {level} `{text}` is not in the table of alarms");
    }
}

/// The page claims only what a test shows.
#[test]
fn every_test_of_the_iec_page_exists() {
    let sources = ["src", "tests"].map(|directory| sources(directory, "target")).concat();
    let sources: String = sources.into_iter().map(|(_, source)| source).collect();
    let page = read("docs/IEC-62443.md");
    let cells = page.lines().filter(|line| line.starts_with('|')).filter_map(|row| {
        let tests = row.split(" | ").nth(2)?;
        Some(tests.split('`').skip(1).step_by(2))
    });
    let tests: Vec<&str> = cells.flatten().collect();
    assert!(tests.len() > 30, "{tests:?}");
    let missing: Vec<_> =
        tests.iter().filter(|test| !sources.contains(&format!("fn {test}("))).collect();
    assert!(missing.is_empty(), "no such tests: {missing:?}");
}
