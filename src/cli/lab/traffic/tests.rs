use super::*;

fn args(line: &str) -> Result<TrafficArgs, clap::Error> {
    crate::cli::lab::tests::args(line)
}

fn comparison(line: &str) -> Comparison {
    args(line).unwrap().comparison().unwrap()
}

fn error(line: &str) -> String {
    let error = args(line).unwrap().execute().expect_err(line);
    crate::log::complaint(&error)
}

#[test]
fn a_comparison_is_told_by_its_factors() {
    let all = comparison("");
    assert_eq!((all.cells.len(), all.strategies.len(), all.seeds), (24, STRATEGIES.len(), 10));
    let some = comparison("--cells up,A12_up_5,crites-barto --strategies planner --seeds 2");
    assert_eq!((some.cells.len(), some.strategies.len()), (13, 1));
    let own = comparison("--building B16 --patterns lunch --rates 9.5,13");
    let names: Vec<_> = own.cells.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["B16_lunch_9.5", "B16_lunch_13"]);
    for wrong in [
        "--cells C20",
        "--strategies best",
        "--seeds 0",
        "--patterns up",
        "--commit v1.0",
        "--commit +123456789ab",
    ] {
        assert!(args(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_can_be_seen_to_fail_fails_before_the_runs() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let complaint = error(&format!("--seeds 100000 --csv {}", path("none/runs.csv")));
    assert!(complaint.contains("can't be written"), "{complaint}");
    let complaint = error("--building tower");
    assert!(complaint.contains("no building or file named tower"), "{complaint}");
    let complaint = error("--building crites-barto --patterns down");
    assert!(complaint.contains("crites-barto has no population"), "{complaint}");
    std::fs::write(path("list.csv"), "id,t_s,from,to,kg\n0,1,0,99,75\n").unwrap();
    let complaint = error(&format!("--building A12 --passengers {}", path("list.csv")));
    assert!(complaint.contains("list.csv: line 2: A12 has no floor 99"), "{complaint}");
}

#[test]
fn every_run_goes_into_files_and_the_page_has_figures_and_differences() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let list = "id,t_s,from,to,kg\n0,1,0,9,75\n1,3,4,0,90\n2,3.5,0,2,60\n";
    std::fs::write(path("list.csv"), list).unwrap();
    let line = format!(
        "--building A12 --passengers {0}/list.csv --seeds 2 --csv {0}/runs.csv --svg {0}/waits.svg",
        directory.path().display()
    );
    let commit = "0123456789abcdef0123456789abcdef01234567";
    args(&format!("{line} --commit {commit}")).unwrap().execute().unwrap();
    let runs = std::fs::read_to_string(path("runs.csv")).unwrap();
    assert_eq!(runs.lines().count(), 1 + 4 * STRATEGIES.len());
    // 0x0123456789ab and the next one.
    for seed in ["list,planner,1250999896491,", "list,planner,1250999896492,"] {
        assert!(runs.contains(seed), "{seed}: {runs}");
    }
    assert!(runs.lines().nth(1).unwrap().starts_with("list,collective,1,3,100.0,,"), "{runs}");
    assert!(std::fs::metadata(path("waits.svg")).unwrap().len() > 500);
    let comparison = comparison(&line);
    let runs = comparison.run(stopwatch, |_| ()).unwrap();
    let page = page(&comparison, &summaries(&comparison, &runs), &differences(&comparison, &runs));
    for part in ["wrong_way", "difference from collective", "ratio to collective"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}
