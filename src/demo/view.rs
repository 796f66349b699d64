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
    /// Whether to draw a screen: if there is a terminal, and lines were not requested.
    pub(super) fn has_screen(headless: bool) -> bool {
        !headless && io::stdout().is_terminal()
    }

    /// A screen or lines, as [`has_screen`](Self::has_screen) says.
    pub(super) fn open(headless: bool) -> io::Result<Self> {
        if Self::has_screen(headless) {
            return Ok(Self::Screen(ratatui::try_init()?));
        }
        Ok(Self::Lines)
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
pub(super) fn conclude(
    toll: Option<&Toll>,
    tally: Tally,
    master_changes: Option<u32>,
) -> io::Result<()> {
    let mut output = io::stdout().lock();
    if let Some(toll) = toll {
        writeln!(output, "faults: {toll}")?;
    }
    writeln!(output, "{}", summary(tally, master_changes))
}

fn line(event: &Event) -> String {
    let at = event.at.as_secs_f64();
    let car = event.car.as_ref().map_or("", |car| car.as_str());
    format!("{at:7.1} s  {car:1}  {}", event.text)
}

fn summary(tally: Tally, master_changes: Option<u32>) -> String {
    let Tally { placed, served, lost, unserved, late, longest, fetched: _, waited: _ } = tally;
    let waits = tally.mean().map_or_else(
        || "nobody waited".to_owned(),
        |mean| {
            let [mean, late, longest] = [mean, late, longest].map(|time| time.as_secs_f64());
            format!("waiting mean {mean:.1} s, P90 {late:.1} s, max {longest:.1} s")
        },
    );
    let changes = master_changes.map_or_else(
        || "the mastership rotates".to_owned(),
        |changes| format!("changes of master {changes}"),
    );
    format!(
        "summary: {placed} orders placed, {served} served, {lost} lost, {unserved} unserved at the end; {waits}; {changes}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_one_line_with_every_figure() {
        let tally = Tally {
            placed: 12,
            served: 8,
            lost: 1,
            unserved: 3,
            fetched: 8,
            waited: Duration::from_secs(64),
            late: Duration::from_millis(15_200),
            longest: Duration::from_millis(20_500),
        };
        assert_eq!(
            summary(tally, Some(2)),
            "summary: 12 orders placed, 8 served, 1 lost, 3 unserved at the end; waiting mean \
             8.0 s, P90 15.2 s, max 20.5 s; changes of master 2"
        );
        let idle = summary(Tally::default(), None);
        assert!(idle.contains("nobody waited"), "{idle}");
        assert!(idle.ends_with("; the mastership rotates"), "{idle}");
    }
}
