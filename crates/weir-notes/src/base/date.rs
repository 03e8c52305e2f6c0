//! Dates and durations of bases: reading, adding, telling how long ago. Not here: formats (`moment`).

use jiff::civil::{Date, DateTime};
use jiff::{Span, Unit};

/// A day, or a moment of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DateValue {
    pub(super) at: DateTime,
    pub(super) has_time: bool,
}

impl DateValue {
    /// `2025-01-31`, `2025-01-31 12:00`, `2025-01-31T12:00:00`.
    pub(super) fn parse_date(text: &str) -> Option<DateValue> {
        let text = text.trim();
        if let Ok(day) = text.parse::<Date>()
            && text.len() <= 10
        {
            let at = day.to_datetime(jiff::civil::Time::midnight());
            return Some(DateValue { at, has_time: false });
        }
        let at = text.trim_end_matches('Z').parse::<DateTime>().ok()?;
        Some(DateValue { at, has_time: true })
    }
    pub(super) fn to_text(self) -> String {
        let format = if self.has_time { "%Y-%m-%d %H:%M:%S" } else { "%Y-%m-%d" };
        self.at.strftime(format).to_string()
    }
    /// Milliseconds since 1970, read as if in UTC.
    pub(super) fn to_unix_ms(self) -> f64 {
        let since = self.at.since((Unit::Millisecond, DateTime::constant(1970, 1, 1, 0, 0, 0, 0)));
        since.ok().and_then(|span| span.total(Unit::Millisecond).ok()).unwrap_or(f64::NAN)
    }
    /// Later or, with `sign` −1, earlier.
    pub(super) fn add_duration(self, by: DurationValue, sign: f64) -> Option<DateValue> {
        let months = Span::new().try_months(to_whole(by.months * sign)?).ok()?;
        let ms = Span::new().try_milliseconds(to_whole(by.ms * sign)?).ok()?;
        let at = self.at.checked_add(months).ok()?.checked_add(ms).ok()?;
        let day = by.ms % 86_400_000.0 == 0.0;
        Some(DateValue { at, has_time: self.has_time || !day })
    }
    /// `3 days ago`, `in 2 hours`.
    pub(super) fn describe_distance(self, now: DateTime) -> String {
        let ms = DateValue { at: now, has_time: true }.to_unix_ms() - self.to_unix_ms();
        let (past, minutes) = (ms >= 0.0, ms.abs() / 60_000.0);
        let (count, unit) = match minutes {
            m if m < 0.75 => {
                return if past { "a few seconds ago" } else { "in a few seconds" }.into();
            }
            m if m < 45.0 => (m.round(), "minute"),
            m if m < 22.0 * 60.0 => ((m / 60.0).round(), "hour"),
            m if m < 26.0 * 1440.0 => ((m / 1440.0).round(), "day"),
            m if m < 320.0 * 1440.0 => ((m / 43_800.0).round(), "month"),
            m => ((m / 525_600.0).round(), "year"),
        };
        let count = count.max(1.0);
        let words = match (count, unit) {
            (1.0, "hour") => "an hour".to_owned(),
            (1.0, unit) => format!("a {unit}"),
            (count, unit) => format!("{count} {unit}s"),
        };
        if past { format!("{words} ago") } else { format!("in {words}") }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "it is within bounds")]
fn to_whole(number: f64) -> Option<i64> {
    (number.is_finite() && number.abs() < 9e15).then_some(number.round() as i64)
}

/// A length of time. Months have no fixed length, so they are kept apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DurationValue {
    pub(super) months: f64,
    pub(super) ms: f64,
}

impl DurationValue {
    /// `1d`, `2 weeks`, `-3h`, several in a row.
    pub(super) fn parse_duration(text: &str) -> Option<DurationValue> {
        let mut found = DurationValue { months: 0.0, ms: 0.0 };
        let mut rest = text.trim();
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let end = rest.find(|c: char| c.is_alphabetic())?;
            let count: f64 = rest[..end].trim().parse().ok()?;
            let unit_end =
                rest[end..].find(|c: char| !c.is_alphabetic()).map_or(rest.len(), |at| end + at);
            let unit = &rest[end..unit_end];
            match unit {
                "y" | "year" | "years" => found.months += count * 12.0,
                "M" | "month" | "months" => found.months += count,
                "w" | "week" | "weeks" => found.ms += count * 604_800_000.0,
                "d" | "day" | "days" => found.ms += count * 86_400_000.0,
                "h" | "hour" | "hours" => found.ms += count * 3_600_000.0,
                "m" | "minute" | "minutes" => found.ms += count * 60_000.0,
                "s" | "second" | "seconds" => found.ms += count * 1000.0,
                _ => return None,
            }
            rest = rest[unit_end..].trim_start();
        }
        Some(found)
    }
    pub(super) fn multiply_by(self, factor: f64) -> DurationValue {
        DurationValue { months: self.months * factor, ms: self.ms * factor }
    }
    /// Milliseconds, a month as 30 days.
    pub(super) fn ms_about(self) -> f64 {
        self.months * 2_592_000_000.0 + self.ms
    }
    pub(super) fn to_text(self) -> String {
        let mut parts = Vec::new();
        let mut add = |count: f64, unit: &str| {
            if count != 0.0 {
                parts.push(format!("{count} {unit}{}", if count.abs() == 1.0 { "" } else { "s" }));
            }
        };
        add((self.months / 12.0).trunc(), "year");
        add(self.months % 12.0, "month");
        let mut left = self.ms;
        for (unit, ms) in [("day", 86_400_000.0), ("hour", 3_600_000.0), ("minute", 60_000.0)] {
            add((left / ms).trunc(), unit);
            left %= ms;
        }
        add(left / 1000.0, "second");
        if parts.is_empty() { "0 seconds".into() } else { parts.join(" ") }
    }
}
