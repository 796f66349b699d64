//! Events as the page Events has them: in sentences.

use std::collections::BTreeSet;

use elevator_fleet::node::Report;
use serde_json::{Value, json};

use super::viewer;

#[test]
fn every_event_is_a_sentence_and_has_a_severity() {
    let Some((_building, browser)) = viewer("") else { return };
    let golden = include_str!("../../src/operator/testdata/events.jsonl");
    let events = golden.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let events: Vec<Value> = events.collect();
    let names: BTreeSet<_> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(names, BTreeSet::from(Report::NAMES), "there is an example of each");
    let bare = browser.evaluate(&format!(
        "return import('/assets/format.js').then((words) => {}.filter((event) =>
             words.eventText(event) === event.event || words.eventText(event).includes('undefined')
             || !words.SEVERITIES.includes(words.severity(event))))",
        json!(events)
    ));
    assert_eq!(bare, json!([]));
}
