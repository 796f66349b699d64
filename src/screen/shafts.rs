//! The shafts side by side: landings, lamps, and the cars, moved by eighths of a line.

use std::borrow::Cow;
use std::ops::Range;

use elevator_driver::{Button, Direction, DoorState, Floor, FloorCount, LampSet, Side};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::{Choice, arrow, block, first_shown, palette};

const LANDING: u16 = 9;

/// A car is this wide, and what stands beside its shaft is this much wider.
const CAR: u16 = 9;
const BESIDE: u16 = 8;

/// The narrowest car, and the columns that the last one's words need beyond its shaft.
const NARROW_CAR: u16 = 3;
const MARGIN: u16 = 2;

/// The room in which the words for a node's state are written out.
const LONG_ROLE: usize = 10;

const HEAD: u16 = 2;
const FOOT: u16 = 1;

const FLOOR: u16 = 5;

/// A line's height in the steps by which a car moves.
const STEPS: i32 = 8;

#[derive(Debug)]
pub(crate) struct Bank<'a> {
    pub(crate) floors: FloorCount,
    pub(crate) cars: Vec<Cabin<'a>>,
    /// How many passengers wait at each floor, from the lowest, where that is known.
    pub(crate) waiting: &'a [usize],
    pub(crate) choice: Choice,
}

#[derive(Debug)]
pub(crate) struct Cabin<'a> {
    pub(crate) name: &'a str,
    /// Height above the lowest floor, in floors; `None` if unknown, then no car is drawn.
    pub(crate) height: Option<f64>,
    pub(crate) door: DoorState,
    /// How far the door is open, 0 to 1.
    pub(crate) door_fraction: f64,
    pub(crate) indicator: Option<Floor>,
    pub(crate) lantern: Option<Direction>,
    pub(crate) lamps: Cow<'a, LampSet>,
    /// Passengers inside, where that is known.
    pub(crate) riding: usize,
    pub(crate) obstructed: bool,
    /// Whether the car and its node work.
    pub(crate) sound: bool,
    /// The state of its node, above the shaft.
    pub(crate) role: Label,
    /// The state of the car, below the shaft.
    pub(crate) condition: Label,
}

#[derive(Debug)]
pub(crate) struct Label {
    pub(crate) long: Cow<'static, str>,
    pub(crate) short: Cow<'static, str>,
    pub(crate) style: Style,
}

impl Label {
    /// The same words wherever they stand.
    pub(crate) fn new(word: impl Into<Cow<'static, str>>, style: Style) -> Self {
        let word = word.into();
        Self { long: word.clone(), short: word, style }
    }

    pub(crate) fn or_short(self, short: impl Into<Cow<'static, str>>) -> Self {
        Self { short: short.into(), ..self }
    }
}

pub(super) fn width(bank: &Bank<'_>) -> (u16, u16) {
    let cars = u16::try_from(bank.cars.len()).unwrap_or(u16::MAX);
    let width = |pitch| cars.saturating_mul(pitch).saturating_add(LANDING + 2);
    let least = width(NARROW_CAR + BESIDE).saturating_add(MARGIN);
    (width(CAR + BESIDE), least)
}

pub(super) fn draw(bank: &Bank<'_>, frame: &mut Frame<'_>, area: Rect) {
    let inner = block("").inner(area);
    let rows = inner.height.saturating_sub(HEAD + FOOT);
    let floors = u16::from(bank.floors.get());
    let lines = (rows / floors).clamp(1, FLOOR);
    let shown = (rows / lines).min(floors);
    let all = bank.cars.len();
    let width = inner.width.saturating_sub(LANDING);
    let pitch = width / u16::try_from(all).unwrap_or(u16::MAX).max(1);
    let pitch = pitch.clamp(NARROW_CAR + BESIDE, CAR + BESIDE);
    let columns = usize::from(width / pitch).min(all);
    if shown == 0 || columns == 0 {
        return;
    }
    let first = first_shown(bank.choice.car, columns, all);
    let lowest = usize::from(bank.choice.floor.index());
    let lowest = first_shown(lowest, usize::from(shown), usize::from(floors));
    let lowest = u16::try_from(lowest).unwrap_or(0);
    let cars = first..first + columns;
    let title = title(bank, cars.clone(), lowest..lowest + shown);
    frame.render_widget(block(&title), area);
    let ground = inner.y + HEAD + shown * lines;
    let view = View {
        area: Rect { y: ground - shown * lines, height: shown * lines, ..inner },
        lines,
        lowest,
    };
    let buffer = frame.buffer_mut();
    view.landings(bank, buffer);
    for (place, index) in (0u16..).zip(cars) {
        let column = Column {
            x: inner.x + LANDING + place * pitch,
            car: pitch.saturating_sub(BESIDE),
            pitch,
            right: inner.right(),
        };
        let car = &bank.cars[index];
        let selected = index == bank.choice.car;
        column.head(car, selected, inner.y, buffer);
        column.foot(car, ground, buffer);
        view.shaft(bank, car, &column, buffer);
    }
}

