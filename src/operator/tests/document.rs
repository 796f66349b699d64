//! `docs/OPERATOR-SOCKET.md` says what the code does.

use std::collections::BTreeSet;

use elevator_fleet::node::FleetStatus;

use super::*;

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/OPERATOR-SOCKET.md");
    std::fs::read_to_string(path).unwrap()
}

fn same<T: serde::de::DeserializeOwned + serde::Serialize>(line: &str) {
    let parsed: T = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    let json: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(serde_json::to_value(&parsed).unwrap(), json, "{line}");
}

#[test]
fn its_examples_are_what_the_code_reads_and_writes() {
    let text = document();
    let examples = |mark: &'static str| text.lines().filter_map(move |l| l.strip_prefix(mark));
    let (mut queries, mut replies) = (0, 0);
    for line in examples("→ ") {
        same::<QueryLine>(line);
        queries += 1;
    }
    for line in examples("← ") {
        same::<ReplyLine>(line);
        replies += 1;
    }
    assert_eq!((queries, replies), (22, 25));
    let latched = examples("{").map(|line| format!("{{{line}"));
    let latched: Vec<_> = latched.collect();
    assert_eq!(latched.len(), 1);
    same::<LatchedNode>(&latched[0]);
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
fn it_names_every_field_event_query_and_error() {
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
    for code in ERROR_CODES {
        let code = serde_json::to_value(code).unwrap();
        names.insert(code.as_str().unwrap().to_owned());
    }
    for name in names {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
}
