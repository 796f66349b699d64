//! `GET /metrics`: what Prometheus reads, in its text format.
//!
//! What the node's state says is put into a registry at each request; only what has to be counted as it
//! happens is kept, in [`Counted`].

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use elevator_fleet::model::Term;
use elevator_fleet::node::{Report, Status};
use elevator_fleet::wire::NodeState;
use prometheus::core::Collector;
use prometheus::{
    Encoder, Gauge, GaugeVec, Histogram, HistogramOpts, IntCounter, IntCounterVec, Opts, Registry,
    TEXT_FORMAT, TextEncoder,
};
use tracing::error;

use super::routes::App;
use crate::journal::CommitTimes;
use crate::mesh::Count;
use crate::mqtt_metrics;
use crate::programs::Problem;
use liftmesh_api::OrderState;

/// The upper bounds of the histogram of waiting times, in seconds.
const WAITING: [f64; 12] =
    [2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 180.0, 300.0];

/// What is counted as it happens.
#[derive(Debug, Clone)]
pub(super) struct Counted {
    waiting: Histogram,
    state_changes: IntCounter,
    elections: IntCounter,
    /// The mastership that was reported last, where events are counted.
    mastership: Option<(NodeState, Term)>,
    pub(super) missed: IntCounter,
    pub(super) missed_by_statistics: IntCounter,
    mqtt: Option<mqtt_metrics::Counted>,
    commits: Option<CommitTimes>,
}

impl Counted {
    pub(super) fn new(
        mqtt: Option<mqtt_metrics::Counted>,
        commits: Option<CommitTimes>,
    ) -> Result<Self, prometheus::Error> {
        let waiting = HistogramOpts::new(
            "liftmesh_order_waiting_seconds",
            "Waiting times of served orders, as far as this node knows.",
        );
        Ok(Self {
            waiting: Histogram::with_opts(waiting.buckets(WAITING.to_vec()))?,
            state_changes: IntCounter::new(
                "liftmesh_node_state_changes_total",
                "State changes of the node: at least one for each election or loss of a master.",
            )?,
            elections: IntCounter::new(
                "liftmesh_elections_total",
                "Elections seen by this node: another master, or the same one with another term, \
                 without planned rotations.",
            )?,
            mastership: None,
            missed: IntCounter::new(
                "liftmesh_http_events_missed_total",
                "Events that the HTTP server missed because it was too slow.",
            )?,
            missed_by_statistics: IntCounter::new(
                "liftmesh_statistics_events_missed_total",
                "Events that the statistics missed because they were too slow.",
            )?,
            mqtt,
            commits,
        })
    }

    /// Counts an event.
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
    if let Some(latched) = &app.latched {
        return Ok(latched.metrics());
    }
    let look = app.looks.take().await?;
    let orders = look.state.orders.iter().map(|order| order.state);
    let mut queues = look.status.queues.clone();
    queues.insert("requests".to_owned(), app.node_loop.queued());
    queues.insert("http_looks".to_owned(), app.looks.queued());
    queues.extend(app.counted.mqtt.iter().map(|mqtt| ("mqtt".to_owned(), mqtt.queued())));
    let clients = (app.streams(), &queues);
    let page = Page::new(&app.counted)
        .and_then(|page| page.fill(&look.status, &orders.collect::<Vec<_>>(), clients))
        .and_then(|page| page.text());
    match page {
        Ok(text) => Ok(([(header::CONTENT_TYPE, TEXT_FORMAT)], text).into_response()),
        Err(error) => {
            error!(%error, "the metrics can't be written");
            Err(Problem::internal())
        }
    }
}

/// One answer.
struct Page(Registry);

impl Page {
    fn new(counted: &Counted) -> Result<Self, prometheus::Error> {
        let page = Self(Registry::new());
        page.add(counted.waiting.clone())?;
        page.add(counted.state_changes.clone())?;
        page.add(counted.elections.clone())?;
        page.add(counted.missed.clone())?;
        page.add(counted.missed_by_statistics.clone())?;
        if let Some(commits) = &counted.commits {
            page.add(commits.clone())?;
        }
        for collector in counted.mqtt.iter().flat_map(mqtt_metrics::Counted::collectors) {
            page.0.register(collector)?;
        }
        Ok(page)
    }

    fn add(&self, collector: impl Collector + 'static) -> Result<(), prometheus::Error> {
        self.0.register(Box::new(collector))
    }

    fn gauge(&self, name: &str, help: &str, value: f64) -> Result<(), prometheus::Error> {
        let gauge = Gauge::new(name, help)?;
        gauge.set(value);
        self.add(gauge)
    }

