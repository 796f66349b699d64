//! A schedule as text: `mon-fri 07:00-09:30 park 0; daily 22:00-06:00 park 0 8 cars 2`.

use std::fmt;
use std::str::FromStr;

use elevator_driver::Floor;

use super::{DAY, DAYS, Entry, HOUR, MOST_ENTRIES, MOST_PLACES, Parking, Schedule, WeekTime};

/// A text that is no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// It has too many entries.
    #[error("there are more than {MOST_ENTRIES} entries")]
    Many,
    /// A part of an entry is wrong, or missing.
    #[error("{entry:?}: {part}")]
    Entry {
        /// The entry.
        entry: String,
        /// What is wrong with it.
        part: Part,
    },
}

/// What is wrong with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Part {
    /// The days.
    #[error("it begins with days: daily, or mon, tue, … as in mon-fri or sat,sun")]
    Days,
    /// The times.
    #[error("times are as in 07:00-09:30, from 00:00 to 24:00, and differ")]
    Times,
    /// The word `park`.
    #[error("after the times comes park")]
    Park,
    /// The floors.
    #[error("after park come 1 to {MOST_PLACES} floors from 0 to 253")]
    Floors,
    /// The number of cars.
    #[error("after cars comes a number from 1 to 255, and nothing else")]
    Cars,
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let entries = text.split(';').map(str::trim).filter(|entry| !entry.is_empty());
        let entries: Vec<Entry> = entries
            .map(|entry| {
                parse(entry).map_err(|part| ScheduleError::Entry { entry: entry.to_owned(), part })
            })
            .collect::<Result<_, _>>()?;
        if entries.len() > MOST_ENTRIES { Err(ScheduleError::Many) } else { Ok(Self(entries)) }
    }
}

impl TryFrom<String> for Schedule {
    type Error = ScheduleError;

    fn try_from(text: String) -> Result<Self, ScheduleError> {
        text.parse()
    }
}

impl From<Schedule> for String {
    fn from(schedule: Schedule) -> Self {
        schedule.to_string()
    }
}

fn parse(text: &str) -> Result<Entry, Part> {
    let mut words = text.split_whitespace().peekable();
    let days = words.next().and_then(days).ok_or(Part::Days)?;
    let (from, to) = words.next().and_then(times).ok_or(Part::Times)?;
    if words.next() != Some("park") {
        return Err(Part::Park);
    }
    let mut floors = Vec::new();
    while let Some(word) = words.next_if(|word| *word != "cars") {
        let floor = word.parse::<u8>().ok().and_then(|index| Floor::try_from(index).ok());
        floors.push(floor.ok_or(Part::Floors)?);
    }
    if floors.is_empty() || floors.len() > MOST_PLACES {
        return Err(Part::Floors);
    }
    let cars = if words.next().is_some() {
        let number = words.next().and_then(|word| word.parse().ok());
        Some(number.filter(|number: &u8| *number > 0).ok_or(Part::Cars)?)
    } else {
        None
    };
    if words.next().is_some() {
        return Err(Part::Cars);
    }
    Ok(Entry { days, from, to, parking: Parking { floors, cars } })
}

fn days(text: &str) -> Option<[bool; 7]> {
    if text == "daily" {
        return Some([true; 7]);
    }
    let number = |name: &str| DAYS.iter().position(|known| *known == name);
    let mut days = [false; 7];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (mut day, last) = (number(first)?, number(last)?);
        days[day] = true;
        while day != last {
            day = (day + 1) % 7;
            days[day] = true;
        }
    }
    Some(days)
}

fn times(text: &str) -> Option<(u16, u16)> {
    let (from, to) = text.split_once('-')?;
    let (from, to) = (time(from)?, time(to)?);
    (from != to && from < DAY).then_some((from, to))
}

fn time(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str| {
        let is_right = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_right.then(|| text.parse::<u16>().ok()).flatten()
    };
    let (hour, minute) = (number(hour)?, number(minute).filter(|minute| *minute < HOUR)?);
    Some(hour * HOUR + minute).filter(|time| *time <= DAY)
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, entry) in self.0.iter().enumerate() {
            let separator = if number == 0 { "" } else { "; " };
            write!(f, "{separator}{entry}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { days, from, to, parking } = self;
        if days.iter().all(|is_on| *is_on) {
            f.write_str("daily")?;
        } else {
            write_days(f, *days)?;
        }
        let clock = |time: u16| format!("{:02}:{:02}", time / HOUR, time % HOUR);
        write!(f, " {}-{} park", clock(*from), clock(*to))?;
        for floor in &parking.floors {
            write!(f, " {floor}")?;
        }
        match parking.cars {
            Some(cars) => write!(f, " cars {cars}"),
            None => Ok(()),
        }
    }
}

/// Days in a row as a range.
fn write_days(f: &mut fmt::Formatter<'_>, days: [bool; 7]) -> fmt::Result {
    let mut separator = "";
    let mut day = 0;
    while day < days.len() {
        let length = days[day..].iter().take_while(|is_on| **is_on).count();
        if length > 0 {
            write!(f, "{separator}{}", DAYS[day])?;
            if length > 1 {
                write!(f, "-{}", DAYS[day + length - 1])?;
            }
            separator = ",";
        }
        day += length + 1;
    }
    Ok(())
}

/// Such as `Tue 08:12`.
impl fmt::Display for WeekTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(minutes) = self;
        let day = DAYS[usize::from(minutes / DAY) % DAYS.len()];
        let (first, rest) = day.split_at(1);
        let (hour, minute) = (minutes % DAY / HOUR, minutes % HOUR);
        write!(f, "{}{rest} {hour:02}:{minute:02}", first.to_uppercase())
    }
}
