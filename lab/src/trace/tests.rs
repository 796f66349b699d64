use std::time::Duration;

use elevator_driver::{Button, Direction, Floor};
use elevator_fleet::election::ElectionSettings;
use elevator_fleet::wire::{NodeState, Protocol};

use super::recorder::MOST_ARROWS;
use super::*;
use crate::elections::{Conditions, Contestant, Situation, Trial};
use crate::recording::{Example, Subject};
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

fn states_at(trace: &Trace, at: Duration) -> Vec<Option<&NodeState>> {
    let mut states = vec![None; trace.nodes.len()];
    for state in trace.states.iter().take_while(|state| state.at <= at) {
        states[state.node] = state.state.as_ref();
    }
    states
}

fn masters_at(trace: &Trace, at: Duration) -> Vec<usize> {
    let states = states_at(trace, at).into_iter().enumerate();
    states.filter(|(_, state)| *state == Some(&NodeState::Master)).map(|(node, _)| node).collect()
}

#[test]
fn a_recorded_run_is_the_same_run() {
    for protocol in Protocol::ALL {
        let (mut plain, mut recorded) = (world(protocol, 4, 3), world(protocol, 4, 3));
        let window = Window::new(millis(1_600), millis(2_900));
        recorded.record(window);
        play(&mut plain);
        play(&mut recorded);
        assert_eq!(seen(&plain), seen(&recorded), "{protocol}");
        let trace = recorded.recorded();
        assert!(trace.messages.len() > 100);
        assert!(trace.messages.iter().all(|sent| window.contains(sent.at)));
        assert!(trace.marks.iter().all(|mark| window.contains(mark.at)));
        // The state of each node is known from the first moment on.
        let states = states_at(&trace, window.from);
        assert!(states.iter().all(Option::is_some), "{states:?}");
    }
    let campaign = Campaign::by_seed(2).under(ElectionSettings::of(Protocol::TokenRing));
    let plain = campaign.run().expect("a world");
    let recorded = campaign.record(Window::new(millis(0), millis(5_000))).expect("a world");
    assert_eq!(seen(&plain.world), seen(&recorded.world));
}

#[test]
fn a_trace_has_what_becomes_of_messages_and_what_happens() {
    let mut world = world(Protocol::Bully, 4, 1);
    world.record(Window::new(millis(0), millis(8_000)));
    play(&mut world);
    let trace = world.recorded();
    let ends = |is: fn(Fate) -> bool| trace.ways().filter(|(_, arrow)| is(arrow.fate)).count();
    assert!(ends(|fate| matches!(fate, Fate::Arrives(_))) > 1_000);
    assert!(ends(|fate| fate == Fate::Lost) > 100, "one in ten gets lost");
    assert!(ends(|fate| fate == Fate::Cut) > 10, "the partition");
    assert!(ends(|fate| matches!(fate, Fate::Waits(_))) > 10, "the suspended process");
    for (sent, arrow) in trace.ways() {
        assert!(arrow.fate.arrival().is_none_or(|at| at >= sent.at), "{arrow:?} of {sent:?}");
        assert_ne!(arrow.to, sent.from);
    }
    let bands: Vec<(&str, Option<usize>, bool)> =
        trace.bands.iter().map(|band| (band.what.as_str(), band.node, band.to.is_some())).collect();
    for (what, node) in [
        ("suspension", Some(1)),
        ("killed", Some(0)),
        ("partition B C | D", None),
        ("network cut", Some(2)),
    ] {
        assert!(bands.contains(&(what, node, true)), "{what} in {bands:?}");
    }
    for what in ["pressed: ", "lit: "] {
        assert!(trace.marks.iter().any(|mark| mark.what.starts_with(what)), "{what}");
    }
}

#[test]
fn a_band_ends_with_its_repair() {
    let mut world = world(Protocol::Bully, 4, 1);
    world.record(Window::new(millis(0), millis(1_000)));
    for fault in [
        Fault::Cut(0, 1),
        Fault::Cut(2, 3),
        Fault::Uncut(1, 0),
        Fault::DiskFull(1, true),
        Fault::DiskFull(2, true),
        Fault::DiskFull(2, false),
        Fault::Loss(20),
        Fault::Loss(30),
        Fault::Duplication(5),
        Fault::MainsCut,
        Fault::Partition(vec![vec![0, 1], vec![2, 3]]),
        Fault::CalmNetwork,
        Fault::Ring(vec![0, 1, 2, 3]),
    ] {
        world.inflict(fault);
    }
    let bands = world.recorded().bands;
    let (over, lasts): (Vec<_>, Vec<_>) = bands.iter().partition(|band| band.to.is_some());
    let over: Vec<&str> = over.iter().map(|band| band.what.as_str()).collect();
    let ended = ["cut A B", "full disk", "loss 20 %", "loss 30 %", "duplication"];
    assert_eq!(over[..5], ended);
    assert_eq!(over[5..], ["partition A B | C D"], "the ring takes its place, a cut stays");
    let lasts: Vec<_> = lasts.iter().map(|band| (band.node, band.what.as_str())).collect();
    let lasting = [(None, "cut C D"), (Some(1), "full disk"), (None, "ring partition A B C D")];
    assert_eq!(lasts, lasting);
}

