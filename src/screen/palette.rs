//! The colours. Everything can also be told without them.

use ratatui::style::{Color, Modifier, Style};

const CAR: Color = Color::Indexed(67);
const LEAF: Color = Color::Indexed(110);
const LIGHT: Color = Color::Indexed(223);
const AMBER: Color = Color::Indexed(220);
const GREY: Color = Color::Indexed(243);
const DARK: Color = Color::Indexed(238);
const GREEN: Color = Color::Indexed(114);
const RED: Color = Color::Indexed(203);

pub(crate) fn frame() -> Style {
    Style::new().fg(DARK)
}

pub(crate) fn heading() -> Style {
    Style::new().fg(LEAF).add_modifier(Modifier::BOLD)
}

pub(crate) fn badge() -> Style {
    Style::new().fg(Color::Black).bg(AMBER).add_modifier(Modifier::BOLD)
}

pub(crate) fn key() -> Style {
    Style::new().fg(AMBER).add_modifier(Modifier::BOLD)
}

pub(crate) fn quiet() -> Style {
    Style::new().fg(GREY)
}

pub(crate) fn good() -> Style {
    Style::new().fg(GREEN)
}

pub(crate) fn notable() -> Style {
    Style::new().fg(AMBER)
}

pub(crate) fn bad() -> Style {
    Style::new().fg(RED)
}

pub(crate) fn lamp(lit: bool) -> Style {
    if lit { Style::new().fg(AMBER).add_modifier(Modifier::BOLD) } else { frame() }
}

/// The body of a car that works, and of one that does not.
pub(crate) fn car(sound: bool) -> Style {
    Style::new().fg(if sound { CAR } else { RED })
}

/// A leaf of the door.
pub(crate) fn leaf(sound: bool) -> Style {
    Style::new().fg(if sound { LEAF } else { LIGHT }).bg(if sound { CAR } else { RED })
}

/// The lit inside of a car.
pub(crate) fn inside() -> Style {
    Style::new().fg(Color::Black).bg(LIGHT)
}

/// What the keys act on.
pub(crate) fn selected() -> Style {
    Style::new().fg(Color::Black).bg(LEAF).add_modifier(Modifier::BOLD)
}
