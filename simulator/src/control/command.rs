//! The control interface's language.

use std::ops::RangeInclusive;

use elevator_driver::{
    Button, Climate, Direction, Entrance, Floor, FloorCount, KeySwitch, Side, Trip,
};

use crate::car::DoorButton;
use crate::shaft::{LevellingFault, MotorFault};

/// What `help` answers, without its closing `ok`.
pub(crate) const HELP: &str = "\
press hall FLOOR up|down     press a hall button for a moment
press car FLOOR              press a car button for a moment
press destination FROM TO    give a destination at the kiosk of a landing
hold BUTTON                  keep a button pressed (stuck), e.g. hold car 2
release BUTTON               let it go
door-open press|release      hold the door-open button, or let it go; likewise door-close and
                             door-open-rear. A FLOOR followed by `rear` is its rear entrance
alarm                        press the alarm button
obstruct on|off              put something into the door, or remove it
stop on|off                  pull or push the stop switch
key normal|independent|fire|out|attendant|recall-all
load PERCENT|none            load in the car, 0 to 255 % of the rated load
climate CELSIUS ILLUMINANCE  what the climate sensors read from now on; none: no such sensor
fault motor stuck            the motor is driven but the car does not move
fault motor trips            the drive runs for 1 s, moves nothing and cuts out
fault motor dead             the drive does not start
fault motor reversed         the motor runs the wrong way
fault motor ok               the motor is repaired
fault levelling off          runs end where a floor sensor becomes active
fault levelling overshoots   runs end past the floor sensor, between floors
fault levelling ok           runs end level with the floor
fault speed PERCENT          how fast the car moves, 1 to 255 % of its rated speed
fault door jammed|ok         the door stays where it is
fault sensor FLOOR dead|ok   a floor sensor never becomes active
fault sensor all dead|ok     no floor sensor becomes active
fault noise PERCENT          bytes on the serial line that are lost or damaged
fault line unplugged|ok      cut the serial line; a new one comes under the same link
fault panel restart          the serial panel loses its memory
state                        everything as one line of JSON
violations                   what the controller asked for that was unsafe, as JSON
watch                        the state now and at each change
quit                         end the simulator";

/// One line of the control interface. [`HELP`] says what each does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    Press(Button),
    Request(Trip),
    Hold(Button),
    Release(Button),
    DoorButton(DoorButton, bool),
    Alarm,
    Obstruct(bool),
    Stop(bool),
    Key(KeySwitch),
    Load(Option<u8>),
    Climate(Climate),
    Motor(Option<MotorFault>),
    Levelling(Option<LevellingFault>),
    /// Per cent.
    Speed(u8),
    DoorJammed(bool),
    SensorDead(Floor, bool),
    AllSensorsDead(bool),
    /// Per cent.
    Noise(u8),
    Unplugged(bool),
    PanelRestart,
    State,
    Violations,
    Watch,
    Help,
    Quit,
}

/// A line that is not a command for this shaft. Nothing happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CommandError {
    #[error("\"{0}\" is not a command: send help for a list")]
    Unknown(String),
    #[error("\"{found}\" in \"{line}\" is invalid: expected {wanted}")]
    Word {
        line: String,
        /// Empty at the end of the line.
        found: String,
        wanted: String,
    },
    #[error(
        "\"{found}\" in \"{line}\" is not a floor of this shaft: floors are {} to {top}",
        Floor::BOTTOM
    )]
    Floor { line: String, found: String, top: Floor },
    #[error(
        "there is no button \"{0}\": the lowest floor has no way down, the top floor no way up"
    )]
    Button(Button),
    #[error("there is no trip from {0} in this shaft")]
    Trip(Trip),
    #[error(
        "this simulator has no serial panel: start it with --serial for faults of its line, door \
         buttons and the alarm"
    )]
    NoSerialLine,
    #[error("{0}; the line stays cut")]
    Line(String),
}

