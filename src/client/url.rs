//! Where a node is.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::str::FromStr;

use axum::http::Uri;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Socket(PathBuf),
    Url(NodeUrl),
}

impl Place {
    pub(super) fn authority(&self) -> String {
        match self {
            Self::Socket(_) => "localhost".to_owned(),
            Self::Url(url) => url.authority(),
        }
    }
}

/// `https://HOST:PORT`, or on this machine also `http://HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeUrl {
    pub(crate) is_encrypted: bool,
    /// Without the brackets of an IPv6 address.
    pub(super) host: String,
    pub(crate) port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("{0} is not the address of a node, such as https://192.168.1.11:7080")]
    Malformed(String),
    #[error(
        "give only the address, such as https://192.168.1.11:7080, and the token with --token-file \
         or LIFTMESH_TOKEN: others can see the arguments of a command"
    )]
    HasMore,
    #[error(
        "http://{0} is not encrypted, and others on the network could read the token: use https, for \
         which the node needs `http.certificate` and `http.key`"
    )]
    Exposed(String),
}

impl NodeUrl {
    /// That of a node whose `address` is known. Only on loopback it may be without encryption.
    pub(crate) fn of_peer(address: Ipv4Addr, port: u16, is_encrypted: bool) -> Self {
        Self {
            is_encrypted: is_encrypted || !address.is_loopback(),
            host: address.to_string(),
            port,
        }
    }

    fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

impl FromStr for NodeUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        // The panel's address has a token behind the path. It is not repeated.
        if text.contains(['#', '?', '@']) {
            return Err(UrlError::HasMore);
        }
        let malformed = || UrlError::Malformed(text.to_owned());
        let uri: Uri = text.parse().map_err(|_error| malformed())?;
        let (is_encrypted, usual) = match uri.scheme_str() {
            Some("https") => (true, 443),
            Some("http") => (false, 80),
            Some(_) | None => return Err(malformed()),
        };
        let authority = uri.authority().ok_or_else(malformed)?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let has_port = authority.as_str().len() > authority.host().len();
        let port = match authority.port_u16() {
            None if has_port => return Err(malformed()),
            Some(0) => return Err(malformed()),
            port => port.unwrap_or(usual),
        };
        if host.is_empty() || !matches!(uri.path(), "" | "/") {
            return Err(malformed());
        }
        let url = Self { is_encrypted, host, port };
        let is_here = url.host == "localhost"
            || url.host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        if !is_encrypted && !is_here {
            return Err(UrlError::Exposed(url.authority()));
        }
        Ok(url)
    }
}

impl fmt::Display for NodeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority())
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
