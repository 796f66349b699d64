//! The web panel's files, which are part of the program.

use std::io::Write;
use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::extract::Path;
use crate::programs::Problem;

/// What a page of the panel may do: load what this node serves, and nothing else.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; object-src 'none'";

/// A file of `web/`.
struct Asset {
    /// The path below `web/`.
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

/// What each file is sent as, in the order of [`ASSETS`].
static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| ASSETS.iter().map(Form::of).collect());

/// What a file is sent as.
struct Form {
    /// Weak, as it names both forms.
    tag: String,
    /// Empty if it could not be compressed.
    compressed: Bytes,
}

impl Form {
    fn of(asset: &Asset) -> Self {
        let tag = format!("W/\"{}\"", &blake3::hash(asset.bytes).to_hex()[..16]);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let written = encoder.write_all(asset.bytes).and_then(|()| encoder.finish());
        Self { tag, compressed: written.unwrap_or_default().into() }
    }
}

/// `GET /`
pub(super) async fn index(headers: HeaderMap) -> Response {
    serve("index.html", &headers)
}

/// `GET /assets/…`
pub(super) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    serve(&name, &headers)
}

fn serve(name: &str, headers: &HeaderMap) -> Response {
    let found = ASSETS.iter().zip(FORMS.iter()).find(|(asset, _)| asset.name == name);
    let Some((asset, form)) = found else {
        return Problem::new(StatusCode::NOT_FOUND, "not_found", "no such file").into_response();
    };
    let about = [
        (header::CONTENT_TYPE, asset.content_type),
        (header::ETAG, form.tag.as_str()),
        (header::VARY, "accept-encoding"),
        // Asked for again each time, so that a page and its scripts are of one version.
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    if words(headers, header::IF_NONE_MATCH).any(|tag| tag == form.tag) {
        return (StatusCode::NOT_MODIFIED, about).into_response();
    }
    let takes_it = words(headers, header::ACCEPT_ENCODING).any(|coding| coding == "gzip");
    if takes_it && !form.compressed.is_empty() {
        let encoding = [(header::CONTENT_ENCODING, "gzip")];
        return (about, encoding, form.compressed.clone()).into_response();
    }
    (about, asset.bytes).into_response()
}

/// The members of a list in a request's head. One with a parameter is none of those looked for.
fn words(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use axum::http::HeaderValue;

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

    #[test]
    fn a_file_that_the_browser_has_is_not_sent_again() {
        let response = serve("index.html", &HeaderMap::new());
        assert_eq!(response.status(), StatusCode::OK);
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_NONE_MATCH, response.headers()[header::ETAG].clone());
        assert_eq!(serve("index.html", &headers).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(serve("../Cargo.toml", &headers).status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn a_browser_gets_files_compressed() {
        let plain = serve("style.css", &HeaderMap::new());
        assert_eq!(plain.headers().get(header::CONTENT_ENCODING), None);
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate, br"));
        let packed = serve("style.css", &headers);
        assert_eq!(packed.headers()[header::CONTENT_ENCODING], "gzip");
        assert_eq!(packed.headers()[header::ETAG], plain.headers()[header::ETAG]);
        let all: usize = FORMS.iter().map(|form| form.compressed.len()).sum();
        assert!((10_000..100_000).contains(&all), "{all} bytes");
    }
}
