//! Who gets the alerts: a command, with the alert on its standard input, or a web server.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{Request, StatusCode, Uri};
use bytes::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::command_line::{CommandLine, kill_group};
use crate::credentials::{self, CredentialsError};

/// How long a receiver may take. A command is killed then, with everything that it has started.
const LIMIT: Duration = Duration::from_secs(10);

/// `https://HOST:PORT/PATH`, or `http://…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WebhookUrl {
    is_encrypted: bool,
    /// Without the brackets of an IPv6 address.
    host: String,
    port: u16,
    uri: Uri,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoWebhook;

impl FromStr for WebhookUrl {
    type Err = NoWebhook;

    fn from_str(text: &str) -> Result<Self, NoWebhook> {
        let uri: Uri = text.parse().map_err(|_error| NoWebhook)?;
        let (is_encrypted, usual) = match uri.scheme_str() {
            Some("https") => (true, 443),
            Some("http") => (false, 80),
            Some(_) | None => return Err(NoWebhook),
        };
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(usual);
        let has_user = uri.authority().is_some_and(|it| it.as_str().contains('@'));
        let is_right = !host.is_empty() && port > 0 && !has_user;
        is_right.then_some(Self { is_encrypted, host, port, uri }).ok_or(NoWebhook)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Webhook {
    pub(crate) url: WebhookUrl,
    /// Its line is sent as the bearer token. Read anew for each alert, as the other file.
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) ca_file: Option<PathBuf>,
}

/// Why an alert was not delivered. It is tried again.
#[derive(Debug, thiserror::Error)]
pub(super) enum DeliveryError {
    #[error("{0} can't be started: {1}")]
    Start(String, io::Error),
    #[error("the command ended with {0}")]
    Exit(ExitStatus),
    #[error("it took longer than 10 s")]
    Late,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Http(#[from] hyper::Error),
    #[error("the server answered with HTTP status {0}")]
    Status(StatusCode),
    #[error("the host has no name that a certificate could cover")]
    Name(#[from] InvalidDnsNameError),
    #[error("the token can't be sent")]
    Request(#[from] axum::http::Error),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error("the files can't be read: {0}")]
    Files(#[from] JoinError),
}

#[derive(Debug, Clone)]
pub(super) enum Receiver {
    Command(CommandLine),
    Webhook(Webhook),
}

impl Receiver {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Command(_) => "alerts.command",
            Self::Webhook(_) => "alerts.webhook",
        }
    }

    pub(super) async fn deliver(self, alert: Bytes) -> Result<(), DeliveryError> {
        match self {
            Self::Command(command) => run(&command, alert).await,
            Self::Webhook(webhook) => {
                timeout(LIMIT, post(webhook, alert)).await.unwrap_or(Err(DeliveryError::Late))
            }
        }
    }
}

async fn run(command: &CommandLine, alert: Bytes) -> Result<(), DeliveryError> {
    let (program, arguments) = command.words();
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
    let started = command.spawn().map_err(|error| DeliveryError::Start(program.to_owned(), error));
    let mut child = started?;
    let ended = timeout(LIMIT, async {
        if let Some(mut stdin) = child.stdin.take() {
            // What a command does not read, it does not need.
            stdin.write_all(&alert).await.unwrap_or_default();
        }
        child.wait().await
    });
    match ended.await {
        Ok(status) => {
            let status = status?;
            if status.success() { Ok(()) } else { Err(DeliveryError::Exit(status)) }
        }
        Err(_late) => {
            if let Some(leader) = child.id() {
                kill_group(leader);
            }
            // One that has left the group is not waited for.
            child.start_kill().unwrap_or_default();
            timeout(LIMIT, child.wait()).await.ok();
            Err(DeliveryError::Late)
        }
    }
}

async fn post(webhook: Webhook, alert: Bytes) -> Result<(), DeliveryError> {
    let Webhook { url, token_file, ca_file } = webhook;
    let is_encrypted = url.is_encrypted;
    let read = tokio::task::spawn_blocking(move || {
        let token = token_file.as_deref().map(credentials::password).transpose()?;
        let tls = is_encrypted.then(|| credentials::tls(ca_file.as_deref())).transpose()?;
        Ok::<_, CredentialsError>((token, tls))
    });
    let (token, tls) = read.await??;
    let path = url.uri.path_and_query().map_or("/", |path| path.as_str());
    let host = url.uri.authority().map_or(url.host.as_str(), |host| host.as_str());
    let mut request =
        Request::post(path).header(HOST, host).header(CONTENT_TYPE, "application/json");
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, format!("Bearer {}", token.as_str()));
    }
    let request = request.body(Body::from(alert))?;
    let stream = TcpStream::connect((url.host.as_str(), url.port)).await?;
    let status = match tls {
        None => exchange(stream, request).await?,
        Some(tls) => {
            let name = ServerName::try_from(url.host)?;
            let stream = TlsConnector::from(Arc::new(tls)).connect(name, stream).await?;
            exchange(stream, request).await?
        }
    };
    if status.is_success() { Ok(()) } else { Err(DeliveryError::Status(status)) }
}

async fn exchange<S>(stream: S, request: Request<Body>) -> Result<StatusCode, hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    Ok(sender.send_request(request).await?.status())
}