impl Command {
    /// Reads one line for a shaft of this height.
    ///
    /// # Errors
    /// Says which word is wrong and what would be right.
    pub(crate) fn parse(line: &str, floors: FloorCount) -> Result<Self, CommandError> {
        let mut words = Words::new(line, floors);
        let command = match words.next() {
            "press" if words.rest.clone().next() == Some("destination") => {
                words.next();
                Self::Request(words.trip()?)
            }
            "press" => Self::Press(words.button()?),
            "hold" => Self::Hold(words.button()?),
            "release" => Self::Release(words.button()?),
            "door-open" => Self::DoorButton(DoorButton::Open, words.one_of(&PRESSED)?),
            "door-open-rear" => Self::DoorButton(DoorButton::OpenRear, words.one_of(&PRESSED)?),
            "door-close" => Self::DoorButton(DoorButton::Close, words.one_of(&PRESSED)?),
            "alarm" => Self::Alarm,
            "obstruct" => Self::Obstruct(words.one_of(&SWITCH)?),
            "stop" => Self::Stop(words.one_of(&SWITCH)?),
            "key" => Self::Key(words.one_of(&KEYS)?),
            "load" => Self::Load(words.optional("a whole number from 0 to 255, or none")?),
            "climate" => Self::Climate(Climate {
                temperature: words.optional("a temperature in whole °C, or none")?,
                illuminance: words.optional("an illuminance from 0 to 255, or none")?,
            }),
            "fault" => words.fault()?,
            "state" => Self::State,
            "violations" => Self::Violations,
            "watch" => Self::Watch,
            "help" => Self::Help,
            "quit" => Self::Quit,
            _ => return Err(CommandError::Unknown(line.trim().to_owned())),
        };
        match words.next() {
            "" => Ok(command),
            extra => Err(words.wrong(extra, "nothing more")),
        }
    }
}

const SWITCH: [(&str, bool); 2] = [("on", true), ("off", false)];

const PRESSED: [(&str, bool); 2] = [("press", true), ("release", false)];

const SENSOR: [(&str, bool); 2] = [("dead", true), ("ok", false)];

const KEYS: [(&str, KeySwitch); 6] = [
    ("normal", KeySwitch::Normal),
    ("independent", KeySwitch::Independent),
    ("fire", KeySwitch::FireRecall),
    ("out", KeySwitch::OutOfService),
    ("attendant", KeySwitch::Attendant),
    ("recall-all", KeySwitch::RecallAll),
];

const MOTOR: [(&str, Option<MotorFault>); 5] = [
    ("stuck", Some(MotorFault::Stuck)),
    ("trips", Some(MotorFault::Trips)),
    ("dead", Some(MotorFault::Dead)),
    ("reversed", Some(MotorFault::Reversed)),
    ("ok", None),
];

const LEVELLING: [(&str, Option<LevellingFault>); 3] = [
    ("off", Some(LevellingFault::Off)),
    ("overshoots", Some(LevellingFault::Overshoots)),
    ("ok", None),
];

/// The words of one line, taken from the left; an empty word is the end.
struct Words<'a> {
    line: &'a str,
    rest: std::str::SplitWhitespace<'a>,
    floors: FloorCount,
}

impl<'a> Words<'a> {
    fn new(line: &'a str, floors: FloorCount) -> Self {
        let rest = line.split_whitespace();
        Self { line, rest, floors }
    }

