mod picture;
mod scene;
mod source;

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use clap::Args;
use ratatui::crossterm::event::{self, KeyCode};
use ratatui::crossterm::terminal;

use self::picture::picture;
use self::scene::Scene;
use self::source::Update;
use super::{CommandError, ReadArgs, output};
use crate::screen;

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh top --data-dir /var/lib/liftmesh
  liftmesh top --once --url https://192.168.1.11:7080 --token-file ~/.config/liftmesh/token

It asks one node, which knows the whole fleet. If that node ends or can't be reached, the screen
shows when the data stopped, and resumes once the node is back. ? lists the keys.";

/// How long a frame stands if no key is pressed.
const FRAME: Duration = Duration::from_millis(100);

/// The columns and lines of `--once` where the output is no terminal.
const PAGE: (u16, u16) = (120, 36);

#[derive(Debug, Clone, Args)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    pub(crate) node: ReadArgs,
    /// Print one frame as text and end
    #[arg(long)]
    pub(crate) once: bool,
}

impl TopArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let node = self.node.connect()?;
        let mut scene = Scene::new(self.node.connect()?.fleet()?, Instant::now());
        if self.once {
            let terminal = if output::is_terminal() { terminal::size().ok() } else { None };
            let page = page(&scene, Instant::now(), terminal.unwrap_or(PAGE));
            return Ok(output::print(&page)?);
        }
        if !output::is_terminal() {
            return Err(CommandError::NoTerminal);
        }
        let updates = source::start(&self.node, node).map_err(CommandError::Screen)?;
        let mut terminal = ratatui::try_init().map_err(CommandError::Screen)?;
        let shown = show(&mut terminal, &updates, &mut scene);
        ratatui::restore();
        shown.map_err(CommandError::Screen)
    }
}

/// Draws until the user or a signal ends it.
fn show(
    terminal: &mut ratatui::DefaultTerminal,
    updates: &Receiver<Update>,
    scene: &mut Scene,
) -> io::Result<()> {
    let ended = screen::ending()?;
    while !ended.load(Ordering::Relaxed) {
        let now = Instant::now();
        for update in updates.try_iter() {
            scene.apply(update, now);
        }
        terminal.draw(|frame| screen::draw(picture(scene, now), frame))?;
        if !event::poll(FRAME)? {
            continue;
        }
        match screen::pressed(&event::read()?) {
            Some(KeyCode::Char('q')) => return Ok(()),
            Some(key) => {
                let (cars, floors) = (scene.cabins().len(), scene.state.fleet.floors());
                scene.choice.handle_key(key, cars, floors);
            }
            None => {}
        }
    }
    Ok(())
}

/// One frame as text.
fn page(scene: &Scene, now: Instant, size: (u16, u16)) -> String {
    screen::page(picture(scene, now), size)
}

#[cfg(test)]
mod tests;
