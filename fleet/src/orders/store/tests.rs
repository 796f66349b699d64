use elevator_driver::{Direction, FloorCount};
use proptest::prelude::*;

use super::*;
use crate::model::HallCall;

fn node(index: usize) -> NodeId {
    NodeId::new(["A", "B", "C"][index]).expect("a name")
}

fn call(index: u8) -> Call {
    let floor = FloorCount::new(9).and_then(|floors| floors.floor(index)).expect("a floor");
    match index % 3 {
        0 => Call::Hall(HallCall::new(floor, Direction::Up)),
        1 => Call::Hall(HallCall::new(floor, Direction::Down)),
        _ => Call::Car { car: node(0), floor },
    }
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::after_start(Duration::from_secs(seconds))
}

fn dot(journal: u64, sequence: u64) -> Dot {
    Dot { journal: JournalId(journal), sequence }
}

/// What happens to a fleet of three stores.
#[derive(Debug, Clone)]
enum Step {
    Place {
        at: usize,
        call: u8,
    },
    Serve {
        at: usize,
        call: u8,
    },
    Sync {
        from: usize,
        to: usize,
    },
    /// Only some records arrive, in reverse order.
    Lossy {
        from: usize,
        to: usize,
        keep: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..3_usize, 0..6_u8).prop_map(|(at, call)| Step::Place { at, call }),
        (0..3_usize, 0..6_u8).prop_map(|(at, call)| Step::Serve { at, call }),
        (0..3_usize, 0..3_usize).prop_map(|(from, to)| Step::Sync { from, to }),
        (0..3_usize, 0..3_usize, any::<u64>()).prop_map(|(from, to, keep)| Step::Lossy {
            from,
            to,
            keep
        }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..80)
}

/// Three stores after a history of steps, and every dot that was served somewhere by a node that
/// had seen it.
fn history(steps: &[Step]) -> ([OrderStore; 3], BTreeSet<Dot>) {
    let mut stores: [OrderStore; 3] = Default::default();
    let mut served = BTreeSet::new();
    let mut next = [1_u64; 3];
    for (second, step) in (0..).zip(steps) {
        match *step {
            Step::Place { at: index, call: pressed } => {
                let dot = dot(index as u64, next[index]);
                next[index] += 1;
                stores[index].place(dot, &node(index), call(pressed), at(second), at(second));
            }
            Step::Serve { at, call: of } => {
                served.extend(
                    stores[at]
                        .serve(&call(of), &node(at), super::tests::at(second))
                        .into_iter()
                        .map(|order| order.dot),
                );
            }
            Step::Sync { from, to } => pull(&mut stores, from, to, second, u64::MAX),
            Step::Lossy { from, to, keep } => pull(&mut stores, from, to, second, keep),
        }
    }
    (stores, served)
}

fn pull(stores: &mut [OrderStore; 3], from: usize, to: usize, second: u64, keep: u64) {
    let mut records: Vec<Record> = stores[from].records(at(second)).collect();
    records.reverse();
    records.retain(|record| keep >> (record.dot.sequence % 64) & 1 == 1);
    for record in records {
        stores[to].merge(record, at(second));
    }
}

fn fleet(steps: &[Step]) -> [OrderStore; 3] {
    history(steps).0
}

/// The registers without ages: what the merge laws speak of.
fn essence(store: &OrderStore) -> (u64, Vec<(Dot, Call, Option<u64>)>) {
    let open = |state| match state {
        RecordState::Open { recall, .. } => Some(recall),
        RecordState::Served(_) => None,
    };
    (store.recalls(), store.records(at(0)).map(|r| (r.dot, r.call, open(r.state))).collect())
}

fn merged(left: &OrderStore, right: &OrderStore) -> OrderStore {
    let mut store = left.clone();
    for record in right.records(at(0)) {
        store.merge(record, at(0));
    }
    store
}

