//! The back end against a small elevator server, which notes everything that it must not be told.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::LineSettings;
use crate::line::bench::{Bench, PATIENCE, settings};
use crate::testing::{self, floor, run};
use crate::vocabulary::{
    Button, Direction, DoorCommand, DoorState, DriveFeedback, FloorCount, PanelEvent, PanelOutputs,
};

const FLOORS: u8 = 4;

fn floors() -> FloorCount {
    testing::floors(FLOORS)
}

#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a byte of the protocol")]
struct World {
    floor: Option<u8>,
    stop: bool,
    obstruction: bool,
    /// (button, floor)
    pressed: BTreeSet<(u8, u8)>,
    motor: u8,
    door: bool,
    stop_lamp: bool,
    indicator: Option<u8>,
    lit: BTreeSet<(u8, u8)>,
    reloads: u32,
    /// When each poll of the floor sensor came in: one in each round.
    rounds: Vec<Instant>,
    /// When each motor command came in that starts the motor or keeps it running.
    driven: Vec<Instant>,
    violations: Vec<String>,
}

impl World {
    fn handle(&mut self, message: [u8; 4]) -> Option<[u8; 4]> {
        match message {
            [0, ..] => self.reloads += 1,
            [1, motor, ..] => {
                self.motor = motor;
                if motor != 0 {
                    self.driven.push(Instant::now());
                }
                self.check("motor");
            }
            [2, button, floor, on] => {
                if button > 2 || floor >= FLOORS || (button, floor) == (1, 0) {
                    self.violations.push(format!("lamp {button} {floor}"));
                }
                if on == 0 {
                    self.lit.remove(&(button, floor));
                } else {
                    self.lit.insert((button, floor));
                }
            }
            [3, floor, ..] => self.indicator = Some(floor),
            [4, on, ..] => {
                self.door = on != 0;
                self.check("door");
            }
            [5, on, ..] => self.stop_lamp = on != 0,
            [6, button, floor, _] => {
                return Some([6, u8::from(self.pressed.contains(&(button, floor))), 0, 0]);
            }
            [7, ..] => {
                self.rounds.push(Instant::now());
                return Some(self.floor.map_or([7, 0, 0, 0], |floor| [7, 1, floor, 0]));
            }
            [8, ..] => return Some([8, u8::from(self.stop), 0, 0]),
            [9, ..] => return Some([9, u8::from(self.obstruction), 0, 0]),
            other => self.violations.push(format!("{other:?}")),
        }
        None
    }

    // S1
    fn check(&mut self, what: &str) {
        if self.door && (self.motor != 0 || self.floor.is_none()) {
            self.violations.push(format!("{what} breaks S1"));
        }
    }
}

/// The world, and that something was read or written.
type Shared = (Mutex<World>, Condvar);

/// Serves one client at a time; a second one is accepted by the system and never answered.
struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(address: &str, floor: Option<u8>) -> Self {
        Self::start_reading(4096, address, floor)
    }

    /// One that reads and answers this many bytes at a time.
    fn start_reading(most: usize, address: &str, floor: Option<u8>) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let world = World { floor, ..World::default() };
        let shared = Arc::new((Mutex::new(world), Condvar::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (served, stopped) = (Arc::clone(&shared), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                serve(stream, most, &served, &stopped);
            }
        });
        Self { shared, address, stop, thread: Some(thread) }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.0.lock().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address));
        let ended = self.thread.take().unwrap().join();
        if !thread::panicking() {
            ended.unwrap();
            assert_eq!(self.world().violations, [""; 0]);
        }
    }
}

fn serve(mut stream: TcpStream, most: usize, shared: &Shared, stop: &AtomicBool) {
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut buffer = vec![0; most];
    while !stop.load(Ordering::Relaxed) {
        let length = match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(_) => return,
        };
        let mut world = shared.0.lock().unwrap();
        let (messages, rest) = buffer[..length].as_chunks::<4>();
        if !rest.is_empty() {
            world.violations.push("a torn message".to_owned());
        }
        let replies: Vec<u8> =
            messages.iter().filter_map(|&message| world.handle(message)).flatten().collect();
        drop(world);
        shared.1.notify_all();
        if stream.write_all(&replies).is_err() {
            return;
        }
    }
}

fn line_to(server: &Server, settings: LineSettings) -> Bench {
    Bench::open(&format!("tcp://{}", server.address), floors(), settings)
}

fn connected(floor: Option<u8>) -> (Server, Bench) {
    let server = Server::start("127.0.0.1:0", floor);
    let mut line = line_to(&server, settings());
    line.until(Bench::is_connected);
    (server, line)
}

