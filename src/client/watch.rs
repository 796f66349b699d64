//! The stream of events of a node.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Method;
use futures_util::StreamExt;
use liftmesh_api::State;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::{ANSWER_LIMIT, CONNECT_LIMIT, Client, ClientError, Driver, LONGEST, named};
use crate::operator::Event;

/// How long a stream may be silent: a node sends its state every 2 s.
const SILENCE: Duration = Duration::from_secs(15);

/// The events of a node. It ends when the node does; dropping it ends the watch.
pub struct Watch {
    client: Client,
    stream: BodyDataStream,
    _driver: Driver,
    /// What has arrived and is not read yet.
    buffer: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    Event(Event),
    /// The watcher was too slow and missed this many events.
    Missed(u64),
}

#[derive(Debug)]
pub(crate) enum Streamed {
    /// How the fleet is: at the beginning, at each change, and every 2 s.
    State(Box<State>),
    Notice(Notice),
}

impl Watch {
    pub(super) fn start(client: Client, path: &str) -> Result<Self, ClientError> {
        let (answer, driver) = client.runtime.block_on(async {
            let opened = client.open(&Method::GET, path, None).await?;
            if opened.0.status().is_success() {
                return Ok(opened);
            }
            let read = timeout(CONNECT_LIMIT + ANSWER_LIMIT, client.read(opened)).await;
            let (status, bytes) = read.map_err(|_late| client.late())??;
            Err(client.refused(status, &bytes))
        })?;
        let stream = Body::new(answer.into_body()).into_data_stream();
        Ok(Self { client, stream, _driver: driver, buffer: Vec::new() })
    }

    /// The next event.
    ///
    /// # Errors
    /// [`ClientError`]
    #[expect(clippy::should_implement_trait, reason = "a stream of events has no end")]
    pub fn next(&mut self) -> Result<Notice, ClientError> {
        loop {
            // Without a limit but that of the silence.
            if let Some(notice) = self.next_within(Duration::MAX)? {
                return Ok(notice);
            }
        }
    }

    /// The next event, or `None` when none has come within this time.
    ///
    /// # Errors
    /// [`ClientError`]
    pub fn next_within(&mut self, limit: Duration) -> Result<Option<Notice>, ClientError> {
        // A limit that no clock can hold is none.
        let until = Instant::now().checked_add(limit);
        while let Some(message) = self.message(until)? {
            if let Some(notice) = notice(&message) {
                return notice.map(Some).map_err(|error| self.client.garbled(error));
            }
        }
        Ok(None)
    }

    /// The next state or event. An event that can't be read counts as missed: of a later version.
    pub(crate) fn next_streamed(&mut self) -> Result<Streamed, ClientError> {
        loop {
            let Some(message) = self.message(None)? else { continue };
            if let (Some("state"), data) = parts(&message) {
                let state = serde_json::from_str(data).and_then(|state: Value| {
                    named(&state, state.pointer("/fleet/building")).map(Box::new)
                });
                return state.map(Streamed::State).map_err(|error| self.client.garbled(error));
            }
            match notice(&message) {
                Some(Ok(notice)) => return Ok(Streamed::Notice(notice)),
                Some(Err(_unknown)) => return Ok(Streamed::Notice(Notice::Missed(1))),
                None => {}
            }
        }
    }

    fn message(&mut self, until: Option<Instant>) -> Result<Option<String>, ClientError> {
        loop {
            if let Some(message) = self.take_message() {
                return Ok(Some(message));
            }
            let silent = Instant::now() + SILENCE;
            let first = until.map_or(silent, |until| until.min(silent));
            let Self { client, stream, .. } = self;
            // Inside, as a timer belongs to the runtime in which it is made.
            let chunk = client.runtime.block_on(async { timeout_at(first, stream.next()).await });
            match chunk {
                Ok(Some(Ok(bytes))) => self.buffer.extend_from_slice(&bytes),
                Ok(Some(Err(_)) | None) => return Err(self.ended()),
                Err(_late) if until == Some(first) => return Ok(None),
                Err(_late) => {
                    return Err(ClientError::Silent { place: self.client.place.clone() });
                }
            }
            if self.buffer.len() > LONGEST {
                return Err(self.ended());
            }
        }
    }

    fn take_message(&mut self) -> Option<String> {
        let end = self.buffer.windows(2).position(|pair| pair == b"\n\n")?;
        let rest = self.buffer.split_off(end + 2);
        let message = std::mem::replace(&mut self.buffer, rest);
        Some(String::from_utf8_lossy(&message).into_owned())
    }

    fn ended(&self) -> ClientError {
        ClientError::Ended { place: self.client.place.clone() }
    }
}

fn parts(message: &str) -> (Option<&str>, &str) {
    let field = |name: &str| message.lines().find_map(|line| line.strip_prefix(name));
    (field("event: "), field("data: ").unwrap_or_default())
}

/// `None` for a message that is no event.
fn notice(message: &str) -> Option<Result<Notice, serde_json::Error>> {
    #[derive(Deserialize)]
    struct Missed {
        events: u64,
    }
    match parts(message) {
        (Some("event"), data) => Some(serde_json::from_str(data).map(Notice::Event)),
        (Some("missed"), data) => {
            let missed = serde_json::from_str(data);
            Some(missed.map(|Missed { events }| Notice::Missed(events)))
        }
        (Some(_) | None, _) => None,
    }
}
