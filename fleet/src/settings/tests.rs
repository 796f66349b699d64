use elevator_driver::{Direction, KeySwitch};
use proptest::prelude::*;

use super::*;
use crate::election::testing::{floor, name};
use crate::model::{Call, HallCall};

pub(crate) fn register(setting: Setting, counter: u64, incarnation: u64) -> Register {
    Register {
        setting,
        version: Version { counter, incarnation: Nonce(incarnation) },
        operator: Words::new("kovac").expect("a name"),
        reason: None,
    }
}

fn mode(car: u8, mode: Mode) -> Setting {
    Setting::Mode(name(car), mode)
}

fn recall(origin: u64, number: u64, is_over: bool) -> Setting {
    Setting::FireRecall(Nonce(origin), Recall { number, is_over })
}

/// What never was: revoked.
pub(crate) fn token(number: usize) -> Setting {
    Setting::Token(Name::new(&format!("{number:04}")).expect("a name"), None)
}

pub(crate) fn session(request: u64, leg: u16, state: SessionState) -> Setting {
    let id = RequestId { owner: 7, request };
    let (floor, seconds) = (floor(2), 30);
    let asked = Asked { floor, to: None, seconds, car: None };
    let session = Session { id, asked, floor, to: None, seconds, leg, state };
    Setting::Request(Request::Session(session))
}

fn call(owner: u32, request: u64) -> Setting {
    let call = Call::Hall(HallCall::new(floor(3), Direction::Up));
    Setting::Request(Request::Call { id: RequestId { owner, request }, call, press: None })
}

/// A node sets it, for which there is room.
fn set(settings: &mut Settings, setting: Setting) -> Register {
    settings.set(setting, Words::unnamed(), Nonce(1)).expect("room")
}

fn merged<'a>(all: impl IntoIterator<Item = &'a Register>) -> Settings {
    let mut settings = Settings::default();
    for register in all {
        settings.merge(register.clone());
    }
    settings
}

fn union(one: &Settings, other: &Settings) -> Settings {
    merged(one.all().chain(other.all()))
}

/// Few keys and versions, so that they collide; a faulty node uses one version twice.
fn any_setting() -> impl Strategy<Value = Register> {
    let state = prop::sample::select(vec![
        SessionState::Queued,
        SessionState::Coming(name(1)),
        SessionState::Open(name(2)),
        SessionState::Ended(SessionEnd::Done),
    ]);
    let modes = prop::sample::select(Mode::ALL.to_vec());
    let floors = (0..4_u8).prop_map(floor);
    let priority = (floors, any::<bool>()).prop_map(|(floor, any)| PriorityCall { floor, any });
    let setting = prop_oneof![
        (0..2_u8, modes).prop_map(|(car, to)| mode(car, to)),
        (0..2_u64, 1..3_u64, any::<bool>()).prop_map(|(origin, it, over)| recall(origin, it, over)),
        (0..2_u8, prop::option::of(priority))
            .prop_map(|(car, call)| Setting::Priority(name(car), call)),
        (0..2_u64, 0..2_u16, state).prop_map(|(id, leg, state)| session(id, leg, state)),
        (0..2_u32, 0..2_u64).prop_map(|(owner, id)| call(owner, id)),
    ];
    (setting, 0..3_u64, 0..3_u64).prop_map(|(setting, counter, by)| register(setting, counter, by))
}

fn any_settings() -> impl Strategy<Value = Settings> {
    prop::collection::vec(any_setting(), 0..8).prop_map(|all| merged(&all))
}

