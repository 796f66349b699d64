//! Why a node could not be asked.

use std::io;
use std::path::PathBuf;

use super::url::Place;
use crate::credentials::CredentialsError;
use crate::exit::Exit;

/// Why a node could not be asked. No message has the token. After [`Late`](Self::Late) and
/// [`Lost`](Self::Lost) it is unknown what became of the request; the others leave no effect.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error(
        "no node is running with data directory {path}; start one with `liftmesh run --data-dir \
         {path} …`",
        path = .0.display()
    )]
    NoNode(PathBuf),
    #[error(
        "no node listens on {path}; is it the node's `operator.read_only_socket`, and is the node \
         running?", path = .0.display()
    )]
    NoSocket(PathBuf),
    #[error(
        "the node's socket {path} can't be used; `node.sock` is for the node's own user, and \
         `operator.read_only_socket` for its group",
        path = path.display()
    )]
    Socket { path: PathBuf, source: io::Error },
    #[error("the token of --token-file: {0}")]
    Token(CredentialsError),
    #[error("the token is malformed: it must be one line, as `liftmesh token create` prints it")]
    MalformedToken,
    #[error("CA certificates: {0}")]
    Authorities(CredentialsError),
    #[error("the system gives this program no more resources")]
    Runtime(#[source] io::Error),
    #[error(
        "no node answers at {place}; is that its `http.address`, is it running, and does a \
         firewall block TCP?"
    )]
    Unreachable { place: Place, source: io::Error },
    #[error(
        "{place} is not trusted; if a private authority issued its certificate, pass the \
         authority's with --ca FILE, and check that the certificate is for this name or address"
    )]
    Tls { place: Place, source: io::Error },
    #[error(
        "{place} did not answer in time; check whether the request took effect before you \
             repeat it"
    )]
    Late { place: Place },
    #[error(
        "{place} closed the connection; is it the port of `http.address`, and is it https? If the \
         request was on its way, check whether it took effect before you repeat it"
    )]
    Lost { place: Place, source: axum::Error },
    #[error(
        "{place} has been silent for too long; is the node still running, and is the network up?"
    )]
    Silent { place: Place },
    #[error("{place} ended its stream of events; is the node still running?")]
    Ended { place: Place },
    #[error("{place} has no name that a certificate could cover")]
    Unfit { place: Place },
    #[error("can't parse the answer from {place}; the node may be of another version")]
    Garbled { place: Place, source: serde_json::Error },
    #[error(
        "{place} answered with HTTP status {status}: it is not a node, or a proxy is in front \
             of it"
    )]
    Strange { place: Place, status: u16 },
    #[error("{}{detail}{}", at(place), remedy(place, code))]
    Refused { place: Place, code: String, detail: String },
}

impl ClientError {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Token(_) | Self::MalformedToken | Self::Authorities(_) | Self::Unfit { .. } => {
                Exit::Usage
            }
            Self::NoNode(_)
            | Self::NoSocket(_)
            | Self::Unreachable { .. }
            | Self::Late { .. }
            | Self::Lost { .. }
            | Self::Silent { .. }
            | Self::Ended { .. } => Exit::NoNode,
            Self::Refused { code, .. } => match code.as_str() {
                "latched" => Exit::Refused,
                "no_answer" => Exit::NoNode,
                "malformed" | "no_such_button" | "unknown_car" | "token_required"
                | "token_unknown" | "scope_missing" | "not_found" | "other_host" | "local_only"
                | "name_taken" | "no_token" | "faults_not_allowed" => Exit::Usage,
                _ => Exit::Failed,
            },
            Self::Socket { .. }
            | Self::Runtime(_)
            | Self::Tls { .. }
            | Self::Garbled { .. }
            | Self::Strange { .. } => Exit::Failed,
        }
    }
}

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