fn title(bank: &Bank<'_>, cars: Range<usize>, floors: Range<u16>) -> String {
    let all = bank.cars.len();
    let name = |car: usize| bank.cars.get(car).map_or("", |car| car.name);
    let cars = if cars.len() < all {
        format!(" {}–{} of {all}", name(cars.start), name(cars.end - 1))
    } else {
        String::new()
    };
    let all = bank.floors.get();
    let floors = if floors.len() < usize::from(all) {
        let floor = |index: u16| bank.floors.floors().nth(index.into()).unwrap_or(Floor::BOTTOM);
        format!(", floors {}–{} of {all}", floor(floors.start), floor(floors.end - 1))
    } else {
        String::new()
    };
    format!("Shafts{cars}{floors}")
}

struct View {
    area: Rect,
    lines: u16,
    lowest: u16,
}

struct Column {
    x: u16,
    car: u16,
    pitch: u16,
    right: u16,
}

impl View {
    fn floors(&self, bank: &Bank<'_>) -> impl Iterator<Item = (Floor, u16)> {
        let (bottom, lines, lowest) = (self.area.bottom(), self.lines, self.lowest);
        let shown = self.area.height / lines;
        bank.floors.floors().filter_map(move |floor| {
            let nth = u16::from(floor.index()).checked_sub(lowest)?;
            (nth < shown).then(|| (floor, bottom - nth * lines - 1))
        })
    }

    fn landings(&self, bank: &Bank<'_>, buffer: &mut Buffer) {
        for (floor, sill) in self.floors(bank) {
            let style = if floor == bank.choice.floor { palette::SELECTED } else { palette::QUIET };
            buffer.set_string(self.area.x, sill, format!("{floor:>3} "), style);
            let count = bank.waiting.get(usize::from(floor.index())).copied().unwrap_or(0);
            buffer.set_string(self.area.x + 4, sill, people(count, 4), palette::NOTABLE);
        }
    }

    fn shaft(&self, bank: &Bank<'_>, car: &Cabin<'_>, column: &Column, buffer: &mut Buffer) {
        let (left, right) = (column.x + 3, column.x + 4 + column.car);
        for y in self.area.top()..self.area.bottom() {
            buffer.set_string(left, y, "│", palette::FRAME);
            buffer.set_string(right, y, "│", palette::FRAME);
        }
        for (floor, sill) in self.floors(bank) {
            let landing = "▁".repeat(usize::from(column.car));
            buffer.set_string(left + 1, sill, landing, palette::FRAME);
            for (x, direction) in [(column.x, Direction::Up), (column.x + 1, Direction::Down)] {
                let button = Button::Hall(floor, direction);
                if bank.floors.has_button(button) {
                    lamp(car, button, (x, sill), buffer);
                }
            }
            lamp(car, Button::Car(floor), (right + 1, sill), buffer);
        }
        self.car(car, left + 1, column.car, buffer);
    }

    /// The car: its lower edge is where it stands, a floor's height above the line of the sill.
    fn car(&self, car: &Cabin<'_>, x: u16, width: u16, buffer: &mut Buffer) {
        let Some(above_ground) = car.height else {
            return;
        };
        let lines = i32::from(self.lines);
        let height = if lines > 2 { lines - 1 } else { lines };
        let feet = steps((above_ground - f64::from(self.lowest)) * f64::from(self.lines));
        let top = feet + height * STEPS;
        let middle = feet + height * STEPS / 2;
        for line in 0..i32::from(self.area.height) {
            let (low, high) = (line * STEPS, (line + 1) * STEPS);
            let Ok(up) = u16::try_from(line) else {
                continue;
            };
            let y = self.area.bottom() - 1 - up;
            if low >= feet && high <= top {
                let is_middle = (low..high).contains(&middle);
                cabin(car, (x, y), width, is_middle, buffer);
            } else if top > low && top < high {
                // The roof fills the line from below.
                let edge = eighths(top - low).to_string().repeat(usize::from(width));
                buffer.set_string(x, y, edge, palette::car(car.sound));
            } else if feet > low && feet < high {
                // The floor leaves the lower part of the line free.
                let edge = eighths(feet - low).to_string().repeat(usize::from(width));
                let style = palette::car(car.sound).add_modifier(Modifier::REVERSED);
                buffer.set_string(x, y, edge, style);
            }
        }
    }
}

