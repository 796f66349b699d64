//! The figures of each strategy and their ratios to the best peer of each cell, as Markdown.

use crate::score::{Score, geometric_mean};
use crate::strategy::Strategy;
use crate::suite::Cell;

/// The figures that are compared as ratios.
const COMPARED: [fn(&Score) -> f64; 3] = [|score| score.awt, |score| score.p90, |score| score.attd];

/// `scores` by cell and strategy.
pub(crate) fn render(cells: &[Cell], strategies: &[Strategy], scores: &[Vec<Score>]) -> String {
    let mut text = String::new();
    figures(&mut text, cells, strategies, scores);
    for (number, strategy) in strategies.iter().enumerate() {
        if matches!(strategy, Strategy::Ours(_)) {
            ratios(&mut text, cells, strategies, scores, number);
        }
    }
    text
}

/// The peer with the shortest mean wait of a cell.
fn best_peer(strategies: &[Strategy], scores: &[Score]) -> Option<usize> {
    let peers = strategies.iter().enumerate();
    let peers = peers.filter(|(_, strategy)| matches!(strategy, Strategy::Peer(..)));
    let peers = peers.map(|(number, _)| number);
    peers.min_by(|&one, &other| scores[one].awt.total_cmp(&scores[other].awt))
}

fn line(text: &mut String, cells: &[String]) {
    text.push_str("| ");
    text.push_str(&cells.join(" | "));
    text.push_str(" |\n");
}

fn heading(text: &mut String, cells: &[&str]) {
    line(text, &cells.iter().map(ToString::to_string).collect::<Vec<_>>());
    line(text, &cells.iter().map(|_| "---".to_owned()).collect::<Vec<_>>());
}

fn figures(text: &mut String, cells: &[Cell], strategies: &[Strategy], scores: &[Vec<Score>]) {
    heading(
        text,
        &[
            "cell",
            "strategy",
            "served %",
            "AWT s",
            "P90 s",
            "> 60 s %",
            "longest s",
            "ATTD s",
            "wrong-way %",
            "plan µs",
        ],
    );
    for (cell, scores) in cells.iter().zip(scores) {
        for (strategy, score) in strategies.iter().zip(scores) {
            line(
                text,
                &[
                    cell.to_string(),
                    strategy.to_string(),
                    format!("{:.1}", score.served),
                    format!("{:.2}", score.awt),
                    format!("{:.1}", score.p90),
                    format!("{:.1}", score.over_60),
                    format!("{:.0}", score.longest),
                    format!("{:.1}", score.attd),
                    format!("{:.2}", score.wrong_way),
                    format!("{:.1}", score.plan_micros),
                ],
            );
        }
    }
}

fn ratios(
    text: &mut String,
    cells: &[Cell],
    strategies: &[Strategy],
    scores: &[Vec<Score>],
    ours: usize,
) {
    text.push('\n');
    let name = strategies[ours].to_string();
    heading(
        text,
        &[
            &name,
            "best peer",
            "AWT",
            "P90",
            "ATTD",
            "wrong-way %",
            "its wrong-way %",
            "longest s",
            "its longest s",
        ],
    );
    let mut all = [const { Vec::new() }; COMPARED.len()];
    for (cell, scores) in cells.iter().zip(scores) {
        let Some(peer) = best_peer(strategies, scores) else { return };
        let (our, its) = (&scores[ours], &scores[peer]);
        let mut row = vec![cell.to_string(), strategies[peer].to_string()];
        for (figure, all) in COMPARED.iter().zip(&mut all) {
            let ratio = figure(our) / figure(its);
            all.push(ratio);
            row.push(format!("{ratio:.3}"));
        }
        row.push(format!("{:.2}", our.wrong_way));
        row.push(format!("{:.2}", its.wrong_way));
        row.push(format!("{:.0}", our.longest));
        row.push(format!("{:.0}", its.longest));
        line(text, &row);
    }
    let mut row = vec!["geometric mean".to_owned(), String::new()];
    row.extend(all.into_iter().map(|all| format!("{:.3}", geometric_mean(all))));
    row.extend([String::new(), String::new(), String::new(), String::new()]);
    line(text, &row);
}
