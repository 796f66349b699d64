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

fn dead(lamps: &[Button]) -> Sight {
    Sight { living: false, ..panel(lamps) }
}

fn open_at(index: u8, lantern: Option<Direction>, lamps: &[Button]) -> Sight {
    Sight { serves: Some(floor(index)), lantern, ..panel(lamps) }
}

fn opened(count: u64, lantern: Option<Direction>, lamps: &[Button]) -> Sight {
    let opening = Some(Opening { count, floor: floor(3), lantern });
    Sight { opening, ..panel(lamps) }
}

/// What is seen of the panel of a car, one second after the other; all verdicts.
fn see(account: &mut Account, name: &str, since: u64, sights: &[Sight]) -> Vec<Verdict> {
    let seconds = (since..).zip(sights);
    seconds.flat_map(|(second, sight)| account.observe(&car(name), sight, at(second))).collect()
}

fn is_placed(verdicts: &[Verdict]) -> bool {
    matches!(verdicts, [Verdict::Placed { .. }])
}

fn is_served(verdicts: &[Verdict]) -> bool {
    matches!(verdicts, [Verdict::Served { .. }])
}

fn is_lost(verdicts: &[Verdict]) -> bool {
    matches!(verdicts, [Verdict::Lost { .. }])
}

/// How many orders were placed, served and lost.
fn counts(account: &Account) -> [u32; 3] {
    let Tally { placed, served, lost, .. } = account.tally();
    [placed, served, lost]
}

/// A hall call pressed at 10 s and lit on A and B at 11 s.
fn lit_on_two_panels() -> Account {
    let mut account = Account::default();
    account.press(Call::of_button(hall(), &car("A")), at(10));
    assert!(is_placed(&see(&mut account, "A", 11, &[panel(&[hall()])])));
    // The same order on another panel.
    assert!(see(&mut account, "B", 11, &[panel(&[hall()])]).is_empty());
    account
}

// F12
#[test]
fn an_order_is_served_when_its_lamp_goes_dark_with_a_car_there() {
    let mut account = lit_on_two_panels();
    let up = Some(Direction::Up);
    let served = see(&mut account, "B", 18, &[open_at(3, up, &[hall()]), open_at(3, up, &[])]);
    assert_eq!(
        served,
        [Verdict::Served { call: Call::of_button(hall(), &car("A")), by: car("B"), waited: at(8) }]
    );
    assert!(see(&mut account, "A", 19, &[panel(&[])]).is_empty());
    let tally = account.tally();
    assert_eq!(counts(&account), [1, 1, 0]);
    assert_eq!((tally.mean(), tally.late, tally.longest), (Some(at(8)), at(8), at(8)));
    assert_eq!(account.lit().count(), 0);
}

// An order is lost when its lamp goes dark and no car was there: a car elsewhere, or for the other
// direction, serves nothing, nor does one that left the lamp lit long before.
#[test]
fn an_order_is_lost_when_its_lamp_goes_dark_without_a_car() {
    for wrong in
        [panel(&[]), open_at(3, Some(Direction::Down), &[]), open_at(2, Some(Direction::Up), &[])]
    {
        let mut account = lit_on_two_panels();
        assert!(is_lost(&see(&mut account, "A", 20, &[wrong.clone(), wrong])));
        assert_eq!(counts(&account), [1, 0, 1]);
    }
    let mut account = lit_on_two_panels();
    see(&mut account, "B", 12, &[open_at(3, None, &[hall()])]);
    see(&mut account, "B", 20, &[panel(&[hall()])]);
    assert!(is_lost(&see(&mut account, "B", 30, &[panel(&[]), panel(&[])])));
}

/// The order of [`lit_on_two_panels`], served while the node of B was away; B is back at 30 s, and its
/// lamp is still lit.
fn served_while_away() -> Account {
    let mut account = lit_on_two_panels();
    see(&mut account, "B", 12, &[dead(&[hall()])]);
    assert!(is_served(&see(&mut account, "A", 20, &[open_at(3, Some(Direction::Up), &[])])));
    account
}

