//! What a node did for each order, as spans, from its events.
//!
//! | span | made by | from | to |
//! | --- | --- | --- | --- |
//! | `order`, the root | the node with the press | the press | the service |
//! | `promise` | the same | the press | its lamp may be lit |
//! | `assignment` | the master | it learns of the order, or assigned it last | it assigns a car |
//! | `takeover` | the next able car's node | it learns of the order | the order is overdue |
//! | `service` | the node of the car | it learns of the order | its door is open |
//!
//! A node that fails takes its spans with it; those of the others keep the trace.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use elevator_fleet::model::{Call, Dot, NodeId};
use elevator_fleet::node::Report;

use crate::operator::Event;

/// The most open orders that are followed: more than a building has buttons.
const MOST_OPEN: usize = 4096;

/// Nanoseconds since 1970.
type Moment = u128;

/// A span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    /// The press, which names the trace.
    pub(super) press: Dot,
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) name: &'static str,
    pub(super) start: Moment,
    pub(super) end: Moment,
    pub(super) attributes: Vec<(&'static str, String)>,
}

/// Follows the open orders.
#[derive(Debug)]
pub(super) struct Tracer {
    own: NodeId,
    open: BTreeMap<Call, Open>,
}

#[derive(Debug)]
struct Open {
    press: Dot,
    origin: NodeId,
    /// When this node learned of it.
    known: Moment,
    is_promised: bool,
    /// When this node assigned it last, and how often.
    assigned: (Moment, u64),
    /// How often this node's car took it over.
    taken_over: u64,
}

impl Tracer {
    pub(super) fn new(own: NodeId) -> Self {
        Self { own, open: BTreeMap::new() }
    }

    /// Forgets all orders, because events were missed.
    pub(super) fn forget(&mut self) {
        self.open.clear();
    }

    /// Adds the spans that end with this event.
    pub(super) fn handle(&mut self, event: &Event, spans: &mut Vec<Span>) {
        let Some(at) = moment(&event.at) else {
            return;
        };
        match &event.report {
            Report::Placed { call, origin, press: Some(press) } => {
                self.open_order(call, origin, *press, at);
            }
            Report::Promised { call } => spans.extend(self.promise(call, at)),
            Report::Assigned { call, car, here: true } => {
                spans.extend(self.assign(call, car, at));
            }
            Report::TakenOver { call } => spans.extend(self.take_over(call, at)),
            Report::Served { call, here, car, .. } => {
                let Some(open) = self.open.remove(call) else {
                    return;
                };
                let car = || car.iter().map(|car| ("liftmesh.car", car.to_string())).collect();
                if *here {
                    spans.push(self.span(call, &open, ("service", 0), (open.known, at), car()));
                }
                if open.origin == self.own {
                    spans.push(self.span(call, &open, (ROOT, 0), (open.known, at), car()));
                }
            }
            Report::Dropped { call } => {
                if let Some(open) = self.open.remove(call).filter(|open| open.origin == self.own) {
                    let dropped = vec![("liftmesh.dropped", "fire recall".to_owned())];
                    spans.push(self.span(call, &open, (ROOT, 0), (open.known, at), dropped));
                }
            }
            _ => {}
        }
    }

    /// The first press of a call names its trace, wherever the call is pressed again.
    fn open_order(&mut self, call: &Call, origin: &NodeId, press: Dot, at: Moment) {
        if self.open.len() < MOST_OPEN {
            self.open.entry(call.clone()).or_insert_with(|| Open {
                press,
                origin: origin.clone(),
                known: at,
                is_promised: false,
                assigned: (at, 0),
                taken_over: 0,
            });
        }
    }

    fn promise(&mut self, call: &Call, at: Moment) -> Option<Span> {
        let open = self.open.get_mut(call)?;
        if open.origin != self.own || std::mem::replace(&mut open.is_promised, true) {
            return None;
        }
        let open = self.open.get(call)?;
        Some(self.span(call, open, ("promise", 0), (open.known, at), Vec::new()))
    }

    fn assign(&mut self, call: &Call, car: &NodeId, at: Moment) -> Option<Span> {
        let open = self.open.get_mut(call)?;
        let (since, count) = open.assigned;
        open.assigned = (at, count + 1);
        let car = vec![("liftmesh.car", car.to_string())];
        let open = self.open.get(call)?;
        Some(self.span(call, open, ("assignment", count), (since, at), car))
    }

    fn take_over(&mut self, call: &Call, at: Moment) -> Option<Span> {
        let open = self.open.get_mut(call)?;
        let count = open.taken_over;
        open.taken_over += 1;
        let open = self.open.get(call)?;
        Some(self.span(call, open, ("takeover", count), (open.known, at), Vec::new()))
    }

