//! The client of a fleet: asks one node, and another one when that does not answer.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use ureq::Agent;
use ureq::config::Config;
use ureq::http::{Method, Request};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use crate::messages::LiftState;

/// A node answers within 2 s even if its loop is stuck. Lifts must not be unpublished for long.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub(crate) enum FleetError {
    #[error("can't read {path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("{0} has no certificate in PEM")]
    Certificate(PathBuf),
    #[error(
        "{0} is not the address of a node, such as https://192.168.1.11:7080, or on this machine \
         http://127.0.0.1:7080"
    )]
    Address(String),
    /// What was asked may have been done all the same.
    #[error("{node} does not answer: {source}")]
    NoAnswer { node: String, source: ureq::Error },
    /// Nothing was done.
    #[error("{detail} ({code})")]
    Refused { status: u16, code: String, detail: String },
}

/// A car in `GET /api/v1/cars`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Car {
    #[serde(rename = "car")]
    pub(crate) name: String,
    pub(crate) heard: bool,
    pub(crate) lift_state: LiftState,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) state: String,
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Problem {
    detail: String,
    code: String,
}

/// What is asked for a robot. All of it may be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Open { car: String, floor: String, request_id: String },
    Go { id: String, floor: String },
    Look { id: String },
    End { id: String },
}

pub(crate) struct Fleet {
    /// The first one is asked first.
    nodes: Vec<String>,
    agent: Agent,
    bearer: String,
    /// For how long a door is held open, in seconds.
    hold: u16,
    is_answering: bool,
}

impl Fleet {
    pub(crate) fn new(
        nodes: Vec<String>,
        token: &str,
        ca_file: Option<&Path>,
        hold: u16,
    ) -> Result<Self, FleetError> {
        if let Some(node) = nodes.iter().find(|node| !is_address(node)) {
            return Err(FleetError::Address(node.clone()));
        }
        let mut tls = TlsConfig::builder();
        if let Some(path) = ca_file {
            tls = tls.root_certs(RootCerts::new_with_certs(&certificates(path)?));
        }
        let config = Config::builder()
            .timeout_global(Some(ANSWER_LIMIT))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .tls_config(tls.build())
            .build();
        let nodes = nodes.into_iter().map(|node| node.trim_end_matches('/').to_owned()).collect();
        let bearer = format!("Bearer {}", token.trim());
        Ok(Self { nodes, agent: config.into(), bearer, hold, is_answering: true })
    }

    pub(crate) fn cars(&mut self) -> Result<Vec<Car>, FleetError> {
        self.ask(&Method::GET, "cars", None)
    }

    pub(crate) fn perform(&mut self, action: &Action) -> Result<Session, FleetError> {
        let seconds = self.hold;
        match action {
            Action::Open { car, floor, request_id } => {
                let body = json!({
                    "car": car, "floor": floor, "seconds": seconds, "request_id": request_id,
                });
                self.ask(&Method::POST, "sessions", Some(&body))
            }
            Action::Go { id, floor } => {
                let body = json!({ "floor": floor, "seconds": seconds });
                self.ask(&Method::PUT, &format!("sessions/{id}"), Some(&body))
            }
            Action::Look { id } => self.ask(&Method::GET, &format!("sessions/{id}"), None),
            Action::End { id } => self.ask(&Method::DELETE, &format!("sessions/{id}"), None),
        }
    }

    /// The answer of the first node that has one.
    fn ask<T: DeserializeOwned>(
        &mut self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, FleetError> {
        let mut asked = 1;
        loop {
            let error = match self.ask_first(method, path, body) {
                Ok(answer) => {
                    self.is_answering = true;
                    return Ok(answer);
                }
                Err(FleetError::Refused { status, code, detail }) if status != 503 => {
                    return Err(FleetError::Refused { status, code, detail });
                }
                Err(error) => error,
            };
            self.nodes.rotate_left(1);
            if asked == self.nodes.len() {
                if self.is_answering {
                    log::error!("no node answers, so no lift is published: {error}");
                }
                self.is_answering = false;
                return Err(error);
            }
            if self.is_answering {
                log::warn!("{error}: asking {}", self.nodes[0]);
            }
            asked += 1;
        }
    }

    fn ask_first<T: DeserializeOwned>(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, FleetError> {
        let node = &self.nodes[0];
        let no_answer = |source| FleetError::NoAnswer { node: node.clone(), source };
        let request = Request::builder()
            .method(method)
            .uri(format!("{node}/api/v1/{path}"))
            .header("Authorization", &self.bearer)
            .header("Content-Type", "application/json");
        let answer = match body {
            Some(body) => request.body(body.to_string()).map(|request| self.agent.run(request)),
            None => request.body(()).map(|request| self.agent.run(request)),
        };
        let mut answer = answer.map_err(ureq::Error::from).flatten().map_err(no_answer)?;
        let status = answer.status();
        if status.is_success() {
            return answer.body_mut().read_json().map_err(no_answer);
        }
        let Problem { detail, code } = answer.body_mut().read_json().map_err(no_answer)?;
        Err(FleetError::Refused { status: status.as_u16(), code, detail })
    }
}

/// Without encryption a token may only go to this machine.
fn is_address(node: &str) -> bool {
    let Ok(uri) = node.parse::<ureq::http::Uri>() else { return false };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_here = host == "localhost"
        || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    let is_allowed = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => is_here,
        Some(_) | None => false,
    };
    is_allowed && uri.path() == "/" && !node.contains(['?', '#', '@'])
}

fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, FleetError> {
    let text =
        fs::read(path).map_err(|source| FleetError::File { path: path.to_owned(), source })?;
    let found: Vec<_> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            Ok(_) | Err(_) => None,
        })
        .collect();
    if found.is_empty() { Err(FleetError::Certificate(path.to_owned())) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_unencrypted_to_this_machine_only() {
        for (node, is_allowed) in [
            ("http://127.0.0.11:7080", true),
            ("http://localhost:7080/", true),
            ("http://[::1]:7080", true),
            ("https://192.168.1.11:7080", true),
            ("http://192.168.1.11:7080", false),
            ("https://192.168.1.11:7080/#token", false),
            ("https://192.168.1.11:7080/api", false),
            ("192.168.1.11:7080", false),
        ] {
            assert_eq!(is_address(node), is_allowed, "{node}");
        }
    }
}
