//! Which car serves which hall call.