    fn next(&mut self) -> &'a str {
        self.rest.next().unwrap_or("")
    }

    fn wrong(&self, found: &str, wanted: impl Into<String>) -> CommandError {
        let (line, found) = (self.line.trim().to_owned(), found.to_owned());
        CommandError::Word { line, found, wanted: wanted.into() }
    }

    /// The value whose name comes next.
    fn one_of<T: Copy>(&mut self, table: &[(&'static str, T)]) -> Result<T, CommandError> {
        let found = self.next();
        let value = table.iter().find(|(name, _)| *name == found).map(|(_, value)| *value);
        value.ok_or_else(|| {
            let names: Vec<_> = table.iter().map(|(name, _)| *name).collect();
            self.wrong(found, names.join(" or "))
        })
    }

    fn fault(&mut self) -> Result<Command, CommandError> {
        Ok(match self.next() {
            "motor" => Command::Motor(self.one_of(&MOTOR)?),
            "levelling" => Command::Levelling(self.one_of(&LEVELLING)?),
            "speed" => Command::Speed(self.percent(1..=255, "a speed from 1 to 255 %")?),
            "door" => Command::DoorJammed(self.one_of(&[("jammed", true), ("ok", false)])?),
            "sensor" if self.rest.clone().next() == Some("all") => {
                self.next();
                Command::AllSensorsDead(self.one_of(&SENSOR)?)
            }
            "sensor" => Command::SensorDead(self.floor()?, self.one_of(&SENSOR)?),
            "noise" => Command::Noise(self.percent(0..=100, "a share from 0 to 100 %")?),
            "line" => Command::Unplugged(self.one_of(&[("unplugged", true), ("ok", false)])?),
            "panel" => self.one_of(&[("restart", Command::PanelRestart)])?,
            other => {
                let wanted = "motor, levelling, speed, door, sensor, noise, line or panel";
                return Err(self.wrong(other, wanted));
            }
        })
    }

    fn button(&mut self) -> Result<Button, CommandError> {
        let button = match self.next() {
            "car" => Button::car(self.entrance()?),
            "hall" => {
                let entrance = self.entrance()?;
                let ways = [("up", Direction::Up), ("down", Direction::Down)];
                Button::hall(entrance, self.one_of(&ways)?)
            }
            other => return Err(self.wrong(other, "hall or car")),
        };
        if self.floors.has_button(button) { Ok(button) } else { Err(CommandError::Button(button)) }
    }

    /// A floor, and `rear` for its rear entrance.
    fn entrance(&mut self) -> Result<Entrance, CommandError> {
        let floor = self.floor()?;
        let is_rear = self.rest.clone().next() == Some("rear");
        let side = if is_rear { Side::Rear } else { Side::Front };
        if is_rear {
            self.next();
        }
        Ok(Entrance { floor, side })
    }

    fn trip(&mut self) -> Result<Trip, CommandError> {
        let (from, landing) = (self.floor()?, self.rest.clone().next().unwrap_or(""));
        let to = self.floor()?;
        Trip::new(from, to).ok_or_else(|| self.wrong(landing, "another floor than the landing"))
    }

    fn floor(&mut self) -> Result<Floor, CommandError> {
        let word = self.next();
        let floor = word.parse().ok().filter(|floor| self.floors.contains(*floor));
        floor.ok_or_else(|| CommandError::Floor {
            line: self.line.trim().to_owned(),
            found: word.to_owned(),
            top: self.floors.top(),
        })
    }

    fn optional<T: std::str::FromStr>(
        &mut self,
        wanted: &'static str,
    ) -> Result<Option<T>, CommandError> {
        match self.next() {
            "none" => Ok(None),
            word => word.parse().ok().map(Some).ok_or_else(|| self.wrong(word, wanted)),
        }
    }

    /// A number in this range, with or without a per cent sign.
    fn percent(
        &mut self,
        range: RangeInclusive<u8>,
        wanted: &'static str,
    ) -> Result<u8, CommandError> {
        let word = self.next();
        let percent = word.trim_end_matches('%').parse().ok();
        percent.filter(|percent| range.contains(percent)).ok_or_else(|| self.wrong(word, wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, CommandError> {
        Command::parse(line, FloorCount::new(4).unwrap())
    }

    fn floor(index: u8) -> Floor {
        FloorCount::new(4).unwrap().floor(index).unwrap()
    }

    #[test]
    fn every_kind_of_command_is_understood() {
        let hall = Button::Hall(floor(2), Direction::Up);
        let cases = [
            ("press hall 2 up", Command::Press(hall)),
            ("  press   car 3 ", Command::Press(Button::Car(floor(3)))),
            ("press hall 2 rear up", Command::Press(Button::RearHall(floor(2), Direction::Up))),
            ("press car 3 rear", Command::Press(Button::RearCar(floor(3)))),
            ("door-open-rear press", Command::DoorButton(DoorButton::OpenRear, true)),
            ("hold hall 2 up", Command::Hold(hall)),
            ("press destination 0 3", Command::Request(Trip::new(floor(0), floor(3)).unwrap())),
            ("release hall 2 up", Command::Release(hall)),
            ("door-open press", Command::DoorButton(DoorButton::Open, true)),
            ("door-close release", Command::DoorButton(DoorButton::Close, false)),
            ("alarm", Command::Alarm),
            ("obstruct on", Command::Obstruct(true)),
            ("stop off", Command::Stop(false)),
            ("key fire", Command::Key(KeySwitch::FireRecall)),
            ("load 40", Command::Load(Some(40))),
            ("load none", Command::Load(None)),
            (
                "climate -3 none",
                Command::Climate(Climate { temperature: Some(-3), illuminance: None }),
            ),
            ("fault motor stuck", Command::Motor(Some(MotorFault::Stuck))),
            ("fault motor ok", Command::Motor(None)),
            ("fault levelling off", Command::Levelling(Some(LevellingFault::Off))),
            ("fault speed 80%", Command::Speed(80)),
            ("fault sensor all dead", Command::AllSensorsDead(true)),
            ("fault door ok", Command::DoorJammed(false)),
            ("fault sensor 3 dead", Command::SensorDead(floor(3), true)),
            ("fault noise 5%", Command::Noise(5)),
            ("fault line unplugged", Command::Unplugged(true)),
            ("fault panel restart", Command::PanelRestart),
            ("state", Command::State),
            ("quit", Command::Quit),
        ];
        for (line, command) in cases {
            assert_eq!(parse(line), Ok(command), "{line}");
        }
    }

    #[test]
    fn a_wrong_line_is_refused() {
        for line in [
            "",
            "press",
            "press hall 2",
            "press hall 3 up",
            "press car 4",
            "press destination 0",
            "press destination 0 4",
            "press destination 2 2",
            "press car 1 now",
            "stop maybe",
            "door-open on",
            "alarm off",
            "load 256",
            "fault panel",
            "fault sensor dead",
            "fault motor broken",
            "fault speed 0",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
