use std::sync::Arc;
use std::time::Duration;

use elevator_driver::Floor;
use elevator_simulator::building::{Building, MASS, Passenger, Pattern, Traffic, Transfer};

use super::bank::Bank;
use super::*;

fn untimed() -> Duration {
    Duration::ZERO
}

/// Ten minutes of the suite's traffic in A12, all of it scored.
fn short(pattern: Pattern, rate: f64) -> Cell {
    let building = Arc::new(Building::named("A12").expect("a building"));
    let lasts = Duration::from_mins(10);
    let source = Source::Drawn(Traffic::Steady { pattern, rate, lasts });
    Cell { source, warm_up: Duration::ZERO, ..Cell::steady(building, pattern, rate) }
}

/// Every strategy in this cell.
fn compared(cell: Cell, seeds: u64) -> (Comparison, Vec<Run>) {
    let strategies = STRATEGIES.to_vec();
    let comparison = Comparison { cells: vec![cell], strategies, seed: 1, seeds };
    let runs = comparison.run(untimed, |_| ()).expect("runs");
    (comparison, runs)
}

fn figures(cell: &Cell, strategy: Strategy, seed: u64) -> Figures {
    let run = Trial { cell, strategy, seed }.run(untimed).expect("a run");
    assert!(run.passengers > 50, "{strategy} {cell}: {run:?}");
    assert!((run.served - 100.0).abs() < 1e-9, "{strategy} {cell}: {run:?}");
    assert!(run.wrong_way.abs() < 1e-9, "{strategy} {cell}: {run:?}");
    run.figures.expect("averages").expect("passengers")
}

#[test]
fn every_strategy_serves_everyone_and_carries_nobody_the_wrong_way() {
    for strategy in STRATEGIES.into_iter().chain([Strategy::Destination]) {
        for pattern in Pattern::ALL {
            let cell = short(pattern, 8.0);
            let figures = figures(&cell, strategy, 3);
            let is_likely = figures.awt < 40.0 && figures.attd > figures.awt;
            assert!(is_likely, "{strategy} {cell}: {figures:?}");
        }
    }
}

/// In the buildings where not every car stops everywhere. With hall buttons somebody may see the
/// wrong car come; with destinations nobody does.
#[test]
fn everyone_gets_where_only_some_cars_go() {
    for building in Building::ZONES {
        let building = Arc::new(Building::named(building).expect("a building"));
        for strategy in STRATEGIES.into_iter().chain([Strategy::Destination]) {
            let lasts = Duration::from_mins(5);
            let source =
                Source::Drawn(Traffic::Steady { pattern: Pattern::Lunch, rate: 8.0, lasts });
            let steady = Cell::steady(Arc::clone(&building), Pattern::Lunch, 8.0);
            let cell = Cell { source, warm_up: Duration::ZERO, ..steady };
            let run = Trial { cell: &cell, strategy, seed: 3 }.run(untimed).expect("a run");
            assert!((run.served - 100.0).abs() < 1e-9, "{strategy} {cell}: {run:?}");
            assert!(run.wrong_way.abs() < 1e-9, "{strategy} {cell}: {run:?}");
            assert!(run.longest < 300.0, "{strategy} {cell}: {run:?}");
            let is_told = strategy == Strategy::Destination;
            assert!(run.passed_by == 0 || !is_told, "{strategy} {cell}: {run:?}");
        }
    }
}

/// Passengers to the same floor gather in the same car, which stops less often for each of them.
#[test]
fn destinations_that_are_given_at_the_landing_save_time() {
    let cell = short(Pattern::Up, 12.0);
    let attd = |strategy| (1..=3).map(|seed| figures(&cell, strategy, seed).attd).sum::<f64>();
    let (planner, destination) = (attd(STRATEGIES[1]), attd(Strategy::Destination));
    assert!(destination < 0.9 * planner, "{destination} instead of {planner}");
}

#[test]
fn every_strategy_has_a_name() {
    for strategy in STRATEGIES.into_iter().chain([Strategy::Destination]) {
        assert_eq!(strategy.to_string().parse(), Ok(strategy));
    }
    let error = "best".parse::<Strategy>().expect_err("no strategy").to_string();
    let names = "planner, collective, nearest-car, time-to-idle, destination";
    assert_eq!(error, format!("\"best\" is not a strategy; use one of {names}"));
}

