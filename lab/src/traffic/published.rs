//! Published figures.

/// A row of the table of Crites and Barto for down-peak traffic only, in seconds.
///
/// R. H. Crites and A. G. Barto: Improving elevator performance using reinforcement learning, NIPS
/// 8 (1996), 1017-1023, and: Elevator group control using multiple reinforcement learning agents,
/// Machine Learning 33 (1998), 235-262. Their simulator has an event-driven model of the same
/// building; it is not this one, so a difference of a few per cent means nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// The controller.
    pub name: &'static str,
    /// The mean waiting time, s.
    pub awt: f64,
    /// The mean of the squared waiting times, s².
    pub squared: f64,
    /// The mean time in the system, s.
    pub system: f64,
    /// Per cent who waited for more than a minute.
    pub over_60: f64,
}

const fn row(name: &'static str, awt: f64, squared: f64, system: f64, over_60: f64) -> Published {
    Published { name, awt, squared, system, over_60 }
}

/// The table.
pub const PUBLISHED: [Published; 8] = [
    row("SECTOR", 21.4, 674.0, 47.7, 1.12),
    row("DLB", 19.4, 658.0, 53.2, 2.74),
    row("LQF", 19.1, 534.0, 46.6, 0.89),
    row("HUFF", 16.8, 396.0, 48.6, 0.16),
    row("FIM", 16.0, 359.0, 47.9, 0.11),
    row("ESA", 15.1, 338.0, 47.1, 0.25),
    row("RLp", 14.8, 320.0, 41.8, 0.09),
    row("RLd", 14.7, 313.0, 41.7, 0.07),
];
