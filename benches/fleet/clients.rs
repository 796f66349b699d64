//! Many clients follow the event stream of one node of a bank whose cars all drive: what they cost its
//! node, and whether a lamp is lit later because of them. Presses with and without them take turns, so that whatever else the machine does meets both. There
//! are two turns without clients; how much those differ is noise.
//!
//! ```text
//! cargo bench --bench fleet -- --only clients --rounds 10
//! ```

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use elevator_driver::Button;
use elevator_simulator::ControlClient;
use liftmesh_harness::building::{Building, Line};

use crate::samples::{Decisive, Figure, Target};
use crate::site::{BANK, halls, proc_file, processor_time};

const FLOORS: u8 = 24;

const CLIENTS: usize = 200;

/// Presses in a row, with or without the clients. They take longer than the stream needs to show its
/// usual load.
const PRESSES: usize = 20;

/// Between two presses: so few that the cars keep up, and buttons stay dark.
const PAUSE: Duration = Duration::from_millis(500);

/// A press whose lamp was not seen by then was served at once, by a car with an open door.
const LIT_LIMIT: Duration = Duration::from_secs(2);

/// What was seen while there were clients, or none.
#[derive(Debug, Default)]
struct Seen {
    lit: Vec<Duration>,
    took: f64,
    http: f64,
    process: f64,
    /// The share of a core that the HTTP thread took, in percent, in each round.
    shares: Vec<f64>,
    /// What clients have received.
    bytes: u64,
}

/// Ends what goes on meanwhile when it is dropped, even by a panic.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(crate) fn measure(rounds: usize) -> Vec<Figure> {
    let building = Building::with_cars(FLOORS, Line::Serial, &BANK);
    let address = SocketAddr::new(building.endpoint(1).0.into(), 7080);
    let buttons = halls(&building, FLOORS);
    let (mut without, mut again) = (Seen::default(), Seen::default());
    let mut with = Seen::default();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| keep_driving(&building, &done));
        let _done = Done(&done);
        for _ in 0..rounds {
            watch(&building, &buttons, &mut without);
            let clients = Clients::connect(address);
            let read = clients.read();
            watch(&building, &buttons, &mut with);
            with.bytes += clients.read() - read;
            clients.leave();
            watch(&building, &buttons, &mut again);
        }
    });
    let share = |ticks: f64, seen: &Seen| vec![ticks / seen.took * 100.0];
    let median = |seen: &Seen| Figure::of_times("", &seen.lit, None).median();
    let noise = median(&again) / median(&without);
    #[expect(clippy::cast_precision_loss, reason = "a figure")]
    let each = with.bytes as f64 / with.took / CLIENTS as f64 / 1_000.0;
    let target = Some(Target::at_most(Decisive::Worst, 20.0));
    let ratio = median(&with) / median(&without);
    vec![
        Figure::new("HTTP thread, no clients, 8 cars", "%", share(without.http, &without), None),
        Figure::new("whole node, no clients", "%", share(without.process, &without), None),
        Figure::of_times("press -> own lamp, no clients", &without.lit, None),
        Figure::of_times("press -> own lamp, no clients, again", &again.lit, None),
        Figure::new("median without clients, again / without", "", vec![noise], None),
        Figure::new("HTTP thread, 200 clients, 8 cars", "%", with.shares.clone(), target),
        Figure::new("whole node, 200 clients", "%", share(with.process, &with), None),
        Figure::new("received by each of 200 clients", "kB/s", vec![each], None),
        Figure::of_times("press -> own lamp, 200 clients", &with.lit, None),
        Figure::new("median with 200 clients / without", "", vec![ratio], None),
    ]
}

/// Presses hall buttons for a while, and adds what it sees.
fn watch(building: &Building, buttons: &[Button], seen: &mut Seen) {
    let mut panels = BANK.map(|name| building.panel(name));
    let (began, before) = (Instant::now(), used(building));
    for press in 0..PRESSES {
        thread::sleep(PAUSE + Duration::from_micros(1_700 * (press as u64 % 11)));
        let panel = press % BANK.len();
        seen.lit.extend(time_press(&mut panels, panel, buttons, press));
    }
    let after = used(building);
    let (took, http) = (began.elapsed().as_secs_f64(), after.0 - before.0);
    seen.took += took;
    seen.http += http;
    seen.shares.push(http / took * 100.0);
    seen.process += after.1 - before.1;
}

