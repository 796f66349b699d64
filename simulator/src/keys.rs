//! The keys of a terminal, which press the car's buttons.

use std::io;

use elevator_driver::Direction;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::read;
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcgetpgrp, tcsetattr,
};

use crate::car::load_of;

pub(crate) const HELP: &str =
    "  0-9 car button  u0-9 d0-9 hall button  + - somebody boards, leaves  q quit\n";

/// The terminal's keys, one by one. It is as it was before once this is dropped.
#[derive(Debug)]
pub(crate) struct Keyboard {
    before: Termios,
    keys: Keys,
}

impl Keyboard {
    /// `None` without a terminal, or in its background, where a program must leave it alone.
    pub(crate) fn open() -> Option<Self> {
        let input = io::stdin();
        if !isatty(&input) || tcgetpgrp(&input).is_ok_and(|foreground| foreground != getpgrp()) {
            return None;
        }
        let before = tcgetattr(&input).ok()?;
        let mut single = before.clone();
        single.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&input, OptionalActions::Now, &single).ok()?;
        Some(Self { before, keys: Keys::default() })
    }

    /// What the keys pressed since the last call command, as lines of the control interface.
    pub(crate) fn commands(&mut self) -> Vec<String> {
        let input = io::stdin();
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut bytes = [0; 64];
        let is_readable = poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&now)) == Ok(1);
        let count = if is_readable { read(&input, &mut bytes).unwrap_or(0) } else { 0 };
        bytes[..count].iter().filter_map(|key| self.keys.command(*key)).collect()
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // The terminal may be gone.
        tcsetattr(io::stdin(), OptionalActions::Now, &self.before).unwrap_or_default();
    }
}

#[derive(Debug, Default)]
struct Keys {
    /// The direction of the hall button whose floor comes next.
    hall: Option<Direction>,
    riders: usize,
}

impl Keys {
    fn command(&mut self, key: u8) -> Option<String> {
        let hall = self.hall.take();
        let floor = char::from(key);
        match key {
            b'0'..=b'9' => {
                let hall = hall.map(|direction| format!("press hall {floor} {direction}"));
                return Some(hall.unwrap_or_else(|| format!("press car {floor}")));
            }
            b'u' => self.hall = Some(Direction::Up),
            b'd' => self.hall = Some(Direction::Down),
            b'+' | b'-' => {
                let one = if key == b'+' { 1 } else { -1 };
                self.riders = self.riders.saturating_add_signed(one);
                return Some(format!("load {}", load_of(self.riders)));
            }
            b'q' => return Some("quit".into()),
            _ => {}
        }
        None
    }
}
