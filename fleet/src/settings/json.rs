//! A setting in JSON: its key and its value for people, and itself for programs.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Setting;

#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Setting))]
pub(crate) struct Form {
    /// What it sets, such as `mode/CAR`.
    key: String,
    /// To what, such as a mode, a floor or `off`.
    value: String,
    /// The setting itself, for programs.
    #[cfg_attr(feature = "schema", schema(schema_with = crate::json::any))]
    set: Setting,
}

pub(crate) fn serialize<S: Serializer>(setting: &Setting, to: S) -> Result<S::Ok, S::Error> {
    let (key, value) = (setting.subject(), setting.to_string());
    Form { key, value, set: setting.clone() }.serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Setting, D::Error> {
    Form::deserialize(from).map(|form| form.set)
}