proptest! {
    /// O2
    #[test]
    fn merge_is_commutative_associative_and_idempotent(steps in steps()) {
        let [a, b, c] = fleet(&steps);
        prop_assert_eq!(essence(&merged(&a, &b)), essence(&merged(&b, &a)));
        prop_assert_eq!(
            essence(&merged(&merged(&a, &b), &c)),
            essence(&merged(&a, &merged(&b, &c)))
        );
        prop_assert_eq!(essence(&merged(&a, &a)), essence(&a));
        prop_assert_eq!(essence(&merged(&merged(&a, &b), &b)), essence(&merged(&a, &b)));
    }

    /// F14, O2, O3: the latest press of a node and call is open everywhere after all have merged,
    /// unless somebody who had seen it served it.
    #[test]
    fn nothing_unserved_is_lost_and_nothing_served_comes_back(steps in steps()) {
        let ([a, b, c], served) = history(&steps);
        let all = merged(&merged(&a, &b), &c);
        let mut latest = BTreeMap::new();
        let mut next = [1_u64; 3];
        for step in &steps {
            if let Step::Place { at, call: pressed } = *step {
                latest.insert((at, call(pressed)), dot(at as u64, next[at]));
                next[at] += 1;
            }
        }
        let open: BTreeSet<Dot> = all.orders().map(|order| order.dot).collect();
        let expected: BTreeSet<Dot> =
            latest.into_values().filter(|dot| !served.contains(dot)).collect();
        prop_assert_eq!(open, expected);
    }

    /// O7
    #[test]
    fn digests_agree_exactly_where_stores_do(steps in steps()) {
        let [a, b, c] = fleet(&steps);
        for (left, right) in [(&a, &b), (&b, &c), (&a, &c)] {
            prop_assert_eq!(left.digest() == right.digest(), essence(left) == essence(right));
        }
    }

    /// O6: also under loss and reordering.
    #[test]
    fn the_memory_is_bounded_by_the_calls_that_can_exist(steps in steps()) {
        for store in fleet(&steps) {
            let mut presses = BTreeSet::new();
            for record in store.records(at(0)) {
                prop_assert!(presses.insert((record.dot.journal, record.call)));
            }
        }
    }

    /// The indices say what the registers say.
    #[test]
    fn every_open_order_is_found_by_its_call(steps in steps()) {
        for store in fleet(&steps) {
            let open: BTreeSet<Dot> = store
                .records(at(0))
                .filter(|record| !record.state.is_served())
                .map(|record| record.dot)
                .collect();
            let found: BTreeSet<Dot> =
                store.calls().flat_map(|call| store.of_call(call)).map(|order| order.dot).collect();
            prop_assert_eq!(open, found);
        }
    }

    /// O2: what a merge reports is what it did.
    #[test]
    fn a_merge_reports_what_it_changed(steps in steps()) {
        let [mut a, b, _] = fleet(&steps);
        for record in b.records(at(0)) {
            let before = essence(&a);
            let dot = record.dot;
            match a.merge(record, at(0)) {
                Merged::Nothing | Merged::Refused => prop_assert_eq!(before, essence(&a)),
                Merged::Raised => prop_assert!(a.get(dot).is_some() && before != essence(&a)),
                Merged::Placed { replaced } => {
                    prop_assert!(a.get(dot).is_some());
                    prop_assert!(replaced.is_none_or(|order| a.get(order.dot).is_none()));
                }
                Merged::Served { closed } => {
                    prop_assert!(a.get(dot).is_none());
                    prop_assert!(closed.is_none_or(|order| a.get(order.dot).is_none()));
                }
            }
        }
    }
}

/// F18
#[test]
fn a_repeated_press_replaces_the_earlier_one_and_keeps_its_age() {
    let mut store = OrderStore::default();
    store.place(dot(0, 1), &node(0), call(0), at(5), at(5));
    let again = store.place(dot(0, 2), &node(0), call(0), at(9), at(9));
    assert!(matches!(again, Merged::Placed { replaced: Some(order) } if order.dot == dot(0, 1)));
    assert_eq!(store.orders().count(), 1);
    assert_eq!(store.waited(&call(0), at(10)), Some(Duration::from_secs(5)));
}

