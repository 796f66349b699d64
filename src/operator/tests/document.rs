//! `docs/API.md` says what the code does.

use super::*;

#[test]
fn it_names_every_event() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/API.md");
    let text = std::fs::read_to_string(path).unwrap();
    for name in Report::NAMES {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
}
