//! The task of one link.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use elevator_fleet::node::LinkId;
use elevator_fleet::wire::Frame;
use elevator_fleet::wire::codec::{self, WireError};
use futures_util::{Sink, SinkExt, StreamExt};
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::codec::FramedRead;
use tracing::trace;

use super::Note;
use super::cipher::{CodecError, LinkCodec};
use super::greeting::Connection;

/// How many frames may wait to leave over one link. A link whose queue is full is closed: a peer
/// so far behind is better served by the full state that it gets when it rejoins.
pub(crate) const LINK_QUEUE: usize = 256;

/// How many frames of one link may wait for the runtime loop, so that none delays the others.
pub(super) const WAITING: usize = 8;

/// How long a link that is closed here waits for the peer, which may not have read everything.
const FAREWELL: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub(super) enum LinkEnd {
    /// Nothing is wrong with what the peer has sent.
    #[error("{0}")]
    Sound(&'static str),
    #[error("{0}")]
    Codec(#[from] CodecError),
    #[error("{0}")]
    Wire(#[from] WireError),
    #[error("a second hello")]
    SecondHello,
}

impl LinkEnd {
    pub(super) const HERE: Self = Self::Sound("closed by this node");
    pub(super) const THERE: Self = Self::Sound("closed by the peer");

    pub(super) fn is_malformed(&self) -> bool {
        match self {
            Self::Wire(_) | Self::SecondHello => true,
            // The length of a frame is beyond the limit.
            Self::Codec(CodecError::Io(error)) => error.kind() == io::ErrorKind::InvalidData,
            // Nor is it the peer that has sent a forged one.
            Self::Codec(CodecError::Forged) | Self::Sound(_) => false,
        }
    }
}

pub(super) async fn run(
    link: LinkId,
    connection: Connection,
    queue: mpsc::Receiver<Bytes>,
    notes: mpsc::Sender<Note>,
) {
    let Connection { mut read, mut write } = connection;
    let end = tokio::select! {
        end = receive(link, &mut read, &notes) => end,
        sent = transmit(&mut write, queue) => match sent {
            Ok(()) => {
                drop(write);
                let farewell = async { while let Some(Ok(_)) = read.next().await {} };
                if tokio::time::timeout(FAREWELL, farewell).await.is_err() {
                    trace!(link = link.0, "the peer has not closed its side");
                }
                LinkEnd::HERE
            }
            Err(error) => error.into(),
        },
    };
    if notes.send(Note::Ended { link, end }).await.is_err() {
        trace!(link = link.0, "link outlived the mesh");
    }
}

/// Passes incoming frames on. Waits while [`WAITING`] frames wait, or the inbox is full.
async fn receive(
    link: LinkId,
    read: &mut FramedRead<OwnedReadHalf, LinkCodec>,
    notes: &mpsc::Sender<Note>,
) -> LinkEnd {
    let places = Arc::new(Semaphore::new(WAITING));
    loop {
        let frame = match read.next().await {
            None => return LinkEnd::THERE,
            Some(Err(error)) => return error.into(),
            Some(Ok(bytes)) => match codec::decode_frame(&bytes) {
                Ok(Frame::Hello(_)) => return LinkEnd::SecondHello,
                Ok(frame) => frame,
                Err(error) => return error.into(),
            },
        };
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return LinkEnd::HERE;
        };
        let note = Note::Frame { link, frame, place };
        if notes.send(note).await.is_err() {
            return LinkEnd::HERE;
        }
    }
}

async fn transmit(
    write: &mut (impl Sink<Bytes, Error = CodecError> + Unpin),
    mut queue: mpsc::Receiver<Bytes>,
) -> Result<(), CodecError> {
    while let Some(bytes) = queue.recv().await {
        write.feed(bytes).await?;
        while let Ok(bytes) = queue.try_recv() {
            write.feed(bytes).await?;
        }
        write.flush().await?;
    }
    write.close().await
}
