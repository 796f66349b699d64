use std::time::Duration;

use elevator_driver::{Button, Direction, Floor};
use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::wire::{NodeState, Protocol};

use super::*;
use crate::elections::{Conditions, Contestant, Situation, Trial};
use crate::{Campaign, Fault, World, WorldSettings};

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn world(protocol: Protocol, nodes: usize, seed: u64) -> World {
    let mut settings = WorldSettings::new(nodes, seed);
    settings.election = ElectionSettings::of(protocol);
    settings.weather.loss = 10;
    settings.weather.duplication = 10;
    World::new(settings).expect("a world")
}

/// Presses, and faults of every sort that a drawing shows.
fn play(world: &mut World) {
    world.start_all();
    world.run_for(millis(1_500));
    let up = Button::Hall(Floor::BOTTOM, Direction::Up);
    for fault in [
        Fault::Suspend(1),
        Fault::Kill(0),
        Fault::Resume(1),
        Fault::Partition(vec![vec![1, 2], vec![3]]),
        Fault::Restart(0),
        Fault::Heal,
        Fault::NetworkCut(2, true),
        Fault::NetworkCut(2, false),
    ] {
        world.press(2, up);
        world.inflict(fault);
        world.run_for(millis(700));
    }
}

/// Everything that can be seen of a world.
fn seen(world: &World) -> String {
    let states: Vec<Option<&NodeState>> =
        (0..world.size()).map(|node| world.node_state(node)).collect();
    let (traffic, mesh) = (world.election_traffic(), world.mesh_traffic());
    let story = world.story(usize::MAX);
    format!("{} {states:?} {traffic:?} {mesh:?}\n{story}", world.events())
}

#[test]
fn a_recorded_run_is_the_same_run() {
    for protocol in Protocol::ALL {
        let (mut plain, mut recorded) = (world(protocol, 4, 3), world(protocol, 4, 3));
        recorded.record(Window::new(millis(1_000), millis(4_000)));
        play(&mut plain);
        play(&mut recorded);
        assert_eq!(seen(&plain), seen(&recorded), "{protocol}");
        assert!(recorded.recorded().messages.len() > 100);
    }
}

#[test]
fn a_recorded_campaign_is_the_same_campaign() {
    let campaign = Campaign::by_seed(2).under(ElectionSettings::of(Protocol::TokenRing));
    let plain = campaign.run().expect("a world");
    let recorded = campaign.record(Window::new(millis(0), millis(5_000))).expect("a world");
    assert_eq!(seen(&plain.world), seen(&recorded.world));
}

#[test]
fn a_trace_holds_no_more_than_its_window() {
    let mut world = world(Protocol::Ballot, 4, 1);
    let window = Window::new(millis(1_600), millis(2_900));
    world.record(window);
    play(&mut world);
    let trace = world.recorded();
    assert!(trace.messages.iter().all(|sent| window.contains(sent.at)));
    assert!(trace.marks.iter().all(|mark| window.contains(mark.at)));
    assert!(trace.arrows.iter().all(|arrow| arrow.message < trace.messages.len()));
    // The state of each node is known from the first moment on.
    let states = trace.states_at(window.from);
    assert_eq!(states.len(), 4);
    assert!(states.iter().all(Option::is_some), "{states:?}");
}

#[test]
fn an_arrow_ends_as_its_message_does() {
    let mut world = world(Protocol::Bully, 4, 1);
    world.record(Window::new(millis(0), millis(8_000)));
    play(&mut world);
    let trace = world.recorded();
    let ends = |is: fn(Fate) -> bool| trace.arrows.iter().filter(|arrow| is(arrow.fate)).count();
    assert!(ends(|fate| matches!(fate, Fate::Received(_))) > 1_000);
    assert!(ends(|fate| fate == Fate::Lost) > 100, "one in ten gets lost");
    assert!(ends(|fate| fate == Fate::Cut) > 10, "the partition");
    assert!(ends(|fate| matches!(fate, Fate::Waits(_))) > 10, "the suspended process");
    for arrow in &trace.arrows {
        let sent = trace.messages[arrow.message].at;
        assert!(arrow.fate.arrival().is_none_or(|at| at >= sent), "{arrow:?} sent at {sent:?}");
        assert_ne!(arrow.to, trace.messages[arrow.message].from);
    }
    let bands: Vec<(&str, Option<usize>, bool)> =
        trace.bands.iter().map(|band| (band.what.as_str(), band.node, band.to.is_some())).collect();
    assert!(bands.contains(&("suspended", Some(1), true)), "{bands:?}");
    assert!(bands.contains(&("killed", Some(0), true)), "{bands:?}");
    assert!(bands.contains(&("partition B C | D", None, true)), "{bands:?}");
    assert!(bands.contains(&("network cut", Some(2), true)), "{bands:?}");
}

