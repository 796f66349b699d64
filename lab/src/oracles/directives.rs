//! Directives of operators reach every node.

use super::orders::are_equal;
use super::{EQUAL_WITHIN, Finding, TOO_LONG};
use crate::snapshot::Snapshot;

/// Where all hear each other and nobody commands anything, all hold the same directives. So what a
/// node may do because it has not heard of a command, or of its end, it may do for no longer.
pub(super) fn directives_are_equal(snapshot: &Snapshot) -> Vec<Finding> {
    let mut findings = Vec::new();
    for group in snapshot.calm_groups(EQUAL_WITHIN) {
        let digest = |node: &usize| Some(snapshot.node(*node)?.directives().digest());
        let digests: Vec<u64> = group.iter().filter_map(digest).collect();
        if let Some(first) = group.first().filter(|_| !are_equal(&digests)) {
            // A change of any of them starts the time anew.
            let key = format!("O7 directives {group:?} {digests:?}");
            let what = format!("the directives of {group:?} differ");
            findings.push(Finding::new("O7", *first, what).lasting(key, TOO_LONG));
        }
    }
    findings
}
