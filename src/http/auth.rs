//! Who may change something: the bearer of a token.

use axum::http::{HeaderMap, StatusCode, header};
use tracing::warn;

use super::problem::Problem;
use super::routes::App;
use crate::tokens::{Scope, Token};

/// The token of a request, if its scope is enough. Counts the request against its bearer's limit, or
/// against that of everybody without a token.
///
/// # Errors
/// 401 without a valid token, 403 if its scope is less than `needed`, 429 if the limit is reached, and
/// 503 if the tokens can't be read.
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
    let (store, text) = (app.tokens.clone(), text.to_owned());
    let found = tokio::task::spawn_blocking(move || store.find(&text)).await;
    let found = match found {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            warn!(%error, "no token counts");
            return Err(unusable());
        }
        Err(_) => return Err(unusable()),
    };
    app.calls.admit(found.as_ref().map(|token| token.name.clone())).await?;
    match found {
        Some(token) if token.scope >= needed => Ok(token),
        Some(Token { name, scope, .. }) => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "scope_missing",
            format!("the token {name} has the scope {scope}, and this needs {needed}"),
        )),
        None => Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "token_unknown",
            "no token of this node is the one given: it may be of another node, or revoked",
        )),
    }
}

fn unusable() -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "tokens_unusable",
        "the node's tokens can't be read: its log says why",
    )
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}
