//! A stream that arrives in pieces.

/// These bytes in pieces of 1 to 64 bytes, whose lengths the first four say: the rest is the stream.
pub(crate) fn pieces(bytes: &[u8]) -> (&[u8], Vec<&[u8]>) {
    let (lengths, stream) = bytes.split_at(bytes.len().min(4));
    let mut lengths = lengths.iter().cycle().map(|length| 1 + usize::from(length % 64));
    let (mut pieces, mut rest) = (Vec::new(), stream);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(lengths.next().unwrap_or(1).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    (stream, pieces)
}

/// A stream that arrives in pieces of very different lengths.
pub(crate) fn as_stream(stream: &[u8]) -> Vec<u8> {
    [&[0, 4, 63, 1], stream].concat()
}
