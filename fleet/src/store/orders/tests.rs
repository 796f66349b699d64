use elevator_driver::{Direction, FloorCount};
use proptest::prelude::*;

use super::*;
use crate::model::HallCall;

pub(super) fn node(index: usize) -> NodeId {
    NodeId::new(["A", "B", "C"][index]).expect("a name")
}

pub(super) fn call(index: u8) -> Call {
    let floor = FloorCount::new(9).and_then(|floors| floors.floor(index)).expect("a floor");
    match index % 3 {
        0 => Call::Hall(HallCall::new(floor, Direction::Up)),
        1 => Call::Hall(HallCall::new(floor, Direction::Down)),
        _ => Call::ride(&node(0), floor),
    }
}

pub(super) fn at(seconds: u64) -> Timestamp {
    Timestamp::after_start(Duration::from_secs(seconds))
}

fn dot(incarnation: u64, sequence: u64) -> Dot {
    Dot { incarnation: Nonce(incarnation), sequence }
}

fn record(dot: Dot, state: RecordState, absorbed: &[Dot]) -> Record {
    Record { dot, origin: node(0), call: call(0), state, absorbed: absorbed.to_vec() }
}

fn open(dot: Dot) -> Record {
    record(dot, RecordState::open(Duration::ZERO), &[])
}

/// What happens to a fleet of three stores.
#[derive(Debug, Clone)]
enum Step {
    /// At this node, a press of this call.
    Place(usize, u8),
    /// The car of this node serves this call.
    Serve(usize, u8),
    /// The first tells the second of some of its records, which arrive in reverse order.
    Tell(usize, usize, u64),
    /// This node is started again, with its disk.
    Restart(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let (node, call) = (0..3_usize, 0..6_u8);
    prop_oneof![
        4 => (node.clone(), call.clone()).prop_map(|(at, call)| Step::Place(at, call)),
        4 => (node.clone(), call).prop_map(|(at, call)| Step::Serve(at, call)),
        8 => (node.clone(), node.clone(), prop_oneof![Just(u64::MAX), any::<u64>()])
            .prop_map(|(from, to, keep)| Step::Tell(from, to, keep)),
        1 => node.prop_map(Step::Restart),
    ]
}

/// With few enough restarts for all incarnations of a register.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..80).prop_map(|mut steps| {
        let mut restarts = [0; 3];
        steps.retain(|step| {
            let Step::Restart(at) = step else { return true };
            restarts[*at] += 1;
            restarts[*at] < MOST_INCARNATIONS
        });
        steps
    })
}

/// Three stores after a history of steps.
#[derive(Default)]
struct History {
    stores: [OrderStore; 3],
    /// The presses that a service or a later press has seen.
    over: BTreeSet<Dot>,
    placed: BTreeSet<Dot>,
}

fn history(steps: &[Step]) -> History {
    let mut history = History::default();
    let (mut lives, mut sequence) = ([0_u64; 3], 0);
    for (second, step) in (0..).zip(steps) {
        let now = at(second);
        match *step {
            Step::Place(at, pressed) => {
                sequence += 1;
                let dot = dot(10 * at as u64 + lives[at], sequence);
                let pressed = call(pressed);
                let seen = history.stores[at].of_call(&pressed);
                let seen = seen.filter(|order| order.origin == node(at)).map(|order| order.dot);
                history.over.extend(seen);
                history.stores[at].place(dot, &node(at), pressed, now);
                history.placed.insert(dot);
            }
            Step::Serve(at, of) => {
                let served = history.stores[at].serve(&call(of), &node(at), now);
                history.over.extend(served.into_iter().map(|order| order.dot));
            }
            Step::Tell(from, to, keep) => {
                let mut records: Vec<Record> = history.stores[from].records(now).collect();
                records.reverse();
                records.retain(|record| keep >> (record.dot.sequence % 64) & 1 == 1);
                for record in records {
                    history.stores[to].merge(record, now);
                }
            }
            Step::Restart(at) => lives[at] += 1,
        }
    }
    history
}

/// The registers without ages: what the merge laws speak of.
type Essence = (u64, Vec<(Dot, Call, Option<u64>, Vec<Dot>)>);