/// F18: a press after the service starts to wait afresh.
#[test]
fn a_press_after_the_service_has_an_age_of_its_own() {
    let mut store = OrderStore::default();
    store.place(dot(0, 1), &node(0), call(0), at(5), at(5));
    store.serve(&call(0), &node(0), at(9));
    store.place(dot(0, 2), &node(0), call(0), at(9), at(9));
    assert_eq!(store.waited(&call(0), at(10)), Some(Duration::from_secs(1)));
}

#[test]
fn a_merge_keeps_the_longer_wait() {
    let mut store = OrderStore::default();
    let waits = |seconds| Record {
        dot: dot(0, 1),
        origin: node(0),
        call: call(0),
        state: RecordState::open(Duration::from_secs(seconds)),
    };
    store.merge(waits(0), at(9));
    assert_eq!(store.merge(waits(6), at(9)), Merged::Nothing);
    assert_eq!(store.waited(&call(0), at(10)), Some(Duration::from_secs(7)));
}

/// In whatever order presses and services arrive: no open order is lost, and all
/// stores agree on what is served.
#[test]
fn of_one_press_with_two_calls_no_open_order_is_lost() {
    let tells = |index, served| Record {
        dot: dot(1, 1),
        origin: node(0),
        call: call(index),
        state: if served { RecordState::served() } else { RecordState::open(Duration::ZERO) },
    };
    for (known, told) in [(0, 3), (3, 0), (0, 2), (2, 0), (0, 1)] {
        let (mut one, mut other) = (OrderStore::default(), OrderStore::default());
        one.merge(tells(known, false), at(1));
        other.merge(tells(told, false), at(1));
        assert_ne!(one.digest(), other.digest(), "{known} {told}");
        for served in [false, true] {
            let merged = one.merge(tells(told, served), at(2));
            assert_eq!(merged, Merged::Refused, "{known} is open");
        }
        one.merge(tells(known, true), at(3));
        let merged = one.merge(tells(told, false), at(3));
        assert_eq!(merged, Merged::Refused, "{known} was served");
        other.merge(tells(told, true), at(3));
        let of_one: Vec<Record> = one.records(at(4)).collect();
        let of_other: Vec<Record> = other.records(at(4)).collect();
        for record in of_other {
            one.merge(record, at(4));
        }
        for record in of_one {
            other.merge(record, at(4));
        }
        assert_eq!(essence(&one), essence(&other));
        assert_eq!(one.digest(), other.digest(), "{known} {told}");
        assert_eq!(one.registers(), 1);
    }
}

/// The car and the wait go with the record, and merges in any order end with the same.
#[test]
fn of_two_services_of_one_press_both_sides_keep_the_same() {
    let service = |seconds, car| {
        let waited = Duration::from_secs(seconds);
        let car = node(car);
        Service { waited, car }
    };
    let tellings = [service(9, 1), service(4, 2), service(4, 1)];
    for turn in 0..tellings.len() {
        let mut store = OrderStore::default();
        store.place(dot(1, 1), &node(0), call(0), at(0), at(0));
        let digest = |store: &OrderStore| store.digest();
        let mut digests = BTreeSet::new();
        for told in tellings.iter().cycle().skip(turn).take(tellings.len()) {
            let record = Record {
                dot: dot(1, 1),
                origin: node(0),
                call: call(0),
                state: RecordState::Served(told.clone()),
            };
            store.merge(record, at(10));
            digests.insert(digest(&store));
        }
        assert_eq!(store.service(dot(1, 1)), Some(&service(4, 1)));
        assert_eq!(digests.len(), 1, "it takes no part in the digest");
    }
    let mut store = OrderStore::default();
    store.place(dot(1, 1), &node(0), call(0), at(1), at(1));
    store.serve(&call(0), &node(2), at(8));
    assert_eq!(store.service(dot(1, 1)), Some(&service(7, 2)));
}
