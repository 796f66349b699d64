//! Sensors, and what indicators show of them (C4).

use elevator_driver::Display;

use super::*;
use crate::climate::{DisplayData, Reading, Source};
use crate::election::Message;

const SECOND: Duration = Duration::from_secs(1);

/// 2026-05-01, 10:05:00 UTC
const MORNING: u32 = 1_777_629_900;

fn at(millis: u64) -> Timestamp {
    Timestamp::after_start(Duration::from_millis(millis))
}

fn reads(temperature: i8, illuminance: u8) -> Reading {
    Reading { temperature: Some(temperature), illuminance: Some(illuminance) }
}

fn senses(node: &mut Node, reading: Reading, now: Timestamp) {
    let Reading { temperature, illuminance } = reading;
    let climate = elevator_driver::Climate { temperature, illuminance };
    node.handle_panel(PanelEvent::Connected, now);
    node.see(PanelInputs { climate, ..at_rest() }, now);
}

/// A node with a car, alone, whose sensors read this.
fn alone(reading: Reading) -> Node {
    let mut node = with_car(1, 1, Restored::default(), at(0));
    node.handle_wall_clock(MORNING, at(0));
    senses(&mut node, reading, at(10));
    node
}

/// Lets time pass; hands back what the node wanted done, and when.
fn pass(node: &mut Node, until: Timestamp) -> Vec<(Timestamp, Action)> {
    let mut wanted = Vec::new();
    while let Some((at, _)) = node.poll_timeout().filter(|(at, _)| *at <= until) {
        node.handle_timeout(at);
        wanted.extend(drain(node).into_iter().map(|action| (at, action)));
    }
    wanted
}

fn messages(actions: impl IntoIterator<Item = Action>) -> Vec<Message> {
    let piggybacked = actions.into_iter().filter_map(|action| {
        let (Action::Broadcast(beacon) | Action::Unicast { beacon, .. }) = action else {
            return None;
        };
        beacon.piggybacked
    });
    piggybacked.map(|piggybacked| piggybacked.message).collect()
}

fn requests(wanted: &[(Timestamp, Action)]) -> usize {
    let messages = messages(wanted.iter().map(|(_, action)| action.clone()));
    let requests = messages.iter().filter(|m| **m == Message::SensorRequest);
    requests.count()
}

/// C4, K2
#[test]
fn a_node_alone_shows_what_its_own_sensors_read() {
    let mut node = alone(reads(-4, 100));
    drain(&mut node);
    let wanted = pass(&mut node, at(10_500));
    assert_eq!(requests(&wanted), 10, "once a second");
    assert_eq!(node.cabin.climate.display(at(10_500)).text, "-4.0 C 10:05");
    let status = node.status(at(10_500)).climate;
    assert_eq!(status.average, Some(-4.0));
    assert_eq!(status.own, reads(-4, 100));
    assert_eq!(status.units.len(), 1);
}

/// The panel's line has better things to do.
#[test]
fn a_steady_climate_is_told_to_the_panel_once_and_the_time_once_a_minute() {
    let mut node = alone(reads(21, 100));
    pass(&mut node, at(30_000));
    let wanted = pass(&mut node, at(150_000));
    let panels = wanted.iter().filter_map(|(_, action)| {
        if let Action::Panel(outputs) = action { Some(outputs.display.text.as_str()) } else { None }
    });
    assert_eq!(panels.collect::<Vec<_>>(), ["21.0 C 10:06", "21.0 C 10:07"]);
}

/// K1, K2
#[test]
fn what_nobody_tells_any_more_is_unknown() {
    let mut node = alone(reads(21, 100));
    pass(&mut node, at(3_000));
    let told = node.cabin.climate.latest.map(|(_, at)| at).expect("told");
    node.leadership.set_state(NodeState::Seeking);
    let limit = node.cabin.climate.settings.display_limit;
    pass(&mut node, told + limit - Duration::from_millis(1));
    let outputs = |node: &Node| node.outputs().expect("a car").display.clone();
    assert_eq!(outputs(&node).text, "21.0 C 10:05");
    pass(&mut node, told + limit);
    let unknown = Display { text: "-- C 10:05".to_owned(), brightness: None };
    assert_eq!(outputs(&node), unknown);
    assert_eq!(node.status(told + limit).climate.age, None);
}

/// K1: what its own sensors read before the line to the panel is cut, or before a long suspension.
#[test]
fn a_panel_that_was_not_heard_since_reads_nothing() {
    for is_cut in [true, false] {
        let mut node = alone(reads(21, 100));
        pass(&mut node, at(3_000));
        let late = node.cabin.climate.settings.reading_limit;
        let mut now = at(3_000) + late;
        if is_cut {
            now = at(4_100);
            node.handle_panel(PanelEvent::Disconnected("cut".to_owned()), at(3_000));
            pass(&mut node, now);
        } else {
            node.handle_interrupted(late, now);
        }
        assert_eq!(node.cabin.climate.display(now).text, "-- C 10:05");
        senses(&mut node, reads(10, 100), now);
        pass(&mut node, now + SECOND);
        assert_eq!(node.cabin.climate.display(now + SECOND).text, "10.0 C 10:05");
    }
}

