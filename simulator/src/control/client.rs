//! The other end of the control interface.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use elevator_driver::{Button, Trip};

use crate::simulator::SimulatorState;
use crate::state::CarState;

const ANSWER_LIMIT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct ControlClient {
    stream: BufReader<UnixStream>,
}

/// Why a simulator did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The socket: no simulator there, or it ended, or did not answer within 5 s. Whether the
    /// command was carried out is unknown.
    #[error("the simulator's control socket does not answer")]
    Socket(#[from] io::Error),
    #[error("the simulator refused: {0}")]
    Refused(String),
    #[error("the simulator's answer is not understood")]
    State(#[from] serde_json::Error),
}

impl ControlClient {
    /// Connects to the control socket at `path`.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn connect(path: impl AsRef<Path>) -> Result<Self, ControlError> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(ANSWER_LIMIT))?;
        stream.set_write_timeout(Some(ANSWER_LIMIT))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Sends one command and returns the line that answers it, `ok` for most. Not for `help` and
    /// `watch`, which answer with several.
    ///
    /// # Errors
    /// The command was refused, or there was no answer.
    pub fn send(&mut self, line: &str) -> Result<String, ControlError> {
        self.write(line)?;
        let answer = self.read()?;
        match answer.strip_prefix("error: ") {
            Some(reason) => Err(ControlError::Refused(reason.to_owned())),
            None => Ok(answer),
        }
    }

    /// Presses a button for a moment.
    ///
    /// # Errors
    /// The shaft has no such button, or there was no answer.
    pub fn press(&mut self, button: Button) -> Result<(), ControlError> {
        self.send(&format!("press {button}")).map(drop)
    }

    /// Gives a destination at the kiosk of a landing.
    ///
    /// # Errors
    /// The shaft has no such trip, or there was no answer.
    pub fn request(&mut self, trip: Trip) -> Result<(), ControlError> {
        let (from, to) = (trip.from(), trip.to());
        self.send(&format!("press destination {from} {to}")).map(drop)
    }

    /// Everything there is to see of the car.
    ///
    /// # Errors
    /// Nobody answered, or it was no state.
    pub fn state(&mut self) -> Result<CarState, ControlError> {
        Ok(serde_json::from_str(&self.send("state")?)?)
    }

    /// The same, with the lines to the car.
    ///
    /// # Errors
    /// Nobody answered, or it was no state.
    pub fn simulator_state(&mut self) -> Result<SimulatorState, ControlError> {
        Ok(serde_json::from_str(&self.send("state")?)?)
    }

    /// The state now, and at each change from now on.
    ///
    /// # Errors
    /// The simulator is gone.
    pub fn watch(mut self) -> Result<StateWatch, ControlError> {
        self.write("watch")?;
        self.stream.get_ref().set_read_timeout(None)?;
        Ok(StateWatch { client: self })
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        self.stream.get_mut().write_all(format!("{line}\n").as_bytes())
    }

    fn read(&mut self) -> io::Result<String> {
        let mut answer = String::new();
        if self.stream.read_line(&mut answer)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(answer.trim_end().to_owned())
    }
}

/// The states of a watched car; blocks until the next change and ends with the simulator.
#[derive(Debug)]
pub struct StateWatch {
    client: ControlClient,
}

impl Iterator for StateWatch {
    type Item = CarState;

    fn next(&mut self) -> Option<CarState> {
        let line = self.client.read().ok()?;
        serde_json::from_str(&line).ok()
    }
}
