/// Formats an average temperature, given in tenths of a degree, in at most four characters: with
/// its tenth if that fits, otherwise in whole degrees; `--` if it is unknown.
#[must_use]
pub(crate) fn temperature_text(tenths: Option<i16>) -> String {
    match tenths {
        None => "--".to_owned(),
        Some(tenths @ -99..=999) => {
            let sign = if tenths < 0 { "-" } else { "" };
            let size = tenths.unsigned_abs();
            format!("{sign}{}.{}", size / 10, size % 10)
        }
        Some(tenths) => whole_degrees(tenths).to_string(),
    }
}

/// Tenths of a degree in whole degrees, rounded half away from zero.
#[must_use]
pub(crate) fn whole_degrees(tenths: i16) -> i16 {
    tenths.saturating_add(5 * tenths.signum()) / 10
}

/// The text of an indicator: temperature and, if known, the time of day: `21.4 C 10:05`.
///
/// `time` is in seconds since 1970-01-01, local time is ahead of UTC by `utc_offset` minutes.
#[must_use]
pub(crate) fn display_text(tenths: Option<i16>, time: Option<u32>, utc_offset: i16) -> String {
    let temperature = temperature_text(tenths);
    let Some(time) = time else {
        return format!("{temperature} C");
    };
    let minutes = i64::from(time / 60) + i64::from(utc_offset);
    let (hour, minute) = (minutes.div_euclid(60).rem_euclid(24), minutes.rem_euclid(60));
    format!("{temperature} C {hour:02}:{minute:02}")
}
