//! Which cars firefighters have: `firefighter/CAR`, `on` or `off`.
//!
//! No operator commands it: the node of the car sets it as the key is turned, so that it outlives a
//! restart of that node, and so that other nodes know that the car takes no calls. To the car itself
//! it says something at the start only; after that the key decides.

use super::{Directives, Key, ON};
use crate::model::NodeId;

const PREFIX: &str = "firefighter/";

/// The key of the directive about this car.
pub(crate) fn firefighter_key(car: &NodeId) -> Key {
    let text = format!("{PREFIX}{car}");
    Key::new(&text).unwrap_or_else(|error| unreachable!("a name is short: {error}"))
}

/// Whether it is the key of such a directive.
pub(super) fn is_firefighter_key(key: &Key) -> bool {
    key.as_str().starts_with(PREFIX)
}

impl Directives {
    /// Whether a firefighter has this car by its key, as far as is known here.
    #[must_use]
    pub fn has_firefighter(&self, car: &NodeId) -> bool {
        self.get(&firefighter_key(car)).is_some_and(|it| it.value.as_str() == ON)
    }
}
