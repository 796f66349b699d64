//! The running node: what it says about itself.

use std::path::Path;

use elevator_fleet::node::{ConflictKind, Status};

use super::{Finding, Verdict, finding};
use crate::client::{Client, ClientError};

/// What the node that runs with this data directory says, or that it does not answer.
pub(super) fn node(data_dir: &Path) -> Vec<Finding> {
    match Client::connect(data_dir).and_then(|client| client.status()) {
        Ok(status) => of_status(&status),
        Err(error @ ClientError::Socket { .. }) => {
            vec![finding("node", Verdict::Unchecked(error.to_string()))]
        }
        Err(error) => vec![finding(
            "node",
            Verdict::wrong(
                format!("this node runs and does not answer: {error}"),
                "look at its log (`journalctl -u liftmesh`), then restart it",
            ),
        )],
    }
}

fn of_status(status: &Status) -> Vec<Finding> {
    let peers = status.peers.len();
    let mut findings = vec![finding(
        "node",
        Verdict::Good(format!(
            "{} runs, {}, and hears {peers} peers",
            status.node, status.node_state
        )),
    )];
    let mut warn = |key, what: String, remedy: &str| {
        findings.push(finding(key, Verdict::warning(what, remedy)));
    };
    if status.log_lines_lost > 0 {
        let lost = status.log_lines_lost;
        warn("log", format!("{lost} lines are lost"), "look at the service that reads the log");
    }
    for topic in &status.mqtt_refused {
        let what = format!("the broker takes no message on {topic}");
        warn("mqtt.broker", what, "let the nodes' user write there, or let callers choose another");
    }
    for conflict in &status.conflicts {
        let remedy = if conflict.kind == ConflictKind::Garbage {
            "update or replace that node"
        } else {
            "correct the configuration of one of the nodes"
        };
        warn("fleet", conflict.what.clone(), remedy);
    }
    let mut wrong = |key, what: String, remedy: &str| {
        findings.push(finding(key, Verdict::wrong(what, remedy)));
    };
    if status.disk_failed {
        wrong(
            "disk",
            "the disk has failed".to_owned(),
            "make room or replace it: the node tries it again by itself; its log has the reason",
        );
    }
    if let Some(reason) = &status.fleet_keys.missing {
        wrong("fleet_keys", reason.clone(), "the node tries again every second");
    }
    let panel = status.car.as_ref().map(|car| (&car.panel, &car.connection));
    match panel {
        Some((panel, Ok(()))) => {
            findings.push(finding("panel", Verdict::Good(format!("{panel} answers"))));
        }
        Some((panel, Err(why))) => wrong(
            "panel",
            format!("{panel} does not answer: {why}"),
            "check its power and its line, and the speed and protocol in its URL",
        ),
        None => {}
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::tests::full_status;

    #[test]
    fn topics_that_the_broker_refuses_are_named() {
        let mut status = full_status();
        status.mqtt_refused = vec!["robot/answers".to_owned()];
        let findings = of_status(&status);
        let named = findings.iter().any(|found| found.to_string().contains("robot/answers"));
        assert!(named, "{findings:?}");
    }
}
