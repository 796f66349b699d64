//! Threads beside the node's loop: whatever clients do there delays nothing in it.

use std::io;
use std::thread;
use std::time::Duration;

use rustix::process::nice;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tracing::{debug, warn};

/// As far below the usual priority as leaves some processor time for sure.
const NICENESS: i32 = 10;

/// How long the thread may take to end.
const END_LIMIT: Duration = Duration::from_secs(1);

/// How long what blocks, such as a disk that does not answer, may hold up the end of the thread.
pub(crate) const LEFTOVERS: Duration = Duration::from_millis(100);

/// A running thread. When this is dropped it ends by itself.
#[derive(Debug)]
pub(crate) struct Side {
    name: &'static str,
    stop: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
}

impl Side {
    /// Starts a thread, which gives way to the node's loop, its panel and its journal. What it
    /// serves ends when its receiver does.
    pub(crate) fn start<S: Future<Output = ()>>(
        name: &'static str,
        runtime: Runtime,
        serve: impl FnOnce(oneshot::Receiver<()>) -> S + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = oneshot::channel();
        let (report, ended) = oneshot::channel();
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            // Linux lowers the priority of this thread alone, and of those that it starts.
            if let Err(error) = nice(NICENESS) {
                debug!(%error, "can't lower the priority of a thread that serves clients");
            }
            runtime.block_on(serve(stopped));
            runtime.shutdown_timeout(LEFTOVERS);
            drop(report);
        })?;
        Ok(Self { name, stop, ended })
    }

    /// Ends what it serves, and its connections.
    pub(crate) async fn finish(self) {
        drop(self.stop);
        if tokio::time::timeout(END_LIMIT, self.ended).await.is_err() {
            warn!(thread = self.name, "a thread that serves clients did not stop in time");
        }
    }
}
