//! Names on the command line: those that serde gives the variants of an enum.

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

/// A name that is not known; the message has those that are.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(transparent)]
pub struct UnknownName(Error);

/// The variant with this name.
pub(crate) fn parse<'a, T: Deserialize<'a>>(name: &'a str) -> Result<T, UnknownName> {
    let name: StrDeserializer<'a, Error> = name.into_deserializer();
    T::deserialize(name).map_err(UnknownName)
}
