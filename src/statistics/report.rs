//! A window of the week, as the API says it.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use liftmesh_api::{CarShare, FloorShare, HourShare, Period, Share, Statistics, Times, Waiting};

use super::histogram::Histogram;
use super::quarter::{FloorCalls, Quarter};
use super::week::{QUARTER, Slot, Week, Window};

/// The edges of the distribution, in seconds. Each is one of a bin.
const EDGES: [u64; 15] = [0, 5, 10, 15, 20, 25, 30, 40, 50, 60, 90, 120, 180, 300, 600];

/// The kinds of times in the CSV, with the names of their columns.
const COLUMNS: [&str; 4] = ["hall", "destination", "car", "journey"];

#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) node: String,
    pub(crate) floors: u8,
    pub(crate) window: Window,
    /// How many minutes the asker's clock is ahead of UTC.
    pub(crate) utc_offset: i16,
    pub(crate) at: SystemTime,
}

impl Window {
    /// How many quarters make a period of this window.
    fn quarters_of_period(self) -> u32 {
        match self {
            Self::Hour | Self::Day => 1,
            Self::Week => 4,
        }
    }
}

impl Week {
    pub(crate) fn statistics(&self, asked: &Asked) -> Statistics {
        let present = Slot::of(asked.at);
        let mut all = Quarter::default();
        let mut periods: Vec<(Slot, Quarter)> = Vec::new();
        let mut hours = Hours::new(asked);
        let length = asked.window.quarters_of_period();
        for (slot, quarter) in self.within(asked.window, present) {
            all.add(quarter);
            hours.add(slot, quarter);
            let begins = Slot(slot.0 - slot.0 % length);
            match periods.last_mut() {
                Some((last, period)) if *last == begins => period.add(quarter),
                _ => periods.push((begins, quarter.clone())),
            }
        }
        Statistics {
            node: asked.node.clone(),
            window: asked.window.name().to_owned(),
            from: moment(Slot(present.0.saturating_sub(asked.window.quarters())).begins()),
            to: moment(asked.at),
            since: self.first(present).map(|slot| moment(slot.begins())),
            watched: seconds(all.watched),
            floors: asked.floors,
            utc_offset: asked.utc_offset,
            waiting: Waiting {
                landing: times(&all.landings()),
                hall: times(&all.hall),
                destination: times(&all.destination),
                car: times(&all.car),
            },
            journeys: times(&all.journeys),
            distribution: distribution(&all),
            by_floor: hours.floors(&all),
            by_hour: hours.shares,
            cars: all
                .cars
                .iter()
                .map(|(car, time)| CarShare {
                    car: car.to_string(),
                    availability: ratio(time.in_service.into(), time.watched()),
                    in_service: seconds(time.in_service),
                    reserved: seconds(time.reserved),
                    down: seconds(time.down),
                })
                .collect(),
            period: u32::try_from(QUARTER.as_secs()).unwrap_or_default() * length,
            periods: periods.iter().map(|(slot, quarter)| period(*slot, quarter)).collect(),
        }
    }

    /// The quarters of a window as CSV (RFC 4180): a head, and a row for each.
    pub(crate) fn csv(&self, asked: &Asked) -> String {
        let present = Slot::of(asked.at);
        let mut all = Quarter::default();
        self.within(asked.window, present).for_each(|(_, quarter)| all.add(quarter));
        let floors: Vec<u8> = (0..asked.floors).collect();
        let mut text = String::from("start,watched");
        for kind in COLUMNS {
            for column in ["calls", "mean", "p50", "p90", "p95", "p99", "longest"] {
                push(&mut text, format_args!(",{kind}_{column}"));
            }
        }
        for floor in &floors {
            push(&mut text, format_args!(",floor_{floor}_calls"));
        }
        for car in all.cars.keys() {
            for state in ["in_service", "reserved", "down"] {
                push(&mut text, format_args!(",car_{car}_{state}"));
            }
        }
        text.push_str("\r\n");
        for (slot, quarter) in self.within(asked.window, present) {
            let watched = seconds(quarter.watched);
            push(&mut text, format_args!("{},{watched}", moment(slot.begins())));
            let kinds = [&quarter.hall, &quarter.destination, &quarter.car, &quarter.journeys];
            for times in kinds.map(times) {
                push(&mut text, format_args!(",{}", times.calls));
                let Times { calls: _, mean, p50, p90, p95, p99, longest } = times;
                for time in [mean, p50, p90, p95, p99, longest] {
                    text.push(',');
                    if let Some(time) = time {
                        push(&mut text, format_args!("{time}"));
                    }
                }
            }
            for floor in &floors {
                let calls = quarter.floors.get(floor).copied().unwrap_or_default().sum();
                push(&mut text, format_args!(",{calls}"));
            }
            for car in all.cars.keys() {
                let time = quarter.cars.get(car).copied().unwrap_or_default();
                for time in [time.in_service, time.reserved, time.down] {
                    push(&mut text, format_args!(",{}", seconds(time)));
                }
            }
            text.push_str("\r\n");
        }
        text
    }
}

