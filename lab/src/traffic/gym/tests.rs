use elevator_fleet::dispatch;

use super::*;
use crate::traffic::strategy::dispatcher;

fn gym(building: &str) -> Gym {
    Gym::new(Building::named(building).expect("a building"))
}

/// Who decides as a strategy does gets what the strategy gets, with the same passengers.
#[test]
fn decisions_of_a_strategy_have_its_costs() {
    let rule = Strategy::Buttons(dispatch::Strategy::TimeToIdle);
    for building in ["A12", "car-park"] {
        let reset = r#"{"reset": {"seed": 4, "rate": 12, "strategy": "time-to-idle"}}"#;
        let expected = gym(building).handle(reset).expect("a run");
        assert!(expected.terminated && expected.arrived > 90, "{expected:?}");

        let mut gym = gym(building);
        let mut dispatcher = dispatcher(rule, &gym.building);
        let mut moment = gym.handle(r#"{"reset": {"seed": 4, "rate": 12}}"#).expect("a reset");
        let mut costs = moment.costs;
        while !moment.terminated {
            let episode = gym.episode.as_ref().expect("an episode");
            let assigned = dispatcher.assign(&episode.cars, &episode.demand);
            let name = &assigned[&episode.demand[episode.open[0]].call];
            let car = episode.cars.iter().position(|car| car.car == *name).expect("a car");
            assert!(moment.mask[car]);
            moment = gym.handle(&format!(r#"{{"step": {car}}}"#)).expect("a step");
            costs.waiting += moment.costs.waiting;
            costs.journey += moment.costs.journey;
            costs.starts += moment.costs.starts;
            costs.metres += moment.costs.metres;
        }
        assert_eq!(moment.arrived, expected.arrived);
        assert_eq!(costs.starts, expected.costs.starts, "{building}");
        assert!((costs.metres - expected.costs.metres).abs() < 0.2, "{building}");
        assert!((costs.journey - expected.costs.journey).abs() < 1e-6, "{building}");
        let trips = gym.episode.as_ref().expect("an episode").bank.crowd.trips();
        let waits =
            trips.map(|(it, trip)| trip.boarded.expect("served").saturating_sub(it.arrival));
        let waits = waits.sum::<Duration>().as_secs_f64();
        let rounding = STEP.as_secs_f64() * number(moment.arrived);
        assert!((costs.waiting - waits).abs() < rounding, "{} {waits}", costs.waiting);
    }
}

#[test]
fn a_car_that_does_not_go_there_does_not_get_the_call() {
    let mut gym = gym("express");
    let mut moment = gym.handle(r#"{"reset": {"pattern": "down"}}"#).expect("a reset");
    let (mut refused, mut again) = (Vec::new(), 0);
    while !moment.terminated {
        let able = |can| moment.mask.iter().position(|able| *able == can);
        let call = moment.observation[moment.observation.len() - 3..][..2].to_vec();
        let known = refused.iter().position(|(other, _)| *other == call);
        let car = if let Some(place) = known {
            let (_, at) = refused.remove(place);
            assert!(moment.time > at + 0.99, "a second later");
            again += 1;
            able(true)
        } else if let Some(wrong) = able(false) {
            refused.push((call, moment.time));
            Some(wrong)
        } else {
            // From the lobby all four go up.
            able(true)
        };
        let car = car.expect("some car can");
        moment = gym.handle(&format!(r#"{{"step": {car}}}"#)).expect("a step");
    }
    assert!(again > 50, "{again}");
}

#[test]
fn a_refused_request_says_why_and_changes_nothing() {
    let mut bank = gym("A12");
    let error = |gym: &mut Gym, line| gym.handle(line).expect_err(line).to_string();
    let early = error(&mut bank, r#"{"step": 0}"#);
    assert_eq!(early, r#"no episode has begun: send {"reset": {}} first"#);
    bank.handle(r#"{"reset": {}}"#).expect("a reset");
    for (line, message) in [
        (r#"{"step": 4}"#, "no car 4: the cars are 0 to 3"),
        (r#"{"reset": {"rate": 0}}"#, "rate must be 0.1 to 100 %"),
        (r#"{"reset": {"minutes": 1e9}}"#, "minutes must be 0.1 to 1440"),
        (r#"{"reset": {"reassign": -1}}"#, "reassign must be 0 to 3600 s, or null"),
        (r#"{"reset": {"seeds": 2}}"#, "unknown field `seeds`, expected one of"),
        (r#"{"reset": {"strategy": "best"}}"#, "\"best\" is not a strategy"),
        ("step", r#"send {"reset": {"seed": 1}} or {"step": CAR}"#),
    ] {
        let text = error(&mut bank, line);
        assert!(text.contains(message), "{line}: {text}");
    }
    let next = bank.handle(r#"{"step": 0}"#).expect("the episode goes on");
    assert!(next.time > 0.0);
    let mut other = Building::named("crites-barto").expect("a building");
    assert!(Gym::new(other.clone()).handle(r#"{"reset": {}}"#).is_ok());
    other.floor_height = 4.0;
    let text = error(&mut Gym::new(other), r#"{"reset": {}}"#);
    assert_eq!(text, "crites-barto has no population, to which the rate refers");
}
