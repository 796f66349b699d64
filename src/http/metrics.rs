//! `GET /metrics`: what Prometheus reads, in its text format.
//!
//! What the node's state says is written at each request; only what has to be counted as it happens
//! is kept, in [`Counted`].

use std::fmt::{Display, Write as _};

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use elevator_driver::FloorCount;
use elevator_fleet::model::{Term, Wear};
use elevator_fleet::node::{CarStatus, PeerStatus, Report, Status};
use elevator_fleet::wire::NodeState;
use prometheus::core::Collector;
use prometheus::{
    Histogram, IntCounter, IntGauge, Registry, TEXT_FORMAT, TextEncoder,
    register_histogram_with_registry, register_int_counter_with_registry,
    register_int_gauge_with_registry,
};
use tracing::error;

use super::routes::App;
use crate::journal::CommitTimes;
use crate::mesh::Count;
use crate::mqtt_metrics;
use crate::programs::Problem;
use liftmesh_api::{Order, OrderState};

/// The upper bounds of the histogram of waiting times, in seconds.
const WAITING: [f64; 12] =
    [2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 180.0, 300.0];

#[derive(Debug, Clone)]
pub(super) struct Counted {
    registry: Registry,
    waiting: Histogram,
    state_changes: IntCounter,
    elections: IntCounter,
    /// The mastership that was reported last, where events are counted.
    mastership: Option<(NodeState, Term)>,
    pub(super) missed: IntCounter,
    pub(super) missed_by_statistics: IntCounter,
    pub(super) streams: IntGauge,
    mqtt: Option<mqtt_metrics::Counted>,
}

/// Names and help of metrics are right, and no two have the same name.
fn sure<T>(made: Result<T, prometheus::Error>) -> T {
    made.unwrap_or_else(|error| unreachable!("a metric is wrong: {error}"))
}

impl Counted {
    pub(super) fn new(mqtt: Option<mqtt_metrics::Counted>, commits: Option<CommitTimes>) -> Self {
        let registry = Registry::new();
        let counter = |name: &str, help: &str| {
            sure(register_int_counter_with_registry!(name, help, registry))
        };
        let commits = commits.map(|times| Box::new(times) as Box<dyn Collector>);
        let others = mqtt.iter().flat_map(mqtt_metrics::Counted::collectors).chain(commits);
        others.for_each(|collector| sure(registry.register(collector)));
        Self {
            waiting: sure(register_histogram_with_registry!(
                "liftmesh_order_waiting_seconds",
                "Waiting times of served orders, as far as this node knows.",
                WAITING.to_vec(),
                registry
            )),
            state_changes: counter(
                "liftmesh_node_state_changes_total",
                "State changes of the node: at least one for each election or loss of a master.",
            ),
            elections: counter(
                "liftmesh_elections_total",
                "Elections seen by this node: another master, or the same one with another term, \
                 without planned rotations.",
            ),
            mastership: None,
            missed: counter(
                "liftmesh_http_events_missed_total",
                "Events that the HTTP server missed because it was too slow.",
            ),
            missed_by_statistics: counter(
                "liftmesh_statistics_events_missed_total",
                "Events that the statistics missed because they were too slow.",
            ),
            streams: sure(register_int_gauge_with_registry!(
                "liftmesh_http_event_streams",
                "Clients of the event stream.",
                registry
            )),
            registry,
            mqtt,
        }
    }

    pub(super) fn count(&mut self, report: &Report) {
        if let Report::Served { waited, .. } = report {
            self.waiting.observe(waited.as_secs_f64());
        }
        if let Report::NodeState { to, term, .. } | Report::Rotated { to, term, .. } = report {
            let before = self.mastership.clone();
            if *to != NodeState::Seeking {
                self.mastership = Some((to.clone(), *term));
            }
            if let Report::NodeState { .. } = report {
                self.state_changes.inc();
                self.elections.inc_by((self.mastership != before).into());
            }
        }
    }
}

