//! The elevator servers, the controllers, and what can be seen of them: all that a check acts on.

use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use elevator_driver::Button;
use humantime::format_duration;
use liftmesh_harness::Process;
use liftmesh_harness::lan::Lan;
use serde::Serialize;
use tempfile::TempDir;

use super::car::{Car, host};
use super::{CARS, FatArgs, FatError};

/// How long controllers may take to connect, find a floor and stand still.
const START_LIMIT: Duration = Duration::from_secs(30);

/// How long nothing must move before a check begins, so that the controllers know each other.
const QUIET: Duration = Duration::from_secs(2);

/// A door that is open for less than this while the car moves is seen by nobody.
const BLINK: Duration = Duration::from_millis(100);

/// A lamp may go dark this long before the door opens.
const EARLY: Duration = Duration::from_secs(1);

/// How often a button is pressed whose lamp stays dark.
const PRESS_AGAIN: Duration = Duration::from_secs(2);

/// A computer that is so late can't tell a slow controller from a busy computer.
const HELD_UP: Duration = Duration::from_millis(250);

#[derive(Debug, Serialize)]
pub(super) struct Entry {
    /// Seconds since the check began.
    pub(super) at: f64,
    pub(super) who: String,
    pub(super) what: String,
}

/// Why a check ends early.
#[derive(Debug)]
pub(super) enum Stop {
    Failed { expected: String, seen: String },
    Broken(FatError),
}

impl From<FatError> for Stop {
    fn from(error: FatError) -> Self {
        Self::Broken(error)
    }
}

pub(super) type Course = Result<(), Stop>;

/// A press.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    panel: usize,
    button: Button,
    at: Duration,
}

pub(super) struct Bench<'a> {
    pub(super) args: &'a FatArgs,
    // The order matters: controllers end before what they use.
    pub(super) cars: Vec<Car>,
    lan: Option<&'a Lan>,
    dir: PathBuf,
    _temporary: Option<TempDir>,
    begun: Instant,
    ending: &'a AtomicBool,
    pub(super) timeline: Vec<Entry>,
}

impl<'a> Bench<'a> {
    pub(super) fn open(
        args: &'a FatArgs,
        check: &str,
        lan: Option<&'a Lan>,
        ending: &'a AtomicBool,
    ) -> Result<Self, FatError> {
        let temporary = args.dir.is_none().then(tempfile::tempdir).transpose()?;
        let base = args.dir.as_deref().or(temporary.as_ref().map(TempDir::path));
        let dir = base.unwrap_or(Path::new(".")).join(check);
        fs::create_dir_all(&dir)?;
        let dir = dir.canonicalize()?;
        let cars = (0..CARS).map(|car| Car::open(args, car, lan, &dir));
        Ok(Self {
            args,
            cars: cars.collect::<Result<_, _>>()?,
            lan,
            dir,
            _temporary: temporary,
            begun: Instant::now(),
            ending,
            timeline: Vec::new(),
        })
    }

    /// Starts the controllers, and waits until every car stands still at a floor.
    pub(super) fn start_all(&mut self) -> Course {
        for car in 0..CARS {
            self.set_plugged(car, true)?;
            self.start(car)?;
        }
        let expected = "every controller connects to its elevator server, finds a floor and rests";
        let mut quiet_since = None;
        self.wait(START_LIMIT, expected, move |bench| {
            let is_quiet = bench.cars.iter().all(|car| car.is_connected && car.stands());
            quiet_since = quiet_since.filter(|_| is_quiet).or(is_quiet.then(|| bench.now()));
            quiet_since.is_some_and(|since| bench.since(since) >= QUIET)
        })
    }

