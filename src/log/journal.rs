//! Entries of the system's journal with fields of their own: `journalctl LIFTMESH_CAR=A`.
//!
//! A line for the journal carries its fields behind its text, each after a NUL, so that both are
//! one message of the queue. The thread of the log sends the fields by the journal's native protocol
//! (`systemd.io/JOURNAL_NATIVE_PROTOCOL`), in which an entry is a datagram. Where that can't be, as
//! when there is no such socket or the entry is too long for a datagram, it writes the text to
//! standard error, as the journal would have it from a program that knows nothing of it.

use std::error::Error;
use std::fmt::Debug;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use tracing::Level;
use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;

use super::format::priority;

const SOCKET: &str = "/run/systemd/journal/socket";

/// What a field of an event is called: its own name in capitals, behind this.
const PREFIX: &str = "LIFTMESH_";

/// The way to the system's journal.
#[derive(Debug)]
pub(super) struct Journal {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Journal {
    pub(super) fn system() -> io::Result<Self> {
        Self::at(SOCKET)
    }

    pub(super) fn at(path: impl Into<PathBuf>) -> io::Result<Self> {
        Ok(Self { socket: UnixDatagram::unbound()?, path: path.into() })
    }

    /// Sends an entry. Waits while the journal is slow. The address is looked up each time, as a
    /// journal that is restarted has another socket.
    pub(super) fn send(&self, fields: &str) -> io::Result<()> {
        self.socket.send_to(&datagram(fields), &self.path).map(drop)
    }
}

/// The text of a line, and the fields behind it if there are any.
pub(super) fn split(line: &[u8]) -> (&[u8], Option<&str>) {
    let Some(end) = line.iter().position(|byte| *byte == 0) else {
        return (line, None);
    };
    (&line[..end], str::from_utf8(&line[end..]).ok())
}

/// A line with its fields behind it: those that the journal knows, and those of an event.
pub(super) fn with_fields(
    mut line: String,
    level: Level,
    message: &str,
    event: Option<&impl RecordFields>,
) -> String {
    // Where it came from outside, a NUL would end the text.
    if line.contains('\0') {
        line = line.replace('\0', "\u{fffd}");
    }
    let mut fields = Fields(line);
    fields.put("PRIORITY", &priority(level).to_string());
    fields.put("SYSLOG_IDENTIFIER", "liftmesh");
    fields.put("MESSAGE", message.trim_end());
    if let Some(event) = event {
        event.record(&mut fields);
    }
    fields.0
}

/// Fields behind a line.
struct Fields(String);

impl Fields {
    fn put(&mut self, name: &str, value: &str) {
        self.0.push('\0');
        self.0.push_str(name);
        self.0.push('=');
        self.0.extend(value.chars().map(|c| if c == '\0' { '\u{fffd}' } else { c }));
    }