    fn count(&self, name: &str, help: &str, value: u64) -> Result<(), prometheus::Error> {
        let counter = IntCounter::new(name, help)?;
        counter.inc_by(value);
        self.add(counter)
    }

    fn gauges<'a>(
        &self,
        (name, label): (&str, &str),
        help: &str,
        values: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<(), prometheus::Error> {
        let gauges = GaugeVec::new(Opts::new(name, help), &[label])?;
        for (value_of_label, value) in values {
            gauges.with_label_values(&[value_of_label]).set(value);
        }
        self.add(gauges)
    }

    fn counters<'a>(
        &self,
        (name, label): (&str, &str),
        help: &str,
        values: impl IntoIterator<Item = (&'a str, u64)>,
    ) -> Result<(), prometheus::Error> {
        let counters = IntCounterVec::new(Opts::new(name, help), &[label])?;
        for (value_of_label, value) in values {
            counters.with_label_values(&[value_of_label]).inc_by(value);
        }
        self.add(counters)
    }

    fn fill(
        self,
        status: &Status,
        orders: &[OrderState],
        (streams, queues): (usize, &BTreeMap<String, usize>),
    ) -> Result<Self, prometheus::Error> {
        self.node(status)?;
        self.orders(status, orders)?;
        self.count(
            "liftmesh_plans_total",
            "Plans that this node requested as master.",
            status.dispatch.plans,
        )?;
        self.count(
            "liftmesh_car_target_changes_total",
            "How often the car got another stop, including departures.",
            status.dispatch.target_changes,
        )?;
        self.mesh(status)?;
        self.car(status)?;
        self.gauge("liftmesh_disk_failed", "1 if the disk has failed.", flag(status.disk_failed))?;
        self.gauge("liftmesh_store_durable", "1 if everything is on disk.", flag(status.durable))?;
        self.count(
            "liftmesh_log_lines_lost_total",
            "Log lines dropped because there was no room.",
            status.log_lines_lost,
        )?;
        self.gauge("liftmesh_http_event_streams", "Clients of the event stream.", number(streams))?;
        self.gauges(
            ("liftmesh_queue_length", "queue"),
            "Length of a queue of the process.",
            queues.iter().map(|(name, length)| (name.as_str(), number(*length))),
        )?;
        Ok(self)
    }

    fn node(&self, status: &Status) -> Result<(), prometheus::Error> {
        let info = GaugeVec::new(
            Opts::new("liftmesh_info", "Information about the node; always 1."),
            &["node", "role", "fleet", "election", "version"],
        )?;
        let (role, election) = (status.role.to_string(), status.election.to_string());
        let labels = [
            status.node.as_str(),
            &role,
            &status.fleet.to_string(),
            &election,
            env!("CARGO_PKG_VERSION"),
        ];
        info.with_label_values(&labels).set(1.0);
        self.add(info)?;
        self.gauges(
            ("liftmesh_latched", "node"),
            "1 while the node does not run because of a latch.",
            [(status.node.as_str(), 0.0)],
        )?;
        let uptime = status.uptime.as_secs_f64();
        self.gauge("liftmesh_uptime_seconds", "Time since the node started.", uptime)?;
        let is = |state: &str| {
            flag(match &status.node_state {
                NodeState::Master => state == "master",
                NodeState::Slave { .. } => state == "slave",
                NodeState::Seeking => state == "seeking",
            })
        };
        self.gauges(
            ("liftmesh_node_state", "state"),
            "1 for the node's current state.",
            ["master", "slave", "seeking"].map(|state| (state, is(state))),
        )?;
        #[expect(clippy::cast_precision_loss, reason = "a term counts masterships")]
        let term = status.term.0 as f64;
        self.gauge("liftmesh_term", "The node's term as master, or the highest one it knows.", term)
    }

    fn orders(&self, status: &Status, orders: &[OrderState]) -> Result<(), prometheus::Error> {
        let count = |state| number(orders.iter().filter(|order| **order == state).count());
        self.gauges(
            ("liftmesh_orders", "state"),
            "Open orders.",
            [
                ("being_allocated", count(OrderState::BeingAllocated)),
                ("being_served", count(OrderState::BeingServed)),
                ("served_soon", count(OrderState::ServedSoon)),
            ],
        )?;
        let unpromised = status.orders.iter().filter(|order| !order.promised).count();
        self.gauge(
            "liftmesh_orders_not_promised",
            "Open orders that losing one node would lose: their lamps are dark.",
            number(unpromised),
        )?;
        let oldest = status.orders.iter().map(|order| order.waited).max().unwrap_or_default();
        self.gauge(
            "liftmesh_oldest_order_seconds",
            "Waiting time of the oldest open order.",
            oldest.as_secs_f64(),
        )?;
        let refused = status.refused;
        self.counters(
            ("liftmesh_records_refused_total", "reason"),
            "Refused records of other nodes.",
            [("impossible", refused.impossible), ("no_room", refused.no_room)],
        )
    }

