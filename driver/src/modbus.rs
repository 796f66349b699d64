//! The client of a PLC that is a Modbus server.
//!
//! ```text
//!   sink ◀── line thread ── Wire ──▶ PLC
//!              ▲   Session (pure): what is written, and what the answers mean
//!   mailbox ───┘   map: at which address
//! ```
//!
//! One thread does everything, in rounds: it writes all outputs and the heartbeat, and reads all
//! inputs. A new output starts a round at once; otherwise the next one begins after a while, sooner
//! while the car moves. A round that fails ends the connection, and the PLC's watchdog stops the
//! motor when the heartbeat no longer changes (S2). `docs/MODBUS.md` describes the tables.

mod map;
mod session;
mod wire;

use std::time::{Duration, Instant};

use session::Session;
use wire::{Fault, Wire};

use crate::counters::LineCounters;
use crate::line::{Inbox, LineSettings, Retry};
use crate::url::ModbusUrl;
use crate::vocabulary::{FloorCount, PanelEvent};

pub(crate) fn run(
    url: ModbusUrl,
    floors: FloorCount,
    settings: LineSettings,
    inbox: Inbox,
    sink: impl FnMut(PanelEvent),
) {
    let line = ModbusLine {
        url,
        bits: map::bits(floors),
        settings,
        session: Session::new(floors, settings.silence),
        started: Instant::now(),
        counters: LineCounters::default(),
        reported_reason: None,
        inbox,
        sink,
    };
    line.run();
}

struct ModbusLine<S> {
    url: ModbusUrl,
    bits: u16,
    settings: LineSettings,
    session: Session,
    started: Instant,
    counters: LineCounters,
    /// The reason that was last reported for being disconnected.
    reported_reason: Option<String>,
    inbox: Inbox,
    sink: S,
}

impl<S: FnMut(PanelEvent)> ModbusLine<S> {
    fn run(mut self) {
        let mut retry = Retry::new(self.settings.retry);
        loop {
            let ended = Wire::open(&self.url, self.settings.reply).and_then(|mut wire| {
                let ended = self.serve(&mut wire);
                // The motor stops even if the PLC has no watchdog. One that is silent can't be told.
                if !matches!(ended, Err(Fault::Silent(_) | Fault::Broken(..))) {
                    drop(wire.write_coils(&self.session.farewell()));
                }
                ended
            });
            let Err(fault) = ended else { return };
            if self.session.is_connected() {
                retry.reset();
            }
            self.report_lost(&fault);
            if self.inbox.pause(retry.delay(), |outputs| self.session.set_outputs(outputs)) {
                return;
            }
        }
    }

    fn report_lost(&mut self, fault: &Fault) {
        match fault {
            Fault::Silent(_) => self.counters.lost = self.counters.lost.saturating_add(1),
            Fault::Refused(..) | Fault::Garbled(_) | Fault::Impossible(..) => {
                self.counters.damaged = self.counters.damaged.saturating_add(1);
            }
            Fault::Unreachable(_) | Fault::Broken(..) => {}
        }
        self.inbox.publish(self.counters);
        self.session.handle_lost();
        let reason = format!("{}: {fault}", self.url);
        if self.reported_reason.replace(reason.clone()).as_ref() != Some(&reason) {
            (self.sink)(PanelEvent::Disconnected(reason));
        }
    }

    /// Makes rounds until the line is to end.
    fn serve(&mut self, wire: &mut Wire) -> Result<(), Fault> {
        let words = wire.read_registers()?;
        let bits = wire.read_inputs(self.bits)?;
        self.session.handle_connected(&words, &bits, self.started.elapsed())?;
        let mut stop_at = None;
        let mut due = Instant::now();
        loop {
            let mail = self.inbox.wait(due);
            if mail.closing {
                return Ok(());
            }
            if let Some(outputs) = mail.outputs {
                self.session.set_outputs(outputs);
            }
            let begun = Instant::now();
            let round = self.session.next_round();
            // The drive has its stop floor before it starts. A stop keeps it, and waits for nothing.
            if stop_at.replace(round.stop_at) != Some(round.stop_at) {
                wire.write_registers(map::STOP_AT, &[round.stop_at])?;
            }
            wire.write_coils(&round.coils)?;
            wire.write_registers(map::HEARTBEAT, &[round.heartbeat, round.indicator])?;
            let words = wire.read_registers()?;
            let bits = wire.read_inputs(self.bits)?;
            self.handle_answers(&words, &bits)?;
            due = begun + self.period();
        }
    }

    fn handle_answers(&mut self, words: &map::Words, bits: &[bool]) -> Result<(), Fault> {
        let events = self.session.handle_answers(words, bits, self.started.elapsed())?;
        self.counters.frames = self.counters.frames.saturating_add(1);
        self.inbox.publish(self.counters);
        for event in events {
            if event == PanelEvent::Connected {
                self.reported_reason = None;
            }
            (self.sink)(event);
        }
        Ok(())
    }

    fn period(&self) -> Duration {
        if self.session.is_busy() { self.settings.poll } else { self.settings.heartbeat }
    }
}

#[cfg(test)]
mod tests;
