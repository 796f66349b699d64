//! The lunch peak of the traffic suite through real processes, with and without the loss of the
//! master in the middle of it.
//!
//! By default a few minutes of it, three times as fast as real time, which takes about two minutes.
//! The hour of the suite, twice as fast, takes 35 minutes:
//!
//! ```console
//! $ LIFTMESH_PEAK=hour cargo test --release --test load peak -- --nocapture
//! ```

use std::time::Duration;

use elevator_simulator::building::{
    Building as Model, Crowd, Journey, Passenger, Pattern, Traffic,
};
use liftmesh_harness::building::{Building, Machine};

const CARS: [&str; 4] = ["A", "B", "C", "D"];

/// Passengers, and how they are scored.
struct Peak {
    /// How much faster than real time.
    pace: u32,
    /// In per cent of the population in five minutes.
    rate: f64,
    lasts: Duration,
    /// Who comes earlier is not scored.
    warm_up: Duration,
    /// The mean wait may be so much longer where the master is lost.
    limit: f64,
}

impl Peak {
    fn chosen() -> Self {
        match std::env::var("LIFTMESH_PEAK").as_deref() {
            Ok("hour") => Self {
                pace: 2,
                rate: 12.0,
                lasts: Duration::from_hours(1),
                warm_up: Duration::from_mins(10),
                limit: 1.1,
            },
            // Few passengers, on a machine that does other things: a factor between two runs says
            // little.
            Ok(_) | Err(_) => Self {
                pace: 3,
                rate: 8.0,
                lasts: Duration::from_mins(4),
                warm_up: Duration::ZERO,
                limit: 3.0,
            },
        }
    }

    /// Serves all passengers, and returns their waits in ascending order.
    fn serve(&self, loses_master: bool) -> Vec<Duration> {
        let model = Model::named("A12").expect("a building");
        let traffic =
            Traffic::Steady { pattern: Pattern::Lunch, rate: self.rate, lasts: self.lasts };
        let passengers = traffic.passengers(&model, 1);
        let mut building = Building::like(&model, self.pace);
        let key = building.make_key("fleet.key");
        building.use_keys(&key);
        building.fill(&CARS);
        building.open_books();
        let crowd = Crowd::new(&model, &passengers, 1);
        let journeys = building.carry(crowd, self.pace, self.lasts * 2);
        if loses_master {
            journeys.wait_until(self.lasts / 2);
            building.wait_for_master(CARS[0]);
            building.kill(CARS[0]);
            // As the service manager does.
            building.start(CARS[0]);
        }
        let waits = self.waits(&journeys.end());
        building.close_books();
        building.assert_safe();
        waits
    }

    fn waits(&self, trips: &[(Passenger, Journey)]) -> Vec<Duration> {
        assert!(!trips.is_empty());
        let served = trips.iter().filter(|(_, trip)| trip.exited.is_some()).count();
        assert_eq!(served, trips.len(), "everybody is served");
        let scored = trips.iter().filter(|(passenger, _)| passenger.arrival >= self.warm_up);
        let wait = |(passenger, trip): &(Passenger, Journey)| {
            Some(trip.boarded?.saturating_sub(passenger.arrival))
        };
        let mut waits: Vec<Duration> = scored.filter_map(wait).collect();
        waits.sort_unstable();
        waits
    }
}

/// The mean, and the longest wait of nine tenths, s.
fn summary(waits: &[Duration]) -> (f64, f64) {
    let count = u32::try_from(waits.len()).expect("few");
    let mean = waits.iter().sum::<Duration>() / count;
    (mean.as_secs_f64(), waits[(waits.len() * 9).div_ceil(10) - 1].as_secs_f64())
}

/// O1, F4: who waits while the master is lost hardly notices, and nothing is lost.
#[test]
fn the_peak_goes_on_without_its_master() {
    let _machine = Machine::alone();
    let peak = Peak::chosen();
    let (whole, broken) = std::thread::scope(|scope| {
        let whole = scope.spawn(|| peak.serve(false));
        let broken = scope.spawn(|| peak.serve(true));
        (whole.join().expect("the first run"), broken.join().expect("the second run"))
    });
    let [(mean, late), (broken_mean, broken_late)] = [summary(&whole), summary(&broken)];
    let ratio = broken_mean / mean;
    println!(
        "{} passengers: mean wait {mean:.1} s, 90 % within {late:.1} s; with the master lost \
         {broken_mean:.1} s, {broken_late:.1} s: {ratio:.2} times as long",
        whole.len()
    );
    assert!(ratio <= peak.limit, "{ratio:.2} times as long");
}
