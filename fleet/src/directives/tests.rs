use std::time::Duration;

use elevator_driver::{Direction, Floor};
use proptest::prelude::*;

use super::*;
use crate::election::testing::name;
use crate::model::{HangCause, HangEvidence, Nonce};

fn incarnation(number: u64) -> Nonce {
    Nonce(number)
}

fn directive(key: &str, counter: u64, incarnation: u64, value: &str) -> Directive {
    Directive {
        key: Key::new(key).expect("a key"),
        version: Version { counter, incarnation: Nonce(incarnation) },
        value: Value::new(value).expect("a value"),
        operator: Words::new("kovac").expect("a name"),
    }
}

fn merged<'a>(all: impl IntoIterator<Item = &'a Directive>) -> Directives {
    let mut directives = Directives::default();
    for directive in all {
        directives.merge(directive.clone());
    }
    directives
}

fn union(one: &Directives, other: &Directives) -> Directives {
    merged(one.iter().chain(other.iter()))
}

/// Few keys and versions, so that they collide; one version may have two values, as from a faulty
/// node. A session may have two slots, and a slot or a car a value that is neither a session nor a
/// priority call.
fn any_directive() -> impl Strategy<Value = Directive> {
    let session = "000000070000000000000001 2 - 30 0 *";
    let modes = ["in-service", "independent", "out-of-service"].map(str::to_owned);
    let states = ["queued", "open A", "ended done", "lost"].map(|it| format!("{session} {it}"));
    let calls = ["off", "3", "4 any"].map(str::to_owned);
    let value = prop::sample::select([&modes[..], &states, &calls].concat());
    let keys = ["mode/0", "mode/1", "priority/0", "priority/1", "session/0", "session/1"];
    let key = prop::sample::select(keys.to_vec());
    (key, 0..3_u64, 0..3_u64, value)
        .prop_map(|(key, counter, incarnation, value)| directive(key, counter, incarnation, &value))
}

fn any_directives() -> impl Strategy<Value = Directives> {
    prop::collection::vec(any_directive(), 0..8).prop_map(|all| merged(&all))
}

proptest! {
    /// O2, for directives.
    #[test]
    fn merges_are_commutative_associative_and_idempotent(
        one in any_directives(),
        other in any_directives(),
        third in any_directives(),
    ) {
        prop_assert_eq!(union(&one, &other), union(&other, &one));
        let (left, right) = (union(&union(&one, &other), &third), union(&one, &union(&other, &third)));
        prop_assert_eq!(left.digest(), right.digest());
        prop_assert_eq!(left, right);
        prop_assert_eq!(union(&one, &one), one);
    }

    /// Whatever comes and goes: sessions and priority calls are what the directives say of them.
    #[test]
    fn errands_are_those_of_the_directives(all in prop::collection::vec(any_directive(), 0..8)) {
        let mut directives = Directives::default();
        for directive in all {
            directives.merge(directive);
            prop_assert_eq!(&directives.sessions, &read_sessions(&directives.registers));
            prop_assert_eq!(&directives.priorities, &read_priorities(&directives.registers));
        }
        for key in ["session/0", "session/1", "priority/0", "priority/1"] {
            directives.remove(&Key::new(key)?);
            prop_assert_eq!(&directives.sessions, &read_sessions(&directives.registers));
            prop_assert_eq!(&directives.priorities, &read_priorities(&directives.registers));
        }
        prop_assert!(directives.sessions.is_empty());
        prop_assert!(directives.priorities.is_empty());
    }

    #[test]
    fn digests_are_equal_for_equal_directives_only(
        one in any_directives(),
        other in any_directives(),
    ) {
        let equal = one.iter().eq(other.iter());
        prop_assert_eq!(one.digest() == other.digest(), equal);
    }

    /// Whatever comes first, all nodes keep the same ones.
    #[test]
    fn too_many_directives_leave_the_same_ones_everywhere(
        mut keys in prop::collection::vec(0..2_000_u16, 600..900),
        seed in any::<u64>(),
    ) {
        let of = |key: &u16| {
            let kind = ["early", "firefighter", "later"][usize::from(key % 3)];
            directive(&format!("{kind}/{key:04}"), 1, 1, "x")
        };
        let mut all: Vec<_> = keys.drain(..).map(|key| of(&key)).collect();
        let urgent = Topic::URGENT.map(|topic| topic.key());
        all.extend(urgent.iter().map(|key| directive(key.as_str(), 1, 1, ON)));
        let one = merged(&all);
        fastrand::Rng::with_seed(seed).shuffle(&mut all);
        let other = merged(&all);
        prop_assert!(one.iter().count() <= MOST_DIRECTIVES);
        prop_assert!(urgent.iter().all(|key| one.get(key).is_some()));
        prop_assert_eq!(one, other);
    }
}

