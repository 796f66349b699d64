//! The client of the four-byte elevator-server protocol.
//!
//! ```text
//!   sink ◀── line thread ── Wire ──▶ elevator server
//!              ▲   Car (pure): what the server is to be told
//!   mailbox ───┘
//! ```
//!
//! One thread does everything: it waits for new outputs until the next poll is due, and acts as the
//! levelling drive that such hardware lacks. It writes the stop of the motor between the floor
//! sensor's answer and the rest of the poll. There it also repeats the command of a running motor,
//! once a second.

mod car;
mod wire;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use car::Car;
use wire::{Fault, Message, Wire};

use crate::counters::LineCounters;
use crate::line::{Inbox, LineSettings, Mail, Retry, dial};
use crate::vocabulary::{
    Button, Direction, DoorState, DriveFeedback, Floor, FloorCount, PanelEvent, PanelInputs,
    STUCK_AFTER,
};

/// How often the command of a running motor is repeated. A motor that the server stopped by itself
/// loses at most this part of its flight limit. It is not repeated with each poll, because some
/// servers redraw their world at each command.
const MOTOR_REPEAT: Duration = Duration::from_secs(1);

/// How long a car has to stand still with its door closed, without new commands, to be at rest.
const RESTS_AFTER: Duration = Duration::from_secs(1);

pub(crate) fn run(
    host: String,
    port: u16,
    floors: FloorCount,
    settings: LineSettings,
    inbox: Inbox,
    sink: impl FnMut(PanelEvent),
) {
    let line = TcpLine {
        host,
        port,
        floors,
        settings,
        buttons: floors.buttons().collect(),
        held: BTreeMap::new(),
        car: Car::new(floors),
        counters: LineCounters::default(),
        reported_reason: None,
        stirred: Instant::now(),
        inbox,
        sink,
    };
    line.run();
}

struct TcpLine<S> {
    host: String,
    port: u16,
    floors: FloorCount,
    settings: LineSettings,
    buttons: Vec<Button>,
    /// The buttons that were down at the last poll, and since when, on any connection: a button
    /// that is held during a reconnection is reported once.
    held: BTreeMap<Button, Instant>,
    car: Car,
    counters: LineCounters,
    /// The reason that was last reported for being disconnected.
    reported_reason: Option<String>,
    /// When the car last moved, had its door open, or got a new command.
    stirred: Instant,
    inbox: Inbox,
    sink: S,
}

/// One connection, and the values last written on it.
struct Connection {
    wire: Wire,
    polls: Vec<Message>,
    /// `None` before the first answer.
    told: Option<PanelInputs>,
    motor: Option<Direction>,
    motor_written: Instant,
    indicator: Option<Floor>,
    /// Unknown until written once.
    door: Option<DoorState>,
    stop_lamp: Option<bool>,
    order_lamps: BTreeMap<Button, bool>,
}

impl<S: FnMut(PanelEvent)> TcpLine<S> {
    fn run(mut self) {
        let mut retry = Retry::new(self.settings.retry);
        loop {
            let fault = match self.connect() {
                Ok(connection) => match self.serve(connection) {
                    Ok(()) => return,
                    Err(fault) => fault,
                },
                Err(fault) => fault,
            };
            if self.reported_reason.is_none() {
                retry.reset();
            }
            self.report_lost(&fault);
            if self.inbox.pause(retry.delay(), |outputs| self.car.set_outputs(outputs)) {
                return;
            }
        }
    }

    fn report_lost(&mut self, fault: &Fault) {
        match fault {
            Fault::Silent => self.counters.lost = self.counters.lost.saturating_add(1),
            Fault::OutOfStep | Fault::NoSuchFloor { .. } => {
                self.counters.damaged = self.counters.damaged.saturating_add(1);
            }
            Fault::Unreachable(_) | Fault::Broken(_) => {}
        }
        self.inbox.publish(self.counters);
        let reason = format!("{}:{}: {fault}", self.host, self.port);
        if self.reported_reason.replace(reason.clone()).as_ref() != Some(&reason) {
            (self.sink)(PanelEvent::Disconnected(reason));
        }
    }

    /// Connects and switches the motor off; everything else waits for the first answers.
    fn connect(&mut self) -> Result<Connection, Fault> {
        let limit = self.settings.reply;
        let stream = dial(&self.host, self.port, limit).map_err(Fault::Unreachable)?;
        self.begin(Wire::new(stream, limit)?)
    }

    fn begin(&mut self, mut wire: Wire) -> Result<Connection, Fault> {
        if self.settings.reload_configuration {
            wire.command(wire::RELOAD)?;
        }
        wire.command(wire::motor(None))?;
        self.car.lose_place();
        self.stirred = Instant::now();
        let polls = [wire::FLOOR_POLL, wire::STOP_POLL, wire::OBSTRUCTION_POLL]
            .into_iter()
            .chain(self.buttons.iter().map(|&button| wire::button_poll(button)))
            .collect();
        Ok(Connection {
            wire,
            polls,
            told: None,
            motor: None,
            motor_written: Instant::now(),
            indicator: None,
            door: None,
            stop_lamp: None,
            order_lamps: BTreeMap::new(),
        })
    }

