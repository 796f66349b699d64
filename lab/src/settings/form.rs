//! What the election looks like in a file: as its protocol and preset.

use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::wire::Protocol;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    protocol: Protocol,
    preset: Preset,
}

pub(super) fn serialize<S: Serializer>(
    election: &ElectionSettings,
    to: S,
) -> Result<S::Ok, S::Error> {
    let protocol = election.protocol();
    let is_it = |preset: &Preset| ElectionSettings::preset(protocol, *preset) == *election;
    let preset = Preset::ALL.into_iter().find(is_it);
    let preset = preset.ok_or_else(|| ser::Error::custom("the election is not a preset"))?;
    Form { protocol, preset }.serialize(to)
}

pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<ElectionSettings, D::Error> {
    let Form { protocol, preset } = Form::deserialize(from)?;
    Ok(ElectionSettings::preset(protocol, preset))
}

/// The same by machine.
pub(super) mod by_machine {
    use std::collections::BTreeMap;

    use elevator_fleet::election::ElectionSettings;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct One(#[serde(with = "super")] ElectionSettings);

    pub(in super::super) fn serialize<S: Serializer>(
        elections: &BTreeMap<usize, ElectionSettings>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(elections.iter().map(|(node, election)| (node, One(election.clone()))))
    }

    pub(in super::super) fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<BTreeMap<usize, ElectionSettings>, D::Error> {
        let forms = BTreeMap::<usize, One>::deserialize(from)?;
        Ok(forms.into_iter().map(|(node, One(election))| (node, election)).collect())
    }
}
