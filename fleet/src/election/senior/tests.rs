use std::time::Duration;

use proptest::prelude::*;

use super::*;

use crate::election::testing::{
    Given, candidate, control_unit as control, detail, feed, fires, hears, loses, name, play,
    receives, slave_of,
};
use crate::election::{Message as Any, Rules};
use crate::model::Role;

fn settings() -> Settings {
    Settings { attempts: 3, ..Settings::default() }
}

/// A node that has just been made, and hears the others.
fn node(own: &Candidate, others: &[Candidate]) -> Senior {
    let mut node = Senior::new(own, settings());
    for other in others {
        hears(&mut node, other, &NodeState::Seeking);
    }
    node
}

fn all(message: impl Into<Any>) -> Output {
    Output::Broadcast(message.into())
}

fn to(index: u8, message: Message) -> Output {
    Output::Send(name(index), message.into())
}

fn arms(timer: Timer) -> Output {
    Output::Arm(timer.into(), settings().wait(timer))
}

fn stops(timer: Timer) -> Output {
    Output::Disarm(timer.into())
}

fn shows(node: &Senior, name: &str, value: &str) {
    assert_eq!(detail(node, name).as_deref(), Some(value), "{node:?}");
}

/// The attempt that the node is at, its flag, and how many units it has seen.
fn is_at(node: &Senior, attempt: &str, flag: &str, seen: &str) {
    for (name, value) in [("attempt", attempt), ("senior flag", flag), ("units seen", seen)] {
        shows(node, name, value);
    }
}

fn started(own: &Candidate, others: &[Candidate]) -> Senior {
    let mut node = node(own, others);
    feed(&mut node, Input::Start);
    node
}

/// An indicator unit, N2, that follows N3 and hears N1 and N4 too.
fn executor() -> Senior {
    let mut second =
        started(&candidate(2), &[candidate(1), candidate(3), candidate(4), control(9)]);
    receives(&mut second, 3, Message::IAmMaster);
    assert_eq!(second.node_state(), slave_of(3));
    second
}

/// N2, which nobody has answered; N1 and N3 are heard, and so is the control unit N9.
fn waiting_master() -> Senior {
    let mut second = started(&candidate(2), &[candidate(1), candidate(3), control(9)]);
    for _ in 0..settings().attempts {
        fires(&mut second, Timer::Answer);
    }
    shows(&second, "state", "waiting for executors");
    second
}

fn master() -> Senior {
    let mut second = waiting_master();
    receives(&mut second, 1, Message::IAmExecutor);
    shows(&second, "state", "master");
    second
}

/// M1: requests go to all, answers to the node that asked; the three of the sensors are shared.
#[test]
fn requests_are_broadcast_and_answers_go_to_who_asked() {
    let requested = fires(&mut master(), Timer::Request);
    assert_eq!(requested.first(), Some(&all(Any::SensorRequest)));
    assert_eq!(receives(&mut master(), 1, Message::NeedMaster), [to(1, Message::IAmMaster)]);
    assert!(
        receives(&mut executor(), 3, Message::NeedExecutors).contains(&to(3, Message::IAmExecutor))
    );
    assert!(executor().profile().requests_sensor_data);
}

/// M2: an indicator unit looks for a master, a control unit for executors.
#[test]
fn a_node_starts_as_its_kind_does() {
    for role in [Role::Cabin, Role::Indicator] {
        let own = Candidate { role, ..candidate(2) };
        let mut indicator = node(&own, &[]);
        assert_eq!(indicator.node_state(), NodeState::Seeking);
        assert_eq!(
            feed(&mut indicator, Input::Start),
            [all(Message::NeedMaster), arms(Timer::Answer)]
        );
        assert_eq!(indicator.node_state(), NodeState::Seeking);
    }
    let mut control = node(&control(2), &[]);
    assert_eq!(control.node_state(), NodeState::Master);
    assert_eq!(
        feed(&mut control, Input::Start),
        [all(Message::NeedExecutors), arms(Timer::Request)]
    );
    shows(&control, "state", "waiting for executors");
}

/// M3
#[test]
fn an_executor_without_sensor_requests_looks_for_a_master() {
    let mut second = executor();
    assert_eq!(
        fires(&mut second, Timer::MasterLoss),
        [stops(Timer::MasterLoss), all(Message::NeedMaster), arms(Timer::Answer)]
    );
    assert_eq!(second.node_state(), NodeState::Seeking);
    is_at(&second, "1 of 3", "yes", "0");
}

