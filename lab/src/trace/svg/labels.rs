//! Where there is room for text.

/// The boxes that are taken: left, top, right, bottom.
#[derive(Debug, Default)]
pub(super) struct Labels {
    taken: Vec<(f64, f64, f64, f64)>,
}

impl Labels {
    /// Takes a box, whatever else is there.
    pub(super) fn occupy(&mut self, x: f64, y: f64, width: f64, height: f64) {
        self.taken.push((x, y, x + width, y + height));
    }

    /// Takes a box if it is free.
    pub(super) fn place(&mut self, x: f64, y: f64, width: f64, height: f64) -> bool {
        let (right, bottom) = (x + width, y + height);
        let meets = |(left, top, end, foot): &(f64, f64, f64, f64)| {
            x < *end && *left < right && y < *foot && *top < bottom
        };
        let free = !self.taken.iter().any(meets);
        if free {
            self.occupy(x, y, width, height);
        }
        free
    }
}

/// About how wide a text is in a sans-serif of this size.
pub(super) fn width_of(text: &str, size: f64) -> f64 {
    let characters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    f64::from(characters) * size * 0.56
}
