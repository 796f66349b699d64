//! What handlers take from the address of a request. Where it is not what is expected, the answer is a
//! [`Problem`]; that of `axum` would be plain text.

use crate::programs::Problem;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

/// The variable parts of a path.
pub(super) struct Path<T>(pub(super) T);

/// What is behind the `?`.
pub(super) struct Query<T>(pub(super) T);

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