    pub(super) fn start(&mut self, car: usize) -> Result<(), FatError> {
        let dir = self.dir.join(car.to_string());
        fs::create_dir_all(&dir)?;
        let Some(server) = self.cars[car].simulator.tcp() else {
            unreachable!("it was started with one");
        };
        let host = host(car);
        let [address, broadcast] = if let Some(lan) = self.lan {
            [lan.address(host), *lan.broadcast().ip()]
        } else {
            let own = u32::from(self.args.address) + u32::from(host) - 1;
            [Ipv4Addr::from_bits(own), Ipv4Addr::new(127, 255, 255, 255)]
        };
        let places = [
            ("{n}", car.to_string()),
            ("{server}", server.ip().to_string()),
            ("{port}", server.port().to_string()),
            ("{floors}", self.args.floors.get().to_string()),
            ("{address}", address.to_string()),
            ("{broadcast}", broadcast.to_string()),
            ("{dir}", dir.display().to_string()),
        ];
        let fill = |word: &String| {
            places.iter().fold(word.clone(), |word, (place, value)| word.replace(place, value))
        };
        let words: Vec<String> = self.args.command.iter().map(fill).collect();
        let mut command = match self.lan {
            Some(lan) => lan.on_host(host, &words[0]),
            None => Command::new(&words[0]),
        };
        command.args(&words[1..]).stdin(Stdio::null()).process_group(0);
        let log = self.dir.join(format!("{car}.log"));
        let process = Process::start(format!("controller {car}"), command, log);
        let failed = |source| FatError::Controller { car, command: words.join(" "), source };
        self.cars[car].controller = Some(process.map_err(failed)?);
        self.note(format!("controller {car}"), "started");
        self.cars[car].is_whole = true;
        Ok(())
    }

    pub(super) fn kill(&mut self, car: usize) {
        self.cars[car].end_controller();
        self.cars[car].is_whole = false;
        self.note(format!("controller {car}"), "killed with all that it has started (kill -9)");
    }

    pub(super) fn set_plugged(&mut self, car: usize, is_plugged: bool) -> Result<(), FatError> {
        if let Some(lan) = self.lan {
            if is_plugged {
                lan.plug(host(car))?;
            } else {
                lan.unplug(host(car))?;
            }
            self.note(format!("network {car}"), if is_plugged { "plugged in" } else { "cut" });
        }
        self.cars[car].is_whole = is_plugged;
        Ok(())
    }

    pub(super) fn lose(&mut self) -> Result<(), FatError> {
        if let Some(lan) = self.lan {
            lan.lose(self.args.loss)?;
        }
        self.note("network", &format!("loses {} % from now on", self.args.loss));
        Ok(())
    }

    pub(super) fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    fn since(&self, then: Duration) -> Duration {
        self.now().saturating_sub(then)
    }

    fn note(&mut self, who: impl Into<String>, what: &str) {
        let at = self.now().as_secs_f64();
        self.timeline.push(Entry { at, who: who.into(), what: what.to_owned() });
    }

    /// Tells an elevator server what its surroundings do: a button, a switch, a fault.
    pub(super) fn tell(&mut self, car: usize, command: &str) -> Result<(), FatError> {
        self.cars[car].control.send(command).map_err(io::Error::other)?;
        self.note(format!("panel {car}"), command);
        Ok(())
    }

    pub(super) fn press(&mut self, panel: usize, button: Button) -> Result<Call, FatError> {
        let at = self.now();
        self.tell(panel, &format!("press {button}"))?;
        Ok(Call { panel, button, at })
    }

    /// Presses a button until its lamp has been lit on every panel, or on one if `any`.
    pub(super) fn light(
        &mut self,
        panel: usize,
        button: Button,
        presses: u32,
        any: bool,
    ) -> Result<Call, Stop> {
        let call = self.press(panel, button)?;
        let is_lit = |bench: &Self| {
            let mut lit = bench.panels(call).map(|car| car.lit_at.get(&button) >= Some(&call.at));
            if any { lit.any(|lit| lit) } else { lit.all(|lit| lit) }
        };
        for _ in 1..presses {
            if self.sees(PRESS_AGAIN, is_lit)? {
                return Ok(call);
            }
            self.press(panel, button)?;
        }
        let limit = format_duration(PRESS_AGAIN * presses);
        let place = if any { "at least one panel" } else { "each panel that has to show it" };
        let expected = format!("the lamp {button} lights on {place} within {limit} of the press");
        if self.sees(PRESS_AGAIN, is_lit)? { Ok(call) } else { Err(self.failed(expected)) }
    }

    /// The panels where the lamp of a call counts.
    fn panels(&self, call: Call) -> impl Iterator<Item = &Car> {
        let is_hall = call.button.direction().is_some();
        let counts = move |(number, car): &(usize, &Car)| {
            if is_hall { car.is_whole } else { *number == call.panel }
        };
        self.cars.iter().enumerate().filter(counts).map(|(_, car)| car)
    }

    /// Whether a car that may serve a call has stood open there since.
    fn is_visited(&self, call: Call) -> bool {
        let floor = call.button.floor();
        let mut cars = self.cars.iter().enumerate();
        cars.any(|(number, car)| {
            (call.button.direction().is_some() || number == call.panel)
                && car.visited(floor, call.at)
        })
    }

