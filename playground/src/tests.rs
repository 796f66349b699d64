use std::collections::BTreeSet;

use elevator_driver::{Button, Direction, Floor};
use elevator_fleet::model::{Call, HallCall};
use liftmesh_lab::Fault;

use super::*;

fn small() -> Settings {
    Settings { cars: 3, floors: 5, ..Settings::default() }
}

fn fault(fault: Fault) -> Input {
    Input::Act(Act::Fault(fault))
}

#[test]
fn how_time_is_cut_makes_no_difference() {
    let mut whole = Playground::new(small()).expect("a run");
    whole.advance(Duration::from_mins(1));
    let mut cut = Playground::new(small()).expect("a run");
    for _ in 0..3_600 {
        cut.advance(Duration::from_nanos(16_666_667));
    }
    let rest = whole.world().now().checked_sub(cut.world().now());
    cut.advance(rest.unwrap_or_default());
    whole.advance(cut.world().now().saturating_sub(whole.world().now()));
    assert_eq!(whole.world().fingerprint(), cut.world().fingerprint());
    assert!(whole.world().services().len() > 5, "passengers are served");
    assert_eq!(whole.world().violations(), []);
}

#[test]
fn a_run_that_is_shared_is_the_same() {
    let mut run = Playground::new(small()).expect("a run");
    run.advance(Duration::from_millis(3_217));
    assert!(run.act(fault(Fault::Kill(0))));
    run.advance(Duration::from_millis(1_001));
    let button = Button::Hall(Floor::BOTTOM, Direction::Up);
    assert!(run.act(Input::Act(Act::Press { node: 1, button })));
    run.advance(Duration::from_secs(20));
    let shared = serde_json::to_string(&run.run()).expect("it is JSON");
    let settings: Settings = serde_json::from_str(&shared).expect("it is the same");
    let mut again = Playground::new(settings).expect("a run");
    assert_eq!(again.run(), run.run(), "what is still to come is shared too");
    again.advance(Duration::from_millis(3_500));
    assert_eq!(again.run(), run.run());
    again.advance(run.world().now().saturating_sub(again.world().now()));
    assert_eq!(again.world().fingerprint(), run.world().fingerprint());
    assert_eq!(again.run(), run.run());
}

#[test]
fn a_picture_shows_what_happens_since_the_last() {
    let mut run = Playground::new(small()).expect("a run");
    run.advance(Duration::from_secs(2));
    let first = run.picture(2);
    assert!(!first.events.is_empty());
    assert_eq!(first.from.as_deref(), Some("C"));
    assert!(run.picture(2).events.is_empty());
    run.act(fault(Fault::Kill(2)));
    run.act(fault(Fault::Cut(0, 1)));
    run.advance(Duration::from_secs(1));
    let second = run.picture(2);
    assert!(!second.nodes[2].running);
    assert_eq!(second.from.as_deref(), Some("A"), "the next one that runs");
    assert!(!second.events.is_empty(), "it has noticed");
    assert_eq!(second.cuts, [(0, 1), (1, 0)]);
    assert!(!second.nodes[0].isolated, "there is no network to repair, but a link");
    let json = serde_json::to_value(&second).expect("it is JSON");
    assert_eq!(json["state"]["fleet"]["node"], "A");
    assert_eq!(json["events"][0]["at"].as_str().map(str::len), Some(24));
}

#[test]
fn impossible_settings_are_refused_with_a_reason() {
    let step = |act| vec![Step { at: Duration::from_secs(1), act }];
    let lock =
        Fault::FloorLock { at: 0, floor: Floor::try_from(5).expect("a floor"), locked: true };
    let crowd = Input::Traffic(Demand { passengers: 601, pattern: Pattern::Up });
    let cases = [
        (Settings { cars: 1, ..small() }, "cars: 1 is not within 2 to 32"),
        (Settings { floors: 65, ..small() }, "floors: 65 is not within 2 to 64"),
        (Settings { passengers: 601, ..small() }, "passengers: 601 is not within 0 to 600"),
        (
            Settings { steps: step(fault(Fault::Kill(3))), ..small() },
            "step 1 of the run is impossible",
        ),
        (Settings { steps: step(fault(lock)), ..small() }, "step 1 of the run is impossible"),
        (Settings { steps: step(crowd), ..small() }, "step 1 of the run is impossible"),
    ];
    for (settings, reason) in cases {
        let wrong = Playground::new(settings).expect_err(reason).to_string();
        assert!(wrong.contains(reason), "{wrong}");
    }
    let mut run = Playground::new(small()).expect("a run");
    assert!(!run.act(fault(Fault::Kill(9))), "a node that is not there");
    assert!(run.run().steps.is_empty());
}

const CAR_PARK: &str = r#"{
    "cars": 3, "passengers": 60, "pattern": "lunch",
    "building": {
        "floors": [
            { "label": "B1", "height": 0, "doors": ["rear"] },
            { "label": "G", "height": 2.8, "doors": ["front", "rear"] },
            { "label": "1", "height": 7 }
        ],
        "cars": [
            { "name": "A", "serves": ["G", "1"], "doors": ["front", "rear"] },
            { "name": "B", "serves": ["G", "1"], "doors": ["front", "rear"] },
            { "name": "C", "serves": ["B1", "G", "1"], "doors": ["front", "rear"] }
        ]
    },
    "steps": [
        { "at_ns": 5000000000, "do": { "press": { "node": 0, "button": { "kind": "car", "floor": "G" } } } },
        { "at_ns": 90000000000, "do": { "traffic": { "passengers": 60, "pattern": "inter" } } }
    ]
}"#;

