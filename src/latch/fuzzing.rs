//! What a fuzzer reaches of the latch.

/// Reads the text of a latch: what was understood, written anew.
#[must_use]
pub fn latch(text: &str) -> Option<String> {
    super::text(&super::parse(text).ok()?).ok()
}
