//! Lines of the socket, in both directions, and a client that sends any bytes.

use std::io;

use elevator_fleet::model::Call;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{broadcast, mpsc};

use super::protocol::{QueryLine, ReplyLine};
use super::server::{self, accompany};
use super::{EVENTS, NodeLoop, Query, REQUESTS, Request};

/// The socket that the client comes in by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The node's own.
    Full,
    /// The one for status and events.
    Reading,
}

/// What a client has seen of a node that answers nothing.
#[derive(Debug, PartialEq, Eq)]
pub struct Served {
    /// The replies, one a line.
    pub replies: Vec<u8>,
    /// What reached the node's loop, in order.
    pub asked: Vec<String>,
}

/// Serves a client that sends these pieces, and then nothing more.
///
/// # Errors
/// Of the system: there is no socket.
pub fn serve(access: Access, pieces: &[&[u8]]) -> io::Result<Served> {
    thread_local! {
        static RUNTIME: io::Result<tokio::runtime::Runtime> =
            tokio::runtime::Builder::new_current_thread().enable_all().build();
    }
    RUNTIME.with(|runtime| match runtime {
        Ok(runtime) => runtime.block_on(serve_one(access, pieces)),
        Err(error) => Err(error.kind().into()),
    })
}

async fn serve_one(access: Access, pieces: &[&[u8]]) -> io::Result<Served> {
    let (client, node_end) = UnixStream::pair()?;
    let (requests, mut asked) = mpsc::channel::<Request>(REQUESTS);
    let (events, _) = broadcast::channel(EVENTS);
    let (mut from_node, mut to_node) = client.into_split();
    let client = async {
        for piece in pieces {
            to_node.write_all(piece).await?;
            tokio::task::yield_now().await;
        }
        drop(to_node);
        io::Result::Ok(())
    };
    let reading = async {
        let mut replies = Vec::new();
        from_node.read_to_end(&mut replies).await.map(|_| replies)
    };
    let node = async {
        let mut seen = Vec::new();
        // A request that is dropped is not answered.
        while let Some(request) = asked.recv().await {
            seen.push(match request.query {
                Query::Status => "status".to_owned(),
                other => format!("{other:?}"),
            });
        }
        seen
    };
    let access = match access {
        Access::Full => server::Access::Full,
        Access::Reading => server::Access::Reading,
    };
    let served = accompany(node_end, access, NodeLoop::new(requests), events);
    let (sent, replies, asked, ()) = tokio::join!(client, reading, node, served);
    sent?;
    Ok(Served { replies: replies?, asked })
}

/// A request, as a client of this program would write it; `None` if the line is none.
#[must_use]
pub fn request(line: &[u8]) -> Option<String> {
    let query: QueryLine = serde_json::from_slice(line).ok()?;
    if let QueryLine::Order { call, .. } = &query {
        // A call that is no button is refused by the server.
        drop(Call::try_from(call));
    }
    serde_json::to_string(&query).ok()
}

/// A reply, as this program would write it; `None` if the line is none.
#[must_use]
pub fn reply(line: &[u8]) -> Option<String> {
    let reply: ReplyLine = serde_json::from_slice(line).ok()?;
    serde_json::to_string(&reply).ok()
}
