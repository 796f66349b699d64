//! The figures of each strategy and their ratios to the best peer of each cell, as Markdown.

use elevator_simulator::building::SplitMix64;

use crate::score::{Score, geometric_mean};
use crate::strategy::Strategy;
use crate::suite::Cell;

/// The figures that are compared as ratios.
const COMPARED: [fn(&Score) -> f64; 3] = [|score| score.awt, |score| score.p90, |score| score.attd];

/// With fewer seeds there is no interval.
const FEWEST_SEEDS: usize = 5;

/// How often the seeds are drawn anew for an interval.
const RESAMPLES: usize = 1_000;

/// `scores` by cell, strategy and seed.
pub(crate) fn render(
    cells: &[Cell],
    strategies: &[Strategy],
    scores: &[Vec<Vec<Score>>],
) -> String {
    let mut text = String::new();
    let means = means(scores);
    figures(&mut text, cells, strategies, &means);
    for (number, strategy) in strategies.iter().enumerate() {
        if matches!(strategy, Strategy::Ours(_)) {
            ratios(&mut text, cells, strategies, &means, number);
            intervals(&mut text, strategies, scores, &means, number);
        }
    }
    text
}

/// By cell and strategy, over the seeds.
fn means(scores: &[Vec<Vec<Score>>]) -> Vec<Vec<Score>> {
    let of_cell =
        |scores: &Vec<Vec<Score>>| scores.iter().map(|seeds| Score::mean(seeds)).collect();
    scores.iter().map(of_cell).collect()
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

/// The interval that holds the geometric means with a confidence of 95 %, by bootstrap: the seeds
/// are drawn anew, the same ones for both sides and all cells.
fn intervals(
    text: &mut String,
    strategies: &[Strategy],
    scores: &[Vec<Vec<Score>>],
    means: &[Vec<Score>],
    ours: usize,
) {
    let best = means.iter().map(|means| best_peer(strategies, means));
    let Some(best) = best.collect::<Option<Vec<_>>>() else { return };
    let seeds = scores.iter().flatten().map(Vec::len).min().unwrap_or(0);
    let Some(count) = u8::try_from(seeds).ok().filter(|_| seeds >= FEWEST_SEEDS) else { return };
    let mut random = SplitMix64::new(1);
    let mut drawn = [const { Vec::new() }; COMPARED.len()];
    for _ in 0..RESAMPLES {
        let sample: Vec<usize> = (0..seeds).map(|_| usize::from(random.below(count))).collect();
        for (figure, drawn) in COMPARED.iter().zip(&mut drawn) {
            let sum =
                |seeds: &[Score]| sample.iter().map(|&seed| figure(&seeds[seed])).sum::<f64>();
            let cells = scores.iter().zip(&best);
            let ratios = cells.map(|(cell, &peer)| sum(&cell[ours]) / sum(&cell[peer]));
            drawn.push(geometric_mean(ratios));
        }
    }
    let mut row = vec!["95 % of it".to_owned(), String::new()];
    row.extend(drawn.into_iter().map(|mut drawn| {
        drawn.sort_by(f64::total_cmp);
        let at = |share: usize| drawn[(drawn.len() - 1) * share / 1_000];
        format!("{:.3} to {:.3}", at(25), at(975))
    }));
    row.extend([String::new(), String::new(), String::new(), String::new()]);
    line(text, &row);
}
