//! Who may change something: the bearer of a token.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, header};

use super::problem::Problem;
use super::routes::App;
use crate::tokens::{Scope, Token};

/// The token of a request, if its scope is enough. Counts the request against its bearer's limit, or
/// against that of everybody without a token.
///
/// # Errors
/// 401 without a valid token, 403 if its scope is less than `needed`, and 429 if the limit is reached.
pub(super) async fn authorize(
    app: &App,
    headers: &HeaderMap,
    needed: Scope,
) -> Result<Token, Problem> {
    let Some(text) = bearer(headers) else {
        app.calls.admit(None).await?;
        return Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "token_required",
            "this needs a token: `Authorization: Bearer …`, with one made by `liftmesh token create`",
        ));
    };
    let tokens = Arc::clone(&app.tokens.borrow());
    let found = tokens.find(text).cloned();
    app.calls.admit(found.as_ref().map(|token| token.name.clone())).await?;
    match found {
        Some(token) => check_scope(&token, needed).map(|()| token),
        None => Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "token_unknown",
            "no token of this fleet is the one given: it may be revoked, or of another fleet",
        )),
    }
}

/// # Errors
/// 403 if the scope of the token is less than `needed`.
pub(super) fn check_scope(token: &Token, needed: Scope) -> Result<(), Problem> {
    let Token { name, scope, .. } = token;
    if *scope >= needed {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "scope_missing",
        format!("the token {name} has the scope {scope}, and this needs {needed}"),
    ))
}

pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}
