//! A few nodes under the model checker, with bounds on terms and messages under way.

use super::*;
use crate::election::testing::model::{
    At, Bounds, LINKED, Misfortunes, Subject, Taken, number, settles,
};
use crate::election::testing::{self, name};
use crate::election::{Message as Any, Rules};

struct Fleet {
    estimates: &'static [u32],
    settings: Settings,
    /// No term beyond this one.
    terms: u64,
}

impl Subject for Fleet {
    type Machine = Bully;
    type Notes = ();

    fn candidate(&self, node: usize) -> Candidate {
        Candidate { estimate: self.estimates[node], ..testing::candidate(number(node)) }
    }

    fn machine(&self, own: Candidate, _incarnation: u64) -> Bully {
        Bully::new(own, self.settings.clone())
    }

    fn term(machine: &Bully) -> Term {
        machine.term
    }

    fn within(&self, machine: &Bully) -> bool {
        machine.term.0 <= self.terms
    }

    fn broken_by(&self, step: &mut Taken<'_, Self>, (): &mut ()) -> Option<&'static str> {
        let (before, after) = (step.before, &*step.after);
        let is_old = matches!(
            step.input,
            Input::Message { message: Any::Bully(Message::Master { term }), .. }
                if *term < before.term
        );
        let believed = is_old && after.follows() != before.follows();
        let fell = (after.term < before.term).then_some("E3: a term fell");
        fell.or(believed.then_some("E7: an old announcement was believed"))
    }

    fn broken_in(&self, moment: &At<Self>) -> Option<&'static str> {
        let mut barred = (0..self.estimates.len()).filter(|node| self.estimates[*node] == 0);
        barred.any(|node| moment.leads(node)).then_some("B6: a barred node leads")
    }

    /// One leads, all follow it, and nobody should lead instead, unless everybody is barred.
    fn is_right(&self, moment: &At<Self>) -> bool {
        let Some(master) = moment.agreed_master() else {
            return moment.living().all(|(_, machine)| machine.is_barred() && !machine.leads());
        };
        let names: Vec<_> = (0..self.estimates.len()).map(|node| name(number(node))).collect();
        let rank = |node: usize| (self.estimates[node], &names[node]);
        !moment.living().any(|(node, _)| self.settings.outranks(rank(node), rank(master)))
    }
}

const ONE_CRASH: Misfortunes = Misfortunes { crashes: 1, restarts: 0, breaks: 0 };
const ONE_RESTART: Misfortunes = Misfortunes { restarts: 1, ..ONE_CRASH };

fn configured(settings: &Settings) -> Settings {
    Settings { estimate: Estimate::Fixed(0), ..settings.clone() }
}

/// Two nodes; terms up to 4, 4 messages under way.
fn two(settings: Settings, most: Misfortunes, least: usize) {
    let what = format!("{most:?}, {settings:?}");
    let bound = settings.bound(LINKED, 2);
    let bounds = Bounds { nodes: 2, messages: 4, is_instant: false, most, bound };
    settles(&what, Fleet { estimates: &[20, 30], settings, terms: 4 }, bounds, least);
}

/// Three nodes; two messages under way.
fn three(fleet: Fleet, is_instant: bool, most: Misfortunes, least: usize) {
    let what = format!("{:?}, {most:?}, {:?}", fleet.estimates, fleet.settings);
    let bound = fleet.settings.bound(LINKED, 3);
    settles(&what, fleet, Bounds { nodes: 3, messages: 2, is_instant, most, bound }, least);
}

/// E1, E3, E7, B1, B6, B7, C2, C3: with either estimate; the higher number leads again.
#[test]
fn two_nodes_agree_whatever_happens() {
    let most = Misfortunes { breaks: 1, ..ONE_RESTART };
    two(Settings::default(), most, 4_454);
    two(configured(&Settings::default()), most, 2_430);
    two(configured(&Settings::source()), ONE_RESTART, 3_053);
}

/// E1, E2, E3, E7, B6, B7, C2, C3: answers may be lost or repeated; one of three may be barred.
#[test]
fn three_nodes_agree_though_one_dies_or_restarts() {
    let of = |estimates, preset: &Settings, terms| {
        let settings = configured(preset);
        Fleet { estimates, settings, terms }
    };
    three(of(&[20, 30, 40], &Settings::default(), 2), false, ONE_CRASH, 39_323);
    three(of(&[20, 30, 0], &Settings::default(), 2), false, ONE_CRASH, 17_005);
    three(of(&[20, 30, 40], &Settings::default(), 3), true, ONE_RESTART, 1_814);
    three(of(&[20, 30, 40], &Settings::source(), 3), true, ONE_RESTART, 31_898);
}
