//! `/api/v1/sessions`: a robot has a car to itself for a while. It is opened at any node, and the fleet
//! remembers it: one with the `request_id` of an earlier one is that one.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use elevator_fleet::node::Access;
use elevator_fleet::settings::{RequestId, Session};
use liftmesh_api::SessionView;
use serde::Deserialize;
use utoipa::ToSchema;

use super::auth::{Bearer, authorize};
use super::extract::Path;
use super::routes::{App, created_or_known, json, parsed};
use crate::operator::SessionChange;
use crate::programs::{
    OpenSession, Problem, Way, chosen_or_random, floor, not_open, other_owner, owner, refused,
};
use crate::tokens::Scope;

/// Where the robot wants to go next.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NextFloor {
    /// The floor where the door is open means more time there.
    #[schema(example = 5)]
    floor: u8,
    /// How long the door stays open there: 1 to 120 seconds; by default as before.
    #[schema(minimum = 1, maximum = 120, example = 30)]
    seconds: Option<u16>,
    /// As for the session itself.
    #[serde(default)]
    access: bool,
}

/// What the fleet calls a token's request. One token is told from another of the same name by its hash.
pub(super) fn request_of(bearer: &Bearer, request_id: &str) -> RequestId {
    Way::Http.request(bearer.identity.as_bytes(), request_id)
}

/// What a call or session with or without a right of access needs.
pub(super) fn scope(access: bool) -> (Scope, Access) {
    if access { (Scope::Access, Access::Granted) } else { (Scope::Call, Access::Public) }
}

/// The session of this name.
fn named(id: &str) -> Result<RequestId, Problem> {
    RequestId::parse(id).ok_or_else(not_open)
}

/// The token of a request that changes the session of this name, and the session.
///
/// # Errors
/// As [`authorize`], there is no such name, or somebody else has opened it.
async fn authorize_owner(
    app: &App,
    parts: &Parts,
    id: &str,
) -> Result<(Bearer, RequestId), Problem> {
    let bearer = authorize(app, parts, Scope::Call).await?;
    let id = named(id)?;
    check_owner(&bearer, id)?;
    Ok((bearer, id))
}

/// # Errors
/// Somebody else has opened it.
fn check_owner(bearer: &Bearer, id: RequestId) -> Result<(), Problem> {
    if owner(&bearer.identity) == id.owner {
        return Ok(());
    }
    Err(other_owner("the session was opened with another token"))
}

/// Opens a session for the bearer of a token; returns it, and whether it is new.
pub(super) async fn open_for(
    app: &App,
    bearer: &Bearer,
    mut wanted: OpenSession,
) -> Result<(Session, bool), Problem> {
    let (needed, access) = scope(wanted.access);
    bearer.check_scope(needed)?;
    let id = request_of(bearer, &chosen_or_random(wanted.request_id.take())?);
    let request = wanted.request(id, bearer.name.clone(), access)?;
    app.node_loop.open_session(request).await?.map_err(refused)
}

/// Ends the trip of a robot for the bearer of the token that has called for it.
pub(super) async fn withdraw(app: &App, bearer: &Bearer, id: RequestId) -> Result<(), Problem> {
    check_owner(bearer, id)?;
    let bearer = bearer.name.clone();
    let ended = app.node_loop.change_session(id, SessionChange::Withdraw, bearer).await?;
    ended.map(drop).map_err(refused)
}

