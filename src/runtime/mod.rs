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
//! happen, then `Running::handle`.
//!
//! One thread makes plans, one serves HTTP, one talks to the MQTT broker, and
//! another writes the latch when the car hangs.

mod answer;
mod audit;
mod clock;
mod disk;
mod event;
mod hang;
mod planner;
mod report;
mod stop;
mod supervisor;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use elevator_driver::{MotorCommand, OpenError};
use elevator_fleet::car::HangEvidence;
use elevator_fleet::dispatch::Dispatcher;
use elevator_fleet::model::Timestamp;
use elevator_fleet::node::{Action, FleetKeysStatus, Node, Report};
use elevator_fleet::settings::Setting;
use elevator_fleet::wire::Nonce;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::Sleep;
use tracing::{debug, error, info, warn};

use self::audit::Commands;
use self::clock::{Clock, LocalTime};
use self::disk::{Disk, DiskEvent, DiskFailure};
pub(crate) use self::event::{Event, Failure};
use self::hang::Latching;
use self::planner::Planner;
use self::report::ReportLog;
use self::supervisor::Supervisor;
use crate::config::Settings;
use crate::fleet_key::Keys;
use crate::http::{Http, HttpSettings};
use crate::journal::{AuditEvent, CommitTimes, JournalError};
use crate::latch::{self, Refusal};
use crate::log;
use crate::mesh::{
    LinkTimes, Mesh, MeshError, MeshEvent, MeshSettings, Residence, gather_time, mac_of,
};
use crate::mqtt::Mqtt;
use crate::mqtt_metrics;
use crate::operator::{
    self, BindError, FaultInjection, NodeLoop, OperatorSocket, ReadingError, Request,
};
use crate::panel::Panel;
use crate::presses::PressLog;
use crate::tokens::{Scope, Tokens};

/// How a node ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was told to stop.
    Stopped,
    /// Its car did not reach a floor in time (F9). The motor is stopped.
    Hung(HangEvidence),
}

