//! What is served in place of a node that does not run because it is latched: the panel, which shows
//! why, and the way to clear the latch. Nothing here knows a panel line.
//!
//! [`serve`] ends once the latch is cleared. One task, [`Keeper`], clears it, and counts requests
//! against their limits.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use bytes::Bytes;
use elevator_fleet::model::NodeId;
use futures_util::stream;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use super::admission::too_many;
use super::auth::{Bearer, Pass, bearer};
use super::commands::{ClearHang, HangCleared, LatchState, not_here, nothing_to_clear};
use super::extract::Path;
use super::limits::Limits;
use super::places::{STREAMS, Streams};
use super::routes::{Endpoint, guarded, json, limit, not_allowed, parsed, within};
use super::stream::Frame;
use super::tls::Renewal;
use super::{assets, openapi, server};
use crate::clearance::{self, ClearError, Clearance, Cleared};
use crate::journal::Account;
use crate::latch::{self, Latch};
use crate::programs::{Problem, no_car};
use crate::tokens::{Scope, StoredTokens, Token, TokenName, Tokens};

/// The bound of the queue of requests; when it is full, handlers wait until their own time limit.
const QUEUE: usize = 32;

/// A stream says that often that the latch is there, as a sign of life.
const REFRESH: Duration = Duration::from_secs(2);

/// After the latch was cleared, for the answer to be on its way.
const GRACE: Duration = Duration::from_millis(500);

/// How long a clearing may take before the client is told that it goes on: a node that is about to end
/// is waited for, and the disk may be slow.
const CLEAR_LIMIT: Duration = Duration::from_secs(30);

/// What is served.
pub(crate) struct LatchedSettings {
    /// Where.
    pub(crate) address: SocketAddr,
    pub(crate) data_dir: PathBuf,
    pub(crate) node: NodeId,
    pub(crate) latch: Latch,
    /// With which certificate, if it is over TLS.
    pub(crate) tls: Option<Renewal>,
}

/// What the handlers have in common.
#[derive(Debug, Clone)]
struct App {
    shown: watch::Receiver<Shown>,
    endpoint: Endpoint,
    keeper: mpsc::Sender<Wish>,
    tokens: watch::Receiver<Arc<Tokens>>,
    seats: Arc<Semaphore>,
}

/// The latch as clients see it.
#[derive(Debug, Clone)]
struct Shown {
    state: Arc<LatchState>,
    frame: Bytes,
}

impl Shown {
    fn new(state: LatchState) -> Self {
        Self { frame: Frame::new("latched", None, &state).event(), state: Arc::new(state) }
    }
}

/// Serves until somebody has cleared the latch here.
pub(crate) async fn serve(listener: TcpListener, settings: LatchedSettings) {
    let (wishes, received) = mpsc::channel(QUEUE);
    let LatchedSettings { address, data_dir, node, latch, tls } = settings;
    let (show, shown) = watch::channel(Shown::new(LatchState {
        running: false,
        node: node.clone(),
        text: Some(latch.to_string()),
        remedy: Some(latch::remedy(&data_dir)),
        latch: Some(latch),
        tokens_usable: Some(false),
    }));
    let (counting, counted) = watch::channel(Arc::default());
    let mut keeper = Keeper {
        tokens: StoredTokens::new(data_dir.clone(), node.clone()),
        data_dir,
        node,
        limits: Limits::new(Instant::now()),
        wishes: received,
        show,
        counting,
    };
    keeper.refresh().await;
    let router = router(App {
        shown,
        endpoint: Endpoint { address, is_tls: tls.is_some() },
        keeper: wishes,
        tokens: counted,
        seats: Arc::new(Semaphore::new(STREAMS)),
    });
    tokio::select! {
        () = keeper.run() => {}
        () = server::accept(listener, tls, router) => {}
    }
}

impl App {
    fn state(&self) -> Arc<LatchState> {
        Arc::clone(&self.shown.borrow().state)
    }

