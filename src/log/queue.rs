//! The thread that writes the log, and the queue in front of it.

use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use tracing::warn;
use tracing_subscriber::fmt::MakeWriter;

use super::journal::{self, Journal};

/// The bound of the queue of messages. Further ones are dropped and counted.
const QUEUE: usize = 4096;

/// The time between two attempts to write to a slow reader, or to queue a request.
const BREATH: Duration = Duration::from_millis(10);

/// The messages that this process has lost.
static LOST: AtomicU64 = AtomicU64::new(0);

/// The messages of this process that wait to be written.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// How many messages of this process's log wait to be written.
#[must_use]
pub(crate) fn queued() -> usize {
    WAITING.load(Ordering::Relaxed)
}

/// How many messages of this process's log were lost so far, because they were not read in time or
/// could not be written.
#[must_use]
pub(crate) fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// A message that waits.
#[derive(Debug)]
struct Line(Vec<u8>);

impl Line {
    fn new(bytes: Vec<u8>) -> Self {
        WAITING.fetch_add(1, Ordering::Relaxed);
        Self(bytes)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug)]
enum Note {
    Line(Line),
    /// Answered once nothing waits any more.
    Flush(SyncSender<()>),
}

/// The way to the thread.
#[derive(Debug)]
pub(super) struct Queue(SyncSender<Note>);

/// Queues lines. Never waits and never fails.
#[derive(Debug, Clone)]
pub(super) struct Pen(SyncSender<Note>);

impl Queue {
    /// Lines with fields go to the journal, if it is given and takes them, and all else to `output`.
    pub(super) fn start(
        output: impl Write + Send + 'static,
        journal: Option<Journal>,
    ) -> io::Result<Self> {
        let (notes, waiting) = sync_channel(QUEUE);
        let scribe = Scribe { journal, ..Scribe::new(output, &LOST) };
        thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || scribe.run(&waiting, || report_loss(lost())))?;
        Ok(Self(notes))
    }

    pub(super) fn pen(&self) -> Pen {
        Pen(self.0.clone())
    }

    /// Waits until the queue is written, for `limit` at most; `true` if it is.
    pub(super) fn flush(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let (done, written) = sync_channel(1);
        let mut note = Note::Flush(done);
        loop {
            match self.0.try_send(note) {
                Ok(()) => break,
                Err(TrySendError::Full(refused)) if Instant::now() < deadline => note = refused,
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => return false,
            }
            thread::sleep(BREATH);
        }
        let rest = deadline.saturating_duration_since(Instant::now());
        written.recv_timeout(rest).is_ok()
    }
}