/// M3
#[test]
fn the_presets_are_those_of_fleet_source_and_emulator() {
    assert!(Settings::default().master_loss < Duration::from_secs(1));
    assert_eq!(Settings::source().master_loss, Duration::from_mins(5));
    assert_eq!(Settings::emulator().master_loss, Duration::from_secs(30));
    for preset in [Settings::default(), Settings::source(), Settings::emulator()] {
        assert!(preset.master_loss >= preset.request_period * 5);
        assert!(
            preset.bound(Duration::ZERO, 2)
                > preset.master_loss + preset.answer_wait * preset.attempts
        );
    }
}

/// M3, C5: a node that says that it does not lead sends no sensor requests. In the source nobody
/// says so, and only silence tells of a loss.
#[test]
fn a_master_that_is_lost_or_leads_no_longer_counts_as_lost_unless_set_as_in_the_source() {
    type Sign = fn(&mut Senior, u8);

    let lost: Sign = |node, at| drop(loses(node, at));
    let seeks: Sign = |node, at| drop(hears(node, &candidate(at), &NodeState::Seeking));
    let follows: Sign = |node, at| drop(hears(node, &candidate(at), &slave_of(4)));
    for (mesh_detection, then) in [(true, NodeState::Seeking), (false, slave_of(3))] {
        for sign in [lost, seeks, follows] {
            let mut second = executor();
            second.settings.mesh_detection = mesh_detection;
            assert_eq!(hears(&mut second, &candidate(3), &NodeState::Master), []);
            sign(&mut second, 1);
            assert_eq!(second.node_state(), slave_of(3), "somebody else");
            sign(&mut second, 3);
            assert_eq!(second.node_state(), then);
        }
    }
}

/// M4
#[test]
fn a_higher_address_that_needs_a_master_too_clears_the_flag() {
    let mut second = started(&candidate(2), &[candidate(1), candidate(3)]);
    for (from, flag, seen) in [(1, "yes", "1"), (3, "no", "2"), (1, "no", "3")] {
        receives(&mut second, from, Message::NeedMaster);
        is_at(&second, "1 of 3", flag, seen);
    }
    fires(&mut second, Timer::Answer);
    is_at(&second, "2 of 3", "yes", "0");
}

/// M4: its own broadcasts come back to it and don't count; nor does a stranger.
#[test]
fn own_requests_and_those_of_strangers_do_not_count() {
    let mut second = started(&candidate(2), &[candidate(2)]);
    receives(&mut second, 2, Message::NeedMaster);
    receives(&mut second, 3, Message::NeedMaster);
    is_at(&second, "1 of 3", "yes", "0");
}

/// M4, M9: equal addresses are told apart by name, and operators are told of them.
#[test]
fn of_two_equal_addresses_the_lower_name_is_senior() {
    let same = |index| Candidate { mac: candidate(7).mac, ..candidate(index) };
    for (own, other, flag) in [(1, 2, "yes"), (2, 1, "no")] {
        let mut own = started(&same(own), &[same(other)]);
        receives(&mut own, other, Message::NeedMaster);
        shows(&own, "senior flag", flag);
        shows(&own, "same MAC address", name(other).as_str());
    }
    assert_eq!(detail(&executor(), "same MAC address"), None);
}

/// M5: by each of the three signs, for any of them may be lost. A node that starts does not take the
/// lead from a master below it.
#[test]
fn a_node_that_hears_of_a_master_follows_it() {
    let follows = [stops(Timer::Answer), arms(Timer::MasterLoss)];
    let [stop, arm] = follows.clone();
    let answers = vec![stop, arm, to(1, Message::IAmExecutor)];
    for own in [2, 4] {
        for (sign, outputs) in [
            (Message::IAmMaster.into(), follows.to_vec()),
            (Message::NeedExecutors.into(), answers.clone()),
            (Any::SensorRequest, follows.to_vec()),
        ] {
            let seeks = started(&candidate(own), &[candidate(1)]);
            play("M5", seeks, [(Given::Received(1, sign), 0, slave_of(1), outputs)]);
        }
    }
}

