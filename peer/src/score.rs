//! What passengers saw of runs, and their tables in Markdown.

use std::fmt::Write;
use std::time::Duration;

use elevator_simulator::building::{Journey, Passenger};

use crate::strategy::Strategy;
use crate::suite::{Cell, WARM_UP};

/// The figures of one run, or the mean of several.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Score {
    /// Per cent of the scored passengers who reached their destination.
    pub(crate) served: f64,
    /// Mean time from arrival to boarding, in seconds.
    pub(crate) awt: f64,
    /// Its 90th percentile, in seconds.
    pub(crate) p90: f64,
    /// The longest wait, in seconds.
    pub(crate) longest: f64,
    /// Mean time from arrival to exit, in seconds.
    pub(crate) attd: f64,
    /// Per cent of the seconds that riders spent in a moving car that carried them away from their
    /// destination.
    pub(crate) wrong_way: f64,
}

impl Score {
    /// The figures of the passengers who arrived after the warm-up.
    pub(crate) fn of(passengers: &[Passenger], trips: &[Journey]) -> Self {
        let scored = passengers.iter().zip(trips).filter(|(it, _)| it.arrival >= WARM_UP);
        let since = |at: fn(&Journey) -> Option<Duration>| -> Vec<f64> {
            let time = |(it, trip): (&Passenger, &Journey)| Some((at(trip)?, it.arrival));
            let times = scored.clone().filter_map(time);
            times.map(|(at, arrival)| at.saturating_sub(arrival).as_secs_f64()).collect()
        };
        let mut waits = since(|trip| trip.boarded);
        waits.sort_by(f64::total_cmp);
        let totals = since(|trip| trip.exited);
        Self {
            served: 100.0 * ratio(totals.len(), scored.count()),
            awt: mean(&waits),
            p90: waits.get(waits.len() * 9 / 10).copied().unwrap_or_default(),
            longest: waits.last().copied().unwrap_or_default(),
            attd: mean(&totals),
            ..Self::default()
        }
    }

    /// The mean of each figure; of the longest wait, the longest.
    pub(crate) fn mean(scores: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| mean(&scores.iter().map(figure).collect::<Vec<_>>());
        Self {
            served: of(|score| score.served),
            awt: of(|score| score.awt),
            p90: of(|score| score.p90),
            longest: scores.iter().map(|score| score.longest).fold(0.0, f64::max),
            attd: of(|score| score.attd),
            wrong_way: of(|score| score.wrong_way),
        }
    }

    /// AWT, P90 and ATTD as shares of another's.
    fn ratios(&self, other: &Self) -> [f64; 3] {
        [self.awt / other.awt, self.p90 / other.p90, self.attd / other.attd]
    }
}

/// Zero of zero is zero.
#[expect(clippy::cast_precision_loss, reason = "counts of passengers")]
pub(crate) fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() * ratio(1, values.len())
}

/// The figures of each strategy in each cell, with their ratios to the peer that has the shortest
/// mean wait there; and the geometric means of the ratios over the cells. `scores` are by cell and
/// strategy.
pub(crate) fn tables(cells: &[Cell], strategies: &[Strategy], scores: &[Vec<Score>]) -> String {
    let mut text =
        "| cell | strategy | served % | AWT s | P90 s | longest s | ATTD s | wrong-way % | \
                    AWT | P90 | ATTD |\n|---|---|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    let mut logarithms = vec![Vec::new(); strategies.len()];
    for (cell, scores) in cells.iter().zip(scores) {
        let peers = strategies.iter().zip(scores).filter(|(it, _)| Strategy::PEERS.contains(it));
        let best = peers.map(|(_, score)| score).min_by(|a, b| a.awt.total_cmp(&b.awt));
        for ((strategy, score), logarithms) in strategies.iter().zip(scores).zip(&mut logarithms) {
            let Score { served, awt, p90, longest, attd, wrong_way, .. } = score;
            let ratios = score.ratios(best.unwrap_or(score));
            logarithms.push(ratios.map(f64::ln));
            let [wait, late, total] = ratios;
            writeln!(
                text,
                "| {cell} | {strategy} | {served:.1} | {awt:.2} | {p90:.1} | {longest:.0} \
                 | {attd:.1} | {wrong_way:.2} | {wait:.3} | {late:.3} | {total:.3} |"
            )
            .unwrap_or_default();
        }
    }
    text += "\n| strategy | AWT | P90 | ATTD |\n|---|---|---|---|\n";
    for (strategy, logarithms) in strategies.iter().zip(logarithms) {
        let [wait, late, total] = [0, 1, 2].map(|figure| {
            mean(&logarithms.iter().map(|of_cell| of_cell[figure]).collect::<Vec<_>>()).exp()
        });
        writeln!(text, "| {strategy} | {wait:.3} | {late:.3} | {total:.3} |").unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passengers_of_the_warm_up_are_not_scored() {
        let seconds = Duration::from_secs;
        let all = Cell::all()[0].passengers(1);
        let passenger = |arrival| Passenger { arrival: seconds(arrival), ..all[0] };
        let at = |time| Some(seconds(time));
        let trip = |boarded, exited| Journey { boarded: at(boarded), exited: at(exited) };
        let passengers = [passenger(10), passenger(700), passenger(800)];
        let trips = [trip(500, 600), trip(710, 740), trip(870, 900)];
        let Score { awt, attd, p90, longest, served, .. } = Score::of(&passengers, &trips);
        let figures = format!("{awt} {attd} {p90} {longest} {served}");
        assert_eq!(figures, "40 70 70 70 100");
    }

    #[test]
    fn ratios_are_averaged_by_their_logarithms() {
        let strategies = [Strategy::Etd, Strategy::ours()[0]];
        let score = |awt| Score { awt, p90: 1.0, attd: 2.0, ..Score::default() };
        // Half as long as the other one's, and twice as long.
        let scores = [[1.0, 0.5], [1.0, 2.0]].map(|cell| cell.map(score).to_vec());
        let text = tables(&Cell::all()[..2], &strategies, &scores);
        assert!(text.ends_with("| planner | 1.000 | 1.000 | 1.000 |\n"), "{text}");
    }
}