/// Presses a dark button of a floor where no car is, and waits for its lamp; `None` where there is no
/// such button, or the press was served at once.
///
/// It never waits for a certain button to become dark: in a busy bank that takes minutes.
fn time_press(
    panels: &mut [ControlClient],
    at: usize,
    buttons: &[Button],
    press: usize,
) -> Option<Duration> {
    let cars: Vec<_> = panels.iter_mut().map(|panel| panel.state().expect("a state")).collect();
    let is_free = |button: &&Button| {
        let is_here = cars.iter().any(|car| match **button {
            Button::Hall(floor, _) | Button::Car(floor) => car.floor == Some(floor),
        });
        !is_here && !cars[at].lamps.contains(button)
    };
    let first = press * 7 % buttons.len();
    let button = *buttons.iter().cycle().skip(first).take(buttons.len()).find(is_free)?;
    let panel = &mut panels[at];
    let began = Instant::now();
    panel.press(button).expect("a press");
    while began.elapsed() < LIT_LIMIT {
        if panel.state().expect("a state").lamps.contains(&button) {
            return Some(began.elapsed());
        }
        thread::sleep(Duration::from_micros(500));
    }
    None
}

/// Sends each car that has nowhere to go to the far end of its shaft.
fn keep_driving(building: &Building, done: &AtomicBool) {
    let mut panels = BANK.map(|name| building.panel(name));
    while !done.load(Ordering::Relaxed) {
        for panel in &mut panels {
            let car = panel.state().expect("a state");
            let ends = [0, FLOORS - 1].map(|floor| building.car_call(floor));
            if ends.iter().all(|end| !car.lamps.contains(end)) {
                let is_low = car.floor.is_some_and(|floor| floor.index() < FLOORS / 2);
                panel.press(ends[usize::from(is_low)]).expect("a press");
            }
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// The processor time, in seconds, that the HTTP thread of the node that serves has used, and its
/// whole process.
fn used(building: &Building) -> (f64, f64) {
    let tasks = format!("/proc/{}/task", building.process_id(BANK[0]));
    let tasks = std::fs::read_dir(tasks).expect("a running process");
    let mut stats =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("stat")).ok());
    let http = stats.find(|stat| stat.contains("(http)")).expect("the node serves HTTP");
    (processor_time(&http), processor_time(&proc_file(building, BANK[0], "stat")))
}

/// Connected clients, a thread each.
struct Clients {
    streams: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
    read: std::sync::Arc<AtomicU64>,
}

impl Clients {
    /// Connects them, and waits until each has its first state.
    fn connect(address: SocketAddr) -> Self {
        let read = std::sync::Arc::new(AtomicU64::new(0));
        let (mut streams, mut threads) = (Vec::new(), Vec::new());
        for _ in 0..CLIENTS {
            let mut stream = TcpStream::connect(address).expect("a connection");
            let request = format!("GET /api/v1/events HTTP/1.1\r\nHost: {address}\r\n\r\n");
            stream.write_all(request.as_bytes()).expect("sent");
            let mut buffer = vec![0; 16 * 1024];
            let count = stream.read(&mut buffer).expect("an answer");
            assert!(buffer[..count].starts_with(b"HTTP/1.1 200"), "a client is refused");
            let (mut reader, read) = (stream.try_clone().expect("a stream"), read.clone());
            streams.push(stream);
            let thread = thread::Builder::new().stack_size(64 * 1024).spawn(move || {
                // Clients run elsewhere: here they get what the fleet leaves of the processors.
                rustix::process::nice(19).expect("anybody may wait");
                while let Ok(count @ 1..) = reader.read(&mut buffer) {
                    read.fetch_add(count as u64, Ordering::Relaxed);
                }
            });
            threads.push(thread.expect("a thread"));
        }
        // The first state of each is no part of what the stream costs.
        thread::sleep(Duration::from_secs(1));
        Self { streams, threads, read }
    }

    /// How many bytes they have read.
    fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    fn leave(self) {
        for stream in &self.streams {
            stream.shutdown(Shutdown::Both).expect("a connection");
        }
        for thread in self.threads {
            thread.join().expect("it reads");
        }
    }
}
