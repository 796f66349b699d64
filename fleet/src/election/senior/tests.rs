use super::*;

use crate::election::Message as Any;
use crate::election::testing::{
    Given, candidate, control_unit as control, detail, feed, fires, hears, name, play, receives,
    slave_of,
};
use NodeState::{Master, Seeking};

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

fn says(from: u8, message: impl Into<Any>) -> Given {
    Given::Received(from, message.into())
}

fn is_at(node: &Senior, attempt: &str, flag: &str, seen: &str) {
    for (name, value) in [("attempt", attempt), ("senior flag", flag), ("units seen", seen)] {
        assert_eq!(detail(node, name).as_deref(), Some(value), "{node:?}");
    }
}

fn started(own: &Candidate, others: &[Candidate]) -> Senior {
    let mut node = Senior::new(own, settings());
    for other in others {
        hears(&mut node, other, &Seeking);
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

/// N2, which nobody has answered; N1 is heard.
fn waiting_master() -> Senior {
    let mut second = started(&candidate(2), &[candidate(1)]);
    for _ in 0..settings().attempts {
        fires(&mut second, Timer::Answer);
    }
    assert_eq!(detail(&second, "state").as_deref(), Some("waiting for executors"));
    second
}

/// M3, C5: in the source nobody says that it does not lead, and only silence tells of a loss.
#[test]
fn a_master_that_is_lost_or_leads_no_longer_counts_as_lost_unless_set_as_in_the_source() {
    let seeks = || vec![stops(Timer::MasterLoss), all(Message::NeedMaster), arms(Timer::Answer)];
    for (mesh_detection, then) in [(true, Seeking), (false, slave_of(3))] {
        for sign in [Given::Lost, |at| Given::Heard(candidate(at), slave_of(4))] {
            let outputs = if mesh_detection { seeks() } else { vec![] };
            let mut second = executor();
            second.settings.mesh_detection = mesh_detection;
            let other = (sign(1), 0, slave_of(3), vec![]);
            play("M3", second, [other, (sign(3), 0, then.clone(), outputs)]);
        }
    }
    let silence = Given::Fired(Timer::MasterLoss.into());
    let second = play("silence", executor(), [(silence, 0, Seeking, seeks())]);
    is_at(&second, "1 of 3", "yes", "0");
}

/// M4, M6: only the last attempt decides. A stranger does not count.
#[test]
fn a_higher_address_that_needs_a_master_too_clears_the_flag() {
    for (heard_in, leads) in [(2, true), (3, false)] {
        let mut second = started(&candidate(2), &[candidate(1), candidate(2), candidate(3)]);
        for attempt in 1..=settings().attempts {
            let number = format!("{attempt} of 3");
            for from in [1, 2, 4] {
                receives(&mut second, from, Message::NeedMaster);
            }
            is_at(&second, &number, "yes", "1");
            if attempt == heard_in {
                receives(&mut second, 3, Message::NeedMaster);
                is_at(&second, &number, "no", "2");
            }
            fires(&mut second, Timer::Answer);
        }
        assert_eq!(second.node_state() == Master, leads);
    }
}

/// M2, M4, M9: operators are told of equal ranks. A control unit alone leads again.
#[test]
fn of_two_equal_ranks_the_lower_name_prevails() {
    let same = |index| Candidate { mac: candidate(7).mac, ..candidate(index) };
    for (own, other, flag) in [(1, 2, "yes"), (2, 1, "no")] {
        let mut own = started(&same(own), &[same(other)]);
        receives(&mut own, other, Message::NeedMaster);
        is_at(&own, "1 of 3", flag, "1");
        assert_eq!(detail(&own, "same MAC address").as_deref(), Some(name(other).as_str()));
    }
    let told = vec![to(2, Message::IAmMaster)];
    let needs = says(2, Message::NeedExecutors);
    play("the first", started(&control(1), &[control(2)]), [(needs, 0, Master, told)]);
    let mut second = started(&control(2), &[control(1)]);
    receives(&mut second, 1, Message::NeedExecutors);
    assert_eq!(second.node_state(), slave_of(1));
    assert_eq!(detail(&second, "other control unit").as_deref(), Some("N1"));
    let leads = vec![stops(Timer::MasterLoss), all(Message::NeedExecutors), arms(Timer::Request)];
    play("alone", second, [(Given::Lost(1), 0, Master, leads)]);
}

/// M5: by each of three signs. A node that starts does not lead instead of a master below it.
#[test]
fn a_node_that_hears_of_a_master_follows_it() {
    for (sign, answer) in [
        (Message::IAmMaster.into(), None),
        (Message::NeedExecutors.into(), Some(to(1, Message::IAmExecutor))),
        (Any::SensorRequest, None),
    ] {
        let outputs = [stops(Timer::Answer), arms(Timer::MasterLoss)].into_iter().chain(answer);
        let seeks = started(&candidate(2), &[candidate(1)]);
        play("M5", seeks, [(says(1, sign), 0, slave_of(1), outputs.collect())]);
    }
}

/// M3, M7, M9: of two masters that an executor hears, it follows the one that will prevail.
#[test]
fn an_executor_follows_its_master_and_those_above_it() {
    let kept = || vec![arms(Timer::MasterLoss)];
    let answered = |master| vec![arms(Timer::MasterLoss), to(master, Message::IAmExecutor)];
    play(
        "each request of its master starts the time anew, nobody else's does",
        executor(),
        [
            (says(3, Any::SensorRequest), 0, slave_of(3), kept()),
            (says(1, Any::SensorRequest), 0, slave_of(3), vec![]),
            (says(3, Message::NeedExecutors), 0, slave_of(3), answered(3)),
            (says(4, Any::SensorRequest), 0, slave_of(4), kept()),
            // The control unit.
            (says(9, Message::NeedExecutors), 0, slave_of(9), answered(9)),
            (says(4, Any::SensorRequest), 0, slave_of(9), vec![]),
        ],
    );
}

/// M1, M7, M9: requests go to all, answers to who asked. Who yields is in the model.
#[test]
fn a_waiting_master_becomes_a_master_with_its_first_executor() {
    let request = || Given::Fired(Timer::Request.into());
    let asks = |what| vec![all(what), arms(Timer::Request)];
    let executes = || says(1, Message::IAmExecutor);
    let told = || vec![to(1, Message::IAmMaster)];
    play(
        "M7",
        waiting_master(),
        [
            (says(1, Message::NeedMaster), 0, Master, told()),
            (request(), 0, Master, asks(Any::from(Message::NeedExecutors))),
            (executes(), 0, Master, asks(Any::SensorRequest)),
            (request(), 0, Master, asks(Any::SensorRequest)),
            (executes(), 0, Master, vec![]),
            (says(1, Message::NeedMaster), 0, Master, told()),
            (says(1, Message::IAmMaster), 0, Master, told()),
        ],
    );
}
