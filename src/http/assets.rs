//! The web panel's files, which are part of the program.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::problem::Problem;

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

/// Every file that is served; a test compares it with the directory.
const ASSETS: &[Asset] = assets! {
    "index.html": HTML,
};

/// The entity tags, in the order of [`ASSETS`].
static TAGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tag = |asset: &Asset| format!("\"{}\"", &blake3::hash(asset.bytes).to_hex()[..16]);
    ASSETS.iter().map(tag).collect()
});

/// `GET /`
pub(super) async fn index(headers: HeaderMap) -> Response {
    serve("index.html", &headers)
}

/// `GET /assets/…`
pub(super) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    serve(&name, &headers)
}

fn serve(name: &str, headers: &HeaderMap) -> Response {
    let found = ASSETS.iter().zip(TAGS.iter()).find(|(asset, _)| asset.name == name);
    let Some((asset, tag)) = found else {
        return Problem::new(StatusCode::NOT_FOUND, "not_found", "there is no such file")
            .into_response();
    };
    let about = [
        (header::CONTENT_TYPE, asset.content_type),
        (header::ETAG, tag.as_str()),
        // Asked for again each time, so that a page and its scripts are of one version.
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    let has_it =
        headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).any(
            |value| value.split(',').any(|known| known.trim().trim_start_matches("W/") == tag),
        );
    if has_it {
        (StatusCode::NOT_MODIFIED, about).into_response()
    } else {
        (about, asset.bytes).into_response()
    }
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

    #[test]
    fn a_file_that_the_browser_has_is_not_sent_again() {
        let response = serve("index.html", &HeaderMap::new());
        assert_eq!(response.status(), StatusCode::OK);
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_NONE_MATCH, response.headers()[header::ETAG].clone());
        assert_eq!(serve("index.html", &headers).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(serve("../Cargo.toml", &headers).status(), StatusCode::NOT_FOUND);
    }
}