pub(super) async fn page(State(app): State<App>) -> Result<Response, Problem> {
    let mut page = Page(String::new());
    if let Some(latched) = &app.latched {
        page.latched(&latched.state().node, true);
    } else {
        let look = app.looks.take().await?;
        let counted = TextEncoder::new().encode_to_string(&app.counted.registry.gather());
        page.0 = counted.map_err(|error| {
            error!(%error, "the metrics can't be written");
            Problem::internal()
        })?;
        let mut queues = look.status.queues.clone();
        queues.insert("requests".to_owned(), app.node_loop.queued());
        queues.insert("http_looks".to_owned(), app.looks.queued());
        queues.extend(app.counted.mqtt.iter().map(|mqtt| ("mqtt".to_owned(), mqtt.queued())));
        let queues = queues.iter().map(|(name, length)| (name, number(*length)));
        page.each(("queue_length", GAUGE, "queue"), "Length of a queue of the process.", queues);
        page.node(&look.status, &look.state.orders);
        page.kinds(&look.status, &look.state.orders);
        page.peers(&look.status);
        page.counters(look.status.car.as_ref());
    }
    Ok(([(header::CONTENT_TYPE, TEXT_FORMAT)], page.0).into_response())
}

const GAUGE: &str = "gauge";
const COUNTER: &str = "counter";

struct Page(String);

impl Page {
    /// Adds the metric `liftmesh_…` of this kind with its samples, each with its labels.
    fn add(
        &mut self,
        (name, kind): (&str, &str),
        help: &str,
        samples: impl IntoIterator<Item = (String, f64)>,
    ) {
        let name = format!("liftmesh_{name}");
        let samples =
            samples.into_iter().map(|(labels, value)| format!("{name}{labels} {value}\n"));
        let samples: String = samples.collect();
        if !samples.is_empty() {
            let head = format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
            // A string takes everything.
            write!(self.0, "{head}{samples}").unwrap_or_default();
        }
    }

    fn each<L: Display>(
        &mut self,
        (name, kind, label): (&str, &str, &str),
        help: &str,
        values: impl IntoIterator<Item = (L, f64)>,
    ) {
        let samples = values.into_iter().map(|(of, value)| (labels([(label, &of)]), value));
        self.add((name, kind), help, samples);
    }

    fn latched(&mut self, node: &impl Display, is_so: bool) {
        let help = "1 while the node does not run because of a latch.";
        self.each(("latched", GAUGE, "node"), help, [(node, flag(is_so))]);
    }

