use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::wire::Protocol;
use rayon::prelude::*;

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

fn settling() -> Vec<Situation> {
    Situation::ALL.into_iter().filter(|situation| situation.settles()).collect()
}

fn listed(broken: &[Broken]) -> String {
    broken.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// C3: every protocol settles every situation within its bound, with at most 4 n² messages, which
/// grow as n² at most. With loss, a ring of two may rejoin more than once as it starts, and then
/// costs more (ELECTIONS).
#[test]
fn every_protocol_keeps_its_bounds() {
    let comparison = Comparison {
        sizes: vec![2, 4, 8, 16],
        losses: vec![0, 5],
        rounds: 3,
        ..small(&settling())
    };
    let runs = runs(&comparison);
    assert_eq!(runs.len(), comparison.trials().len());
    let mut broken = check(&runs);
    broken.retain(|broken| match broken {
        Broken::Messages { run, .. } => {
            let Trial { contestant, size, loss, situation, .. } = run.trial;
            let is_known = size == 2 && loss == 5 && situation == Situation::Start;
            !is_known || contestant.to_string() != "token-ring"
        }
        Broken::Bound { .. } | Broken::Growth(_) => true,
    });
    assert!(broken.is_empty(), "{}", listed(&broken));
}

/// The same seeds twice would halve the confidence intervals.
#[test]
fn what_is_named_twice_counts_once() {
    let once = small(&[Situation::Start, Situation::Quiet]);
    let twice = Comparison {
        contestants: Contestant::list("all")
            .into_iter()
            .chain(Contestant::list("bully"))
            .flatten()
            .collect(),
        sizes: vec![2, 3, 2],
        losses: vec![0, 0],
        conditions: vec![Conditions::Steady, Conditions::Steady],
        ..small(&[Situation::Start, Situation::Quiet, Situation::Start])
    };
    assert_eq!(twice.trials(), once.trials());
}

#[test]
fn who_names_no_contestant_is_told_which_there_are() {
    let error = Contestant::list("leader").expect_err("there is none");
    for name in ["lowest-ip", "token-ring", "raft", "invitation"] {
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_variant_that_a_contestant_does_not_have_is_refused() {
    for (list, message) in [
        ("raft:source", "raft has no variant source; it has none"),
        ("controls:source", "raft has no variant source; it has none"),
        ("lowest-ip:own-detection", "lowest-ip has no variant own-detection; it has source"),
        (
            "all:control-unit:numbers",
            "no protocol has all of the variants control-unit:numbers; name protocols one by one",
        ),
    ] {
        let error = Contestant::list(list).expect_err("nobody has it");
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn the_same_comparison_gives_the_same_runs() {
    let comparison = small(&Situation::ALL);
    let done = AtomicUsize::new(0);
    let once = comparison.run(|_| {
        done.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(once.expect("small fleets"), runs(&comparison));
    assert_eq!(done.into_inner(), comparison.trials().len());
}

#[test]
fn runs_come_in_the_order_of_their_trials() {
    let comparison = small(&[Situation::MasterDead, Situation::Cascade]);
    let trials: Vec<Trial> = runs(&comparison).iter().map(|run| run.trial).collect();
    assert_eq!(trials, comparison.trials());
    let cascades = trials.iter().filter(|trial| trial.situation == Situation::Cascade);
    assert!(cascades.clone().all(|trial| trial.size == 3));
    assert_eq!(cascades.count(), 5 * 2);
}

/// What happened is what the situation says, as far as masters show it.
#[test]
fn situations_differ_in_what_they_do_to_masters() {
    for run in runs(&small(&Situation::ALL)) {
        let Trial { situation, contestant, .. } = run.trial;
        let rotates = contestant.rotates();
        assert!(run.prepared, "{run:?}");
        assert!(run.watched > Duration::ZERO);
        match situation {
            // The old master is gone, and the new one needs a moment.
            Situation::MasterDead | Situation::PowerLoss | Situation::MasterHung => {
                assert!(run.without_master > Duration::ZERO, "{run:?}");
                assert!(rotates || run.changes >= 1, "{run:?}");
            }
            Situation::Cascade => assert!(rotates || run.changes >= 2, "{run:?}"),
            Situation::Quiet => {
                assert_eq!(run.watched, Duration::from_secs(3));
                assert_eq!((run.changes, run.two_masters), (0, Duration::ZERO), "{run:?}");
                // While the mastership is handed over, nobody is master.
                let longest = Duration::from_millis(if rotates { 2 } else { 0 });
                assert!(run.longest_without_master <= longest, "{run:?}");
                assert_eq!(run.took, None);
            }
            Situation::OneWay | Situation::NonTransitive | Situation::Churn => {
                assert_eq!((run.watched, run.took), (Duration::from_secs(3), None));
            }
            Situation::Start
            | Situation::MasterReturns
            | Situation::HungReturns
            | Situation::Partition
            | Situation::Merge => assert!(run.took.is_some(), "{run:?}"),
        }
    }
}

#[test]
fn a_power_loss_is_silent_and_so_takes_longer_to_detect_than_a_kill() {
    let comparison = Comparison {
        contestants: vec![Contestant::of(Protocol::Bully)],
        sizes: vec![4],
        rounds: 5,
        ..small(&[Situation::MasterDead, Situation::PowerLoss])
    };
    let cells = summary(&runs(&comparison));
    let median = |cell: &Cell| cell.median_ms.and_then(Level::value).expect("all settled");
    assert!(median(&cells[0]) < 100.0, "{}", median(&cells[0]));
    assert!(median(&cells[1]) >= 100.0, "{}", median(&cells[1]));
}

#[test]
fn contestants_are_told_by_their_names() {
    for name in [
        "lowest-ip",
        "bully:source",
        "senior:own-detection",
        "ballot:regular-leader",
        "senior:control-unit",
        "bully:source:numbers",
        "token-ring:equal-timeouts",
        "raft",
    ] {
        let contestant: Contestant = name.parse().expect("a contestant");
        assert_eq!(contestant.to_string(), name);
    }
    for wrong in [
        "",
        "raft:source",
        "raft-style",
        "bully:",
        "bully:regular-leader",
        "lowest-ip:own-detection",
    ] {
        assert!(wrong.parse::<Contestant>().is_err(), "{wrong}");
    }
    let names = |list: &str| {
        let found = Contestant::list(list).expect("contestants");
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(names("all").len(), 5);
    assert_eq!(names("controls"), ["raft", "chang-roberts", "invitation"]);
    assert_eq!(
        names("all:own-detection:source"),
        [
            "bully:source:own-detection",
            "senior:source:own-detection",
            "ballot:source:own-detection",
            "token-ring:source:own-detection",
        ]
    );
    assert!(Contestant::list("all:sauce").is_err());
    assert!(Contestant::list("almost").is_err());
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
        let protocol = settings.election.protocol();
        let usual = ElectionSettings::of(protocol);
        assert!(is_changed || settings.election != usual, "{}", run.trial.contestant);
    }
}

/// A majority of two is both: Raft is left without a master, and nothing is checked of controls.
#[test]
fn controls_take_part() {
    let contestants = Contestant::list("controls").expect("controls");
    let runs = runs(&Comparison { contestants, ..small(&[Situation::PowerLoss]) });
    for run in &runs {
        let is_raft = run.trial.contestant.to_string() == "raft";
        assert_eq!(run.is_unsettled(), is_raft && run.trial.size == 2, "{run:?}");
    }
    assert_eq!(check(&runs), []);
}

/// With numbers the last node ranks highest, and takes over when it returns (B1, B7).
#[test]
fn numbers_rank_nodes() {
    let comparison = Comparison {
        contestants: vec!["bully:numbers".parse().expect("a contestant")],
        ..small(&[Situation::MasterReturns])
    };
    for run in runs(&comparison) {
        assert_eq!(run.changes, 1, "{run:?}");
    }
}

#[test]
fn conditions_change_the_network_and_the_clocks() {
    let comparison = Comparison {
        losses: vec![5],
        conditions: Conditions::ALL.to_vec(),
        contestants: vec![Contestant::of(Protocol::LowestIp)],
        ..small(&[Situation::Start])
    };
    let times = |conditions| {
        let runs = runs(&comparison);
        let runs = runs.into_iter().filter(|run| run.trial.conditions == conditions);
        runs.map(|run| run.took.expect("settled")).collect::<Vec<_>>()
    };
    let steady = times(Conditions::Steady);
    for other in [Conditions::Jitter, Conditions::Bursts, Conditions::Clocks] {
        assert_ne!(times(other), steady, "{other}");
    }
}

/// A run of three nodes in which the master dies.
fn run(seed: u64, took: Option<u64>, messages: u64) -> Run {
    let contestant = Contestant::of(Protocol::LowestIp);
    let trial = Trial {
        contestant,
        size: 3,
        loss: 5,
        conditions: Conditions::Steady,
        situation: Situation::MasterDead,
        watch: Duration::from_secs(3),
        seed,
    };
    let mut run = trial.run().expect("a small fleet");
    run.prepared = true;
    run.took = took.map(Duration::from_millis);
    run.watched = Duration::from_secs(2);
    run.messages.messages = messages;
    (run.quiet_messages, run.quiet_time) = (10, Duration::from_secs(1));
    run.without_master = Duration::ZERO;
    run.changes = 1;
    run
}

#[test]
fn a_cell_counts_unsettled_runs_and_leaves_none_out() {
    let runs = [run(1, Some(40), 26), run(2, None, 30), run(3, Some(20), 22), run(4, Some(90), 22)];
    let [cell] = summary(&runs).try_into().expect("one cell");
    assert_eq!((cell.runs, cell.unsettled, cell.unprepared), (4, 1, 0));
    assert_eq!(cell.median_ms, Some(Level::At(40.0)));
    assert_eq!(cell.p95_ms, Some(Level::Beyond(30_000.0)));
    assert_eq!(cell.worst_ms, Some(Level::Beyond(30_000.0)));
    assert_eq!((cell.median_low_ms, cell.median_high_ms), (None, None));
    assert_eq!((cell.messages, cell.messages_most), (25.0, 30.0));
    // A quiet fleet sends 20 in as much time.
    assert_eq!((cell.excess_messages, cell.excess_messages_most), (5.0, 10.0));
    let mut vacant = runs[0];
    vacant.without_master = Duration::from_secs(1);
    assert!((vacant.excess() - 16.0).abs() < 1e-9, "{}", vacant.excess());
    assert_eq!(cell.changes_per_hour, Some(4.0 / (8.0 / 3_600.0)));
}

#[test]
fn a_check_names_what_is_broken() {
    assert_eq!(check(&[run(1, Some(40), 20), run(2, Some(50), 66)]), []);
    let unsettled = check(&[run(1, Some(40), 20), run(2, None, 20)]);
    assert!(
        listed(&unsettled)
            .contains("lowest-ip, 3 nodes, loss 5 %, steady, master-dead: not settled")
    );
    let late = check(&[run(1, Some(29_000), 20), run(2, Some(28_000), 20)]);
    assert!(listed(&late).contains("29000 ms, more than the bound"), "{}", listed(&late));
    assert!(listed(&late).contains("(seed 1, and 1 more)"), "{}", listed(&late));
    let costly = check(&[run(1, Some(40), 67), run(2, Some(50), 100)]);
    assert_eq!(
        listed(&costly),
        "lowest-ip, 3 nodes, loss 5 %, steady, master-dead: 80 messages, more than 46 \
         (seed 2, and 1 more)"
    );
    let mut lossy = run(1, None, 1_000);
    lossy.trial.loss = 6;
    assert_eq!(check(&[lossy]), []);
}

/// Runs at several sizes whose times grow as n and whose messages grow as this power of n.
fn growing(power: i32) -> Vec<Run> {
    let sizes = [2_u32, 4, 8, 16];
    let at = |size: u32| {
        (0..6).map(move |seed| {
            let cost = f64::from(size).powi(power);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
            let mut run = run(seed, Some(u64::from(size) * 10), 20 + cost as u64);
            run.trial.size = size as usize;
            run
        })
    };
    sizes.into_iter().flat_map(at).collect()
}

#[test]
fn growth_is_the_exponent_of_known_figures() {
    let grown = growth(&growing(2));
    let [time, messages] = grown.as_slice() else {
        panic!("{grown:?}");
    };
    assert_eq!((time.measure, messages.measure), (Measure::Time, Measure::Messages));
    assert_eq!((time.exponent, time.r_squared), (1.0, 1.0));
    assert_eq!((messages.exponent, messages.r_squared), (2.0, 1.0));
    assert_eq!((messages.exponent_low, messages.exponent_high), (2.0, 2.0));
    assert_eq!((messages.sizes, messages.largest), (4, 16));
    let broken = check(&growing(3));
    assert!(broken.iter().any(|broken| matches!(broken, Broken::Growth(_))), "{}", listed(&broken));
    assert!(!check(&growing(2)).iter().any(|broken| matches!(broken, Broken::Growth(_))));
}

#[test]
fn a_censored_median_has_no_growth() {
    let mut runs = growing(1);
    for run in runs.iter_mut().filter(|run| run.trial.size >= 8) {
        run.took = None;
    }
    assert!(growth(&runs).iter().all(|growth| growth.measure == Measure::Messages));
}

#[test]
fn figures_can_be_written_and_drawn() {
    let comparison = Comparison {
        sizes: vec![2, 3, 4],
        ..small(&[Situation::MasterDead, Situation::Merge, Situation::Quiet])
    };
    let runs = runs(&comparison);
    let (cells, growth) = (summary(&runs), growth(&runs));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let mut raw = Vec::new();
    write_runs(&runs, &mut raw).expect("memory");
    let raw = text(raw);
    assert_eq!(raw.lines().count(), runs.len() + 1);
    assert!(raw.starts_with("contestant,size,loss,conditions,situation,seed,prepared,began_ms"));
    assert!(raw.contains("\nbully,2,0,steady,master-dead,7,true,"), "{raw}");
    let mut csv = Vec::new();
    write_summary(&cells, &mut csv).expect("memory");
    let csv = text(csv);
    assert_eq!(csv.lines().count(), cells.len() + 1);
    assert!(csv.starts_with("contestant,size,loss,conditions,situation,runs,unsettled"));
    let mut json = Vec::new();
    write_json(&cells, &growth, &mut json).expect("memory");
    let page: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(page["cells"].as_array().expect("a list").len(), cells.len());
    assert_eq!(page["growth"].as_array().expect("a list").len(), growth.len());
    assert_eq!(page["cells"][0]["situation"], "master-dead");
    let svg = plot(&runs).expect("a drawing");
    for part in [
        "<svg",
        "lowest-ip",
        "How soon is there one master?",
        "What does loss do?",
        "What does a protocol cost while nothing happens?",
        "nodes (loss 0 %)",
        "share of the runs",
        "messages a second",
    ] {
        assert!(svg.contains(part), "no {part}");
    }
    assert!(!svg.contains("loses power"), "a panel without data");
}

#[test]
fn a_preset_is_a_contestant() {
    for protocol in Protocol::ALL {
        for preset in Preset::ALL {
            let contestant = Contestant::preset(protocol, preset);
            assert_eq!(Contestant::of(protocol).under(preset), Some(contestant));
            assert_eq!(contestant.as_preset(), Some((protocol, preset)));
        }
        let source = Contestant::preset(protocol, Preset::Source);
        assert_eq!(source.under(Preset::Source), Some(source));
        assert_eq!(source.under(Preset::Fleet), None);
    }
    for control in Contestant::list("controls").expect("controls") {
        assert!(Preset::ALL.iter().all(|preset| control.under(*preset).is_none()), "{control}");
    }
    for other in ["raft", "bully:numbers", "bully:source:numbers"] {
        assert_eq!(other.parse::<Contestant>().expect("a contestant").as_preset(), None);
    }
}

/// Where packets travel for up to 40 ms, 99 of 100 silent deaths of a master are over within 300 ms.
#[test]
fn a_silent_death_of_the_master_is_over_soon() {
    const RUNS: u64 = 200;
    const LIMIT: Duration = Duration::from_millis(300);
    let trial = |seed| Trial {
        contestant: Contestant::of(Protocol::LowestIp),
        size: 4,
        loss: 0,
        conditions: Conditions::Jitter,
        situation: Situation::PowerLoss,
        watch: Duration::from_secs(3),
        seed,
    };
    let took = |seed| trial(seed).run().expect("a small fleet").took.expect("another one leads");
    let mut took: Vec<Duration> = (1..=RUNS).into_par_iter().map(took).collect();
    took.sort_unstable();
    let p99 = took[took.len() * 99 / 100 - 1];
    assert!(p99 <= LIMIT, "{p99:?}, and at most {:?}", took.last());
}
