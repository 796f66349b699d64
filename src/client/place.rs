//! Where a node is.

use std::fmt;
use std::path::PathBuf;

use super::url::NodeUrl;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Socket(PathBuf),
    Url(NodeUrl),
}

impl Place {
    /// For the header `Host`.
    pub(super) fn authority(&self) -> String {
        match self {
            Self::Socket(_) => "localhost".to_owned(),
            Self::Url(url) => url.authority(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "{}", path.display()),
            Self::Url(url) => write!(f, "{url}"),
        }
    }
}