/// A building is shared with its run, and passengers come at all of its entrances.
#[test]
fn a_run_in_another_building_is_shared() {
    let mut run = Settings::from_json(CAR_PARK).and_then(Playground::new).expect("a run");
    // The labels of another building are shown meanwhile.
    let _other = Playground::new(small()).expect("a run");
    run.show_labels();
    run.advance(Duration::from_mins(3));
    let shared = serde_json::to_string(&run.run()).expect("it is JSON");
    drop(Playground::new(small()));
    let mut again = Settings::from_json(&shared).and_then(Playground::new).expect("a run");
    assert_eq!(again.run(), run.run());
    again.advance(run.world().now());
    assert_eq!(again.world().fingerprint(), run.world().fingerprint());
    let calls: BTreeSet<_> = run.world().services().iter().map(|it| it.call.to_string()).collect();
    for call in ["hall G rear up", "hall 1 down", "hall B1 to 1", "hall 1 to B1"] {
        assert!(calls.contains(call), "{call}: {calls:?}");
    }
    assert_eq!(run.world().violations(), []);
}

#[test]
fn a_building_that_can_not_be_is_refused_as_a_node_refuses_it() {
    let cases = [
        (r#""serves": ["B1", "G", "1"]"#, r#""serves": ["G", "1"]"#, "no car serves floor \"B1\""),
        (r#""height": 7"#, r#""height": 2"#, "must be above the one before it"),
        (r#""label": "1""#, r#""label": "G""#, "another floor is labelled \"G\" too"),
        (r#""serves": ["G", "1"]"#, r#""serves": ["G", "2"]"#, "there is no floor \"2\""),
    ];
    for (from, to, reason) in cases {
        let wrong = Settings::from_json(&CAR_PARK.replacen(from, to, 1));
        let wrong = wrong.and_then(Playground::new).expect_err(reason).to_string();
        assert!(wrong.contains(reason), "{wrong}");
    }
}

#[test]
fn messages_are_shown_and_drawn_while_they_are_watched() {
    let mut run = Playground::new(small()).expect("a run");
    let mut blind = Playground::new(small()).expect("a run");
    run.advance(Duration::from_secs(1));
    let time = Duration::from_millis(200);
    assert!(run.messages(time).is_none(), "nobody watches");
    run.watch(true);
    for _ in 0..20 {
        run.advance(time);
        let messages = run.messages(time).expect("they are recorded");
        assert!((messages.to - messages.from - 0.2).abs() < 1e-6);
        assert!(messages.ways.iter().all(|way| way.0 >= messages.from && way.0 <= messages.to));
    }
    run.act(fault(Fault::Kill(0)));
    run.act(fault(Fault::CutOneWay { from: 1, to: 2 }));
    run.advance(time);
    let messages = run.messages(time).expect("they are recorded");
    let fates: Vec<_> = messages.ways.iter().map(|way| (way.1, way.2, way.5)).collect();
    assert!(fates.contains(&(1, 2, "cut")) && fates.contains(&(2, 1, "received")), "{fates:?}");
    assert!(fates.contains(&(1, 0, "unheard")), "{fates:?}");
    assert_eq!(messages.states[0].last().map(|state| state.1), Some("down"));
    assert!(messages.kinds.iter().any(|kind| kind.count > 0), "{:?}", messages.kinds);
    assert!(run.drawing(time).is_some_and(|drawing| drawing.starts_with("<svg")));
    run.watch(false);
    assert!(run.messages(time).is_none());
    // A run that is watched is the same run.
    blind.advance(Duration::from_secs(5));
    blind.act(fault(Fault::Kill(0)));
    blind.act(fault(Fault::CutOneWay { from: 1, to: 2 }));
    blind.advance(time);
    assert_eq!(blind.world().fingerprint(), run.world().fingerprint());
}

#[test]
fn traffic_changes_and_is_shared() {
    let mut run = Playground::new(Settings { passengers: 0, ..small() }).expect("a run");
    run.advance(Duration::from_secs(30));
    assert!(run.world().services().is_empty(), "nobody came");
    let demand = Demand { passengers: 60, pattern: Pattern::Up };
    assert!(run.act(Input::Traffic(demand)));
    assert_eq!(run.picture(0).traffic, demand);
    let mut loads = BTreeSet::new();
    for _ in 0..120 {
        run.advance(Duration::from_secs(1));
        loads.extend((0..run.world().size()).map(|car| run.world().car(car).inputs().load));
    }
    assert!(loads.len() > 2 && loads.last() <= Some(&Some(95)), "they weigh something: {loads:?}");
    let lobby = Call::Hall(HallCall::new(Floor::BOTTOM, Direction::Up));
    let services = run.world().services();
    assert!(services.iter().filter(|service| service.call == lobby).count() > 3, "{services:?}");

    let mut again = Playground::new(run.run()).expect("a run");
    again.advance(run.world().now());
    assert_eq!(again.world().fingerprint(), run.world().fingerprint());
    assert_eq!(again.picture(0).traffic, demand);
}

/// Events have no name of a node: those of one node are never shown as those of another.
#[test]
fn another_viewpoint_has_its_own_events_from_the_beginning() {
    let mut run = Playground::new(small()).expect("a run");
    run.advance(Duration::from_secs(2));
    let first = run.picture(0);
    assert!(!first.goes_on, "nothing was shown before");
    run.advance(Duration::from_secs(1));
    assert!(run.picture(0).goes_on);
    let other = run.picture(1);
    assert!(!other.goes_on);
    let became: Vec<_> = other.events.iter().map(|event| event.report.name()).collect();
    assert!(became.contains(&"node_state"), "from its start on: {became:?}");
    run.act(fault(Fault::Kill(1)));
    assert!(!run.picture(1).goes_on, "another node says how it is");
}
