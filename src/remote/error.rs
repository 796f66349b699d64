//! Why a node could not be asked over HTTP.

use std::io;

use super::url::NodeUrl;
use crate::exit::Exit;
use crate::mqtt::access::AccessError;

/// Why a node could not be asked over HTTP. No message has the token.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The token's file can't be used. Nothing was sent.
    #[error("the token of --token-file: {0}")]
    Token(AccessError),
    /// Nothing was sent.
    #[error("the token is none: it has to be one line, as `liftmesh token create` prints it")]
    MalformedToken,
    /// Nothing was sent.
    #[error("certificates of authorities: {0}")]
    Authorities(AccessError),
    /// Nothing was sent.
    #[error("the system lets this program have no more resources")]
    Runtime(#[source] io::Error),
    /// Nothing was sent.
    #[error(
        "no node answers at {url}; is that its `http.address`, does it run, and does a firewall let \
         TCP through?"
    )]
    Unreachable { url: NodeUrl, source: io::Error },
    /// Nothing was sent.
    #[error(
        "{url} is not trusted; if a private authority has made its certificate, give that of the \
         authority by --ca FILE, and check that the certificate is for this name or address"
    )]
    Tls { url: NodeUrl, source: io::Error },
    /// It is unknown what became of the request.
    #[error("{url} does not answer in time; look at what became of it before you repeat it")]
    Late { url: NodeUrl },
    /// It is unknown what became of the request.
    #[error("{url} has closed the connection; is it the port of `http.address`, and is it https?")]
    Lost { url: NodeUrl, source: hyper::Error },
    /// It is unknown what became of the request.
    #[error("the answer of {url} did not arrive; look at what became of it before you repeat it")]
    Broken { url: NodeUrl, source: axum::Error },
    /// The stream of events is open, and nothing comes over it.
    #[error(
        "{url} has been silent for too long; does the node still run, and is the network whole?"
    )]
    Silent { url: NodeUrl },
    /// The node sends no events any more.
    #[error("{url} has ended its stream of events; does the node still run?")]
    Ended { url: NodeUrl },
    /// No request can be made for it.
    #[error("{url} has no name that a certificate could have")]
    Unfit { url: NodeUrl },
    /// The answer is none that this program knows.
    #[error("the answer of {url} is not understood; the node may be of another version")]
    Garbled { url: NodeUrl, source: serde_json::Error },
    /// Something else answers there.
    #[error("what answers at {url} is no node, or something before it: HTTP status {status}")]
    NoNode { url: NodeUrl, status: u16 },
    /// The node refuses.
    #[error("{url}: {detail}{}", remedy(code))]
    Refused {
        url: NodeUrl,
        /// Why, for programs.
        code: String,
        /// Why, for people.
        detail: String,
    },
}

impl RemoteError {
    /// The exit code for this error: as for a node of this machine.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Token(_) | Self::MalformedToken | Self::Authorities(_) | Self::Unfit { .. } => {
                Exit::Usage
            }
            Self::Unreachable { .. }
            | Self::Late { .. }
            | Self::Lost { .. }
            | Self::Broken { .. }
            | Self::Silent { .. }
            | Self::Ended { .. } => Exit::NoNode,
            Self::Runtime(_) | Self::Tls { .. } | Self::Garbled { .. } | Self::NoNode { .. } => {
                Exit::Failed
            }
            Self::Refused { code, .. } => match code.as_str() {
                "latched" => Exit::Refused,
                "no_answer" => Exit::NoNode,
                "malformed" | "no_such_button" | "unknown_car" | "token_required"
                | "token_unknown" | "scope_missing" | "not_found" | "other_host" => Exit::Usage,
                _ => Exit::Failed,
            },
        }
    }
}

/// What to do about a refusal, where the node can't know it.
fn remedy(code: &str) -> &'static str {
    match code {
        "token_required" | "token_unknown" => "; give one by --token-file FILE or LIFTMESH_TOKEN",
        "latched" => "; once the car is fit to run: `liftmesh clear-hang --url …`",
        _ => "",
    }
}