#[test]
fn a_later_command_wins_over_all_that_its_node_knew() {
    let mut directives = merged(&[directive("mode/A", 7, 9, "out-of-service")]);
    let a = NodeId::new("A").expect("a name");
    assert_eq!(directives.mode(&a), Mode::OutOfService);
    let (key, value) = (Topic::Mode(a.clone()).key(), Value::new("in-service").expect("a value"));
    let operator = Words::new("kovac").expect("a name");
    let set = directives.set(key, value, operator, incarnation(1)).expect("room");
    assert_eq!(set.version, Version { counter: 8, incarnation: incarnation(1) });
    assert_eq!(directives.mode(&a), Mode::InService);
}

#[test]
fn a_mode_that_is_not_known_takes_the_car_out_of_service() {
    let directives = merged(&[directive("mode/A", 1, 1, "of-a-later-program")]);
    assert_eq!(directives.mode(&NodeId::new("A").expect("a name")), Mode::OutOfService);
    assert_eq!(directives.mode(&NodeId::new("B").expect("a name")), Mode::InService);
}

#[test]
fn a_fire_recall_is_for_every_car_and_ends_by_command_only() {
    let b = NodeId::new("B").expect("a name");
    let recall = directive("fire-recall/1", 1, 1, "on 1");
    assert_eq!(merged([&recall]).mode(&b), Mode::FireRecall);
    let strange = directive("fire-recall/1", 2, 1, "of-a-later-program");
    assert_eq!(merged([&recall, &strange]).mode(&b), Mode::FireRecall);
    let off = directive("fire-recall/1", 3, 1, "off 1");
    assert_eq!(merged([&recall, &strange, &off]).mode(&b), Mode::InService);
    // Whoever commanded the end knew of one recall; this is another one.
    let next = directive("fire-recall/1", 2, 1, "on 2");
    assert_eq!(merged([&next, &off]).mode(&b), Mode::FireRecall);
}

/// Whatever was replaced in the meantime, the number of origins stays small.
#[test]
fn recalls_have_few_origins() {
    let mut directives = Directives::default();
    for number in 1..=100 {
        let (key, value) = directives.next_recall(Nonce(number));
        directives.set(key, value, Words::unnamed(), incarnation(number)).expect("room");
        assert_eq!(directives.recall_count(), number);
    }
    assert_eq!((directives.recalls().count(), directives.ends_of_recalls().len()), (64, 64));
}

#[test]
fn no_node_can_use_up_the_versions() {
    let mut directives = merged(&[directive("mode/A", MOST_CHANGES + 1, 1, "independent")]);
    assert_eq!(directives, Directives::default());
    assert!(directives.merge(directive("mode/A", MOST_CHANGES, 1, "independent")));
    let (key, value) = directives.next_recall(Nonce(1));
    let operator = Words::new("kovac").expect("a name");
    let set = directives.set(key, value, operator, incarnation(1));
    assert_eq!(set, Err(DirectiveError::Spent));
}

