//! What handlers take from a request. Where it is not what is expected, the answer is a
//! [`Problem`]; that of `axum` would be plain text.

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::auth::{Bearer, Local, authorize};
use super::routes::App;
use crate::journal::Account;
use crate::programs::Problem;
use crate::tokens::Scope;

/// The longest body of a request, in bytes.
const LONGEST_BODY: usize = 16 * 1024;

pub(super) struct Path<T>(pub(super) T);

pub(super) struct Query<T>(pub(super) T);

pub(super) struct Json<T>(pub(super) T);

/// Who makes a request: somebody with at least this scope.
pub(super) struct By<const SCOPE: u8>(pub(super) Bearer);

pub(super) const CALL: u8 = Scope::Call as u8;
pub(super) const ACCESS: u8 = Scope::Access as u8;
pub(super) const OPERATE: u8 = Scope::Operate as u8;

/// The account of a request of the node's own user, on the node's own socket.
pub(super) struct OwnUser(pub(super) Account);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let taken = axum::extract::Path::from_request_parts(parts, state).await;
        taken
            .map(|axum::extract::Path(value)| Self(value))
            .map_err(|cause| Problem::malformed(cause.body_text()))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let taken = axum::extract::Query::from_request_parts(parts, state).await;
        taken
            .map(|axum::extract::Query(value)| Self(value))
            .map_err(|cause| Problem::malformed(cause.body_text()))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let bytes = to_bytes(request.into_body(), LONGEST_BODY).await.map_err(|error| {
            let is_long = std::error::Error::source(&error)
                .is_some_and(|source| source.to_string().contains("length limit"));
            if is_long {
                let detail = format!("a request body has at most {LONGEST_BODY} bytes");
                Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
            } else {
                Problem::malformed("the request body did not arrive")
            }
        })?;
        let read = serde_json::from_slice(&bytes).map(Self);
        read.map_err(|cause| Problem::malformed(format!("invalid request body: {cause}")))
    }
}

impl<const SCOPE: u8> FromRequestParts<App> for By<SCOPE> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let bearer = authorize(app, parts).await?;
        bearer.check_scope(Scope::ALL[usize::from(SCOPE)])?;
        Ok(Self(bearer))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for OwnUser {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(local) = parts.extensions.get::<Local>().copied() else {
            let detail = "this works only over the node's Unix socket, on its own computer";
            return Err(Problem::new(StatusCode::FORBIDDEN, "local_only", detail));
        };
        let bearer = Bearer::from(local);
        bearer.check_scope(Scope::Operate)?;
        Ok(Self(bearer.account))
    }
}
