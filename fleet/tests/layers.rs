//! No module imports from one above it.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The modules of the brain, each above those that it may import from.
const LAYERS: [&str; 16] = [
    "seeded",
    "model",
    "json",
    "climate",
    "directives",
    "election",
    "wire",
    "store",
    "peers",
    "dispatch",
    "car",
    "report",
    "leadership",
    "plan",
    "cabin",
    "node",
];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

/// The modules of this crate that a source names outside of comments and unit tests.
fn imports(source: &str) -> impl Iterator<Item = &str> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| line.split("crate::").skip(1)).map(|rest| {
        let end = rest.find(|char: char| !char.is_alphanumeric() && char != '_');
        &rest[..end.unwrap_or(rest.len())]
    })
}

#[test]
fn no_module_imports_from_one_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    sources(&root, &mut found).expect("the sources");
    let (mut upward, mut checked) = (Vec::new(), 0);
    for path in found {
        let name = path.strip_prefix(&root).expect("below").with_extension("");
        let parts: Vec<String> =
            name.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let is_test = parts.iter().any(|part| ["tests", "testing"].contains(&part.as_str()));
        let layer = LAYERS.iter().position(|layer| *layer == parts[0]);
        let Some(layer) = layer.filter(|_| !is_test) else {
            assert!(is_test || parts[0] == "lib", "{} is in no layer", path.display());
            continue;
        };
        checked += 1;
        let source = fs::read_to_string(&path).expect("text");
        for import in imports(&source) {
            let of = LAYERS.iter().position(|layer| *layer == import);
            if of.is_some_and(|of| of > layer) {
                upward.push(format!("{} imports from {import}", name.display()));
            }
        }
    }
    assert!(checked > 100, "only {checked} sources were found");
    assert!(upward.is_empty(), "{}", upward.join("\n"));
}
