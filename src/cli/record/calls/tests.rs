use super::*;
use crate::operator::tests::busy_fleet;

fn at(second: u64) -> String {
    text(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + second))
}

fn event(second: u64, kind: &str, more: &Value) -> Event {
    let mut event = json!({"at": at(second), "event": kind});
    event["call"] = json!({"kind": "hall", "floor": "3", "direction": "up"});
    let more = more.as_object().cloned().unwrap_or_default();
    event.as_object_mut().unwrap().extend(more);
    serde_json::from_value(event).unwrap()
}

fn placed(second: u64, press: &str) -> Event {
    event(second, "placed", &json!({"origin": "A", "press": press}))
}

fn served(second: u64, waited: u64) -> Event {
    event(second, "served", &json!({"waited": waited, "here": true, "car": "B"}))
}

/// A state of a node that has run for an hour, with this call open or none.
fn state(second: u64, open: Option<u64>) -> State {
    let mut state = busy_fleet();
    (state.fleet.at, state.fleet.uptime) = (at(second), 3600.0);
    state.orders.truncate(usize::from(open.is_some()));
    for order in &mut state.orders {
        order.what.waited = Duration::from_secs(open.unwrap_or(0));
    }
    state
}

/// Another node, which has kept these events.
fn follow(calls: &mut Calls, second: u64, kept: &[Event]) -> Vec<Cells> {
    calls.begin();
    assert!(calls.on_state(&state(second, None)).is_empty());
    let ended = kept.iter().filter_map(|event| calls.on_event(event)).collect();
    assert!(calls.on_state(&state(second + 1, None)).is_empty());
    ended
}

fn ids(rows: &[Cells]) -> Vec<&str> {
    rows.iter().map(|row| row["id"].as_str().unwrap()).collect()
}

/// The first node goes while its second call is open, whose button is pressed again; the second
/// one has kept all of it, and hears of the two presses in the other order.
#[test]
fn each_call_is_a_row_whichever_node_tells_it() {
    let mut calls = Calls::new(Known::default(), None);
    let assigned = |second| event(second, "assigned", &json!({"car": "B", "here": true}));
    let first = [placed(10, "a:1"), assigned(11), served(20, 10), placed(30, "a:2")];
    let rows = follow(&mut calls, 100, &first);
    assert_eq!(ids(&rows), ["a:1"]);
    let row = json!({
        "id": "a:1", "kind": "hall", "floor": "3", "direction": "up", "origin": "A", "car": "B",
        "placed": at(10), "assigned": at(11), "served": at(20), "waited": 10.0,
    });
    assert_eq!(Value::Object(rows[0].clone()), row);
    let second = [
        placed(10, "a:1"),
        served(20, 10),
        placed(31, "b:1"),
        placed(30, "a:2"),
        served(40, 10),
        placed(50, "a:3"),
    ];
    assert_eq!(ids(&follow(&mut calls, 110, &second)), ["a:2"]);
    let ended = calls.on_event(&served(120, 70)).unwrap();
    assert_eq!(ids(&[ended]), ["a:3"]);
    // Again from the beginning: everything is known.
    assert_eq!(follow(&mut calls, 130, &second[..5]), []);
}

#[test]
fn what_a_file_has_is_not_written_again_and_what_came_too_early_is_left_out() {
    let mut known = Known::default();
    known.insert("a:1", "a:1");
    known.note_end(&at(20));
    let since = moment(&at(25));
    let mut calls = Calls::new(known, since);
    let kept = [served(5, 3), placed(10, "a:1"), served(20, 10), placed(24, "a:2"), served(26, 2)];
    assert_eq!(follow(&mut calls, 100, &kept), []);
    let dropped = [placed(28, "a:3"), event(29, "dropped", &json!({}))];
    let rows: Vec<_> = dropped.iter().filter_map(|event| calls.on_event(event)).collect();
    assert_eq!((ids(&rows), &rows[0]["cancelled"]), (vec!["a:3"], &json!(at(29))));
}

/// An order from before everything that the nodes have kept, and one that nobody has any more.
#[test]
fn the_state_has_the_last_word() {
    let mut calls = Calls::new(Known::default(), None);
    follow(&mut calls, 100, &[placed(90, "a:1")]);
    let open = busy_fleet().orders.remove(0).what.call;
    for second in [102, 106, 110] {
        assert!(calls.on_state(&state(second, Some(second - 50))).is_empty());
    }
    let lost = calls.on_state(&state(112, Some(62)));
    assert_eq!(ids(&lost), ["a:1"]);
    assert!(!lost[0].contains_key("served") && !lost[0].contains_key("cancelled"));
    assert_eq!(calls.rows[&open.to_string()].cells["placed"], at(50));
}

#[test]
fn a_gap_shows_unless_the_node_ran_through_or_kept_something_known() {
    let mut known = Known::default();
    known.note_end(&at(0));
    let mut calls = Calls::new(known, None);
    calls.begin();
    calls.on_state(&state(100, None));
    assert_eq!(calls.gap(&state(101, None)), None, "it has run for an hour");
    assert_eq!(calls.gap(&state(3800, None)), Some(at(100)));
    calls.known.insert("a:1", "a:1");
    calls.on_event(&placed(10, "a:1"));
    assert_eq!(calls.gap(&state(3800, None)), None);
}
