//! A window of the week, as the API says it.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use elevator_driver::{Floor, FloorCount};
use elevator_fleet::model::NodeId;
use liftmesh_api::{CarShare, FloorShare, HourShare, Period, Share, Statistics, Times, Waiting};

use super::histogram::Histogram;
use super::quarter::Quarter;
use super::week::{QUARTER, Slot, Week, Window};

/// The edges of the distribution, in seconds. Each is one of a bin.
const EDGES: [u32; 15] = [0, 5, 10, 15, 20, 25, 30, 40, 50, 60, 90, 120, 180, 300, 600];

/// The columns of the CSV: the kinds of times, what is said of each, and the states of cars.
const KINDS: [&str; 4] = ["hall", "destination", "car", "journey"];
const TIMES: [&str; 7] = ["calls", "mean", "p50", "p90", "p95", "p99", "longest"];
const STATES: [&str; 3] = ["in_service", "reserved", "down"];

#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) node: String,
    pub(crate) floors: FloorCount,
    pub(crate) window: Window,
    /// How many minutes the asker's clock is ahead of UTC.
    pub(crate) utc_offset: i16,
    pub(crate) at: SystemTime,
}

impl Week {
    pub(crate) fn statistics(&self, asked: &Asked) -> Statistics {
        let present = Slot::of(asked.at);
        let length = match asked.window {
            Window::Hour | Window::Day => 1,
            Window::Week => 4,
        };
        let mut all = Quarter::default();
        let mut periods: Vec<(Slot, Quarter)> = Vec::new();
        let mut hours = [(); 24].map(|()| Quarter::default());
        for (slot, quarter) in self.within(asked.window, present) {
            all.add(quarter);
            hours[hour_of(slot, asked.utc_offset)].add(quarter);
            let begins = Slot(slot.0 - slot.0 % length);
            match periods.last_mut() {
                Some((last, period)) if *last == begins => period.add(quarter),
                _ => periods.push((begins, quarter.clone())),
            }
        }
        let [hall, destination, car, journeys] = all.times.each_ref().map(times);
        Statistics {
            node: asked.node.clone(),
            window: asked.window.name().to_owned(),
            from: moment(Slot(present.0.saturating_sub(asked.window.quarters())).begins()),
            to: moment(asked.at),
            since: self.first(present).map(|slot| moment(slot.begins())),
            watched: seconds(all.watched),
            floors: asked.floors.get(),
            utc_offset: asked.utc_offset,
            waiting: Waiting { landing: times(&all.landings()), hall, destination, car },
            journeys,
            distribution: distribution(&all),
            by_floor: asked.floors.floors().map(|floor| floor_share(floor, &all, &hours)).collect(),
            by_hour: (0..).zip(&hours).map(|(hour, quarter)| hour_share(hour, quarter)).collect(),
            cars: all.cars.iter().map(|(car, times)| car_share(car, *times)).collect(),
            period: u32::try_from(QUARTER.as_secs()).unwrap_or_default() * length,
            periods: periods.iter().map(|(slot, quarter)| period(*slot, quarter)).collect(),
        }
    }

    /// The quarters of a window as CSV (RFC 4180): a head, and a row for each.
    pub(crate) fn csv(&self, asked: &Asked) -> String {
        let quarters: Vec<_> = self.within(asked.window, Slot::of(asked.at)).collect();
        let cars: BTreeSet<_> = quarters.iter().flat_map(|(_, it)| it.cars.keys()).collect();
        let mut head = vec!["start".to_owned(), "watched".to_owned()];
        head.extend(KINDS.iter().flat_map(|kind| TIMES.map(|time| format!("{kind}_{time}"))));
        head.extend(asked.floors.floors().map(|floor| format!("floor_{floor}_calls")));
        head.extend(cars.iter().flat_map(|car| STATES.map(|state| format!("car_{car}_{state}"))));
        let row = |(slot, quarter): (Slot, &Quarter)| {
            let mut row = vec![moment(slot.begins()), seconds(quarter.watched).to_string()];
            for times in quarter.times.each_ref().map(times) {
                let Times { calls, mean, p50, p90, p95, p99, longest } = times;
                row.push(calls.to_string());
                let said = [mean, p50, p90, p95, p99, longest];
                row.extend(said.map(|time| time.map(|time| time.to_string()).unwrap_or_default()));
            }
            row.extend(asked.floors.floors().map(|floor| calls(quarter, floor).to_string()));
            row.extend(cars.iter().flat_map(|car| {
                let times = quarter.cars.get(*car).copied().unwrap_or_default();
                times.map(|time| seconds(time).to_string())
            }));
            row
        };
        let rows = [head].into_iter().chain(quarters.into_iter().map(row));
        rows.map(|row| row.join(",") + "\r\n").collect()
    }
}