    /// Polls until the line is to end. Dropping the wire stops the motor in any case.
    fn serve(&mut self, mut connection: Connection) -> Result<(), Fault> {
        let mut polled = Instant::now();
        let mut next_poll = polled;
        loop {
            let mail = self.inbox.wait(next_poll);
            if mail.closing {
                return Ok(());
            }
            let changed = self.handle_mail(mail);
            // Before the first answers the position of the car is unknown.
            if changed && connection.told.is_some() {
                self.bring_in_line(&mut connection)?;
                self.emit_inputs(&mut connection);
            }
            // A car that is no longer at rest is polled at the usual rate from now on.
            let now = Instant::now();
            next_poll = next_poll.min(polled + self.period(now));
            if now >= next_poll {
                polled = now;
                self.poll(&mut connection)?;
                let now = Instant::now();
                next_poll = (next_poll + self.period(now)).max(now);
            }
        }
    }

    fn period(&mut self, now: Instant) -> Duration {
        if self.car.is_busy() {
            self.stirred = now;
        }
        if now.duration_since(self.stirred) < RESTS_AFTER {
            self.settings.poll
        } else {
            self.settings.poll_at_rest.max(self.settings.poll)
        }
    }

    fn handle_mail(&mut self, mail: Mail) -> bool {
        let changed = mail.outputs.is_some();
        if let Some(outputs) = mail.outputs {
            if outputs != *self.car.outputs() {
                self.stirred = Instant::now();
            }
            self.car.set_outputs(outputs);
        }
        changed
    }

    /// One round of polls: the floor sensor first, and then at once the motor's stop, if the car
    /// has reached it.
    fn poll(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        connection.wire.request(&connection.polls)?;
        let floor = match connection.wire.reply(wire::FLOOR_SENSOR)? {
            [_, 0, ..] => None,
            [_, _, index, _] => {
                let floor = self.floors.floor(index);
                Some(floor.ok_or(Fault::NoSuchFloor { floor: index, floors: self.floors.get() })?)
            }
        };
        self.car.see_floor(floor);
        self.bring_in_line(connection)?;
        connection.repeat_motor()?;
        let stop = connection.wire.reply(wire::STOP_SWITCH)?[1] != 0;
        let obstruction = connection.wire.reply(wire::OBSTRUCTION)?[1] != 0;
        self.car.see_switches(stop, obstruction);
        let mut pressed = Vec::new();
        for &button in &self.buttons {
            if connection.wire.reply(wire::BUTTON)?[1] == 0 {
                self.held.remove(&button);
            } else {
                self.held.entry(button).or_insert_with(|| {
                    pressed.push(button);
                    Instant::now()
                });
            }
        }
        let answers = u64::try_from(connection.polls.len()).unwrap_or(u64::MAX);
        self.counters.frames = self.counters.frames.saturating_add(answers);
        self.inbox.publish(self.counters);
        if connection.told.is_none() {
            self.reported_reason = None;
            (self.sink)(PanelEvent::Connected);
        }
        self.emit_inputs(connection);
        for button in pressed {
            (self.sink)(PanelEvent::Pressed(button));
        }
        Ok(())
    }

    fn emit_inputs(&mut self, connection: &mut Connection) {
        let is_stuck = |since: &Instant| since.elapsed() >= STUCK_AFTER;
        let stuck = self.held.iter().filter(|(_, since)| is_stuck(since));
        let inputs =
            PanelInputs { stuck: stuck.map(|(&button, _)| button).collect(), ..self.car.inputs() };
        if connection.told.as_ref() != Some(&inputs) {
            connection.told = Some(inputs.clone());
            (self.sink)(PanelEvent::Inputs(inputs));
        }
    }

    /// Writes the differences. A stop goes first, and the door's lamp is out before the motor
    /// starts (S1).
    fn bring_in_line(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        self.car.settle();
        let PanelInputs { drive, door, .. } = self.car.inputs();
        let motor = match drive {
            DriveFeedback::Stopped => None,
            DriveFeedback::Driven(direction) => Some(direction),
        };
        if motor.is_none() {
            connection.drive(motor)?;
        }
        if connection.door != Some(door) {
            connection.wire.command(wire::door_lamp(door == DoorState::Open))?;
            connection.door = Some(door);
        }
        connection.drive(motor)?;
        self.write_lamps(connection)
    }

    fn write_lamps(&self, connection: &mut Connection) -> Result<(), Fault> {
        let outputs = self.car.outputs();
        let indicator = outputs.indicator.filter(|&floor| self.floors.contains(floor));
        if let Some(floor) = indicator
            && connection.indicator != indicator
        {
            connection.wire.command(wire::indicator(floor))?;
            connection.indicator = indicator;
        }
        let stop = outputs.lamps.stop;
        if connection.stop_lamp != Some(stop) {
            connection.wire.command(wire::stop_lamp(stop))?;
            connection.stop_lamp = Some(stop);
        }
        for &button in &self.buttons {
            let on = outputs.lamps.orders.contains(&button);
            if connection.order_lamps.insert(button, on) != Some(on) {
                connection.wire.command(wire::order_lamp(button, on))?;
            }
        }
        Ok(())
    }
}

impl Connection {
    fn drive(&mut self, motor: Option<Direction>) -> Result<(), Fault> {
        if self.motor == motor {
            return Ok(());
        }
        self.motor = motor;
        self.write_motor()
    }

    /// A server that received nothing for a while may have stopped the motor by itself without
    /// saying so (S2). A car that stands for this reason must not be mistaken for hung (H1).
    fn repeat_motor(&mut self) -> Result<(), Fault> {
        if self.motor.is_some() && self.motor_written.elapsed() >= MOTOR_REPEAT {
            return self.write_motor();
        }
        Ok(())
    }

    fn write_motor(&mut self) -> Result<(), Fault> {
        self.motor_written = Instant::now();
        self.wire.command(wire::motor(self.motor))
    }
}

#[cfg(test)]
mod tests;
