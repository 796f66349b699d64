//! The node's loop: connects the pure brain to its sockets, its disk and its panel.
//!
//! ```text
//!   mesh, panel, disk, requests, timer, signal
//!        │ next(): chooses one Event
//!        ▼
//!   handle(event) ─▶ Node::handle_*(…, now) ─▶ poll_action() until empty ─▶ mesh, panel, disk, log
//! ```
//!
//! The journal is opened first, and the panel shows the restored lamps before anything is received
//! from the network (P3). A disk that can't be written does not keep a node from its car (P5).
//! Nothing in the loop waits for a disk, a peer, a plan or the panel. Read [`Event`] for what can
//! happen, then `Running::handle`. Plans, HTTP, MQTT and the latch have a thread each.

mod answer;
mod audit;
mod clock;
mod disk;
mod error;
mod hang;
mod planner;
mod report;
mod start;
mod stop;
mod supervisor;

use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use elevator_driver::{MotorCommand, PanelEvent};
use elevator_fleet::car::HangEvidence;
use elevator_fleet::dispatch::ProgramHealth;
use elevator_fleet::model::Timestamp;
use elevator_fleet::node::{Action, Node, Report};
use elevator_fleet::settings::Setting;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::Sleep;
use tracing::{debug, info, warn};

use self::audit::Commands;
use self::clock::{Clock, LocalTime};
use self::disk::{Disk, DiskEvent};
pub use self::error::{Failure, RunError};
use self::hang::Latching;
use self::planner::{PlanAnswer, Planner};
use self::report::ReportLog;
use self::supervisor::Supervisor;
use crate::config::Settings;
use crate::journal::AuditEvent;
use crate::log;
use crate::mesh::{Mesh, MeshEvent, Residence};
use crate::mqtt::Mqtt;
use crate::operator::{self, FaultInjection, OperatorSocket, Request};
use crate::panel::Panel;
use crate::presses::PressLog;
use crate::side::Side;
use crate::tokens::Tokens;

/// How long the program that dispatches must not fail until it counts as working.
const PROGRAM_SETTLES: Duration = Duration::from_secs(10);

/// One event. The loop selects the next one and does nothing else.
#[derive(Debug)]
pub(crate) enum Event {
    Mesh(MeshEvent),
    Panel(PanelEvent),
    Disk(DiskEvent),
    Planned(PlanAnswer),
    Request(Request),
    /// The node's deadline, or a periodic check of the loop.
    Timeout,
    Failed(Failure),
    /// The node's interface has this address instead of its own.
    Moved(Ipv4Addr),
    Stop,
}