fn essence(store: &OrderStore) -> Essence {
    let open = |state| match state {
        RecordState::Open { recall, .. } => Some(recall),
        RecordState::Served(_) => None,
    };
    let records = store.records(at(0)).map(|r| (r.dot, r.call, open(r.state), r.absorbed));
    (store.recalls(), records.collect())
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
        let [a, b, c] = history(&steps).stores;
        prop_assert_eq!(essence(&merged(&a, &b)), essence(&merged(&b, &a)));
        prop_assert_eq!(
            essence(&merged(&merged(&a, &b), &c)),
            essence(&merged(&a, &merged(&b, &c)))
        );
        prop_assert_eq!(essence(&merged(&a, &a)), essence(&a));
        prop_assert_eq!(essence(&merged(&merged(&a, &b), &b)), essence(&merged(&a, &b)));
    }

    /// F14, O2, O3: after all have merged, exactly those presses are open everywhere that nobody
    /// who had seen them has served, and that no later press of their node had seen.
    #[test]
    fn nothing_unserved_is_lost_and_nothing_served_comes_back(steps in steps()) {
        let History { stores: [a, b, c], over, placed } = history(&steps);
        let all = merged(&merged(&a, &b), &c);
        let open: BTreeSet<Dot> = all.orders().map(|order| order.dot).collect();
        let expected: BTreeSet<Dot> = placed.difference(&over).copied().collect();
        let lost = expected.iter().filter(|dot| !open.contains(dot));
        for dot in lost {
            let is_replaced = placed.iter().any(|it| it.incarnation == dot.incarnation && it > dot);
            prop_assert!(is_replaced, "{dot} is lost");
        }
        prop_assert!(open.is_subset(&expected), "{open:?} {expected:?}");
    }

    /// O7
    #[test]
    fn digests_agree_exactly_where_stores_do(steps in steps()) {
        let [a, b, c] = history(&steps).stores;
        for (left, right) in [(&a, &b), (&b, &c), (&a, &c)] {
            prop_assert_eq!(left.digest() == right.digest(), essence(left) == essence(right));
        }
    }

    /// O6, also under loss and reordering; and the indices say what the registers say.
    #[test]
    fn the_memory_is_bounded_and_every_open_order_is_found_by_its_call(steps in steps()) {
        for store in history(&steps).stores {
            let (mut presses, mut open) = (BTreeSet::new(), BTreeSet::new());
            for record in store.records(at(0)) {
                prop_assert!(record.absorbed.len() <= MOST_INCARNATIONS);
                prop_assert!(presses.insert((record.dot.incarnation, record.call)));
                open.extend((!record.state.is_served()).then_some(record.dot));
            }
            let found = store.calls().flat_map(|call| store.presses_of(call));
            prop_assert_eq!(&open, &found.collect::<BTreeSet<Dot>>());
            let counted: usize = store.origins.values().map(|origin| origin.open).sum();
            prop_assert_eq!(open.len(), counted);
        }
    }
}

/// F18
#[test]
fn a_repeated_press_replaces_the_earlier_one_and_keeps_its_age() {
    for again in [dot(0, 2), dot(9, 1)] {
        let mut store = OrderStore::default();
        store.place(dot(0, 1), &node(0), call(0), at(5));
        let Merged { change, gone } = store.place(again, &node(0), call(0), at(9));
        assert_eq!(change, Change::Placed);
        assert_eq!(gone.iter().map(|entry| entry.order.dot).collect::<Vec<_>>(), [dot(0, 1)]);
        assert_eq!(store.orders().count(), 1);
        assert_eq!(store.waited(&call(0), at(10)), Some(Duration::from_secs(5)));
        assert_eq!(store.present(dot(0, 1), &call(0)), [again]);
        // One after the service starts to wait afresh.
        store.serve(&call(0), &node(0), at(11));
        store.place(dot(9, 2), &node(0), call(0), at(11));
        assert_eq!(store.waited(&call(0), at(12)), Some(Duration::from_secs(1)));
    }
}

/// P1, O1: only the press that absorbed another says so, and nothing does once it is gone.
#[test]
fn what_a_press_has_absorbed_goes_with_it_alone() {
    let (earlier, promised, later) = (dot(1, 1), dot(2, 1), dot(3, 1));
    let mut store = OrderStore::default();
    store.merge(open(promised), at(0));
    store.place(later, &node(0), call(0), at(1));
    store.merge(record(earlier, RecordState::served(), &[]), at(2));
    let absorbed = |dot| store.record(dot, at(2)).map(|record| record.absorbed);
    assert_eq!(absorbed(later), Some(vec![promised]));
    assert_eq!(absorbed(earlier), Some(Vec::new()));
    store.cancel(later).expect("it is open");
    assert_eq!(store.merge(open(promised), at(3)).change, Change::Placed);
}

/// O6, O1: of five incarnations a served one has to go, and no open one; then a sixth is refused.
#[test]
fn a_full_register_drops_what_is_served_and_refuses_what_is_open() {
    let mut store = OrderStore::default();
    store.merge(record(dot(7, 1), RecordState::served(), &[]), at(0));
    for incarnation in 1..=3 {
        store.merge(open(dot(incarnation, 1)), at(0));
    }
    let Merged { change, gone } = store.merge(open(dot(4, 1)), at(0));
    assert_eq!((change, gone.len(), store.knows(dot(7, 1))), (Change::Placed, 1, false));
    let before = store.digest();
    for (state, expected) in [
        (RecordState::open(Duration::ZERO), Change::Refused),
        (RecordState::served(), Change::Nothing),
    ] {
        let merged = store.merge(record(dot(9, 1), state, &[]), at(0));
        assert_eq!(merged, Merged { change: expected, gone: Vec::new() });
    }
    assert_eq!((store.digest(), store.orders().count()), (before, 4));
}

/// Merges in any order end with the same.
#[test]
fn of_two_services_of_one_press_both_sides_keep_the_same() {
    let service = |seconds, car| Service { waited: Duration::from_secs(seconds), car: node(car) };
    let tellings = [service(9, 1), service(4, 2), service(4, 1)];
    for turn in 0..tellings.len() {
        let mut store = OrderStore::default();
        store.place(dot(1, 1), &node(0), call(0), at(0));
        let mut digests = BTreeSet::new();
        for told in tellings.iter().cycle().skip(turn).take(tellings.len()) {
            store.merge(record(dot(1, 1), RecordState::Served(told.clone()), &[]), at(10));
            digests.insert(store.digest());
        }
        assert_eq!(store.service(dot(1, 1)), Some(&service(4, 1)));
        assert_eq!(digests.len(), 1, "it takes no part in the digest");
    }
}
