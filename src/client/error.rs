//! Why a node could not be asked.

use std::io;
use std::path::PathBuf;

use super::place::Place;
use crate::credentials::CredentialsError;
use crate::exit::Exit;

/// Why a node could not be asked. No message has the token.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No node runs with this data directory.
    #[error(
        "no node is running with data directory {path}; start one with `liftmesh run --data-dir \
         {path} …`",
        path = .0.display()
    )]
    NoNode(PathBuf),
    /// No node listens on this socket.
    #[error(
        "no node listens on {path}; is it the node's `operator.read_only_socket`, and is the node \
         running?", path = .0.display()
    )]
    NoSocket(PathBuf),
    /// The node has stopped since.
    #[error("the node that listened on {} has stopped, or accepts no connections", .0.display())]
    Gone(PathBuf),
    /// The socket is there and can't be used.
    #[error(
        "the node's socket {path} can't be used; `node.sock` is for the node's own user, and \
         `operator.read_only_socket` for its group",
        path = path.display()
    )]
    Socket { path: PathBuf, source: io::Error },
    /// The token's file can't be used. Nothing was sent.
    #[error("the token of --token-file: {0}")]
    Token(CredentialsError),
    /// Nothing was sent.
    #[error("the token is malformed: it must be one line, as `liftmesh token create` prints it")]
    MalformedToken,
    /// Nothing was sent.
    #[error("CA certificates: {0}")]
    Authorities(CredentialsError),
    /// Nothing was sent.
    #[error("the system gives this program no more resources")]
    Runtime(#[source] io::Error),
    /// Nothing was sent.
    #[error(
        "no node answers at {place}; is that its `http.address`, is it running, and does a \
         firewall block TCP?"
    )]
    Unreachable { place: Place, source: io::Error },
    /// Nothing was sent.
    #[error(
        "{place} is not trusted; if a private authority issued its certificate, pass the \
         authority's with --ca FILE, and check that the certificate is for this name or address"
    )]
    Tls { place: Place, source: io::Error },
    /// It is unknown what became of the request.
    #[error(
        "{place} did not answer in time; check whether the request took effect before you \
             repeat it"
    )]
    Late { place: Place },
    /// It is unknown what became of the request.
    #[error("{place} closed the connection; is it the port of `http.address`, and is it https?")]
    Lost { place: Place, source: hyper::Error },
    /// It is unknown what became of the request.
    #[error(
        "no answer arrived from {place}; check whether the request took effect before you \
             repeat it"
    )]
    Broken { place: Place, source: axum::Error },
    /// The stream of events is open, and nothing comes over it.
    #[error(
        "{place} has been silent for too long; is the node still running, and is the network up?"
    )]
    Silent { place: Place },
    /// The node sends no events any more.
    #[error("{place} ended its stream of events; is the node still running?")]
    Ended { place: Place },
    /// No request can be made for it.
    #[error("{place} has no name that a certificate could cover")]
    Unfit { place: Place },
    /// The answer is none that this program knows.
    #[error("can't parse the answer from {place}; the node may be of another version")]
    Garbled { place: Place, source: serde_json::Error },
    /// Something else answers there.
    #[error(
        "{place} answered with HTTP status {status}: it is not a node, or a proxy is in front \
             of it"
    )]
    Strange { place: Place, status: u16 },
    /// The node refuses.
    #[error("{}{detail}{}", at(place), remedy(place, code))]
    Refused {
        place: Place,
        /// Why, for programs.
        code: String,
        /// Why, for people.
        detail: String,
    },
}

impl ClientError {
    /// The exit code for this error: as for a node of this machine.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Token(_) | Self::MalformedToken | Self::Authorities(_) | Self::Unfit { .. } => {
                Exit::Usage
            }
            Self::NoNode(_)
            | Self::NoSocket(_)
            | Self::Gone(_)
            | Self::Unreachable { .. }
            | Self::Late { .. }
            | Self::Lost { .. }
            | Self::Broken { .. }
            | Self::Silent { .. }
            | Self::Ended { .. } => Exit::NoNode,
            Self::Runtime(_)
            | Self::Socket { .. }
            | Self::Tls { .. }
            | Self::Garbled { .. }
            | Self::Strange { .. } => Exit::Failed,
            Self::Refused { code, .. } => match code.as_str() {
                "latched" => Exit::Refused,
                "no_answer" => Exit::NoNode,
                "malformed" | "no_such_button" | "unknown_car" | "token_required"
                | "token_unknown" | "scope_missing" | "not_found" | "other_host" | "local_only"
                | "name_taken" | "no_token" | "faults_not_allowed" => Exit::Usage,
                _ => Exit::Failed,
            },
        }
    }
}

/// The node of this machine need not be named.
fn at(place: &Place) -> String {
    match place {
        Place::Socket(_) => String::new(),
        Place::Url(url) => format!("{url}: "),
    }
}

/// What to do about a refusal, where the node can't know it.
fn remedy(place: &Place, code: &str) -> &'static str {
    match code {
        _ if matches!(place, Place::Socket(_)) => "",
        "token_required" | "token_unknown" => "; give one with --token-file FILE or LIFTMESH_TOKEN",
        "latched" => "; once the car is fit to run: `liftmesh clear-hang --url …`",
        _ => "",
    }
}
