//! Events and settings as the page Events has them: in sentences, with the car that they are about.

use std::collections::BTreeSet;

use std::time::Duration;

use elevator_driver::{Direction, Floor, KeySwitch};
use elevator_fleet::model::{HangCause, HangEvidence, Mode, NodeId, Nonce};
use elevator_fleet::node::Report;
use elevator_fleet::settings::{
    Asked, EmergencyPower, Name, PriorityCall, Recall, Request, RequestId, Scope, Session,
    SessionEnd, SessionState, Setting, Token, TokenHash, Turn, Words,
};
use serde_json::{Value, json};

use super::browser::Browser;
use super::{building, panel};

/// A setting, what the page says of it, and the car that the filter finds it by.
type Case = (Setting, String, Option<&'static str>);

fn node(name: &str) -> NodeId {
    NodeId::new(name).expect("a name")
}

fn floor(index: u8) -> Floor {
    Floor::try_from(index).expect("a floor")
}

/// A session; its car was asked for, or is any.
fn session(car: Option<&str>, state: SessionState) -> Setting {
    let id = RequestId { owner: 0x00c0_ffee, request: 0x7d3d_9ef7 };
    let (from, to) = (floor(3), Some(floor(5)));
    let asked = Asked { floor: from, to, seconds: 30, car: car.map(node) };
    let session = Session { id, asked, floor: from, to, seconds: 30, leg: 1, state };
    Setting::Request(Request::Session(session))
}

fn sessions() -> [(Setting, &'static str, Option<&'static str>); 5] {
    let b = || node("B");
    [
        (
            session(None, SessionState::Queued),
            "Session 7d3d9ef7: waits at floor 3 for a car to floor 5",
            None,
        ),
        (
            session(Some("C"), SessionState::Queued),
            "Session 7d3d9ef7: waits at floor 3 for car C to floor 5",
            Some("C"),
        ),
        (
            session(None, SessionState::Coming(b())),
            "Session 7d3d9ef7: car B is on its way to floor 3, then to floor 5",
            Some("B"),
        ),
        (
            session(Some("B"), SessionState::Open(b())),
            "Session 7d3d9ef7: car B holds its door open at floor 3 for 30 s, then goes to floor 5",
            Some("B"),
        ),
        (
            session(None, SessionState::Ended(SessionEnd::Withdrawn)),
            "Session 7d3d9ef7 has ended: withdrawn",
            None,
        ),
    ]
}

fn cases() -> Vec<Case> {
    let b = || node("B");
    let (car, master) = (b(), node("A"));
    let priority = |any| Some(PriorityCall { floor: floor(6), any });
    let power = |serving| Some(EmergencyPower { cars: 3, serving });
    let recall = |is_over| Setting::FireRecall(Nonce(11), Recall { number: 2, is_over });
    let browser = || Name::new("browser").expect("a name");
    let hash = TokenHash([7; 32]);
    let token = Token { scope: Scope::Operate, created: 1_800_000_000, expires: None, hash };
    let evidence = HangEvidence {
        cause: HangCause::NoProgress,
        floor: Some(floor(3)),
        direction: Direction::Up,
        expected: Duration::from_millis(9_980),
        actual: Duration::from_millis(10_012),
        last_sensor: Some(floor(2)),
    };
    // What a node has set by itself names nobody.
    let commanded = [
        (Setting::FloorLock(floor(5), true), "Floor 5 locked", None),
        (Setting::FloorLock(floor(5), false), "Floor 5 unlocked", None),
        (
            Setting::Priority(b(), priority(false)),
            "Priority call: car B goes to floor 6",
            Some("B"),
        ),
        (
            Setting::Priority(b(), priority(true)),
            "Priority call for any car: car B goes to floor 6",
            Some("B"),
        ),
        (Setting::Priority(b(), None), "Priority call of car B: over", Some("B")),
        (Setting::EmergencyPower(power(None)), "Emergency power started", None),
        (
            Setting::EmergencyPower(power(Some(b()))),
            "Emergency power started; car B serves once all are down",
            None,
        ),
        (Setting::EmergencyPower(None), "Emergency power ended", None),
        (recall(false), "Fire recall started", None),
        (recall(true), "Fire recall ended", None),
        (Setting::Token(browser(), Some(token)), "Token browser created, scope operate", None),
        (Setting::Token(browser(), None), "Token browser revoked", None),
    ];
    let set = [
        (Setting::Cars(1), "Emergency power: the fleet has 1 car", None),
        (Setting::Cars(8), "Emergency power: the fleet has 8 cars", None),
        (Setting::Turn(Turn::None), "Emergency power: it is nobody's turn", None),
        (
            Setting::Turn(Turn::Evacuates { car: car.clone(), master: master.clone() }),
            "Emergency power: it is car B's turn",
            Some("B"),
        ),
        (
            Setting::Turn(Turn::Serves { car: car.clone(), master }),
            "Emergency power: car B serves calls",
            Some("B"),
        ),
        (Setting::Turn(Turn::Done { car }), "Emergency power: car B's turn is over", Some("B")),
        (Setting::Hang(b(), Some(evidence)), "Car B hung: its node sent the evidence", Some("B")),
        (Setting::Hang(b(), None), "Hang of B: over", Some("B")),
        (Setting::Firefighter(b(), true), "Car B is under firefighter control", Some("B")),
        (
            Setting::Firefighter(b(), false),
            "Car B is no longer under firefighter control",
            Some("B"),
        ),
    ];
    let commanded =
        commanded.into_iter().map(|(it, said, car)| (it, format!("{said}, by kovac"), car));
    let set = set.into_iter().chain(sessions()).map(|(it, said, car)| (it, said.to_owned(), car));
    let modes = Mode::ALL.map(|mode| {
        let said = mode.to_string().replace('-', " ");
        (Setting::Mode(b(), mode), format!("Mode of car B: {said}, by kovac"), Some("B"))
    });
    let keys = KeySwitch::ALL
        .map(|at| (Setting::KeySwitch(b(), at), format!("Key switch of car B: {at}"), Some("B")));
    commanded.chain(set).chain(modes).chain(keys).collect()
}

/// The event of a setting, as programs get it.
fn event(setting: Setting) -> Value {
    let operator = Words::new("kovac").expect("a name");
    serde_json::to_value(Report::Setting { setting, operator, reason: None }).expect("JSON")
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
    let events = golden.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let events: Vec<Value> = events.collect();
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

    let cases = cases();
    let settings: Vec<Value> = cases.iter().map(|(setting, ..)| event(setting.clone())).collect();
    let said = in_words(
        &browser,
        &format!(
            "return {}.map((event) => [words.eventText(event), words.carOf(event, 'A'), words.severity(event)])",
            json!(settings)
        ),
    );
    let expected = cases.iter().map(|(setting, said, car)| {
        let is_hang = matches!(setting, Setting::Hang(_, Some(_)));
        json!([said, car, if is_hang { "alarm" } else { "notice" }])
    });
    let expected: Vec<Value> = expected.collect();
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
    let events = states.map(|state| event(session(None, state)));
    let cars = browser.evaluate(&format!(
        "return Promise.all([import('/assets/model.js'), import('/assets/source.js')]).then(([{{ Model }}, {{ Source }}]) => {{
             const source = new Source();
             const model = new Model(source);
             for (const event of {}) {{
                 source.emit({{ type: 'event', event: {{ ...event, at: new Date().toISOString() }} }});
             }}
             return model.events.map(({{ car }}) => car).reverse();
         }})",
        json!(events)
    ));
    assert_eq!(cars, json!([null, "B", "B", "B"]));
}
