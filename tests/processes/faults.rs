//! What real processes do when they are killed, suspended and brought back: no order is lost, and the
//! living have one master.
//!
//! Every test keeps the books of its building: an account of every order by what its panels show.
//! They print what they measure (`--nocapture` shows it). Longer campaigns: see `kills`.

mod kills;
mod restart;

const THREE: [&str; 3] = ["A", "B", "C"];
