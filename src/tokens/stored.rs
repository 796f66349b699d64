//! The tokens of a node that does not run, as its journal has them.

use std::path::PathBuf;
use std::time::Duration;

use elevator_fleet::model::NodeId;
use tokio::time::Instant;
use tracing::warn;

use super::Tokens;
use crate::journal::{self, JournalError, Stamp};

/// Between two attempts to read a journal that another process has open.
const RETRY: Duration = Duration::from_millis(200);

/// A copy in memory, renewed only when the file has changed: no request makes anybody open it.
#[derive(Debug)]
pub(crate) struct StoredTokens {
    data_dir: PathBuf,
    node: NodeId,
    /// The journal as it was read last.
    read: Option<Stamp>,
    retry_at: Instant,
    tokens: Option<Tokens>,
}

impl StoredTokens {
    pub(crate) fn new(data_dir: PathBuf, node: NodeId) -> Self {
        Self { data_dir, node, read: None, retry_at: Instant::now(), tokens: None }
    }

    /// The tokens; `None` if they can't be read, of which the log has the reason.
    pub(crate) async fn get(&mut self) -> Option<&Tokens> {
        let is_current = self.read == Some(journal::stamp_of(&self.data_dir));
        if !is_current && Instant::now() >= self.retry_at {
            self.read().await;
        }
        self.tokens.as_ref()
    }

    async fn read(&mut self) {
        let (data_dir, node) = (self.data_dir.clone(), self.node.clone());
        let read = tokio::task::spawn_blocking(move || {
            let stamp = journal::stamp_of(&data_dir);
            (journal::settings_of(&data_dir, &node), stamp)
        });
        match read.await {
            Ok((Err(JournalError::InUse { .. }), _)) | Err(_) => {
                self.retry_at = Instant::now() + RETRY;
            }
            Ok((Ok(settings), stamp)) => {
                self.tokens = Some(Tokens::of(&settings));
                self.read = Some(stamp);
            }
            Ok((Err(error), stamp)) => {
                warn!(error = &error as &dyn std::error::Error, "no token counts");
                self.tokens = None;
                self.read = Some(stamp);
            }
        }
    }
}