proptest! {
    /// O2, for settings.
    #[test]
    fn merges_are_commutative_associative_and_idempotent(
        one in any_settings(),
        other in any_settings(),
        third in any_settings(),
    ) {
        prop_assert_eq!(union(&one, &other), union(&other, &one));
        let (left, right) = (union(&union(&one, &other), &third), union(&one, &union(&other, &third)));
        prop_assert_eq!(left, right);
        prop_assert_eq!(union(&one, &one), one);
    }

    #[test]
    fn digests_are_equal_for_equal_settings_only(
        one in any_settings(),
        other in any_settings(),
    ) {
        prop_assert_eq!(one.digest() == other.digest(), one == other);
    }

    /// O2: whatever comes first, all nodes keep the same ones, and as many as each program may.
    #[test]
    fn too_many_settings_and_requests_leave_the_same_ones_everywhere(
        mut numbers in prop::collection::vec(0..2_000_u64, 600..900),
        requests in prop::collection::vec((0..12_u32, 0..500_u64, 1..2_000_u64), 600..1_500),
        seed in any::<u64>(),
    ) {
        let of = |number: u64| match number % 3 {
            0 => recall(number, 1, true),
            1 => Setting::Hang(NodeId::new(&number.to_string()).expect("a name"), None),
            _ => token(usize::try_from(number).expect("small")),
        };
        let mut all: Vec<_> = numbers.drain(..).map(|it| register(of(it), 1, 1)).collect();
        all.push(register(Setting::Turn(Turn::None), 1, 1));
        all.extend(requests.iter().map(|(owner, id, at)| register(call(*owner, *id), *at, id % 3)));
        let one = merged(&all);
        fastrand::Rng::with_seed(seed).shuffle(&mut all);
        let (left, right) = all.split_at(all.len() / 3);
        prop_assert!(one.iter().count() <= MOST_SETTINGS);
        prop_assert!(one.all().count() <= MOST_SETTINGS + MOST_REQUESTS);
        prop_assert!(one.get(&Key::Turn).is_some());
        prop_assert_eq!(union(&merged(right), &merged(left)), one.clone());
        prop_assert_eq!(one, merged(&all));
    }
}

#[test]
fn a_later_command_wins_over_all_that_its_node_knew() {
    let mut settings = merged(&[register(mode(1, Mode::OutOfService), 7, 9)]);
    assert_eq!(settings.mode(&name(1)), Mode::OutOfService);
    let last = set(&mut settings, mode(1, Mode::InService));
    assert_eq!(last.version, Version { counter: 8, incarnation: Nonce(1) });
    assert_eq!(settings.mode(&name(1)), Mode::InService);
}

#[test]
fn a_fire_recall_is_for_every_car_and_ends_by_command_only() {
    let on = register(recall(1, 1, false), 1, 1);
    assert_eq!(merged([&on]).mode(&name(2)), Mode::FireRecall);
    let off = register(recall(1, 1, true), 3, 1);
    assert_eq!(merged([&off, &on]).mode(&name(2)), Mode::InService);
    // Whoever commanded the end knew of one recall; this is another one.
    let next = register(recall(1, 2, false), 2, 1);
    assert_eq!(merged([&next, &off]).mode(&name(2)), Mode::FireRecall);
}

/// Whatever was replaced in the meantime, the number of origins stays small.
#[test]
fn recalls_have_few_origins() {
    let mut settings = Settings::default();
    for number in 1..=100 {
        let next = settings.next_recall(Nonce(number));
        settings.set(next, Words::unnamed(), Nonce(number)).expect("room");
        assert_eq!(settings.recall_count(), number);
    }
    assert_eq!((settings.recalls().count(), settings.ends_of_recalls().len()), (64, 64));
}

#[test]
fn no_node_can_use_up_the_versions() {
    let independent = || mode(1, Mode::Independent);
    let mut settings = merged(&[register(independent(), MOST_CHANGES + 1, 1)]);
    assert_eq!(settings, Settings::default());
    assert!(settings.merge(register(independent(), MOST_CHANGES, 1)));
    let set = settings.set(settings.next_recall(Nonce(1)), Words::unnamed(), Nonce(1));
    assert_eq!(set, Err(SettingError::Spent));
}