impl Pen {
    pub(super) fn write_line(&self, line: &[u8]) {
        if self.0.try_send(Note::Line(Line::new(line.to_vec()))).is_err() {
            LOST.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The subscriber writes each event as a whole.
impl Write for Pen {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.write_line(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Pen {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn report_loss(total: u64) {
    warn!(total, "log lines were lost: standard error could not be written");
}

/// Writes, on a thread of its own.
struct Scribe<W> {
    output: W,
    journal: Option<Journal>,
    lost: &'static AtomicU64,
    /// How many losses were reported.
    reported: u64,
    /// The last write went well.
    works: bool,
    /// What was written last is the beginning of a line.
    is_cut: bool,
}

impl<W: Write> Scribe<W> {
    fn new(output: W, lost: &'static AtomicU64) -> Self {
        let reported = lost.load(Ordering::Relaxed);
        Self { output, journal: None, lost, reported, works: true, is_cut: false }
    }

    /// Runs until all senders are dropped. `report` logs a line about the losses, which may be lost
    /// too.
    fn run(mut self, notes: &Receiver<Note>, report: impl Fn()) {
        let mut flushed = None;
        loop {
            let note = match notes.try_recv() {
                Ok(note) => note,
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => {
                    if self.owes_report() {
                        report();
                        continue;
                    }
                    let asked: Option<SyncSender<()>> = flushed.take();
                    // Nobody waits for the answer any more if that has taken too long.
                    asked.map_or(Ok(()), |asked| asked.try_send(())).unwrap_or_default();
                    match notes.recv() {
                        Ok(note) => note,
                        Err(_) => return,
                    }
                }
            };
            match note {
                Note::Line(line) => self.write(&line.0),
                Note::Flush(done) => flushed = Some(done),
            }
        }
    }

    /// Whether there are losses to tell, and somebody to tell them to.
    fn owes_report(&mut self) -> bool {
        let lost = self.lost.load(Ordering::Relaxed);
        let owes = self.works && lost > self.reported;
        if owes {
            self.reported = lost;
        }
        owes
    }

    fn write(&mut self, line: &[u8]) {
        let (line, fields) = journal::split(line);
        if let (Some(journal), Some(fields)) = (&self.journal, fields)
            && journal.send(fields).is_ok()
        {
            self.works = true;
            return;
        }
        let repaired = if self.is_cut { &b"\n"[..] } else { b"" };
        let written = self.write_all(repaired).and_then(|()| self.write_all(line));
        self.works = written.is_ok();
        if written.is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits for a slow reader, and gives up at any other failure.
    fn write_all(&mut self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            match self.output.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(length) => {
                    self.is_cut = rest[length - 1] != b'\n';
                    rest = &rest[length..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(BREATH),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::sync::{Arc, Mutex};

    use super::*;

    fn counter() -> &'static AtomicU64 {
        Box::leak(Box::default())
    }

    fn line(number: usize) -> Note {
        Note::Line(Line::new(format!("line {number}\n").into_bytes()))
    }

    /// A disk that is full now and then.
    #[derive(Clone, Default)]
    struct Disk {
        room: Arc<Mutex<usize>>,
        text: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut room = self.room.lock().expect("a lock");
            let length = bytes.len().min(*room);
            if length == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            *room -= length;
            self.text.lock().expect("a lock").extend(&bytes[..length]);
            Ok(length)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn text(disk: &Disk) -> String {
        String::from_utf8(disk.text.lock().expect("a lock").clone()).expect("text")
    }

    #[test]
    fn a_disk_that_was_full_has_the_later_lines_and_the_number_of_the_lost_ones() {
        let disk = Disk::default();
        *disk.room.lock().expect("a lock") = 10;
        let lost = counter();
        let (notes, waiting) = sync_channel(QUEUE);
        let scribe = Scribe::new(disk.clone(), lost);
        let reporting = notes.clone();
        let report = move || {
            let total = lost.load(Ordering::Relaxed);
            let line = Line::new(format!("{total} lost\n").into_bytes());
            reporting.send(Note::Line(line)).expect("room");
        };
        thread::spawn(move || scribe.run(&waiting, report));
        let queue = Queue(notes);
        for number in 0..4 {
            queue.0.send(line(number)).expect("it lives");
        }
        assert!(queue.flush(Duration::from_secs(20)));
        assert_eq!(text(&disk), "line 0\nlin");
        assert_eq!(lost.load(Ordering::Relaxed), 3);
        *disk.room.lock().expect("a lock") = 1000;
        queue.0.send(line(4)).expect("it lives");
        assert!(queue.flush(Duration::from_secs(20)));
        assert_eq!(text(&disk), "line 0\nlin\nline 4\n3 lost\n");
    }

    #[test]
    fn nobody_waits_for_a_reader_who_does_not_read() {
        let (_reader, output) = UnixStream::pair().expect("a pair");
        let queue = Queue::start(output, None).expect("a thread");
        let before = lost();
        let mut pen = queue.pen();
        let line = [b'x'; 1000];
        for _ in 0..QUEUE * 3 {
            pen.write_all(&line).expect("never fails");
        }
        assert!(lost() > before);
        assert!(queued() >= QUEUE, "{}", queued());
        let begun = Instant::now();
        assert!(!queue.flush(Duration::from_millis(50)));
        assert!(begun.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn nobody_fails_where_the_reader_is_gone() {
        let (reader, output) = UnixStream::pair().expect("a pair");
        drop(reader);
        let queue = Queue::start(output, None).expect("a thread");
        let before = lost();
        for _ in 0..3 {
            queue.pen().write_all(b"gone\n").expect("never fails");
        }
        assert!(queue.flush(Duration::from_secs(20)));
        assert!(lost() >= before + 3);
    }
}
