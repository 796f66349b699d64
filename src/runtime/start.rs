//! The start of a node.

use std::sync::Arc;
use std::time::Duration;

use elevator_driver::vocabulary::show_labels;
use elevator_fleet::dispatch::Dispatcher;
use elevator_fleet::model::{Role, Timestamp};
use elevator_fleet::node::Node;
use elevator_fleet::wire::Nonce;
use tokio::sync::{broadcast, mpsc, watch};
use tracing::{error, info};

use super::audit::Commands;
use super::clock::{Clock, LocalTime};
use super::disk::Disk;
use super::planner::Planner;
use super::report::ReportLog;
use super::supervisor::Supervisor;
use super::{RunError, Running, WatchedProgram, hang};
use crate::config::Settings;
use crate::fleet_key::Keys;
use crate::http::{self, HttpSettings};
use crate::journal::{CommitTimes, commit_times};
use crate::mesh::{LinkTimes, Mesh, MeshSettings, Residence, gather_time, mac_of};
use crate::mqtt::Mqtt;
use crate::operator::{self, NodeLoop, OperatorSocket};
use crate::panel::Panel;
use crate::presses::PressLog;
use crate::side::Side;
use crate::tokens::{Scope, Tokens};
use crate::{alerts, latch, mqtt_metrics};

impl Running {
    pub(super) async fn start(
        settings: &Settings,
        dispatcher: Box<dyn Dispatcher + Send>,
    ) -> Result<Self, RunError> {
        let mut socket =
            OperatorSocket::bind(&settings.data_dir)?.with_reading(settings.reading.as_ref())?;
        latch::check(&settings.data_dir)
            .inspect_err(|refusal| hang::note(refusal, &settings.node))?;
        // A car runs as well without what counts its commits.
        let commits = commit_times()
            .inspect_err(|error| error!(%error, "the journal's commits can't be counted"))
            .ok();
        let (disk, restored, keys) =
            Disk::open(&settings.data_dir, &settings.node, commits.clone())?;
        let (nonce, seed) = (Nonce(getrandom::u64()?), getrandom::u64()?);
        let residence = Residence::of(&settings.address);
        let address = residence.address();
        info!(
            node = %settings.node,
            role = %settings.role,
            fleet = %settings.fleet,
            %address,
            records = restored.records.len(),
            counted_since = restored.counters.as_ref().and_then(|it| it.since.as_deref()),
            "node starts"
        );
        if settings.role == Role::Cabin && restored.counters.is_none() {
            info!("the journal has no counters of the car: they begin at zero");
        }
        show_labels(&settings.building);
        let mac = settings.mac.unwrap_or_else(|| mac_of(address));
        let node = Node::new(settings.brain(address, mac, nonce, restored, seed))
            .with_schedule(settings.dispatch.schedule.clone());
        let mesh = Mesh::start(MeshSettings {
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
            .map(|url| Panel::open(url, settings.building.floors(), settings.panel_line))
            .transpose()?;
        // The panel has its line by now, whatever the disk does that the keys are on.
        mesh.wait_for_keys().await;
        let program = dispatcher.health().cloned();
        let planner = Planner::start(dispatcher).map_err(RunError::Thread)?;
        let (asked, requests) = mpsc::channel(operator::REQUESTS);
        let (reports, _) = broadcast::channel(operator::EVENTS);
        let node_loop = NodeLoop::new(asked);
        let (tokens, known_tokens) = watch::channel(Arc::new(Tokens::of(node.settings())));
        let (mqtt, mqtt_counted) = start_mqtt(settings, &node_loop, &reports).unzip();
        let alerts = start_alerts(settings, &node_loop, &reports);
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
            program: WatchedProgram::default(),
            requests,
            log: ReportLog::new(settings.node.clone()),
            presses: PressLog::default(),
            reports,
            _socket: socket,
            http,
            tokens,
            mqtt,
            alerts,
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
        running.note_program(program);
        running.node.start(now);
        running.drain();
        running.turned = running.clock.now();
        running.supervisor.ready();
        Ok(running)
    }
}

/// Starts the HTTP server. Without it a car runs as well.
fn start_http(
    settings: &Settings,
    socket: &mut OperatorSocket,
    (mqtt, commits): (Option<mqtt_metrics::Counted>, Option<CommitTimes>),
    node_loop: &NodeLoop,
    reports: &broadcast::Sender<operator::Event>,
    tokens: watch::Receiver<Arc<Tokens>>,
) -> Option<Side> {
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
    let started = http::start(http, node_loop.clone(), reports.subscribe(), tokens);
    started.inspect_err(|error| error!(%error, "the HTTP server can't be started")).ok()
}

/// Starts to send alerts, if somebody is to get them. Without it a car runs as well.
fn start_alerts(
    settings: &Settings,
    node_loop: &NodeLoop,
    reports: &broadcast::Sender<operator::Event>,
) -> Option<Side> {
    let started = alerts::start(settings.alerts.clone()?, node_loop.clone(), reports.subscribe());
    started.inspect_err(|error| error!(%error, "alerts can't be started")).ok()
}

/// Starts the bridge to the MQTT broker, if there is one. Without it a car runs as well.
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
