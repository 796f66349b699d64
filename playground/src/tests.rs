use elevator_driver::{Button, Direction, Floor};
use liftmesh_lab::Fault;

use super::*;

fn small() -> Settings {
    Settings { cars: 3, floors: 5, ..Settings::default() }
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
    assert!(run.act(Act::Fault(Fault::Kill(0))));
    run.advance(Duration::from_millis(1_001));
    let button = Button::Hall(Floor::BOTTOM, Direction::Up);
    assert!(run.act(Act::Press { node: 1, button }));
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
    run.act(Act::Fault(Fault::Kill(2)));
    run.act(Act::Fault(Fault::Cut(0, 1)));
    run.advance(Duration::from_secs(1));
    let second = run.picture(2);
    assert!(!second.nodes[2].running);
    assert_eq!(second.from.as_deref(), Some("A"), "the next one that runs");
    assert!(!second.events.is_empty(), "it has noticed");
    assert_eq!(second.cut, [(0, 1)]);
    let json = serde_json::to_value(&second).expect("it is JSON");
    assert_eq!(json["state"]["fleet"]["node"], "A");
    assert_eq!(json["events"][0]["at"].as_str().map(str::len), Some(24));
}

#[test]
fn impossible_settings_are_refused_with_a_reason() {
    let step = Step { at: Duration::from_secs(1), act: Act::Fault(Fault::Kill(3)) };
    let cases = [
        (Settings { cars: 1, ..small() }, "cars: 1 is not within 2 to 32"),
        (Settings { floors: 65, ..small() }, "floors: 65 is not within 2 to 64"),
        (Settings { election: "luck".to_owned(), ..small() }, "there is no election protocol"),
        (Settings { steps: vec![step], ..small() }, "step 1 of the run is impossible"),
    ];
    for (settings, reason) in cases {
        let wrong = Playground::new(settings).expect_err(reason).to_string();
        assert!(wrong.contains(reason), "{wrong}");
    }
}

#[test]
fn an_act_of_a_node_that_is_not_there_is_refused() {
    let mut run = Playground::new(small()).expect("a run");
    assert!(!run.act(Act::Fault(Fault::Kill(9))));
    assert!(run.run().steps.is_empty());
}

#[test]
fn messages_are_drawn() {
    let mut run = Playground::new(small()).expect("a run");
    run.advance(Duration::from_secs(1));
    let drawing = run.messages(Duration::from_millis(200));
    assert!(drawing.starts_with("<svg"), "{}", &drawing[..20]);
}

#[test]
fn a_node_without_links_is_not_shown_as_cut_off_itself() {
    let mut run = Playground::new(small()).expect("a run");
    run.act(Act::Fault(Fault::Cut(0, 1)));
    run.act(Act::Fault(Fault::Cut(0, 2)));
    assert!(!run.picture(1).nodes[0].isolated, "there is no network to repair, but two links");
    run.act(Act::Fault(Fault::NetworkCut(1, true)));
    assert!(run.picture(0).nodes[1].isolated);
}
