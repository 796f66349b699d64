//! `POST /api/v1/calls`. The fleet remembers the requests with an id, so that a repeated one places
//! nothing twice, whichever node it comes to.

use elevator_fleet::json::CallForm;
use elevator_fleet::model::Call;
use elevator_fleet::node::{Access, CallRequest, Requested};
use liftmesh_api::CallSchema;
use serde::Deserialize;
use utoipa::ToSchema;

use axum::http::StatusCode;

use super::placed::{PlacedCall, check_id, id_of_request, id_reused};
use super::problem::Problem;
use crate::operator::{ErrorCode, NodeLoop, Refused};
use crate::tokens::{Scope, Token};

/// A call to place.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PlaceCall {
    #[schema(value_type = CallSchema)]
    call: CallForm,
    /// Chosen by the client, 1 to 64 bytes without control characters: a request with the id of an
    /// earlier one of the same token has no effect, and gets the same answer, at any node.
    #[schema(max_length = 64, example = "5b0e0f4e-0c65-4b5e-9d0f-1f1d6a8f2f11")]
    request_id: Option<String>,
    /// The passenger has shown a right of access, so a locked floor does not refuse the call. Needs a
    /// token with the scope `access`.
    #[serde(default)]
    access: bool,
}

impl PlaceCall {
    /// The scope that its token needs.
    pub(super) fn scope(&self) -> Scope {
        if self.access { Scope::Access } else { Scope::Call }
    }
}

/// An answer, and whether it is that of an earlier request.
pub(super) type Answer = Result<(StatusCode, PlacedCall), Problem>;

/// Where calls can be placed. The node's loop takes one after the other, and remembers those with an
/// id, so handlers need not wait for each other.
#[derive(Debug, Clone)]
pub(super) struct Calls(NodeLoop);

impl Calls {
    pub(super) fn new(node_loop: NodeLoop) -> Self {
        Self(node_loop)
    }

    /// Places a call for the bearer of a token. One token is told from another of the same name by its
    /// hash.
    pub(super) async fn place(
        &self,
        token: &Token,
        PlaceCall { call: form, request_id, access }: PlaceCall,
    ) -> Answer {
        let call =
            Call::try_from(&form).map_err(|cause| Refused::new(ErrorCode::NoSuchButton, &cause))?;
        let access = if access { Access::Granted } else { Access::Public };
        let requested = match request_id {
            None => Requested::Now(self.0.order(&form, access).await?),
            Some(request_id) => {
                check_id(&request_id)?;
                let parts = [&token.hash.as_bytes()[..], request_id.as_bytes()];
                let id = id_of_request("liftmesh HTTP request id", parts);
                let (bearer, call) = (token.name.to_string(), call.clone());
                self.0.request(CallRequest { id, bearer, call, access }).await?
            }
        };
        let (status, outcome) = match requested {
            Requested::Now(outcome) => (StatusCode::CREATED, outcome),
            Requested::Before(outcome) => (StatusCode::OK, outcome),
            Requested::ForAnotherCall => return Err(id_reused()),
        };
        Ok((status, PlacedCall::new(&call, form, outcome)))
    }
}