    /// What is wrong with every other request.
    fn refusal(&self) -> Problem {
        let state = self.state();
        let text = state.text.as_deref().unwrap_or_default();
        let detail = format!("node {} does not run: {text}", state.node);
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "latched", detail)
    }

    async fn ask<T>(&self, wish: Wish, answer: oneshot::Receiver<T>) -> Result<T, Problem> {
        self.keeper.send(wish).await.map_err(|_closed| Problem::no_answer())?;
        answer.await.map_err(|_closed| Problem::no_answer())
    }

    async fn admit(&self, bearer: Option<TokenName>) -> Result<(), Problem> {
        let (answer, admitted) = oneshot::channel();
        if self.ask(Wish::Admit { bearer, answer }, admitted).await? {
            return Ok(());
        }
        Err(too_many())
    }

    /// The token of a request, if its scope is enough. As at a node that runs.
    async fn authorize(&self, headers: &HeaderMap, needed: Scope) -> Result<Token, Problem> {
        let Some(text) = bearer(headers) else {
            self.admit(None).await?;
            return Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "token_required",
                "this needs a token: send `Authorization: Bearer …` with one made by `liftmesh \
                 token create`",
            ));
        };
        let (answer, found) = oneshot::channel();
        let found = self.ask(Wish::Find { text: text.to_owned(), answer }, found).await?;
        let bearer = found.as_ref().ok().and_then(|found| Some(found.as_ref()?.name.clone()));
        self.admit(bearer).await?;
        match found? {
            Some(token) => {
                Bearer::from(token.clone()).check_scope(needed)?;
                Ok(token)
            }
            None => Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "token_unknown",
                "unknown token: it was revoked, or belongs to another fleet",
            )),
        }
    }
}

fn router(app: App) -> Router {
    let api = Router::new()
        .route("/latch", get(state))
        .route("/events", get(events))
        .route("/cars/{car}/clear-hang", post(clear))
        .route("/openapi.json", get(openapi::document));
    // What tells something of the fleet.
    let readable = Router::new()
        .route("/metrics", get(metrics))
        .nest("/api/v1", api)
        .route_layer(from_fn_with_state(app.clone(), admit_reader));
    Router::new()
        .route("/", get(assets::index))
        .route("/assets/{*name}", get(assets::asset))
        .route("/healthz", get(super::health::live))
        .merge(readable)
        .fallback(refuse)
        .method_not_allowed_fallback(not_allowed)
        .layer(from_fn_with_state(app.clone(), guard))
        .layer(from_fn(limit_latched))
        .with_state(app)
}

