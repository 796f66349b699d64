//! A schedule as text: `mon-fri 07:00-09:30 park 0; daily 22:00-06:00 park 0 8 cars 2`.

use std::fmt;
use std::str::FromStr;

use elevator_driver::Floor;

use super::{DAY, DAYS, Entry, HOUR, MOST_ENTRIES, MOST_PLACES, Parking, Schedule, WeekTime};

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a schedule has up to {MOST_ENTRIES} entries such as mon-fri 07:00-09:30 park 0")]
pub struct ScheduleError;

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let entries = text.split(';').map(str::trim).filter(|entry| !entry.is_empty());
        let entries: Option<Vec<Entry>> = entries.map(parse).collect();
        entries.filter(|all| all.len() <= MOST_ENTRIES).map(Self).ok_or(ScheduleError)
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

fn parse(entry: &str) -> Option<Entry> {
    let mut words = entry.split_whitespace().peekable();
    let text = words.clone().collect::<Vec<_>>().join(" ");
    let days = days(words.next()?)?;
    let (from, to) = times(words.next()?)?;
    words.next_if_eq(&"park")?;
    let mut floors = Vec::new();
    while let Some(word) = words.next_if(|word| *word != "cars") {
        floors.push(word.parse::<Floor>().ok()?);
    }
    let cars = match words.next() {
        Some(_) => Some(words.next()?.parse().ok().filter(|number| *number > 0)?),
        None => None,
    };
    let is_whole = words.next().is_none() && (1..=MOST_PLACES).contains(&floors.len());
    is_whole.then_some(Entry { text, days, from, to, parking: Parking { floors, cars } })
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
        let entries: Vec<&str> = self.0.iter().map(|entry| entry.text.as_str()).collect();
        f.write_str(&entries.join("; "))
    }
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
