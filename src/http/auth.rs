//! Who may change something, and beyond loopback also read: the bearer of a token.

use std::future::pending;
use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, header};
use tokio::sync::watch;

use super::problem::Problem;
use super::routes::App;
use crate::tokens::{self, Scope, Token, TokenHash, Tokens};

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
    let found = tokens.find(text).cloned();
    app.admission.admit(found.as_ref().map(|token| token.name.clone())).await?;
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
    /// Completes once the token is revoked. Cancel-safe.
    pub(super) async fn revoked(&mut self) {
        match self {
            Self::Open => pending().await,
            Self::Token { hash, tokens } => {
                let is_revoked = tokens.wait_for(|tokens| !tokens.contains(hash)).await.is_ok();
                if !is_revoked {
                    // The node ends, and the stream with it.
                    pending::<()>().await;
                }
            }
        }
    }
}
