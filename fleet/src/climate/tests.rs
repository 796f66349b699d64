use core::net::Ipv4Addr;

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

/// K1, K2, V11, V12
#[test]
fn averages_are_over_the_latest_fresh_reading_of_each_unit() {
    let mut readings = readings();
    readings.record(node("A"), reads(Some(20), Some(10)), at(0));
    readings.record(device(1), reads(Some(-3), None), at(1_000));
    readings.record(node("B"), reads(None, Some(20)), at(2_000));
    readings.record(node("A"), reads(Some(22), Some(11)), at(3_000));
    for (now, temperature, illuminance) in [
        // 15.5 is rounded.
        (5_999, Some(95), Some(16)),
        (6_000, Some(220), Some(16)),
        (7_000, Some(220), Some(11)),
        (8_000, None, None),
    ] {
        assert_eq!(readings.temperature(at(now)), temperature, "{now}");
        assert_eq!(readings.illuminance(at(now)), illuminance, "{now}");
    }
}
