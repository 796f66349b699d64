//! The pages of the documentation: where their links lead.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The contents of the site, whose paths are those of the site.
const CONTENTS: &str = "docs/SUMMARY.md";

fn tree() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Markdown file in these directories, from the tree's root.
fn pages(root: &Path, directories: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for directory in directories {
        for entry in std::fs::read_dir(root.join(directory)).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path.strip_prefix(root).expect("below it").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The lines outside listings.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_listing = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_listing ^= is_fence;
        !is_fence && !is_listing
    })
}

/// The text without what is in backquotes.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect()
}

/// The targets of the links of a page, those to other hosts left out.
fn links(text: &str) -> Vec<String> {
    // A link may go on in the next line.
    let prose: String = prose(text).flat_map(|line| [line, "\n"]).collect();
    let prose = without_code(&prose);
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains(':')).map(str::to_owned).collect()
}

/// What can follow `#` in a link to this page: its headings, and the places that it names.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for line in prose(text) {
        if line.starts_with('#') {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            let kept =
                words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            let name: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
            let times = seen.entry(name.clone()).or_default();
            anchors.insert(if *times == 0 { name } else { format!("{name}-{times}") });
            *times += 1;
        }
        anchors.extend(
            line.split("<a id=\"")
                .skip(1)
                .filter_map(|rest| rest.split('"').next())
                .map(str::to_owned),
        );
    }
    anchors
}

/// What is wrong with the links of this page, which is below `root`.
fn dead_links(root: &Path, page: &Path) -> Vec<String> {
    let text = read(&root.join(page));
    let mut dead = Vec::new();
    for link in links(&text) {
        let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
        let own = root.join(page);
        let file = if path.is_empty() { own } else { own.with_file_name("").join(path) };
        let is_page = file.extension().is_some_and(|extension| extension == "md");
        // A directory has no page on the site.
        if !file.is_file()
            || !anchor.is_empty() && is_page && !anchors(&read(&file)).contains(anchor)
        {
            dead.push(format!("{}: {link}", page.display()));
        }
    }
    dead
}

/// The site and the package have the documents as `docs/stage.sh` copies them.
#[test]
fn no_link_is_dead_on_the_site() {
    let site = tempfile::tempdir().expect("a directory");
    let staged = Command::new(tree().join("docs/stage.sh")).arg(site.path()).output();
    let staged = staged.expect("it runs");
    assert!(staged.status.success(), "{}", String::from_utf8_lossy(&staged.stderr));

    let contents = links(&read(&tree().join(CONTENTS)));
    let contents: BTreeSet<PathBuf> = contents.into_iter().map(PathBuf::from).collect();
    let pages = pages(site.path(), &["", "docs", "docs/decisions", "web/vendor"]);
    assert_eq!(contents, pages.iter().cloned().collect(), "{CONTENTS} lists every page");
    let links = |page: &PathBuf| links(&read(&site.path().join(page))).len();
    assert!(pages.iter().map(links).sum::<usize>() > 300, "the links are found");
    let dead: Vec<String> = pages.iter().flat_map(|page| dead_links(site.path(), page)).collect();
    assert!(dead.is_empty(), "dead links: {dead:#?}");
}
