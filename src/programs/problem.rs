//! Errors of the API: `application/problem+json` (RFC 9457).

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

const NO_ANSWER: &str = "no_answer";

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
    pub(crate) detail: String,
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

    pub(crate) fn unprocessable(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail)
    }

    pub(crate) fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    pub(crate) fn unavailable(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, detail)
    }

    pub(crate) fn busy(detail: impl Into<String>) -> Self {
        Self::unavailable("busy", detail)
    }

    pub(crate) fn no_answer() -> Self {
        Self::unavailable(NO_ANSWER, "the node does not answer; it may be stopping")
    }

    pub(crate) fn is_no_answer(&self) -> bool {
        self.code == NO_ANSWER
    }

    /// The node is at fault, and the log has the reason.
    pub(crate) fn internal() -> Self {
        let detail = "the answer can't be generated: the node's log says why";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// The header that says how to prove who one is (RFC 6750), or when to come back.
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
