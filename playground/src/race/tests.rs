use serde_json::{Value, json};

use super::*;

/// A program that gives each call to the last of its cars.
struct LastCar;

impl Program for LastCar {
    fn ask(line: &str, is_first: bool) -> String {
        let line: Value = serde_json::from_str(line).expect("JSON");
        if is_first {
            return json!({ "version": line["version"] }).to_string();
        }
        let calls = line["calls"].as_array().expect("calls").iter();
        let cars = calls.map(|call| {
            let car = call["cars"].as_array().and_then(|cars| cars.last());
            (call["call"].as_str().unwrap_or_default().to_owned(), car.cloned().unwrap_or_default())
        });
        let cars: serde_json::Map<_, _> = cars.collect();
        json!({ "plan": line["plan"], "cars": cars }).to_string()
    }
}

/// A program that gives each call to a car that the bank does not have.
struct NoCar;

impl Program for NoCar {
    fn ask(line: &str, is_first: bool) -> String {
        LastCar::ask(line, is_first).replace("car-3", "car-9")
    }
}

/// A program that reads and writes only what has a type in `protocol.d.ts`.
struct Typed;

impl Program for Typed {
    fn ask(line: &str, is_first: bool) -> String {
        let answer = LastCar::ask(line, is_first);
        for line in [line, &answer] {
            assert_typed(&serde_json::from_str(line).expect("JSON"));
        }
        answer
    }
}

fn assert_typed(value: &Value) {
    let types = include_str!("../../../integrations/dispatchers/protocol.d.ts");
    match value {
        Value::Object(object) => {
            // The keys of a plan are those of the calls.
            for (key, value) in object.iter().filter(|(key, _)| !key.starts_with("hall-")) {
                assert!(types.contains(&format!(" {key}: ")), "protocol.d.ts lacks {key}");
                assert_typed(value);
            }
        }
        Value::Array(values) => values.iter().for_each(assert_typed),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

fn settings(strategies: [&str; 2]) -> RaceSettings {
    let strategies = strategies.map(str::to_owned);
    RaceSettings { cell: "A12_down_5".to_owned(), strategies, seed: 1, seeds: 5 }
}

fn raced(strategies: [&str; 2]) -> Standing {
    let mut race = Race::new::<LastCar>(settings(strategies)).expect("a race");
    let mut runs = 0;
    while race.run().expect("a run") {
        runs += 1;
    }
    assert_eq!(runs, 10);
    race.standing()
}

fn figure<'a>(standing: &'a Standing, name: &str) -> &'a Figure {
    standing.figures.iter().find(|figure| figure.name == name).expect("a figure")
}

/// The lab's own comparison has the same means.
#[test]
fn the_worse_one_loses_by_the_figures_of_the_lab() {
    let standing = raced(["collective", "nearest-car"]);
    let cells = Cell::named("A12_down_5").expect("a cell");
    let strategies = [BuiltIn::Collective, BuiltIn::NearestCar].map(Strategy::Buttons).to_vec();
    let comparison = liftmesh_lab::traffic::Comparison { cells, strategies, seed: 1, seeds: 5 };
    let runs = comparison.run(|| Duration::ZERO, |_| ()).expect("runs");
    let summaries = liftmesh_lab::traffic::summaries(&comparison, &runs);
    for (lane, summary) in summaries.iter().enumerate() {
        let means = summary.means.expect("averages");
        for (name, mean) in [("wait", means.awt), ("journey", means.attd)] {
            let here = figure(&standing, name).lanes[lane].mean;
            assert!((here - mean.estimate).abs() < 1e-9, "{name} {lane}: {here}, {mean:?}");
        }
        let energy = (summary.starts * START + summary.metres * METRE) / 3_600.0;
        assert!((figure(&standing, "energy").lanes[lane].mean - energy).abs() < 1e-9);
    }
    let wait = figure(&standing, "wait");
    assert_eq!(wait.verdict, Verdict::First, "{wait:?}");
    assert!(wait.difference.low > 0.5, "{wait:?}");
    for lane in &standing.lanes {
        assert!(lane.waits.len() == 101 && lane.waits.is_sorted(), "{lane:?}");
    }
}

#[test]
fn nobody_wins_against_itself() {
    let standing = raced(["collective", "collective"]);
    let names: Vec<_> = standing.figures.iter().map(|figure| figure.name).collect();
    assert_eq!(names, ["wait", "p95", "journey", "energy"]);
    assert!(standing.figures.iter().all(|figure| figure.verdict == Verdict::Same));
}

#[test]
fn a_mistake_of_the_program_ends_the_race() {
    let mut race = Race::new::<NoCar>(settings(["own", "planner"])).expect("a race");
    let error = race.run().expect_err("a mistake").to_string();
    assert!(error.starts_with("plan 9: it gives hall-11-down"), "{error}");
    assert!(error.ends_with("to \"car-9\", which is not among the call's `cars`"), "{error}");
}

#[test]
fn the_types_of_the_protocol_are_complete() {
    let mut race = Race::new::<Typed>(settings(["own", "planner"])).expect("a race");
    assert!(race.run().expect("a run"));
}

#[test]
fn settings_that_make_no_race_are_refused() {
    let wrong = |change: fn(&mut RaceSettings)| {
        let mut settings = settings(["planner", "own"]);
        change(&mut settings);
        Race::new::<LastCar>(settings).expect_err("no race").to_string()
    };
    for (error, said) in [
        (wrong(|it| it.cell = "A12".to_owned()), "there is no traffic A12"),
        (wrong(|it| it.seeds = 4), "4 seeds: a race has 5 to 200"),
        (wrong(|it| it.strategies[1] = "best".to_owned()), "best"),
    ] {
        assert!(error.contains(said), "{error}");
    }
}

/// Of differences around 0 the interval decides, and it is that of the tables.
#[test]
fn the_interval_is_that_of_student() {
    for (pairs, wanted) in [(3, 2.571), (5, 2.262), (10, 2.093), (50, 1.984)] {
        let values = [-1.0, 1.0].repeat(pairs);
        let interval = Interval::of(&values).expect("enough values");
        let error = f64::from(u32::try_from(2 * pairs - 1).expect("few")).sqrt().recip();
        assert!((interval.high / error - wanted).abs() < 0.002, "{pairs}: {interval:?}");
        assert!((interval.low + interval.high).abs() < 1e-9, "{interval:?}");
    }
    assert_eq!(Interval::of(&[1.0; 4]), None);
}
