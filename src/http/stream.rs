//! One client of `/api/v1/events`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::ws::Utf8Bytes;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::auth::Pass;
use super::events::{Numbered, Subscription};
use super::places::Seat;

/// A message of a stream, rendered for all clients together.
#[derive(Debug, Clone, Default)]
pub(super) struct Frame {
    /// As a server-sent event.
    pub(super) event: Bytes,
    /// As a message of a WebSocket: an object with `event`, `id` if there is one, and `data`.
    pub(super) text: Utf8Bytes,
}

impl Frame {
    /// `id` is the name from which a client can resume.
    pub(super) fn new(kind: &'static str, id: Option<&str>, data: &impl Serialize) -> Self {
        // JSON needs no line feeds. Types that can't fail to serialize are all there are.
        let data = serde_json::to_string(data).unwrap_or_default();
        // No id has a character that JSON would escape.
        let ids = id.map(|id| (format!("id: {id}\n"), format!(r#""id":"{id}","#)));
        let (line, field) = ids.unwrap_or_default();
        Self {
            event: format!("event: {kind}\n{line}data: {data}\n\n").into(),
            text: format!(r#"{{"event":"{kind}",{field}"data":{data}}}"#).into(),
        }
    }
}

/// Why a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The node ends.
    Node,
    /// The client's token was revoked or has expired.
    Revoked,
}

/// The stream of one client. The client's connection takes from it whenever it has room: one that is
/// slow gets the latest state only, and learns how many events it has missed.
pub(super) struct Client {
    feed: Feed,
    pass: Pass,
    _seat: Seat,
}

/// What a client gets.
struct Feed {
    /// What is sent first.
    first: VecDeque<Frame>,
    events: broadcast::Receiver<Arc<Numbered>>,
    /// The number of the last event.
    last: u64,
    states: watch::Receiver<Frame>,
}

impl Client {
    pub(super) fn new(
        state: Frame,
        Subscription { missed, kept, live, last }: Subscription,
        mut states: watch::Receiver<Frame>,
        pass: Pass,
        seat: Seat,
    ) -> Self {
        let mut first = VecDeque::from([state]);
        if missed != Some(0) {
            first.push_back(missing(missed));
        }
        first.extend(kept.iter().map(|event| event.frame()));
        states.mark_unchanged();
        Self { feed: Feed { first, events: live, last, states }, pass, _seat: seat }
    }

    pub(super) fn into_response(self) -> Response {
        let frames = stream::unfold(self, |mut client| async move {
            let frame = client.next().await.ok()?;
            Some((Ok::<_, Infallible>(frame.event), client))
        });
        let headers = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-store"),
            // A proxy such as nginx would hold events back.
            (header::HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        (headers, Body::from_stream(frames)).into_response()
    }

    /// The next frame.
    ///
    /// # Errors
    /// There is none any more.
    pub(super) async fn next(&mut self) -> Result<Frame, End> {
        tokio::select! {
            biased;
            () = self.pass.ended() => Err(End::Revoked),
            frame = self.feed.next() => frame.ok_or(End::Node),
        }
    }
}

impl Feed {
    /// The next frame; `None` when the node ends.
    async fn next(&mut self) -> Option<Frame> {
        if let Some(frame) = self.first.pop_front() {
            return Some(frame);
        }
        loop {
            tokio::select! {
                biased;
                event = self.events.recv() => match event {
                    Ok(event) => {
                        // Whoever was too slow, this client or the node's own queue.
                        let missed = event.number() - std::mem::replace(&mut self.last, event.number()) - 1;
                        if missed == 0 {
                            return Some(event.frame());
                        }
                        self.first.push_back(event.frame());
                        return Some(missing(Some(missed)));
                    }
                    // The number of the next one says how many.
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                },
                changed = self.states.changed() => {
                    changed.ok()?;
                    return Some(self.states.borrow_and_update().clone());
                }
            }
        }
    }
}

/// A gap in the events; `None` where nobody knows how many there were.
fn missing(events: Option<u64>) -> Frame {
    Frame::new("missed", None, &json!({ "events": events }))
}