fn hour_of(slot: Slot, utc_offset: i16) -> usize {
    let minutes = i64::from(slot.0) * 15 + i64::from(utc_offset);
    usize::try_from(minutes.div_euclid(60).rem_euclid(24)).unwrap_or_default()
}

fn calls(quarter: &Quarter, floor: Floor) -> u64 {
    let calls = quarter.floors.get(&floor.index()).copied().unwrap_or_default();
    calls.into_iter().map(u64::from).sum()
}

fn floor_share(floor: Floor, all: &Quarter, hours: &[Quarter]) -> FloorShare {
    let counts = all.floors.get(&floor.index()).copied().unwrap_or_default();
    let [up, down, destination, car] = counts.map(u64::from);
    let hours = hours.iter().map(|hour| calls(hour, floor)).collect();
    FloorShare { floor, up, down, destination, car, hours }
}

fn hour_share(hour: u8, quarter: &Quarter) -> HourShare {
    let [hall, destination, car, _] = quarter.times.each_ref().map(Histogram::count);
    HourShare { hour, hall, destination, car }
}

fn car_share(car: &NodeId, times: [u32; 3]) -> CarShare {
    let [in_service, reserved, down] = times.map(seconds);
    let watched = in_service + reserved + down;
    let availability =
        (watched > 0.0).then(|| (in_service / watched * 10_000.0).round() / 10_000.0);
    CarShare { car: car.to_string(), availability, in_service, reserved, down }
}

fn period(slot: Slot, quarter: &Quarter) -> Period {
    let [.., car, journeys] = quarter.times.each_ref().map(times);
    Period {
        start: moment(slot.begins()),
        watched: seconds(quarter.watched),
        landing: times(&quarter.landings()),
        car,
        journeys,
    }
}

fn distribution(all: &Quarter) -> Vec<Share> {
    let ends = EDGES.into_iter().skip(1).map(Some).chain([None]);
    let share = |(from, to): (u32, Option<u32>)| {
        let time = |seconds: u32| Duration::from_secs(seconds.into());
        let of = |times: &Histogram| times.between(time(from), to.map(time));
        let [hall, destination, car, journeys] = all.times.each_ref().map(of);
        Share { from: from.into(), to: to.map(f64::from), hall, destination, car, journeys }
    };
    EDGES.into_iter().zip(ends).map(share).collect()
}

fn times(histogram: &Histogram) -> Times {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    let [p50, p90, p95, p99] =
        [50, 90, 95, 99].map(|per_cent| seconds(histogram.percentile(per_cent)));
    let (mean, longest) = (seconds(histogram.mean()), seconds(histogram.longest()));
    Times { calls: histogram.count(), mean, p50, p90, p95, p99, longest }
}

fn seconds(millis: u32) -> f64 {
    f64::from(millis) / 1000.0
}

fn moment(at: SystemTime) -> String {
    humantime::format_rfc3339_seconds(at).to_string()
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
        let floors = FloorCount::nearest(4);
        Asked { node: "A".to_owned(), floors, window, utc_offset, at }
    }

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
            assert!(edges.contains(&Duration::from_secs(edge.into())), "{edge}");
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
