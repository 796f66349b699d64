//! What each example has to show, so that no drawing claims what it does not show.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_fleet::wire::NodeState;

use crate::trace::{Fate, Sent, Trace};

/// B8: A asks B and C, and both answer; B asks C then, which answers, dies, and never announces
/// itself; A asks again, and B leads.
pub(super) fn a_candidate_dies(trace: &Trace) -> bool {
    let (a, b, c) = (0, 1, 2);
    let asked_by_a = arrivals(trace, a, "election");
    let asked = |node: usize| asked_by_a.iter().find(|(to, _)| *to == node).map(|(_, at)| *at);
    let begins = |node: usize| sent(trace, node, "election").next().map(|sent| sent.at);
    let answered =
        |by: usize, asker: usize| arrivals(trace, by, "answer").iter().any(|(to, _)| *to == asker);
    let rounds_of_a: BTreeSet<Duration> = sent(trace, a, "election").map(|sent| sent.at).collect();
    let announced = |node: usize| sent(trace, node, "master").count() > 0;
    let dies = first(trace, c, None);
    asked(b).is_some()
        && begins(b) == asked(b)
        && asked(c).is_some_and(|asked| dies > Some(asked))
        && answered(b, a)
        && answered(c, a)
        && answered(c, b)
        && !announced(c)
        && announced(b)
        && rounds_of_a.len() == 2
        && trace.masters_at(trace.window.to) == [b]
}

/// The longest time that a message takes in the example of T9.
const ONE_WAY: Duration = Duration::from_millis(32);

/// T9: of three holders each asks another to wait, in a cycle, and is refused, for each is busy; in
/// the end one of them is left.
pub(super) fn three_wait_in_a_cycle(trace: &Trace) -> bool {
    let asks = |node: usize| {
        let place = trace.messages.iter().position(|sent| is(sent, node, "wait"))?;
        let arrow = trace.arrows.iter().find(|arrow| arrow.message == place)?;
        Some((arrow.to, trace.messages[place].at))
    };
    let cycle = [asks(0), asks(1), asks(2)];
    let to = cycle.map(|ask| ask.map(|(to, _)| to));
    let is_cycle = [[1, 2, 0], [2, 0, 1]].iter().any(|cycle| cycle.map(Some) == to);
    let refused = (0..3).all(|node| sent(trace, node, "busy").count() > 0);
    let last = cycle.iter().flatten().map(|(_, at)| *at).max().unwrap_or_default();
    let before_any_answer = trace.messages.iter().all(|sent| {
        !["agreed", "result", "no longer holder"].contains(&sent.kind.name) || sent.at > last
    });
    let end = trace.masters_at(trace.window.to);
    let begin = cycle.iter().flatten().map(|(_, at)| *at).min().unwrap_or_default();
    let together = last.saturating_sub(begin) < ONE_WAY;
    is_cycle && together && refused && before_any_answer && end.len() == 1
}

/// F3: three masters at the beginning, and A alone in the end.
pub(super) fn three_become_one(trace: &Trace) -> bool {
    trace.masters_at(trace.window.zero) == [0, 1, 2] && trace.masters_at(trace.window.to) == [0]
}

/// V5: two votes of a round are equal, and higher than all others of it; of the next round, in
/// which these two alone vote, one wins.
pub(super) fn the_highest_vote_is_tied_once(trace: &Trace) -> bool {
    let votes: Vec<(usize, u32, Duration)> = trace
        .messages
        .iter()
        .filter(|sent| sent.kind.name == "vote")
        .filter_map(|sent| Some((sent.from, sent.detail.parse().ok()?, sent.at)))
        .collect();
    let Some((_, _, begin)) = votes.first() else { return false };
    // A round takes 100 ms at each voter, from its first vote on.
    let second = *begin + Duration::from_millis(100);
    let (first, second): (Vec<_>, Vec<_>) = votes.iter().partition(|(_, _, at)| *at < second);
    let best = first.iter().map(|(_, vote, _)| *vote).max();
    let tied: Vec<usize> =
        first.iter().filter(|(_, vote, _)| Some(*vote) == best).map(|vote| vote.0).collect();
    let mut again: Vec<usize> = second.iter().map(|vote| vote.0).collect();
    again.sort_unstable();
    let mut expected = tied.clone();
    expected.sort_unstable();
    let winner = second.iter().max_by_key(|vote| vote.1).map(|vote| vote.0);
    let decided = matches!(second.as_slice(), [one, other] if one.1 != other.1);
    tied.len() == 2
        && first.len() > 2
        && again == expected
        && decided
        && winner.is_some_and(|winner| trace.masters_at(trace.window.to) == [winner])
}

/// Two leaders at the beginning, and one in the end.
pub(super) fn two_become_one(trace: &Trace) -> bool {
    trace.masters_at(trace.window.zero).len() == 2 && trace.masters_at(trace.window.to).len() == 1
}

fn is(sent: &Sent, node: usize, kind: &str) -> bool {
    sent.from == node && sent.kind.name == kind
}

fn sent<'a>(trace: &'a Trace, node: usize, kind: &'a str) -> impl Iterator<Item = &'a Sent> {
    trace.messages.iter().filter(move |sent| is(sent, node, kind))
}

/// Who received messages of this kind of this node, and when.
fn arrivals(trace: &Trace, node: usize, kind: &str) -> Vec<(usize, Duration)> {
    let arrows = trace.arrows.iter().filter(|arrow| is(&trace.messages[arrow.message], node, kind));
    let received = arrows.filter_map(|arrow| match arrow.fate {
        Fate::Received(at) => Some((arrow.to, at)),
        Fate::UnderWay(_) | Fate::Waits(_) | Fate::Unheard(_) | Fate::Lost | Fate::Cut => None,
    });
    received.collect()
}

/// When a node was first in this state.
fn first(trace: &Trace, node: usize, state: Option<&NodeState>) -> Option<Duration> {
    let mut states = trace.states.iter();
    states.find(|known| known.node == node && known.state.as_ref() == state).map(|known| known.at)
}