    fn node(&mut self, status: &Status, orders: &[Order]) {
        let about: [(&str, &dyn Display); 5] = [
            ("node", &status.node),
            ("role", &status.role),
            ("fleet", &status.fleet),
            ("election", &status.election),
            ("version", &env!("CARGO_PKG_VERSION")),
        ];
        self.add(("info", GAUGE), "Information about the node; always 1.", [(labels(about), 1.0)]);
        self.latched(&status.node, false);
        let dark = orders.iter().filter(|order| !order.what.promised).count();
        let oldest = orders.iter().map(|order| order.what.waited).max().unwrap_or_default();
        let (locked, hung) = (status.access.locked.len(), liftmesh_api::hung(status).len());
        let alarms = status.alarms().count();
        let gauges = [
            ("uptime_seconds", "Time since the node started.", status.uptime.as_secs_f64()),
            ("term", "The node's term as master, or the highest it knows.", float(status.term.0)),
            ("disk_failed", "1 if the disk has failed.", flag(status.disk_failed)),
            ("store_durable", "1 if everything is on disk.", flag(status.durable)),
            ("orders_not_promised", "Orders that losing one node would lose.", number(dark)),
            ("oldest_order_seconds", "Wait of the oldest open order.", oldest.as_secs_f64()),
            ("floors_locked", "Floors to which calls need a right of access.", number(locked)),
            ("peers", "Nodes heard.", number(status.peers.len())),
            ("peers_lost", "Nodes no longer heard.", number(status.lost.len())),
            ("conflicts", "Nodes heard that can't be peers.", number(status.conflicts.len())),
            ("alarms", "Cars whose alarm no operator has acknowledged.", number(alarms)),
            ("hung_cars", "Cars known to have hung.", number(hung)),
        ];
        let of_car = status.car.iter().flat_map(|car| {
            let (in_service, connected) = (car.view.is_in_service(), car.connection.is_ok());
            [
                ("car_in_service", "1 if the car takes hall calls.", flag(in_service)),
                ("panel_connected", "1 if the car's panel answers.", flag(connected)),
            ]
        });
        for (name, help, value) in gauges.into_iter().chain(of_car) {
            self.add((name, GAUGE), help, [(String::new(), value)]);
        }
        if let Some(program) = &status.dispatcher {
            let failing = [(String::new(), flag(program.is_failing))];
            self.add(("dispatch_program_failing", GAUGE), "1 if the planner stands in.", failing);
            let plans = [("program", program.plans), ("planner", program.fallbacks)];
            let plans = plans.map(|(by, count)| (by, float(count)));
            let help = "Plans of the program that dispatches, and of the planner in its place.";
            self.each(("dispatch_program_plans_total", COUNTER, "by"), help, plans);
        }
        let (plans, targets) = (status.dispatch.plans, status.dispatch.target_changes);
        for (name, help, value) in [
            ("plans_total", "Plans that this node requested as master.", plans),
            ("car_target_changes_total", "How often the car got another stop.", targets),
            ("log_lines_lost_total", "Log lines without room.", status.log_lines_lost),
        ] {
            self.add((name, COUNTER), help, [(String::new(), float(value))]);
        }
    }

    fn kinds(&mut self, status: &Status, orders: &[Order]) {
        let state = match &status.node_state {
            NodeState::Master => "master",
            NodeState::Slave { .. } => "slave",
            NodeState::Seeking => "seeking",
        };
        let each = ["master", "slave", "seeking"].map(|it| (it, flag(it == state)));
        self.each(("node_state", GAUGE, "state"), "1 for the node's current state.", each);
        let orders = [
            ("being_allocated", OrderState::BeingAllocated),
            ("being_served", OrderState::BeingServed),
            ("served_soon", OrderState::ServedSoon),
        ]
        .map(|(name, state)| (name, orders.iter().filter(|order| order.state == state).count()))
        .map(|(name, count)| (name, number(count)));
        self.each(("orders", GAUGE, "state"), "Open orders.", orders);
        // Those without any, too: a first burst shows as a rate only then.
        let datagrams = Count::ALL.map(|(_, kind)| (kind, status.mesh.get(kind)));
        let line = status.car.iter().flat_map(|car| {
            let line = &car.line;
            let [frames, damaged] = [("frames", line.frames), ("damaged", line.damaged)];
            [frames, damaged, ("lost", line.lost), ("unknown", line.unknown)]
        });
        let refused = status.refused;
        let counts: [(_, _, Vec<(&str, u64)>); 4] = [
            (
                ("mesh_datagrams_total", COUNTER, "kind"),
                "Datagrams and connections by outcome, named as in the status.",
                datagrams.map(|(kind, count)| (kind, count.copied().unwrap_or(0))).into(),
            ),
            (
                ("records_refused_total", COUNTER, "reason"),
                "Refused records of other nodes.",
                vec![("impossible", refused.impossible), ("no_room", refused.no_room)],
            ),
            (
                ("calls_refused_total", COUNTER, "reason"),
                "Calls that this node refused.",
                vec![("floor_locked", status.access.refused)],
            ),
            (
                ("panel_line_frames_total", COUNTER, "kind"),
                "Frames on the line to the panel.",
                line.collect(),
            ),
        ];
        for (about, help, values) in counts {
            self.each(about, help, values.into_iter().map(|(kind, count)| (kind, float(count))));
        }
    }