/// What is looked at while it is recorded is what a recording of that part has.
#[test]
fn a_recording_without_an_end_forgets_what_is_old() {
    let (mut looked_at, mut whole) = (world(Protocol::Bully, 4, 1), world(Protocol::Bully, 4, 1));
    for world in [&mut looked_at, &mut whole] {
        world.record(Window::new(millis(0), Duration::MAX));
        world.start_all();
    }
    let faults = [(5, Fault::Suspend(2)), (7, Fault::Kill(0)), (11, Fault::Resume(2))];
    let mut recent = None;
    for round in 0..40 {
        for world in [&mut looked_at, &mut whole] {
            for (_, fault) in faults.iter().filter(|(at, _)| *at == round) {
                world.inflict(fault.clone());
            }
            world.run_for(millis(100));
        }
        recent = looked_at.recent(looked_at.now().saturating_sub(millis(300)));
    }
    let (recent, all) = (recent.expect("a recording"), whole.recorded());
    let from = whole.now().saturating_sub(millis(300));
    let ways = |trace: &Trace| -> Vec<(Duration, usize, Arrow)> {
        let ways = trace.ways().filter(|(sent, _)| sent.at >= from);
        ways.map(|(sent, arrow)| (sent.at, sent.from, *arrow)).collect()
    };
    assert!(recent.messages.len() > 20 && recent.messages[0].at >= from);
    assert_eq!(ways(&recent), ways(&all));
    assert_eq!(states_at(&recent, from), states_at(&all, from));
    let is_down = |trace: &Trace| trace.bands.iter().any(|band| band.what == "killed");
    assert!(is_down(&recent) && is_down(&all), "it goes on");
    assert!(whole.recent(from).is_none(), "it has ended");
}

#[test]
fn what_exceeds_the_bounds_is_counted() {
    let mut world = world(Protocol::Ballot, 16, 1);
    world.record(Window::new(millis(0), Duration::from_mins(2)));
    world.start_all();
    world.run_for(Duration::from_mins(2));
    let mut trace = world.recorded();
    assert_eq!(trace.ways().count(), MOST_ARROWS);
    assert!(trace.left_out > 0);
    // A drawing has still less.
    trace.only = vec!["beacon".to_owned()];
    let drawing = svg(&trace);
    assert!(drawing.len() < 1_500_000, "{} bytes", drawing.len());
    assert!(drawing.contains(" more arrows are not drawn"));
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
fn a_situation_is_drawn_until_one_leads() {
    for protocol in Protocol::ALL {
        let trace = merge_of(protocol);
        let masters = trace.states.iter().map(|state| masters_at(&trace, state.at).len());
        assert!(masters.max() >= Some(2), "{protocol}: two halves");
        assert_eq!(masters_at(&trace, trace.window.to).len(), 1, "{protocol}");
        let drawing = svg(&trace);
        assert!(drawing.len() < 300_000, "{protocol}: {} bytes", drawing.len());
        assert!(drawing.contains(&format!("--election {protocol} ")));
    }
}

#[test]
fn a_filter_shows_what_it_names() {
    let trace = merge_of(Protocol::Bully);
    let story_of = |trace: &Trace, only: &str| {
        let trace = Trace { only: vec![only.to_owned()], ..trace.clone() };
        trace.check().map(|()| story(&trace))
    };
    let beacons = story_of(&trace, "beacon").expect("there are beacons");
    assert!(beacons.contains(": beacon (") && !beacons.contains(": master ("));
    let masters = story_of(&trace, "master").expect("there are announcements");
    assert!(!masters.contains(": beacon (") && masters.contains(": master ("));
    let error = story_of(&trace, "vote").expect_err("bully has no votes");
    assert!(error.to_string().contains("use one of election, link"), "{error}");
    assert_eq!(error.to_string().matches(" beacon").count(), 1, "{error}");
    let announced = story_of(&merge_of(Protocol::LowestIp), "announcement").expect("masters");
    assert!(announced.contains(": announcement (") && !announced.contains(" to \n"));
}

/// What each example shows: who leads when its drawing begins and when it ends, and how those lines
/// of its story begin that have one of these words.
type Claim = (&'static [usize], &'static [usize], &'static str, &'static str);

const CLAIMS: [Claim; 4] = [
    // C, which both have asked, never announces itself.
    (
        &[3],
        &[1],
        "C is down|: election|: answer|: master",
        "A: election to B|A: election to C|B: answer to A|B: election to C|C: answer to A|\
         C: answer to B|C is down|A: election to B|B: answer to A|B: master",
    ),
    // Each has asked before any is answered.
    (
        &[0, 1, 2],
        &[2],
        ": wait|: busy|: agreed|: result|: no longer holder",
        "A: wait to C|C: wait to B|B: wait to A|C: busy to A|B: busy to C|A: busy to B",
    ),
    (&[0, 1, 2], &[0], " is ", ""),
    (&[0, 15], &[0], " is ", ""),
];

/// `LIFTMESH_DRAW=1 cargo test -p liftmesh-lab --lib documented` draws them anew. If a protocol has
/// changed so that an example shows something else, it needs another seed.
#[test]
fn the_documented_examples_show_what_they_claim() {
    let drawings = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/traces");
    for (example, (before, after, words, lines)) in Example::ALL.into_iter().zip(CLAIMS) {
        let trace = example.trace().expect("a world");
        let name = example.name;
        let story = story(&trace);
        let has_word = |line: &&str| words.split('|').any(|word| line.contains(word));
        let mut told = story.lines().map(|line| line[12..].trim_start()).filter(has_word);
        let is_told = |claim| told.next().is_some_and(|line| line.starts_with(claim));
        assert!(lines.split('|').all(is_told), "{name}:\n{story}");
        assert_eq!(masters_at(&trace, trace.window.from), before, "{name}");
        assert_eq!(masters_at(&trace, trace.window.to), after, "{name}");
        let drawn = svg(&trace);
        assert!(drawn.len() < 300_000, "{name}: {} bytes", drawn.len());
        let file = drawings.join(format!("{name}.svg"));
        if std::env::var_os("LIFTMESH_DRAW").is_some() {
            std::fs::write(&file, &drawn).expect("the drawing is written");
        }
        let shown = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(shown == drawn, "{} is another drawing", file.display());
    }
}