/// A full map takes no new key but those for a fire and for emergency power, whatever else is commanded:
/// their keys may be greater or less than all others.
#[test]
fn locks_and_tokens_keep_out_no_fire_recall() {
    for kind in ["early", "later"] {
        let of = |key: usize| directive(&format!("{kind}/{key:04}"), 1, 1, "x");
        let all: Vec<_> = (0..MOST_DIRECTIVES).map(of).collect();
        let mut directives = merged(&all);
        let (value, by) = (Value::new(ON).expect("a value"), Words::new("k").expect("a name"));
        let (recall, _) = directives.next_recall(Nonce(1));
        let mut set = |key: Key| directives.set(key, value.clone(), by.clone(), incarnation(1));
        let a = NodeId::new("A").expect("a name");
        assert_eq!(set(Topic::Mode(a.clone()).key()), Err(DirectiveError::Full));
        assert!(set(all[0].key.clone()).is_ok());
        let urgent = Topic::URGENT.map(|topic| topic.key()).into_iter();
        for key in urgent.chain([recall.clone(), firefighter_key(&a)]) {
            assert!(set(key.clone()).is_ok(), "{key}");
        }
        assert!(directives.is_fire_recalled() && directives.emergency_power().is_some());
        assert!(directives.has_firefighter(&a));
        assert_eq!(directives.iter().count(), MOST_DIRECTIVES);
        // A peer that had room keeps the same ones.
        let peer = union(&merged(&all), &directives);
        assert_eq!((peer.digest(), &peer), (directives.digest(), &directives));
        let mut full = merged(
            (0..MOST_DIRECTIVES)
                .map(|car| directive(&format!("firefighter/{car:04}"), 1, 1, ON))
                .collect::<Vec<_>>()
                .iter(),
        );
        assert!(full.set(recall, value.clone(), by.clone(), incarnation(1)).is_ok());
        let set = full.set(firefighter_key(&a), value, by, incarnation(1));
        assert_eq!(set, Err(DirectiveError::Full));
    }
}

#[test]
fn the_mode_of_a_car_follows_from_its_key_as_well() {
    let a = NodeId::new("A").expect("a name");
    let waits = directive("priority/A", 1, 1, "3");
    let of = |key: &str| merged([&waits, &directive("key/A", 1, 1, key)]).mode_with_key(&a);
    assert_eq!(of("normal"), Mode::Priority);
    assert_eq!(of("independent"), Mode::Independent);
    assert_eq!(of("fire recall"), Mode::FireRecall);
    assert_eq!(of("out of service"), Mode::OutOfService);
    assert_eq!(of("of a later program"), Mode::OutOfService);
    let firefighter = directive("firefighter/A", 1, 1, ON);
    assert_eq!(merged([&waits, &firefighter]).mode_with_key(&a), Mode::FireService);
}

#[test]
fn texts_are_checked_when_they_are_read() {
    let key = |text: &str| postcard::to_stdvec(text).expect("bytes");
    let read = |bytes: &[u8]| postcard::from_bytes::<Key>(bytes).is_ok();
    assert!(read(&key("mode/A")));
    for bad in ["", "line\nfeed", &"x".repeat(Key::MOST + 1)] {
        assert!(!read(&key(bad)), "{bad:?}");
    }
    let long = "é".repeat(40);
    assert_eq!(Words::of(&long).map(|words| words.as_str().len()), Some(Words::MOST));
    assert_eq!(Words::of("\n"), None);
    let a = NodeId::new("A").expect("a name");
    for (operator, expected) in
        [("J. Kovac", "J. Kovac"), ("A", "A"), ("x at B", "x at B"), ("\n", "unnamed")]
    {
        let entered = Words::entered(operator, &a);
        assert_eq!(entered.command(), Some((expected, a.clone())));
    }
    assert_eq!(Words::entered(&long, &a).command(), Some((&long[..58], a.clone())));
    assert_eq!(Words::from(&a).command(), None);
}

#[test]
fn keys_name_what_this_program_understands() {
    for topic in [Topic::Mode(NodeId::new("A-1").expect("a name")), Topic::Turn] {
        assert_eq!(Topic::of(&topic.key()), Some(topic));
    }
    assert_eq!(Topic::of(&Key::new("token/7").expect("a key")), None);
}

fn receipt(id: u64, counter: u64) -> Directive {
    directive(&format!("receipt/{id:024x}"), counter, id % 3, "absorbed hall 3 up")
}

