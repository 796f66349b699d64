//! The web panel's files, which are part of the program.

use std::io::Read;
use std::sync::LazyLock;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzEncoder;

use super::extract::Path;
use crate::programs::Problem;

/// What a page of the panel may do: load what this node serves, and nothing else.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; object-src 'none'";

struct Asset {
    name: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

macro_rules! assets {
    ($($name:literal: $content_type:expr,)+) => {
        &[$(Asset {
            name: $name,
            content_type: $content_type,
            bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/web/", $name)),
        }),+]
    };
}

const HTML: &str = "text/html; charset=utf-8";
const IMAGE: &str = "image/svg+xml";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// Every file that is served; a test compares it with the directory.
const ASSETS: &[Asset] = assets! {
    "app.js": SCRIPT,
    "bank.css": STYLE,
    "charts.js": SCRIPT,
    "dialogs.js": SCRIPT,
    "format.js": SCRIPT,
    "history.js": SCRIPT,
    "html.js": SCRIPT,
    "icon.svg": IMAGE,
    "index.html": HTML,
    "live.js": SCRIPT,
    "main.js": SCRIPT,
    "model.js": SCRIPT,
    "motion.js": SCRIPT,
    "pages/audit.js": SCRIPT,
    "pages/bank.js": SCRIPT,
    "pages/events.js": SCRIPT,
    "pages/fleet.js": SCRIPT,
    "pages/hang.js": SCRIPT,
    "pages/service.js": SCRIPT,
    "pages/shaft.js": SCRIPT,
    "service.css": STYLE,
    "sheet.css": STYLE,
    "source.js": SCRIPT,
    "style.css": STYLE,
    "timeline.js": SCRIPT,
    "toolbar.js": SCRIPT,
    "vendor/LICENSE-htm": TEXT,
    "vendor/LICENSE-preact": TEXT,
    "vendor/LICENSE-uplot": TEXT,
    "vendor/README.md": TEXT,
    "vendor/htm.js": SCRIPT,
    "vendor/preact.js": SCRIPT,
    "vendor/uplot.css": STYLE,
    "vendor/uplot.js": SCRIPT,
};

/// The same files for clients that take gzip, as browsers do.
static COMPRESSED: LazyLock<Vec<Bytes>> = LazyLock::new(|| {
    let gzip = |asset: &Asset| {
        let mut bytes = Vec::new();
        let read = GzEncoder::new(asset.bytes, Compression::best()).read_to_end(&mut bytes);
        read.map(|_| bytes.into()).unwrap_or_default()
    };
    ASSETS.iter().map(gzip).collect()
});

pub(super) async fn index(headers: HeaderMap) -> Response {
    serve("index.html", &headers)
}

pub(super) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    serve(&name, &headers)
}

fn serve(name: &str, headers: &HeaderMap) -> Response {
    let mut files = ASSETS.iter().zip(COMPRESSED.iter());
    let Some((asset, compressed)) = files.find(|(asset, _)| asset.name == name) else {
        return Problem::new(StatusCode::NOT_FOUND, "not_found", "no such file").into_response();
    };
    let about = [
        (header::CONTENT_TYPE, asset.content_type),
        (header::VARY, "accept-encoding"),
        // Asked for again each time, so that a page and its scripts are of one version.
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    let codings = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let takes_gzip = codings.is_some_and(|all| all.split(',').any(|one| one.trim() == "gzip"));
    if takes_gzip && !compressed.is_empty() {
        return (about, [(header::CONTENT_ENCODING, "gzip")], compressed.clone()).into_response();
    }
    (about, asset.bytes).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_panel_is_served() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
        let (mut found, mut waiting) = (BTreeSet::new(), vec![root.clone()]);
        while let Some(directory) = waiting.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    waiting.push(path);
                } else {
                    let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                    found.insert(name);
                }
            }
        }
        assert_eq!(found, ASSETS.iter().map(|asset| asset.name.to_owned()).collect());
    }
}
