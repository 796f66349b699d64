//! The climate in a cabin: a day outside, a lamp inside, and what passengers and drive add.

use std::f64::consts::TAU;
use std::time::Duration;

use elevator_driver::Climate;

use crate::config::ClimateConfig;

/// How often the sensors measure.
const SAMPLE: Duration = Duration::from_secs(1);

/// The time of day at which a simulator starts, as a share of the day: nine o'clock.
const START: f64 = 9.0 / 24.0;

/// How far day and night are from the mean temperature, °C.
const SWING: f64 = 2.0;

/// How far a cabin may be from the building's temperature, °C either way, drawn from the seed.
const SPREAD: f64 = 0.8;

/// What a motor that runs all the time would add in the end, °C.
const DRIVE_WARMTH: f64 = 1.5;

/// What a car at its rated load would add in the end, °C.
const LOAD_WARMTH: f64 = 3.0;

/// In this time the cabin comes most of the way (63 %) to the warmth that it is heated to.
const WARMING: Duration = Duration::from_mins(5);

/// The cabin's lamp, and how far it may be off, drawn from the seed.
const LAMP: f64 = 100.0;
const LAMP_SPREAD: f64 = 10.0;

/// What the noon's light adds through the glass, and the landing's lamp through an open door.
const DAYLIGHT: f64 = 100.0;
const LANDING_LAMP: f64 = 40.0;

/// What happens in and around the cabin as far as its climate feels it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Influence {
    /// The motor is driven.
    pub(crate) driven: bool,
    /// Load, per cent of the rated load.
    pub(crate) load: u8,
    /// How far the door is open, 0 to 1.
    pub(crate) door: f64,
}

/// The climate of one cabin, and its sensors. Deterministic by its seed.
#[derive(Debug, Clone)]
pub(crate) struct CabinClimate {
    config: ClimateConfig,
    /// What this cabin adds to the building's temperature, °C.
    offset: f64,
    lamp: f64,
    /// What passengers and drive have added, °C.
    warmth: f64,
    clock: Duration,
    measured: Climate,
    /// The values to which the sensors were set; the model continues behind them.
    set: Option<Climate>,
}

impl CabinClimate {
    pub(crate) fn new(config: ClimateConfig, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut either_way = |most: f64| (random.f64() * 2.0 - 1.0) * most;
        let mut climate = Self {
            config,
            offset: either_way(SPREAD),
            lamp: LAMP + either_way(LAMP_SPREAD),
            warmth: 0.0,
            clock: Duration::ZERO,
            measured: Climate::default(),
            set: None,
        };
        climate.measure(0.0);
        climate
    }

    /// What the sensors say.
    pub(crate) fn reading(&self) -> Climate {
        self.set.unwrap_or(self.measured)
    }

    /// From here on the sensors say this.
    pub(crate) fn set(&mut self, climate: Climate) {
        self.set = Some(climate);
    }

    /// Lets time pass under a steady influence.
    pub(crate) fn advance(&mut self, by: Duration, influence: Influence) {
        let drive = if influence.driven { DRIVE_WARMTH } else { 0.0 };
        let heated_to = drive + LOAD_WARMTH * f64::from(influence.load) / 100.0;
        let kept = (-by.as_secs_f64() / WARMING.as_secs_f64()).exp();
        self.warmth = heated_to + (self.warmth - heated_to) * kept;
        let samples = |clock: Duration| clock.as_secs() / SAMPLE.as_secs();
        let before = samples(self.clock);
        self.clock += by;
        if samples(self.clock) > before {
            self.measure(influence.door);
        }
    }

    fn measure(&mut self, door: f64) {
        let day = self.clock.as_secs_f64() / self.config.day.as_secs_f64() + START;
        // Warmest at three in the afternoon, brightest at noon.
        let warm = ((day - 15.0 / 24.0) * TAU).cos();
        let bright = ((day - 0.5) * TAU).cos().max(0.0);
        let temperature = self.config.temperature + self.offset + SWING * warm + self.warmth;
        let illuminance = self.lamp + DAYLIGHT * bright + LANDING_LAMP * door;
        self.measured = Climate {
            temperature: Some(whole_degrees(temperature)),
            illuminance: Some(steps(illuminance)),
        };
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounded and within the sensor's range")]
fn whole_degrees(temperature: f64) -> i8 {
    temperature.round().clamp(-127.0, 127.0) as i8
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded and within the sensor's range"
)]
fn steps(illuminance: f64) -> u8 {
    illuminance.round().clamp(0.0, 255.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    const IDLE: Influence = Influence { driven: false, load: 0, door: 0.0 };

    fn cabin(seed: u64) -> CabinClimate {
        CabinClimate::new(ClimateConfig::default(), seed)
    }

    fn temperature(cabin: &CabinClimate) -> i8 {
        cabin.reading().temperature.unwrap()
    }

    fn illuminance(cabin: &CabinClimate) -> u8 {
        cabin.reading().illuminance.unwrap()
    }

    #[test]
    fn the_afternoon_is_warmer_than_the_night_and_the_noon_is_brighter() {
        let mut cabin = cabin(1);
        let mut hours = Vec::new();
        for _ in 0..48 {
            hours.push((temperature(&cabin), illuminance(&cabin)));
            cabin.advance(HOUR, IDLE);
        }
        // It starts at nine.
        let (noon, afternoon, night) = (hours[3], hours[6], hours[18]);
        assert!(afternoon.0 >= night.0 + 3, "{hours:?}");
        assert!(noon.1 >= night.1 + 90, "{hours:?}");
        assert!((90..=110).contains(&night.1), "the lamp is lit: {hours:?}");
        assert_eq!(hours[..24], hours[24..], "one day is like another");
        assert!(hours.iter().all(|hour| (18..=24).contains(&hour.0)), "{hours:?}");
    }

    #[test]
    fn passengers_and_the_drive_warm_the_cabin_and_an_open_door_lights_it() {
        let mut busy = cabin(1);
        let mut idle = busy.clone();
        let influence = Influence { driven: true, load: 60, door: 1.0 };
        for _ in 0..3_600 {
            busy.advance(SAMPLE, influence);
            idle.advance(SAMPLE, IDLE);
        }
        assert!(temperature(&busy) >= temperature(&idle) + 3);
        assert_eq!(illuminance(&busy), illuminance(&idle) + 40);
        busy.advance(HOUR, IDLE);
        idle.advance(HOUR, IDLE);
        assert_eq!(busy.reading(), idle.reading(), "it cools down again");
    }

    #[test]
    fn a_set_value_stays() {
        let mut cabin = cabin(1);
        let set = Climate { temperature: Some(-3), illuminance: None };
        cabin.set(set);
        cabin.advance(HOUR * 5, IDLE);
        assert_eq!(cabin.reading(), set);
    }

    #[test]
    fn the_sensors_measure_once_a_second() {
        let mut cabin = cabin(1);
        let open = Influence { door: 1.0, ..IDLE };
        let before = cabin.reading();
        cabin.advance(Duration::from_millis(999), open);
        assert_eq!(cabin.reading(), before);
        cabin.advance(Duration::from_millis(1), open);
        assert_ne!(cabin.reading(), before);
    }
}
