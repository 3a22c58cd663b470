//! Points in time as text, as RFC 3339 writes them.

use arrow_schema::TimeUnit;
use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Timestamp};

/// Nanoseconds of one unit.
fn nanoseconds(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// `2024-05-06T07:08:09.5Z`; without the `Z` where the column knows no zone. `None` is outside the years that can be written.
pub(super) fn timestamp(value: i64, unit: TimeUnit, has_zone: bool) -> Option<String> {
    let at = Timestamp::from_nanosecond(i128::from(value) * nanoseconds(unit)).ok()?;
    let text = at.to_string();
    Some(match text.strip_suffix('Z') {
        Some(civil) if !has_zone => civil.to_owned(),
        _ => text,
    })
}

/// `2024-05-06`, of days since 1970.
pub(super) fn date(days: i64) -> Option<String> {
    let hours = days.checked_mul(24)?;
    let epoch = Date::constant(1970, 1, 1);
    let date = epoch.checked_add(SignedDuration::try_from_hours(hours)?);
    date.ok().map(|date| date.to_string())
}

/// `07:08:09.5`, of units since midnight.
pub(super) fn time(value: i64, unit: TimeUnit) -> Option<String> {
    let since = i128::from(value) * nanoseconds(unit);
    let time = Time::midnight().checked_add(SignedDuration::from_nanos_i128(since));
    let in_day = (0..86_400 * nanoseconds(TimeUnit::Second)).contains(&since);
    time.ok().filter(|_| in_day).map(|time| time.to_string())
}
