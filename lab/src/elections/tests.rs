use elevator_fleet::node::MeshTimes;

use super::*;

fn small() -> Comparison {
    Comparison {
        protocols: Protocol::ALL.to_vec(),
        sizes: vec![2, 3],
        losses: vec![0],
        seed: 7,
        rounds: 2,
    }
}

/// C3: every protocol settles every situation on a sound network, within its stated bound.
#[test]
fn every_protocol_settles_every_situation_within_its_bound() {
    let results = small().run(|| ()).expect("small fleets");
    assert_eq!(results.len(), small().trials().len());
    for (trial, samples) in results {
        let bound = ElectionSettings::of(trial.protocol).bound(&MeshTimes::default(), trial.size);
        let seen: Vec<Situation> = samples.iter().map(|sample| sample.situation).collect();
        assert_eq!(seen, Situation::ALL);
        for sample in samples {
            let settled = sample.took.is_some_and(|took| took <= bound);
            let quiet = sample.situation == Situation::Quiet;
            assert!(quiet || settled, "{trial:?}: {sample:?}");
        }
    }
}

#[test]
fn the_same_comparison_gives_the_same_figures() {
    let run = || figures(&small().run(|| ()).expect("small fleets"));
    assert_eq!(run(), run());
}

#[test]
fn figures_are_medians_and_means_of_what_settled() {
    let trial = |seed| Trial { protocol: Protocol::LowestIp, size: 3, loss: 5, seed };
    let sample = |took: Option<u64>, messages| Sample {
        began: Duration::ZERO,
        situation: Situation::LeaderDead,
        took: took.map(Duration::from_millis),
        watched: Duration::from_secs(1),
        messages,
        bytes: messages * 10,
    };
    let quiet = Sample {
        began: Duration::ZERO,
        situation: Situation::Quiet,
        took: None,
        watched: Duration::from_secs(5),
        messages: 20,
        bytes: 400,
    };
    let results = [
        (trial(1), vec![sample(Some(40), 1), quiet]),
        (trial(2), vec![sample(None, 6)]),
        (trial(3), vec![sample(Some(20), 2)]),
        (trial(4), vec![sample(Some(90), 3)]),
    ];
    let figures = figures(&results);
    assert_eq!(figures.len(), 2);
    assert_eq!((figures[0].messages, figures[0].bytes), (4.0, 80.0));
    let dead = &figures[1];
    assert_eq!((dead.trials, dead.unsettled), (4, 1));
    assert_eq!((dead.median_ms, dead.worst_ms), (Some(40.0), Some(90.0)));
    assert_eq!((dead.messages, dead.bytes), (3.0, 30.0));
}

#[test]
fn figures_can_be_written_and_drawn() {
    let figures = figures(&small().run(|| ()).expect("small fleets"));
    let mut csv = Vec::new();
    write_csv(&figures, &mut csv).expect("memory");
    let csv = String::from_utf8(csv).expect("text");
    assert_eq!(csv.lines().count(), figures.len() + 1);
    assert!(csv.starts_with("protocol,size,loss,situation,trials,unsettled,median_ms"));
    let mut json = Vec::new();
    write_json(&figures, &mut json).expect("memory");
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(rows.len(), figures.len());
    let svg = plot(&figures).expect("a drawing");
    for part in [
        "<svg",
        "lowest-ip",
        "How soon does another node lead when the leader dies?",
        "What does loss do when the leader dies?",
        "What does a protocol cost while nothing happens?",
        "nodes (loss 0 %)",
        "time in ms",
        "messages a second",
    ] {
        assert!(svg.contains(part), "no {part}");
    }
}
