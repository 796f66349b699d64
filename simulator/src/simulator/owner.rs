//! The one thread that owns the car.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{ControlId, Controller, Endpoint, Event, SimulatorConfig, SimulatorState, StartError};
use crate::car::SimulatedCar;
use crate::control::socket::SocketPath;
use crate::elevator_server::line::ServerLine;
use crate::ending::Ending;
use crate::serial::SerialLine;

/// How often a moving car is looked at: a sensor's change is on the wire within this time.
const TICK: Duration = Duration::from_millis(5);

/// Events that are handled in a row before the lines are served.
const BATCH: usize = 64;

mod control;

pub(super) struct Owner {
    name: String,
    car: SimulatedCar,
    started: Instant,
    watchdog: Duration,
    serial: Option<SerialLine>,
    server: Option<ServerLine>,
    control: Option<SocketPath>,
    clients: BTreeMap<ControlId, ControlPeer>,
    next_client: u64,
    events: SyncSender<Event>,
    ending: Ending,
    threads: Vec<JoinHandle<()>>,
    over: bool,
}

struct ControlPeer {
    answers: SyncSender<String>,
    watching: Option<Watching>,
}

struct Watching {
    told: Option<SimulatorState>,
    next: Duration,
}

impl Owner {
    pub(super) fn new(
        car: SimulatedCar,
        config: SimulatorConfig,
        events: SyncSender<Event>,
    ) -> Result<Self, StartError> {
        let ending = Ending::new()?;
        let mut threads = Vec::new();
        let mut serial = config
            .serial
            .map(|serial| SerialLine::new(&car, serial.link, serial.noise, config.seed));
        if let Some(line) = &mut serial {
            threads.extend(line.plug(&events)?);
        }
        let mut server = None;
        if let Some(address) = config.tcp {
            let (line, thread) = ServerLine::listen(address, ending.watch()?, events.clone())?;
            server = Some(line);
            threads.push(thread);
        }
        let mut control = None;
        if let Some(path) = config.control {
            let (socket, thread) =
                crate::control::socket::listen(&path, ending.watch()?, events.clone())?;
            control = Some(socket);
            threads.push(thread);
        }
        Ok(Self {
            name: config.name,
            car,
            started: Instant::now(),
            watchdog: config.watchdog,
            serial,
            server,
            control,
            clients: BTreeMap::new(),
            next_client: 0,
            events,
            ending,
            threads,
            over: false,
        })
    }

    pub(super) fn endpoints(&self) -> Vec<Endpoint> {
        let serial = self.serial.as_ref().and_then(SerialLine::path);
        let server = self.server.as_ref().map(ServerLine::address);
        let control = self.control.as_ref().map(SocketPath::path);
        serial
            .map(|path| Endpoint::Serial(path.to_owned()))
            .into_iter()
            .chain(server.map(Endpoint::Tcp))
            .chain(control.map(|path| Endpoint::Control(path.to_owned())))
            .collect()
    }

