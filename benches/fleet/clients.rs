//! Many clients follow the event stream of one node of a bank whose cars all drive: what they cost
//! its node.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use elevator_simulator::ControlClient;
use liftmesh_harness::building::{Building, Line, processor_time};

use crate::samples::Figure;
use crate::site::{BANK, while_repeating};

const FLOORS: u8 = 24;

const CLIENTS: usize = 200;

/// How long the node is watched: longer than the stream needs to show its usual load.
const WATCH: Duration = Duration::from_secs(10);

/// What was seen in each round while there were clients, or none.
#[derive(Debug, Default)]
struct Seen {
    /// The shares of a core, in percent, that the HTTP thread of the node and its process took.
    http: Vec<f64>,
    process: Vec<f64>,
    /// What each client has received, kB/s.
    received: Vec<f64>,
}

pub(crate) fn measure(rounds: usize) -> Vec<Figure> {
    let building = Building::with_cars(FLOORS, Line::Serial, &BANK);
    let address = SocketAddr::new(building.endpoint(1).0.into(), 7080);
    let mut seen = [Seen::default(), Seen::default()];
    let mut panels = BANK.map(|name| building.panel(name));
    while_repeating(
        || keep_driving(&building, &mut panels),
        || {
            for _ in 0..rounds {
                watch(&building, None, &mut seen[0]);
                let clients = Clients::connect(address);
                watch(&building, Some(&clients), &mut seen[1]);
                clients.leave();
            }
        },
    );
    let figures = ["no clients", "200 clients"].into_iter().zip(seen).flat_map(|(who, seen)| {
        [
            Figure::new(format!("HTTP thread, {who}, 8 cars"), "%", seen.http).worst_at_most(20.0),
            Figure::new(format!("whole node, {who}"), "%", seen.process),
            Figure::new(format!("received by each of {who}"), "kB/s", seen.received),
        ]
    });
    figures.collect()
}

/// Watches the node for a while, and adds what it sees.
fn watch(building: &Building, clients: Option<&Clients>, seen: &mut Seen) {
    let read = || clients.map_or(0, |clients| clients.read.load(Ordering::Relaxed));
    let (began, before, read_before) = (Instant::now(), used(building), read());
    thread::sleep(WATCH);
    let (took, after) = (began.elapsed().as_secs_f64(), used(building));
    seen.http.push((after.0 - before.0) / took * 100.0);
    seen.process.push((after.1 - before.1) / took * 100.0);
    #[expect(clippy::cast_precision_loss, reason = "a figure")]
    let each = (read() - read_before) as f64 / CLIENTS as f64;
    seen.received.push(each / took / 1_000.0);
}

/// Sends each car that has nowhere to go to the far end of its shaft.
fn keep_driving(building: &Building, panels: &mut [ControlClient]) {
    for panel in panels {
        let car = panel.state().expect("a state");
        let ends = [0, FLOORS - 1].map(|floor| building.car_call(floor));
        if ends.iter().all(|end| !car.lamps.contains(end)) {
            let is_low = car.floor.is_some_and(|floor| floor.index() < FLOORS / 2);
            panel.press(ends[usize::from(is_low)]).expect("a press");
        }
    }
    thread::sleep(Duration::from_millis(200));
}

/// The processor time, in seconds, that the HTTP thread of the node that serves has used, and its
/// whole process.
fn used(building: &Building) -> (f64, f64) {
    let threads = building.threads(BANK[0]);
    let http = threads.iter().find(|thread| thread.name == "http").expect("the node serves HTTP");
    let of_thread = format!("{}/task/{}", building.process_id(BANK[0]), http.id);
    (processor_time(&of_thread), building.processor_time(BANK[0]))
}

/// Connected clients, a thread each.
struct Clients {
    streams: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
    /// How many bytes they have read.
    read: Arc<AtomicU64>,
}

impl Clients {
    /// Connects them, and waits until each has its first state.
    fn connect(address: SocketAddr) -> Self {
        let read = Arc::new(AtomicU64::new(0));
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

    fn leave(self) {
        for stream in &self.streams {
            stream.shutdown(Shutdown::Both).expect("a connection");
        }
        for thread in self.threads {
            thread.join().expect("it reads");
        }
    }
}
