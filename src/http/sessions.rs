//! `/api/v1/sessions`: a robot has a car to itself for a while. It is opened at any node, and the fleet
//! remembers it: one with the `request_id` of an earlier one is that one.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use elevator_fleet::node::Access;
use elevator_fleet::settings::{RequestId, Session};
use liftmesh_api::{NextFloor, SessionView};

use super::auth::Bearer;
use super::extract::{By, CALL, Json, Path};
use super::routes::{App, created_or_known, json};
use crate::operator::{NodeRequest, SessionChange};
use crate::programs::{OpenSession, Problem, Way, chosen_or_random, named, not_open, other_owner};
use crate::tokens::Scope;

/// What the fleet calls a token's request. One token is told from another of the same name by its hash.
pub(super) fn request_of(bearer: &Bearer, request_id: &str) -> RequestId {
    Way::Http.request(bearer.identity.as_bytes(), request_id)
}

pub(super) fn scope(access: bool) -> (Scope, Access) {
    if access { (Scope::Access, Access::Granted) } else { (Scope::Call, Access::Public) }
}

fn check_owner(bearer: &Bearer, id: RequestId) -> Result<(), Problem> {
    if Way::Http.owner(bearer.identity.as_bytes()) == id.owner {
        return Ok(());
    }
    Err(other_owner("the session was opened with another token"))
}

pub(super) async fn open_for(
    app: &App,
    bearer: &Bearer,
    mut wanted: OpenSession,
) -> Result<(Session, bool), Problem> {
    let (needed, access) = scope(wanted.access);
    bearer.check_scope(needed)?;
    let id = request_of(bearer, &chosen_or_random(wanted.request_id.take())?);
    let request = wanted.request(id, bearer.name.clone(), access)?;
    Ok(app.node_loop.ask_node(|reply| NodeRequest::OpenSession(request, reply)).await??)
}

async fn change(
    app: &App,
    bearer: Bearer,
    id: RequestId,
    change: SessionChange,
) -> Result<Session, Problem> {
    let bearer = bearer.name;
    let ask = |reply| NodeRequest::ChangeSession { id, change, bearer, reply };
    Ok(app.node_loop.ask_node(ask).await??)
}

pub(super) async fn withdraw(app: &App, bearer: Bearer, id: RequestId) -> Result<(), Problem> {
    check_owner(&bearer, id)?;
    change(app, bearer, id, SessionChange::Withdraw).await.map(drop)
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
        (status = 409, body = Problem, description = "The id was used for another session, all cars are recalled, the floor is locked, or too many sessions are open"),
        (status = 422, body = Problem, description = "No such car or floor"),
    )
)]
pub(super) async fn open_session(
    State(app): State<App>,
    By(bearer): By<CALL>,
    Json(wanted): Json<OpenSession>,
) -> Result<Response, Problem> {
    let (session, is_new) = open_for(&app, &bearer, wanted).await?;
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
    let look = app.looks.take().await?;
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
        (status = 404, body = Problem, description = "No such session is open"),
        (status = 409, body = Problem, description = "All cars are recalled, or the floor is locked"),
        (status = 422, body = Problem, description = "No such floor"),
    )
)]
pub(super) async fn move_session(
    State(app): State<App>,
    By(bearer): By<CALL>,
    Path(id): Path<String>,
    Json(NextFloor { floor, seconds, access }): Json<NextFloor>,
) -> Result<Response, Problem> {
    let id = named(&id)?;
    check_owner(&bearer, id)?;
    let (needed, access) = scope(access);
    bearer.check_scope(needed)?;
    let there = SessionChange::Floor { floor, seconds, access };
    let session = change(&app, bearer, id, there).await?;
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
        (status = 404, body = Problem, description = "Unknown session"),
    )
)]
pub(super) async fn end_session(
    State(app): State<App>,
    By(bearer): By<CALL>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id = named(&id)?;
    let end = match check_owner(&bearer, id) {
        Ok(()) => SessionChange::End,
        Err(_) if bearer.scope >= Scope::Operate => SessionChange::Stop(bearer.account.clone()),
        Err(problem) => return Err(problem),
    };
    let session = change(&app, bearer, id, end).await?;
    Ok(json(StatusCode::OK, &SessionView::from(&session)))
}