/// Nobody is not somebody who waited for 0 s.
#[test]
fn a_run_without_passengers_counts_in_no_average() {
    let building = short(Pattern::Up, 1.0).building;
    let (comparison, mut runs) = compared(Cell::listed(building, "nobody".into(), Vec::new()), 1);
    assert!(runs.iter().all(|run| run.figures == Ok(None)), "{runs:?}");
    let summaries = summaries(&comparison, &runs);
    assert!(summaries.iter().all(|summary| summary.means.is_none() && summary.saturated == 0));
    assert_eq!(differences(&comparison, &runs), []);

    let some = Figures { awt: 9.0, p90: 9.0, p99: 9.0, over_60: 0.0, squared: 81.0, attd: 30.0 };
    runs.truncate(1);
    runs.push(Run { figures: Ok(Some(some)), seed: 2, ..runs[0].clone() });
    let both = Comparison { strategies: STRATEGIES[..1].to_vec(), seeds: 2, ..comparison };
    let means = super::summaries(&both, &runs)[0].means.expect("one run has averages");
    assert!((means.awt.estimate - 9.0).abs() < 1e-9, "{means:?}");
}

/// 60 % of the population in five minutes is four times what four cars can carry.
#[test]
fn a_saturated_bank_has_no_average() {
    let (comparison, runs) = compared(short(Pattern::Up, 60.0), 1);
    let saturations: Vec<_> = runs.iter().map(|run| run.figures.err()).collect();
    assert!(!saturations.contains(&None), "{saturations:?}");
    assert_eq!(saturations[0], Some(Saturation::Backlog));
    let summaries = summaries(&comparison, &runs);
    assert!(summaries.iter().all(|summary| summary.means.is_none() && summary.saturated == 1));
    assert_eq!(differences(&comparison, &runs), []);
}

/// On the same passengers, too: a difference is that of the means.
#[test]
fn runs_are_repeatable_and_differences_those_of_the_means() {
    let (comparison, runs) = compared(short(Pattern::Up, 5.0), 3);
    assert_eq!(comparison.run(untimed, |_| ()).expect("runs"), runs);
    let (summaries, differences) = (summaries(&comparison, &runs), differences(&comparison, &runs));
    assert_eq!((summaries.len(), differences.len()), (STRATEGIES.len(), STRATEGIES.len() - 1));
    let means = |number: usize| summaries[number].means.expect("averages");
    let difference = means(1).awt.estimate - means(0).awt.estimate;
    assert!((differences[0].awt.estimate - difference).abs() < 1e-9);
    assert!(differences[0].awt.low <= differences[0].awt.high);
}

/// How much longer a rider from the top to the lobby takes because of a stop on the way, without
/// the time that somebody takes to board there.
fn stop_time(name: &str) -> f64 {
    let mut building = Building::named(name).expect("a building");
    (building.cars, building.transfer) = (1, Transfer::Fixed(1.0));
    let top = building.floors.top();
    let middle = building.floors.floor(4).expect("a floor");
    let passenger =
        |from| Passenger { arrival: Duration::from_secs(1), from, to: Floor::BOTTOM, mass: MASS };
    let exit = |list: &[Passenger]| {
        let mut bank = Bank::new(&building, list, STRATEGIES[0], 1, untimed).expect("a bank");
        while !bank.crowd.is_done() {
            bank.step();
        }
        let (_, trip) = bank.crowd.trips().next().expect("a trip");
        trip.exited.expect("served").as_secs_f64()
    };
    exit(&[passenger(top), passenger(middle)]) - exit(&[passenger(top)]) - 1.0
}

#[test]
fn a_stop_takes_what_the_building_says() {
    let published = stop_time("crites-barto");
    assert!((published - 7.19).abs() < 0.03, "{published}");
    // Braking and accelerating at 1 m/s² from 2.5 m/s, the door, the dwell.
    let suite = stop_time("A12");
    assert!((suite - 8.5).abs() < 0.06, "{suite}");
}
