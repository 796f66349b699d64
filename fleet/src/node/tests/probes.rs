//! What arrives over the link of a peer whose beacons are not heard.

use std::collections::VecDeque;

use super::forged::{delta, pair};
use super::*;

const MS: fn(u64) -> Duration = Duration::from_millis;

/// After how long the first node loses the second, which is silent from the start, but for the
/// frames that this makes of the time and of the number of probes that it is sent over the link.
fn lost_after(
    limit: Duration,
    mut frames: impl FnMut(Duration, usize) -> Vec<Frame>,
) -> Option<Duration> {
    let (mut one, _, begun) = pair();
    let mut probes = 0;
    let mut now = begun;
    while now < begun + limit {
        one.handle_timeout(now);
        let actions = drain(&mut one);
        let is_probe =
            |action: &&Action| matches!(action, Action::Send { link: LINK, frame: Frame::Probe });
        probes += actions.iter().filter(is_probe).count();
        let lost = Report::PeerLost { node: name(2) };
        if reports(actions).any(|report| report == lost) {
            return Some(now.since(begun));
        }
        for frame in frames(now.since(begun), probes) {
            one.handle_frame(LINK, frame, now);
        }
        now = now + MS(1);
    }
    None
}

/// E6: a peer that answers over its link lives, though none of its beacons arrives.
#[test]
fn a_peer_that_answers_over_its_link_is_kept() {
    for delay in [0, 40, 100] {
        let (mut answered, mut waiting) = (0, VecDeque::new());
        let lost = lost_after(MS(3_000), |at, probes| {
            waiting.extend((answered..probes).map(|_| at + MS(delay)));
            answered = probes;
            let due = waiting.iter().take_while(|due| **due <= at).count();
            waiting.drain(..due).map(|_| Frame::Alive).collect()
        });
        assert_eq!(lost, None, "{delay} ms");
    }
}

/// The system of a suspended process sends again what got lost, and what the process has not read
/// of it is no answer, nor is an answer without a probe: the master is replaced as soon as one
/// without power. Its last answers show that it lived when it was asked, however late they arrive.
#[test]
fn what_a_suspended_peer_said_before_does_not_keep_it() {
    let limit = MS(1_000);
    let usual = lost_after(limit, |_, _| Vec::new()).expect("it is lost");
    let old = || vec![delta(Vec::new()), Frame::Synced, Frame::Next, Frame::Probe];
    for late in [MS(100), usual.saturating_sub(MS(1))] {
        let lost = lost_after(limit, |at, _| if at == late { old() } else { Vec::new() });
        assert_eq!(lost, Some(usual), "{late:?}");
    }
    let unasked = |_, probes| if probes == 0 { vec![Frame::Alive] } else { Vec::new() };
    assert_eq!(lost_after(limit, unasked), Some(usual));
    // It was asked for the fifth time by 100 ms, and is suspended then.
    let [early, late] = [110, 170].map(|when| {
        lost_after(limit, |at, probes| {
            if at == MS(when) { vec![Frame::Alive; probes.min(5)] } else { Vec::new() }
        })
    });
    assert!(early > Some(usual) && early <= Some(usual + MS(100)), "{early:?}, not {usual:?}");
    assert_eq!(late, early);
}
