//! What there is: each address, who may ask for it, and within what limits.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tracing::error;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::admission::Admission;
use super::auth::{Local, Pass, token};
use super::events::{EventId, Events, Since};
use super::extract::Query;
use super::latched::Latched;
use super::metrics::{self, Counted};
use super::places::Place;
use super::snapshot::Looks;
use super::statistics::{self, Figures};
use super::stream::Client;
use super::{assets, calls, commands, diagnostics, openapi, sessions};
use crate::operator::NodeLoop;
use crate::programs::Problem;
use crate::tokens::{Token, Tokens};
use liftmesh_api::{Car, Fleet, Order};

/// How long a request may take; longer than the node's loop may.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);

/// The same for a clearing, which waits for a node that is about to end, and goes on after that.
const CLEAR_LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
pub(super) struct App {
    pub(super) looks: Looks,
    pub(super) events: Events,
    pub(super) admission: Admission,
    pub(super) figures: Figures,
    pub(super) tokens: watch::Receiver<Arc<Tokens>>,
    pub(super) counted: Counted,
    pub(super) node_loop: NodeLoop,
    /// Who reads the audit log has the only permit.
    pub(super) audits: Arc<Semaphore>,
    /// `None` where only Unix sockets lead here.
    pub(super) endpoint: Option<Endpoint>,
    /// Why the node does not run, where its caretaker answers in its place.
    pub(super) latched: Option<Latched>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    pub(crate) is_tls: bool,
}

/// The addresses of `/api/v1`. Each method and path comes from the description of its handler.
pub(super) fn api() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::preamble())
        .routes(routes!(get_fleet))
        .routes(routes!(list_cars))
        .routes(routes!(list_orders))
        .routes(routes!(follow_events))
        .routes(routes!(calls::place_call))
        .routes(routes!(calls::get_call, calls::withdraw_call))
        .routes(routes!(sessions::open_session))
        .routes(routes!(sessions::get_session, sessions::move_session, sessions::end_session))
        .routes(routes!(statistics::get_statistics))
        .routes(routes!(statistics::get_statistics_csv))
        .routes(routes!(commands::give_command))
        .routes(routes!(commands::clear_hang))
        .routes(routes!(commands::release_floor))
        .routes(routes!(commands::get_latch))
        .routes(routes!(diagnostics::get_status))
        .routes(routes!(diagnostics::list_audit_records))
        .routes(routes!(diagnostics::list_presses))
        .routes(routes!(diagnostics::change_token))
        .routes(routes!(diagnostics::rewire))
}

/// Those that the caretaker of a latched node serves as well.
fn latched_api() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(follow_events))
        .routes(routes!(commands::get_latch))
        .routes(routes!(commands::clear_hang))
}

pub(super) fn router(app: App) -> Router {
    let api = if app.latched.is_some() { latched_api() } else { api() };
    let api = Router::from(api).route("/openapi.json", get(openapi::document));
    let readable = Router::new()
        .route("/readyz", get(diagnostics::ready))
        .route("/metrics", get(metrics::page))
        .nest("/api/v1", api)
        .route_layer(from_fn_with_state(app.clone(), admit_reader));
    Router::new()
        .route("/", get(assets::index))
        .route("/assets/{*name}", get(assets::asset))
        .route("/healthz", get(diagnostics::live))
        .merge(readable)
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
        .layer(from_fn_with_state(app.clone(), guard))
        .layer(from_fn_with_state(app.clone(), limit))
        .with_state(app)
}

async fn not_found(State(app): State<App>) -> Problem {
    match &app.latched {
        Some(latched) => latched.refusal(),
        None => {
            Problem::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this address")
        }
    }
}

async fn not_allowed() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this address does not accept that method",
    )
}