/// What is looked at while it is recorded is what a recording of that part has.
#[test]
fn a_recording_without_an_end_forgets_what_is_old() {
    let (mut looked_at, mut whole) = (world(Protocol::Bully, 4, 1), world(Protocol::Bully, 4, 1));
    looked_at.record(Window::new(millis(0), Duration::MAX));
    whole.record(Window::new(millis(0), Duration::MAX));
    for world in [&mut looked_at, &mut whole] {
        world.start_all();
    }
    for round in 0..40 {
        for world in [&mut looked_at, &mut whole] {
            match round {
                5 => world.inflict(Fault::Suspend(2)),
                7 => world.inflict(Fault::Kill(0)),
                11 => world.inflict(Fault::Resume(2)),
                13 => world.inflict(Fault::Cut(1, 2)),
                _ => {}
            }
            world.run_for(millis(100));
        }
        let from = looked_at.now().saturating_sub(millis(300));
        let recent = looked_at.recent(from).expect("a recording");
        assert!(recent.messages.iter().all(|sent| sent.at >= from));
        assert!(recent.messages.len() > 20, "{}", recent.messages.len());
        assert_eq!(recent.states_at(from).len(), 4);
    }
    let from = looked_at.now().saturating_sub(millis(300));
    let recent = looked_at.recent(from).expect("a recording").clone();
    let all = whole.recorded();
    let ways = |trace: &Trace| -> Vec<(Duration, usize, usize, Fate)> {
        let way = |arrow: &Arrow| {
            let sent = &trace.messages[arrow.message];
            (sent.at, sent.from, arrow.to, arrow.fate)
        };
        trace.arrows.iter().map(way).filter(|(at, ..)| *at >= from).collect()
    };
    assert_eq!(ways(&recent), ways(&all));
    assert_eq!(recent.states_at(from), all.states_at(from));
    let cut = |trace: &Trace| trace.bands.iter().any(|band| band.what == "B – C cut");
    assert!(cut(&recent) && cut(&all), "it goes on");
    assert!(whole.recent(from).is_none(), "it has ended");
}

#[test]
fn lamps_and_orders_are_marks() {
    let mut world = world(Protocol::Senior, 4, 1);
    world.record(Window::new(millis(0), millis(8_000)));
    play(&mut world);
    let trace = world.recorded();
    for kind in [MarkKind::Pressed, MarkKind::Lit, MarkKind::LinkUp, MarkKind::LinkDown] {
        assert!(trace.marks.iter().any(|mark| mark.kind == kind), "{kind:?}");
    }
}

#[test]
fn what_exceeds_the_bounds_is_counted() {
    let mut world = world(Protocol::Ballot, 16, 1);
    world.record(Window::new(millis(0), Duration::from_mins(2)));
    world.start_all();
    world.run_for(Duration::from_mins(2));
    let trace = world.recorded();
    assert_eq!(trace.arrows.len(), MOST_ARROWS);
    assert!(trace.messages.len() <= MOST_MESSAGES && trace.marks.len() <= MOST_NOTES);
    assert!(trace.left_out > 0);
}

fn merge_of(protocol: Protocol) -> Trace {
    let trial = Trial {
        contestant: Contestant::of(protocol),
        size: 4,
        loss: 5,
        conditions: Conditions::Steady,
        situation: Situation::Merge,
        watch: Duration::ZERO,
        seed: 2,
    };
    Subject::Situation(trial).trace(None, None).expect("a small fleet")
}

#[test]
fn a_situation_ends_with_one_master() {
    for protocol in Protocol::ALL {
        let trace = merge_of(protocol);
        let masters = trace.states.iter().map(|state| trace.masters_at(state.at).len());
        assert!(masters.max() >= Some(2), "{protocol}: two halves");
        assert_eq!(trace.masters_at(trace.window.to).len(), 1, "{protocol}");
    }
}

/// Whatever is drawn is well-formed, within the drawing, and small enough for a document.
#[test]
fn a_drawing_is_well_formed() {
    for protocol in Protocol::ALL {
        let trace = merge_of(protocol);
        let drawing = svg(&trace, &Selection::default());
        assert!(drawing.len() < 300_000, "{protocol}: {} bytes", drawing.len());
        assert_eq!(drawing.matches("<text").count(), drawing.matches("</text>").count());
        assert!(!drawing.contains("NaN") && !drawing.contains("inf"), "{protocol}");
        for node in &trace.nodes {
            assert!(drawing.contains(&format!(">{}</text>", node.name)), "{protocol}");
        }
        assert!(drawing.contains(&format!("--election {protocol} ")));
    }
}