/// Why a node could not start, or could not continue. In the first case nothing was sent to the
/// panel; in the second the motor is stopped.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Another node runs with the data directory, or it can't be used.
    #[error(transparent)]
    Operator(#[from] BindError),
    /// The socket for reading can't be created.
    #[error(transparent)]
    Reading(#[from] ReadingError),
    /// An operator has to clear a hang first (F9).
    #[error(transparent)]
    Latched(#[from] Refusal),
    /// The journal can't be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The network's addresses can't be used.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// The panel's address can't be used.
    #[error(transparent)]
    Panel(#[from] OpenError),
    /// The system provides no random numbers.
    #[error("no random numbers")]
    Random(#[from] getrandom::Error),
    /// The system provides no thread.
    #[error("no thread for the journal or the planner")]
    Thread(#[source] io::Error),
    /// The system can't deliver signals.
    #[error("signals can't be received")]
    Signals(#[source] io::Error),
    /// A part of the running node has failed; the node has shut down properly.
    #[error("the node can't continue: {0}")]
    Failed(#[from] Failure),
}

impl RunError {
    /// Whether another configuration, or the end of another node, would help. Otherwise the machine
    /// is at fault.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Operator(_)
            | Self::Reading(_)
            | Self::Mesh(_)
            | Self::Panel(_)
            | Self::Latched(_) => true,
            Self::Journal(error) => match error {
                JournalError::Directory { .. }
                | JournalError::Exposed(_)
                | JournalError::Irregular { .. }
                | JournalError::Rights { .. }
                | JournalError::InUse { .. }
                | JournalError::Foreign { .. }
                | JournalError::Format { .. } => true,
                JournalError::Lost { .. }
                | JournalError::Audit(_)
                | JournalError::Damaged { .. }
                | JournalError::Failing { .. } => false,
            },
            Self::Random(_) | Self::Thread(_) | Self::Signals(_) | Self::Failed(_) => false,
        }
    }
}

/// Runs a node until it is told to stop by SIGINT or SIGTERM, or by SIGHUP if it was started in a
/// terminal, or until its car hangs.
///
/// One thread is enough: a current-thread runtime with I/O and time enabled. Do not drop it in a
/// way that waits for blocking tasks without limit; use `Runtime::shutdown_timeout`.
///
/// # Errors
/// [`RunError`]: the node did not start.
pub async fn run(settings: &Settings) -> Result<Outcome, RunError> {
    let signal = stop::signal().map_err(RunError::Signals)?;
    Box::pin(run_until(settings, signal)).await
}

/// Like [`run`], until `stop` completes.
///
/// # Errors
/// [`RunError`]: the node did not start.
pub(crate) async fn run_until(
    settings: &Settings,
    stop: impl Future<Output = ()>,
) -> Result<Outcome, RunError> {
    run_with(settings, settings.dispatcher(), stop).await
}

/// Like [`run_until`], with another dispatcher at first.
async fn run_with(
    settings: &Settings,
    dispatcher: Box<dyn Dispatcher + Send>,
    stop: impl Future<Output = ()>,
) -> Result<Outcome, RunError> {
    tokio::pin!(stop);
    let mut dispatcher = Some(dispatcher);
    loop {
        let dispatcher = dispatcher.take().unwrap_or_else(|| settings.dispatcher());
        let run = Box::pin(run_once(settings, dispatcher, stop.as_mut()));
        if let Some(outcome) = run.await? {
            return Ok(outcome);
        }
    }
}

/// Runs a node until it ends. `None`: it has another address, and is to be started anew with that, as
/// to its peers it is another process.
async fn run_once(
    settings: &Settings,
    dispatcher: Box<dyn Dispatcher + Send>,
    stop: impl Future<Output = ()>,
) -> Result<Option<Outcome>, RunError> {
    let mut running = Running::start(settings, dispatcher)?;
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

/// Why the loop ended.
#[derive(Debug)]
enum Ending {
    Stopped,
    /// It has another address, and its car stands.
    Moved,
    Hung(HangEvidence),
    Failed(Failure),
}

/// A node that runs.
#[derive(Debug)]
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
    /// The fleet keys that the audit log has last; `None` until they are known, if the disk has failed
    /// at the start.
    recorded_keys: Option<FleetKeysStatus>,
    commands: Commands,
    planner: Planner,
    requests: mpsc::Receiver<Request>,
    log: ReportLog,
    presses: PressLog,
    reports: broadcast::Sender<operator::Event>,
    /// Held, not used: while it lives, no other node has the data directory.
    _socket: OperatorSocket,
    http: Option<Http>,
    /// The tokens that count, for the HTTP server.
    tokens: watch::Sender<Arc<Tokens>>,
    mqtt: Option<Mqtt>,
    supervisor: Supervisor,
    /// Ends the loop's sleep. It is reused because usually its deadline only moves later, which is
    /// cheap.
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
    fn start(
        settings: &Settings,
        dispatcher: Box<dyn Dispatcher + Send>,
    ) -> Result<Self, RunError> {
        let mut socket =
            OperatorSocket::bind(&settings.data_dir)?.with_reading(settings.reading.as_ref())?;
        latch::check(&settings.data_dir)
            .inspect_err(|refusal| hang::note(refusal, &settings.node))?;
        let (commits, data_dir) = (commit_times(), &settings.data_dir);
        let (disk, restored, keys) = Disk::open(data_dir, &settings.node, commits.clone())?;
        let (nonce, seed) = (Nonce(getrandom::u64()?), getrandom::u64()?);
        let residence = Residence::of(&settings.address);
        let address = residence.address();
        info!(
            node = %settings.node,
            role = %settings.role,
            fleet = %settings.fleet,
            %address,
            records = restored.records.len(),
            "node starts"
        );
        let mac = settings.mac.unwrap_or_else(|| mac_of(address));
        let node = Node::new(settings.brain(address, mac, nonce, restored, seed))
            .with_schedule(settings.dispatch.schedule.clone());
        let mut mesh = Mesh::start(MeshSettings {
            hello: node.hello().clone(),
            broadcast: settings.broadcast,
            link_port: settings.link_port,
            packets: settings.packets.clone(),
            gather_time: gather_time(&settings.mesh),
            times: LinkTimes::default(),
            keys: Arc::new(Keys::new(settings.keys.clone(), settings.fleet.clone(), address)),
        })?;
        let panel = settings
            .panel
            .as_ref()
            .map(|url| Panel::open(url, settings.floors, settings.panel_line))
            .transpose()?;
        // The panel has its line by now, whatever the disk does that the keys are on.
        mesh.wait_for_keys();
        let planner = Planner::start(dispatcher, settings.kinematics).map_err(RunError::Thread)?;
        let (asked, requests) = mpsc::channel(operator::REQUESTS);
        let (reports, _) = broadcast::channel(operator::EVENTS);
        let node_loop = NodeLoop::new(asked);
        let (tokens, known_tokens) = watch::channel(Arc::new(Tokens::of(node.settings())));
        let (mqtt, mqtt_counted) = start_mqtt(settings, &node_loop, &reports).unzip();
        let counted = (mqtt_counted, commits);
        let http = start_http(settings, &mut socket, counted, &node_loop, &reports, known_tokens);
        let mut running = Self {
            clock: Clock::start(),
            local_time: LocalTime::of_system(),
            wall_clock_at: Timestamp::START,
            node,
            residence,
            has_moved: false,
            mesh,
            panel,
            disk,
            recorded_keys: keys,
            commands: Commands::default(),
            planner,
            requests,
            log: ReportLog::new(settings.node.clone()),
            presses: PressLog::default(),
            reports,
            _socket: socket,
            http,
            tokens,
            mqtt,
            supervisor: Supervisor::from_environment(),
            lease: settings.panel_line.lease,
            timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
            turned: Timestamp::START,
            lapses: 0,
            hung: None,
            failure: None,
            faults: settings.faults,
        };
        let now = running.clock.now();
        // Before the lamps are lit that only the disk would justify (P5).
        if running.disk.has_failed() {
            running.node.handle_disk_failed(now);
        }
        running.record_keys();
        running.set_wall_clock(now);
        running.turned = now;
        running.node.start(now);
        running.drain();
        running.turned = running.clock.now();
        running.supervisor.show(running.node.node_state());
        running.supervisor.ready();
        Ok(running)
    }

    /// Runs turns until the node has to end or can't continue.
    async fn run(&mut self, stop: impl Future<Output = ()>) -> Ending {
        tokio::pin!(stop);
        loop {
            let (event, planned) = self.next(stop.as_mut()).await;
            if let Event::Stop = event {
                return Ending::Stopped;
            }
            self.check_interruption(planned);
            self.handle(event);
            self.check_planner();
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

    /// Whether the motor is told to stand still, if there is one.
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
            event = next_plan(&mut self.planner) => event,
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
        let lapses = self.panel.as_ref().map_or(0, Panel::lapses);
        let has_lapsed = lapses != self.lapses;
        self.lapses = lapses;
        if has_lapsed {
            warn!("the loop sent no keep-alive: the panel line stopped the motor");
        }
        if late.is_some() || has_lapsed {
            let unwatched = if has_lapsed { self.lease } else { Duration::ZERO };
            let late = late.unwrap_or_default().max(unwatched);
            self.planner.excuse(late);
            self.node.handle_interrupted(late, now);
            self.drain();
        }
    }

    /// A group whose master makes no plans would wait forever; another node leads it better.
    fn check_planner(&mut self) {
        if self.failure.is_none() && self.planner.is_stuck(Instant::now()) {
            let (part, reason) = ("the planner", "it is stuck on a plan".to_owned());
            self.failure = Some(Failure { part, reason });
        }
    }

    /// Called at every turn of the loop, so that a loop that hangs sends no keep-alive.
    fn show_life(&mut self) {
        if let Some(panel) = &self.panel {
            panel.keep_alive();
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

    /// Everything in a turn happens at its beginning: a later time would count as seen to pass,
    /// although the process may have been suspended since.
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
                    let DiskFailure = self.disk.fail(&reason);
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
            Event::Planned((version, plan)) => self.node.handle_plan(version, plan, now),
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

    /// Records the fleet keys in use, if they are others than before. Those that are missing count for
    /// nothing.
    fn record_keys(&mut self) {
        let Some(keys) = self.mesh.fleet_keys_in_use() else {
            return;
        };
        if let Some(event) = AuditEvent::change_of_keys(self.recorded_keys.as_ref(), &keys)
            && let Err(reason) = self.record(event)
        {
            warn!(reason, "a change of the fleet keys is not in the audit log");
        }
        self.recorded_keys = Some(keys);
    }

    /// Performs all actions of the node.
    fn drain(&mut self) {
        loop {
            let mut failure = None;
            while let Some(action) = self.node.poll_action() {
                if let Err(failed) = self.perform(action) {
                    failure = Some(failed);
                }
            }
            let Some(DiskFailure) = failure else {
                return;
            };
            self.node.handle_disk_failed(self.turned);
        }
    }

    fn perform(&mut self, action: Action) -> Result<(), DiskFailure> {
        match action {
            Action::Broadcast(beacon) => self.mesh.broadcast(&beacon),
            Action::Unicast { to, beacon } => self.mesh.unicast(to, &beacon),
            Action::Packet { to, bytes } => self.mesh.send_packet(to, bytes),
            Action::Dial { peer, address } => self.mesh.dial(peer, address),
            Action::Send { link, frame } => self.mesh.send(link, &frame),
            Action::Close(link) => self.mesh.close(link),
            Action::Panel(outputs) => {
                if let Some(panel) = &self.panel {
                    panel.set_outputs(outputs);
                }
            }
            Action::Persist { lsn, changes } => self.disk.submit(lsn, changes)?,
            Action::Plan(request) => self.planner.ask(request),
            Action::Report(report) => {
                if report == Report::DiskFailed && !self.disk.has_failed() {
                    // The node has noticed it first.
                    let DiskFailure = self.disk.fail("it takes too long to write");
                }
                if matches!(report, Report::PeerDiscovered { .. } | Report::PeerLost { .. }) {
                    self.mesh.set_proven(self.node.proven().collect());
                }
                self.report(&report);
            }
        }
        Ok(())
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
        self.supervisor.note(report);
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

/// What counts the journal's commits. Without it a car runs as well.
fn commit_times() -> Option<CommitTimes> {
    let times = CommitTimes::new();
    times.inspect_err(|error| error!(%error, "the journal's commits can't be counted")).ok()
}

/// Starts the HTTP server. Without it a car runs as well.
fn start_http(
    settings: &Settings,
    socket: &mut OperatorSocket,
    (mqtt, commits): (Option<mqtt_metrics::Counted>, Option<CommitTimes>),
    node_loop: &NodeLoop,
    reports: &broadcast::Sender<operator::Event>,
    tokens: watch::Receiver<Arc<Tokens>>,
) -> Option<Http> {
    let scopes = [Scope::Operate, Scope::View];
    let sockets = socket.take_listeners().into_iter().zip(scopes);
    let sockets = sockets.filter_map(|(socket, scope)| Some((socket?, scope)));
    let http = HttpSettings {
        sockets: sockets.collect(),
        address: settings.http,
        tls: settings.tls.clone(),
        kinematics: settings.kinematics,
        mqtt,
        commits,
    };
    let started = Http::start(http, node_loop.clone(), reports.subscribe(), tokens);
    started.inspect_err(|error| error!(%error, "the HTTP server can't be started")).ok()
}

/// Starts the bridge to the MQTT broker, if the configuration has one. Without it a car runs as well.
fn start_mqtt(
    settings: &Settings,
    node_loop: &NodeLoop,
    reports: &broadcast::Sender<operator::Event>,
) -> Option<(Mqtt, mqtt_metrics::Counted)> {
    let mqtt = settings.mqtt.clone()?;
    let counted = mqtt_metrics::Counted::new();
    let counted = counted.inspect_err(|error| error!(%error, "MQTT can't be counted")).ok()?;
    let started = Mqtt::start(mqtt, counted.clone(), node_loop.clone(), reports.subscribe());
    let started = started.inspect_err(|error| error!(%error, "MQTT can't be started")).ok()?;
    Some((started, counted))
}

/// The next event of the panel; never completes without a panel.
async fn next_of(panel: &mut Option<Panel>) -> Event {
    let event = match panel {
        Some(panel) => panel.next_event().await,
        None => std::future::pending().await,
    };
    event.map_or_else(
        || {
            Event::Failed(Failure {
                part: "the panel line",
                reason: "its thread has ended".to_owned(),
            })
        },
        Event::Panel,
    )
}

/// The next plan.
async fn next_plan(planner: &mut Planner) -> Event {
    planner.plan().await.map_or_else(
        || {
            Event::Failed(Failure {
                part: "the planner",
                reason: "its thread has ended".to_owned(),
            })
        },
        Event::Planned,
    )
}

#[cfg(test)]
mod tests;
