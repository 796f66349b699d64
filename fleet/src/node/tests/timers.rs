//! Timers that are due in the same tick.

use super::*;
use crate::election::lowest_ip::Timer as LowestIpTimer;
use crate::election::{Detail, Election, ElectionTimer, Input, LinkRule, Output, Profile};

/// An election with two timers that run out together. The first to fire stops the other one, or
/// starts it again.
#[derive(Debug)]
struct Pair {
    /// When the other one is to fire, once the first has.
    again: Option<Duration>,
    fired: Vec<ElectionTimer>,
}

fn timer(index: u8) -> ElectionTimer {
    ElectionTimer::LowestIp(LowestIpTimer::Redial(name(index)))
}

impl Election for Pair {
    fn handle(&mut self, input: Input<'_>, _draw: u64, outputs: &mut Vec<Output>) {
        match input {
            Input::Start => {
                outputs.extend([2, 3].map(|index| Output::Arm(timer(index), PERIOD)));
            }
            Input::Fired(fired) => {
                let other = if *fired == timer(2) { 3 } else { 2 };
                if self.fired.is_empty() {
                    outputs.push(match self.again {
                        Some(wait) => Output::Arm(timer(other), wait),
                        None => Output::Disarm(timer(other)),
                    });
                }
                self.fired.push(fired.clone());
            }
            Input::Heard { .. }
            | Input::Lost { .. }
            | Input::Synced { .. }
            | Input::Disconnected { .. }
            | Input::Message { .. }
            | Input::Estimate(_) => {}
        }
    }

    fn node_state(&self) -> NodeState {
        NodeState::Seeking
    }

    fn details(&self) -> Vec<Detail> {
        vec![Detail::new("fired", self.fired.len())]
    }

    fn profile(&self) -> &Profile {
        &Profile { link_rule: LinkRule::FollowState, ..Profile::USUAL }
    }
}

/// How many timers have fired when both are due in one tick, and a while later.
fn fired(again: Option<Duration>) -> [String; 2] {
    let mut node = unstarted(1, 1, ElectionSettings::of(Protocol::LowestIp));
    let fired = Vec::new();
    node.leadership.set_election(Box::new(Pair { again, fired }));
    node.start(Timestamp::START);
    [PERIOD, PERIOD * 4].map(|after| {
        node.handle_timeout(Timestamp::START + after);
        let [detail] = node.leadership.election().details().try_into().expect("one");
        detail.value
    })
}

#[test]
fn a_timer_that_was_disarmed_in_the_same_tick_does_not_fire() {
    assert_eq!(fired(None), ["1", "1"]);
}

#[test]
fn a_timer_that_was_armed_again_in_the_same_tick_fires_later() {
    assert_eq!(fired(Some(PERIOD)), ["1", "2"]);
}