/// Beyond loopback only the bearer of a token may read. As at a node that runs.
async fn admit_reader(State(app): State<App>, mut request: Request, next: Next) -> Response {
    if app.endpoint.is_open() || ![Method::GET, Method::HEAD].contains(request.method()) {
        return next.run(request).await;
    }
    match app.authorize(request.headers(), Scope::View).await {
        Ok(token) => {
            request.extensions_mut().insert(token);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    guarded(app.endpoint, request, next).await
}

/// A clearing may take longer than other requests, and does not end with its limit.
async fn limit_latched(request: Request, next: Next) -> Response {
    if request.uri().path().ends_with("/clear-hang") {
        within(CLEAR_LIMIT, clearing_goes_on, request, next).await
    } else {
        limit(request, next).await
    }
}

fn clearing_goes_on() -> Problem {
    let detail = "the clearing is taking long, and continues: see the audit log for whether it is \
                  done, and /api/v1/latch for whether the node is still latched";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "no_answer", detail)
}

async fn refuse(State(app): State<App>) -> Problem {
    app.refusal()
}

async fn state(State(app): State<App>) -> Response {
    json(StatusCode::OK, &*app.state())
}

/// The stream of a node that does not run: the latch, at once and every [`REFRESH`].
async fn events(
    State(app): State<App>,
    Extension(streams): Extension<Streams>,
    reader: Option<Extension<Token>>,
) -> Result<Response, Problem> {
    let seat = streams.take(&app.seats)?;
    let pass = match reader {
        Some(Extension(Token { hash, .. })) => Pass::Token { hash, tokens: app.tokens },
        None => Pass::Open,
    };
    let client = (app.shown, pass, seat, Duration::ZERO);
    let frames = stream::unfold(client, |(shown, mut pass, seat, wait)| async move {
        tokio::select! {
            biased;
            () = pass.ended() => return None,
            () = sleep(wait) => {}
        }
        let frame = shown.borrow().frame.clone();
        Some((Ok::<_, Infallible>(frame), (shown, pass, seat, REFRESH)))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(frames)).into_response())
}

/// What a scrape of a node that does not run gets.
async fn metrics(State(app): State<App>) -> Response {
    let text = format!(
        "# HELP liftmesh_latched 1 while the node does not run because of a latch.\n\
         # TYPE liftmesh_latched gauge\n\
         liftmesh_latched{{node=\"{}\"}} 1\n",
        app.state().node
    );
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

async fn clear(
    State(app): State<App>,
    Path(car): Path<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let token = app.authorize(&parts.headers, Scope::Operate).await?;
    let (operator, reason) = parsed::<ClearHang>(body).await?.checked()?;
    let own = app.state().node.clone();
    if NodeId::new(&car).map_err(|cause| no_car(&cause))? != own {
        return Err(not_here(format!("this is {own}'s computer: clear {car} on its own")));
    }
    let (answer, cleared) = oneshot::channel();
    let account = Account::of_token(&token.name);
    let wish = Wish::Clear { operator, reason, account, answer };
    Ok(json(StatusCode::OK, &app.ask(wish, cleared).await??))
}

#[derive(Debug)]
enum Wish {
    Admit {
        bearer: Option<TokenName>,
        answer: oneshot::Sender<bool>,
    },
    /// The token with this text, if it counts.
    Find {
        text: String,
        answer: oneshot::Sender<Result<Option<Token>, Problem>>,
    },
    Clear {
        operator: String,
        reason: String,
        account: Account,
        answer: oneshot::Sender<Result<HangCleared, Problem>>,
    },
}

/// The task's state.
struct Keeper {
    data_dir: PathBuf,
    node: NodeId,
    tokens: StoredTokens,
    limits: Limits,
    wishes: mpsc::Receiver<Wish>,
    show: watch::Sender<Shown>,
    /// Those that count, for streams that are under way.
    counting: watch::Sender<Arc<Tokens>>,
}

impl Keeper {
    /// Serves until the latch is cleared.
    async fn run(mut self) {
        loop {
            let wish = tokio::select! {
                wish = self.wishes.recv() => wish,
                () = sleep(REFRESH) => {
                    self.refresh().await;
                    continue;
                }
            };
            let Some(wish) = wish else { return };
            match wish {
                Wish::Admit { bearer, answer } => {
                    answer.send(self.limits.admit(bearer.as_ref(), Instant::now())).ok();
                }
                Wish::Find { text, answer } => {
                    answer.send(self.find(&text).await).ok();
                }
                Wish::Clear { operator, reason, account, answer } => {
                    let cleared = self.clear(operator, reason, account).await;
                    let is_done = cleared.is_ok();
                    answer.send(cleared).ok();
                    if is_done {
                        sleep(GRACE).await;
                        return;
                    }
                }
            }
        }
    }

    /// Shows whether a token can clear the latch.
    async fn refresh(&mut self) {
        let tokens = self.tokens.get().await.cloned().unwrap_or_default();
        let usable = Some(tokens.has(Scope::Operate, SystemTime::now()));
        self.counting.send_if_modified(|counting| {
            let is_news = **counting != tokens;
            if is_news {
                *counting = Arc::new(tokens);
            }
            is_news
        });
        self.show.send_if_modified(|shown| {
            let is_news = shown.state.tokens_usable != usable;
            if is_news {
                *shown = Shown::new(LatchState { tokens_usable: usable, ..(*shown.state).clone() });
            }
            is_news
        });
    }

    async fn find(&mut self, text: &str) -> Result<Option<Token>, Problem> {
        self.refresh().await;
        match self.tokens.get().await {
            Some(tokens) => Ok(tokens.find(text, SystemTime::now()).cloned()),
            None => Err(Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "tokens_unusable",
                "the tokens can't be read, so none can clear it: run `liftmesh clear-hang` on the \
                 node's computer; the caretaker's log says why",
            )),
        }
    }

    async fn clear(
        &self,
        operator: String,
        reason: String,
        account: Account,
    ) -> Result<HangCleared, Problem> {
        let (data_dir, node) = (self.data_dir.clone(), self.node.clone());
        let by = operator.clone();
        let cleared = tokio::task::spawn_blocking(move || {
            let by = Clearance { operator: &operator, reason: &reason, account: &account };
            clearance::clear(&data_dir, Some(node), by)
        });
        match cleared.await {
            Ok(Ok(Some(Cleared { latch, record }))) => {
                info!(operator = by, %latch, record, "cleared");
                Ok(HangCleared {
                    car: self.node.clone(),
                    cleared: latch.to_string(),
                    audit_records: record,
                })
            }
            Ok(Ok(None)) => Err(nothing_to_clear("the latch was already cleared: start the node")),
            Ok(Err(error)) => Err(refused(&error)),
            Err(_panicked) => Err(Problem::no_answer()),
        }
    }
}

fn refused(error: &ClearError) -> Problem {
    warn!(error = error as &dyn std::error::Error, "nothing was cleared");
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    let detail = format!("{error}{}", cause.unwrap_or_default());
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_cleared", detail)
}
