//! A run in the terminal.

use std::time::{Duration, Instant};

use elevator_driver::Direction;
use liftmesh_lab::traffic::{CarFrame, Frame, Trial};

use super::LabError;
use crate::cli::{CommandError, output};

/// Pictures a second in reality.
const RATE: u32 = 10;

/// What is waited for at most, to make up for lost time.
const PICTURE: Duration = Duration::from_millis(1_000 / RATE as u64);

/// Shows a run so many times as fast as in reality; all at once if the output is not a terminal.
pub(super) fn show(trial: Trial<'_>, speed: u32) -> Result<(), CommandError> {
    let every = Duration::from_secs(u64::from(speed)) / RATE;
    let animated = output::is_terminal();
    // What is not watched needs fewer pictures.
    let every = if animated { every } else { every.max(Duration::from_mins(1)) };
    let heading = format!("{}, {}, seed {}", trial.cell, trial.strategy, trial.seed);
    let mut written = Ok(());
    let run = trial.replay(every, |frame| {
        if written.is_ok() {
            let begun = Instant::now();
            written = output::redraw(&picture(&heading, &frame));
            if animated {
                std::thread::sleep(PICTURE.saturating_sub(begun.elapsed()));
            }
        }
    });
    let run = run.map_err(LabError::from)?;
    written?;
    let line = match run.figures {
        Ok(None) => "no passengers were scored\n".to_owned(),
        Ok(Some(figures)) => format!(
            "served {:.1} %, AWT {:.1} s, P90 {:.1} s, ATTD {:.1} s, longest wait {:.0} s\n",
            run.served, figures.awt, figures.p90, figures.attd, run.longest
        ),
        Err(why) => format!("served {:.1} %, saturated: {why}\n", run.served),
    };
    output::print(&line)?;
    Ok(())
}

/// The shafts, with the queues at the landings to the left.
fn picture(heading: &str, frame: &Frame) -> String {
    let seconds = frame.at.as_secs();
    let (minutes, rest) = (seconds / 60, seconds % 60);
    let waiting: usize = frame.queues.iter().flatten().sum();
    let riding: usize = frame.cars.iter().map(|car| car.riders).sum();
    let mut lines = vec![
        format!(
            "{heading}   {minutes:02}:{rest:02}   {waiting} waiting, {riding} riding, {} served",
            frame.served
        ),
        String::new(),
        "floor   up down".to_owned(),
    ];
    for (floor, [up, down]) in frame.queues.iter().enumerate().rev() {
        let count = |number: usize| if number == 0 { String::new() } else { number.to_string() };
        let place = |car| if is_at(car, floor) { cabin(car) } else { " ".repeat(5) };
        let shafts: Vec<_> = frame.cars.iter().map(|car| format!("|{}|", place(car))).collect();
        let (up, down) = (count(*up), count(*down));
        lines.push(format!("{floor:5} {up:>4} {down:>4}  {}", shafts.join(" ")));
    }
    lines.push(String::new());
    lines.push("[ ] closed, < > open, ^ v direction, number of riders\n".to_owned());
    lines.join("\n")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a height is from 0 to the number of floors"
)]
fn is_at(car: &CarFrame, floor: usize) -> bool {
    car.height.round() as usize == floor
}

fn cabin(car: &CarFrame) -> String {
    let (left, right) = if car.door > 0.0 { ('<', '>') } else { ('[', ']') };
    let way = match car.lantern {
        Some(Direction::Up) => '^',
        Some(Direction::Down) => 'v',
        None => ' ',
    };
    let riders = if car.riders == 0 { String::new() } else { car.riders.to_string() };
    format!("{left}{riders:>2}{way}{right}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_shows_queues_and_cars() {
        let car = |height, door, lantern, riders| CarFrame { height, door, lantern, riders };
        let frame = Frame {
            at: Duration::from_secs(61),
            cars: vec![car(1.4, 0.0, Some(Direction::Up), 12), car(0.0, 0.5, None, 0)],
            queues: vec![[3, 0], [0, 0], [0, 14]],
            served: 7,
        };
        let picture = picture("A12", &frame);
        let lines: Vec<_> = picture.lines().collect();
        assert_eq!(lines[0], "A12   01:01   17 waiting, 12 riding, 7 served");
        assert_eq!(lines[3], "    2        14  |     | |     |");
        assert_eq!(lines[4], "    1            |[12^]| |     |");
        assert_eq!(lines[5], "    0    3       |     | |<   >|");
    }
}
