//! `docs/STATUS.md` says what the code does.

use std::collections::BTreeSet;

use elevator_fleet::node::FleetStatus;

use super::*;

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/STATUS.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn its_example_of_a_latched_node_is_what_the_code_reads_and_writes() {
    let text = document();
    let line = text.lines().find(|line| line.starts_with('{')).unwrap();
    let read: LatchedNode = serde_json::from_str(line).unwrap();
    let json: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), json);
}

/// Every key of a whole status, at any depth.
fn keys(json: &serde_json::Value, keys_found: &mut BTreeSet<String>) {
    match json {
        serde_json::Value::Object(object) => {
            for (key, value) in object {
                keys_found.insert(key.clone());
                keys(value, keys_found);
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| keys(value, keys_found)),
        _ => {}
    }
}

#[test]
fn it_names_every_field_and_event() {
    let text = document();
    let orders = vec![OrderStatus {
        call: hall(1, Direction::Up),
        waited: Duration::ZERO,
        car: None,
        promised: false,
        holders: 1,
        held_by: vec![node("A")],
        durable_at: vec![node("A")],
    }];
    let view = status(orders);
    let mut names = BTreeSet::new();
    keys(&serde_json::to_value(&view).unwrap(), &mut names);
    keys(&serde_json::to_value(FleetStatus::from(&view)).unwrap(), &mut names);
    names.extend(Report::NAMES.map(str::to_owned));
    for name in names {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
}
