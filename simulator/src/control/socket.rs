//! The Unix socket of the control interface.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use elevator_driver::FloorCount;

use super::Command;
use crate::ending::{EndWatch, Readiness};
use crate::simulator::{ControlId, Event, LineError};

/// Answers that wait for one client to read them; one that lets more wait is cut off.
pub(crate) const ANSWERS: usize = 64;

/// The longest line that is read as a command, bytes.
const LINE: u64 = 1000;

/// A client that accepts no answer for this long is disconnected.
const WRITE_LIMIT: Duration = Duration::from_secs(1);

/// A listening socket's name; removed when dropped.
#[derive(Debug)]
pub(crate) struct SocketPath(PathBuf);

impl SocketPath {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        // Whoever removed it before did what is wanted here.
        drop(fs::remove_file(&self.0));
    }
}

/// Listens at `path`; a socket that a dead process left there is replaced.
pub(crate) fn listen(
    path: &Path,
    watch: EndWatch,
    events: SyncSender<Event>,
) -> Result<(SocketPath, JoinHandle<()>), LineError> {
    let failed = |source| LineError::Control { path: path.to_owned(), source };
    let abandoned = UnixStream::connect(path)
        .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    if abandoned {
        fs::remove_file(path).map_err(failed)?;
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    let socket = SocketPath(path.to_owned());
    let thread = Builder::new()
        .name("control-accept".into())
        .spawn(move || accept(&listener, &watch, &events))
        .map_err(failed)?;
    Ok((socket, thread))
}

/// Starts the two threads of one client: one reads commands, one writes answers.
pub(crate) fn serve(
    stream: UnixStream,
    id: ControlId,
    floors: FloorCount,
    watch: EndWatch,
    (events, answers): (SyncSender<Event>, Receiver<String>),
) -> io::Result<[JoinHandle<()>; 2]> {
    stream.set_write_timeout(Some(WRITE_LIMIT))?;
    let writing = stream.try_clone()?;
    let writer =
        Builder::new().name("control-write".into()).spawn(move || write(writing, &answers))?;
    let reader = Builder::new()
        .name("control-read".into())
        .spawn(move || read(stream, id, floors, &watch, &events))?;
    Ok([writer, reader])
}

fn accept(listener: &UnixListener, watch: &EndWatch, events: &SyncSender<Event>) {
    while let Ok(Readiness::Readable) = watch.wait(listener) {
        if let Ok((stream, _)) = listener.accept()
            && events.send(Event::ControlConnected(stream)).is_err()
        {
            return;
        }
    }
}

fn read(
    stream: UnixStream,
    id: ControlId,
    floors: FloorCount,
    watch: &EndWatch,
    events: &SyncSender<Event>,
) {
    let mut lines = BufReader::new(stream);
    loop {
        let waiting = lines.buffer().is_empty();
        if waiting && !matches!(watch.wait(lines.get_ref()), Ok(Readiness::Readable)) {
            break;
        }
        let mut line = Vec::new();
        match lines.by_ref().take(LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let command = Command::parse(&String::from_utf8_lossy(&line), floors);
        if events.send(Event::Control(id, command)).is_err() {
            return;
        }
    }
    // Nobody is left to tell once the car's thread has ended.
    drop(events.send(Event::ControlClosed(id)));
}

fn write(mut stream: UnixStream, answers: &Receiver<String>) {
    while let Ok(answer) = answers.recv() {
        if stream.write_all(answer.as_bytes()).is_err() {
            break;
        }
    }
    // The reader learns of the end by this.
    drop(stream.shutdown(std::net::Shutdown::Both));
}
