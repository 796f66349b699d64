//! The TCP line of the elevator-server protocol: one listener, at most one client.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::SyncSender;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use elevator_driver::Button;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Framing, Latches, answer, is_poll};
use crate::car::SimulatedCar;
use crate::ending::{EndWatch, Readiness};
use crate::simulator::{Event, LineError};

/// A client that accepts no reply for this long is disconnected.
const WRITE_LIMIT: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct ServerLine {
    address: SocketAddr,
    client: Option<Client>,
    latches: Latches,
    connections: u64,
}

#[derive(Debug)]
struct Client {
    connection: u64,
    stream: TcpStream,
    framing: Framing,
    polled_at: Duration,
}

impl ServerLine {
    /// A listening line, with the thread that accepts its clients.
    pub(crate) fn listen(
        address: SocketAddr,
        watch: EndWatch,
        events: SyncSender<Event>,
    ) -> Result<(Self, JoinHandle<()>), LineError> {
        let failed = |source| LineError::Tcp { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let line = Self {
            address: listener.local_addr().map_err(failed)?,
            client: None,
            latches: Latches::default(),
            connections: 0,
        };
        let thread = Builder::new()
            .name("tcp-accept".into())
            .spawn(move || accept(&listener, &watch, &events))
            .map_err(failed)?;
        Ok((line, thread))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn has_client(&self) -> bool {
        self.client.is_some()
    }

    pub(crate) fn press(&mut self, button: Button, now: Duration) {
        self.latches.press(button, now);
    }

    /// Accepts a client, with a thread that reads from it; `None` if it is refused by closing it.
    pub(crate) fn connect(
        &mut self,
        stream: TcpStream,
        watch: EndWatch,
        events: SyncSender<Event>,
        now: Duration,
        watchdog: Duration,
    ) -> io::Result<Option<JoinHandle<()>>> {
        let occupied = self.client.as_ref().is_some_and(|client| {
            !hung_up(&client.stream) && now.saturating_sub(client.polled_at) < watchdog
        });
        if occupied {
            return Ok(None);
        }
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(WRITE_LIMIT))?;
        self.connections += 1;
        let connection = self.connections;
        let reading = stream.try_clone()?;
        let thread = Builder::new()
            .name("tcp-read".into())
            .spawn(move || read(reading, connection, &watch, &events))?;
        if let Some(former) = self.client.take() {
            close(&former.stream);
        }
        self.client =
            Some(Client { connection, stream, framing: Framing::default(), polled_at: now });
        Ok(Some(thread))
    }

    pub(crate) fn receive(
        &mut self,
        connection: u64,
        bytes: &[u8],
        car: &mut SimulatedCar,
        now: Duration,
    ) {
        let Some(client) = self.client.as_mut().filter(|c| c.connection == connection) else {
            return;
        };
        let mut replies = Vec::new();
        for message in client.framing.push(bytes) {
            if is_poll(message) {
                client.polled_at = now;
            }
            if let Some(reply) = answer(message, car, &mut self.latches, now) {
                replies.extend(reply);
            }
        }
        if client.stream.write_all(&replies).is_err() {
            self.disconnect(connection, car);
        }
    }

    /// The client is gone: the motor stops.
    pub(crate) fn disconnect(&mut self, connection: u64, car: &mut SimulatedCar) {
        if let Some(client) = self.client.take_if(|c| c.connection == connection) {
            close(&client.stream);
            car.set_motor(None);
        }
    }

    /// S2: a client whose polls have ceased loses the motor.
    pub(crate) fn watch(&mut self, car: &mut SimulatedCar, now: Duration, watchdog: Duration) {
        let silent = self
            .client
            .as_ref()
            .is_some_and(|client| now.saturating_sub(client.polled_at) >= watchdog);
        if silent && car.shaft().driven().is_some() {
            car.stop_for_silence();
        }
    }

    /// When [`watch`](Self::watch) is due; `None` once it was and nothing has come since.
    pub(crate) fn wake_at(&self, now: Duration, watchdog: Duration) -> Option<Duration> {
        let due = self.client.as_ref()?.polled_at + watchdog;
        (due > now).then_some(due)
    }
}

/// Whether the other side has closed, also while its last bytes still wait to be read.
fn hung_up(stream: &TcpStream) -> bool {
    let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    let mut sources = [PollFd::new(stream, PollFlags::RDHUP)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut sources, Some(&at_once)).is_err() || sources[0].revents().intersects(gone)
}

fn close(stream: &TcpStream) {
    // It fails where the other side was faster, which is as well.
    drop(stream.shutdown(std::net::Shutdown::Both));
}

fn accept(listener: &TcpListener, watch: &EndWatch, events: &SyncSender<Event>) {
    while let Ok(Readiness::Readable) = watch.wait(listener) {
        // A client that disconnected before it was accepted is no reason to end.
        if let Ok((stream, _)) = listener.accept()
            && events.send(Event::TcpConnected(stream)).is_err()
        {
            return;
        }
    }
}

fn read(mut stream: TcpStream, connection: u64, watch: &EndWatch, events: &SyncSender<Event>) {
    let mut buffer = [0; 1024];
    while let Ok(Readiness::Readable) = watch.wait(&stream) {
        let event = match stream.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(length) => Event::TcpBytes(connection, buffer[..length].to_vec()),
        };
        if events.send(event).is_err() {
            return;
        }
    }
    // Nobody is left to tell once the car's thread has ended.
    drop(events.send(Event::TcpClosed(connection)));
}
