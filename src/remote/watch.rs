//! The stream of events of a node.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Method;
use futures_util::StreamExt;
use serde::Deserialize;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::{ANSWER_LIMIT, CONNECT_LIMIT, LONGEST, Remote, RemoteError};
use crate::operator::Notice;

/// How long a stream may be silent: a node sends its state every 2 s.
const SILENCE: Duration = Duration::from_secs(15);

/// The events of a node. It ends when the node does; dropping it ends the watch.
pub(crate) struct RemoteWatch {
    remote: Remote,
    stream: BodyDataStream,
    /// Dropping it ends the connection.
    _driver: JoinSet<Result<(), hyper::Error>>,
    /// What has arrived and is not read yet.
    buffer: Vec<u8>,
}

impl RemoteWatch {
    pub(super) fn start(remote: Remote) -> Result<Self, RemoteError> {
        let opened = remote.runtime.block_on(async {
            let opened = remote.open(&Method::GET, "/api/v1/events", None).await?;
            if opened.answer.status().is_success() {
                return Ok(opened);
            }
            let read = timeout(CONNECT_LIMIT + ANSWER_LIMIT, remote.read(opened)).await;
            let (status, bytes) = read.map_err(|_late| remote.late())??;
            Err(remote.refused(status, &bytes))
        })?;
        let stream = Body::new(opened.answer.into_body()).into_data_stream();
        Ok(Self { remote, stream, _driver: opened.driver, buffer: Vec::new() })
    }

    /// The next event.
    ///
    /// # Errors
    /// [`RemoteError`]
    pub(crate) fn next(&mut self) -> Result<Notice, RemoteError> {
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
    /// [`RemoteError`]
    pub(crate) fn next_within(&mut self, limit: Duration) -> Result<Option<Notice>, RemoteError> {
        // A limit that no clock can hold is none.
        let until = Instant::now().checked_add(limit);
        loop {
            while let Some(message) = self.take_message() {
                if let Some(notice) = self.notice(&message)? {
                    return Ok(Some(notice));
                }
            }
            let silent = Instant::now() + SILENCE;
            let first = until.map_or(silent, |until| until.min(silent));
            let Self { remote, stream, .. } = self;
            // Inside, as a timer belongs to the runtime in which it is made.
            let chunk = remote.runtime.block_on(async { timeout_at(first, stream.next()).await });
            match chunk {
                Ok(Some(Ok(bytes))) => self.buffer.extend_from_slice(&bytes),
                Ok(Some(Err(_)) | None) => return Err(self.ended()),
                Err(_late) if until == Some(first) => return Ok(None),
                Err(_late) => return Err(self.remote.late()),
            }
            if self.buffer.len() > LONGEST {
                return Err(self.ended());
            }
        }
    }

    /// A whole message, of those that have arrived.
    fn take_message(&mut self) -> Option<String> {
        let end = self.buffer.windows(2).position(|pair| pair == b"\n\n")?;
        let rest = self.buffer.split_off(end + 2);
        let message = std::mem::replace(&mut self.buffer, rest);
        Some(String::from_utf8_lossy(&message).into_owned())
    }

    /// `None` for a message that is no event.
    fn notice(&self, message: &str) -> Result<Option<Notice>, RemoteError> {
        #[derive(Deserialize)]
        struct Missed {
            events: u64,
        }
        let field = |name: &str| message.lines().find_map(|line| line.strip_prefix(name));
        let data = field("data: ").unwrap_or_default();
        let read = match field("event: ") {
            Some("event") => serde_json::from_str(data).map(Notice::Event),
            Some("missed") => {
                serde_json::from_str(data).map(|Missed { events }| Notice::Missed(events))
            }
            Some(_) | None => return Ok(None),
        };
        read.map(Some).map_err(|error| self.remote.garbled(error))
    }

    fn ended(&self) -> RemoteError {
        RemoteError::Ended { url: self.remote.url.clone() }
    }
}
