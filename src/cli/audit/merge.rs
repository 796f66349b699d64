//! One log, made of those of several nodes. Each node records every command that reaches it, so most
//! commands are in several logs.

use std::collections::BTreeMap;

use elevator_fleet::model::NodeId;
use elevator_fleet::settings::Words;
use serde::Serialize;

use crate::journal::{AuditEvent, AuditRecord};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Entry {
    /// That of the node where the command was entered, if its log was read: it has the account.
    #[serde(flatten)]
    pub(crate) record: AuditRecord,
    /// The nodes whose logs have a command; none if every log that was read has it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    recorded_at: Vec<NodeId>,
}

impl Entry {
    /// The node where it was entered or happened, and where it is recorded.
    pub(super) fn place(&self) -> String {
        let node = entered_at(&self.record).unwrap_or(&self.record.node);
        let nodes: Vec<&str> = self.recorded_at.iter().map(NodeId::as_str).collect();
        let recorded = format!(", recorded at {}", nodes.join(", "));
        format!("{node}{}", if nodes.is_empty() { "" } else { &recorded })
    }
}

/// The records of these logs by time, each command once. One log stays in its order.
pub(crate) fn merge(logs: Vec<Vec<AuditRecord>>) -> Vec<Entry> {
    let nodes = logs.len();
    if nodes == 1 {
        let records = logs.into_iter().flatten();
        return records.map(|record| Entry { record, recorded_at: Vec::new() }).collect();
    }
    // The latest first, as a node that was away has heard of the last of the same commands only. The
    // others are found to be the same as those of the nodes where they were entered.
    let mut records: Vec<_> = logs.into_iter().flat_map(|log| log.into_iter().rev()).collect();
    let is_copy = |record: &AuditRecord| entered_at(record).is_some_and(|it| *it != record.node);
    records.sort_by_key(is_copy);
    let mut entries: BTreeMap<_, Vec<Entry>> = BTreeMap::new();
    for record in records {
        let same = entries.entry(command(&record)).or_default();
        let is_free = |it: &&mut Entry| is_copy(&record) && !it.recorded_at.contains(&record.node);
        // The last one before, if the clocks agree.
        match same.iter_mut().filter(is_free).min_by_key(|it| it.record.at > record.at) {
            Some(known) => known.recorded_at.push(record.node),
            None => same.push(Entry { recorded_at: vec![record.node.clone()], record }),
        }
    }
    let mut entries: Vec<_> =
        entries.into_values().flat_map(|same| same.into_iter().rev()).collect();
    entries.sort_by(|one, other| one.record.at.cmp(&other.record.at));
    for Entry { record, recorded_at } in &mut entries {
        recorded_at.sort();
        if recorded_at.len() == nodes || entered_at(record).is_none() {
            recorded_at.clear();
        }
    }
    entries
}

/// The node where a command was entered; `None` for all else.
fn entered_at(record: &AuditRecord) -> Option<&NodeId> {
    let AuditEvent::Setting { entered_at, .. } = &record.event else { return None };
    Some(entered_at)
}

/// What all nodes record of a command: who gave it where, as the mesh has it, and what is set.
fn command(record: &AuditRecord) -> Option<(String, String, String)> {
    let AuditEvent::Setting { operator, entered_at, key, value, .. } = &record.event else {
        return None;
    };
    Some((Words::entered(operator, entered_at).to_string(), key.clone(), value.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The log of a node with commands that were entered at A: when, and what.
    fn log(node: &str, commands: &[(&str, &str)]) -> Vec<AuditRecord> {
        // The mesh has only so much of a name.
        let name = "Josefina Kovacova of the maintenance company of the building";
        let operator = if node == "A" { name } else { &name[..59] };
        let record = |(at, value): &(&str, &str)| {
            serde_json::from_value(serde_json::json!({
                "at": at, "node": node, "program": "1", "kind": "setting", "operator": operator,
                "entered_at": "A", "key": "mode/B", "value": value,
            }))
        };
        commands.iter().map(record).collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_command_is_shown_once() {
        let of = |it: Entry| format!("{} {}: {}", it.record.at, it.record.node, it.place());
        let merged = |logs: &[&Vec<AuditRecord>]| -> Vec<_> {
            merge(logs.iter().copied().cloned().collect()).into_iter().map(of).collect()
        };
        // B's clock is behind. C was away, and heard of the last command only, and D of the first.
        let a = log("A", &[("10", "out"), ("20", "in"), ("50", "out")]);
        let b = log("B", &[("07", "out"), ("17", "in"), ("47", "out")]);
        let c = log("C", &[("90", "out")]);
        let d = log("D", &[("11", "out")]);
        let recorded = [("10", "A, B, D"), ("20", "A, B"), ("50", "A, B, C")];
        let recorded = recorded.map(|(at, nodes)| format!("{at} A: A, recorded at {nodes}"));
        assert_eq!(merged(&[&c, &b, &a, &d]), recorded);
        // Without the log of the node where it was entered.
        assert_eq!(merged(&[&b, &c])[1..], ["17 B: A, recorded at B", "47 B: A"]);
    }
}
