//! The running node: what it says about itself.

use elevator_fleet::node::Status;

use super::{Finding, Verdict, finding, fleet};
use crate::client::ClientError;

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
    findings.extend(conflicts.map(|known| fleet::conflict(known.kind, known.what.clone())));
    findings
}
