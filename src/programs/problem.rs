//! Errors of the API: `application/problem+json` (RFC 9457).

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::operator::{ErrorCode, Refused};

/// Why a request failed. Nothing was changed, except that after `no_answer` an order may have been
/// placed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// Always `about:blank`: `code` tells problems apart.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The meaning of `status`.
    #[schema(example = "Unprocessable Entity")]
    title: &'static str,
    /// The status of the response.
    #[schema(example = 422)]
    status: u16,
    /// Why, for people.
    detail: String,
    /// Why, for programs.
    #[schema(example = "no_such_button")]
    code: &'static str,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or_default(),
            status: status.as_u16(),
            detail: detail.into(),
            code,
        }
    }

    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", detail)
    }

    pub(crate) fn busy(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
    }

    pub(crate) fn no_answer() -> Self {
        Refused::no_answer().into()
    }

    /// The node is at fault, and the log has the reason.
    pub(crate) fn internal() -> Self {
        let detail = "the answer can't be generated: the node's log says why";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// What a client needs to know beside the problem, in the head of the response: how to prove who it
    /// is (RFC 6750), or when to come back.
    fn advice(&self) -> Option<(HeaderName, HeaderValue)> {
        let challenge = |text| Some((header::WWW_AUTHENTICATE, HeaderValue::from_static(text)));
        match self.code {
            "token_unknown" => challenge(r#"Bearer realm="liftmesh", error="invalid_token""#),
            "scope_missing" => challenge(r#"Bearer realm="liftmesh", error="insufficient_scope""#),
            _ if self.status == 401 => challenge(r#"Bearer realm="liftmesh""#),
            _ if self.status == 429 => Some((header::RETRY_AFTER, HeaderValue::from_static("1"))),
            _ => None,
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl From<Refused> for Problem {
    fn from(Refused { code, message }: Refused) -> Self {
        let (status, code) = match code {
            ErrorCode::Malformed => (StatusCode::BAD_REQUEST, "malformed"),
            ErrorCode::NoSuchButton => (StatusCode::UNPROCESSABLE_ENTITY, "no_such_button"),
            ErrorCode::UnknownCar => (StatusCode::UNPROCESSABLE_ENTITY, "unknown_car"),
            ErrorCode::TooManyTrips => (StatusCode::CONFLICT, "too_many_trips"),
            ErrorCode::FireRecall => (StatusCode::CONFLICT, "fire_recall"),
            ErrorCode::NoFireRecall => (StatusCode::CONFLICT, "no_fire_recall"),
            ErrorCode::EmergencyPower => (StatusCode::CONFLICT, "emergency_power"),
            ErrorCode::NotInService => (StatusCode::CONFLICT, "not_in_service"),
            ErrorCode::FloorLocked => (StatusCode::CONFLICT, "floor_locked"),
            ErrorCode::NameTaken => (StatusCode::CONFLICT, "name_taken"),
            ErrorCode::NoToken => (StatusCode::NOT_FOUND, "no_token"),
            ErrorCode::TooManyTokens => (StatusCode::CONFLICT, "too_many_tokens"),
            ErrorCode::TooManySettings => (StatusCode::CONFLICT, "too_many_settings"),
            ErrorCode::FaultsNotAllowed => (StatusCode::FORBIDDEN, "faults_not_allowed"),
            ErrorCode::NoJournal => (StatusCode::SERVICE_UNAVAILABLE, "no_journal"),
            ErrorCode::NoAnswer => (StatusCode::SERVICE_UNAVAILABLE, "no_answer"),
        };
        Self::new(status, code, message)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let about = [(header::CONTENT_TYPE, "application/problem+json")];
        // A number and some texts: they can't fail to serialize.
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (self.status(), about, body).into_response();
        response.headers_mut().extend(self.advice());
        response
    }
}