/// A full map takes nothing new but what matters more than what it has.
#[test]
fn locks_and_tokens_keep_out_no_fire_recall() {
    let tokens: Vec<_> = (0..MOST_SETTINGS).map(|it| register(token(it), 1, 1)).collect();
    let mut settings = merged(&tokens);
    let try_set = |settings: &mut Settings, setting| {
        settings.set(setting, Words::unnamed(), Nonce(1)).map(|_| ())
    };
    let independent = mode(1, Mode::Independent);
    assert_eq!(try_set(&mut settings, independent), Err(SettingError::Full));
    assert!(settings.take_dropped().is_empty());
    assert!(try_set(&mut settings, token(0)).is_ok());
    let power = EmergencyPower { cars: 2, serving: None };
    for urgent in [
        Setting::EmergencyPower(Some(power)),
        Setting::Cars(2),
        Setting::Turn(Turn::None),
        settings.next_recall(Nonce(1)),
        Setting::Firefighter(name(1), true),
    ] {
        assert!(try_set(&mut settings, urgent.clone()).is_ok(), "{urgent}");
        assert_eq!(settings.get(&urgent.key()).map(|it| &it.setting), Some(&urgent));
    }
    assert_eq!(settings.iter().count(), MOST_SETTINGS);
    // A peer that had room keeps the same ones.
    assert_eq!(union(&merged(&tokens), &settings), settings);
    // What is only shown takes the place of nothing that is commanded. One that is told again and
    // again writes nothing to the disk, and takes no memory.
    settings.take_dropped();
    let hung = register(Setting::Hang(name(1), None), 1, 1);
    for _ in 0..9 {
        assert!(!settings.merge(hung.clone()));
    }
    assert_eq!(settings.take_dropped().into_iter().collect::<Vec<_>>(), [hung.setting.key()]);
}

#[test]
fn the_mode_of_a_car_follows_from_its_key_as_well() {
    let call = PriorityCall { floor: floor(3), any: false };
    let waits = register(Setting::Priority(name(1), Some(call)), 1, 1);
    for (position, expected) in [
        (KeySwitch::Normal, Mode::Priority),
        (KeySwitch::Independent, Mode::Independent),
        (KeySwitch::FireRecall, Mode::FireRecall),
        (KeySwitch::OutOfService, Mode::OutOfService),
    ] {
        let key = register(Setting::KeySwitch(name(1), position), 1, 1);
        assert_eq!(merged([&waits, &key]).mode_with_key(&name(1)), expected);
    }
    let firefighter = register(Setting::Firefighter(name(1), true), 1, 1);
    assert_eq!(merged([&waits, &firefighter]).mode_with_key(&name(1)), Mode::FireService);
}