impl Event {
    fn ended(part: &'static str) -> Self {
        Self::Failed(Failure { part, reason: "its thread has ended".to_owned() })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Stopped,
    /// Its car did not reach a floor in time (F9). The motor is stopped.
    Hung(HangEvidence),
}

/// Runs a node until it is told to stop by SIGINT or SIGTERM, or until its car hangs.
///
/// One thread is enough: a current-thread runtime with I/O and time enabled. Do not drop it in a
/// way that waits for blocking tasks without limit; use `Runtime::shutdown_timeout`.
///
/// # Errors
/// [`RunError`]: the node did not start.
pub async fn run(settings: &Settings) -> Result<Outcome, RunError> {
    let stop = stop::signal().map_err(RunError::Signals)?;
    tokio::pin!(stop);
    loop {
        if let Some(outcome) = Box::pin(run_once(settings, stop.as_mut())).await? {
            return Ok(outcome);
        }
    }
}

/// Runs a node until it ends. `None`: it has another address, and starts anew with that.
async fn run_once(
    settings: &Settings,
    stop: impl Future<Output = ()>,
) -> Result<Option<Outcome>, RunError> {
    let mut running = Box::pin(Running::start(settings, settings.dispatcher())).await?;
    let ending = running.run(stop).await;
    let latching = match &ending {
        // Immediately: the motor was already told to stop.
        Ending::Hung(evidence) => {
            Some(Latching::start(&settings.data_dir, settings.node.clone(), evidence))
        }
        Ending::Stopped | Ending::Moved | Ending::Failed(_) => None,
    };
    Box::pin(running.end(&ending, latching)).await;
    match ending {
        Ending::Stopped => Ok(Some(Outcome::Stopped)),
        Ending::Moved => Ok(None),
        Ending::Hung(evidence) => Ok(Some(Outcome::Hung(evidence))),
        Ending::Failed(failure) => Err(failure.into()),
    }
}

#[derive(Debug)]
enum Ending {
    Stopped,
    /// It has another address, and its car stands.
    Moved,
    Hung(HangEvidence),
    Failed(Failure),
}

/// The program that dispatches, if there is one.
#[derive(Default)]
struct WatchedProgram {
    /// How it did at the latest plan.
    health: Option<ProgramHealth>,
    /// When it last failed, until that counts as over.
    failed_at: Option<Timestamp>,
}

struct Running {
    clock: Clock,
    local_time: LocalTime,
    /// When the node last got the time of the wall clock.
    wall_clock_at: Timestamp,
    node: Node,
    residence: Residence,
    /// The interface has another address: the node ends once its car stands.
    has_moved: bool,
    mesh: Mesh,
    panel: Option<Panel>,
    disk: Disk,
    /// The fleet keys that the audit log has last; `None` while that can't be read.
    recorded_keys: Option<AuditEvent>,
    commands: Commands,
    planner: Planner,
    program: WatchedProgram,
    requests: mpsc::Receiver<Request>,
    log: ReportLog,
    presses: PressLog,
    reports: broadcast::Sender<operator::Event>,
    /// Held, not used: while it lives, no other node has the data directory.
    _socket: OperatorSocket,
    http: Option<Side>,
    /// The tokens that count, for the HTTP server.
    tokens: watch::Sender<Arc<Tokens>>,
    mqtt: Option<Mqtt>,
    alerts: Option<Side>,
    supervisor: Supervisor,
    /// Ends the loop's sleep. Reused: to move its deadline later is cheap.
    timer: Pin<Box<Sleep>>,
    /// When the current turn of the loop began: the time of all that the node is told in it.
    turned: Timestamp,
    /// How long the panel line lets the motor run without a keep-alive.
    lease: Duration,
    /// How often the panel line has stopped the motor on its own, as far as the node knows.
    lapses: u64,
    hung: Option<HangEvidence>,
    failure: Option<Failure>,
    faults: FaultInjection,
}

impl Running {
    async fn run(&mut self, stop: impl Future<Output = ()>) -> Ending {
        tokio::pin!(stop);
        loop {
            let (event, planned) = self.next(stop.as_mut()).await;
            if let Event::Stop = event {
                return Ending::Stopped;
            }
            self.check_interruption(planned);
            self.handle(event);
            self.refresh_wall_clock();
            self.show_life();
            if let Some(evidence) = self.hung {
                return Ending::Hung(evidence);
            }
            if let Some(failure) = self.failure.take() {
                return Ending::Failed(failure);
            }
            // What a failed disk does not have would not outlive the start.
            if self.has_moved && self.stands() && !self.disk.has_failed() {
                return Ending::Moved;
            }
        }
    }

    fn stands(&self) -> bool {
        self.node.outputs().is_none_or(|outputs| outputs.motor == MotorCommand::Stop)
    }

    /// Selects the next event; also returns the deadline of the loop's sleep.
    async fn next<S: Future<Output = ()> + Unpin>(&mut self, stop: S) -> (Event, Timestamp) {
        let deadline = self.node.poll_timeout().map(|(at, _)| at);
        let planned = clock::wake(deadline, self.turned);
        let wake_at = self.clock.instant(planned);
        if self.timer.deadline() != wake_at {
            self.timer.as_mut().reset(wake_at);
        }
        let event = tokio::select! {
            () = stop => Event::Stop,
            () = &mut self.timer => Event::Timeout,
            event = self.mesh.next_event() => Event::Mesh(event),
            event = next_of(&mut self.panel) => event,
            event = self.disk.next() => Event::Disk(event),
            plan = self.planner.plan() => {
                plan.map_or_else(|| Event::ended("the planner"), Event::Planned)
            }
            Some(request) = self.requests.recv() => Event::Request(request),
            next = self.residence.moved(), if !self.has_moved => Event::Moved(next),
        };
        (event, planned)
    }