fn until_world(server: &Server, condition: impl Fn(&World) -> bool) {
    let holds_not = |world: &mut World| !condition(world);
    let waited = server.shared.1.wait_timeout_while(server.world(), PATIENCE, holds_not);
    let (world, waited) = waited.unwrap();
    assert!(!waited.timed_out(), "never happened: {world:?}");
}

/// Lets the client see the world as it is at least once.
fn until_polled(server: &Server) {
    let before = server.world().rounds.len();
    until_world(server, |world| world.rounds.len() >= before + 2);
}

#[test]
fn a_press_is_told_once_however_long_the_button_is_held() {
    let (server, mut line) = connected(Some(0));
    for _ in 0..2 {
        server.world().pressed.insert((1, 3));
        until_polled(&server);
        until_polled(&server);
        server.world().pressed.remove(&(1, 3));
        until_polled(&server);
    }
    server.world().stop = true;
    line.until_inputs(|inputs| inputs.stop && inputs.floor == Some(floor(0)));
    assert_eq!(line.heard[0], PanelEvent::Connected);
    assert!(matches!(line.heard[1], PanelEvent::Inputs(_)));
    assert_eq!(line.presses(), [Button::Hall(floor(3), Direction::Down); 2]);
}

#[test]
fn the_car_is_stopped_at_its_floor_and_tells_so() {
    let (server, mut line) = connected(Some(0));
    line.line.set_outputs(run(Direction::Up, 2));
    until_world(&server, |world| world.motor == 1);
    for place in [None, Some(1), None] {
        server.world().floor = place;
        until_polled(&server);
        assert_eq!(server.world().motor, 1);
    }
    line.until_inputs(|inputs| {
        inputs.drive == DriveFeedback::Driven(Direction::Up) && inputs.next_stop == Some(floor(2))
    });
    server.world().floor = Some(2);
    until_world(&server, |world| world.motor == 0);
    line.until_inputs(|inputs| {
        inputs.drive == DriveFeedback::Stopped && inputs.floor == Some(floor(2))
    });
    line.line.set_outputs(run(Direction::Down, 0));
    until_world(&server, |world| world.motor == 255);
    // S1: it is dropped with the motor running.
    drop(line);
    until_world(&server, |world| world.motor == 0);
}

// S1
#[test]
fn the_door_lamp_is_lit_at_a_floor_with_the_motor_off_only() {
    let (server, mut line) = connected(Some(1));
    let both = PanelOutputs { door: DoorCommand::Open, ..run(Direction::Up, 3) };
    line.line.set_outputs(both.clone());
    until_world(&server, |world| world.door);
    line.until_inputs(|inputs| inputs.door == DoorState::Open);
    assert_eq!(server.world().motor, 0);
    line.line.set_outputs(run(Direction::Up, 3));
    until_world(&server, |world| world.motor == 1 && !world.door);
    server.world().floor = None;
    until_polled(&server);
    line.line.set_outputs(both);
    until_world(&server, |world| world.motor == 0);
    until_polled(&server);
    assert!(!server.world().door);
}

#[test]
fn lamps_and_indicator_follow_and_no_lamp_is_named_that_does_not_exist() {
    let (server, line) = connected(Some(0));
    let mut outputs = PanelOutputs { indicator: Some(floor(3)), ..PanelOutputs::default() };
    outputs.lamps.stop = true;
    outputs.lamps.orders = [
        Button::Hall(floor(3), Direction::Down),
        Button::Car(floor(2)),
        Button::Hall(floor(3), Direction::Up),
        Button::Hall(floor(0), Direction::Down),
        Button::Car(floor(200)),
    ]
    .into();
    line.line.set_outputs(outputs);
    until_world(&server, |world| {
        world.lit == [(1, 3), (2, 2)].into() && world.indicator == Some(3) && world.stop_lamp
    });
    line.line.set_outputs(PanelOutputs::default());
    until_world(&server, |world| world.lit.is_empty() && !world.stop_lamp);
}

#[test]
fn the_configuration_is_reloaded_only_where_that_is_asked_for() {
    for reload_configuration in [false, true] {
        let server = Server::start("127.0.0.1:0", Some(0));
        let mut line = line_to(&server, LineSettings { reload_configuration, ..settings() });
        line.until(Bench::is_connected);
        assert_eq!(server.world().reloads, u32::from(reload_configuration));
    }
}

