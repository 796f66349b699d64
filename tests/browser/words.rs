//! Events and directives as the page Events has them: in sentences, with the car that they are about.

use std::collections::BTreeSet;

use elevator_driver::{Floor, KeySwitch};
use elevator_fleet::directives::{
    EmergencyPower, OFF, ON, PriorityCall, RequestId, Session, SessionEnd, SessionState, Topic,
    Turn,
};
use elevator_fleet::model::{Mode, NodeId};
use elevator_fleet::node::Report;
use serde_json::{Value, json};

use super::browser::Browser;
use super::{building, panel};

/// A directive, what the page says of it, and the car that the filter finds it by.
struct Case {
    key: String,
    value: String,
    said: String,
    car: Option<&'static str>,
}

impl Case {
    fn new(
        key: impl Into<String>,
        value: impl Into<String>,
        said: impl Into<String>,
        car: Option<&'static str>,
    ) -> Self {
        Self { key: key.into(), value: value.into(), said: said.into(), car }
    }
}

fn node(name: &str) -> NodeId {
    NodeId::new(name).expect("a name")
}

fn floor(index: u8) -> Floor {
    Floor::try_from(index).expect("a floor")
}

/// What the brain understands: another topic needs its cases here.
fn cases_of(topic: &Topic) -> Vec<Case> {
    let key = topic.key().to_string();
    let case = |value: &dyn ToString, said: &str, car| {
        Case::new(&key, value.to_string(), format!("{said}, by kovac"), car)
    };
    match topic {
        Topic::Mode(_) => Mode::ALL
            .iter()
            .map(|mode| {
                let said = mode.to_string().replace('-', " ");
                case(mode, &format!("Mode of car B: {said}"), Some("B"))
            })
            .collect(),
        Topic::FloorLock(_) => {
            vec![case(&ON, "Floor 5 locked", None), case(&OFF, "Floor 5 unlocked", None)]
        }
        Topic::Priority(_) => {
            let call = |any| PriorityCall { floor: floor(6), any };
            vec![
                case(&call(false), "Priority call: car B goes to floor 6", Some("B")),
                case(&call(true), "Priority call for any car: car B goes to floor 6", Some("B")),
                case(&OFF, "Priority call of car B: over", Some("B")),
            ]
        }
        Topic::EmergencyPower => {
            let power = |serving| EmergencyPower { cars: 3, serving };
            let serves = "Emergency power started; car B serves once all are down";
            vec![
                case(&power(None), "Emergency power started", None),
                case(&power(Some(node("B"))), serves, None),
                case(&OFF, "Emergency power ended", None),
            ]
        }
        // A master has counted them: no operator has commanded it.
        Topic::Cars => [("1", "1 car"), ("8", "8 cars")]
            .map(|(count, cars)| {
                Case::new(&key, count, format!("Emergency power: the fleet has {cars}"), None)
            })
            .into(),
        Topic::Turn => turns(&key),
        Topic::Session(_) => sessions(&key),
    }
}

/// The master gives turns: no operator has commanded them.
fn turns(key: &str) -> Vec<Case> {
    let (car, master) = (node("B"), node("A"));
    let has_turn = Turn::Evacuates { car: car.clone(), master: master.clone() };
    let serves = Turn::Serves { car: car.clone(), master };
    [
        (Turn::None, "Emergency power: it is nobody's turn", None),
        (has_turn, "Emergency power: it is the turn of car B", Some("B")),
        (serves, "Emergency power: car B serves calls", Some("B")),
        (Turn::Done { car }, "Emergency power: the turn of car B is over", Some("B")),
    ]
    .map(|(turn, said, car)| Case::new(key, turn.to_string(), said, car))
    .into()
}

/// A session, as its directive has it.
fn session(wish: Option<&str>, state: SessionState) -> Session {
    let id = RequestId { owner: 0x00c0_ffee, request: 0x7d3d_9ef7 };
    let to = Some(floor(5));
    Session { id, floor: floor(3), to, seconds: 30, leg: 1, wish: wish.map(node), state }
}

fn sessions(key: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = [
        (None, SessionState::Queued, "waits for a car at floor 3", None),
        (Some("C"), SessionState::Queued, "waits for car C at floor 3", Some("C")),
        (None, SessionState::Coming(node("B")), "car B is coming to floor 3", Some("B")),
        (
            Some("B"),
            SessionState::Open(node("B")),
            "car B holds its door open at floor 3",
            Some("B"),
        ),
    ]
    .into_iter()
    .map(|(wish, state, said, car)| {
        let said = format!("Session 7d3d9ef7: {said}");
        Case::new(key, session(wish, state).to_string(), said, car)
    })
    .collect();
    cases.extend(SessionEnd::ALL.map(|end| {
        let why = match end {
            SessionEnd::Done => "done",
            SessionEnd::Time => "its time was up",
            SessionEnd::Recalled => "fire recall or emergency power",
            SessionEnd::CarLost => "its car was lost",
            SessionEnd::NoCar => "no car became free",
            SessionEnd::Withdrawn => "withdrawn",
            SessionEnd::Operator => "by an operator",
        };
        let said = format!("Session 7d3d9ef7 ended: {why}");
        Case::new(key, session(None, SessionState::Ended(end)).to_string(), said, None)
    }));
    cases
}