/// M3, M7, M9: of two masters that an executor hears, it follows the one that will prevail.
#[test]
fn an_executor_follows_its_master_and_those_above_it() {
    let request = |from| Given::Received(from, Any::SensorRequest);
    let need = |from| Given::Received(from, Message::NeedExecutors.into());
    let kept = || vec![arms(Timer::MasterLoss)];
    let answered = |master| vec![arms(Timer::MasterLoss), to(master, Message::IAmExecutor)];
    play(
        "each request of its master starts the time anew, nobody else's does",
        executor(),
        [
            (request(3), 0, slave_of(3), kept()),
            (request(1), 0, slave_of(3), vec![]),
            (need(3), 0, slave_of(3), answered(3)),
            (need(1), 0, slave_of(3), vec![]),
            (request(4), 0, slave_of(4), kept()),
            // The control unit.
            (need(9), 0, slave_of(9), answered(9)),
            (request(4), 0, slave_of(9), vec![]),
        ],
    );
}

/// M6: only the last attempt decides, for each begins with the flag set.
#[test]
fn the_flag_of_the_last_attempt_decides() {
    for (heard_in, leads) in [(1, true), (2, true), (3, false)] {
        let mut second = started(&candidate(2), &[candidate(1), candidate(3)]);
        for attempt in 1..=settings().attempts {
            receives(&mut second, 1, Message::NeedMaster);
            if attempt == heard_in {
                receives(&mut second, 3, Message::NeedMaster);
            }
            fires(&mut second, Timer::Answer);
        }
        assert_eq!(second.node_state() == NodeState::Master, leads);
    }
}

/// M7
#[test]
fn a_waiting_master_becomes_a_master_with_its_first_executor() {
    let mut second = waiting_master();
    assert_eq!(
        fires(&mut second, Timer::Request),
        [all(Message::NeedExecutors), arms(Timer::Request)]
    );
    assert_eq!(
        receives(&mut second, 1, Message::IAmExecutor),
        [all(Any::SensorRequest), arms(Timer::Request)]
    );
    shows(&second, "state", "master");
    assert_eq!(fires(&mut second, Timer::Request), [all(Any::SensorRequest), arms(Timer::Request)]);
    assert_eq!(receives(&mut second, 1, Message::IAmExecutor), [], "once");
}

/// M9: by each of the three signs; the other is told.
#[test]
fn of_two_masters_the_lower_address_yields() {
    let signs = [Message::NeedExecutors.into(), Message::IAmMaster.into(), Any::SensorRequest];
    for sign in signs {
        for mut second in [waiting_master(), master()] {
            assert_eq!(receives(&mut second, 1, sign.clone()), [to(1, Message::IAmMaster)]);
            assert_eq!(second.node_state(), NodeState::Master);
            let outputs = receives(&mut second, 3, sign.clone());
            assert_eq!(outputs[..2], [stops(Timer::Request), arms(Timer::MasterLoss)]);
            let answers = outputs.contains(&to(3, Message::IAmExecutor));
            assert_eq!(answers, sign == Message::NeedExecutors.into());
            assert_eq!(second.node_state(), slave_of(3));
        }
    }
}

/// M2, M9: two control units are a fault; the lower name leads, and operators are told. The other
/// one leads again as soon as it is alone.
#[test]
fn of_two_control_units_the_lower_name_leads() {
    let mut first = started(&control(1), &[control(2)]);
    let mut second = started(&control(2), &[control(1)]);
    receives(&mut first, 2, Message::NeedExecutors);
    receives(&mut second, 1, Message::NeedExecutors);
    assert_eq!(first.node_state(), NodeState::Master);
    assert_eq!(second.node_state(), slave_of(1));
    shows(&first, "other control unit", "N2");
    shows(&second, "other control unit", "N1");
    assert_eq!(
        loses(&mut second, 1),
        [stops(Timer::MasterLoss), all(Message::NeedExecutors), arms(Timer::Request)]
    );
    assert_eq!(second.node_state(), NodeState::Master);
    assert_eq!(detail(&second, "other control unit"), None);
}

proptest! {
    /// M4, M9: of any two nodes exactly one prevails, and there is one above all.
    #[test]
    fn the_ranks_are_a_total_order(
        ranks in proptest::collection::vec((0..3_u8, any::<bool>()), 3),
    ) {
        let nodes: Vec<Member> = (1..).zip(ranks).map(|(index, (mac, is_control))| {
            let own = if is_control { control(index) } else { candidate(index) };
            Member::of(&Candidate { mac: candidate(mac).mac, ..own })
        }).collect();
        for one in &nodes {
            for other in &nodes {
                prop_assert_eq!(one.cmp(other), other.cmp(one).reverse());
                prop_assert_eq!(one == other, one.cmp(other).is_eq());
                for third in &nodes {
                    prop_assert!(!(one < other && other < third) || one < third);
                }
            }
        }
    }
}
