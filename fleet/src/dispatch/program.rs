use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::json::seconds;

/// How a program that dispatches in place of a built-in strategy does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = DispatchProgram))]
pub struct ProgramHealth {
    /// Its command.
    pub command: String,
    /// Plans that it made.
    pub plans: u64,
    /// Plans that the built-in planner made in its place.
    pub fallbacks: u64,
    /// The built-in planner made the latest plan.
    pub is_failing: bool,
    /// Why it last failed.
    pub fault: Option<String>,
    /// The longest wait that a call had when it was left without a car although one could serve it.
    #[serde(with = "seconds")]
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub left_open: Duration,
}
