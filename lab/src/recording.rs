//! Which runs to record.
//!
//! A [`Subject`] is a situation of [`elections`](crate::elections) or a
//! [`Campaign`](crate::Campaign), and an [`Example`] a run of the documentation. What is recorded of
//! it is a [`Trace`](crate::trace::Trace).

mod examples;
mod subject;

pub use self::examples::Example;
pub use self::subject::Subject;
