use std::collections::BTreeMap;

use elevator_driver::Direction;

use super::*;
use crate::dispatch::Assignments;
use crate::election::testing::{floor, name};
use crate::model::{CarPhase, CarView, HallCall};

fn schedule(text: &str) -> Schedule {
    text.parse().expect("a schedule")
}

fn idle(car: u8, at: u8) -> CarSituation {
    let view = CarView::idle_at(floor(at));
    CarSituation { car: name(car), view, car_calls: BTreeSet::new() }
}

#[test]
fn an_entry_is_shown_as_it_was_written() {
    let both = schedule("mon-fri 07:00-09:30 park 0; daily 22:00-06:00 park 0 2 cars 2");
    let texts = [0, 1, 2].map(|number| both.text(number));
    let expected =
        [Some("mon-fri 07:00-09:30 park 0"), Some("daily 22:00-06:00 park 0 2 cars 2"), None];
    assert_eq!(texts.each_ref().map(Option::as_deref), expected);
}

/// Where the entry of this text sends the cars: by their numbers.
fn parks(text: &str, cars: &[CarSituation], assignments: Assignments) -> BTreeMap<NodeId, u8> {
    let mut plan = Plan { assignments, cars: BTreeMap::new() };
    schedule(text).parking(0).expect("an entry").apply(&mut plan, cars);
    let park = |(car, plan): (NodeId, CarPlan)| Some((car, plan.park?.index()));
    plan.cars.into_iter().filter_map(park).collect()
}

fn by_number(places: &[(u8, u8)]) -> BTreeMap<NodeId, u8> {
    places.iter().map(|(car, at)| (name(*car), *at)).collect()
}

const DAILY: &str = "daily 00:00-24:00 park";

#[test]
fn an_entry_holds_from_its_beginning_until_its_end() {
    let week = schedule("mon-fri 07:00-09:30 park 0; fri-sun 22:00-06:00 park 0 8 cars 2");
    for (day, hour, minute, expected) in [
        (0, 6, 59, None),
        (0, 7, 0, Some(0)),
        (4, 9, 29, Some(0)),
        (4, 9, 30, None),
        (4, 22, 0, Some(1)),
        (5, 5, 59, Some(1)),
        (5, 6, 0, None),
        // Sunday night reaches into the next week.
        (0, 5, 59, Some(1)),
        (0, 6, 0, None),
    ] {
        let at = WeekTime::new(day, hour, minute);
        assert_eq!(week.number_at(at), expected, "{at}");
    }
}

#[test]
fn the_last_entry_that_holds_counts() {
    let week = schedule("daily 22:00-06:00 park 0; sat,sun 00:00-24:00 park 3");
    assert_eq!(week.number_at(WeekTime::new(5, 3, 0)), Some(1));
    assert_eq!(week.covered(), None);
    let covered = schedule("sat 08:00-09:00 park 1; daily 07:00-10:00 park 0");
    assert_eq!(covered.covered().as_deref(), Some("sat 08:00-09:00 park 1"));
}

#[test]
fn the_time_of_the_week_follows_from_seconds_and_offset() {
    // 2026-05-01, a Friday, 10:05:59 UTC
    let friday = 1_777_629_959;
    assert_eq!(WeekTime::of_unix(friday, 0), WeekTime::new(4, 10, 5));
    assert_eq!(WeekTime::of_unix(friday, -11 * 3600), WeekTime::new(3, 23, 5));
    assert_eq!(WeekTime::of_unix(0, -4 * 86_400), WeekTime::new(6, 0, 0));
    assert_eq!(WeekTime::of_unix(friday, 0).to_string(), "Fri 10:05");
}

#[test]
fn a_schedule_that_was_read_is_written_alike() {
    for text in [
        "",
        "daily 22:00-06:00 park 0 8 cars 2",
        "mon-fri 07:00-09:30 park 0; sat-sun 00:00-24:00 park 3",
        "mon,wed,fri-sun 12:00-12:01 park 253 253 0 cars 255",
    ] {
        assert_eq!(schedule(text).to_string(), text);
    }
    assert_eq!(schedule(" ; daily  01:00-02:00  park 1 ;").to_string(), "daily 01:00-02:00 park 1");
}

#[test]
fn a_text_that_is_no_schedule_is_refused() {
    for text in [
        "mon-fry 07:00-09:30 park 0",
        "daily 7:00-09:30 park 0",
        "daily 07:00-07:00 park 0",
        "daily 24:00-07:00 park 0",
        "daily 07:60-08:00 park 0",
        "daily 07:00-08:00 park",
        "daily 07:00-08:00 park 254",
        "daily 07:00-08:00 park 0 cars 0",
        "daily 07:00-08:00 park 0 cars 1 2",
        &"daily 00:00-01:00 park 0;".repeat(MOST_ENTRIES + 1),
        &format!("daily 00:00-01:00 park{}", " 0".repeat(MOST_PLACES + 1)),
    ] {
        assert_eq!(text.parse::<Schedule>(), Err(ScheduleError), "{text}");
    }
}

/// Up-peak: all of them go to the lobby; at night each has another floor.
#[test]
fn idle_cars_go_to_the_places_of_the_entry() {
    let cars = [idle(1, 0), idle(2, 5), idle(3, 9)];
    let all = |text: &str| parks(&format!("{DAILY} {text}"), &cars, Assignments::new());
    assert_eq!(all("0"), by_number(&[(1, 0), (2, 0), (3, 0)]));
    assert_eq!(all("0 8"), by_number(&[(1, 0), (2, 0), (3, 8)]));
    assert_eq!(all("8 0 cars 2"), by_number(&[(1, 0), (3, 8)]));
    assert_eq!(all("0 cars 9"), by_number(&[(1, 0), (2, 0), (3, 0)]));
}

#[test]
fn a_car_that_is_not_idle_or_cannot_go_there_is_left_out() {
    let mut cars = [idle(1, 0), idle(2, 5), idle(3, 6), idle(4, 7), idle(5, 8)];
    cars[0].view.phase = CarPhase::Open;
    cars[1].car_calls.insert(floor(2));
    cars[2].view.locked_out.insert(floor(0));
    let call = HallCall::new(floor(4), Direction::Up);
    let busy = Assignments::from([(call, name(4))]);
    assert_eq!(parks(&format!("{DAILY} 0"), &cars, busy), by_number(&[(5, 0)]));
}
