//! The task that reads the fleet keys.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tracing::{error, info, trace};

use super::gate::Gate;
use super::{Common, Note};

/// How long a node that starts waits for its keys. A sound disk takes a small part of that.
pub(super) const LIMIT: Duration = Duration::from_millis(200);

const RETRY: Duration = Duration::from_secs(1);

/// Reads the keys until it has all of them, on threads of their own, as a disk may hang.
pub(super) async fn read_all(Common { settings, notes, .. }: Common) {
    let keys = &settings.keys;
    let mut log = Gate::once();
    loop {
        let (reading, before) = (Arc::clone(keys), keys.get());
        let read = spawn_blocking(move || reading.read()).await;
        if before.as_ref().map(Arc::as_ptr) != keys.get().as_ref().map(Arc::as_ptr) {
            info!("fleet keys have been read");
            if notes.send(Note::KeysRead).await.is_err() {
                trace!("the keys outlived the mesh");
            }
        }
        let is_usable = keys.get().is_some();
        match read {
            Ok(Ok(())) => return,
            Ok(Err(_)) | Err(_) if !log.opens(&is_usable) => {}
            Ok(Err(error)) if is_usable => {
                error!(%error, "a fleet key can't be read: nodes that send it are not heard");
            }
            Ok(Err(error)) => error!(%error, "serving alone until there is a fleet key"),
            Err(error) => error!(%error, "the fleet keys were not read"),
        }
        tokio::time::sleep(RETRY).await;
    }
}