    fn mesh(&self, status: &Status) -> Result<(), prometheus::Error> {
        self.counters(
            ("liftmesh_mesh_datagrams_total", "kind"),
            "Datagrams and connections by outcome, named as in the status.",
            // Those without any, too: a first burst shows as a rate only then.
            Count::ALL.map(|(_, kind)| (kind, status.mesh.get(kind).copied().unwrap_or(0))),
        )?;
        self.counters(
            ("liftmesh_calls_refused_total", "reason"),
            "Calls that this node refused.",
            [("floor_locked", status.access.refused)],
        )?;
        self.gauge(
            "liftmesh_floors_locked",
            "Locked floors: calls to them need a right of access.",
            number(status.access.locked.len()),
        )?;
        self.gauge("liftmesh_peers", "Nodes heard.", number(status.peers.len()))?;
        self.gauge("liftmesh_peers_lost", "Nodes no longer heard.", number(status.lost.len()))?;
        self.gauge(
            "liftmesh_conflicts",
            "Nodes that are heard but can't be peers.",
            number(status.conflicts.len()),
        )?;
        let peers: BTreeMap<_, _> =
            status.peers.iter().map(|peer| (peer.node.as_str(), peer)).collect();
        let each = |value: fn(&elevator_fleet::node::PeerStatus) -> f64| {
            peers.iter().map(move |(name, peer)| (*name, value(peer)))
        };
        self.gauges(
            ("liftmesh_peer_silent_seconds", "peer"),
            "Time since a peer was last heard.",
            each(|peer| peer.silent.as_secs_f64()),
        )?;
        let known = |value: fn(&elevator_fleet::node::PeerStatus) -> Option<f64>| {
            peers.iter().filter_map(move |(name, peer)| Some((*name, value(peer)?)))
        };
        self.gauges(
            ("liftmesh_link_delay_seconds", "peer"),
            "Shortest time in the last minute from a beacon to its echo in a peer's next beacon: \
             the round trip plus the peer's wait.",
            known(|peer| peer.round_trip.map(|time| time.as_secs_f64())),
        )?;
        self.gauges(
            ("liftmesh_beacon_loss_ratio", "peer"),
            "Share of a peer's beacons lost in the last minute, from 0 to 1.",
            known(|peer| peer.loss),
        )?;
        self.gauges(
            ("liftmesh_peer_synced", "peer"),
            "1 if the link to a peer is up and the state transfer complete.",
            each(|peer| flag(peer.synced)),
        )?;
        self.gauges(
            ("liftmesh_peer_in_step", "peer"),
            "1 if a peer's order store equals this node's.",
            each(|peer| flag(peer.in_step)),
        )
    }

    fn car(&self, status: &Status) -> Result<(), prometheus::Error> {
        let hung = liftmesh_api::hung(status).len();
        self.gauge("liftmesh_hung_cars", "Cars known to have hung.", number(hung))?;
        let Some(car) = &status.car else {
            return Ok(());
        };
        let in_service = flag(car.view.is_in_service());
        self.gauge("liftmesh_car_in_service", "1 if the car takes hall calls.", in_service)?;
        let connected = flag(car.connection.is_ok());
        self.gauge("liftmesh_panel_connected", "1 if the car's panel answers.", connected)?;
        let line = &car.line;
        self.counters(
            ("liftmesh_panel_line_frames_total", "kind"),
            "Frames on the line to the panel.",
            [
                ("frames", line.frames),
                ("damaged", line.damaged),
                ("lost", line.lost),
                ("unknown", line.unknown),
            ],
        )
    }

    fn text(&self) -> Result<Vec<u8>, prometheus::Error> {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.0.gather(), &mut text)?;
        Ok(text)
    }
}

fn flag(is_so: bool) -> f64 {
    if is_so { 1.0 } else { 0.0 }
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use elevator_fleet::model::NodeId;

    use super::*;

    #[test]
    fn an_election_brings_another_master_or_term_and_is_no_rotation() {
        let mut counted = Counted::new(None, None).unwrap();
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