#[test]
fn texts_are_checked_when_they_are_read() {
    let bytes = |text: &str| postcard::to_stdvec(text).expect("bytes");
    let read = |bytes: &[u8]| postcard::from_bytes::<Name>(bytes).is_ok();
    assert!(read(&bytes("kiosk")));
    for bad in ["", "line\nfeed", &"x".repeat(Name::MOST + 1)] {
        assert!(!read(&bytes(bad)), "{bad:?}");
    }
    let long = "é".repeat(40);
    assert_eq!(Words::of(&long).map(|words| words.as_str().len()), Some(Words::MOST));
    assert_eq!(Words::of("\n"), None);
    assert_eq!(Why::of(&long.repeat(2)).map(|why| why.as_str().len()), Some(Why::MOST));
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

/// How many requests of each of these programs are remembered.
fn of_owners(settings: &Settings, owners: [u32; 3]) -> [usize; 3] {
    let is_of = |it: &&Register, owner| matches!(&it.setting, Setting::Request(request) if request.id().owner == owner);
    owners.map(|owner| settings.all().filter(|it| is_of(it, owner)).count())
}

#[test]
fn a_busy_program_does_not_use_up_the_requests_of_others() {
    let most = MOST_REQUESTS as u64;
    let mut settings = Settings::default();
    let mut add = |owner, requests: std::ops::Range<u64>| {
        for request in requests {
            set(&mut settings, call(owner, request));
        }
        settings.clone()
    };
    add(1, 0..20);
    let two = add(2, 0..3 * most);
    assert_eq!(of_owners(&two, [1, 2, 3]), [20, MOST_REQUESTS - 20, 0]);
    // A third one gets its share of what the busy one has.
    let three = add(3, 0..most);
    let share = (MOST_REQUESTS - 20) / 2;
    assert_eq!(of_owners(&three, [1, 2, 3]), [20, share, share]);
    assert!(three.request(RequestId { owner: 3, request: most - 1 }).is_some());
    assert!(three.iter().next().is_none(), "they take no place of a command");
    // A client of a broker that takes another name each time is one program.
    let mut anybody = two;
    for owner in 0..1_000 {
        set(&mut anybody, call(RequestId::ANYBODY | owner, 1));
    }
    assert_eq!(of_owners(&anybody, [1, 2, 3])[0], 20);
}

/// However many others there are, an open session is not forgotten: its car would never be free.
#[test]
fn an_open_session_is_remembered() {
    let mut settings = Settings::default();
    for request in 1..=3 {
        set(&mut settings, session(request, 0, SessionState::Queued));
    }
    for owner in 100..1_000 {
        set(&mut settings, call(owner, 1));
    }
    assert_eq!(settings.open_sessions().len(), 3);
    // But no faulty node fills the memory with them.
    for request in 4..1_000 {
        let setting = session(request, 0, SessionState::Queued);
        settings.merge(register(setting, request, 2));
    }
    assert_eq!(settings.open_sessions().len(), 64);
}

/// Whatever is said later or at the same time: its end, the latest wish of its robot, an open door.
#[test]
fn a_session_goes_on_where_it_has_come_furthest() {
    let stages = [
        session(1, 0, SessionState::Queued),
        session(1, 0, SessionState::Open(name(1))),
        session(1, 1, SessionState::Coming(name(1))),
        session(1, 0, SessionState::Ended(SessionEnd::Done)),
    ];
    for two in stages.windows(2) {
        let [earlier, later] = [(0, 9), (1, 1)].map(|(at, by)| register(two[at].clone(), by, 1));
        for both in [[&earlier, &later], [&later, &earlier]] {
            assert_eq!(merged(both).get(&later.setting.key()), Some(&later));
        }
    }
}

/// The end takes the place of the open session even where it has no place itself.
#[test]
fn an_end_that_is_too_old_to_be_remembered_ends_the_session() {
    let mut settings = Settings::default();
    settings.merge(register(session(1, 0, SessionState::Queued), 1, 1));
    let mut calls = (0..MOST_REQUESTS as u64).map(|it| register(call(7, 9 + it), 5, 1));
    assert!(calls.all(|call| settings.merge(call)));
    assert_eq!(settings.open_sessions().len(), 1);
    let is_call = |it: &&Register| it.is_call();
    let calls_alone = merged(settings.all().filter(is_call)).digest();
    let end = register(session(1, 0, SessionState::Ended(SessionEnd::Done)), 2, 1);
    assert!(settings.merge(end.clone()));
    assert_eq!((settings.open_sessions().len(), settings.digest()), (0, calls_alone));
    assert!(settings.take_dropped().contains(&end.setting.key()), "nor has the disk");
}

/// A time that nobody could write is refused: what shows it would fail, also after a restart.
#[test]
fn a_token_beyond_all_times_is_refused() {
    for (expires, is_possible) in [(253_402_300_799, true), (253_402_300_800, false)] {
        let hash = TokenHash([0; 32]);
        let token = Token { scope: Scope::View, created: 0, expires: Some(expires), hash };
        let setting = Setting::Token(Name::new("kiosk").expect("a name"), Some(token));
        assert!(!setting.to_string().is_empty());
        assert_eq!(Settings::default().merge(register(setting, 1, 1)), is_possible);
    }
}

/// On emergency power the greater number of cars counts, commanded or known since.
#[test]
fn cars_that_become_known_on_emergency_power_count() {
    let mut settings = Settings::default();
    let on = EmergencyPower { cars: 4, serving: Some(name(1)) };
    for (setting, cars) in [
        (Setting::Cars(8), None),
        (Setting::EmergencyPower(Some(on)), Some(8)),
        (Setting::Cars(3), Some(4)),
        (Setting::EmergencyPower(None), None),
    ] {
        set(&mut settings, setting);
        assert_eq!(settings.emergency_power().map(|it| it.cars), cars);
    }
}
