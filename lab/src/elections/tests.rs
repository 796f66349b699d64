use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use elevator_fleet::election::ElectionSettings;
use elevator_fleet::wire::Protocol;

use super::*;

/// Every protocol, in small fleets on a sound network.
fn small(situations: &[Situation]) -> Comparison {
    Comparison {
        contestants: Contestant::list("all").expect("contestants"),
        sizes: vec![2, 3],
        losses: vec![0],
        conditions: vec![Conditions::Steady],
        situations: situations.to_vec(),
        watch: Duration::from_secs(3),
        seed: 7,
        rounds: 2,
    }
}

fn runs(comparison: &Comparison) -> Vec<Run> {
    comparison.run(|_| ()).expect("small fleets")
}

fn listed(broken: &[Broken]) -> String {
    broken.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// C3, B2 to B6, B4, M1, M3 to M9, T3, T7, T8, V2 to V7, V4, V5, V12: every protocol, as in the fleet
/// and as in its source, settles every situation within its bound, with at most 4 n² messages, which
/// grow as n² at most; and `bully` replaces a dead master with 3 n. With loss, a ring of two may
/// rejoin more than once as it starts, and then costs more (ELECTIONS).
#[test]
fn every_protocol_keeps_its_bounds() {
    let settling = Situation::ALL.into_iter().filter(|situation| situation.settles());
    let fleet = Comparison {
        sizes: vec![2, 4, 8, 16],
        losses: vec![0, 5],
        rounds: 1,
        ..small(&settling.collect::<Vec<_>>())
    };
    let sources = Contestant::list("all:source").expect("contestants");
    // There a lost master may be missed after 5 minutes, so these fleets are small.
    let source = Comparison { contestants: sources, sizes: vec![4], rounds: 1, ..fleet.clone() };
    let runs = [runs(&fleet), runs(&source)].concat();
    for run in &runs {
        let Trial { contestant, size, loss, situation, .. } = run.trial;
        let announces = contestant == Contestant::of(Protocol::Bully) && loss == 0;
        if announces && situation == Situation::MasterDead {
            // Usually the highest survivor announces itself at once.
            assert!(run.excess() <= crate::statistics::number(3 * size), "{run:?}");
        }
    }
    let mut broken = check(&runs);
    let known = "token-ring, 2 nodes, loss 5 %, steady, start: ";
    broken.retain(|broken| {
        let message = broken.to_string();
        !message.strip_prefix(known).is_some_and(|rest| rest.contains(" messages, more than "))
    });
    assert!(broken.is_empty(), "{}", listed(&broken));
}

/// What is named twice counts once: the same seeds twice would halve the confidence intervals.
#[test]
fn the_same_comparison_gives_the_same_runs_in_the_order_of_its_trials() {
    let comparison = Comparison { rounds: 1, ..small(&Situation::ALL) };
    let done = AtomicUsize::new(0);
    let once = comparison.run(|_| {
        done.fetch_add(1, Ordering::Relaxed);
    });
    let once = once.expect("small fleets");
    assert_eq!(once, runs(&comparison));
    let trials = comparison.trials();
    assert_eq!(done.into_inner(), trials.len());
    assert_eq!(once.iter().map(|run| run.trial).collect::<Vec<_>>(), trials);
    let contestants = comparison.contestants.repeat(2);
    let twice = Comparison { contestants, sizes: vec![2, 3, 2], losses: vec![0, 0], ..comparison };
    assert_eq!(twice.trials(), trials);
    let cascades = trials.iter().filter(|trial| trial.situation == Situation::Cascade);
    assert!(cascades.clone().all(|trial| trial.size == 3));
    assert_eq!(cascades.count(), 5);
}

/// What happened is what the situation says, as far as masters show it.
#[test]
fn situations_differ_in_what_they_do_to_masters() {
    for run in runs(&Comparison { rounds: 1, ..small(&Situation::ALL) }) {
        let Trial { situation, contestant, .. } = run.trial;
        let rotates = contestant.rotates();
        assert!(run.prepared, "{run:?}");
        assert_eq!(run.took.is_some(), situation.settles(), "{run:?}");
        assert!(situation.settles() || run.watched == Duration::from_secs(3), "{run:?}");
        match situation {
            // The old master is gone, and the new one needs a moment.
            Situation::MasterDead | Situation::PowerLoss | Situation::MasterHung => {
                assert!(run.without_master.total > Duration::ZERO, "{run:?}");
                assert!(rotates || run.changes >= 1, "{run:?}");
            }
            Situation::Cascade => assert!(rotates || run.changes >= 2, "{run:?}"),
            Situation::Quiet => {
                assert_eq!((run.changes, run.two_masters.total), (0, Duration::ZERO), "{run:?}");
                // While the mastership is handed over, nobody is master.
                let longest = Duration::from_millis(if rotates { 2 } else { 0 });
                assert!(run.without_master.longest <= longest, "{run:?}");
            }
            _ => {}
        }
    }
}

#[test]
fn contestants_are_told_by_their_names() {
    let names = |list: &str| match Contestant::list(list) {
        Ok(found) => found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        Err(error) => error.to_string(),
    };
    for one in ["lowest-ip", "senior:own-detection", "bully:source:numbers", "raft"] {
        assert_eq!(names(one), one);
    }
    for (list, wanted) in [
        ("all", "lowest-ip bully senior ballot token-ring"),
        ("controls", "raft chang-roberts invitation"),
        ("all:own-detection:numbers", "bully:own-detection:numbers"),
        ("controls:reliable", "chang-roberts:reliable invitation:reliable"),
        ("raft:source", "raft has no variant source; it has pre-vote"),
        (
            "all:control-unit:numbers",
            "all:control-unit:numbers: none has all of these variants; name contestants one by one",
        ),
        (
            "leader",
            "unknown contestant leader; choose from lowest-ip, bully, senior, ballot, \
             token-ring, raft, chang-roberts, invitation",
        ),
    ] {
        assert_eq!(names(list), wanted);
    }
    for wrong in ["", "raft-style", "bully:", "bully:regular-leader", "all:sauce", "almost"] {
        assert!(Contestant::list(wrong).is_err(), "{wrong}");
    }
}

/// Every variant changes something about its protocol.
#[test]
fn variants_settle_and_differ() {
    let contestants = [
        "bully:own-detection",
        "bully:numbers",
        "senior:own-detection",
        "senior:control-unit",
        "ballot:regular-leader",
        "all:equal-timeouts",
    ];
    let contestants = contestants.iter().flat_map(|name| Contestant::list(name).expect("known"));
    let comparison =
        Comparison { contestants: contestants.collect(), ..small(&[Situation::PowerLoss]) };
    for run in runs(&comparison) {
        assert!(run.took.is_some(), "{run:?}");
        let settings = run.trial.contestant.settings(3, 1);
        let plain = crate::WorldSettings::new(3, 1);
        let is_changed = settings.roles != plain.roles || !settings.elections.is_empty();
        let usual = ElectionSettings::of(settings.election.protocol());
        assert!(is_changed || settings.election != usual, "{}", run.trial.contestant);
    }
}

/// A run of three nodes in which the master dies.
fn run(seed: u64, took: Option<u64>, messages: u64) -> Run {
    let comparison = Comparison {
        contestants: vec![Contestant::of(Protocol::LowestIp)],
        sizes: vec![3],
        losses: vec![5],
        seed,
        rounds: 1,
        ..small(&[Situation::MasterDead])
    };
    let mut run = runs(&comparison)[0];
    run.prepared = true;
    run.took = took.map(Duration::from_millis);
    run.watched = Duration::from_secs(2);
    run.messages.messages = messages;
    (run.quiet_messages, run.quiet_time) = (10, Duration::from_secs(1));
    run.without_master = observer::Tally::default();
    run.changes = 1;
    run
}

#[test]
fn a_cell_counts_unsettled_runs_and_leaves_none_out() {
    let runs = [run(1, Some(40), 26), run(2, None, 30), run(3, Some(20), 22), run(4, Some(90), 22)];
    let [cell] = summary(&runs).try_into().expect("one cell");
    assert_eq!((cell.runs, cell.unsettled, cell.unprepared), (4, 1, 0));
    let median = cell.median.expect("times");
    assert_eq!((median.estimate, median.low, median.high), (Level::At(40.0), None, None));
    // Its upper limit needs 72 runs.
    assert_eq!(cell.p95, None);
    assert_eq!((cell.messages.0.estimate, cell.messages.1), (25.0, 30.0));
    // A quiet fleet sends 20 in as much time.
    assert_eq!((cell.excess.0.estimate, cell.excess.1), (5.0, 10.0));
    let mut vacant = runs[0];
    vacant.without_master.total = Duration::from_secs(1);
    assert!((vacant.excess() - 16.0).abs() < 1e-9, "{}", vacant.excess());
    let hourly = cell.changes_per_hour.map(|hourly| hourly.estimate);
    assert_eq!(hourly, Some(4.0 / (8.0 / 3_600.0)));
}

#[test]
fn a_check_names_what_is_broken() {
    let place = "lowest-ip, 3 nodes, loss 5 %, steady, master-dead: ";
    for (runs, wanted) in [
        ([run(1, Some(40), 20), run(2, Some(50), 66)], ""),
        ([run(1, Some(40), 20), run(2, None, 20)], "not settled, more than the bound of "),
        (
            [run(1, Some(40), 67), run(2, Some(50), 100)],
            "80 messages, more than 46 (seed 2, and 1 more)",
        ),
        ([run(1, Some(29_000), 20), run(2, Some(28_000), 20)], "29000 ms, more than the bound of "),
    ] {
        let broken = listed(&check(&runs));
        assert!(broken.strip_prefix(place).unwrap_or_default().starts_with(wanted), "{broken}");
        assert_eq!(broken.is_empty(), wanted.is_empty(), "{broken}");
    }
    let mut lossy = run(1, None, 1_000);
    lossy.trial.loss = 6;
    assert_eq!(check(&[lossy]), []);
}

/// Runs at several sizes whose times grow as n and whose messages grow as this power of n.
fn growing(power: u32) -> Vec<Run> {
    let at = |size: u64| {
        (0..6).map(move |seed| {
            let mut run = run(seed, Some(size * 10), 20 + size.pow(power));
            run.trial.size = usize::try_from(size).expect("small");
            run
        })
    };
    [2, 4, 8, 16].into_iter().flat_map(at).collect()
}

#[test]
fn growth_is_the_exponent_of_known_figures() {
    let mut runs = growing(2);
    let [time, messages] = growth(&runs).try_into().expect("both measures");
    assert_eq!((time.measure, messages.measure), (Measure::Time, Measure::Messages));
    assert_eq!((time.exponent, time.r_squared), (1.0, 1.0));
    assert_eq!((messages.exponent, messages.r_squared), (2.0, 1.0));
    assert_eq!((messages.sizes, messages.largest), (4, 16));
    for (power, grows) in [(2, false), (3, true)] {
        let broken = listed(&check(&growing(power)));
        assert_eq!(broken.contains("messages grow as n^3.00"), grows, "{broken}");
    }
    // A censored median has none.
    for run in runs.iter_mut().filter(|run| run.trial.size >= 8) {
        run.took = None;
    }
    assert!(growth(&runs).iter().all(|growth| growth.measure == Measure::Messages));
}

/// What the published comparison says about each table is on the page.
#[test]
fn the_page_has_the_tables_of_the_published_comparison() {
    let page = include_str!("../../../docs/ELECTIONS.md");
    let situations = [Situation::Start, Situation::PowerLoss, Situation::Merge, Situation::Quiet];
    let comparison = Comparison { sizes: vec![2, 3], rounds: 1, ..small(&situations) };
    let paper = Paper::run(&[comparison], || ()).expect("small fleets");
    let tables = paper.tables();
    let said: Vec<&str> = tables.lines().filter(|line| line.starts_with("**")).collect();
    assert_eq!(said.len(), 6, "{tables}");
    for line in said {
        assert!(page.contains(line), "{line}");
    }
    assert!(!paper.is_published().expect("text"));
}

/// Where packets travel for up to 40 ms, 99 of 100 silent deaths of a master are over within 300 ms.
#[test]
fn a_silent_death_of_the_master_is_over_soon() {
    let comparison = Comparison {
        contestants: vec![Contestant::of(Protocol::LowestIp)],
        sizes: vec![4],
        conditions: vec![Conditions::Jitter],
        seed: 1,
        rounds: 100,
        ..small(&[Situation::PowerLoss])
    };
    let runs = runs(&comparison);
    assert_eq!(runs.iter().filter(|run| run.took.is_none()).count(), 0, "another one leads");
    let late = runs.iter().filter(|run| run.took > Some(Duration::from_millis(300))).count();
    assert!(late <= 1, "{late} of 100");
}