    /// H1: what happened while the loop did not run is no evidence against the car or peers. A
    /// motor that the panel line stopped meanwhile runs again once the car was seen at rest.
    fn check_interruption(&mut self, planned: Timestamp) {
        let now = self.clock.now();
        self.turned = now;
        self.node.handle_delay(now.since(planned), now);
        let late = clock::suspended(planned, now);
        if let Some(late) = late {
            warn!(late_ms = log::millis(late), "the process was suspended or held up");
        }
        let lapses = self.panel.as_ref().map_or(0, |panel| panel.line.lapses());
        let has_lapsed = lapses != self.lapses;
        self.lapses = lapses;
        if has_lapsed {
            warn!("the loop sent no keep-alive: the panel line stopped the motor");
        }
        if late.is_some() || has_lapsed {
            let unwatched = if has_lapsed { self.lease } else { Duration::ZERO };
            let late = late.unwrap_or_default().max(unwatched);
            self.node.handle_interrupted(late, now);
            self.drain();
        }
    }

    /// Called at every turn of the loop, so that a loop that hangs sends no keep-alive.
    fn show_life(&mut self) {
        if let Some(panel) = &self.panel {
            panel.line.keep_alive();
        }
        self.supervisor.alive(self.clock.now());
    }

    /// The wall clock is only displayed, and chooses where idle cars wait (E5).
    fn refresh_wall_clock(&mut self) {
        let now = self.turned;
        if now.since(self.wall_clock_at) >= clock::WALL_CLOCK_PERIOD {
            self.set_wall_clock(now);
            self.drain();
            self.record_excess(now);
        }
    }

    fn set_wall_clock(&mut self, now: Timestamp) {
        self.wall_clock_at = now;
        if let Some(seconds) = clock::wall_clock() {
            self.node.handle_wall_clock(seconds, now);
            self.node.handle_local_time(self.local_time.of(seconds), now);
        }
    }

    /// Everything in a turn happens at its beginning: the process may have been suspended since.
    fn handle(&mut self, event: Event) {
        let now = self.turned;
        match event {
            Event::Mesh(event) => self.handle_mesh(event, now),
            Event::Panel(event) => {
                if let Some(press) = self.node.handle_panel(event, now) {
                    self.presses.add(press, now);
                }
            }
            Event::Disk(DiskEvent::Progress(progress)) => {
                self.node.handle_durable(progress.durable, now);
                if let Some(reason) = progress.failure {
                    self.disk.fail(&reason);
                    self.node.handle_disk_failed(now);
                }
            }
            Event::Disk(DiskEvent::Latched(refusal)) => {
                self.failure = Some(Failure { part: "the car", reason: refusal.to_string() });
            }
            Event::Disk(DiskEvent::Recovered { restored }) => {
                self.node.handle_disk_recovered(&restored, now);
            }
            Event::Request(request) => self.answer(request, now),
            Event::Planned(PlanAnswer { version, plan, program }) => {
                self.note_program(program);
                self.node.handle_plan(version, plan, now);
            }
            Event::Timeout => self.node.handle_timeout(now),
            Event::Failed(failure) => self.failure = Some(failure),
            Event::Moved(next) => {
                let former = self.residence.address();
                info!(%former, %next, "the address has changed: the node restarts once its car \
                                       stands still");
                self.has_moved = true;
            }
            Event::Stop => self.node.shut_down(now),
        }
        self.drain();
        self.commands.author = None;
    }

    /// Reports when the program that dispatches begins to fail, and when it has worked again for a
    /// while: one that is often late would fill the log otherwise.
    fn note_program(&mut self, program: Option<ProgramHealth>) {
        let Some(health) = program else { return };
        let now = self.turned;
        if health.is_failing {
            if self.program.failed_at.replace(now).is_none() {
                let fault = health.fault.clone().unwrap_or_default();
                self.report(&Report::Dispatcher(Err(fault)));
            }
        } else if self.program.failed_at.take_if(|at| now.since(*at) >= PROGRAM_SETTLES).is_some() {
            self.report(&Report::Dispatcher(Ok(())));
        }
        self.program.health = Some(health);
    }

