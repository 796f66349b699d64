//! What becomes of a finding.

use super::*;

const LIMIT: Duration = Duration::from_secs(1);

fn finding() -> Finding {
    Finding::new("X1", 0, "is wrong".to_owned())
}

fn lasting() -> Finding {
    finding().lasting("key".to_owned(), LIMIT)
}

/// An inspection that finds this, so much later than the one before.
fn inspect(world: &mut World, later: Duration, found: Option<Finding>) {
    world.now += later;
    world.judge(|oracles, snapshot| {
        let findings = found.into_iter().collect();
        oracles.verdicts.record(snapshot, findings);
        oracles.verdicts.end_inspection();
    });
}

#[test]
fn a_finding_counts_each_time_or_once_until_a_disturbance() {
    let mut world = calm();
    for _ in 0..2 {
        inspect(&mut world, LIMIT, Some(finding()));
    }
    assert_eq!(world.violations().len(), 2);
    let mut world = calm();
    for expected in [1, 1, 2] {
        if expected == 2 {
            world.disturbed();
        }
        inspect(&mut world, LIMIT, Some(finding().once()));
        assert_eq!(world.violations().len(), expected);
    }
}

#[test]
fn a_lasting_finding_counts_once_it_has_stood_for_its_limit() {
    let mut world = calm();
    let almost = LIMIT.saturating_sub(Duration::from_nanos(1));
    inspect(&mut world, LIMIT, Some(lasting()));
    inspect(&mut world, almost, Some(lasting()));
    assert_eq!(world.violations(), []);
    inspect(&mut world, Duration::from_nanos(1), Some(lasting()));
    inspect(&mut world, LIMIT, Some(lasting()));
    complains(&world, "X1");
    assert_eq!(world.violations().len(), 1, "and once");
}

#[test]
fn a_finding_that_goes_and_one_of_another_key_start_anew() {
    let other = || finding().lasting("another".to_owned(), LIMIT);
    let mut world = calm();
    inspect(&mut world, LIMIT, Some(lasting()));
    inspect(&mut world, LIMIT / 2, None);
    inspect(&mut world, LIMIT / 2, Some(lasting()));
    inspect(&mut world, LIMIT * 2, Some(other()));
    world.disturbed();
    inspect(&mut world, LIMIT * 2, Some(other()));
    assert_eq!(world.violations(), []);
    inspect(&mut world, LIMIT, Some(other()));
    complains(&world, "X1");
}