impl Column {
    fn head(&self, car: &Cabin<'_>, selected: bool, y: u16, buffer: &mut Buffer) {
        let style = if selected { palette::SELECTED } else { palette::HEADING };
        buffer.set_string(self.x + 3, y, format!(" {} ", car.name), style);
        let at = self.x + 6 + u16::try_from(car.name.len().saturating_sub(1)).unwrap_or(0);
        // Up to the name of the next car.
        let room = (self.x + self.pitch + 2).min(self.right);
        let room = usize::from(room.saturating_sub(at));
        let role = if room >= LONG_ROLE { &car.role.long } else { &car.role.short };
        buffer.set_stringn(at, y, role, room, car.role.style);
        let floor = car.indicator.map_or_else(|| "–".to_owned(), |floor| floor.to_string());
        let centre = self.x + 4 + self.car / 2;
        let lit = palette::lamp(true);
        let text = match car.lantern {
            Some(direction) => format!("{}{floor:>2}", arrow(direction)),
            None => format!(" {floor:>2}"),
        };
        buffer.set_string(centre.saturating_sub(2), y + 1, text, lit);
    }

    fn foot(&self, car: &Cabin<'_>, y: u16, buffer: &mut Buffer) {
        let Label { long, short, style } = &car.condition;
        let word = if self.car == NARROW_CAR { short } else { long };
        // Centred below the car, in all that there is between its neighbours' words.
        let centre = self.x + 4 + self.car / 2;
        let half = (self.pitch - 1) / 2;
        let width = usize::from(2 * half + 1);
        let text = format!("{word:^width$}");
        buffer.set_stringn(centre - half, y, text, width, *style);
    }
}

/// One line of the car: posts, the leaves of the door, and what is seen between them.
fn cabin(car: &Cabin<'_>, at: (u16, u16), width: u16, is_middle: bool, buffer: &mut Buffer) {
    let (x, y) = at;
    let sound = car.sound;
    buffer.set_string(x, y, "█", palette::car(sound));
    buffer.set_string(x + width - 1, y, "█", palette::car(sound));
    let way = width - 2;
    // Each leaf covers at most half of the way.
    let leaf = columns(f64::from(way) / 2.0 * (1.0 - car.door_fraction));
    for column in 0..way {
        let (symbol, style) = if column.min(way - 1 - column) < leaf {
            ("▒", palette::leaf(sound))
        } else if car.door == DoorState::Closed {
            ("┃", palette::leaf(sound))
        } else {
            (" ", palette::INSIDE)
        };
        buffer.set_string(x + 1 + column, y, symbol, style);
    }
    let free = way.saturating_sub(2 * leaf);
    if is_middle && free > 0 && car.door != DoorState::Closed {
        let inside =
            if car.obstructed { "!".to_owned() } else { people(car.riding, usize::from(free)) };
        let shift = u16::try_from(inside.chars().count()).unwrap_or(0) / 2;
        buffer.set_string(x + width / 2 - shift, y, inside, palette::INSIDE);
    }
}

fn lamp(car: &Cabin<'_>, button: Button, at: (u16, u16), buffer: &mut Buffer) {
    // One lamp stands for those of both entrances.
    let lit = Side::BOTH.iter().any(|side| car.lamps.contains(&button.at(*side)));
    let symbol = match (button.direction(), lit) {
        (Some(Direction::Up), true) => "▲",
        (Some(Direction::Up), false) => "△",
        (Some(Direction::Down), true) => "▼",
        (Some(Direction::Down), false) => "▽",
        (None, true) => "●",
        (None, false) => "○",
    };
    buffer.set_string(at.0, at.1, symbol, palette::lamp(lit));
}

fn people(count: usize, room: usize) -> String {
    match count.to_string() {
        _ if count <= room => "☻".repeat(count),
        number if number.len() < room => format!("☻{number}"),
        number if number.len() == room => number,
        _ => "+".to_owned(),
    }
}

/// A block that fills this many eighths of a line from below.
fn eighths(filled: i32) -> char {
    let blocks = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'];
    blocks[usize::try_from(filled - 1).unwrap_or(0).min(6)]
}

#[expect(clippy::cast_possible_truncation, reason = "a shaft on the screen is far below the range")]
fn steps(lines: f64) -> i32 {
    (lines * f64::from(STEPS)).round() as i32
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a door on the screen is far below the range, and never negative"
)]
fn columns(width: f64) -> u16 {
    width.max(0.0) as u16
}