    fn handle_mesh(&mut self, event: MeshEvent, now: Timestamp) {
        match event {
            MeshEvent::Beacon { from, beacon } => {
                let fate = self.node.handle_beacon(from, &beacon, now);
                self.mesh.note_fate(from, fate);
            }
            MeshEvent::Unreadable { from, error } => {
                self.node.handle_unreadable(from, &error, now);
            }
            MeshEvent::Packet { from, bytes } => self.node.handle_packet(from, &bytes, now),
            MeshEvent::LinkUp { link, peer, side } => {
                self.node.handle_link_up(link, &peer, side, now);
            }
            MeshEvent::DialFailed { peer } => self.node.handle_dial_failed(&peer, now),
            MeshEvent::Frame { link, frame } => self.node.handle_frame(link, frame, now),
            MeshEvent::Malformed { link } => self.node.handle_malformed(link, now),
            MeshEvent::LinkDown { link } => self.node.handle_link_down(link, now),
            MeshEvent::KeysRead => self.record_keys(),
            MeshEvent::Failed { reason } => {
                let part = "the mesh";
                self.failure = Some(Failure { part, reason });
            }
        }
    }

    /// Records the fleet keys in use, if they are others than those that are known to be recorded.
    fn record_keys(&mut self) {
        if self.mesh.keys().get().is_none() {
            return;
        }
        let keys = AuditEvent::keys(self.mesh.keys().status());
        if self.recorded_keys.as_ref().is_some_and(|recorded| *recorded != keys)
            && let Err(reason) = self.record(keys.clone())
        {
            warn!(reason, "a change of the fleet keys is not in the audit log");
        }
        self.recorded_keys = Some(keys);
    }

    fn drain(&mut self) {
        while let Some(action) = self.node.poll_action() {
            self.perform(action);
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Broadcast(beacon) => self.mesh.broadcast(&beacon),
            Action::Unicast { to, beacon } => self.mesh.unicast(to, &beacon),
            Action::Packet { to, bytes } => self.mesh.send_packet(to, bytes),
            Action::Dial { peer, address } => self.mesh.dial(peer, address),
            Action::Send { link, frame } => self.mesh.send(link, &frame),
            Action::Close(link) => self.mesh.close(link),
            Action::Panel(outputs) => {
                if let Some(panel) = &self.panel {
                    panel.line.set_outputs(outputs);
                }
            }
            Action::Persist { lsn, changes } => {
                if let Err(refused) = self.disk.submit(lsn, changes) {
                    self.disk.fail(&refused.to_string());
                    self.node.handle_disk_failed(self.turned);
                }
            }
            Action::Plan(request) => self.planner.ask(request),
            Action::Report(report) => {
                if report == Report::DiskFailed && !self.disk.has_failed() {
                    // The node has noticed it first.
                    self.disk.fail("it takes too long to write");
                }
                if matches!(report, Report::PeerDiscovered { .. } | Report::PeerLost { .. }) {
                    self.mesh.set_proven(&self.node.proven().collect());
                }
                self.report(&report);
            }
        }
    }

    fn report(&mut self, report: &Report) {
        if let Report::Setting { setting, operator, reason } = report {
            if matches!(setting, Setting::Token(..)) {
                let tokens = Tokens::of(self.node.settings());
                self.end_sessions_of_revoked(&tokens, self.turned);
                self.tokens.send_replace(Arc::new(tokens));
            }
            self.record_command(setting, operator, reason.as_ref());
        }
        self.log.log(report);
        self.presses.note(report, |press| self.node.orders().get(press).is_some());
        // There may be no listener. Rotations of the mastership are not an event.
        if self.reports.receiver_count() > 0
            && !matches!(report, Report::Rotated { .. })
            && self.reports.send(operator::Event::new(report, SystemTime::now())).is_err()
        {
            debug!("the last who listened has just left");
        }
        if let Report::Hung(evidence) = report {
            self.hung = Some(*evidence);
        }
    }
}

/// The next event of the panel; never completes without a panel.
async fn next_of(panel: &mut Option<Panel>) -> Event {
    let event = match panel {
        Some(panel) => panel.next_event().await,
        None => std::future::pending().await,
    };
    event.map_or_else(|| Event::ended("the panel line"), Event::Panel)
}

#[cfg(test)]
mod tests;
