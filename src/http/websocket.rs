//! `/api/v1/events` as a WebSocket, for clients that can't read server-sent events.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use tokio::time::{Instant, timeout};

use super::server::WRITE_LIMIT;
use super::stream::{Client, End};
use crate::bucket::Bucket;
use crate::programs::Problem;

/// The longest message that a client may send, in bytes: clients send no messages but pings.
const LONGEST: usize = 1024;

/// The protocol that is agreed on with a client that offers any: a browser that offers its token as one
/// insists on an answer, and that must not be the token.
const PROTOCOL: &str = "liftmesh";

/// How many pings a client may send a second, and at once after a pause.
const PINGS: [f64; 2] = [1.0, 10.0];

/// How long a client may take to answer the end of the stream.
const FAREWELL: Duration = Duration::from_secs(1);

/// Refuses a page of another site: browsers let it open a WebSocket to any host.
///
/// # Errors
/// 403 if there is an `Origin` that is not the host that was asked.
pub(super) fn check_origin(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(origin) = headers.get(ORIGIN) else {
        // No browser.
        return Ok(());
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let site = origin.to_str().ok().and_then(|origin| Some(origin.split_once("://")?.1));
    if site.is_some() && site == host {
        return Ok(());
    }
    let detail = "WebSockets are only for pages of this node";
    Err(Problem::new(StatusCode::FORBIDDEN, "other_origin", detail))
}

/// Goes over to a WebSocket, and sends the client its stream.
pub(super) fn start(upgrade: WebSocketUpgrade, client: Client) -> Response {
    upgrade
        .protocols([PROTOCOL])
        .max_message_size(LONGEST)
        .max_frame_size(LONGEST)
        .on_upgrade(move |socket| serve(socket, client))
}

/// Ends when the client does, when it takes nothing for a while, when its token no longer counts, or when
/// the node ends.
async fn serve(mut socket: WebSocket, mut client: Client) {
    let [rate, burst] = PINGS;
    let mut pings = Bucket::new(rate, burst, Instant::now());
    loop {
        let frame = tokio::select! {
            frame = client.next() => frame,
            received = socket.recv() => match received {
                // Pings are answered below this.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) if pings.take(Instant::now()) => {
                    continue;
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {
                    return end(socket, close_code::POLICY, "too many pings").await;
                }
                Some(Ok(Message::Text(_) | Message::Binary(_))) => {
                    return end(socket, close_code::POLICY, "this stream accepts no messages").await;
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
            },
        };
        let frame = match frame {
            Ok(frame) => frame,
            Err(End::Node) => return end(socket, close_code::AWAY, "the node is stopping").await,
            Err(End::Revoked) => {
                return end(socket, close_code::POLICY, "the token is no longer valid").await;
            }
        };
        match timeout(WRITE_LIMIT, socket.send(Message::Text(frame.text))).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

async fn end(mut socket: WebSocket, code: u16, reason: &'static str) {
    let farewell = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
    // A client that has gone does not need it.
    drop(timeout(FAREWELL, socket.send(farewell)).await);
}
