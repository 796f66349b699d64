use super::kinds::KINDS;
use super::*;
use crate::{Act, Step};

fn campaign(seed: u64) -> Outcome {
    Campaign::by_seed(seed).lasting(Duration::from_secs(15)).run().expect("a world")
}

#[test]
fn a_script_runs_the_same_as_what_it_was_taken_from() {
    let chance = campaign(1);
    assert_ne!(campaign(2).hash(), chance.hash(), "another seed, another run");
    let file = serde_json::to_string(&chance.script).expect("a file");
    let script: Script = serde_json::from_str(&file).expect("a script");
    assert_eq!(script, chance.script);
    assert_eq!(script.check(), Ok(()));
    let again = script.run().expect("a world");
    assert_eq!(again.hash(), chance.hash());
    assert_eq!(again.violations, chance.violations);
    assert_eq!(again.tally, chance.tally);
    assert_eq!(again.script, chance.script);
}

/// Nobody can keep an order when every disk fails.
fn with_every_disk_failed(seed: u64) -> Script {
    let mut script = campaign(seed).script;
    let pressed = Duration::from_millis(11_700);
    // The lamp is lit by then.
    let at = Duration::from_secs(12);
    let behind = script.steps.iter().position(|step| step.at > at).expect("it lasts longer");
    let fails = |node| Step { at, act: Act::Fault(Fault::DiskFail(node)) };
    // Where no idle car waits.
    let top = script.world.floors.top();
    let button = elevator_driver::Button::Hall(top, elevator_driver::Direction::Down);
    let failures = (0..script.world.nodes).map(fails);
    script.steps.splice(behind..behind, failures);
    let behind = script.steps.iter().position(|step| step.at > pressed).expect("it lasts longer");
    let press = Step { at: pressed, act: Act::Press { node: 0, button } };
    script.steps.splice(behind..behind, [press]);
    script
}

/// Every disk fails, and somebody presses a button: two nodes are the smallest fleet for that.
#[test]
fn a_failure_shrinks_to_what_it_takes() {
    let script = with_every_disk_failed(1);
    let all = script.run().expect("a world");
    assert!(all.violations.iter().any(|wrong| wrong.id == "O1"), "{:?}", all.violations);
    let mut runs = 0;
    let shrunk = script.shrink("O1", 200, |progress| {
        assert!(progress.runs >= runs);
        runs = progress.runs;
        true
    });
    let shrunk = shrunk.expect("a world").expect("it fails");
    assert!(shrunk.violations.iter().any(|wrong| wrong.id == "O1"), "{:?}", shrunk.violations);
    let again = shrunk.script.run().expect("a world");
    assert_eq!(again.violations, shrunk.violations);
    let Size { steps, nodes, time } = shrunk.after;
    assert_eq!((steps, nodes), (3, 2), "{:#?}", shrunk.script.steps);
    // The prelude, and the time in which another disk may be being written.
    assert!(time < Duration::from_secs(8), "{time:?}");
    assert!(shrunk.runs < 200, "{}", shrunk.runs);
}

#[test]
fn shrinking_ends_when_nothing_fails_or_it_is_told_to() {
    let script = campaign(1).script;
    assert_eq!(script.shrink("O1", 10, |_| true).expect("a world"), None);
    let script = with_every_disk_failed(1);
    let shrunk = script.shrink("O1", 200, |_| false).expect("a world").expect("it fails");
    assert_eq!(shrunk.runs, 2, "one that fails, and one that shows what is left");
}

