use liftmesh_lab::{Tally, Void};

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
    (summary, Duration::from_secs(10))
}

#[test]
fn each_seed_that_fails_is_printed_with_its_command() {
    let failing = verdict(2, &[violation("E6", "two masters"), violation("O7", "no rest")], None);
    let minute = Duration::from_secs(90);
    let page = page(Protocol::Ballot, Preset::Source, minute, &failing);
    let arguments = "2 --election ballot --preset source --duration 1m30s";
    let expected = format!(
        "seed 2 of ballot fails:\n     45.360 s  E6: two masters\n     45.360 s  O7: no rest\n\
         replay it with liftmesh lab campaign --seeds {arguments}\n\
         draw it with liftmesh lab trace --campaign {arguments} --svg 2.svg\n"
    );
    assert_eq!(page, expected);
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
fn arguments_say_what_is_run() {
    assert_eq!(args("--protocol all").expect("all").election, Protocol::ALL);
    assert_eq!(args("--election bully").expect("one").election, [Protocol::Bully]);
    for (seeds, range) in [("17", 17..=17), ("1..40", 1..=40), ("1..=40", 1..=40)] {
        assert_eq!(args(&format!("--seeds {seeds}")).expect(seeds).seeds, range);
    }
    assert_eq!(args("--minutes 5").expect("minutes").duration, Duration::from_mins(5));
    assert_eq!(args("--duration 90s").expect("a time").duration, Duration::from_secs(90));
    for wrong in ["--protocol none", "--minutes 0", "--seeds 4..3", "--script a --seeds 1"] {
        assert!(args(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_script_runs_again_from_its_file_and_nothing_else_does() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("script.json");
    let missing = replay(&path).expect_err("no file").to_string();
    assert!(missing.ends_with("can't be read"), "{missing}");
    std::fs::write(&path, "{}").expect("a file");
    let empty = replay(&path).expect_err("no script").to_string();
    assert!(empty.ends_with("is not a script"), "{empty}");
    let script = Campaign::by_seed(1).lasting(Duration::from_secs(1)).run();
    let script = script.expect("a world").script;
    files::write_file(&path, |file| Ok(serde_json::to_writer(file, &script)?)).expect("a file");
    assert_eq!(files::read_script(&path).expect("a script"), script);
}
