//! No module imports from one above it, by the tables of `docs/ARCHITECTURE.md`, and a command touches
//! few files.

use std::collections::BTreeSet;
use std::path::Path;

use super::documents::{read, sources, table};

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty())
}

/// The code of a source, outside of comments and unit tests.
fn code(source: &str) -> String {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// What code takes from the root of its crate, where `depth` times `super::` leads as well.
fn imports(code: &str, depth: usize) -> Vec<String> {
    let code = code.replace(&"super::".repeat(depth), "crate::");
    let paths = code.split("crate::").skip(1).flat_map(|rest| match rest.strip_prefix('{') {
        Some(group) => group.split('}').next().unwrap_or_default().split(',').collect(),
        None => vec![rest],
    });
    paths.filter_map(|path| words(path).next()).map(str::to_owned).collect()
}

/// Where a name comes from that the crate's root exports.
fn origin<'a>(root: &'a str, name: &'a str) -> &'a str {
    let mut exports = root.split("use ").skip(1).filter_map(|rest| rest.split(';').next());
    let of_it = exports.find(|export| words(export).skip(1).any(|word| word == name));
    of_it.and_then(|export| words(export).next()).unwrap_or(name)
}

#[test]
fn no_module_imports_from_one_above_it() {
    let document = read("docs/ARCHITECTURE.md");
    for directory in ["fleet/src", "lab/src", "src"] {
        let rows = table(&document, &format!("| module of `{directory}/` |"));
        let layers = rows.iter().flat_map(|row| row[0].split('`').skip(1).step_by(2));
        let layers: Vec<&str> = layers.collect();
        let layer = |name: &str| layers.iter().position(|layer| *layer == name);
        let root = code(&read(&format!("{directory}/lib.rs")));
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
        let (mut upward, mut found) = (Vec::new(), BTreeSet::new());
        for (source, text) in sources(directory, "tests") {
            let name = source.strip_prefix(&path).expect("below").with_extension("");
            let parts: Vec<&str> = name.iter().filter_map(|part| part.to_str()).collect();
            if parts.contains(&"testing") || matches!(parts[..], ["lib" | "main"]) {
                continue;
            }
            let own =
                layer(parts[0]).unwrap_or_else(|| panic!("no table has {}", source.display()));
            found.insert(own);
            let depth = parts.iter().filter(|part| **part != "mod").count();
            for import in imports(&code(&text), depth) {
                let of = layer(&import).or_else(|| layer(origin(&root, &import)));
                if of.is_some_and(|of| of > own) {
                    upward.push(format!("{} imports {import}", source.display()));
                }
            }
        }
        assert!(upward.is_empty(), "imports from a module above:\n{}", upward.join("\n"));
        assert_eq!(found.len(), layers.len(), "{directory}/ has not all modules of {layers:?}");
    }
}

/// A command is declared once: its name is in its own file, and where the command line offers it.
#[test]
fn a_command_touches_few_files() {
    const DECLARED: &str = "fleet/src/services/command.rs";
    let declared = read(DECLARED);
    let (_, body) = declared.split_once("pub enum Command {").expect("the commands");
    let body = body.split("\n}").next().unwrap_or_default();
    let variants = body.lines().filter_map(|line| line.strip_prefix("    "));
    let variants = variants.filter(|line| line.starts_with(char::is_uppercase));
    let variants: Vec<&str> = variants.filter_map(|line| line.split(' ').next()).collect();
    assert!(variants.len() >= 5, "{variants:?}");
    let all: Vec<_> = ["fleet/src", "api/src", "src"]
        .into_iter()
        .flat_map(|directory| sources(directory, "tests"))
        .collect();
    for variant in variants {
        let name = format!("Command::{variant} {{");
        let names_it = |text: &str| code(text).contains(&name);
        let others = all.iter().filter(|(_, text)| names_it(text)).map(|(path, _)| path);
        let others: Vec<_> = others.filter(|path| !path.ends_with(DECLARED)).collect();
        assert!(!others.is_empty() && others.len() <= 2, "{variant} is in {others:?}");
    }
}