/// A receipt of one of these bearers.
fn receipt_of(bearer: u64, id: u64, counter: u64) -> Directive {
    let operator = Words::new(&format!("bearer-{bearer}")).expect("a name");
    Directive { operator, ..receipt(bearer << 32 | id, counter) }
}

#[test]
fn a_busy_bearer_does_not_use_up_the_receipts_of_others() {
    let most = MOST_RECEIPTS as u64;
    let mut directives =
        merged((0..20).map(|id| receipt_of(1, id, id + 1)).collect::<Vec<_>>().iter());
    for id in 0..3 * most {
        directives.merge(receipt_of(2, id, 100 + id));
    }
    let of = |directives: &Directives, bearer: u64| {
        let name = format!("bearer-{bearer}");
        let all = directives.with_receipts();
        all.filter(|receipt| receipt.operator.as_str() == name).count()
    };
    assert_eq!((of(&directives, 1), of(&directives, 2)), (20, MOST_RECEIPTS - 20));
    // A third one gets its share of what the busy one has.
    for id in 0..most {
        directives.merge(receipt_of(3, id, 9_000 + id));
    }
    let share = (MOST_RECEIPTS - 20) / 2;
    assert_eq!([1, 2, 3].map(|bearer| of(&directives, bearer)), [20, share, share]);
    let latest = directives.receipt(RequestId { owner: 0, request: 3 << 32 | (most - 1) });
    assert!(latest.is_some());
}

/// O2, for receipts of several bearers: whatever comes first, all nodes keep the same ones.
#[test]
fn the_same_receipts_of_each_bearer_are_kept_everywhere() {
    for seed in 0..20 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut all: Vec<Directive> = Vec::new();
        for bearer in 0..rng.u64(2..12) {
            let count = rng.u64(1..500);
            all.extend((0..count).map(|id| receipt_of(bearer, id, rng.u64(1..2_000))));
        }
        // Some requests were fulfilled again.
        let again: Vec<_> = all.iter().take(50).cloned().collect();
        all.extend(again.into_iter().map(|mut receipt| {
            receipt.version.counter += 1_000;
            receipt
        }));
        let one = merged(&all);
        assert!(one.with_receipts().count() <= MOST_RECEIPTS);
        for _ in 0..5 {
            rng.shuffle(&mut all);
            let (left, right) = all.split_at(rng.usize(0..all.len()));
            let (left, right) = (merged(left), merged(right));
            let both = merged(right.with_receipts().chain(left.with_receipts()));
            assert_eq!(merged(&all), one, "seed {seed}");
            assert_eq!(both, one, "seed {seed}");
        }
    }
}

#[test]
fn receipts_do_not_use_up_what_directives_may() {
    let mut directives = Directives::default();
    for id in 0..2 * MOST_RECEIPTS as u64 {
        directives.merge(receipt(id, id + 1));
    }
    let (key, value) = directives.next_recall(Nonce(1));
    let set = directives.set(key, value, Words::unnamed(), incarnation(1)).expect("room");
    assert_eq!(set.version.counter, 1);
    assert!(directives.is_fire_recalled());
}

#[test]
fn priority_calls_and_turns_are_read_as_they_are_written() {
    let floor = |index: u8| Floor::try_from(index).expect("a floor");
    for call in [(0, false), (253, true)].map(|(at, any)| PriorityCall { floor: floor(at), any }) {
        assert_eq!(PriorityCall::parse(&call.to_string()), Some(call));
    }
    for text in ["off", "", "5 all", "254", "-1"] {
        assert_eq!(PriorityCall::parse(text), None, "{text}");
    }
    let (car, master) = (name(1), name(2));
    let turns = [
        Turn::None,
        Turn::Evacuates { car: car.clone(), master: master.clone() },
        Turn::Serves { car: car.clone(), master },
        Turn::Done { car },
    ];
    for turn in turns {
        assert_eq!(Turn::parse(&turn.to_string()), turn);
    }
    for text in ["", "A", "A to B", "A by B waits", "A by", "by B"] {
        assert_eq!(Turn::parse(text), Turn::None, "{text}");
    }
}

