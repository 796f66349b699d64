//! A stream that arrives in pieces.

/// These bytes in pieces, whose lengths the first bytes say: the rest is the stream. The pieces are
/// 1 to 64 bytes long.
pub(crate) fn pieces(bytes: &[u8]) -> (&[u8], Vec<&[u8]>) {
    let (lengths, stream) = bytes.split_at(bytes.len().min(4));
    let mut lengths = lengths.iter().cycle().map(|length| 1 + usize::from(length % 64));
    let mut pieces = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        let length = lengths.next().unwrap_or(1).min(rest.len());
        let (piece, after) = rest.split_at(length);
        pieces.push(piece);
        rest = after;
    }
    (stream, pieces)
}

/// A stream that arrives in pieces of very different lengths.
pub(crate) fn as_stream(stream: &[u8]) -> Vec<u8> {
    [&[0, 4, 63, 1], stream].concat()
}
