//! A batch on its way to the collector.

use std::io;
use std::net::SocketAddr;

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Where a collector takes traces.
const PATH: &str = "/v1/traces";

/// Why a batch did not arrive. It is dropped.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExportError {
    #[error("{0}")]
    Unreachable(#[from] io::Error),
    #[error("{0}")]
    Http(#[from] hyper::Error),
    #[error("no request can be made: {0}")]
    Request(#[from] axum::http::Error),
    #[error("the collector answers {0}")]
    Refused(StatusCode),
    #[error("the collector does not answer in time")]
    Late,
}

/// Posts a batch, over a connection for it alone.
pub(super) async fn post(to: SocketAddr, body: Vec<u8>) -> Result<(), ExportError> {
    let stream = TcpStream::connect(to).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::post(PATH)
        .header(header::HOST, to.to_string())
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONNECTION, "close")
        .body(Body::from(body))?;
    // The connection ends once its sender and the answer are dropped.
    let exchange = async move { sender.send_request(request).await.map(|answer| answer.status()) };
    let (status, _ended) = tokio::join!(exchange, connection);
    let status = status?;
    if status.is_success() { Ok(()) } else { Err(ExportError::Refused(status)) }
}
