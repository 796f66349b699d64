//! The colours. Everything can also be told without them.

use ratatui::style::{Color, Modifier, Style};

const CAR: Color = Color::Indexed(67);
const LEAF: Color = Color::Indexed(110);
const LIGHT: Color = Color::Indexed(223);
const AMBER: Color = Color::Indexed(220);
const RED: Color = Color::Indexed(203);

pub(crate) const FRAME: Style = Style::new().fg(Color::Indexed(238));
pub(crate) const HEADING: Style = Style::new().fg(LEAF).add_modifier(Modifier::BOLD);
pub(crate) const BADGE: Style =
    Style::new().fg(Color::Black).bg(AMBER).add_modifier(Modifier::BOLD);
pub(crate) const KEY: Style = Style::new().fg(AMBER).add_modifier(Modifier::BOLD);
pub(crate) const QUIET: Style = Style::new().fg(Color::Indexed(243));
pub(crate) const GOOD: Style = Style::new().fg(Color::Indexed(114));
pub(crate) const NOTABLE: Style = Style::new().fg(AMBER);
pub(crate) const BAD: Style = Style::new().fg(RED);
pub(crate) const INSIDE: Style = Style::new().fg(Color::Black).bg(LIGHT);
/// What the keys act on.
pub(crate) const SELECTED: Style =
    Style::new().fg(Color::Black).bg(LEAF).add_modifier(Modifier::BOLD);

pub(crate) fn lamp(lit: bool) -> Style {
    if lit { KEY } else { FRAME }
}

pub(crate) fn car(sound: bool) -> Style {
    Style::new().fg(if sound { CAR } else { RED })
}

pub(crate) fn leaf(sound: bool) -> Style {
    Style::new().fg(if sound { LEAF } else { LIGHT }).bg(if sound { CAR } else { RED })
}
