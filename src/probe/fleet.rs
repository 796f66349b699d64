//! The nodes: those on the network, as they are heard before this one runs, and this one.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use elevator_fleet::model::{BuildingHash, Hello, Mac, NodeId};
use elevator_fleet::node::{ConflictKind, Status, misfit, unreadable};
use elevator_fleet::wire::Nonce;
use elevator_fleet::wire::codec::{MAX_DATAGRAM, decode_beacon};
use elevator_fleet::wire::keyring::Keyring;

use super::{Finding, Verdict, finding};
use crate::client::ClientError;
use crate::config::Settings;
use crate::mesh;

/// Every node is heard many times by then.
const LISTEN: Duration = Duration::from_secs(2);

/// The names of other nodes, and what keeps those that can't be peers from it.
type Heard = (BTreeSet<NodeId>, BTreeMap<String, ConflictKind>);

pub(super) fn listen(settings: &Settings, address: Ipv4Addr, keys: &Keyring) -> Vec<Finding> {
    let own = Hello {
        fleet: settings.fleet.clone(),
        node: settings.node.clone(),
        address,
        nonce: Nonce(0),
        floors: settings.building.floors(),
        building: BuildingHash::of(&settings.building),
        protocol: settings.election.protocol(),
        mac: Mac::of(address),
        role: settings.role,
    };
    let (nodes, conflicts) = match hear(settings, &own, keys) {
        Ok(heard) => heard,
        Err(error) => {
            let why = format!("{} can't be listened to: {error}", settings.broadcast);
            return vec![finding("fleet", Verdict::unchecked(why))];
        }
    };
    let names = nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let what = match nodes.len() {
        0 => format!("no other node of fleet {} is heard", own.fleet),
        _ => format!("nodes of fleet {} are heard: {names}", own.fleet),
    };
    let mut findings = vec![finding("fleet", Verdict::good(what))];
    findings.extend(conflicts.into_iter().map(|(what, kind)| match kind {
        ConflictKind::Name => {
            finding("car", Verdict::wrong(what, "give this node another name, or stop that one"))
        }
        kind => conflict(kind, what),
    }));
    findings
}

fn hear(settings: &Settings, own: &Hello, keys: &Keyring) -> io::Result<Heard> {
    let socket = mesh::listen(own.address, settings.broadcast)?;
    let ((mut nodes, mut conflicts), mut buffer) = (Heard::default(), [0; MAX_DATAGRAM + 1]);
    let end = Instant::now() + LISTEN;
    while let Some(left) = end.checked_duration_since(Instant::now()).filter(|it| !it.is_zero()) {
        socket.set_read_timeout(Some(left))?;
        let (length, from) = match socket.recv_from(&mut buffer) {
            Ok((length, from)) => (length, from.ip()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                break;
            }
            Err(error) => return Err(error),
        };
        let found = match (decode_beacon(&buffer[..length], keys), from) {
            (Ok(beacon), _) => {
                let found = misfit(own, &settings.building, &beacon.hello);
                if found.is_none() {
                    nodes.insert(beacon.hello.node);
                }
                found
            }
            (Err(error), IpAddr::V4(from)) => unreadable(from, &error),
            (Err(_), IpAddr::V6(_)) => None,
        };
        conflicts.extend(found.map(|(kind, what)| (what, kind)));
    }
    Ok((nodes, conflicts))
}

/// What to do about a conflict, which keeps no node from running.
fn conflict(kind: ConflictKind, what: String) -> Finding {
    let (check, remedy) = match kind {
        ConflictKind::Name => ("car", "rename one of the two nodes"),
        ConflictKind::Address => ("address", "give each node an address of its own"),
        ConflictKind::Building => {
            ("building", "install the same building file, or set the same `floors`, on every node")
        }
        ConflictKind::Election => ("election", "set the same `election` on every node"),
        ConflictKind::Version => ("fleet", "run the same version of liftmesh on every node"),
        ConflictKind::Key => (
            "fleet_keys",
            "copy the fleet's key file to every node; another fleet needs a `broadcast` port of its own",
        ),
        ConflictKind::Garbage => ("fleet", "update or replace that node"),
        ConflictKind::Fleet => (
            "fleet",
            "correct `fleet`, or ignore this if two fleets are meant to share the network",
        ),
    };
    finding(check, Verdict::warning(what, remedy))
}

/// The running node: what it says about itself.
pub(super) fn node(answer: &Result<Status, ClientError>) -> Vec<Finding> {
    let status = match answer {
        Ok(status) => status,
        Err(error @ ClientError::Socket { .. }) => {
            return vec![finding("node", Verdict::unchecked(error.to_string()))];
        }
        Err(error) => {
            let what = format!("this node is running but does not answer: {error}");
            let remedy = "check its log (`journalctl -u liftmesh`), then restart it";
            return vec![finding("node", Verdict::wrong(what, remedy))];
        }
    };
    let (node, state, peers) = (&status.node, &status.node_state, status.peers.len());
    let runs = Verdict::good(format!("{node} runs, {state}, and hears {peers} peers"));
    let mut findings = vec![finding("node", runs)];
    let mut add = |check, verdict| findings.push(finding(check, verdict));
    if status.log_lines_lost > 0 {
        let what = format!("{} lines were lost", status.log_lines_lost);
        add("log", Verdict::warning(what, "check the service that reads the log"));
    }
    for topic in &status.mqtt_refused {
        let what = format!("the broker refuses messages on {topic}");
        let remedy = "let the nodes' user write there, or let callers choose another";
        add("mqtt.broker", Verdict::warning(what, remedy));
    }
    if status.disk_failed {
        let remedy =
            "make room or replace it; the node retries by itself, and its log has the reason";
        add("disk", Verdict::wrong("the disk has failed", remedy));
    }
    if let Some(reason) = &status.fleet_keys.missing {
        add("fleet_keys", Verdict::wrong(reason, "the node tries again every second"));
    }
    if let Some(car) = &status.car {
        let panel = &car.panel;
        add(
            "panel",
            match &car.connection {
                Ok(()) => Verdict::good(format!("{panel} answers")),
                Err(why) => Verdict::wrong(
                    format!("{panel} does not answer: {why}"),
                    "check its power and its line, and the speed and protocol in its URL",
                ),
            },
        );
    }
    let conflicts = status.conflicts.iter();
    findings.extend(conflicts.map(|known| conflict(known.kind, known.what.clone())));
    findings
}