#[test]
fn a_script_that_can_not_be_run_is_refused() {
    let script =
        Campaign::by_seed(1).lasting(Duration::from_secs(2)).run().expect("a world").script;
    let wrong = |change: fn(&mut Script)| {
        let mut script = script.clone();
        change(&mut script);
        script.check().expect_err("it is wrong").to_string()
    };
    let message = wrong(|script| script.world.nodes = 1);
    assert_eq!(message, "a script has 2 to 200 nodes, not 1");
    let message = wrong(|script| script.steps[1].act = Act::Fault(Fault::Kill(9)));
    assert!(message.starts_with("step 2 names node 9, counted from 0"), "{message}");
    let message = wrong(|script| script.steps[1].at = Duration::ZERO);
    assert!(message.starts_with("step 2 is out of order"), "{message}");
    let message = wrong(|script| script.until = PRELUDE);
    assert!(message.ends_with("is out of order: steps ascend in time, from 1s to `until_ns`"));
}

#[test]
fn a_run_that_says_nothing_is_void() {
    let minute = Duration::from_mins(1);
    let tally = |placed, changes_of_master| Tally {
        placed,
        changes_of_master,
        faults: [("kill", 3)].into(),
        ..Tally::default()
    };
    assert_eq!(is_void(&tally(40, 2), minute, &["kill"].into()), None);
    let few = Void::FewOrders { placed: 10, least: 20 };
    assert_eq!(is_void(&tally(10, 2), minute, &["kill"].into()), Some(few));
    assert_eq!(is_void(&tally(10, 2), minute / 2, &["kill"].into()), None);
    assert_eq!(is_void(&tally(40, 0), minute, &["kill"].into()), Some(Void::OneMaster));
    assert_eq!(is_void(&tally(40, 2), minute, &["kill", "cut"].into()), Some(Void::Missing("cut")));
}

/// In so short a time chance leaves some masters alone.
#[test]
fn a_master_that_has_led_all_the_time_is_killed_at_the_end() {
    for seed in 1..=2 {
        let campaign = Campaign::by_seed(seed).lasting(Duration::from_secs(1));
        let tally = campaign.run().expect("a world").tally;
        assert!(tally.changes_of_master > 0, "seed {seed}");
    }
}

#[test]
fn what_is_void_has_not_passed() {
    use elevator_fleet::election::Preset;
    use elevator_fleet::wire::Protocol;

    let mut hashes = BTreeSet::new();
    for (void, seeds, is_void) in
        [(1, 10, false), (2, 10, true), (1, 1, true), (5, 100, false), (6, 100, true)]
    {
        let mut summary = Summary::new(Protocol::LowestIp, Preset::Fleet);
        for seed in 0..seeds {
            let void = (seed < void).then_some(Void::OneMaster);
            let (violations, tally) = (Vec::new(), Tally::default());
            summary.add(&Verdict { seed, violations, void, tally, hash: seed });
        }
        assert_eq!((summary.passed(), summary.is_void()), (seeds - void, is_void));
        hashes.insert(summary.hash());
    }
    assert_eq!(hashes.len(), 3, "one for each number of seeds");
}

/// Each row of the table happens, and is as FAULTS says.
#[test]
fn every_kind_of_fault_happens_and_is_documented() {
    let documented = include_str!("../../../docs/FAULTS.md");
    let (_, table) = documented.split_once("| kind | range | healed |").expect("the table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    assert_eq!(rows.count(), KINDS.len(), "rows of kinds that are gone");
    for (kind, row) in KINDS.iter().zip(fault_table()) {
        assert!(documented.contains(&row), "FAULTS lacks {row}");
        let settings = WorldSettings { key: true, ..WorldSettings::new(4, 1) };
        let mut world = World::new(settings).expect("a world");
        world.start_all();
        let mut fate = Fate::new(1, 4, true);
        fate.enabled = vec![(kind, 100)];
        for _ in 0..200 {
            if !world.inflicted().contains_key(kind.name) {
                world.run_for(Duration::from_millis(500));
                fate.strikes(&mut world);
            }
        }
        let inflicted = world.inflicted();
        assert!(inflicted.contains_key(kind.name), "{} is not in {inflicted:?}", kind.name);
        let is_known = |it: &str| it == Fault::REPAIR || KINDS.iter().any(|kind| kind.name == it);
        assert!(inflicted.keys().all(|it| is_known(it)), "{inflicted:?}");
    }
}
