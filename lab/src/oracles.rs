//! What has to hold whatever happens: one function an invariant, which cites it.
//!
//! O2, O3 and O6 are properties of the store, and proved beside it; E5 is kept by what `fleet/` may
//! import.

pub(crate) mod car_watch;
mod cars;
mod climate;
mod coordination;
pub(crate) mod duty;
mod lamps;
mod orders;
mod service;
pub(crate) mod waits;

use std::time::Duration;

use elevator_fleet::node::Report;
use elevator_fleet::wire::Standing;

use super::World;

/// Within this time stores and hall lamps are equal, and served lamps dark (O7, P2, P4).
const EQUAL_WITHIN: Duration = Duration::from_secs(1);
/// Where somebody has told what no node tells, stores have so much longer.
const EQUAL_AFTER_A_LIE: Duration = Duration::from_secs(9);

impl World {
    pub(super) fn wrong(&mut self, id: &'static str, node: usize, what: &str) {
        let what = format!("{}: {what}", self.machines[node].name);
        self.history.wrong(self.now, id, what);
    }

    /// Looks at what no single event shows.
    pub(super) fn inspect(&mut self) {
        self.remember_promises();
        self.remember_orders();
        self.promised_orders_are_on_a_disk();
        self.no_dot_is_used_twice();
        self.stores_are_equal();
        self.note_estimates();
        self.terms_never_decrease();
        self.one_master_in_each_group();
        self.calls_are_assigned_to_the_living();
        self.motors_stop_without_a_controller();
        self.cars_without_progress_hang();
        self.hall_calls_are_served_in_time();
        self.hall_lamps_are_equal();
        self.served_lamps_are_dark();
        self.displays_show_the_climate_of_their_group();
        self.history.end_inspection();
    }

    /// Looks at what a report shows.
    pub(super) fn judge(&mut self, node: usize, report: &Report) {
        match report {
            Report::Served {
                call,
                waited,
                here: true,
                ..
            } => self.served_here(node, call, *waited),
            Report::Promised { call } => self.remember_promise(node, call.button()),
            Report::Standing { to, .. } | Report::Rotated { to, .. } => {
                // A duty that goes round is no change of leader.
                if matches!(report, Report::Standing { .. }) {
                    self.no_change_of_leader_in_quiet(node, report);
                }
                if let Standing::Slave { master } = to {
                    self.the_loser_has_handed_over(node, master);
                }
            }
            Report::PeerLost { node: lost } => self.notices_a_lost_disk(node, lost),
            Report::Hung(_) => self.only_a_broken_car_hangs(node),
            Report::Conflict(what) => {
                self.machines[node].conflicts += 1;
                if self.settings.twins.is_none() && !self.forged {
                    self.wrong("C7", node, what);
                }
            }
            Report::TakenOver { .. } => self.taken_over += 1,
            Report::Distrusted { reason, wait, .. } => {
                self.machines[node].conflicts += 1;
                // Until then the peer is as good as cut off.
                self.history.disturbed(self.now + *wait);
                if !self.forged {
                    self.wrong("E8", node, reason);
                }
            }
            Report::Served { here: false, .. }
            | Report::PeerFound { .. }
            | Report::Joined { .. }
            | Report::Repair { .. }
            | Report::Placed { .. }
            | Report::Assigned { .. }
            | Report::Door(_)
            | Report::Floor(_)
            | Report::Availability(_)
            | Report::Panel(_)
            | Report::FloorUnreachable(_)
            | Report::DriveRefused
            | Report::OffTarget { .. }
            | Report::DiskFailed => {}
        }
    }

    /// Complains if this lasts.
    fn lasts(&mut self, key: &str, id: &'static str, node: usize, what: &str) {
        let since = self.history.stands(key, self.now);
        if self.now.saturating_sub(since) > EQUAL_WITHIN {
            self.once(id, node, what);
        }
    }

    /// Complains once until something else happens.
    fn once(&mut self, id: &'static str, node: usize, what: &str) {
        if self.history.is_news(format!("{id} {what}")) {
            self.wrong(id, node, what);
        }
    }
}

#[cfg(test)]
mod tests;
