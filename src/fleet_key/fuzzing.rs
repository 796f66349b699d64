//! The content of a key file, and the list of key files.

use super::KeyFiles;
use super::file::KeyText;

/// The line that `liftmesh keygen` would write for the key in this text; `None` if it has none.
#[must_use]
pub fn key(text: &str) -> Option<String> {
    KeyText::parse(text).map(|key| key.line().as_str().to_owned())
}

/// The list of files in this text, as it is shown; `None` if it is none.
#[must_use]
pub fn key_files(text: &str) -> Option<String> {
    KeyFiles::parse(text).map(|files| files.to_string())
}
