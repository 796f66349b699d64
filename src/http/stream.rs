//! One client of `/api/v1/events`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use prometheus::IntGauge;
use serde::Serialize;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::auth::Pass;
use super::events::{EventId, Numbered, Subscription};
use super::places::Seat;

/// A server-sent event, rendered for all clients together.
pub(super) type Frame = Bytes;

/// `id` is the name from which a client can resume.
pub(super) fn frame(kind: &str, id: Option<&EventId>, data: &impl Serialize) -> Frame {
    // JSON needs no line feeds. Types that can't fail to serialize are all there are.
    let data = serde_json::to_string(data).unwrap_or_default();
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("event: {kind}\n{id}data: {data}\n\n").into()
}

/// The stream of one client. A slow one gets the latest state only, and learns what it has missed.
pub(super) struct Client {
    feed: Feed,
    pass: Pass,
    /// How many clients there are.
    count: IntGauge,
    _seat: Seat,
}

struct Feed {
    first: VecDeque<Frame>,
    events: broadcast::Receiver<Arc<Numbered>>,
    last: u64,
    states: watch::Receiver<Frame>,
}

impl Client {
    pub(super) fn new(
        state: Frame,
        Subscription { missed, kept, live, last }: Subscription,
        mut states: watch::Receiver<Frame>,
        pass: Pass,
        (seat, count): (Seat, IntGauge),
    ) -> Self {
        let mut first = VecDeque::from([state]);
        if missed != Some(0) {
            first.push_back(missing(missed));
        }
        first.extend(kept.iter().map(|event| event.frame()));
        states.mark_unchanged();
        count.inc();
        Self { feed: Feed { first, events: live, last, states }, pass, count, _seat: seat }
    }

    /// The next frame; `None` when the node ends, or the client's token no longer counts.
    async fn next(&mut self) -> Option<Frame> {
        tokio::select! {
            biased;
            () = self.pass.ended() => None,
            frame = self.feed.next() => frame,
        }
    }
}

impl IntoResponse for Client {
    fn into_response(self) -> Response {
        let frames = stream::unfold(self, |mut client| async move {
            let frame = client.next().await?;
            Some((Ok::<_, Infallible>(frame), client))
        });
        let headers = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-store"),
            // A proxy such as nginx would hold events back.
            (header::HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        (headers, Body::from_stream(frames)).into_response()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.count.dec();
    }
}

impl Feed {
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
    frame("missed", None, &json!({ "events": events }))
}
