//! A few nodes under the model checker: what may always happen, and an estimate that falls.
//!
//! In every state:
//!
//! - a candidate has the timers that end its waiting, a follower that is clearly fitter than its
//!   master the one that ends its hold-off, and nobody else has any;
//! - terms never fall, and nobody begins to follow by a message of an older term (E3, E7);
//! - a barred node does not lead (B6);
//! - from here on, once nothing more breaks, the nodes come to rest under one master that nobody
//!   outranks, in whatever order messages arrive and timers fire (E1, E2, E7, C3). Unless
//!   a test says otherwise, timers wait for the messages under way.
//!
//! The space is finite because terms and messages under way have bounds, which each test gives.
//! Without faults they need none.

use std::collections::BTreeSet;
use std::convert::Infallible;

use stateright::Property;

use super::*;
use crate::election::testing::model::{
    At, Beacons, Bounds, Calms, Check, Due, Misfortunes, Network, Subject, Taken, is_large, number,
    settles,
};
use crate::election::{Rules, testing};

#[derive(Debug)]
struct Fleet {
    estimates: Vec<u32>,
    settings: Settings,
    /// They know each other from the beginning.
    acquainted: bool,
    /// No term beyond this one.
    terms: u64,
    /// In calm a timer may fire while messages are under way.
    hasty: bool,
    /// Two may lead: beacons take their time.
    doubles: bool,
}

impl Subject for Fleet {
    type Machine = Bully;
    type Notes = ();
    type Step = Infallible;

    fn candidate(&self, node: usize) -> Candidate {
        Candidate { estimate: self.estimates[node], ..testing::candidate(number(node)) }
    }

    fn machine(&self, own: Candidate, _incarnation: u64) -> Bully {
        Bully::new(own, self.settings.clone())
    }

    fn knows(machine: &Bully, peer: &NodeId) -> bool {
        machine.peers.contains_key(peer)
    }

    fn timers(machine: &Bully) -> Option<BTreeSet<ElectionTimer>> {
        let needed: &[Timer] = match &machine.state {
            State::Candidate(Stage::Listening, _) => &[Timer::HeadStart],
            State::Candidate(Stage::Asking, _) => &[Timer::Answer, Timer::Ask],
            State::Candidate(Stage::Answered, _) => &[Timer::Announcement],
            State::Lost { ended: Ended::JustNow, .. } => &[Timer::Pause],
            State::Lost { comparison: Comparison::Exceeds, .. } => &[Timer::HoldOff],
            State::Sleep | State::Lost { .. } | State::Master => &[],
        };
        let watches = !machine.settings.mesh_detection && machine.follows().is_some();
        let needed = needed.iter().copied().chain(watches.then_some(Timer::Silence));
        Some(needed.map(ElectionTimer::from).collect())
    }

    fn term(machine: &Bully) -> Term {
        machine.term
    }

    fn begin(check: &Check<Self>, moment: &mut At<Self>) {
        if check.subject.acquainted {
            check.hear_everybody(moment);
            moment.network.clear();
        }
    }

    fn observe(_check: &Check<Self>, moment: &mut At<Self>, step: &mut Taken<'_, Self>) {
        let (before, after) = (step.before, &*step.after);
        if after.term < before.term {
            moment.blame(Some("a term fell"));
        }
        if let Input::Message { message: Any::Bully(Message::Master { term }), .. } = step.input
            && *term < before.term
            && after.follows() != before.follows()
        {
            moment.blame(Some("an old announcement was believed"));
        }
    }

    fn within(&self, moment: &At<Self>) -> bool {
        moment.living().all(|(_, machine)| machine.term.0 <= self.terms)
    }

    fn properties(&self) -> Vec<Property<Check<Self>>> {
        let mut properties = vec![Property::always(
            "the barred don't lead",
            |check: &Check<Self>, moment: &At<Self>| {
                moment
                    .living()
                    .all(|(node, _)| check.subject.estimates[node] > 0 || !moment.leads(node))
            },
        )];
        if self.doubles {
            let what = "two lead, for a while";
            properties.push(Property::sometimes(what, |_, moment: &At<Self>| {
                let leads = |(_, machine): &(usize, &Bully)| machine.state == State::Master;
                moment.living().filter(leads).count() == 2
            }));
        }
        properties
    }
}

impl Calms for Fleet {
    /// One leads, all follow it, and nobody should lead instead. A fleet in which everybody is
    /// barred has none.
    fn is_right(check: &Check<Self>, moment: &At<Self>) -> bool {
        let Some(master) = check.agreed_master(moment) else {
            return moment.living().all(|(_, machine)| machine.is_barred() && !machine.leads());
        };
        let rank = |node: usize| {
            let fitness = moment.nodes[node].as_ref().map_or(0, |machine| machine.fitness);
            (fitness, check.name(node))
        };
        let outranks = |node| check.subject.settings.outranks(rank(node), rank(master));
        !moment.living().any(|(node, _)| outranks(node))
    }

