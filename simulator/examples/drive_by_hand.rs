//! Drives a simulated car by hand: up to the floor whose button is pressed, and the door opens.
//!
//! ```text
//! cargo run -p elevator-simulator --example drive_by_hand
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use elevator_driver::{
    Button, Direction, DoorCommand, DoorState, Floor, FloorCount, MotorCommand, PanelOutputs,
};
use elevator_simulator::{CarConfig, SimulatedCar};

const STEP: Duration = Duration::from_millis(500);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = CarConfig::new(FloorCount::new(4).ok_or("floors")?);
    let mut car = SimulatedCar::new(&config, 1)?;
    car.press(Button::Car(Floor::try_from(2)?))?;
    let Some(Button::Car(floor)) = car.take_presses().next() else {
        return Err("nothing was pressed".into());
    };

    let up = MotorCommand::Run { direction: Direction::Up, stop_at: floor };
    car.set_outputs(&PanelOutputs { motor: up, ..PanelOutputs::default() });
    while car.inputs().floor != Some(floor) || !car.is_at_rest() {
        show(&car);
        car.advance(STEP);
    }
    car.set_outputs(&PanelOutputs { door: DoorCommand::Open, ..PanelOutputs::default() });
    while car.inputs().door != DoorState::Open {
        show(&car);
        car.advance(STEP);
    }
    show(&car);
    println!("unsafe commands: {:?}", car.violations());
    Ok(())
}

fn show(car: &SimulatedCar) {
    let state = car.state();
    println!(
        "{:>5.1} s  {:>5.2} m  {:>5.2} m/s  door {:>3.0} %",
        car.clock().as_secs_f64(),
        state.position,
        state.speed,
        state.door_fraction * 100.0
    );
}
