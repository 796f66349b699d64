//! The car, drawn live on a few lines of a terminal.

use std::io::{self, Write};

use elevator_driver::Direction;

use crate::simulator::{Controller, SimulatorState};
use crate::state::CarState;

/// The width of the drawn shaft, characters.
const SHAFT: u32 = 30;

/// Redraws its lines in place.
#[derive(Debug, Default)]
pub(crate) struct LiveView {
    /// The last line, or nothing.
    help: &'static str,
    drawn: Option<String>,
}

impl LiveView {
    pub(crate) fn new(help: &'static str) -> Self {
        Self { help, drawn: None }
    }

    /// Draws the state over the one before, if anything changed that can be seen.
    pub(crate) fn draw(&mut self, state: &SimulatorState, out: &mut impl Write) -> io::Result<()> {
        let picture = picture(state) + self.help;
        if self.drawn.as_ref() == Some(&picture) {
            return Ok(());
        }
        if let Some(drawn) = &self.drawn {
            // Back to the first line; each line below clears the rest of itself.
            write!(out, "\x1b[{}F", drawn.lines().count())?;
        }
        // A long line is cut: one that wraps could not be drawn over.
        write!(out, "\x1b[?7l")?;
        for line in picture.lines() {
            writeln!(out, "{line}\x1b[K")?;
        }
        write!(out, "\x1b[?7h")?;
        out.flush()?;
        self.drawn = Some(picture);
        Ok(())
    }
}

fn picture(state: &SimulatorState) -> String {
    let car = &state.car;
    let arrow = match car.driven {
        Some(Direction::Up) => '▲',
        Some(Direction::Down) => '▼',
        None => '■',
    };
    let floor = car.floor.map_or_else(|| "-".into(), |floor| floor.to_string());
    let controller = match state.controller {
        Controller::Absent => "no controller",
        Controller::Serial => "serial controller",
        Controller::Tcp => "TCP client",
    };
    let door = if car.door_lamp { "lamp lit".into() } else { car.door.to_string() };
    let lamps: Vec<_> = car.lamps.iter().map(ToString::to_string).collect();
    let kiosks = car.kiosks.iter();
    let kiosks: Vec<_> =
        kiosks.map(|shown| format!("  [{} to {}: {}]", shown.from, shown.to, shown.car)).collect();
    format!(
        "{} {arrow} [{}] {:5.2} m {:+5.2} m/s  floor {floor}  {controller}\n  \
         door {door} {:3.0} %  load {} %  {}{}violations {}  watchdog stops {}\n  \
         lamps: {}{}\n",
        state.name,
        shaft(car),
        car.position,
        car.speed,
        100.0 * car.door_fraction,
        car.load.unwrap_or(0),
        if car.stop { "STOP  " } else { "" },
        if car.obstruction { "OBSTRUCTED  " } else { "" },
        car.violations,
        car.watchdog_stops,
        lamps.join(", "),
        kiosks.concat()
    )
}

/// The shaft lying down: the lowest floor at the left, a mark for each floor, the car on top.
fn shaft(car: &CarState) -> String {
    let top = car.heights.last().copied().unwrap_or_default();
    let cell = top / f64::from(SHAFT - 1);
    let is_at = |column: u32, height: f64| (f64::from(column) * cell - height).abs() <= cell / 2.0;
    let is_floor = |column: u32| car.heights.iter().any(|height| is_at(column, *height));
    (0..SHAFT)
        .map(|column| match column {
            _ if is_at(column, car.position) => '█',
            _ if is_floor(column) => '|',
            _ => '·',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use elevator_driver::FloorCount;

    use super::*;
    use crate::car::SimulatedCar;
    use crate::config::{CarConfig, StartPosition};

    fn state(start: StartPosition) -> SimulatorState {
        let config = CarConfig { start, ..CarConfig::new(FloorCount::new(4).unwrap()) };
        SimulatorState {
            name: "A".into(),
            controller: Controller::Absent,
            unplugged: false,
            noise: 0,
            car: SimulatedCar::new(&config, 0).unwrap().state(),
        }
    }

    #[test]
    fn the_car_is_drawn_where_it_is() {
        let bottom = shaft(&state(StartPosition::Floor(0)).car);
        assert!(bottom.starts_with('█') && bottom.ends_with('|'));
        assert_eq!(bottom.matches('|').count(), 3);
        let top = shaft(&state(StartPosition::Floor(3)).car);
        assert!(top.starts_with('|') && top.ends_with('█'));
    }

    #[test]
    fn a_picture_is_redrawn_in_place_and_only_when_it_changed() {
        let mut view = LiveView::default();
        let mut first = Vec::new();
        view.draw(&state(StartPosition::Floor(0)), &mut first).unwrap();
        assert!(!first.is_empty());
        let mut same = Vec::new();
        view.draw(&state(StartPosition::Floor(0)), &mut same).unwrap();
        assert!(same.is_empty());
        let mut other = Vec::new();
        view.draw(&state(StartPosition::Floor(2)), &mut other).unwrap();
        assert!(other.starts_with(b"\x1b[3F"), "three lines up");
    }
}
