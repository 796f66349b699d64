//! The panel protocol on a serial line.
//!
//! ```text
//!  sink ◀── line thread ──────────────▶ port ──▶ panel
//!           session, writes    ▲
//!                   ▲          │ mailbox
//!      set_outputs ─┘          └─ reader thread ◀── port
//! ```
//!
//! The reader blocks in the operating system and wakes the line thread through the mailbox, so a
//! press or a new output is on its way within a thread switch, and an idle line costs a few
//! wake-ups per heartbeat.
//!
//! A port that another program has reconfigured delivers nothing intact, or nothing: it is closed and
//! opened again, which sets it up. The panel is disconnected by then, so nothing is held up.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serialport::{ClearBuffer, SerialPort};

use crate::draw_boot_id;
use crate::line::{Inbox, LineSettings, Mail, Mailbox, Retry};
use crate::protocol::{ControllerSession, SessionSettings};
use crate::vocabulary::{FloorCount, PanelEvent};

mod port_check;

use port_check::PortCheck;

/// The longest time that a read or a write blocks, and thus the delay until the reader notices that
/// it is to end.
const PORT_TIMEOUT: Duration = Duration::from_millis(100);

/// How much may be queued in the operating system for the line, in transmission time. Newer outputs
/// can't overtake what is queued there.
const QUEUE_LIMIT: Duration = Duration::from_millis(5);

/// A start bit, eight data bits and a stop bit.
const BITS_PER_BYTE: u32 = 10;

pub(crate) fn run(
    path: String,
    baud: u32,
    floors: FloorCount,
    settings: LineSettings,
    inbox: Inbox,
    sink: impl FnMut(PanelEvent),
) {
    let session = ControllerSession::new(
        floors,
        draw_boot_id(),
        SessionSettings {
            heartbeat: settings.heartbeat,
            silence: settings.silence,
            rear_door: settings.rear_door,
        },
        Duration::ZERO,
    );
    let line = SerialLine {
        path,
        baud,
        session,
        port_check: PortCheck::new(settings.silence),
        started: Instant::now(),
        line_free: Duration::ZERO,
        inbox,
        sink,
    };
    line.run(Retry::new(settings.retry));
}

struct SerialLine<S> {
    path: String,
    baud: u32,
    session: ControllerSession,
    port_check: PortCheck,
    started: Instant,
    /// When the last byte written will have left.
    line_free: Duration,
    inbox: Inbox,
    sink: S,
}

/// Why a conversation ended.
enum End {
    Closing,
    Lost(String),
    /// The port itself may be the fault.
    NothingIntact,
}

impl<S: FnMut(PanelEvent)> SerialLine<S> {
    fn run(mut self, mut retry: Retry) {
        let mut is_known_absent = false;
        loop {
            let end = match self.open() {
                Ok(port) => self.converse(port, is_known_absent),
                Err(error) => End::Lost(format!("cannot open {}: {error}", self.path)),
            };
            is_known_absent = matches!(end, End::NothingIntact);
            let reason = match end {
                End::Closing => return,
                End::Lost(reason) => reason,
                End::NothingIntact => {
                    format!("nothing intact arrives from {}: setting it up again", self.path)
                }
            };
            if self.session.is_connected() {
                retry.reset();
            }
            self.session.handle_line_lost(reason, self.now());
            self.emit_events();
            if self.inbox.pause(retry.delay(), |outputs| self.session.set_outputs(outputs)) {
                return;
            }
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Opens the port and discards its buffered input.
    fn open(&self) -> serialport::Result<Box<dyn SerialPort>> {
        let port = serialport::new(&self.path, self.baud).timeout(PORT_TIMEOUT).open()?;
        port.clear(ClearBuffer::Input)?;
        Ok(port)
    }

    /// If the panel is known to be absent, it is reported once more only when it is there.
    fn converse(&mut self, mut port: Box<dyn SerialPort>, is_known_absent: bool) -> End {
        self.inbox.discard_read();
        let reader = match port
            .try_clone()
            .map_err(io::Error::from)
            .and_then(|port| Reader::start(port, self.inbox.mailbox()))
        {
            Ok(reader) => reader,
            Err(error) => return End::Lost(format!("cannot read {}: {error}", self.path)),
        };
        self.line_free = self.now();
        if !is_known_absent {
            self.session.handle_line_opened(self.now());
        }
        self.port_check.handle_opened(self.now());
        let end = self.serve(port.as_mut());
        drop(reader);
        end
    }

    fn serve(&mut self, port: &mut dyn SerialPort) -> End {
        let mut wake = Duration::ZERO;
        loop {
            let mail = self.inbox.wait(self.started + wake);
            let (closing, failure) = self.handle_mail(mail);
            if closing {
                return self.leave(port);
            }
            self.emit_events();
            if let Some(reason) = failure {
                return End::Lost(reason);
            }
            let (counters, is_connected) = (self.session.counters(), self.session.is_connected());
            if self.port_check.handle_counters(counters, is_connected, self.now()) {
                return End::NothingIntact;
            }
            wake = match self.transmit(port) {
                Ok(wake) => wake,
                Err(error) => return End::Lost(format!("cannot write {}: {error}", self.path)),
            };
            self.emit_events();
            self.inbox.publish(counters);
        }
    }

    fn handle_mail(&mut self, mail: Mail) -> (bool, Option<String>) {
        if let Some(outputs) = mail.outputs {
            self.session.set_outputs(outputs);
        }
        self.session.handle_bytes(&mail.bytes, self.now());
        let failure = mail.failure.map(|reason| format!("lost {}: {reason}", self.path));
        (mail.closing, failure)
    }

    /// Writes what is due; returns when to continue.
    fn transmit(&mut self, port: &mut dyn SerialPort) -> io::Result<Duration> {
        loop {
            let now = self.now();
            if let Some(wait) = self.line_free.checked_sub(QUEUE_LIMIT)
                && wait > now
            {
                return Ok(wait);
            }
            let Some(bytes) = self.session.poll_transmit(now) else {
                return Ok(self.session.poll_timeout());
            };
            port.write_all(&bytes)?;
            self.line_free = self.line_free.max(now) + self.time_of(bytes.len());
        }
    }

    fn time_of(&self, bytes: usize) -> Duration {
        let bits = u32::try_from(bytes).map_or(u32::MAX, |bytes| bytes * BITS_PER_BYTE);
        Duration::from_secs(1) * bits / self.baud
    }

    fn emit_events(&mut self) {
        while let Some(event) = self.session.poll_event() {
            (self.sink)(event);
        }
    }

    /// Sends the stop of the motor as the last frame. If that fails, the panel's watchdog stops it.
    fn leave(&mut self, port: &mut dyn SerialPort) -> End {
        if let Some(bytes) = self.session.farewell() {
            drop(port.write_all(&bytes));
        }
        End::Closing
    }
}

/// The thread that reads one opening of the port.
struct Reader {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    fn start(port: Box<dyn SerialPort>, mailbox: Arc<Mailbox>) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("panel-reader".to_owned())
            .spawn(move || read(port, &mailbox, &stopped))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn read(mut port: Box<dyn SerialPort>, mailbox: &Mailbox, stop: &AtomicBool) {
    let mut buffer = [0; 1024];
    while !stop.load(Ordering::Relaxed) {
        match port.read(&mut buffer) {
            Ok(0) => return mailbox.fail("the device hung up".to_owned()),
            Ok(length) => mailbox.deliver(&buffer[..length]),
            Err(error)
                if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::Interrupted) => {
            }
            Err(error) => return mailbox.fail(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
