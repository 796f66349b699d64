//! A client on the operator socket that sends any bytes, in pieces.

use liftmesh::fuzzing::{self, Access, Served};

use crate::split::{as_stream, pieces};
use crate::text::operator_seeds;

/// The longest request, with its line feed.
const LONGEST: usize = 4096;

/// The request after which nothing else is taken.
const WATCH: &str = r#"{"query":"watch"}"#;

/// The first byte says which socket, the others are a stream in pieces: one reply for each line up
/// to the one that watches, the same whatever the pieces; the socket for reading hands nothing on
/// that changes anything.
pub(crate) fn operator_client(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    let access = if first % 2 == 0 { Access::Full } else { Access::Reading };
    let (stream, pieces) = pieces(rest);
    let whole = fuzzing::serve(access, &[stream]).expect("a socket");
    let served = fuzzing::serve(access, &pieces).expect("a socket");
    assert_eq!(served, whole, "the pieces matter");
    check(access, stream, &served);
}

fn check(access: Access, stream: &[u8], served: &Served) {
    let lines = stream.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let is_watch = |line: &&[u8]| {
        line.len() <= LONGEST && fuzzing::request(line).is_some_and(|request| request == WATCH)
    };
    let lines: Vec<&[u8]> = lines.collect();
    let watching = lines.iter().position(is_watch).map(|at| at + 1);
    let lines = &lines[..watching.unwrap_or(lines.len())];
    let replies: Vec<&[u8]> = served.replies.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(replies.len(), lines.len(), "one reply for each line");
    for (line, reply) in lines.iter().zip(replies) {
        let reply = fuzzing::reply(reply).expect("a reply");
        let request = fuzzing::request(line).filter(|_| line.len() <= LONGEST);
        let is_malformed = reply.contains(r#""code":"malformed""#);
        assert!(is_malformed || request.is_some(), "{reply}");
    }
    if access == Access::Reading {
        assert!(served.asked.iter().all(|query| query == "status"), "{:?}", served.asked);
    }
    assert!(served.asked.len() <= lines.len());
}

pub(crate) fn operator_client_seeds() -> Vec<Vec<u8>> {
    let requests: Vec<Vec<u8>> = operator_seeds()
        .into_iter()
        .filter(|line| line.starts_with(br#"{"query""#))
        .map(|line| [&line[..], b"\n"].concat())
        .collect();
    let streams = [
        requests.concat(),
        requests.iter().rev().flatten().copied().collect(),
        [&[b'x'; LONGEST][..], b"\n", &requests[0]].concat(),
        [&[b' '; LONGEST - 18][..], br#"{"query":"status"}"#, b"\nno end"].concat(),
    ];
    let of_each =
        |stream: &Vec<u8>| [0, 1].map(|first| [&[first], &as_stream(stream)[..]].concat());
    streams.iter().flat_map(of_each).collect()
}
