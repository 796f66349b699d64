//! `liftmesh top`.

mod picture;
mod scene;
mod source;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use elevator_fleet::node::FleetStatus;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, KeyCode};
use ratatui::crossterm::terminal;
use signal_hook::consts::{SIGHUP, SIGTERM};

use self::picture::picture;
use self::scene::Scene;
use self::source::Source;
use super::{CommandError, ReadArgs, RemoteArgs, output};
use crate::screen;

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh top --data-dir /var/lib/liftmesh
  liftmesh top --socket /run/liftmesh/status.sock
  liftmesh top --once --config /etc/liftmesh/node.toml
  liftmesh top --url https://192.168.1.11:7080 --token-file ~/.config/liftmesh/token

It asks one node, which knows the whole fleet: on this machine, or with --url on another computer.
If that node ends or can't be reached, the screen shows when the data stopped, and resumes once the
node is back. ? lists the keys. It exits with 5 if no node is running, and with 4 if the node is
latched.";

/// How long a frame stands if no key is pressed.
const FRAME: Duration = Duration::from_millis(100);

/// The columns and lines of `--once` where the output is no terminal.
const PAGE: (u16, u16) = (120, 36);

/// The arguments of `liftmesh top`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TopArgs {
    /// Which node
    #[command(flatten)]
    pub(crate) node: ReadArgs,
    /// Or one at another computer
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// Print one frame as text and end
    #[arg(long)]
    pub(crate) once: bool,
}

impl TopArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let node = self.remote.connect_to_read(&self.node)?;
        let mut scene = Scene::new(FleetStatus::from(&node.status()?), Instant::now());
        if self.once {
            return Ok(output::print(&page(&scene))?);
        }
        if !output::is_terminal() {
            return Err(CommandError::NoTerminal);
        }
        let source = Source::start(self, node).map_err(CommandError::Screen)?;
        let mut terminal = ratatui::try_init().map_err(CommandError::Screen)?;
        let shown = show(&mut terminal, &source, &mut scene);
        ratatui::restore();
        shown.map_err(CommandError::Screen)
    }
}

/// Draws until the user or a signal ends it.
fn show(
    terminal: &mut ratatui::DefaultTerminal,
    source: &Source,
    scene: &mut Scene,
) -> io::Result<()> {
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ended))?;
    }
    while !ended.load(Ordering::Relaxed) {
        let now = Instant::now();
        for update in source.updates() {
            scene.apply(update, now);
        }
        terminal.draw(|frame| screen::draw(picture(scene, now), frame))?;
        if !event::poll(FRAME)? {
            continue;
        }
        match screen::pressed(&event::read()?) {
            Some(KeyCode::Char('q')) => return Ok(()),
            Some(key) => {
                let (cars, floors) = (scene.cars().len(), scene.fleet.floors);
                scene.choice.handle_key(key, cars, floors);
            }
            None => {}
        }
    }
    Ok(())
}

/// One frame as text, as large as the terminal if there is one.
fn page(scene: &Scene) -> String {
    let size = if output::is_terminal() { terminal::size().unwrap_or(PAGE) } else { PAGE };
    let mut terminal =
        Terminal::new(TestBackend::new(size.0, size.1)).unwrap_or_else(|never| match never {});
    terminal
        .draw(|frame| screen::draw(picture(scene, Instant::now()), frame))
        .unwrap_or_else(|never| match never {});
    screen::text(terminal.backend().buffer())
}

#[cfg(test)]
mod tests;