#[test]
fn the_evidence_of_a_hang_is_read_as_it_is_written() {
    let floor = |index: u8| Some(Floor::try_from(index).expect("a floor"));
    let [actual, expected] = [10_012, 9_980].map(Duration::from_millis);
    let direction = Direction::Up;
    let cause = HangCause::NoProgress;
    let hang =
        HangEvidence { cause, floor: floor(3), direction, expected, actual, last_sensor: floor(2) };
    let text = "up 3 2 10012 9980 no-progress";
    let read = |text: &str| {
        let (key, value) = (hang_key(&name(1)), Value::new(text).expect("a value"));
        let (car, evidence) = hang_of(&key, &value)?;
        assert_eq!(car, name(1));
        evidence
    };
    assert_eq!((hang_value(&hang).as_str(), read(text)), (text, Some(hang)));
    for cause in [HangCause::OffTarget(6), HangCause::NotStopped] {
        let (direction, floor) = (Direction::Down, None);
        let hang = HangEvidence { cause, direction, floor, last_sensor: floor, ..hang };
        assert_eq!(read(&hang_value(&hang)), Some(hang));
    }
    for text in [
        "off",
        "on",
        "up 3 2 10012 9980",
        "up 3 2 10012 9980 off-target",
        "up 3 2 10012 9980 no-progress 1",
        "sideways 3 2 10012 9980 no-progress",
        "up 254 2 10012 9980 no-progress",
        "up 3 2 -1 9980 no-progress",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
    assert_eq!(
        hang_of(&Key::new("mode/A").expect("a key"), &Value::new(text).expect("a value")),
        None
    );
}

/// What is only shown takes the place of nothing that is commanded, and gives way to it.
#[test]
fn why_a_car_hung_keeps_out_no_command() {
    let mut directives = Directives::default();
    let hung = directive("hang/A", 1, 1, "on");
    assert!(directives.merge(hung.clone()));
    for number in 1..MOST_DIRECTIVES {
        assert!(directives.merge(directive(&format!("token/{number:03}"), 2, 1, "on")));
    }
    let (value, operator) = (Value::new("on").expect("a value"), Words::new("k").expect("a name"));
    let token = Key::new("token/zzz").expect("a key");
    directives
        .set(token.clone(), value, operator, incarnation(1))
        .expect("room in place of the hang");
    assert!(directives.get(&token).is_some());
    assert!(!directives.is_hung(&NodeId::new("A").expect("a name")));
    assert!(!directives.merge(hung), "it takes no place of another");
}

/// What a later program commands gives nobody a turn, and moves no car.
#[test]
fn emergency_power_that_is_not_understood_is_on() {
    let mut directives = Directives::default();
    let mut set = |value: &str| {
        let (key, value) = (Topic::EmergencyPower.key(), Value::new(value).expect("a value"));
        directives.set(key, value, Words::unnamed(), Nonce(1)).expect("room");
        directives.emergency_power()
    };
    let serving = Some(name(1));
    let known = EmergencyPower { cars: 4, serving };
    assert_eq!(set(&known.to_string()), Some(known));
    assert_eq!(set("off"), None);
    assert_eq!(set("dimmed").map(|it| it.cars), Some(usize::MAX));
    assert_eq!(directives.mode(&name(1)), Mode::EmergencyPower);
}

/// On emergency power the greater number of cars counts: that of the command, or what became known
/// since. What is not understood is more than any master has behind it.
#[test]
fn cars_that_become_known_on_emergency_power_count() {
    let mut directives = Directives::default();
    let mut set = |topic: &Topic, value: &str| {
        let value = Value::new(value).expect("a value");
        directives.set(topic.key(), value, Words::unnamed(), Nonce(1)).expect("room");
        directives.emergency_power().map(|it| it.cars)
    };
    assert_eq!(set(&Topic::Cars, "8"), None);
    assert_eq!(set(&Topic::EmergencyPower, "on 4"), Some(8));
    assert_eq!(set(&Topic::Cars, "3"), Some(4));
    assert_eq!(set(&Topic::Cars, "many"), Some(usize::MAX));
}
