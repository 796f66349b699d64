//! The console blocks of the documents: each command does what its page says, at a node of a fleet of two.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use liftmesh_harness::building::{Building, Line};

use super::documents::read;

const PAGES: [&str; 5] = ["OPERATORS-DAY", "OPERATIONS", "API", "DISPATCH", "COMMANDS"];

/// What needs another place than a node that runs: the car's computer after a hang, a desk, a screen.
const ELSEWHERE: [&str; 6] =
    ["acknowledge-alarm", "clear-hang", "doctor", "top", "--url", "--token-file"];

/// A command, and what the page shows below it.
#[derive(Debug, Default)]
struct Shown {
    command: String,
    output: String,
}

/// The commands in the console blocks of a page, in their order.
fn commands(page: &str) -> Vec<Shown> {
    let mut commands: Vec<Shown> = Vec::new();
    let mut lines = page.lines();
    while lines.by_ref().any(|line| line.trim() == "```console") {
        for line in lines.by_ref().take_while(|line| line.trim() != "```") {
            let is_open = |shown: &&mut Shown| shown.command.matches('\'').count() % 2 == 1;
            if let Some(open) = commands.last_mut().filter(is_open) {
                open.command.extend(["\n", line]);
            } else if let Some(command) = line.trim().strip_prefix("$ ") {
                commands.push(Shown { command: command.to_owned(), ..Shown::default() });
            } else if let Some(shown) = commands.last_mut() {
                shown.output.extend([line, "\n"]);
            }
        }
    }
    commands
}

/// The words of a text without what differs from fleet to fleet: numbers, addresses, secrets.
fn words(text: &str) -> Vec<String> {
    let is_varying = |char: char| char.is_ascii_digit() || char == '.';
    let word = |word: &str| {
        let word = word.split("-token-").next().unwrap_or_default();
        if word.contains(is_varying) && !word.contains('[') {
            "N".to_owned()
        } else {
            word.to_owned()
        }
    };
    text.split_whitespace().map(word).collect()
}

fn is_of_liftmesh(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with("LIFTMESH_")
}

fn run(building: &Building, command: &str) -> (bool, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_liftmesh")).parent().expect("a directory");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").expect("a path"));
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("PATH", path);
    // The environment may lead to a real fleet.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_liftmesh(name)) {
        shell.env_remove(name);
    }
    shell.env("LIFTMESH_CONFIG", "").env("LIFTMESH__DATA_DIR", building.data_dir("A"));
    let output = shell.output().expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).expect("text"))
}

#[test]
fn the_commands_of_the_pages_do_what_is_shown() {
    let building = Building::with_cars(6, Line::Serial, &["A", "B"]);
    let mut tried = 0;
    for page in PAGES {
        for Shown { command, output } in commands(&read(&format!("docs/{page}.md"))) {
            let is_elsewhere = command.split_whitespace().any(|word| ELSEWHERE.contains(&word));
            if is_elsewhere || !command.starts_with("liftmesh ") {
                continue;
            }
            tried += 1;
            let (is_done, mut said) = run(&building, &command);
            assert!(is_done, "docs/{page}.md: {command}\n{said}");
            if output.is_empty() {
                continue;
            }
            let what = format!("`{command}` says what docs/{page}.md shows:\n{output}");
            building.wait(&what, |building| {
                let is_shown = words(&said) == words(&output);
                // The cars may still be on the way to where they are parked.
                if !is_shown && command.starts_with("liftmesh status") {
                    said = run(building, &command).1;
                }
                is_shown
            });
        }
    }
    assert!(tried > 15, "{tried}");
}
