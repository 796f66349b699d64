//! One client of `/api/v1/events`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, broadcast, watch};

use super::events::{Numbered, Subscription};

/// A message of a stream: its kind, the name from which a client can resume, and its data.
#[derive(Debug, Clone, Default)]
pub(super) struct Frame {
    kind: &'static str,
    id: Option<Arc<str>>,
    /// As a server-sent event.
    event: Bytes,
    /// The JSON in it.
    data: Range<usize>,
}

impl Frame {
    pub(super) fn new(kind: &'static str, id: Option<&str>, data: &impl Serialize) -> Self {
        let mut text = format!("event: {kind}\n");
        if let Some(id) = id {
            text.extend(["id: ", id, "\n"]);
        }
        text.push_str("data: ");
        let start = text.len();
        // JSON has no line feeds of its own. Types that can't fail to serialize are all there are.
        text.push_str(&serde_json::to_string(data).unwrap_or_default());
        let data = start..text.len();
        text.push_str("\n\n");
        Self { kind, id: id.map(Arc::from), event: text.into(), data }
    }

    /// As a server-sent event.
    pub(super) fn event(&self) -> Bytes {
        self.event.clone()
    }

    /// As a message of a WebSocket: an object with `event`, `id` if there is one, and `data`.
    pub(super) fn text(&self) -> String {
        let data = self.event.get(self.data.clone()).unwrap_or_default();
        let data = std::str::from_utf8(data).unwrap_or_default();
        let kind = self.kind;
        match &self.id {
            // No id has a character that JSON would escape.
            Some(id) => format!(r#"{{"event":"{kind}","id":"{id}","data":{data}}}"#),
            None => format!(r#"{{"event":"{kind}","data":{data}}}"#),
        }
    }
}

/// The stream of one client. The client's connection takes from it whenever it has room: one that is
/// slow gets the latest state only, and learns how many events it has missed.
pub(super) struct Client {
    /// What is sent first.
    first: VecDeque<Frame>,
    events: broadcast::Receiver<Arc<Numbered>>,
    states: watch::Receiver<Frame>,
    _seat: OwnedSemaphorePermit,
}

impl Client {
    pub(super) fn new(
        state: Frame,
        Subscription { missed, kept, live }: Subscription,
        mut states: watch::Receiver<Frame>,
        seat: OwnedSemaphorePermit,
    ) -> Self {
        let mut first = VecDeque::from([state]);
        if missed > 0 {
            first.push_back(missing(missed));
        }
        first.extend(kept.iter().map(|event| event.frame()));
        states.mark_unchanged();
        Self { first, events: live, states, _seat: seat }
    }

    pub(super) fn into_response(self) -> Response {
        let frames = stream::unfold(self, |mut client| async move {
            let frame = client.next().await?;
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

    /// The next frame; `None` when the node ends.
    pub(super) async fn next(&mut self) -> Option<Frame> {
        if let Some(frame) = self.first.pop_front() {
            return Some(frame);
        }
        tokio::select! {
            biased;
            event = self.events.recv() => match event {
                Ok(event) => Some(event.frame()),
                Err(RecvError::Lagged(events)) => Some(missing(events)),
                Err(RecvError::Closed) => None,
            },
            changed = self.states.changed() => {
                changed.ok()?;
                Some(self.states.borrow_and_update().clone())
            }
        }
    }
}

fn missing(events: u64) -> Frame {
    Frame::new("missed", None, &json!({ "events": events }))
}
