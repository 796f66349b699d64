//! What the vocabulary looks like in JSON, where that is not what `serde` derives.

use serde::{Deserialize, Serialize};

use crate::vocabulary::{Button, Direction, Entrance, Floor, Side};

/// A button: `{"kind":"hall","floor":"3","direction":"up"}` or `{"kind":"car","floor":"2"}`, at a
/// rear entrance with `"side":"rear"`.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ButtonForm {
    Hall {
        floor: Floor,
        direction: Direction,
        #[serde(default, skip_serializing_if = "Side::is_front")]
        side: Side,
    },
    Car {
        floor: Floor,
        #[serde(default, skip_serializing_if = "Side::is_front")]
        side: Side,
    },
}

impl From<Button> for ButtonForm {
    fn from(button: Button) -> Self {
        let Entrance { floor, side } = button.entrance();
        match button.direction() {
            Some(direction) => Self::Hall { floor, direction, side },
            None => Self::Car { floor, side },
        }
    }
}

impl From<ButtonForm> for Button {
    fn from(form: ButtonForm) -> Self {
        match form {
            ButtonForm::Hall { floor, direction, side } => {
                Self::hall(Entrance { floor, side }, direction)
            }
            ButtonForm::Car { floor, side } => Self::car(Entrance { floor, side }),
        }
    }
}