/// Ends requests that take too long, and adds headers that hold for every response.
async fn limit(State(app): State<App>, request: Request, next: Next) -> Response {
    let is_clearing = app.latched.is_some() && request.uri().path().ends_with("/clear-hang");
    let limit = if is_clearing { CLEAR_LIMIT } else { REQUEST_LIMIT };
    let answered = timeout(limit, next.run(request)).await;
    let late = || if is_clearing { clearing_goes_on() } else { Problem::no_answer() };
    let mut response = answered.unwrap_or_else(|_late| late().into_response());
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

fn clearing_goes_on() -> Problem {
    let detail = "the clearing is taking long, and continues: see the audit log for whether it is \
                  done, and /api/v1/latch for whether the node is still latched";
    Problem::unavailable("no_answer", detail)
}

/// Beyond loopback, reading needs a token, too. Handlers of what changes something ask for more.
async fn admit_reader(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let is_open = request.extensions().get::<Local>().is_some()
        || app.endpoint.is_some_and(|endpoint| endpoint.address.ip().is_loopback());
    if is_open || ![Method::GET, Method::HEAD].contains(request.method()) {
        return next.run(request).await;
    }
    match token(&app, request.headers()).await {
        Ok(token) => {
            request.extensions_mut().insert(token);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

/// Refuses requests for another host: a page of another site may be made to point here.
async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    match app.endpoint.filter(|_| request.extensions().get::<Local>().is_none()) {
        // Over TLS the browser has checked whose certificate it is.
        Some(endpoint) if !endpoint.is_tls => match check_host(request.headers(), endpoint.address)
        {
            Ok(()) => next.run(request).await,
            Err(problem) => problem.into_response(),
        },
        // No browser uses a Unix socket.
        Some(_) | None => next.run(request).await,
    }
}

fn check_host(headers: &HeaderMap, address: SocketAddr) -> Result<(), Problem> {
    let mut hosts = headers.get_all(header::HOST).iter();
    if hosts.all(|host| host.to_str().is_ok_and(|host| is_own(host, address))) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "other_host",
        format!("this node is http://{address}"),
    ))
}

/// Whether a host is this one: an address, with whatever port leads here, or `localhost`.
fn is_own(host: &str, own: SocketAddr) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse();
    name == "localhost"
        || address
            .is_ok_and(|address: std::net::IpAddr| address == own.ip() || address.is_loopback())
}

pub(super) fn created_or_known(is_new: bool) -> StatusCode {
    if is_new { StatusCode::CREATED } else { StatusCode::OK }
}

pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => {
            let about =
                [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
            (status, about, body).into_response()
        }
        Err(error) => {
            error!(%error, "an answer can't be written");
            Problem::internal().into_response()
        }
    }
}

/// The fleet: its nodes and their states.
#[utoipa::path(get, path = "/fleet", responses((status = 200, body = Fleet)))]
pub(super) async fn get_fleet(State(app): State<App>) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &app.looks.take().await?.state.fleet))
}

/// Every car.
#[utoipa::path(get, path = "/cars", responses((status = 200, body = Vec<Car>)))]
pub(super) async fn list_cars(State(app): State<App>) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &app.looks.take().await?.state.cars))
}

/// The open orders, the oldest first.
#[utoipa::path(get, path = "/orders", responses((status = 200, body = Vec<Order>)))]
pub(super) async fn list_orders(State(app): State<App>) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &app.looks.take().await?.state.orders))
}

#[derive(Debug, Deserialize)]
pub(super) struct Resume {
    after: Option<String>,
    recent: Option<usize>,
}

/// The name of the last event that a client has; browsers send it by themselves.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The state whenever it changes, and every event: as server-sent events.
#[utoipa::path(
    get,
    path = "/events",
    params(
        ("after" = Option<String>, Query, description = "The id of the last event that the client received"),
        ("recent" = Option<usize>, Query, description = "Without an id: start with this many of the latest events, at most 1024"),
        ("Last-Event-ID" = Option<String>, Header, description = "The same; takes precedence"),
    ),
    responses(
        (status = 200, body = liftmesh_api::State, content_type = "text/event-stream",
         description = "Messages `state` (with this data), `event` and `missed`"),
        (status = 400, body = Problem, description = "A parameter is not a number"),
        (status = 503, body = Problem, description = "Too many clients, or the node does not answer"),
    )
)]
pub(super) async fn follow_events(
    State(app): State<App>,
    Query(resume): Query<Resume>,
    Extension(place): Extension<Arc<Place>>,
    reader: Option<Extension<Token>>,
    headers: HeaderMap,
) -> Result<Client, Problem> {
    let seat = place.seat()?;
    // What a browser sends after a break is newer than what the address says.
    let after = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
    let since = match after.or(resume.after).filter(|_| app.latched.is_none()) {
        None => resume.recent.map_or(Since::Now, Since::Recent),
        Some(text) => Since::Event(EventId::parse(&text)),
    };
    let subscription = app.events.ask(move |log| log.subscription(since)).await?;
    let (state, states) = if let Some(latched) = &app.latched {
        latched.follow()
    } else {
        let states = app.looks.follow();
        (app.looks.take().await?.frame(), states)
    };
    let pass = Pass { token: reader.map(|Extension(token)| token.hash), tokens: app.tokens };
    Ok(Client::new(state, subscription, states, pass, (seat, app.counted.streams)))
}
