//! The ways between components: what one of them wants or has done is passed to the others.

mod assign;
mod delta;
mod elect;
mod messages;
mod neighbours;
mod services;

pub(super) use self::neighbours::Acceptance;
