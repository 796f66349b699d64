//! What the papers claim, in every order of events among a few nodes.
//!
//! The machines are the real ones. The walk knows no time: a timer may fire whenever it is armed, a
//! message may arrive whenever it is under way, a beacon be heard at any moment, and a node die.
//! Where the paper assumes that messages arrive, they do; elsewhere they may be lost, and repeated.
//! Equal messages between the same two nodes count as one.
//!
//! From the first states, and then from some, a *calm* follows: a run in virtual time in which
//! nothing more breaks. Within the control's bound one node leads and all others follow it.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use elevator_fleet::model::MeshTimes;
use stateright::{Checker, Model, Property};

use super::*;

/// The first this many states begin a calm, and then one in this many.
const CALMS: (u64, u64) = (500, 100);

struct Fleet<A> {
    nodes: Vec<A>,
    is_lossy: bool,
    /// Beacons and losses come at once, before anything else happens; otherwise at any later moment.
    is_instant: bool,
    /// How many may be under way. More than this are lost at once; where none may be lost, states
    /// with more are left out.
    messages: usize,
    crashes: usize,
    /// The term of a node, or the number of its group.
    number: fn(&A) -> u64,
    /// No number beyond this one.
    most: u64,
    claim: fn(&Moment<A>) -> bool,
    bound: Duration,
    calms: AtomicU64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Moment<A> {
    /// `None` for one that has died.
    nodes: Vec<Option<A>>,
    /// How long each timer runs; in a calm, until when.
    armed: BTreeMap<(usize, &'static str), Duration>,
    network: BTreeSet<Sent>,
    /// Who has led, and with which number.
    led: BTreeSet<(u64, usize)>,
    /// The time since a calm began.
    now: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Sent {
    from: usize,
    to: usize,
    message: Message,
}

#[derive(Debug, Clone, PartialEq, Hash)]
enum Event {
    Arrives(Sent),
    Repeats(Sent),
    Vanishes(Sent),
    Fires(usize, &'static str),
    /// Or misses it, if it has died.
    Hears(usize, usize),
    Dies(usize),
}

fn name(node: usize) -> NodeId {
    NodeId::new(&format!("N{node}")).expect("a name")
}

impl<A: Algorithm + Hash> Moment<A> {
    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    fn living(&self) -> impl Iterator<Item = (usize, &A)> {
        self.nodes.iter().enumerate().filter_map(|(node, machine)| Some((node, machine.as_ref()?)))
    }

    fn is_agreed(&self) -> bool {
        let leads = |(_, machine): &(usize, &A)| machine.node_state() == NodeState::Master;
        let Some((master, _)) = self.living().find(leads) else { return false };
        let follows = NodeState::Slave { master: name(master) };
        self.living().all(|(node, machine)| node == master || machine.node_state() == follows)
    }
}

impl<A: Algorithm + Clone + Hash> Fleet<A> {
    fn feed(
        &self,
        moment: &mut Moment<A>,
        node: usize,
        draw: u64,
        act: impl FnOnce(&mut A, &mut Outputs<'_>),
    ) {
        let Some(machine) = &mut moment.nodes[node] else { return };
        let mut list = Vec::new();
        act(machine, &mut Outputs { list: &mut list, draw });
        if machine.node_state() == NodeState::Master {
            moment.led.insert(((self.number)(machine), node));
        }
        let mut sent = Vec::new();
        for output in list {
            match output {
                Output::Arm(ElectionTimer::Experiment(Timer(timer)), wait) => {
                    moment.armed.insert((node, timer), moment.now + wait);
                }
                Output::Disarm(ElectionTimer::Experiment(Timer(timer))) => {
                    moment.armed.remove(&(node, timer));
                }
                Output::Send(to, Any::Experiment(message)) => {
                    let to = (0..self.nodes.len()).find(|node| name(*node) == to);
                    sent.push(Sent { from: node, to: to.expect("a node"), message });
                }
                Output::Broadcast(Any::Experiment(message)) => {
                    let others = (0..self.nodes.len()).filter(|to| *to != node);
                    sent.extend(others.map(|to| Sent { from: node, to, message: message.clone() }));
                }
                other => panic!("{node}: {other:?} is none of a control's"),
            }
        }
        let is_calm = moment.now > Duration::ZERO;
        for sent in sent {
            let has_room = !self.is_lossy || is_calm || moment.network.len() < self.messages;
            if has_room && moment.nodes[sent.to].is_some() {
                moment.network.insert(sent);
            }
        }
    }

    fn arrive(&self, moment: &mut Moment<A>, sent: &Sent, draw: u64) {
        self.feed(moment, sent.to, draw, |machine, outputs| {
            machine.on_message(&name(sent.from), &sent.message, outputs);
        });
    }

    fn fire(&self, moment: &mut Moment<A>, node: usize, timer: &'static str, draw: u64) {
        moment.armed.remove(&(node, timer));
        self.feed(moment, node, draw, |machine, outputs| machine.on_timer(timer, outputs));
    }

    fn hear_or_miss(&self, moment: &mut Moment<A>, node: usize, peer: usize, draw: u64) {
        let state = moment.nodes[peer].as_ref().map(Algorithm::node_state);
        self.feed(moment, node, draw, |machine, outputs| match &state {
            Some(state) => machine.on_heard(&name(peer), state, outputs),
            None => machine.on_lost(&name(peer), outputs),
        });
    }

    /// Where beacons are heard at once: until nothing changes any more.
    fn hear_all(&self, moment: &mut Moment<A>)
    where
        A: PartialEq,
    {
        let mut before = None;
        while self.is_instant && before.as_ref() != Some(moment) {
            before = Some(moment.clone());
            for (node, peer) in self.pairs() {
                self.hear_or_miss(moment, node, peer, 0);
            }
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<A> {
        let nodes = self.nodes.len();
        let all = (0..nodes).flat_map(move |one| (0..nodes).map(move |other| (one, other)));
        all.filter(|(one, other)| one != other)
    }

    fn begins_calm(&self, moment: &Moment<A>) -> bool {
        let is_early = self.calms.fetch_add(1, Ordering::Relaxed) < CALMS.0;
        is_early || moment.fingerprint().is_multiple_of(CALMS.1)
    }

    /// Delays are random by the state; a message takes 5 ms on average.
    fn settles(&self, begin: &Moment<A>) -> bool {
        let mut random = fastrand::Rng::with_seed(begin.fingerprint());
        let mut moment = begin.clone();
        for until in moment.armed.values_mut() {
            *until = until.mul_f64(random.f64());
        }
        let period = MeshTimes::default().beacon_period;
        let mut beacons: Vec<_> =
            self.pairs().map(|pair| (pair, period.mul_f64(random.f64()))).collect();
        while moment.now < self.bound * 5 / 4 {
            moment.now += Duration::from_millis(1);
            for sent in moment.network.clone() {
                if random.u8(..5) == 0 {
                    moment.network.remove(&sent);
                    self.arrive(&mut moment, &sent, random.u64(..));
                }
            }
            for ((node, timer), until) in moment.armed.clone() {
                if until <= moment.now && moment.armed.get(&(node, timer)) == Some(&until) {
                    self.fire(&mut moment, node, timer, random.u64(..));
                }
            }
            for ((node, peer), at) in &mut beacons {
                if *at <= moment.now {
                    *at += period;
                    self.hear_or_miss(&mut moment, *node, *peer, random.u64(..));
                }
            }
            if moment.now > self.bound && !moment.is_agreed() {
                return false;
            }
        }
        true
    }

    /// Walks all states: at least this many.
    fn check(self, least: usize)
    where
        A: PartialEq + Sync + 'static,
    {
        let checked = self.checker().spawn_bfs().join();
        checked.assert_properties();
        let states = checked.unique_state_count();
        println!("{}: {states} states", std::any::type_name::<A>());
        assert!(states >= least, "{states} states, of at least {least}");
    }
}

impl<A: Algorithm + Clone + PartialEq + Hash> Model for Fleet<A> {
    type State = Moment<A>;
    type Action = Event;

    fn init_states(&self) -> Vec<Moment<A>> {
        let mut moment = Moment {
            nodes: self.nodes.iter().cloned().map(Some).collect(),
            armed: BTreeMap::new(),
            network: BTreeSet::new(),
            led: BTreeSet::new(),
            now: Duration::ZERO,
        };
        for node in 0..self.nodes.len() {
            self.feed(&mut moment, node, 0, Algorithm::start);
        }
        // Each has heard all others.
        for (node, peer) in self.pairs() {
            self.feed(&mut moment, node, 0, |machine, outputs| {
                machine.on_heard(&name(peer), &NodeState::Seeking, outputs);
            });
        }
        self.hear_all(&mut moment);
        vec![moment]
    }

    fn actions(&self, moment: &Moment<A>, actions: &mut Vec<Event>) {
        actions.extend(moment.network.iter().cloned().map(Event::Arrives));
        if self.is_lossy {
            actions.extend(moment.network.iter().cloned().map(Event::Repeats));
            actions.extend(moment.network.iter().cloned().map(Event::Vanishes));
        }
        actions.extend(moment.armed.keys().map(|(node, timer)| Event::Fires(*node, timer)));
        if !self.is_instant {
            actions.extend(self.pairs().map(|(node, peer)| Event::Hears(node, peer)));
        }
        let dead = moment.nodes.iter().filter(|node| node.is_none()).count();
        if dead < self.crashes {
            actions.extend(moment.living().map(|(node, _)| Event::Dies(node)));
        }
    }

    fn next_state(&self, before: &Moment<A>, event: Event) -> Option<Moment<A>> {
        let mut moment = before.clone();
        match event {
            Event::Arrives(sent) => {
                moment.network.remove(&sent);
                self.arrive(&mut moment, &sent, 0);
            }
            Event::Repeats(sent) => self.arrive(&mut moment, &sent, 0),
            Event::Vanishes(sent) => {
                moment.network.remove(&sent);
            }
            Event::Fires(node, timer) => self.fire(&mut moment, node, timer, 0),
            Event::Hears(node, peer) => self.hear_or_miss(&mut moment, node, peer, 0),
            Event::Dies(node) => {
                moment.nodes[node] = None;
                moment.armed.retain(|(armed, _), _| *armed != node);
                moment.network.retain(|sent| sent.to != node);
            }
        }
        self.hear_all(&mut moment);
        (moment != *before).then_some(moment)
    }

    fn within_boundary(&self, moment: &Moment<A>) -> bool {
        moment.network.len() <= self.messages
            && moment.living().all(|(_, machine)| (self.number)(machine) <= self.most)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("the paper's claim", |fleet: &Self, moment| (fleet.claim)(moment)),
            Property::sometimes("one leads all", |fleet: &Self, moment: &Moment<A>| {
                moment.living().count() == fleet.nodes.len() && moment.is_agreed()
            }),
            Property::always("a calm ends with one master", |fleet, moment| {
                !fleet.begins_calm(moment) || fleet.settles(moment)
            }),
        ]
    }
}

fn fleet<A>(
    nodes: usize,
    bound: Duration,
    new: impl Fn(NodeId) -> A,
    claim: fn(&Moment<A>) -> bool,
) -> Fleet<A> {
    Fleet {
        bound,
        nodes: (0..nodes).map(|node| new(name(node))).collect(),
        is_lossy: false,
        is_instant: false,
        messages: usize::MAX,
        crashes: 0,
        number: |_| 0,
        most: 0,
        claim,
        calms: AtomicU64::new(0),
    }
}

/// No node leads below the highest that lives, in whatever order they start, with and without a death.
#[test]
fn a_ring_elects_the_highest() {
    let ring = || {
        fleet(3, chang_roberts::bound(3), ChangRoberts::new, |moment| {
            let highest = moment.living().map(|(node, _)| node).max();
            moment.led.iter().all(|(_, node)| Some(*node) >= highest)
        })
    };
    ring().check(42_261);
    Fleet { crashes: 1, messages: 2, ..ring() }.check(25_784);
}

/// Election Safety: at most one leader in a term, though messages get lost and repeated and a node
/// dies; with pre-vote and without.
#[test]
fn a_term_has_one_leader() {
    let one_each = |moment: &Moment<Raft>| {
        let mut terms = BTreeSet::new();
        moment.led.iter().all(|(term, _)| terms.insert(*term))
    };
    let check = |pre_vote, most, crashes, least| {
        let raft = fleet(3, raft::BOUND, |own| Raft::new(own, 3, pre_vote), one_each);
        let number = Raft::term;
        Fleet { number, most, messages: 2, crashes, is_lossy: true, ..raft }.check(least);
    };
    check(false, 2, 0, 256_071);
    check(false, 1, 1, 12_270);
    check(true, 1, 0, 184_462);
}

/// A node belongs to a group only once its master leads it. Groups merge into one, even if a node
/// dies.
#[test]
fn groups_become_one() {
    let led = |moment: &Moment<Invitation>| {
        moment.living().filter_map(|(_, machine)| machine.follows()).all(|(master, group)| {
            moment.led.iter().any(|(led, node)| *led == group && name(*node) == *master)
        })
    };
    let of = |nodes: u8| {
        let bound = invitation::bound(nodes.into());
        let fleet = fleet(nodes.into(), bound, Invitation::new, led);
        Fleet { number: Invitation::group, most: 2, crashes: 1, ..fleet }
    };
    of(2).check(10_641);
    Fleet { messages: 2, is_instant: true, ..of(3) }.check(91_979);
}
