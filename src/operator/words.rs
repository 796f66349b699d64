//! What operators write into the audit log: one line each, of bounded length.

/// The longest name of an operator, in characters.
const LONGEST_OPERATOR: usize = 64;

/// The longest reason, in characters.
const LONGEST_REASON: usize = 500;

/// Why a text is no good for the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WordsError {
    #[error("it must not be empty: it goes into the audit log")]
    Empty,
    #[error("it must be a single line")]
    Lines,
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
    } else if text.chars().any(char::is_control) {
        Err(WordsError::Lines)
    } else if text.chars().count() > longest {
        Err(WordsError::Long(longest))
    } else {
        Ok(text.to_owned())
    }
}
