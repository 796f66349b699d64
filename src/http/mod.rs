//! The node's HTTP side, over TCP and its Unix sockets: the web panel, the API of `/api/v1`, metrics
//! and health.
//!
//! ```text
//!   runtime ──events──▶ EventLog ──▶ Client (one a stream) ──▶ hyper ──▶ browser, robot, Prometheus
//!      ▲                  Looker ──states──▶ ▲                   │
//!      └──── NodeLoop ◀── Looker, Calls ◀─── routes ◀────────────┘
//! ```
//!
//! All of it runs beside the node's loop, which it reaches only through the loop's bounded queue of
//! requests. When it fails, the node goes on. Each task owns its state: [`Looker`] asks for the
//! node's state for all clients together, [`EventLog`] numbers and keeps events, [`Limits`] counts
//! requests, [`Collector`] keeps statistics. Read `routes.rs` for what there is, `server.rs` for
//! the limits of connections, and `liftmesh-api` for what the API says.

mod admission;
mod assets;
mod auth;
mod calls;
mod commands;
mod desk;
mod diagnostics;
mod events;
mod extract;
pub(crate) mod latched;
mod metrics;
mod openapi;
mod places;
mod routes;
mod server;
pub(crate) mod sessions;
mod snapshot;
mod statistics;
mod stream;
pub(crate) mod tls;

use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use axum::Router;
use elevator_fleet::dispatch::Kinematics;
use tokio::sync::{Semaphore, broadcast, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::error;

use self::admission::Limits;
use self::desk::Desk;
use self::events::EventLog;
use self::latched::Latched;
use self::metrics::Counted;
use self::routes::App;
pub(crate) use self::routes::Endpoint;
pub(crate) use self::server::listen;
use self::snapshot::Looker;
use self::statistics::Collector;
pub(crate) use self::tls::TlsFiles;
use crate::journal::CommitTimes;
use crate::mqtt_metrics;
use crate::operator::{Event, NodeLoop};
use crate::side::Side;
use crate::tokens::{Scope, Tokens};

#[derive(Debug)]
pub(crate) struct HttpSettings {
    /// The Unix sockets, and what accounts may do there.
    pub(crate) sockets: Vec<(UnixListener, Scope)>,
    pub(crate) address: Option<SocketAddr>,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) kinematics: Kinematics,
    pub(crate) mqtt: Option<mqtt_metrics::Counted>,
    pub(crate) commits: Option<CommitTimes>,
}

/// Starts the server. An address or a certificate that can't be used is tried again.
pub(crate) fn start(
    settings: HttpSettings,
    node_loop: NodeLoop,
    events: broadcast::Receiver<Event>,
    tokens: watch::Receiver<Arc<Tokens>>,
) -> io::Result<Side> {
    let boot = getrandom::u64().map_err(io::Error::other)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Side::start("http", runtime, move |stopped| {
        run(settings, node_loop, events, tokens, boot, stopped)
    })
}

async fn run(
    settings: HttpSettings,
    node_loop: NodeLoop,
    events: broadcast::Receiver<Event>,
    tokens: watch::Receiver<Arc<Tokens>>,
    boot: u64,
    stopped: oneshot::Receiver<()>,
) {
    let HttpSettings { sockets, address, tls, kinematics, mqtt, commits } = settings;
    let counted = Counted::new(mqtt, commits);
    let endpoint = address.map(|address| Endpoint { address, is_tls: tls.is_some() });
    let ways = Ways { node_loop, events, tokens };
    let (router, mut tasks) = assemble(endpoint, ways, None, kinematics, counted, boot);
    for (socket, scope) in sockets {
        match tokio::net::UnixListener::from_std(socket) {
            Ok(socket) => {
                tasks.spawn(server::serve_socket(socket, scope, router.clone()));
            }
            Err(error) => error!(%error, "a Unix socket can't be served"),
        }
    }
    if let Some(address) = address {
        tasks.spawn(server::serve(address, tls, router));
    }
    tokio::select! {
        _ = stopped => {}
        ended = tasks.join_next() => {
            let reason = match ended {
                Some(Err(failure)) => failure.to_string(),
                Some(Ok(())) | None => "the node no longer answers".to_owned(),
            };
            error!(reason, "the HTTP server has failed: the node goes on without it");
        }
    }
    tasks.shutdown().await;
}

struct Ways {
    node_loop: NodeLoop,
    events: broadcast::Receiver<Event>,
    tokens: watch::Receiver<Arc<Tokens>>,
}

fn assemble(
    endpoint: Option<Endpoint>,
    Ways { node_loop, events, tokens }: Ways,
    latched: Option<Latched>,
    kinematics: Kinematics,
    counted: Counted,
    boot: u64,
) -> (Router, JoinSet<()>) {
    let mut tasks = JoinSet::new();
    let (looker, looks) = Looker::new(node_loop.clone(), kinematics);
    tasks.spawn(looker.run());
    let (figures, wishes) = Desk::new(statistics::WISHES);
    let served = events.resubscribe();
    let collector = Collector::new(served, looks.clone(), node_loop.clone(), counted.clone());
    tasks.spawn(collector.run(wishes));
    let (followed, wishes) = Desk::new(events::WISHES);
    tasks.spawn(EventLog::new(events, boot, counted.clone()).run(wishes));
    let (admission, wishes) = Desk::new(admission::QUEUE);
    tasks.spawn(desk::serve(wishes, Limits::new(Instant::now())));
    let audits = Arc::new(Semaphore::new(1));
    let router = routes::router(App {
        looks,
        events: followed,
        admission,
        figures,
        tokens,
        counted,
        node_loop,
        audits,
        endpoint,
        latched,
    });
    (router, tasks)
}

#[cfg(test)]
mod tests;
