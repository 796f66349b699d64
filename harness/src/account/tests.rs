use elevator_driver::{Button, Direction, Floor, FloorCount};
use elevator_simulator::Opening;

use super::*;

fn floor(index: u8) -> Floor {
    FloorCount::new(6).unwrap().floor(index).unwrap()
}

fn hall() -> Button {
    Button::Hall(floor(3), Direction::Up)
}

fn car(name: &str) -> NodeId {
    NodeId::new(name).unwrap()
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn panel(lamps: &[Button]) -> Sight {
    Sight { living: true, lamps: lamps.iter().copied().collect(), ..Sight::default() }
}

fn open_at(index: u8, lantern: Option<Direction>, lamps: &[Button]) -> Sight {
    Sight { serves: Some(floor(index)), lantern, ..panel(lamps) }
}

fn is_lost(verdicts: &[Verdict]) -> bool {
    matches!(verdicts, [Verdict::Lost { .. }])
}

/// A hall call pressed at 10 s and lit on A and B at 11 s.
fn lit_on_two_panels() -> Account {
    let mut account = Account::default();
    account.press(Call::of_button(hall(), &car("A")), at(10));
    let placed = account.observe(&car("A"), &panel(&[hall()]), at(11));
    assert!(matches!(placed[..], [Verdict::Placed { .. }]));
    assert!(
        account.observe(&car("B"), &panel(&[hall()]), at(11)).is_empty(),
        "the same order on another panel"
    );
    account
}

// F12
#[test]
fn an_order_is_served_when_its_lamp_goes_dark_with_a_car_there() {
    let mut account = lit_on_two_panels();
    let opens = open_at(3, Some(Direction::Up), &[hall()]);
    assert!(account.observe(&car("B"), &opens, at(18)).is_empty());
    let dark = open_at(3, Some(Direction::Up), &[]);
    let served = account.observe(&car("B"), &dark, at(19));
    assert_eq!(
        served,
        [Verdict::Served { call: Call::of_button(hall(), &car("A")), by: car("B"), waited: at(8) }]
    );
    assert!(account.observe(&car("A"), &panel(&[]), at(19)).is_empty());
    let tally = account.tally();
    assert_eq!((tally.placed, tally.served, tally.lost), (1, 1, 0));
    assert_eq!((tally.mean(), tally.late, tally.longest), (Some(at(8)), at(8), at(8)));
    assert_eq!(account.lit().count(), 0);
}

#[test]
fn an_order_is_lost_when_its_lamp_goes_dark_and_no_car_was_there() {
    let mut account = lit_on_two_panels();
    assert!(account.observe(&car("A"), &panel(&[]), at(20)).is_empty());
    let verdicts = account.observe(&car("A"), &panel(&[]), at(21));
    assert!(is_lost(&verdicts), "{verdicts:?}");
    assert_eq!(account.tally().lost, 1);
}

#[test]
fn a_car_that_opens_for_the_other_direction_or_elsewhere_serves_nothing() {
    for wrong in [open_at(3, Some(Direction::Down), &[]), open_at(2, Some(Direction::Up), &[])] {
        let mut account = lit_on_two_panels();
        account.observe(&car("A"), &wrong, at(20));
        let verdicts = account.observe(&car("A"), &wrong, at(21));
        assert!(is_lost(&verdicts), "{verdicts:?}");
    }
}

#[test]
fn a_visit_that_left_the_lamp_lit_does_not_excuse_its_going_dark_much_later() {
    let mut account = lit_on_two_panels();
    account.observe(&car("B"), &open_at(3, None, &[hall()]), at(12));
    account.observe(&car("B"), &panel(&[hall()]), at(20));
    account.observe(&car("B"), &panel(&[]), at(30));
    let verdicts = account.observe(&car("B"), &panel(&[]), at(31));
    assert!(is_lost(&verdicts), "{verdicts:?}");
}

#[test]
fn a_lamp_seen_dark_just_before_the_car_is_seen_there_is_served() {
    let mut account = lit_on_two_panels();
    let soon = at(20) + Duration::from_millis(40);
    assert!(account.observe(&car("A"), &panel(&[]), at(20)).is_empty());
    let opens = open_at(3, None, &[]);
    let verdicts = account.observe(&car("B"), &opens, soon);
    assert!(matches!(verdicts[..], [Verdict::Served { .. }]));
}

/// The order of [`lit_on_two_panels`], served while the node of B was away; B is back at 30 s, and its
/// lamp is still lit.
fn served_while_away() -> Account {
    let mut account = lit_on_two_panels();
    account.observe(&car("B"), &Sight { living: false, ..panel(&[hall()]) }, at(12));
    let served = account.observe(&car("A"), &open_at(3, Some(Direction::Up), &[]), at(20));
    assert!(matches!(served[..], [Verdict::Served { .. }]));
    account
}

#[test]
fn a_lamp_of_a_panel_that_was_away_during_the_service_is_no_new_order() {
    let mut account = served_while_away();
    for seconds in 30..33 {
        assert!(account.observe(&car("B"), &panel(&[hall()]), at(seconds)).is_empty());
    }
    for seconds in 33..36 {
        assert!(account.observe(&car("B"), &panel(&[]), at(seconds)).is_empty());
    }
    let tally = account.tally();
    assert_eq!((tally.placed, tally.served, tally.lost), (1, 1, 0));
    // From then on it counts as before.
    let placed = account.observe(&car("B"), &panel(&[hall()]), at(40));
    assert!(matches!(placed[..], [Verdict::Placed { .. }]));
}

#[test]
fn a_panel_whose_node_ends_together_with_the_order_has_no_new_one() {
    let mut account = lit_on_two_panels();
    let served = account.observe(&car("A"), &open_at(3, Some(Direction::Up), &[]), at(20));
    assert!(matches!(served[..], [Verdict::Served { .. }]));
    // Its panel is looked at a moment later.
    account.observe(&car("B"), &Sight { living: false, ..panel(&[hall()]) }, at(21));
    for seconds in 30..33 {
        assert!(account.observe(&car("B"), &panel(&[hall()]), at(seconds)).is_empty());
    }
    for seconds in 33..36 {
        assert!(account.observe(&car("B"), &panel(&[]), at(seconds)).is_empty());
    }
}

// F12
#[test]
fn a_press_at_a_panel_that_was_away_during_the_service_is_an_order() {
    let mut before = served_while_away();
    before.press(Call::of_button(hall(), &car("B")), at(29));
    let mut after = served_while_away();
    assert!(after.observe(&car("B"), &panel(&[hall()]), at(30)).is_empty());
    after.press(Call::of_button(hall(), &car("B")), at(31));
    for mut account in [before, after] {
        let placed = account.observe(&car("B"), &panel(&[hall()]), at(32));
        assert!(matches!(placed[..], [Verdict::Placed { .. }]));
        account.observe(&car("B"), &panel(&[]), at(40));
        let verdicts = account.observe(&car("B"), &panel(&[]), at(41));
        assert!(is_lost(&verdicts), "{verdicts:?}");
    }
}

// F12
#[test]
fn a_lamp_of_a_panel_that_was_away_is_an_order_if_no_car_came() {
    let mut account = lit_on_two_panels();
    account.observe(&car("B"), &Sight { living: false, ..panel(&[hall()]) }, at(12));
    account.observe(&car("A"), &Sight { living: false, ..panel(&[hall()]) }, at(12));
    account.observe(&car("B"), &panel(&[hall()]), at(30));
    account.observe(&car("B"), &panel(&[]), at(33));
    let verdicts = account.observe(&car("B"), &panel(&[]), at(35));
    assert!(is_lost(&verdicts), "{verdicts:?}");
}

// F13: its car order comes back with it.
#[test]
fn a_panel_without_a_controller_is_not_judged_until_it_has_one_again() {
    let mut account = Account::default();
    let car_call = Button::Car(floor(1));
    account.observe(&car("A"), &panel(&[car_call]), at(1));
    // Its lamps go dark a moment before it is known to have no controller.
    account.observe(&car("A"), &panel(&[]), at(1));
    let dead = Sight { living: false, ..panel(&[]) };
    for second in 2..9 {
        assert!(account.observe(&car("A"), &dead, at(second)).is_empty());
    }
    assert!(account.close(&BTreeSet::new()).is_empty());
    account.observe(&car("A"), &panel(&[]), at(10));
    let verdicts = account.observe(&car("A"), &panel(&[]), at(11));
    assert!(is_lost(&verdicts), "it came back without the order");
}

#[test]
fn what_one_half_served_stays_served_when_the_other_half_hears_of_it() {
    let mut account = lit_on_two_panels();
    account.observe(&car("B"), &open_at(3, None, &[]), at(15));
    assert_eq!(account.tally().served, 1);
    account.observe(&car("A"), &panel(&[hall()]), at(30));
    account.observe(&car("A"), &panel(&[]), at(40));
    account.observe(&car("A"), &panel(&[]), at(41));
    let tally = account.tally();
    assert_eq!((tally.placed, tally.served, tally.lost), (1, 1, 0));
}

#[test]
fn what_is_lit_at_the_end_is_unserved_and_not_lost() {
    let mut account = lit_on_two_panels();
    let living = BTreeSet::from([car("A"), car("B")]);
    let verdicts = account.close(&living);
    assert!(matches!(verdicts[..], [Verdict::Unserved { .. }]));
    assert!(account.close(&living).is_empty());
    let tally = account.tally();
    assert_eq!((tally.placed, tally.lost, tally.unserved), (1, 0, 1));
}

#[test]
fn a_press_while_the_door_stands_open_is_no_order() {
    let mut account = Account::default();
    account.press(Call::of_button(hall(), &car("A")), at(10));
    account.observe(&car("A"), &open_at(3, Some(Direction::Up), &[]), at(11));
    // Lit much later, by another press: it has not waited since the first.
    account.observe(&car("A"), &panel(&[hall()]), at(60));
    account.observe(&car("A"), &open_at(3, None, &[]), at(65));
    assert_eq!(account.tally().mean(), Some(at(5)));
}

// F7: while its car goes there, every panel that showed the order may be without a controller.
#[test]
fn an_order_served_while_no_panel_that_showed_it_lived_is_served() {
    let mut account = lit_on_two_panels();
    let dead = Sight::default();
    for second in 12..30 {
        account.observe(&car("A"), &dead, at(second));
        account.observe(&car("B"), &dead, at(second));
        let c = match second {
            15 => open_at(3, Some(Direction::Up), &[]),
            _ => panel(&[]),
        };
        account.observe(&car("C"), &c, at(second));
    }
    account.observe(&car("A"), &panel(&[]), at(30));
    let tally = account.tally();
    assert_eq!((tally.served, tally.lost), (1, 0));
}

#[test]
fn nine_tenths_of_the_passengers_waited_no_longer() {
    let mut count = Count::default();
    for (waits, late) in [(1..=10, 9), (11..=20, 18), (1..=1_000, 900)] {
        waits.for_each(|seconds| count.note_wait(at(seconds)));
        assert_eq!(count.tally.late, at(late));
    }
}

fn opened(count: u64, lantern: Option<Direction>, lamps: &[Button]) -> Sight {
    let opening = Some(Opening { count, floor: floor(3), lantern });
    Sight { opening, ..panel(lamps) }
}

// F18: a door that stood open between two looks has served too
#[test]
fn an_opening_between_two_looks_serves() {
    for (lantern, serves) in [(Direction::Up, true), (Direction::Down, false)] {
        let mut account = Account::default();
        account.observe(&car("A"), &opened(4, None, &[]), at(10));
        account.observe(&car("A"), &opened(4, None, &[hall()]), at(11));
        account.observe(&car("A"), &opened(5, Some(lantern), &[]), at(12));
        account.observe(&car("A"), &opened(5, Some(lantern), &[]), at(13));
        let tally = account.tally();
        assert_eq!((tally.served == 1, tally.lost == 0), (serves, serves), "{tally:?}");
    }
}

// F12: the opening before the press serves nobody who pressed after it
#[test]
fn an_opening_that_was_seen_before_the_press_serves_nobody() {
    let mut account = Account::default();
    account.observe(&car("A"), &opened(5, None, &[]), at(10));
    account.observe(&car("A"), &opened(5, None, &[hall()]), at(11));
    account.observe(&car("A"), &opened(5, None, &[]), at(12));
    assert!(is_lost(&account.observe(&car("A"), &opened(5, None, &[]), at(13))));
}

// F12: nor does one that was over before it, between the same two looks
#[test]
fn an_opening_before_the_press_between_two_looks_serves_nobody() {
    let mut account = Account::default();
    account.observe(&car("A"), &opened(4, None, &[]), at(10));
    account.observe(&car("A"), &opened(5, None, &[hall()]), at(11));
    account.observe(&car("A"), &opened(5, None, &[]), at(12));
    assert!(is_lost(&account.observe(&car("A"), &opened(5, None, &[]), at(13))));
}
