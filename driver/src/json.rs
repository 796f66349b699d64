//! What the vocabulary looks like in JSON, where that is not what `serde` derives.

use serde::{Deserialize, Serialize};

use crate::vocabulary::{Button, Direction, Floor};

/// A button: `{"kind":"hall","floor":"3","direction":"up"}` or `{"kind":"car","floor":"2"}`.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ButtonForm {
    Hall { floor: Floor, direction: Direction },
    Car { floor: Floor },
}

impl From<Button> for ButtonForm {
    fn from(button: Button) -> Self {
        match button {
            Button::Hall(floor, direction) => Self::Hall { floor, direction },
            Button::Car(floor) => Self::Car { floor },
        }
    }
}

impl From<ButtonForm> for Button {
    fn from(form: ButtonForm) -> Self {
        match form {
            ButtonForm::Hall { floor, direction } => Self::Hall(floor, direction),
            ButtonForm::Car { floor } => Self::Car(floor),
        }
    }
}