/// The calls by hour of the day.
struct Hours {
    floors: u8,
    utc_offset: i16,
    shares: Vec<HourShare>,
    by_floor: Vec<[u64; 24]>,
}

impl Hours {
    fn new(asked: &Asked) -> Self {
        let share = |hour| HourShare { hour, hall: 0, destination: 0, car: 0 };
        Self {
            floors: asked.floors,
            utc_offset: asked.utc_offset,
            shares: (0..24).map(share).collect(),
            by_floor: vec![[0; 24]; asked.floors.into()],
        }
    }

    fn add(&mut self, slot: Slot, quarter: &Quarter) {
        let hour = hour_of(slot, self.utc_offset);
        if let Some(share) = self.shares.get_mut(hour) {
            share.hall += quarter.hall.count();
            share.destination += quarter.destination.count();
            share.car += quarter.car.count();
        }
        for (floor, calls) in &quarter.floors {
            let hours = self.by_floor.get_mut(usize::from(*floor));
            if let Some(count) = hours.and_then(|hours| hours.get_mut(hour)) {
                *count += calls.sum();
            }
        }
    }

    fn floors(&self, all: &Quarter) -> Vec<FloorShare> {
        let share = |floor: u8| {
            let calls = all.floors.get(&floor).copied().unwrap_or_default();
            let FloorCalls { up, down, destination, car } = calls;
            let hours = self.by_floor.get(usize::from(floor)).map(|hours| hours.to_vec());
            FloorShare {
                floor,
                up: up.into(),
                down: down.into(),
                destination: destination.into(),
                car: car.into(),
                hours: hours.unwrap_or_default(),
            }
        };
        (0..self.floors).map(share).collect()
    }
}

/// The hour of the day of a quarter, from 0 to 23.
fn hour_of(slot: Slot, utc_offset: i16) -> usize {
    let minutes = i64::from(slot.0) * 15 + i64::from(utc_offset);
    usize::try_from(minutes.div_euclid(60).rem_euclid(24)).unwrap_or_default()
}

fn period(slot: Slot, quarter: &Quarter) -> Period {
    Period {
        start: moment(slot.begins()),
        watched: seconds(quarter.watched),
        landing: times(&quarter.landings()),
        car: times(&quarter.car),
        journeys: times(&quarter.journeys),
    }
}

fn distribution(all: &Quarter) -> Vec<Share> {
    let ends = EDGES.into_iter().skip(1).map(Some).chain([None]);
    let share = |(from, to): (u64, Option<u64>)| {
        let of = |histogram: &Histogram| {
            histogram.between(Duration::from_secs(from), to.map(Duration::from_secs))
        };
        let time = |seconds| Duration::from_secs(seconds).as_secs_f64();
        Share {
            from: time(from),
            to: to.map(time),
            hall: of(&all.hall),
            destination: of(&all.destination),
            car: of(&all.car),
            journeys: of(&all.journeys),
        }
    };
    EDGES.into_iter().zip(ends).map(share).collect()
}

fn times(histogram: &Histogram) -> Times {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    let percentile = |per_cent| seconds(histogram.percentile(per_cent));
    Times {
        calls: histogram.count(),
        mean: seconds(histogram.mean()),
        p50: percentile(50),
        p90: percentile(90),
        p95: percentile(95),
        p99: percentile(99),
        longest: seconds(histogram.longest()),
    }
}

/// Seconds of milliseconds.
fn seconds(millis: u32) -> f64 {
    f64::from(millis) / 1000.0
}

/// To four places.
#[expect(clippy::cast_precision_loss, reason = "a week has few milliseconds")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 10_000.0).round() / 10_000.0)
}

fn moment(at: SystemTime) -> String {
    humantime::format_rfc3339_seconds(at).to_string()
}

/// Text never refuses.
fn push(text: &mut String, more: std::fmt::Arguments<'_>) {
    if text.write_fmt(more).is_err() {
        debug_assert!(false, "a string takes everything");
    }
}

#[cfg(test)]
mod tests {
    use elevator_driver::{Direction, Floor};
    use elevator_fleet::model::{Call, HallCall, NodeId};

    use super::*;
    use crate::statistics::histogram::bin_edges;
    use crate::statistics::{BINS, CarState, Tally};

    /// 2026-05-01 12:00 UTC.
    const NOON: Slot = Slot(1_777_636_800 / 900);