    /// Waits until these calls are served: a car has stood open there, and their lamps are dark.
    pub(super) fn wait_served(&mut self, calls: &[Call]) -> Course {
        let limit = self.args.service_limit;
        for &call in calls {
            let Call { panel, button, at } = call;
            let (mut dark_since, mut is_lost) = (None, false);
            let left = (at + limit).saturating_sub(self.now());
            let is_over = self.sees(left, |bench| {
                let is_dark = bench.panels(call).all(|car| !car.lamps.contains(&button));
                let was_lit = bench.panels(call).any(|car| car.lit_at.get(&button) >= Some(&at));
                let is_visited = bench.is_visited(call);
                let is_early = was_lit && is_dark && !is_visited;
                dark_since = dark_since.filter(|_| is_early).or(is_early.then(|| bench.now()));
                is_lost = dark_since.is_some_and(|since| bench.since(since) > EARLY);
                is_lost || is_dark && is_visited
            })?;
            let who = if button.direction().is_some() { "a car" } else { "this car" };
            let call = format!("{button}, pressed at panel {panel}");
            let limit = format_duration(limit);
            if is_lost {
                return Err(self.failed(format!(
                    "{call}: its lamp stays lit until {who} opens its door there"
                )));
            }
            if !is_over {
                return Err(self.failed(format!(
                    "{call}: {who} opens its door there, and its lamps are dark, within {limit}"
                )));
            }
        }
        Ok(())
    }

    /// Waits for something that the check expects.
    pub(super) fn wait(
        &mut self,
        limit: Duration,
        expected: &str,
        is_so: impl FnMut(&Self) -> bool,
    ) -> Course {
        let is_seen = self.sees(limit, is_so)?;
        let expected = || self.failed(format!("{expected} within {}", format_duration(limit)));
        if is_seen { Ok(()) } else { Err(expected()) }
    }

    /// Checks that something is so for all this time.
    pub(super) fn hold(
        &mut self,
        time: Duration,
        expected: &str,
        is_so: impl Fn(&Self) -> bool,
    ) -> Course {
        let ends = self.sees(time, |bench| !is_so(bench))?;
        let expected = || self.failed(format!("{expected} for {}", format_duration(time)));
        if ends { Err(expected()) } else { Ok(()) }
    }

    /// Looks on for this long at most; returns whether something has come to be so.
    pub(super) fn sees(
        &mut self,
        limit: Duration,
        mut is_so: impl FnMut(&Self) -> bool,
    ) -> Result<bool, Stop> {
        let end = self.now() + limit;
        loop {
            self.look()?;
            if is_so(self) {
                return Ok(true);
            }
            if self.now() >= end {
                return Ok(false);
            }
            let slept_at = self.now();
            thread::sleep(Duration::from_millis(10));
            let late = self.since(slept_at);
            if late > HELD_UP {
                let late = late.as_secs_f64();
                self.note("this computer", &format!("is too busy for this test: {late:.1} s late"));
            }
        }
    }

    /// A check failed: what it expected, beside what there is.
    pub(super) fn failed(&self, expected: impl Into<String>) -> Stop {
        let cars = self.cars.iter().enumerate();
        let seen = cars.map(|(number, car)| format!("car {number}: {}", car.picture()));
        Stop::Failed { expected: expected.into(), seen: seen.collect::<Vec<_>>().join("\n") }
    }

    /// Takes in what has changed, and checks what has to hold always.
    fn look(&mut self) -> Course {
        if self.ending.load(Ordering::Relaxed) {
            return Err(FatError::Interrupted.into());
        }
        for number in 0..CARS {
            let now = self.now();
            let car = &mut self.cars[number];
            let state = car.state()?;
            for what in car.take_in(state, now) {
                self.note(format!("car {number}"), &what);
            }
            let car = &mut self.cars[number];
            if let Some(status) = car.controller.as_mut().and_then(Process::ended) {
                let lines = car.controller.as_ref().map(|it| it.last_lines(8)).unwrap_or_default();
                return Err(Stop::Failed {
                    expected: format!("controller {number} keeps running"),
                    seen: format!("it ended: {status}; it printed\n{lines}"),
                });
            }
            if car.unsafe_since.is_some_and(|since| now.saturating_sub(since) > BLINK) {
                return Err(self.failed("doors are open only while the car stands at a floor"));
            }
        }
        Ok(())
    }
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        if let Some(lan) = self.lan {
            // At worst the next check can't be carried out, and says why.
            lan.repair().unwrap_or_default();
        }
    }
}
