//! What the keys mean.

use elevator_driver::Direction;
use ratatui::crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};

/// A command of the demo's operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// The car to the left or, with `Up`, to the right.
    Car(Direction),
    /// The floor above or below.
    Floor(Direction),
    /// A press on the selected landing.
    Hall(Direction),
    /// A press inside the selected car.
    CarCall,
    /// Kill the selected node.
    Kill,
    /// Start it again.
    Restart,
    /// Suspend it, or let it go on.
    Suspend,
    /// Cut its network, or mend it.
    Network,
    /// Cut the line of its panel, or plug it again.
    Line,
    /// Stick its motor, or free it.
    Motor,
    /// Clear its hang.
    ClearHang,
    /// Put something in its door, or take it away.
    Obstruct,
    /// Pull or push its stop switch.
    Stop,
    /// Cut the power of the whole building, or bring it back.
    Power,
    /// Hold the passengers back, or let them come.
    Pause,
    /// End the demo.
    Quit,
}

/// The wish for an event of the terminal, if any.
pub(super) fn wish(event: &Event) -> Option<Wish> {
    let Event::Key(key) = event else { return None };
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Wish::Quit);
    }
    Some(match key.code {
        KeyCode::Left => Wish::Car(Direction::Down),
        KeyCode::Right => Wish::Car(Direction::Up),
        KeyCode::Up => Wish::Floor(Direction::Up),
        KeyCode::Down => Wish::Floor(Direction::Down),
        KeyCode::Char('u') => Wish::Hall(Direction::Up),
        KeyCode::Char('d') => Wish::Hall(Direction::Down),
        KeyCode::Char('c') => Wish::CarCall,
        KeyCode::Char('k') => Wish::Kill,
        KeyCode::Char('r') => Wish::Restart,
        KeyCode::Char('z') => Wish::Suspend,
        KeyCode::Char('n') => Wish::Network,
        KeyCode::Char('l') => Wish::Line,
        KeyCode::Char('h') => Wish::Motor,
        KeyCode::Char('x') => Wish::ClearHang,
        KeyCode::Char('o') => Wish::Obstruct,
        KeyCode::Char('s') => Wish::Stop,
        KeyCode::Char('p') => Wish::Power,
        KeyCode::Char(' ') => Wish::Pause,
        KeyCode::Char('q') | KeyCode::Esc => Wish::Quit,
        _ => return None,
    })
}
