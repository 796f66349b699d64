use liftmesh_lab::{Tally, Verdict, Violation, Void};

use super::*;
use crate::exit::Exit;

fn args(line: &str) -> Result<CampaignArgs, clap::Error> {
    crate::cli::lab::tests::args(line)
}

fn verdict(seed: u64, violations: &[Violation], void: Option<Void>) -> Verdict {
    let tally = Tally {
        simulated: Duration::from_mins(30),
        faults: [("kill", 4), ("cut", 2)].into(),
        changes_of_master: 3,
        placed: 40,
        served: 39,
    };
    Verdict { seed, violations: violations.to_vec(), void, tally, hash: seed }
}

fn violation(id: &'static str, what: &str) -> Violation {
    Violation { at: Duration::from_millis(45_360), id, what: what.to_owned() }
}

fn measured(verdicts: &[Verdict]) -> Measured {
    let mut summary = Summary::new(Protocol::Ballot, Preset::Source);
    for verdict in verdicts {
        summary.add(verdict);
    }
    Measured { summary, took: Duration::from_secs(10) }
}

#[test]
fn each_seed_that_fails_is_printed_with_its_command() {
    let wrong = [violation("E6", "two masters"), violation("O7", "no rest")];
    let failing = verdict(2, &wrong, None);
    let page = |duration| report::page(Protocol::Ballot, Preset::Source, duration, &failing);
    assert_eq!(
        page(Campaign::USUAL_DURATION),
        "\
seed 2 of ballot fails:
     45.360 s  E6: two masters
     45.360 s  O7: no rest
replay it with liftmesh lab campaign --seeds 2 --election ballot --preset source
draw it with liftmesh lab trace --campaign 2 --election ballot --preset source --svg 2.svg
"
    );
    let page = page(Duration::from_secs(90));
    let commands = "\
replay it with liftmesh lab campaign --seeds 2 --election ballot --preset source --duration 1m30s
draw it with liftmesh lab trace --campaign 2 --election ballot --preset source --duration 1m30s --svg 2.svg
";
    assert!(page.ends_with(commands), "{page}");
}

#[test]
fn seeds_that_fail_or_say_nothing_fail_the_command() {
    let judge = |verdicts: &[Verdict]| super::judge(&[measured(verdicts)]);
    let passes = || verdict(1, &[], None);
    let fails = || verdict(2, &[violation("O7", "no rest")], Some(Void::OneMaster));
    let void = || verdict(3, &[], Some(Void::OneMaster));
    judge(&[passes(), passes()]).expect("both pass");
    judge(&[passes(), passes(), void()]).expect("one may be void");
    let error = judge(&[passes(), fails(), fails()]).expect_err("two fail");
    assert_eq!(error.to_string(), "2 of 3 seeds failed");
    assert_eq!(error.exit(), Exit::Failed);
    let error = judge(&[passes(), void(), void()]).expect_err("two are void");
    assert!(error.to_string().starts_with("2 of 3 seeds are void"), "{error}");
    assert_eq!(error.exit(), Exit::Failed);
}

#[test]
fn the_table_has_every_figure() {
    let verdicts = [
        verdict(1, &[], None),
        verdict(2, &[violation("O7", "no rest")], None),
        verdict(3, &[], Some(Void::Missing("suspension"))),
    ];
    let measured = [measured(&verdicts)];
    let text = report::table_of(&measured);
    let row: Vec<&str> = text.lines().nth(1).expect("a row").split_whitespace().collect();
    assert_eq!(row[..9], ["ballot", "3", "1", "1", "1", "1.5", "120", "117", "9"]);
    assert!(text.contains("faults under ballot: cut 6, kill 12\n"), "{text}");
    assert!(text.contains("seed 3 of ballot is void: no suspension\n"), "{text}");
    let mut file = Vec::new();
    report::write_json(&mut file, Duration::from_mins(1), &measured).expect("a file");
    let json: serde_json::Value = serde_json::from_slice(&file).expect("JSON");
    let of_ballot = &json["protocols"][0];
    assert_eq!(of_ballot["protocol"], "ballot");
    assert_eq!(of_ballot["faults"]["kill"], 12);
    assert_eq!(of_ballot["simulated_seconds"], 5400.0);
    assert_eq!(of_ballot["failed"][0]["seed"], 2);
    assert_eq!(of_ballot["hash"], row[10]);
}

#[test]
fn arguments_say_what_is_run() {
    assert_eq!(args("--protocol all").expect("all").election, Protocol::ALL);
    assert_eq!(args("--election bully").expect("one").election, [Protocol::Bully]);
    for (seeds, range) in [("17", 17..=17), ("1..40", 1..=40), ("1..=40", 1..=40)] {
        assert_eq!(args(&format!("--seeds {seeds}")).expect(seeds).seeds, range);
    }
    assert_eq!(args("--minutes 5").expect("minutes").duration, Duration::from_mins(5));
    assert_eq!(args("--hours 24").expect("hours").hours, Some(Duration::from_hours(24)));
    assert_eq!(args("--duration 90s").expect("a time").duration, Duration::from_secs(90));
    for wrong in [
        "--protocol none",
        "--minutes 0",
        "--duration 2days",
        "--hours 1.5",
        "--seeds 4..3",
        "--seeds 1-3",
        "--script a --seeds 1",
        "--script a --hours 1",
    ] {
        assert!(args(wrong).is_err(), "{wrong}");
    }
}

/// The seeds are those from the first one on, whichever core is done sooner.
#[test]
fn a_number_of_hours_runs_as_many_seeds_as_it_takes() {
    let sweep = |line: &str, hours| {
        let args = CampaignArgs { hours, ..args(line).expect("arguments") };
        args.sweep(Protocol::LowestIp, &mut 0).expect("it runs").summary
    };
    let time = Duration::from_mins(10);
    let run = sweep("--seeds 3 --duration 10s", Some(time));
    assert!(run.tally.simulated >= time, "{:?}", run.tally.simulated);
    let last = run.seeds + 2;
    let same = sweep(&format!("--seeds 3..{last} --duration 10s"), None);
    assert_eq!((run.seeds, run.hash()), (same.seeds, same.hash()));
    let fewer = sweep(&format!("--seeds 3..{} --duration 10s", last - 1), None);
    assert!(fewer.tally.simulated < time, "{:?}", fewer.tally.simulated);
}
