//! `liftmesh lab playground`: the fleet in a browser tab, served on this machine.

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
The playground is a static site. Build it with ./playground/build.sh in a source checkout; the
Debian package installs it in /usr/share/liftmesh/playground. It is served on loopback until you
stop it.";

#[derive(Debug, Clone, Args)]
pub(crate) struct PlaygroundArgs {
    /// TCP port on 127.0.0.1; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value = "7070")]
    port: u16,
    /// The playground's directory [default: target/playground, or else
    /// /usr/share/liftmesh/playground]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Where the playground is by default: as built in a checkout, or as installed.
const PLACES: [&str; 2] = ["target/playground", "/usr/share/liftmesh/playground"];

impl PlaygroundArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let site = find(self.dir.as_deref())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(LabError::Serve)?.block_on(self.serve(&site))
    }

    async fn serve(&self, site: &Path) -> Result<(), CommandError> {
        let port = self.port;
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = bound.map_err(|source| LabError::Port { port, source })?;
        let address = listener.local_addr().map_err(LabError::Serve)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(LabError::Serve)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(LabError::Serve)?;
        output::print(&format!("http://{address}/\n"))?;
        let site = Router::new()
            .fallback_service(ServeDir::new(site).precompressed_gzip())
            .layer(map_response(with_headers));
        tokio::select! {
            served = axum::serve(listener, site) => served.map_err(LabError::Serve)?,
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        Ok(())
    }
}

/// The directory of the playground: the given one, or the first of [`PLACES`] that has one.
fn find(given: Option<&Path>) -> Result<PathBuf, LabError> {
    let places: Vec<PathBuf> = match given {
        Some(directory) => vec![directory.to_owned()],
        None => PLACES.map(PathBuf::from).to_vec(),
    };
    let found = places.iter().find(|place| is_built(place)).cloned();
    found.ok_or(LabError::NoPlayground(places))
}

/// Whether there is a whole playground: its page and its program.
fn is_built(dir: &Path) -> bool {
    ["index.html", "fleet/liftmesh_playground_bg.wasm"].iter().all(|file| dir.join(file).is_file())
}

/// A page, its scripts and its program are of one build, so the browser asks for each again. The
/// policy is that of race.html, for workers as well, and with the pictures of index.html.
async fn with_headers(mut response: Response) -> Response {
    const POLICY: &str = "default-src 'self'; script-src 'self' 'unsafe-eval'; worker-src 'self' blob:; \
        img-src 'self' blob:; form-action 'none'; base-uri 'none'";
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}