/// C4
#[test]
fn a_node_that_is_often_held_up_requests_nevertheless() {
    let (mut node, mut now) = (alone(reads(21, 100)), at(10));
    let [runs, late] = [130, 170].map(Duration::from_millis);
    while now < at(20_000) {
        pass(&mut node, now + runs);
        now = now + runs + late;
        node.handle_interrupted(late, now);
    }
    assert_eq!(node.cabin.climate.display(now).text, "21.0 C 10:05");
}

/// Two nodes, of which the first is the master, and a request that the second has not heard.
fn unanswered() -> (Node, Node, Timestamp) {
    let (mut first, mut second, start) = linked_after(node(1, 1), node(2, 1), 4);
    let asked = start + SECOND * 2;
    talk(&mut second, &mut first, start, asked);
    first.gather_readings(asked);
    drain(&mut first);
    (first, second, asked)
}

#[test]
fn display_data_follows_the_last_answer_at_once() {
    let (mut first, _, asked) = unanswered();
    first.settle(asked);
    assert_eq!(messages(drain(&mut first)), [], "it waits");
    first.cabin.climate.handle_reading(Source::Node(name(2)), reads(30, 10), asked);
    first.settle(asked);
    let told = messages(drain(&mut first));
    let [Message::DisplayData(data)] = told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(data.temperature, Some(300));
}

/// C4: also where the mastership rotates, by a node that has asked and leads no longer.
#[test]
fn who_does_not_answer_is_waited_for_no_longer_than_the_gather_time() {
    for leads in [true, false] {
        let (mut first, _, asked) = unanswered();
        let due = asked + first.cabin.climate.settings.gather_time;
        if leads {
            let asks = first.leadership.asks_for_readings();
            assert_eq!(first.cabin.climate.due(asks), Some((due, ClimateTimer::Gather)));
        } else {
            first.leadership.set_state(NodeState::Slave { master: name(2) });
        }
        first.handle_timeout(due);
        let told = messages(drain(&mut first));
        assert!(matches!(told[..], [Message::DisplayData(_)]), "{told:?}");
    }
}

/// C4: it is for the period that the next one waits, not for its own last request.
#[test]
fn a_request_is_due_a_period_after_the_last_one_of_anybody() {
    let (_, mut second, asked) = unanswered();
    second.on_climate_message(&name(1), &Message::SensorRequest, asked);
    second.leadership.set_state(NodeState::Master);
    let due = second.cabin.climate.request_due(second.leadership.asks_for_readings());
    assert_eq!(due, Some(asked + second.cabin.climate.settings.poll_period));
}

#[test]
fn a_request_is_answered_to_the_asker_alone() {
    let (first, mut second, asked) = unanswered();
    drain(&mut second);
    second.on_climate_message(&name(1), &Message::SensorRequest, asked);
    let actions = drain(&mut second);
    let [Action::Unicast { to, beacon }] = &actions[..] else {
        panic!("{actions:?}");
    };
    assert_eq!(*to, first.hello.address);
    let piggybacked = beacon.piggybacked.clone().expect("a piggybacked message");
    assert_eq!(piggybacked.to, Some(name(1)));
    assert_eq!(piggybacked.message, Message::SensorData(Reading::default()));
}

/// Between two groups that hear each other in part a display would change with every word.
#[test]
fn a_display_shows_what_its_own_master_sends() {
    let (_, mut second, now) = unanswered();
    let told = |temperature| {
        Message::DisplayData(DisplayData {
            temperature: Some(temperature),
            time: MORNING,
            brightness: 90,
        })
    };
    second.on_climate_message(&name(1), &told(215), now);
    second.on_climate_message(&name(3), &told(10), now);
    assert_eq!(second.cabin.climate.display(now).text, "21.5 C 10:05");
    assert_eq!(second.cabin.climate.display(now).brightness, Some(90));
}

/// C4, M7, V2
#[test]
fn a_protocol_that_asks_by_itself_is_left_to_it() {
    for protocol in Protocol::ALL {
        let mut node = electing(1, 1, ElectionSettings::of(protocol));
        node.leadership.set_state(NodeState::Master);
        let asks_itself = [Protocol::Senior, Protocol::Ballot].contains(&protocol);
        assert_eq!(node.leadership.asks_for_readings(), !asks_itself, "{protocol}");
    }
}
