//! The golden vectors are in `docs/PROTOCOL.md`, for authors of other nodes.

const DOCUMENT: &str = include_str!("../../../docs/PROTOCOL.md");

/// The bytes of the listing of this name in the document: hex digits, then a bar and a remark.
pub(crate) fn documented(name: &str) -> Vec<u8> {
    let opening = format!("```hex {name}\n");
    let (_, listing) = DOCUMENT.split_once(&opening).expect("a listing");
    let (listing, _) = listing.split_once("```").expect("its end");
    let digits = |line: &str| line.split('|').next().unwrap_or_default().replace(' ', "");
    let digits: String = listing.lines().map(digits).collect();
    let pair = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).expect("ASCII");
        u8::from_str_radix(pair, 16).expect("two hex digits")
    };
    digits.as_bytes().chunks(2).map(pair).collect()
}
