//! The messages of the elevator-server protocol, and a socket that carries them.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::vocabulary::{Button, Direction, Floor};

/// Every message has four bytes.
pub(super) type Message = [u8; 4];

pub(super) const BUTTON: u8 = 6;
pub(super) const FLOOR_SENSOR: u8 = 7;
pub(super) const STOP_SWITCH: u8 = 8;
pub(super) const OBSTRUCTION: u8 = 9;

pub(super) const RELOAD: Message = [0, 0, 0, 0];
pub(super) const FLOOR_POLL: Message = [FLOOR_SENSOR, 0, 0, 0];
pub(super) const STOP_POLL: Message = [STOP_SWITCH, 0, 0, 0];
pub(super) const OBSTRUCTION_POLL: Message = [OBSTRUCTION, 0, 0, 0];

pub(super) fn motor(direction: Option<Direction>) -> Message {
    let motor = match direction {
        None => 0,
        Some(Direction::Up) => 1,
        Some(Direction::Down) => 255,
    };
    [1, motor, 0, 0]
}

pub(super) fn order_lamp(button: Button, on: bool) -> Message {
    [2, button_byte(button), button.floor().index(), u8::from(on)]
}

pub(super) fn indicator(floor: Floor) -> Message {
    [3, floor.index(), 0, 0]
}

pub(super) fn door_lamp(on: bool) -> Message {
    [4, u8::from(on), 0, 0]
}

pub(super) fn stop_lamp(on: bool) -> Message {
    [5, u8::from(on), 0, 0]
}

pub(super) fn button_poll(button: Button) -> Message {
    [BUTTON, button_byte(button), button.floor().index(), 0]
}

fn button_byte(button: Button) -> u8 {
    match button.direction() {
        Some(Direction::Up) => 0,
        Some(Direction::Down) => 1,
        None => 2,
    }
}

/// What ends a connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("cannot connect: {0}")]
    Unreachable(io::Error),
    #[error("the connection broke: {0}")]
    Broken(io::Error),
    /// A server that serves another client answers no one else.
    #[error("the server does not answer")]
    Silent,
    #[error("the server's answers are out of step")]
    OutOfStep,
    #[error("the server reports floor {floor}, but the configuration says {floors} floors")]
    NoSuchFloor { floor: u8, floors: u8 },
}

/// A connection. Dropping it stops the motor first, if the command can still be sent.
pub(super) struct Wire {
    stream: TcpStream,
    limit: Duration,
    /// When the answers to the last request must be there.
    deadline: Instant,
    /// How long a read may take at present.
    read_timeout: Duration,
    /// Nothing has been read since the last request.
    is_fresh: bool,
    buffer: Vec<u8>,
    /// How much of the buffer is read already.
    taken: usize,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, limit: Duration) -> Result<Self, Fault> {
        stream.set_nodelay(true).map_err(Fault::Broken)?;
        stream.set_write_timeout(Some(limit)).map_err(Fault::Broken)?;
        stream.set_read_timeout(Some(limit)).map_err(Fault::Broken)?;
        Ok(Self {
            stream,
            limit,
            deadline: Instant::now(),
            read_timeout: limit,
            is_fresh: false,
            buffer: Vec::new(),
            taken: 0,
        })
    }

    /// One command in one write: servers don't frame what they read.
    pub(super) fn command(&mut self, message: Message) -> Result<(), Fault> {
        self.stream.write_all(&message).map_err(broken)
    }

    /// Sends a round of polls in one write. All answers must be there within the limit.
    pub(super) fn request(&mut self, polls: &[Message]) -> Result<(), Fault> {
        self.deadline = Instant::now() + self.limit;
        self.is_fresh = true;
        self.stream.write_all(polls.as_flattened()).map_err(broken)
    }

    /// The answer to the next poll, which asked for `op`.
    pub(super) fn reply(&mut self, op: u8) -> Result<Message, Fault> {
        loop {
            if let Some(&message) = self.buffer[self.taken..].first_chunk::<4>() {
                self.taken += message.len();
                if message[0] != op {
                    return Err(Fault::OutOfStep);
                }
                return Ok(message);
            }
            self.read_more()?;
        }
    }

    fn read_more(&mut self) -> Result<(), Fault> {
        // Usually one read has all the answers, and no timeout has to be set for it.
        let rest = if std::mem::take(&mut self.is_fresh) {
            self.limit
        } else {
            self.deadline.saturating_duration_since(Instant::now())
        };
        if rest.is_zero() {
            return Err(Fault::Silent);
        }
        if rest != self.read_timeout {
            self.stream.set_read_timeout(Some(rest)).map_err(Fault::Broken)?;
            self.read_timeout = rest;
        }
        acknowledge_at_once(&self.stream);
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let mut chunk = [0; 1024];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(Fault::Broken(io::ErrorKind::UnexpectedEof.into())),
            Ok(length) => {
                self.buffer.extend_from_slice(&chunk[..length]);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(broken(error)),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // If the command can't be sent, the server stops the motor itself, or its watchdog does.
        drop(self.stream.write_all(&motor(None)));
    }
}

/// Acknowledges what has come in and what comes next without delay, until the system forgets it
/// again: a server without `TCP_NODELAY` holds its second answer back until the first one is
/// acknowledged. Where that can't be asked for, a round takes longer.
#[cfg(target_os = "linux")]
fn acknowledge_at_once(stream: &TcpStream) {
    rustix::net::sockopt::set_tcp_quickack(stream, true).unwrap_or_default();
}

#[cfg(not(target_os = "linux"))]
fn acknowledge_at_once(_: &TcpStream) {}

fn broken(error: io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Fault::Silent,
        _ => Fault::Broken(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::floor;

    /// `docs/ELEVATOR-SERVER.md` has the bytes that leave here.
    #[test]
    fn the_document_has_the_bytes_that_are_sent() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/ELEVATOR-SERVER.md");
        let text = std::fs::read_to_string(path).expect("the document");
        let rows: Vec<(&str, String)> = text
            .lines()
            .filter_map(|line| {
                let mut cells = line.strip_prefix("| ")?.split(" | ");
                let example = cells.next()?;
                let bytes = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
                Some((example, bytes.to_owned()))
            })
            .collect();
        let hall = |at, direction| Button::Hall(floor(at), direction);
        let sent = [
            ("reload", RELOAD),
            ("motor stop", motor(None)),
            ("motor up", motor(Some(Direction::Up))),
            ("motor down", motor(Some(Direction::Down))),
            ("lamp hall up 2 on", order_lamp(hall(2, Direction::Up), true)),
            ("lamp hall down 3 off", order_lamp(hall(3, Direction::Down), false)),
            ("lamp car 0 on", order_lamp(Button::Car(floor(0)), true)),
            ("indicator 3", indicator(floor(3))),
            ("door lamp on", door_lamp(true)),
            ("stop lamp off", stop_lamp(false)),
            ("poll hall up 2", button_poll(hall(2, Direction::Up))),
            ("poll car 1", button_poll(Button::Car(floor(1)))),
            ("poll floor", FLOOR_POLL),
            ("poll stop", STOP_POLL),
            ("poll obstruction", OBSTRUCTION_POLL),
        ];
        let hex = |bytes: Message| bytes.map(|byte| format!("{byte:02x}")).join(" ");
        assert_eq!(rows, sent.map(|(example, bytes)| (example, hex(bytes))));
    }
}