/// Opens a session: a car comes to a floor and holds its door open for a robot.
#[utoipa::path(
    post,
    path = "/sessions",
    request_body = OpenSession,
    security(("token" = ["call"])),
    responses(
        (status = 201, body = SessionView, headers(("Location" = String, description = "The address of the session"))),
        (status = 200, body = SessionView, description = "The session that this request already opened"),
        (status = 400, body = Problem, description = "Invalid request body, or the time is too long"),
        (status = 409, body = Problem, description = "The id was used for another session, all cars are recalled, the floor is locked, or too many sessions are open"),
        (status = 422, body = Problem, description = "No such car or floor"),
        (status = 503, body = Problem, description = "The node does not answer: the session may or may not have been opened"),
    )
)]
pub(super) async fn open_session(
    State(app): State<App>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let bearer = authorize(&app, &parts, Scope::Call).await?;
    let (session, is_new) = open_for(&app, &bearer, parsed(body).await?).await?;
    let status = created_or_known(is_new);
    let there = [(header::LOCATION, format!("/api/v1/sessions/{}", session.id))];
    Ok((there, json(status, &SessionView::from(&session))).into_response())
}

/// The progress of a session. The latest 32 ended sessions are remembered.
#[utoipa::path(
    get,
    path = "/sessions/{id}",
    params(("id" = String, Path, description = "The name of the session")),
    responses(
        (status = 200, body = SessionView),
        (status = 404, body = Problem, description = "Unknown session"),
    )
)]
pub(super) async fn get_session(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id = named(&id)?;
    let look = app.look().await?;
    let mut sessions = look.status.sessions();
    let session = sessions.find(|session| session.id == id).ok_or_else(not_open)?;
    Ok(json(StatusCode::OK, &SessionView::from(session)))
}

/// Sends the car to another floor, or holds its door open for longer.
#[utoipa::path(
    put,
    path = "/sessions/{id}",
    params(("id" = String, Path, description = "The name of the session")),
    request_body = NextFloor,
    security(("token" = ["call"])),
    responses(
        (status = 200, body = SessionView),
        (status = 400, body = Problem, description = "Invalid request body, or the time is too long"),
        (status = 403, body = Problem, description = "The token's scope does not allow this, or another token opened the session"),
        (status = 404, body = Problem, description = "No such session is open"),
        (status = 409, body = Problem, description = "All cars are recalled, or the floor is locked"),
        (status = 422, body = Problem, description = "No such floor"),
        (status = 503, body = Problem, description = "The node does not answer: the car may or may not go there"),
    )
)]
pub(super) async fn move_session(
    State(app): State<App>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let (bearer, id) = authorize_owner(&app, &parts, &id).await?;
    let NextFloor { floor: to, seconds, access } = parsed(body).await?;
    let (needed, access) = scope(access);
    bearer.check_scope(needed)?;
    let change = SessionChange::Floor { floor: floor(to)?, seconds, access };
    let bearer = bearer.name.clone();
    let session = app.node_loop.change_session(id, change, bearer).await?.map_err(refused)?;
    Ok(json(StatusCode::OK, &SessionView::from(&session)))
}

/// Ends a session: the car returns to service. Ending it again changes nothing. The scope `operate`
/// can end any session, which is audited.
#[utoipa::path(
    delete,
    path = "/sessions/{id}",
    params(("id" = String, Path, description = "The name of the session")),
    security(("token" = ["call"])),
    responses(
        (status = 200, body = SessionView),
        (status = 403, body = Problem, description = "The token's scope does not allow this, or another token opened the session and the scope is not `operate`"),
        (status = 404, body = Problem, description = "Unknown session"),
        (status = 503, body = Problem, description = "The node does not answer: the session may or may not have ended"),
    )
)]
pub(super) async fn end_session(
    State(app): State<App>,
    Path(id): Path<String>,
    parts: Parts,
) -> Result<Response, Problem> {
    let bearer = authorize(&app, &parts, Scope::Call).await?;
    let id = named(&id)?;
    let change = match check_owner(&bearer, id) {
        Ok(()) => SessionChange::End,
        Err(_) if bearer.scope >= Scope::Operate => SessionChange::Stop(bearer.account.clone()),
        Err(problem) => return Err(problem),
    };
    let bearer = bearer.name.clone();
    let ended = app.node_loop.change_session(id, change, bearer).await?;
    let session = ended.map_err(refused)?;
    Ok(json(StatusCode::OK, &SessionView::from(&session)))
}
