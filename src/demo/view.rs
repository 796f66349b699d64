//! The output of the scene: to a screen that is redrawn continually, or line by line to standard
//! output. The only module of the demo that writes.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use liftmesh_harness::account::Tally;
use liftmesh_lab::Toll;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, KeyCode};

use super::picture::picture;
use super::scene::{Event, Scene};
use crate::screen;

#[derive(Debug)]
pub(super) enum View {
    /// In a terminal. It is restored when this is dropped, and by the panic hook.
    Screen(DefaultTerminal),
    Lines,
}

impl View {
    /// A screen if there is a terminal, and lines were not requested.
    pub(super) fn open(headless: bool) -> io::Result<Self> {
        let has_screen = !headless && io::stdout().is_terminal();
        Ok(if has_screen { Self::Screen(ratatui::try_init()?) } else { Self::Lines })
    }

    pub(super) fn is_screen(&self) -> bool {
        matches!(self, Self::Screen(_))
    }

    /// Shows the scene and the new events, oldest first.
    pub(super) fn show(&mut self, scene: &Scene, fresh: &[Event]) -> io::Result<()> {
        match self {
            Self::Screen(terminal) => {
                terminal.draw(|frame| screen::draw(picture(scene), frame)).map(drop)
            }
            Self::Lines => {
                let mut output = io::stdout().lock();
                for event in fresh {
                    writeln!(output, "{}", line(event))?;
                }
                output.flush()
            }
        }
    }

    /// The keys pressed since the last call.
    pub(super) fn keys(&mut self) -> io::Result<Vec<KeyCode>> {
        let mut keys = Vec::new();
        while self.is_screen() && event::poll(Duration::ZERO)? {
            keys.extend(screen::pressed(&event::read()?));
        }
        Ok(keys)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if self.is_screen() {
            ratatui::restore();
        }
    }
}

/// Writes the last lines of a demo: the faults of chaos, if any, and the account.
pub(super) fn conclude(toll: Option<&Toll>, tally: Tally) -> io::Result<()> {
    let mut output = io::stdout().lock();
    if let Some(toll) = toll {
        writeln!(output, "faults: {toll}")?;
    }
    let Tally { placed, served, lost, unserved, late, longest, .. } = tally;
    let [mean, late, longest] =
        [tally.mean().unwrap_or_default(), late, longest].map(|time| time.as_secs_f64());
    writeln!(
        output,
        "summary: {placed} orders placed, {served} served, {lost} lost, {unserved} unserved at the \
         end; waiting mean {mean:.1} s, P90 {late:.1} s, max {longest:.1} s"
    )
}

fn line(event: &Event) -> String {
    let at = event.at.as_secs_f64();
    let car = event.car.as_ref().map_or("", |car| car.as_str());
    format!("{at:7.1} s  {car:1}  {}", event.text)
}