    /// Unlike other counters, these go on after a restart.
    fn counters(&mut self, car: Option<&CarStatus>) {
        let Some(CarStatus { counters, maintenance_due, .. }) = car else { return };
        for (name, help, value) in [
            ("trips", "Trips of the car that ended at a floor.", counters.trips),
            ("starts", "Starts of the car's motor.", counters.starts),
            ("door_cycles", "Times the door was closed after it was open.", counters.door_cycles),
            ("door_reopenings", "Times a closing door opened again.", counters.reopenings),
            ("running_seconds", "Time the car's motor was driven.", counters.running),
            ("metres", "Way of the car.", counters.metres),
        ] {
            let samples = [(String::new(), float(value))];
            self.add((&format!("car_{name}_total"), COUNTER), help, samples);
        }
        let stops = FloorCount::nearest(usize::MAX)
            .floors()
            .zip(counters.stops.iter().map(|it| float(*it)));
        self.each(("car_stops_total", COUNTER, "floor"), "Trips by the floor of their end.", stops);
        let due = Wear::ALL.map(|wear| {
            (wear.to_string().replace(' ', "_"), flag(maintenance_due.contains(&wear)))
        });
        let help = "1 if the counter has reached its threshold for maintenance.";
        self.each(("car_maintenance_due", GAUGE, "counter"), help, due);
    }

    fn peers(&mut self, status: &Status) {
        type Value = fn(&PeerStatus) -> Option<f64>;
        let metrics: [(&str, &str, Value); 5] = [
            ("peer_silent_seconds", "Time since a peer was last heard.", |peer| {
                Some(peer.silent.as_secs_f64())
            }),
            (
                "link_delay_seconds",
                "Shortest time in the last minute from a beacon to its echo in a peer's next beacon: \
                 the round trip plus the peer's wait.",
                |peer| peer.round_trip.map(|time| time.as_secs_f64()),
            ),
            ("beacon_loss_ratio", "Share of a peer's beacons lost in the last minute.", |peer| {
                peer.loss
            }),
            ("peer_synced", "1 if a peer's state transfer is complete.", |peer| {
                Some(flag(peer.synced))
            }),
            ("peer_in_step", "1 if a peer's order store equals this node's.", |peer| {
                Some(flag(peer.in_step))
            }),
        ];
        for (name, help, value) in metrics {
            let values = status.peers.iter().filter_map(|peer| Some((&peer.node, value(peer)?)));
            self.each((name, GAUGE, "peer"), help, values);
        }
    }
}

/// Labels, such as `{peer="B"}`.
fn labels<const N: usize>(labels: [(&str, &dyn Display); N]) -> String {
    let labels = labels.map(|(name, value)| format!("{name}={:?}", value.to_string()));
    format!("{{{}}}", labels.join(","))
}

fn flag(is_so: bool) -> f64 {
    if is_so { 1.0 } else { 0.0 }
}

fn number(count: usize) -> f64 {
    float(count as u64)
}

#[expect(clippy::cast_precision_loss, reason = "Prometheus counts in f64")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use elevator_fleet::model::NodeId;

    use super::*;

    #[test]
    fn an_election_brings_another_master_or_term_and_is_no_rotation() {
        let mut counted = Counted::new(None, None);
        let slave = |name| NodeState::Slave { master: NodeId::new(name).unwrap() };
        let from = NodeState::Seeking;
        for (to, term, elections) in [
            (slave("B"), 3, 1),
            (NodeState::Seeking, 3, 1),
            (slave("B"), 3, 1),
            (slave("A"), 3, 2),
            (slave("A"), 4, 3),
        ] {
            counted.count(&Report::NodeState { from: from.clone(), to, term: Term(term) });
            assert_eq!(counted.elections.get(), elections, "in term {term}");
        }
        let to = slave("C");
        counted.count(&Report::Rotated { from: from.clone(), to: to.clone(), term: Term(5) });
        counted.count(&Report::NodeState { from, to, term: Term(5) });
        assert_eq!((counted.elections.get(), counted.state_changes.get()), (3, 6));
    }
}