#[test]
fn a_filter_shows_what_it_names() {
    let trace = merge_of(Protocol::Bully);
    let story_of = |only: &[&str], nodes: &[&str]| {
        let only = only.iter().map(|name| (*name).to_owned()).collect();
        let nodes = nodes.iter().filter_map(|name| NodeId::new(name).ok()).collect();
        let selection = Selection { only, nodes };
        selection.check(&trace).map(|()| story(&trace, &selection))
    };
    let beacons = story_of(&["beacon"], &[]).expect("there are beacons");
    assert!(beacons.contains(": beacon (") && !beacons.contains(": master ("));
    let masters = story_of(&["master"], &["A", "C"]).expect("there are announcements");
    assert!(!masters.contains(": beacon (") && !masters.contains("B: "));
    let error = story_of(&["vote"], &[]).expect_err("bully has no votes");
    assert!(error.to_string().contains("there are election, link"), "{error}");
    assert_eq!(error.to_string().matches(" beacon").count(), 1, "{error}");
    assert_eq!(story_of(&[], &["Z"]), Err(UnknownFilter::Node("Z".to_owned())));
}

/// A drawing that goes on after the fleet has settled shows what the fleet does then.
#[test]
fn a_recording_goes_on_to_the_end_of_its_window() {
    let trial = Trial {
        contestant: Contestant::of(Protocol::LowestIp),
        size: 2,
        loss: 0,
        conditions: Conditions::Steady,
        situation: Situation::Start,
        watch: Duration::ZERO,
        seed: 1,
    };
    let drawn = |from: Option<u64>, to: Option<u64>| {
        let trace = Subject::Situation(trial).trace(from.map(millis), to.map(millis));
        let trace = trace.expect("a small fleet");
        let last = trace.messages.last().expect("beacons").at;
        assert!(last + millis(100) > trace.window.to, "{last:?} of {:?}", trace.window);
        (trace.window.from, trace.window.to)
    };
    assert_eq!(drawn(Some(10), Some(5_000)), (millis(10), millis(5_000)));
    assert_eq!(drawn(Some(9_000), None), (millis(9_000), millis(11_000)), "after the usual end");
}

#[test]
fn a_broadcast_that_nobody_hears_goes_to_nobody() {
    let story = story(
        &merge_of(Protocol::LowestIp),
        &Selection {
            only: vec!["announcement".to_owned()],
            nodes: vec![NodeId::new("A").expect("a name")],
        },
    );
    assert!(story.contains("A: announcement (") && !story.contains(" to \n"), "{story}");
}

#[test]
fn a_subject_names_the_command_that_draws_it() {
    let of_campaign = |duration| {
        let (protocol, preset) = (Protocol::Ballot, Preset::Source);
        Subject::Campaign { seed: 7, protocol, preset, duration }.to_string()
    };
    let command = "liftmesh lab trace --campaign 7 --election ballot --preset source";
    assert_eq!(of_campaign(Campaign::USUAL_DURATION), command);
    let longer = Duration::from_millis(90_500);
    assert_eq!(of_campaign(longer), format!("{command} --duration 1m30s500ms"));
    assert!(merge_of(Protocol::Senior).command.ends_with("--situation merge --seed 2"));
}

/// `LIFTMESH_DRAW=1 cargo test -p liftmesh-lab --lib documented` draws them anew.
#[test]
fn the_documented_examples_show_what_they_claim() {
    let drawings = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/traces");
    for example in Example::ALL {
        let trace = example.trace().expect("a seed shows it");
        let name = example.name();
        let drawn = svg(&trace, &example.selection());
        assert!(drawn.len() < 300_000, "{name}: {} bytes", drawn.len());
        let file = drawings.join(format!("{name}.svg"));
        if std::env::var_os("LIFTMESH_DRAW").is_some() {
            std::fs::write(&file, &drawn).expect("the drawing is written");
        }
        let shown = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(shown == drawn, "{} is another drawing", file.display());
    }
}

#[test]
fn an_example_that_no_seed_shows_is_an_error() {
    let first = Example::BallotTie.first_of([2, 3]);
    let error = first.expect_err("their votes are not tied");
    assert_eq!(
        error.to_string(),
        "none of the seeds tried shows what the example ballot-tie is about; choose another example"
    );
}