    /// What would be repeated in calm is not lost, and a master that is there is not silent.
    fn due(check: &Check<Self>, moment: &At<Self>, node: usize, timer: &ElectionTimer) -> Due {
        let followed = || moment.nodes[node].as_ref().and_then(|machine| machine.follows());
        let is_there = |master| moment.leads(check.index(master));
        if *timer == Timer::Silence.into() && followed().is_some_and(is_there) {
            Due::Never
        } else if check.subject.hasty || moment.network.is_empty() {
            Due::Now
        } else {
            Due::Later
        }
    }
}

fn fleet(subject: Fleet, messages: usize, most: Misfortunes) -> Check<Fleet> {
    let nodes = subject.estimates.len();
    let (network, beacons) = (Network::Repeats(messages), Beacons::Late);
    Check::new(subject, Bounds { nodes, network, beacons, most })
}

/// Two nodes; terms up to 4, 4 messages under way.
fn two(settings: Settings, hasty: bool, most: Misfortunes) -> Check<Fleet> {
    let estimates = vec![20, 30];
    fleet(Fleet { estimates, settings, acquainted: false, terms: 4, hasty, doubles: true }, 4, most)
}

/// Three nodes that know each other.
fn three(settings: Settings, terms: u64) -> Fleet {
    Fleet {
        estimates: vec![20, 30, 40],
        settings,
        acquainted: true,
        terms,
        hasty: false,
        doubles: true,
    }
}

/// One of three crashes and starts again; terms up to 3. All hear each other at once. Until the calm
/// begins, two messages are under way at most, and others get lost.
fn restarting(settings: Settings) -> Check<Fleet> {
    let (network, beacons, most) = (Network::Carries(2), Beacons::Instant, ONE_RESTART);
    let subject = Fleet { doubles: false, ..three(settings, 3) };
    Check::new(subject, Bounds { nodes: 3, network, beacons, most })
}

fn configured() -> Settings {
    Settings { estimate: Estimate::Fixed(0), ..Settings::default() }
}

fn as_in_the_source() -> Settings {
    Settings { estimate: Estimate::Fixed(0), ..Settings::source() }
}

const ONE_CRASH: Misfortunes = Misfortunes { crashes: 1, restarts: 0, breaks: 0, falls: 0 };
const ONE_RESTART: Misfortunes = Misfortunes { restarts: 1, ..ONE_CRASH };

/// E1, E3, E7, B6, B7, C2, C3: the higher number leads again.
#[test]
fn two_nodes_agree_whatever_happens() {
    let most = Misfortunes { breaks: 1, ..ONE_RESTART };
    let of = |settings| two(settings, true, most);
    settles("two nodes, a restart and a broken link", of(Settings::default()), 14_211, 10_742);
    settles("two numbers, a restart and a broken link", of(configured()), 6_400, 4_576);
}

/// E1, E3, E7, B1, B7, C3: as in the source, with either estimate.
#[test]
fn two_nodes_agree_as_in_the_source() {
    for wins in [Wins::Highest, Wins::Lowest] {
        let settings = Settings { wins, ..as_in_the_source() };
        let what = format!("two nodes as in the source, {wins:?}, a restart");
        settles(&what, two(settings, false, ONE_RESTART), 6_525, 5_663);
    }
}

/// E1, E3, E7, B1, B10, C2, C3
#[test]
fn two_nodes_agree_though_one_weakens() {
    let of = |most| two(Settings::default(), false, Misfortunes { falls: 1, ..most });
    settles("two nodes, a weakness", of(ONE_CRASH), 22_655, 24_206);
    if is_large() {
        let most = Misfortunes { breaks: 1, ..ONE_CRASH };
        settles("two nodes, a broken link and a weakness", of(most), 131_853, 132_281);
    }
}

/// E1, E3, E7, C2, C3: every answer may be lost or repeated.
#[test]
fn three_nodes_agree_though_one_dies() {
    let check = |messages| fleet(three(configured(), 2), messages, ONE_CRASH);
    settles("three nodes, a crash, two messages", check(2), 38_137, 59_383);
    if is_large() {
        settles("three nodes, a crash, three messages", check(3), 141_289, 198_877);
    }
}

/// E1, E3, E7, B7, C2, C3
#[test]
fn three_nodes_agree_though_one_restarts() {
    settles("three nodes, a restart", restarting(configured()), 1_704, 1_364);
}

/// E1, E3, E7, B7, C2, C3
#[test]
fn three_nodes_agree_as_in_the_source() {
    settles("three nodes as in the source", restarting(as_in_the_source()), 27_065, 26_413);
}

/// B6, E2: one of three is barred, and may be all that is left.
#[test]
fn a_barred_node_never_leads() {
    let (estimates, settings) = (vec![20, 30, 0], configured());
    let subject =
        Fleet { estimates, settings, acquainted: false, terms: 2, hasty: false, doubles: true };
    settles("three nodes, one barred, a crash", fleet(subject, 2, ONE_CRASH), 49_930, 72_150);
}