/// What nodes set about their own cars, and what only the process understands.
fn other_cases() -> Vec<Case> {
    let evidence = "up 3 2 10012 9980 no-progress";
    let hung = "Car B hung: its node has sent the evidence";
    let made = "Token browser made, scope operate, by kovac";
    let mut cases = vec![
        Case::new("hang/B", evidence, hung, Some("B")),
        Case::new("hang/B", OFF, "Hang of B: over", Some("B")),
        Case::new("fire-recall/0b", "on 2", "Fire recall started, by kovac", None),
        Case::new("fire-recall/0b", "off 2", "Fire recall ended, by kovac", None),
        Case::new("firefighter/B", ON, "A firefighter has car B", Some("B")),
        Case::new("firefighter/B", OFF, "No firefighter has car B any more", Some("B")),
        Case::new("token/browser", "operate 2027-01-15T08:00:00Z", made, None),
        Case::new("token/browser", "revoked", "Token browser revoked, by kovac", None),
        // A later program may set what this one does not understand.
        Case::new("colour/B", "blue", "colour/B is blue, by kovac", None),
        Case::new("session/2", "blue", "session/2 is blue, by kovac", None),
    ];
    cases.extend(KeySwitch::ALL.map(|at| {
        Case::new("key/B", at.to_string(), format!("Key switch of car B: {at}"), Some("B"))
    }));
    cases
}

/// The value of a script that has the page's own words.
fn in_words(browser: &Browser, script: &str) -> Value {
    browser.evaluate(&format!("return import('/assets/format.js').then((words) => {{ {script} }})"))
}

#[test]
fn every_event_is_a_sentence_and_has_a_severity() {
    let Some((building, browser)) = building() else { return };
    browser.open(&panel(&building, 1));
    browser.wait_for(".light.live");
    let golden = include_str!("../../src/operator/testdata/events.jsonl");
    let events: Vec<Value> = golden
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["event"].take())
        .collect();
    let names: BTreeSet<_> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(names, BTreeSet::from(Report::NAMES), "there is an example of each");
    let bare = in_words(
        &browser,
        &format!(
            "return {}.filter((event) => words.eventText(event) === event.event
                 || words.eventText(event).includes('undefined')
                 || !words.SEVERITIES.includes(words.severity(event)))",
            json!(events)
        ),
    );
    assert_eq!(bare, json!([]));

    let topics = [
        Topic::Mode(node("B")),
        Topic::FloorLock(floor(5)),
        Topic::Priority(node("B")),
        Topic::EmergencyPower,
        Topic::Cars,
        Topic::Turn,
        Topic::Session(2),
    ];
    let cases: Vec<Case> = topics.iter().flat_map(cases_of).chain(other_cases()).collect();
    let directives: Vec<Value> = cases
        .iter()
        .map(|Case { key, value, .. }| {
            json!({ "event": "directive", "key": key, "value": value, "operator": "kovac" })
        })
        .collect();
    let said = in_words(
        &browser,
        &format!(
            "return {}.map((event) => [words.eventText(event), words.carOf(event, 'A'), words.severity(event)])",
            json!(directives)
        ),
    );
    let severity = |key: &str, value: &str| match key {
        "hang/B" if value != OFF => "alarm",
        _ => "notice",
    };
    let expected: Vec<Value> = cases
        .iter()
        .map(|Case { key, value, said, car }| json!([said, car, severity(key, value)]))
        .collect();
    for (said, expected) in said.as_array().expect("a list").iter().zip(&expected) {
        assert_eq!(said, expected);
    }
    assert_eq!(said.as_array().map(Vec::len), Some(expected.len()));
}

/// A session that has ended names no car: the events before it do.
#[test]
fn the_filter_finds_a_session_until_its_end() {
    let Some((building, browser)) = building() else { return };
    browser.open(&panel(&building, 1));
    browser.wait_for(".light.live");
    let states = [
        SessionState::Queued,
        SessionState::Coming(node("B")),
        SessionState::Open(node("B")),
        SessionState::Ended(SessionEnd::Done),
    ];
    let values = states.map(|state| session(None, state).to_string());
    let cars = browser.evaluate(&format!(
        "return Promise.all([import('/assets/model.js'), import('/assets/source.js')]).then(([{{ Model }}, {{ Source }}]) => {{
             const source = new Source();
             const model = new Model(source);
             for (const value of {}) {{
                 const event = {{ event: 'directive', key: 'session/2', value, operator: 'A' }};
                 source.emit({{ type: 'event', event: {{ ...event, at: new Date().toISOString() }} }});
             }}
             return model.events.map(({{ car }}) => car).reverse();
         }})",
        json!(values)
    ));
    assert_eq!(cars, json!([null, "B", "B", "B"]));
}