    pub(super) fn run(mut self, events: Receiver<Event>) {
        while !self.over {
            let mut next = match events.recv_timeout(self.until_next()) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let mut room = BATCH;
            while let Some(event) = next {
                self.catch_up();
                self.handle(event);
                room -= 1;
                next = (room > 0).then(|| events.try_recv().ok()).flatten();
            }
            self.catch_up();
            // What still waits in the queue may be the word of a controller that is not silent.
            self.settle(room > 0);
        }
        let Self { threads, ending, serial, server, control, clients, .. } = self;
        drop((events, ending, serial, server, control, clients));
        for thread in threads {
            // A panic was printed to standard error.
            drop(thread.join());
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn catch_up(&mut self) {
        let passed = self.now().saturating_sub(self.car.clock());
        self.car.advance(passed);
    }

    /// How long nothing needs to be done unless something happens.
    fn until_next(&self) -> Duration {
        let now = self.now();
        let tick = (!self.car.is_at_rest()).then(|| now + TICK);
        let serial = self.serial.as_ref().map(|line| line.wake_at(now, self.watchdog));
        let server = self.server.as_ref().and_then(|line| line.wake_at(now, self.watchdog));
        let watch = self.clients.values().filter_map(|peer| {
            let watching = peer.watching.as_ref()?;
            (watching.next > now).then_some(watching.next)
        });
        let due = [tick, serial, server].into_iter().flatten().chain(watch).min();
        due.map_or(Duration::from_hours(1), |due| due.saturating_sub(now))
    }

    fn handle(&mut self, event: Event) {
        let now = self.now();
        match event {
            Event::SerialBytes(generation, bytes) => {
                if let Some(line) = &mut self.serial {
                    line.receive(generation, bytes, now);
                }
            }
            Event::TcpConnected(stream) => {
                let busy = self.controller(now) == Controller::Serial;
                if let Some(line) = self.server.as_mut().filter(|_| !busy)
                    && let Ok(watch) = self.ending.watch()
                {
                    let events = self.events.clone();
                    let thread = line.connect(stream, watch, events, now, self.watchdog);
                    // A client that cannot be served is closed, as one too many is.
                    self.threads.extend(thread.ok().flatten());
                }
                self.threads.retain(|thread| !thread.is_finished());
            }
            Event::TcpBytes(connection, bytes) => {
                if let Some(line) = &mut self.server {
                    line.receive(connection, &bytes, &mut self.car, now);
                }
            }
            Event::TcpClosed(connection) => {
                if let Some(line) = &mut self.server {
                    line.disconnect(connection, &mut self.car);
                }
            }
            Event::ControlConnected(stream) => {
                // A client that can't be served is closed, which informs it.
                drop(self.admit(stream));
            }
            Event::Control(id, command) => {
                let answer = match command.and_then(|command| self.obey(id, command)) {
                    Ok(answer) => answer,
                    Err(error) => format!("error: {error}\n"),
                };
                self.answer(id, answer);
            }
            Event::ControlClosed(id) => {
                self.clients.remove(&id);
            }
            Event::Observe(answer) => {
                // Whoever asked may have given up.
                drop(answer.try_send(self.state(now)));
            }
            Event::Quit => self.over = true,
        }
    }

    /// Serves every line after something happened or time has passed.
    fn settle(&mut self, all_heard: bool) {
        let now = self.now();
        let controller = self.controller(now);
        let tcp = controller == Controller::Tcp || self.serial.is_none();
        for button in self.car.take_presses().collect::<Vec<_>>() {
            match (&mut self.server, &mut self.serial) {
                (Some(line), _) if tcp => line.press(button, now),
                (_, Some(line)) => line.press(button),
                (Some(line), None) => line.press(button, now),
                (None, None) => {}
            }
        }
        // The elevator-server protocol has no kiosks.
        for trip in self.car.take_requests().collect::<Vec<_>>() {
            if let Some(line) = &mut self.serial {
                line.request(trip);
            }
        }
        if let Some(line) = &mut self.serial {
            if controller == Controller::Tcp {
                line.yield_car();
            } else {
                line.drive(&mut self.car, now, self.watchdog);
                if all_heard {
                    line.watch(&mut self.car, now, self.watchdog);
                }
            }
            line.transmit(&self.car, now);
        }
        if let Some(line) = &mut self.server
            && all_heard
        {
            line.watch(&mut self.car, now, self.watchdog);
        }
        self.notify_watchers(now);
    }

    /// Whoever came first keeps the car until they are gone or silent.
    fn controller(&self, now: Duration) -> Controller {
        let serial =
            self.serial.as_ref().is_some_and(|line| line.has_controller(now, self.watchdog));
        let tcp = self.server.as_ref().is_some_and(ServerLine::has_client);
        match (tcp, serial) {
            (true, _) => Controller::Tcp,
            (false, true) => Controller::Serial,
            (false, false) => Controller::Absent,
        }
    }

    fn state(&self, now: Duration) -> SimulatorState {
        SimulatorState {
            name: self.name.clone(),
            controller: self.controller(now),
            unplugged: self.serial.as_ref().is_some_and(|line| line.path().is_none()),
            noise: self.serial.as_ref().map_or(0, |line| line.noise.percent),
            car: self.car.state(),
        }
    }
}
