use super::*;

use crate::election::Message as Any;
use crate::election::testing::{
    Given, candidate, control_unit as control, detail, feed, fires, hears, loses, name, play,
    receives, slave_of,
};
use crate::model::Role;

fn settings() -> Settings {
    Settings { attempts: 3, ..Settings::default() }
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

/// A node that has started, and hears the others.
fn started(own: &Candidate, others: &[Candidate]) -> Senior {
    let mut node = Senior::new(own, settings());
    for other in others {
        hears(&mut node, other, &NodeState::Seeking);
    }
    feed(&mut node, Input::Start);
    node
}

/// An indicator unit, N2, that follows N3 and hears N1 and N4 too, and the control unit N9.
fn executor() -> Senior {
    let others = [candidate(1), candidate(3), candidate(4), control(9)];
    let mut second = started(&candidate(2), &others);
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

/// M2: an indicator unit looks for a master, a control unit for executors.
#[test]
fn a_node_starts_as_its_kind_does() {
    let looks = || vec![all(Message::NeedMaster), arms(Timer::Answer)];
    let leads = vec![all(Message::NeedExecutors), arms(Timer::Request)];
    for (role, then, outputs) in [
        (Role::Cabin, NodeState::Seeking, looks()),
        (Role::Indicator, NodeState::Seeking, looks()),
        (Role::ControlUnit, NodeState::Master, leads),
    ] {
        let node = Senior::new(&Candidate { role, ..candidate(2) }, settings());
        assert_eq!(node.node_state(), then);
        play("M2", node, [(Given::Started, 0, then, outputs)]);
    }
}

/// M3, C5: a node that says that it does not lead sends no sensor requests. In the source nobody
/// says so, and only silence tells of a loss.
#[test]
fn a_master_that_is_lost_or_leads_no_longer_counts_as_lost_unless_set_as_in_the_source() {
    let seeks = || vec![stops(Timer::MasterLoss), all(Message::NeedMaster), arms(Timer::Answer)];
    let says = |peer, it| Given::Heard(candidate(peer), it);
    for (mesh_detection, then) in [(true, NodeState::Seeking), (false, slave_of(3))] {
        for sign in [Given::Lost, |at| Given::Heard(candidate(at), slave_of(4))] {
            let outputs = if mesh_detection { seeks() } else { vec![] };
            let mut second = executor();
            second.settings.mesh_detection = mesh_detection;
            let lines = [
                (says(3, NodeState::Master), 0, slave_of(3), vec![]),
                (sign(1), 0, slave_of(3), vec![]),
                (sign(3), 0, then.clone(), outputs),
            ];
            play("M3", second, lines);
        }
    }
    let silence = Given::Fired(Timer::MasterLoss.into());
    let second = play("silence", executor(), [(silence, 0, NodeState::Seeking, seeks())]);
    is_at(&second, "1 of 3", "yes", "0");
}

/// M4, M6: only the last attempt decides, for each begins with the flag set.
#[test]
fn a_higher_address_that_needs_a_master_too_clears_the_flag() {
    for (heard_in, leads) in [(1, true), (2, true), (3, false)] {
        let mut second = started(&candidate(2), &[candidate(1), candidate(3)]);
        for attempt in 1..=settings().attempts {
            let number = format!("{attempt} of 3");
            is_at(&second, &number, "yes", "0");
            receives(&mut second, 1, Message::NeedMaster);
            is_at(&second, &number, "yes", "1");
            if attempt == heard_in {
                receives(&mut second, 3, Message::NeedMaster);
                receives(&mut second, 1, Message::NeedMaster);
                is_at(&second, &number, "no", "3");
            }
            fires(&mut second, Timer::Answer);
        }
        assert_eq!(second.node_state() == NodeState::Master, leads);
    }
}

/// M4: its own broadcasts come back to it and don't count; nor does a stranger.
#[test]
fn own_requests_and_those_of_strangers_do_not_count() {
    let mut second = started(&candidate(2), &[candidate(2)]);
    receives(&mut second, 2, Message::NeedMaster);
    receives(&mut second, 3, Message::NeedMaster);
    is_at(&second, "1 of 3", "yes", "0");
}

/// M2, M4, M9: operators are told of equal ranks, of which the lower name is above. A control unit
/// that followed another leads again as soon as it is alone.
#[test]
fn of_two_equal_ranks_the_lower_name_prevails() {
    let same = |index| Candidate { mac: candidate(7).mac, ..candidate(index) };
    for (own, other, flag) in [(1, 2, "yes"), (2, 1, "no")] {
        let mut own = started(&same(own), &[same(other)]);
        receives(&mut own, other, Message::NeedMaster);
        shows(&own, "senior flag", flag);
        shows(&own, "same MAC address", name(other).as_str());
    }
    let first = started(&control(1), &[control(2)]);
    let told = vec![to(2, Message::IAmMaster)];
    let need = |from| Given::Received(from, Message::NeedExecutors.into());
    let first = play("the first", first, [(need(2), 0, NodeState::Master, told)]);
    shows(&first, "other control unit", "N2");
    let mut second = started(&control(2), &[control(1)]);
    receives(&mut second, 1, Message::NeedExecutors);
    assert_eq!(second.node_state(), slave_of(1));
    shows(&second, "other control unit", "N1");
    assert_eq!(
        loses(&mut second, 1),
        [stops(Timer::MasterLoss), all(Message::NeedExecutors), arms(Timer::Request)]
    );
    assert_eq!(second.node_state(), NodeState::Master);
    assert_eq!(detail(&second, "other control unit"), None);
}

/// M5: by each of the three signs, for any of them may be lost. A node that starts does not take the
/// lead from a master below it.
#[test]
fn a_node_that_hears_of_a_master_follows_it() {
    let follows = vec![stops(Timer::Answer), arms(Timer::MasterLoss)];
    let answers = [follows.clone(), vec![to(1, Message::IAmExecutor)]].concat();
    for own in [2, 4] {
        for (sign, outputs) in [
            (Message::IAmMaster.into(), &follows),
            (Message::NeedExecutors.into(), &answers),
            (Any::SensorRequest, &follows),
        ] {
            let seeks = started(&candidate(own), &[candidate(1)]);
            let line = (Given::Received(1, sign), 0, slave_of(1), outputs.clone());
            play("M5", seeks, [line]);
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

/// M1, M7, M9: requests go to all, answers to the node that asked, and to another master. That the
/// lower of two yields is in the model.
#[test]
fn a_waiting_master_becomes_a_master_with_its_first_executor() {
    let request = || Given::Fired(Timer::Request.into());
    let asks = |what| vec![all(what), arms(Timer::Request)];
    let executes = || Given::Received(1, Message::IAmExecutor.into());
    let leads = NodeState::Master;
    play(
        "M7",
        waiting_master(),
        [
            (request(), 0, leads.clone(), asks(Any::from(Message::NeedExecutors))),
            (executes(), 0, leads.clone(), asks(Any::SensorRequest)),
            (request(), 0, leads.clone(), asks(Any::SensorRequest)),
            (executes(), 0, leads, vec![]),
        ],
    );
    for message in [Message::NeedMaster, Message::NeedExecutors, Message::IAmMaster] {
        for mut second in [waiting_master(), master()] {
            assert_eq!(receives(&mut second, 1, message), [to(1, Message::IAmMaster)]);
        }
    }
}
