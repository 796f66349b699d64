//! The backlight of the indicators, computed from the light in the building.

use super::ClimateSettings;
use crate::model::Timestamp;

/// The parts into which a step of brightness is divided, so that a slow change is not lost in
/// rounding.
const PARTS: i128 = 256;

/// The backlight that suits a steady illuminance: `brightness_least` in the dark, more with the
/// square root of the light, as the eye sees it, up to `brightness_most`. An unknown illuminance
/// has `brightness_most`: what dazzles can still be read.
#[must_use]
pub(crate) fn brightness(illuminance: Option<u8>, settings: &ClimateSettings) -> u8 {
    let (least, most) = (settings.brightness_least, settings.brightness_most);
    let Some(illuminance) = illuminance else {
        return most;
    };
    let root = (u32::from(illuminance) * 255).isqrt();
    let above = u32::from(most.saturating_sub(least)) * root / 255;
    least.saturating_add(u8::try_from(above).unwrap_or(u8::MAX))
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Dimmer {
    /// The brightness in [`PARTS`], and since when.
    level: Option<(i128, Timestamp)>,
}

impl Dimmer {
    /// The backlight now, on its way to the target for this illuminance. The first one is reached
    /// at once.
    ///
    /// In the time `t` since the last call it covers `t / (t + brightness_smoothing)` of the way,
    /// which approximates an exponential approach if `t` is short.
    pub(crate) fn dim(
        &mut self,
        illuminance: Option<u8>,
        settings: &ClimateSettings,
        now: Timestamp,
    ) -> u8 {
        let target = i128::from(brightness(illuminance, settings)) * PARTS;
        let level = match self.level {
            None => target,
            Some((level, at)) => {
                let passed = now.since(at).as_micros().cast_signed();
                let smoothing = settings.brightness_smoothing.as_micros().cast_signed();
                let whole = passed.saturating_add(smoothing).max(1);
                let way = if smoothing == 0 { whole } else { passed };
                level + (target - level).saturating_mul(way) / whole
            }
        };
        self.level = Some((level, now));
        shown(level)
    }

    /// Continues from the display data of another master, so that a change of master is not
    /// visible.
    pub(crate) fn follow(&mut self, brightness: u8, now: Timestamp) {
        match &mut self.level {
            Some((level, at)) if shown(*level) == brightness => *at = now,
            Some(_) | None => self.level = Some((i128::from(brightness) * PARTS, now)),
        }
    }
}

fn shown(level: i128) -> u8 {
    u8::try_from((level + PARTS / 2) / PARTS).unwrap_or(u8::MAX)
}
