//! `/api/v1/calls`: placed at any node, followed to their end, and withdrawn if a robot's. The
//! fleet remembers requests, so that a repeated one places nothing twice.

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use elevator_fleet::json::CallForm;
use elevator_fleet::node::{Access, CallRequest, Requested};
use elevator_fleet::settings::RequestId;
use liftmesh_api::{CallReport, CallWish, PlaceCall};

use super::auth::Bearer;
use super::extract::{By, CALL, Json, Path};
use super::routes::{App, created_or_known, json};
use super::sessions;
use crate::operator::{NodeRequest, called};
use crate::programs::{OpenSession, PlacedCall, Problem, chosen_or_random, id_reused};

async fn place(
    app: &App,
    bearer: &Bearer,
    form: CallForm,
    request_id: Option<String>,
    access: Access,
) -> Result<(PlacedCall, bool), Problem> {
    let call = called(&form)?;
    let id = sessions::request_of(bearer, &chosen_or_random(request_id)?);
    let request = CallRequest { id, bearer: bearer.name.clone(), call: call.clone(), access };
    let (outcome, is_new) = match app.node_loop.request(request).await? {
        Requested::Now(outcome) => (outcome, true),
        Requested::Before(outcome) => (outcome, false),
        Requested::ForAnotherCall => return Err(id_reused()),
    };
    Ok((PlacedCall::new(&call, form, outcome, id), is_new))
}

/// Places a call.
#[utoipa::path(
    post,
    path = "/calls",
    request_body = PlaceCall,
    security(("token" = ["call"])),
    responses(
        (status = 201, body = PlacedCall, headers(("Location" = String, description = "Where to follow the call"))),
        (status = 200, body = PlacedCall, description = "The answer to the earlier request with this id"),
        (status = 409, body = Problem, description = "The id was used for another call, the floor is locked, or too many trips are open"),
        (status = 422, body = Problem, description = "No such button or car"),
    )
)]
pub(super) async fn place_call(
    State(app): State<App>,
    By(bearer): By<CALL>,
    Json(PlaceCall { call, request_id, access }): Json<PlaceCall>,
) -> Result<Response, Problem> {
    let (placed, is_new) = match call {
        CallWish::Order(form) => {
            let (needed, access) = sessions::scope(access);
            bearer.check_scope(needed)?;
            place(&app, &bearer, form, request_id, access).await?
        }
        CallWish::Robot(trip) => {
            let wanted = OpenSession::of_trip(trip.clone(), request_id, access);
            let (session, is_new) = sessions::open_for(&app, &bearer, wanted).await?;
            (PlacedCall::of_trip(session.id, trip), is_new)
        }
    };
    let mut response = json(created_or_known(is_new), &placed);
    if let Ok(there) = HeaderValue::try_from(format!("/api/v1/calls/{}", placed.receipt)) {
        response.headers_mut().insert(header::LOCATION, there);
    }
    Ok(response)
}

/// The progress of a call. Ended calls are remembered for a while: the latest 512 requests and 32
/// robot trips.
#[utoipa::path(
    get,
    path = "/calls/{id}",
    params(("id" = String, Path, description = "The receipt of the call, or the id of an open order such as `hall-3-up`")),
    responses(
        (status = 200, body = CallReport),
        (status = 404, body = Problem, description = "Unknown call, and no such open order"),
    )
)]
pub(super) async fn get_call(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &report(&app, &id).await?))
}

/// The look comes first, so that no order seems to be missing there which is open.
async fn report(app: &App, id: &str) -> Result<CallReport, Problem> {
    let look = app.looks.take().await?;
    let followed = match RequestId::parse(id) {
        Some(id) => app.node_loop.ask_node(|reply| NodeRequest::Follow(id, reply)).await?,
        None => None,
    };
    CallReport::new(id, &look.status, followed.as_ref()).ok_or_else(not_open)
}

fn not_open() -> Problem {
    let detail = "no known call has this receipt, and no open order has this id";
    Problem::new(StatusCode::NOT_FOUND, "not_open", detail)
}

/// Withdraws a robot's trip; withdrawing one that is over changes nothing. Other kinds of call
/// can't be withdrawn.
#[utoipa::path(
    delete,
    path = "/calls/{id}",
    params(("id" = String, Path, description = "The receipt of the call, or the id of an open order such as `hall-3-up`")),
    security(("token" = ["call"])),
    responses(
        (status = 200, body = CallReport, description = "How it ended"),
        (status = 404, body = Problem, description = "Unknown call, or already served"),
        (status = 409, body = Problem, description = "It can't be withdrawn: `detail` says why"),
    )
)]
pub(super) async fn withdraw_call(
    State(app): State<App>,
    By(bearer): By<CALL>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let known = report(&app, &id).await?;
    if let Some(why) = kept_because(&known.call) {
        return Err(if known.has_ended() {
            Problem::new(StatusCode::NOT_FOUND, "not_open", "the call has ended")
        } else {
            Problem::conflict("not_cancellable", why)
        });
    }
    let session = RequestId::parse(&id).ok_or_else(not_open)?;
    sessions::withdraw(&app, bearer, session).await?;
    Ok(json(StatusCode::OK, &report(&app, &id).await?))
}

/// Why a call is not withdrawn, if it is not: its order is a promise to more people than its client.
fn kept_because(call: &CallWish) -> Option<String> {
    let (what, people) = match call {
        CallWish::Order(CallForm::Hall { .. }) => ("hall", "at the landing"),
        CallWish::Order(CallForm::Destination { .. }) => ("destination", "who asked for the trip"),
        CallWish::Order(CallForm::Car { .. }) => ("car", "in the car"),
        CallWish::Robot(_) => return None,
    };
    Some(format!(
        "a {what} call stays until it is served: it is a promise to everybody {people}, and others may \
         have asked for the same since"
    ))
}
