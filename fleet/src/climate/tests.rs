use core::net::Ipv4Addr;

use proptest::prelude::*;

use super::readings::MOST_SOURCES;
use super::*;
use crate::model::{NodeId, Timestamp};

const SECOND: Duration = Duration::from_secs(1);

fn at(millis: u64) -> Timestamp {
    Timestamp::after_start(Duration::from_millis(millis))
}

fn node(name: &str) -> Source {
    Source::Node(NodeId::new(name).expect("a name"))
}

fn device(index: usize) -> Source {
    let index = u32::try_from(index).expect("few devices");
    Source::Device(Ipv4Addr::from(0x0a00_0000 + index))
}

fn reads(temperature: Option<i8>, illuminance: Option<u8>) -> Reading {
    Reading { temperature, illuminance }
}

fn readings() -> Readings {
    Readings::new(SECOND * 5)
}

#[test]
fn a_flood_of_strangers_is_not_taken_in() {
    let mut readings = readings();
    for index in 0..MOST_SOURCES * 2 {
        readings.record(device(index), reads(Some(20), None), at(0));
    }
    assert_eq!(readings.fresh(at(0)).count(), MOST_SOURCES);
    readings.record(device(0), reads(Some(25), None), at(1));
    let first = readings.fresh(at(1)).next();
    assert_eq!(
        first.map(|(_, reading, _)| reading.temperature),
        Some(Some(25)),
        "those that are known go on"
    );
    readings.record(node("A"), reads(Some(20), None), at(6_000));
    assert_eq!(readings.fresh(at(6_000)).count(), 1, "the silent make room");
}

#[test]
fn an_indicator_shows_temperature_and_local_time() {
    // 2026-05-01, 10:05:59 UTC
    let time = Some(1_777_629_959);
    assert_eq!(display_text(Some(214), time, 0), "21.4 C 10:05");
    assert_eq!(display_text(Some(-35), time, 120), "-3.5 C 12:05");
    assert_eq!(display_text(None, time, -11 * 60), "-- C 23:05");
    assert_eq!(display_text(Some(214), None, 0), "21.4 C");
    assert_eq!(display_text(None, Some(0), -1), "-- C 23:59");
}

/// The default curve, as PROTOCOL.md has it.
#[test]
fn the_backlight_grows_with_the_root_of_the_light() {
    let settings = ClimateSettings::default();
    let shown = [0, 1, 16, 64, 128, 255].map(|light| settings.brightness(Some(light)));
    assert_eq!(shown, [30, 43, 85, 142, 188, 255]);
    assert_eq!(settings.brightness(None), 255, "unknown");
}

fn step() -> impl Strategy<Value = (u64, Source, Reading)> {
    let source = prop_oneof![
        (0..4_u8).prop_map(|index| node(&format!("N{index}"))),
        (0..4_usize).prop_map(device),
    ];
    let reading = (any::<Option<i8>>(), any::<Option<u8>>())
        .prop_map(|(temperature, illuminance)| reads(temperature, illuminance));
    (0..4_000_u64, source, reading)
}

proptest! {
    /// K1, K2, V11, V12: against a list of all that was ever taken in.
    #[test]
    fn averages_are_over_the_latest_fresh_reading_of_each_unit(
        steps in prop::collection::vec(step(), 1..40),
        wait in 0..8_000_u64,
    ) {
        let (mut readings, mut taken, mut now) = (readings(), Vec::new(), 0);
        for (wait, source, reading) in steps {
            now += wait;
            readings.record(source.clone(), reading, at(now));
            taken.push((source, reading, now));
        }
        now += wait;
        let latest: Vec<Reading> = taken
            .iter()
            .enumerate()
            .filter(|(index, (source, _, at))| {
                let later = taken[index + 1..].iter().any(|(other, ..)| other == source);
                !later && now - at < 5_000
            })
            .map(|(_, (_, reading, _))| *reading)
            .collect();
        let degrees: Vec<f64> = latest.iter().filter_map(|r| r.temperature).map(f64::from).collect();
        let lights: Vec<f64> = latest.iter().filter_map(|r| r.illuminance).map(f64::from).collect();
        let mean = |values: &[f64]| {
            let count = u32::try_from(values.len()).expect("few units");
            (count > 0).then(|| values.iter().sum::<f64>() / f64::from(count))
        };
        let close = |shown: Option<f64>, mean: Option<f64>, by: f64| match (shown, mean) {
            (Some(shown), Some(mean)) => (shown - mean).abs() <= by + 1e-9,
            (shown, mean) => shown == mean,
        };
        let temperature = readings.temperature(at(now)).map(|tenths| f64::from(tenths) / 10.0);
        prop_assert!(close(temperature, mean(&degrees), 0.05), "{temperature:?} {degrees:?}");
        let illuminance = readings.illuminance(at(now)).map(f64::from);
        prop_assert!(close(illuminance, mean(&lights), 0.5), "{illuminance:?} {lights:?}");
    }
}
