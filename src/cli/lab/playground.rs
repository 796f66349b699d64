//! `liftmesh lab playground`: the fleet in a browser tab, served on this machine.

use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::middleware::map_response;
use axum::response::Response;
use clap::Args;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tower_http::services::ServeDir;

use super::LabError;
use crate::cli::{CommandError, output};

pub(super) const EXAMPLES: &str = "\
The playground is a static site, which ./playground/build.sh makes in a checkout of the source. It is
served on loopback, until a signal ends it.

Examples:
  ./playground/build.sh && liftmesh lab playground
  liftmesh lab playground --port 9000
  liftmesh lab playground --dir /srv/playground";

/// The arguments of `liftmesh lab playground`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlaygroundArgs {
    /// The TCP port on 127.0.0.1; 0 takes one that is free
    #[arg(long, value_name = "PORT", default_value = "7070")]
    port: u16,
    /// Where the playground was built
    #[arg(long, value_name = "DIR", default_value = "target/playground",
          value_hint = clap::ValueHint::DirPath)]
    dir: PathBuf,
}

impl PlaygroundArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        if !is_built(&self.dir) {
            return Err(LabError::NoPlayground(self.dir.clone()).into());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(LabError::Serve)?.block_on(self.serve())
    }

    async fn serve(&self) -> Result<(), CommandError> {
        let port = self.port;
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = bound.map_err(|source| LabError::Port { port, source })?;
        let address = listener.local_addr().map_err(LabError::Serve)?;
        let ended = ended().map_err(LabError::Serve)?;
        output::print(&format!("http://{address}/\n"))?;
        let site = Router::new()
            .fallback_service(ServeDir::new(&self.dir))
            .layer(map_response(asked_for_again));
        tokio::select! {
            served = axum::serve(listener, site) => served.map_err(LabError::Serve)?,
            () = ended => {}
        }
        Ok(())
    }
}

/// Whether there is a whole playground: its page and its program.
fn is_built(dir: &Path) -> bool {
    ["index.html", "fleet/liftmesh_playground_bg.wasm"].iter().all(|file| dir.join(file).is_file())
}

/// A page, its scripts and its program are of one build.
async fn asked_for_again(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// The signal that ends it.
fn ended() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