    /// The journal refuses other characters in names. The text of the event alone is that of
    /// `LIFTMESH_EVENT`.
    fn put_own(&mut self, field: &Field, value: &str) {
        let name = if field.name() == "message" { "event" } else { field.name() };
        let letters = name.chars().map(|c| match c.to_ascii_uppercase() {
            letter @ ('A'..='Z' | '0'..='9') => letter,
            _ => '_',
        });
        let name: String = PREFIX.chars().chain(letters).collect();
        self.put(&name, value);
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put_own(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.put_own(field, &value.to_string());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put_own(field, &format!("{value:?}"));
    }
}

/// An entry as it is sent. A value of several lines has its length before it.
fn datagram(fields: &str) -> Vec<u8> {
    let mut entry = Vec::with_capacity(fields.len() + 32);
    for (name, value) in fields.split('\0').filter_map(|field| field.split_once('=')) {
        entry.extend(name.as_bytes());
        if value.contains('\n') {
            entry.push(b'\n');
            entry.extend((value.len() as u64).to_le_bytes());
        } else {
            entry.push(b'=');
        }
        entry.extend(value.as_bytes());
        entry.push(b'\n');
    }
    entry
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::path::Path;
    use std::thread;
    use std::time::Duration;

    use tracing::{info, warn};
    use tracing_subscriber::fmt::SubscriberBuilder;

    use super::super::format::{Fields as Text, Prefixed};
    use super::super::queue::Queue;
    use super::*;

    /// Logs to the journal at this path. What it does not take is returned.
    fn logged(path: &Path, log: impl FnOnce()) -> String {
        let (mut reader, errors) = UnixStream::pair().expect("a pair");
        let reading = thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).map(|_| text)
        });
        let journal = Journal::at(path).expect("a socket");
        let errors = File::from(OwnedFd::from(errors));
        let queue = Queue::start(errors, Some(journal)).expect("a thread");
        let pen = queue.pen();
        let subscriber = SubscriberBuilder::default()
            .fmt_fields(Text)
            .event_format(Prefixed::text().with_fields(true))
            .with_writer(move || pen.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, log);
        assert!(queue.flush(Duration::from_secs(20)));
        // The thread ends, and with it its side of the pair.
        drop(queue);
        reading.join().expect("it reads").expect("text")
    }

    fn received(journal: &UnixDatagram) -> Vec<u8> {
        let mut entry = vec![0; 1 << 16];
        let length = journal.recv(&mut entry).expect("an entry");
        entry.truncate(length);
        entry
    }

    fn served() {
        let call = "hall 3 up";
        info!(%call, car = "A", waited_ms = 12, "order served");
    }

    #[test]
    fn an_entry_has_its_fields() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("socket");
        let journal = UnixDatagram::bind(&path).expect("a socket");
        assert_eq!(logged(&path, served), "");
        let target = module_path!();
        let expected = format!(
            "PRIORITY=6\nSYSLOG_IDENTIFIER=liftmesh\n\
             MESSAGE= INFO {target}: order served call=\"hall 3 up\" car=A waited_ms=12\n\
             LIFTMESH_EVENT=order served\nLIFTMESH_CALL=hall 3 up\nLIFTMESH_CAR=A\n\
             LIFTMESH_WAITED_MS=12\n"
        );
        assert_eq!(String::from_utf8_lossy(&received(&journal)), expected);
    }

    #[test]
    fn a_value_of_two_lines_has_its_length_before_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("socket");
        let journal = UnixDatagram::bind(&path).expect("a socket");
        logged(&path, || warn!(reason = "one\ntwo", "a \0 and\nFORGED=1"));
        let entry = received(&journal);
        let field = |name: &str, value: &str| {
            let length = (value.len() as u64).to_le_bytes();
            [name.as_bytes(), b"\n", &length, value.as_bytes(), b"\n"].concat()
        };
        let has = |part: &[u8]| entry.windows(part.len()).any(|window| window == part);
        assert!(has(b"PRIORITY=4\n"));
        assert!(has(&field("LIFTMESH_REASON", "one\ntwo")));
        assert!(has(&field("LIFTMESH_EVENT", "a \u{fffd} and\nFORGED=1")));
    }

    #[test]
    fn without_the_socket_lines_go_to_standard_error() {
        let directory = tempfile::tempdir().expect("a directory");
        let target = module_path!();
        assert_eq!(
            logged(&directory.path().join("socket"), served),
            format!("<6> INFO {target}: order served call=\"hall 3 up\" car=A waited_ms=12\n")
        );
    }

    #[test]
    fn an_entry_that_is_too_long_goes_to_standard_error() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("socket");
        let journal = UnixDatagram::bind(&path).expect("a socket");
        let long = "x".repeat(1 << 20);
        let text = logged(&path, || info!("{long}"));
        assert!(text.starts_with("<6>") && text.contains(&long));
        journal.set_nonblocking(true).expect("set");
        journal.recv(&mut [0; 16]).expect_err("no entry");
    }
}
