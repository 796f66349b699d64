//! What operators write into the audit log: one line each, of bounded length.

use elevator_fleet::settings::is_hidden;

/// The longest name of an operator, in characters.
const LONGEST_OPERATOR: usize = 64;

/// The longest reason, in characters.
const LONGEST_REASON: usize = 500;

/// Why a text is no good for the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WordsError {
    #[error("it must not be empty: it goes into the audit log")]
    Empty,
    #[error("it must be a single line, without control, bidirectional or zero-width characters")]
    Hidden,
    #[error("it has more than {0} characters")]
    Long(usize),
}

/// The name of an operator, without the spaces around it.
pub(crate) fn operator(text: &str) -> Result<String, WordsError> {
    words(text, LONGEST_OPERATOR)
}

/// A reason, without the spaces around it.
pub(crate) fn reason(text: &str) -> Result<String, WordsError> {
    words(text, LONGEST_REASON)
}

fn words(text: &str, longest: usize) -> Result<String, WordsError> {
    let text = text.trim();
    if text.is_empty() {
        Err(WordsError::Empty)
    } else if text.chars().any(is_hidden) {
        Err(WordsError::Hidden)
    } else if text.chars().count() > longest {
        Err(WordsError::Long(longest))
    } else {
        Ok(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_as_it_was_written() {
        for name in ["Kovač", "山田 太郎", "O'Brien (night shift)", "شیرین"] {
            assert_eq!(operator(name), Ok(name.to_owned()));
        }
        let hidden = ["a\nb", "a\u{85}b", "a\u{202e}b", "a\u{2066}b", "a\u{200b}b", "a\u{feff}b"];
        for name in hidden.into_iter().chain(["a\u{2028}b", "a\u{ad}b", "a\u{e0041}b"]) {
            assert_eq!(operator(name), Err(WordsError::Hidden), "{name:?}");
            assert_eq!(reason(name), Err(WordsError::Hidden), "{name:?}");
        }
    }
}
