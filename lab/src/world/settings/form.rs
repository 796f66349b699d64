//! What settings look like in a file.

/// An election is written as its protocol and preset.
pub(super) mod election {
    use elevator_fleet::election::{ElectionSettings, Preset};
    use elevator_fleet::wire::Protocol;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct Form {
        protocol: Protocol,
        preset: Preset,
    }

    impl Form {
        /// `None` for settings that are no preset.
        pub(super) fn new(election: &ElectionSettings) -> Option<Self> {
            let protocol = election.protocol();
            let mut presets = Preset::ALL.into_iter();
            let preset =
                presets.find(|preset| ElectionSettings::preset(protocol, *preset) == *election)?;
            Some(Self { protocol, preset })
        }

        pub(super) fn settings(&self) -> ElectionSettings {
            ElectionSettings::preset(self.protocol, self.preset)
        }
    }

    pub(in crate::world) fn serialize<S: Serializer>(
        election: &ElectionSettings,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let form = Form::new(election);
        let form = form.ok_or_else(|| ser::Error::custom("the election is no preset"))?;
        form.serialize(serializer)
    }

    pub(in crate::world) fn deserialize<'a, D: Deserializer<'a>>(
        deserializer: D,
    ) -> Result<ElectionSettings, D::Error> {
        Form::deserialize(deserializer).map(|form| form.settings())
    }
}

/// The same by machine.
pub(super) mod elections {
    use std::collections::BTreeMap;

    use elevator_fleet::election::ElectionSettings;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

    use super::election::Form;

    pub(in crate::world) fn serialize<S: Serializer>(
        elections: &BTreeMap<usize, ElectionSettings>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let forms = elections.iter().map(|(node, election)| Some((*node, Form::new(election)?)));
        let forms: Option<BTreeMap<usize, Form>> = forms.collect();
        let forms = forms.ok_or_else(|| ser::Error::custom("an election is no preset"))?;
        forms.serialize(serializer)
    }

    pub(in crate::world) fn deserialize<'a, D: Deserializer<'a>>(
        deserializer: D,
    ) -> Result<BTreeMap<usize, ElectionSettings>, D::Error> {
        let forms = BTreeMap::<usize, Form>::deserialize(deserializer)?;
        Ok(forms.into_iter().map(|(node, form)| (node, form.settings())).collect())
    }
}

/// A strategy is written as its name.
pub(super) mod strategy {
    use elevator_fleet::dispatch::Strategy;
    use serde::{Deserialize, Deserializer, Serializer, de};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(in crate::world) fn serialize<S: Serializer>(
        strategy: &Strategy,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(strategy)
    }

    pub(in crate::world) fn deserialize<'a, D: Deserializer<'a>>(
        deserializer: D,
    ) -> Result<Strategy, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