    fn asked(window: Window, utc_offset: i16) -> Asked {
        let at = NOON.begins() + Duration::from_mins(7);
        Asked { node: "A".to_owned(), floors: 4, window, utc_offset, at }
    }

    /// A hall call each quarter of two days, and a look at two cars.
    fn tally() -> Tally {
        let mut tally = Tally::default();
        let car = NodeId::new("A").unwrap();
        let call = Call::Hall(HallCall::new(Floor::try_from(2).unwrap(), Direction::Down));
        for (seconds, slot) in (0..).zip(NOON.0 - 192..=NOON.0) {
            let at = Duration::from_secs(10 * seconds);
            let state = if seconds % 4 == 0 { CarState::Down } else { CarState::InService };
            tally.record_cars([(&car, state)], at, Slot(slot));
            tally.record_served(&call, Duration::from_secs(seconds), Some(&car), at, Slot(slot));
        }
        tally
    }

    #[test]
    fn every_edge_of_the_distribution_is_one_of_a_bin() {
        let edges: Vec<_> = (0..BINS).map(|bin| bin_edges(bin).0).collect();
        for edge in EDGES {
            assert!(edges.contains(&Duration::from_secs(edge)), "{edge}");
        }
    }

    #[test]
    fn a_window_is_summed_up() {
        let tally = tally();
        let day = tally.week.statistics(&asked(Window::Day, 0));
        assert_eq!(
            (day.from.as_str(), day.to.as_str()),
            ("2026-04-30T12:00:00Z", "2026-05-01T12:07:00Z")
        );
        assert_eq!(day.since.as_deref(), Some("2026-04-29T12:00:00Z"));
        assert_eq!((day.waiting.hall.calls, day.waiting.car.calls), (97, 0));
        assert_eq!(day.waiting.landing, day.waiting.hall);
        // They have waited for 96 to 192 s.
        assert_eq!(day.waiting.hall.mean, Some(144.0));
        assert!((day.waiting.hall.p50.unwrap() - 144.0).abs() <= 2.5, "{:?}", day.waiting.hall);
        assert_eq!(day.waiting.hall.longest, Some(192.0));
        assert_eq!(day.distribution.iter().map(|share| share.hall).sum::<u64>(), 97);
        assert_eq!(day.distribution.len(), EDGES.len());
        assert_eq!((day.by_floor[2].down, day.by_floor[2].hours.iter().sum::<u64>()), (97, 97));
        assert_eq!(day.by_hour[12].hall, 5);
        assert_eq!((day.periods.len(), day.period), (97, 900));
        assert_eq!(day.cars[0].availability, Some(0.7423));
        assert!((day.watched - 970.0).abs() < 0.001, "{}", day.watched);
        let week = tally.week.statistics(&asked(Window::Week, 0));
        assert_eq!((week.periods.len(), week.period, week.waiting.hall.calls), (49, 3600, 193));
        let hour = tally.week.statistics(&asked(Window::Hour, 0));
        assert_eq!((hour.periods.len(), hour.from.as_str()), (5, "2026-05-01T11:00:00Z"));
    }

    #[test]
    fn hours_are_those_of_the_clock_that_is_asked_for() {
        for (offset, hour) in [(0, 12), (60, 13), (330, 17), (-720, 0), (-725, 23), (840, 2)] {
            assert_eq!(hour_of(NOON, offset), hour, "{offset} min");
        }
        assert_eq!(hour_of(Slot(0), -60), 23);
    }

    #[test]
    fn a_week_without_anything_has_no_times() {
        let nothing = Week::default().statistics(&asked(Window::Week, 0));
        assert_eq!(nothing.waiting.landing, Times::default());
        assert_eq!((nothing.since, nothing.periods), (None, Vec::new()));
        assert_eq!((nothing.by_floor.len(), nothing.by_hour.len()), (4, 24));
        assert_eq!(Week::default().csv(&asked(Window::Week, 0)).lines().count(), 1);
    }

    #[test]
    fn a_row_of_the_csv_is_a_quarter() {
        let csv = tally().week.csv(&asked(Window::Hour, 0));
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(rows.len(), 6);
        assert!(rows.iter().all(|row| row.len() == rows[0].len()));
        let of = |name: &str| rows[0].iter().position(|head| *head == name).unwrap();
        assert_eq!(rows[5][of("start")], "2026-05-01T12:00:00Z");
        assert_eq!((rows[5][of("hall_calls")], rows[5][of("hall_longest")]), ("1", "192"));
        assert_eq!((rows[5][of("floor_2_calls")], rows[5][of("floor_0_calls")]), ("1", "0"));
        assert_eq!((rows[5][of("car_calls")], rows[5][of("car_p50")]), ("0", ""));
        assert_eq!(rows[5][of("car_A_down")], "10");
        assert_eq!(rows[4][of("car_A_in_service")], "10");
    }
}
