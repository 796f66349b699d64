//! Who may change something, and beyond loopback also read: the bearer of a token.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::http::{HeaderMap, StatusCode, header};
use tokio::sync::watch;
use tokio::time::sleep;

use super::problem::Problem;
use super::routes::App;
use crate::tokens::{self, Scope, Token, TokenHash, Tokens};

/// How often a stream looks at the wall clock, which may be set at any time.
const RECHECK: Duration = Duration::from_mins(1);

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
        app.admission.admit(None).await?;
        return Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "token_required",
            "this needs a token: `Authorization: Bearer …`, with one made by `liftmesh token create`",
        ));
    };
    let tokens = Arc::clone(&app.tokens.borrow());
    let found = tokens.find(text, SystemTime::now()).cloned();
    app.admission.admit(found.as_ref().map(|token| token.name.clone())).await?;
    match found {
        Some(token) => check_scope(&token, needed).map(|()| token),
        None => Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "token_unknown",
            "unknown token: it was revoked, has expired, or belongs to another fleet",
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
        format!("token {name} has scope {scope}, and this needs {needed}"),
    ))
}

/// The token of a request. A page can't set a header on a WebSocket: there it may be one of the
/// protocols that the client offers.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then_some(token.trim());
    }
    let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let offered = offered.filter_map(|value| value.to_str().ok());
    offered.flat_map(|value| value.split(',')).map(str::trim).find(|word| tokens::is_token(word))
}

/// The right of a client to follow a stream, which lasts as long as its token does.
#[derive(Debug)]
pub(super) enum Pass {
    /// Everybody may read.
    Open,
    /// Of the bearer of the token with this hash.
    Token { hash: TokenHash, tokens: watch::Receiver<Arc<Tokens>> },
}

impl Pass {
    /// Completes once the token is revoked or has expired. Cancel-safe.
    pub(super) async fn ended(&mut self) {
        let Self::Token { hash, tokens } = self else {
            return pending().await;
        };
        loop {
            let left = tokens.borrow_and_update().time_left(hash, SystemTime::now());
            let Some(left) = left else { return };
            tokio::select! {
                changed = tokens.changed() => if changed.is_err() {
                    // The node ends, and the stream with it.
                    return pending().await;
                },
                () = sleep(left.min(RECHECK)) => {}
            }
        }
    }
}