    fn span(
        &self,
        call: &Call,
        open: &Open,
        (name, count): (&'static str, u64),
        (start, end): (Moment, Moment),
        mut attributes: Vec<(&'static str, String)>,
    ) -> Span {
        attributes.push(("liftmesh.call", call.to_string()));
        attributes.push(("liftmesh.origin", open.origin.to_string()));
        let root = id(open.press, ROOT, &open.origin, 0);
        let id = id(open.press, name, &self.own, count);
        let parent = (name != ROOT).then_some(root);
        Span { press: open.press, id, parent, name, start, end: end.max(start), attributes }
    }
}

/// The span of the whole order.
const ROOT: &str = "order";

/// The id of a span: every node knows that of the root, which it may never see.
fn id(press: Dot, name: &str, node: &NodeId, count: u64) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{press} {name} {node} {count}").as_bytes());
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    u64::from_be_bytes(first)
}

fn moment(at: &str) -> Option<Moment> {
    let at = humantime::parse_rfc3339(at).ok()?;
    at.duration_since(UNIX_EPOCH).ok().map(|since: Duration| since.as_nanos())
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use elevator_driver::{Direction, Floor};
    use elevator_fleet::model::HallCall;
    use elevator_fleet::wire::Nonce;

    use super::*;

    fn node(name: &str) -> NodeId {
        NodeId::new(name).expect("a name")
    }

    fn press(sequence: u64) -> Dot {
        Dot { incarnation: Nonce(0xABCD), sequence }
    }

    /// The spans of the node `own` for these reports, one second after the other.
    fn spans(own: &str, reports: &[Report]) -> Vec<Span> {
        let mut tracer = Tracer::new(node(own));
        let mut spans = Vec::new();
        for (report, second) in reports.iter().zip(1_000..) {
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
            tracer.handle(&Event::new(report, at), &mut spans);
        }
        spans
    }

    /// What the node `own` reports: C has the press, A is the master, and B's car serves.
    fn life(own: &str) -> [Report; 6] {
        let call = Call::Hall(HallCall::new(Floor::BOTTOM, Direction::Up));
        let (press, again) = (press(7), press(8));
        let placed = |origin, press| {
            let (call, press) = (call.clone(), Some(press));
            Report::Placed { call, origin: node(origin), press }
        };
        let assigned =
            |car| Report::Assigned { call: call.clone(), car: node(car), here: own == "A" };
        [
            placed("C", press),
            Report::Promised { call: call.clone() },
            assigned("A"),
            placed("B", again),
            assigned("B"),
            Report::Served {
                call: call.clone(),
                waited: Duration::from_secs(5),
                here: own == "B",
                car: Some(node("B")),
            },
        ]
    }

    #[test]
    fn spans_of_all_nodes_have_one_trace_and_one_root() {
        let all: Vec<Span> =
            ["A", "B", "C"].into_iter().flat_map(|own| spans(own, &life(own))).collect();
        assert!(all.iter().all(|span| span.press == press(7)));
        let roots: Vec<_> = all.iter().filter(|span| span.name == ROOT).collect();
        let [root] = roots[..] else { panic!("{roots:?}") };
        assert_eq!((root.parent, root.end - root.start), (None, 5_000_000_000));
        let others = all.iter().filter(|span| span.name != ROOT);
        assert!(others.clone().all(|span| span.parent == Some(root.id)));
        let ids: std::collections::BTreeSet<_> = all.iter().map(|span| span.id).collect();
        assert_eq!(ids.len(), all.len(), "they differ");
    }

    #[test]
    fn each_node_tells_what_it_did() {
        let names = |own| spans(own, &life(own)).iter().map(|span| span.name).collect::<Vec<_>>();
        assert_eq!(names("A"), ["assignment", "assignment"]);
        assert_eq!(names("B"), ["service"]);
        assert_eq!(names("C"), ["promise", "order"]);
        let first = &spans("A", &life("A"))[..2];
        assert_eq!(first[0].end, first[1].start, "the second one begins where the first ends");
    }

    #[test]
    fn an_overdue_call_is_taken_over() {
        let [placed, .., served] = life("B");
        let Report::Placed { call, .. } = &placed else { unreachable!("{placed:?}") };
        let taken = Report::TakenOver { call: call.clone() };
        let spans = spans("B", &[placed, taken.clone(), taken, served]);
        let names: Vec<_> = spans.iter().map(|span| span.name).collect();
        assert_eq!(names, ["takeover", "takeover", "service"]);
        assert_ne!(spans[0].id, spans[1].id);
    }

    #[test]
    fn what_was_missed_is_not_made_up() {
        let mut tracer = Tracer::new(node("C"));
        let mut spans = Vec::new();
        for (index, report) in life("C").iter().enumerate() {
            if index == 1 {
                tracer.forget();
            }
            let skipped = matches!(report, Report::Placed { .. }) && index > 0;
            if !skipped {
                tracer.handle(&Event::new(report, SystemTime::now()), &mut spans);
            }
        }
        assert_eq!(spans, []);
    }
}
