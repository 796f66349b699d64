//! Connections: accepted, counted, and ended where a client is too slow.

use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::{IntoResponse, Response};
use futures_util::future::OptionFuture;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tracing::{debug, info, warn};

use super::auth::Local;
use super::places::{Origin, Place, Places};
use super::tls::{Renewal, TlsFiles};
use crate::programs::Problem;
use crate::tokens::Scope;

const RETRY: Duration = Duration::from_secs(10);

/// How long a client may take for the head of a request, also of the next one on a connection.
const HEAD_LIMIT: Duration = Duration::from_secs(10);

/// How long a client may take for the start of TLS.
const TLS_LIMIT: Duration = Duration::from_secs(5);

/// How long a client may take no bytes while there are some for it.
const WRITE_LIMIT: Duration = Duration::from_secs(10);

/// How long a connection may last that is one too many.
const SPARE_LIMIT: Duration = Duration::from_secs(2);

/// The longest head of a request, in bytes.
const LONGEST_HEAD: usize = 16 * 1024;

/// After an accept that failed, as it does where the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The user id if the system does not report one.
const NOBODY: u32 = 65_534;

pub(super) async fn serve_socket(listener: UnixListener, scope: Scope, router: Router) {
    let mut clients = JoinSet::new();
    let mut places = Places::new();
    loop {
        let (stream, _) = next(&mut clients, || listener.accept()).await;
        // As reported by the system, not by the client.
        let uid = stream.peer_cred().map_or(NOBODY, |peer| peer.uid());
        if let Some(place) = places.take(Origin::Here(Some(uid))) {
            let local = Some(Local { uid, scope });
            clients.spawn(accompany(stream, place, None, local, router.clone()));
        } else {
            debug!(uid, "too many connections: one is closed");
        }
    }
}

/// The next connection. Meanwhile those that have ended leave the set.
async fn next<T, F>(clients: &mut JoinSet<()>, accept: impl Fn() -> F) -> T
where
    F: Future<Output = io::Result<T>>,
{
    loop {
        let accepted = tokio::select! {
            Some(_) = clients.join_next() => continue,
            accepted = accept() => accepted,
        };
        match accepted {
            Ok(connection) => return connection,
            Err(error) => {
                warn!(%error, "an HTTP connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

pub(super) async fn serve(address: SocketAddr, tls: Option<TlsFiles>, router: Router) {
    // A port at which nobody can connect would be of no use.
    let tls = match tls {
        Some(files) => Some(Renewal::insist(files).await),
        None => None,
    };
    accept(listen(address, RETRY).await, tls, router).await;
}

pub(super) async fn accept(listener: TcpListener, tls: Option<Renewal>, router: Router) {
    let acceptor = tls.as_ref().map(Renewal::acceptor);
    tokio::select! {
        Some(()) = OptionFuture::from(tls.map(Renewal::run)) => {}
        () = accept_with(listener, acceptor, router) => {}
    }
}

async fn accept_with(
    listener: TcpListener,
    tls: Option<watch::Receiver<TlsAcceptor>>,
    router: Router,
) {
    let mut clients = JoinSet::new();
    let mut places = Places::new();
    loop {
        let (stream, client) = next(&mut clients, || listener.accept()).await;
        // Without it, small events would wait for the acknowledgement of the one before.
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%error, "an HTTP connection stays slow");
        }
        // Of a client that vanishes nothing tells but that it acknowledges nothing.
        let unacknowledged = SockRef::from(&stream).set_tcp_user_timeout(Some(WRITE_LIMIT));
        if let Err(error) = unacknowledged {
            debug!(%error, "an HTTP connection may outlive its client");
        }
        let server = stream.local_addr().unwrap_or(client);
        if let Some(place) = places.take(Origin::of(client, server)) {
            let tls = tls.as_ref().map(|acceptor| acceptor.borrow().clone());
            clients.spawn(accompany(stream, place, tls, None, router.clone()));
        } else {
            debug!(%client, "too many connections: one is closed");
        }
    }
}

pub(crate) async fn listen(address: SocketAddr, retry: Duration) -> TcpListener {
    let mut is_first = true;
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => {
                info!(%address, "serving HTTP");
                return listener;
            }
            Err(error) if is_first && error.kind() == ErrorKind::AddrInUse => {
                warn!(%address, ?retry, "the HTTP port is in use: trying again");
            }
            Err(error) if is_first => {
                warn!(%address, %error, ?retry, "the HTTP address can't be used: trying again");
            }
            Err(_) => {}
        }
        is_first = false;
        sleep(retry).await;
    }
}

pub(super) async fn accompany<S>(
    stream: S,
    place: Place,
    tls: Option<TlsAcceptor>,
    local: Option<Local>,
    router: Router,
) where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let is_spare = place.is_spare;
    let talk = converse(stream, tls, Door { router, place: Arc::new(place), local });
    if !is_spare {
        talk.await;
    } else if timeout(SPARE_LIMIT, talk).await.is_err() {
        debug!("a connection beyond the limits took too long");
    }
}

async fn converse<S>(stream: S, tls: Option<TlsAcceptor>, door: Door)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE_LIMIT));
    let stream = Box::pin(stream);
    let Some(tls) = tls else {
        return answer(stream, door).await;
    };
    match timeout(TLS_LIMIT, tls.accept(stream)).await {
        Ok(Ok(stream)) => answer(stream, door).await,
        Ok(Err(error)) => debug!(%error, "the TLS handshake failed"),
        Err(_late) => debug!("the TLS handshake took too long"),
    }
}

async fn answer<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(stream: S, door: Door) {
    let is_spare = door.place.is_spare;
    let service = service_fn(move |request| door.clone().answer(request));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .max_buf_size(LONGEST_HEAD)
        .keep_alive(!is_spare)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = served.await {
        debug!(%error, "an HTTP connection broke");
    }
}

#[derive(Debug, Clone)]
struct Door {
    router: Router,
    place: Arc<Place>,
    local: Option<Local>,
}

impl Door {
    async fn answer(self, mut request: Request<Incoming>) -> Result<Response, Infallible> {
        if self.place.is_spare && request.uri().path() != "/healthz" {
            return Ok(Problem::busy("there are too many connections").into_response());
        }
        request.extensions_mut().insert(self.place);
        if let Some(local) = self.local {
            request.extensions_mut().insert(local);
        }
        TowerToHyperService::new(self.router).call(request).await
    }
}
