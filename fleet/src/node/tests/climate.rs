//! Sensors, and what indicators show of them (C4).

use elevator_driver::Display;

use super::*;

/// 2026-05-01, 10:05:00 UTC
const MORNING: u32 = 1_777_629_900;

fn at(millis: u64) -> Timestamp {
    Timestamp::after_start(Duration::from_millis(millis))
}

fn senses(node: &mut Node, temperature: i8, now: Timestamp) {
    let temperature = Some(temperature);
    let climate = elevator_driver::Climate { temperature, illuminance: Some(100) };
    node.handle_panel(PanelEvent::Connected, now);
    node.see(PanelInputs { climate, ..at_rest() }, now);
}

/// A node with a car, alone, whose sensors read 21 °C.
fn alone() -> Node {
    let mut node = with_car(1, 1, Restored::default(), at(0));
    node.handle_wall_clock(MORNING, at(0));
    senses(&mut node, 21, at(10));
    node
}

fn pass(node: &mut Node, until: Timestamp) {
    while let Some((at, _)) = node.poll_timeout().filter(|(at, _)| *at <= until) {
        node.handle_timeout(at);
        drain(node);
    }
}

fn display(node: &Node) -> Display {
    node.outputs().expect("a car").display.clone()
}

/// C4, K1, K2
#[test]
fn what_nobody_tells_any_more_is_unknown() {
    let mut node = alone();
    pass(&mut node, at(3_000));
    let told = node.cabin.climate.latest.map(|(_, at)| at).expect("told");
    node.leadership.set_state(NodeState::Seeking);
    let limit = node.cabin.climate.settings.display_limit;
    pass(&mut node, told + limit - Duration::from_millis(1));
    assert_eq!(display(&node).text, "21.0 C 10:05");
    pass(&mut node, told + limit);
    let unknown =
        Display { position: "0".to_owned(), text: "-- C 10:05".to_owned(), brightness: None };
    assert_eq!(display(&node), unknown);
}

/// K1: what its own sensors read before the line to the panel is cut, or before a long suspension.
#[test]
fn a_panel_that_was_not_heard_since_reads_nothing() {
    for is_cut in [true, false] {
        let mut node = alone();
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
        senses(&mut node, 10, now);
        now = now + Duration::from_secs(1);
        pass(&mut node, now);
        assert_eq!(node.cabin.climate.display(now).text, "10.0 C 10:05");
    }
}