#[test]
fn a_lamp_of_a_panel_that_was_away_during_the_service_is_no_new_order() {
    // Its node may also end together with the order: its panel is looked at a moment later.
    let mut at_once = lit_on_two_panels();
    assert!(is_served(&see(&mut at_once, "A", 20, &[open_at(3, Some(Direction::Up), &[])])));
    see(&mut at_once, "B", 21, &[dead(&[hall()])]);
    for mut account in [served_while_away(), at_once] {
        let (lit, dark) = (panel(&[hall()]), panel(&[]));
        let after = [lit.clone(), lit.clone(), lit.clone(), dark.clone(), dark.clone(), dark];
        assert!(see(&mut account, "B", 30, &after).is_empty());
        assert_eq!(counts(&account), [1, 1, 0]);
        // From then on it counts as before.
        assert!(is_placed(&see(&mut account, "B", 40, &[lit])));
    }
}

// F12
#[test]
fn a_press_at_a_panel_that_was_away_during_the_service_is_an_order() {
    let mut before = served_while_away();
    before.press(Call::of_button(hall(), &car("B")), at(29));
    let mut after = served_while_away();
    assert!(see(&mut after, "B", 30, &[panel(&[hall()])]).is_empty());
    after.press(Call::of_button(hall(), &car("B")), at(31));
    for mut account in [before, after] {
        assert!(is_placed(&see(&mut account, "B", 32, &[panel(&[hall()])])));
        assert!(is_lost(&see(&mut account, "B", 40, &[panel(&[]), panel(&[])])));
    }
}

// F12
#[test]
fn a_lamp_of_a_panel_that_was_away_is_an_order_if_no_car_came() {
    let mut account = lit_on_two_panels();
    for name in ["A", "B"] {
        see(&mut account, name, 12, &[dead(&[hall()])]);
    }
    see(&mut account, "B", 30, &[panel(&[hall()])]);
    assert!(is_lost(&see(&mut account, "B", 33, &[panel(&[]), panel(&[])])));
}

// F13: its car order comes back with it.
#[test]
fn a_panel_without_a_controller_is_not_judged_until_it_has_one_again() {
    let mut account = Account::default();
    see(&mut account, "A", 1, &[panel(&[Button::Car(floor(1))])]);
    // Its lamps go dark a moment before it is known to have no controller.
    see(&mut account, "A", 1, &[panel(&[])]);
    assert!(see(&mut account, "A", 2, &vec![dead(&[]); 7]).is_empty());
    assert!(account.close(&BTreeSet::new()).is_empty());
    let lost = see(&mut account, "A", 10, &[panel(&[]), panel(&[])]);
    assert!(is_lost(&lost), "it came back without the order");
}

#[test]
fn what_is_lit_at_the_end_is_unserved_and_not_lost() {
    let mut account = lit_on_two_panels();
    let living = BTreeSet::from([car("A"), car("B")]);
    let verdicts = account.close(&living);
    assert!(matches!(verdicts[..], [Verdict::Unserved { .. }]));
    assert!(account.close(&living).is_empty());
    assert_eq!((counts(&account), account.tally().unserved), ([1, 0, 0], 1));
}

// F12, F18: a door that stood open between two looks has served too, those who go its way. An opening
// before the press serves nobody who pressed after it, seen or not.
#[test]
fn an_opening_between_two_looks_serves() {
    let (up, down) = (Some(Direction::Up), Some(Direction::Down));
    for (before, lit, after, serves) in [
        (opened(4, None, &[]), opened(4, None, &[hall()]), opened(5, up, &[]), true),
        (opened(4, None, &[]), opened(4, None, &[hall()]), opened(5, down, &[]), false),
        (opened(5, None, &[]), opened(5, None, &[hall()]), opened(5, None, &[]), false),
        (opened(4, None, &[]), opened(5, None, &[hall()]), opened(5, None, &[]), false),
    ] {
        let mut account = Account::default();
        assert!(is_placed(&see(&mut account, "A", 10, &[before, lit])));
        let verdicts = see(&mut account, "A", 12, &[after.clone(), after]);
        assert!(if serves { is_served(&verdicts) } else { is_lost(&verdicts) }, "{verdicts:?}");
    }
}
