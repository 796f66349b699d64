//! Who may change something, and beyond loopback also read: the bearer of a token over TCP, an account
//! of this machine over a Unix socket.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use tokio::sync::watch;
use tokio::time::sleep;

use super::latched::Latched;
use super::routes::App;
use crate::journal::Account;
use crate::programs::Problem;
use crate::tokens::{Scope, Token, TokenHash, Tokens};

/// How often a stream looks at the wall clock, which may be set at any time.
const RECHECK: Duration = Duration::from_mins(1);

/// An account of this machine that asks over a Unix socket: an extension of each of its requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Local {
    pub(super) uid: u32,
    pub(super) scope: Scope,
}

#[derive(Debug, Clone)]
pub(super) struct Bearer {
    pub(super) name: String,
    pub(super) identity: TokenHash,
    pub(super) scope: Scope,
    pub(super) account: Account,
}

impl From<Token> for Bearer {
    fn from(Token { name, scope, hash, .. }: Token) -> Self {
        let account = Account::of_token(&name);
        Self { name: name.to_string(), identity: hash, scope, account }
    }
}

impl From<Local> for Bearer {
    fn from(Local { uid, scope }: Local) -> Self {
        let name = format!("uid {uid}");
        let account = Account { uid, ..Account::default() };
        Self { identity: TokenHash::of(&name), name, scope, account }
    }
}

impl Bearer {
    pub(super) fn check_scope(&self, needed: Scope) -> Result<(), Problem> {
        let Self { name, scope, .. } = self;
        if *scope >= needed {
            return Ok(());
        }
        let detail = if self.account.token.is_some() {
            format!("token {name} has scope {scope}, but this needs {needed}")
        } else {
            "this socket is read-only: use the node's own socket, as its own user".to_owned()
        };
        Err(Problem::new(StatusCode::FORBIDDEN, "scope_missing", detail))
    }
}

/// Who makes a request. Over TCP it counts against the limit of its token, or of all without one.
pub(super) async fn authorize(app: &App, parts: &Parts) -> Result<Bearer, Problem> {
    let local = parts.extensions.get::<Local>().copied();
    Ok(match (local, parts.extensions.get::<Token>().cloned()) {
        (Some(local), _) => local.into(),
        (None, Some(admitted)) => admitted.into(),
        (None, None) => token(app, &parts.headers).await?.into(),
    })
}

/// The token of a request; 401 without a valid one, and 429 if its limit is reached.
pub(super) async fn token(app: &App, headers: &HeaderMap) -> Result<Token, Problem> {
    let Some(text) = bearer(headers) else {
        app.admission.admit(None).await?;
        return Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "token_required",
            "this needs a token: send `Authorization: Bearer …` with one made by `liftmesh token \
             create`",
        ));
    };
    let found = find(app, text).await;
    app.admission.admit(found.as_ref().ok().map(|token| token.name.clone())).await?;
    found
}

async fn find(app: &App, text: &str) -> Result<Token, Problem> {
    if let Some(latched) = &app.latched {
        // It may just have been made or revoked on this computer.
        latched.refresh().await;
    }
    let found = app.tokens.borrow().find(text, SystemTime::now()).cloned();
    found.ok_or_else(|| {
        let unusable = app.latched.as_ref().and_then(Latched::unusable);
        unusable.unwrap_or_else(|| {
            Problem::new(
                StatusCode::UNAUTHORIZED,
                "token_unknown",
                "unknown token: it was revoked, has expired, or belongs to another fleet",
            )
        })
    })
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// The right of a client to follow a stream, which lasts as long as a token that it needs.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) token: Option<TokenHash>,
    pub(super) tokens: watch::Receiver<Arc<Tokens>>,
}

impl Pass {
    pub(super) async fn ended(&mut self) {
        let Some(hash) = &self.token else { return pending().await };
        loop {
            let left = self.tokens.borrow_and_update().time_left(hash, SystemTime::now());
            let Some(left) = left else { return };
            tokio::select! {
                changed = self.tokens.changed() => if changed.is_err() {
                    // The node ends, and the stream with it.
                    return pending().await;
                },
                () = sleep(left.min(RECHECK)) => {}
            }
        }
    }
}