#[test]
fn a_second_client_is_told_that_nobody_answers_and_connects_when_the_first_has_left() {
    let (server, first) = connected(Some(0));
    let mut second = line_to(&server, settings());
    second.until(|line| line.disconnections("does not answer") > 0);
    assert!(second.line.counters().lost > 0);
    first.line.close();
    second.until(Bench::is_connected);
}

#[test]
fn a_server_that_comes_back_is_told_all_outputs_again() {
    let (server, mut line) = connected(Some(0));
    let address = server.address.to_string();
    let mut outputs = run(Direction::Up, 3);
    outputs.lamps.orders = [Button::Car(floor(3))].into();
    outputs.indicator = Some(floor(0));
    line.line.set_outputs(outputs);
    until_world(&server, |world| world.motor == 1);
    drop(server);
    line.until(|line| line.disconnections("cannot connect") > 0);
    let server = Server::start(&address, None);
    until_world(&server, |world| {
        world.motor == 1 && world.lit == [(2, 3)].into() && world.indicator == Some(0)
    });
}

#[test]
fn a_server_with_a_higher_shaft_is_refused() {
    let server = Server::start("127.0.0.1:0", Some(9));
    let mut line = line_to(&server, settings());
    line.until(|line| line.disconnections("configuration says 4 floors") > 0);
    assert!(!line.heard.contains(&PanelEvent::Connected));
}

/// F15: the course's simulator reads one message at a time, and sends each answer by itself on a
/// socket without `TCP_NODELAY`: its second answer waits until the first one is acknowledged. A round
/// takes 1 ms, and 42 ms where the acknowledgement is delayed.
#[test]
fn a_server_that_answers_in_small_sends_is_polled_without_delay() {
    const ROUNDS: usize = 100;
    let server = Server::start_reading(4, "127.0.0.1:0", Some(0));
    let poll = Duration::from_millis(1);
    let _line = line_to(&server, LineSettings { poll, poll_at_rest: poll, ..settings() });
    // A fresh connection acknowledges its first segments at once by itself.
    until_world(&server, |world| world.rounds.len() > 2 * ROUNDS);
    let rounds = server.world().rounds.split_off(ROUNDS);
    let mut times: Vec<_> = rounds.windows(2).map(|pair| pair[1] - pair[0]).collect();
    times.sort_unstable();
    let median = times[times.len() / 2];
    assert!(median < Duration::from_millis(20), "a round takes {median:?}");
}

/// F15: less often at rest, and as often as ever from the moment at which the car is to move.
#[test]
fn a_car_at_rest_is_polled_less_often_until_it_is_to_move() {
    const AT_REST: Duration = Duration::from_millis(500);
    let server = Server::start("127.0.0.1:0", Some(0));
    let poll = Duration::from_millis(5);
    let line = line_to(&server, LineSettings { poll, poll_at_rest: AT_REST, ..settings() });
    let gap = |rounds: &[Instant]| rounds.last_chunk().map(|[one, two]| *two - *one);
    until_world(&server, |world| gap(&world.rounds) >= Some(AT_REST));
    line.line.set_outputs(run(Direction::Up, 3));
    until_world(&server, |world| world.motor == 1);
    let started = server.world().driven[0];
    let moving = |world: &World| -> Vec<Instant> {
        world.rounds.iter().copied().filter(|at| *at > started).collect()
    };
    until_world(&server, |world| moving(world).len() > 20);
    let moving = moving(&server.world());
    assert!(moving[0] - started < AT_REST / 2, "the next poll waits");
    let took = moving[19] - started;
    assert!(took < AT_REST * 10, "20 polls took {took:?}");
}

/// H1, S2: the server's own watchdog stopped the motor while the controller was held up. Some
/// servers draw their world again at each command, so it is repeated once a second at most.
#[test]
fn a_motor_that_the_server_stopped_by_itself_runs_again() {
    let (server, mut line) = connected(Some(0));
    line.line.set_outputs(run(Direction::Up, 3));
    until_world(&server, |world| world.motor == 1);
    server.world().floor = None;
    for _ in 0..2 {
        server.world().motor = 0;
        until_world(&server, |world| world.motor == 1);
    }
    server.world().floor = Some(3);
    until_world(&server, |world| world.motor == 0);
    line.until_inputs(|inputs| inputs.drive == DriveFeedback::Stopped);
    let driven = std::mem::take(&mut server.world().driven);
    let shortest = driven.windows(2).map(|pair| pair[1] - pair[0]).min();
    // One that was read late makes the next one seem early.
    assert!(shortest > Some(Duration::from_millis(500)), "repeated after {shortest:?}");
}
