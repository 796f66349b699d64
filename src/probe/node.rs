//! The running node: what it says about itself.

use elevator_fleet::node::Status;

use super::{Finding, Verdict, finding, fleet};
use crate::client::ClientError;

pub(super) fn node(answer: &Result<Status, ClientError>) -> Vec<Finding> {
    match answer {
        Ok(status) => of_status(status),
        Err(error @ ClientError::Socket { .. }) => {
            vec![finding("node", Verdict::unchecked(error.to_string()))]
        }
        Err(error) => vec![finding(
            "node",
            Verdict::wrong(
                format!("this node is running but does not answer: {error}"),
                "check its log (`journalctl -u liftmesh`), then restart it",
            ),
        )],
    }
}

fn of_status(status: &Status) -> Vec<Finding> {
    let peers = status.peers.len();
    let mut findings = vec![finding(
        "node",
        Verdict::good(format!(
            "{} runs, {}, and hears {peers} peers",
            status.node, status.node_state
        )),
    )];
    let mut warn = |key, what: String, remedy: &str| {
        findings.push(finding(key, Verdict::warning(what, remedy)));
    };
    if status.log_lines_lost > 0 {
        let lost = status.log_lines_lost;
        warn("log", format!("{lost} lines were lost"), "check the service that reads the log");
    }
    for topic in &status.mqtt_refused {
        let what = format!("the broker refuses messages on {topic}");
        warn("mqtt.broker", what, "let the nodes' user write there, or let callers choose another");
    }
    let conflicts = status.conflicts.iter();
    findings.extend(conflicts.map(|known| fleet::conflict(known.kind, known.what.clone())));
    let mut wrong = |key, what: String, remedy: &str| {
        findings.push(finding(key, Verdict::wrong(what, remedy)));
    };
    if status.disk_failed {
        wrong(
            "disk",
            "the disk has failed".to_owned(),
            "make room or replace it; the node retries by itself, and its log has the reason",
        );
    }
    if let Some(reason) = &status.fleet_keys.missing {
        wrong("fleet_keys", reason.clone(), "the node tries again every second");
    }
    let panel = status.car.as_ref().map(|car| (&car.panel, &car.connection));
    match panel {
        Some((panel, Ok(()))) => {
            findings.push(finding("panel", Verdict::good(format!("{panel} answers"))));
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
