//! Published figures.

/// A controller, its mean waiting time in s, the mean of the squared waiting times in s², the mean
/// time in the system in s, and per cent who waited for more than a minute: the table of Crites and
/// Barto for down-peak traffic only.
///
/// R. H. Crites and A. G. Barto: Improving elevator performance using reinforcement learning, NIPS
/// 8 (1996), 1017-1023, and: Elevator group control using multiple reinforcement learning agents,
/// Machine Learning 33 (1998), 235-262. Their simulator has an event-driven model of the same
/// building; it is not this one, so a difference of a few per cent means nothing.
pub const PUBLISHED: [(&str, f64, f64, f64, f64); 8] = [
    ("SECTOR", 21.4, 674.0, 47.7, 1.12),
    ("DLB", 19.4, 658.0, 53.2, 2.74),
    ("LQF", 19.1, 534.0, 46.6, 0.89),
    ("HUFF", 16.8, 396.0, 48.6, 0.16),
    ("FIM", 16.0, 359.0, 47.9, 0.11),
    ("ESA", 15.1, 338.0, 47.1, 0.25),
    ("RLp", 14.8, 320.0, 41.8, 0.09),
    ("RLd", 14.7, 313.0, 41.7, 0.07),
];
