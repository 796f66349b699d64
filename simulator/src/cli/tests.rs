use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Program {
    #[command(flatten)]
    args: Args,
}

fn parse(words: &[&str]) -> Result<SimulatorConfig, clap::Error> {
    let words = std::iter::once("elevator-simulator").chain(words.iter().copied());
    Program::try_parse_from(words).map(|program| config(program.args))
}

#[test]
fn the_defaults_are_those_of_the_library() {
    let config = parse(&["--serial"]).unwrap();
    let library = CarConfig::new(FloorCount::new(4).unwrap());
    assert_eq!(config.car, library);
    assert_eq!(config.serial, Some(SerialConfig::default()));
    assert_eq!(config.watchdog, SimulatorConfig::new("A", library).watchdog);
}

#[test]
fn times_and_places_are_understood() {
    let config = parse(&[
        "--serial-link=/x",
        "--floors=9",
        "--start-position=4.5",
        "--watchdog=0.5s",
        "--door-opening=900ms",
        "--speed=0.3",
    ])
    .unwrap();
    assert_eq!(config.car.start, StartPosition::Metres(4.5));
    assert_eq!(config.watchdog, Duration::from_millis(500));
    assert_eq!(config.car.door.opening, Duration::from_millis(900));
    assert!(config.car.check().is_ok(), "a slow car creeps no faster");
    assert!(config.serial.is_some(), "a link implies the line");
}

#[test]
fn wrong_values_are_refused() {
    for words in [
        &["--floors=1"][..],
        &["--floors=many"],
        &["--watchdog=300"],
        &["--watchdog=-1s"],
        &["--start-position=up"],
        &["--start-floor=1", "--start-position=2"],
        &["--noise=101"],
        &["--tcp=nowhere"],
    ] {
        assert!(parse(words).is_err(), "{words:?}");
    }
}
