//! Schedules in words: what a person chooses in the form, as cron, and back again. What no choice
//! says stays cron. Pure; whether a cron text can be read is the scheduler's to say.

/// A schedule that the form has words for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SchedulePreset {
    /// The value of the option in the form.
    pub(super) kind: &'static str,
    /// The time of day, `07:30`; nothing where every hour is meant.
    pub(super) at: String,
    /// The day of the week, 0 is Sunday; where that counts.
    pub(super) weekday: String,
}

/// The time that is offered where nobody chose one.
pub(super) const TIME: &str = "07:00";
/// The day that is offered: Monday.
pub(super) const WEEKDAY: &str = "1";

/// Options of the form, with their words.
pub(super) const KINDS: &[(&str, &str)] = &[
    ("none", "Only when I start it"),
    ("hourly", "Every hour"),
    ("daily", "Every day"),
    ("weekdays", "Every weekday (Monday to Friday)"),
    ("weekly", "Every week"),
    ("monthly", "Every month, on the first"),
    ("custom", "Custom (cron)"),
];

/// Days of the week, with their words.
pub(super) const WEEKDAYS: &[(&str, &str)] = &[
    ("1", "Monday"),
    ("2", "Tuesday"),
    ("3", "Wednesday"),
    ("4", "Thursday"),
    ("5", "Friday"),
    ("6", "Saturday"),
    ("0", "Sunday"),
];

/// Hour and minute of `07:30`.
fn parse_time(at: &str) -> Option<(u8, u8)> {
    let (hour, minute) = at.split_once(':')?;
    // Browsers may add seconds.
    let minute = minute.split(':').next()?;
    let (hour, minute) = (hour.parse().ok()?, minute.parse().ok()?);
    (hour < 24 && minute < 60).then_some((hour, minute))
}

/// The schedule that was chosen, as cron; `None`: none. `cron`: what was typed for a custom one.
///
/// # Errors
/// The time or the day cannot be read: the sentence to show.
pub(super) fn preset_to_cron(
    kind: &str,
    at: &str,
    weekday: &str,
    cron: Option<String>,
) -> Result<Option<String>, String> {
    let at = if at.is_empty() { TIME } else { at };
    let clock =
        || parse_time(at).ok_or_else(|| format!("Time: {at:?} is no time of day, such as 07:30"));
    let day = || {
        let day = if weekday.is_empty() { WEEKDAY } else { weekday };
        let known = WEEKDAYS.iter().find(|(known, _)| *known == day);
        known.map(|(day, _)| *day).ok_or_else(|| format!("Day: there is no weekday {day:?}"))
    };
    let made = match kind {
        "none" => return Ok(None),
        "hourly" => "0 * * * *".to_owned(),
        "daily" => clock().map(|(hour, minute)| format!("{minute} {hour} * * *"))?,
        "weekdays" => clock().map(|(hour, minute)| format!("{minute} {hour} * * 1-5"))?,
        "weekly" => {
            let (hour, minute) = clock()?;
            format!("{minute} {hour} * * {}", day()?)
        }
        "monthly" => clock().map(|(hour, minute)| format!("{minute} {hour} 1 * *"))?,
        // A form that was made before there were choices sends cron alone.
        _ => return Ok(cron),
    };
    Ok(Some(made))
}

/// The choice that says the same as a cron text; `None`: no choice does.
pub(super) fn preset_from_cron(cron: &str) -> Option<SchedulePreset> {
    let fields: Vec<&str> = cron.split_whitespace().collect();
    let preset = |kind, at: &str, weekday: &str| {
        Some(SchedulePreset { kind, at: at.to_owned(), weekday: weekday.to_owned() })
    };
    match fields[..] {
        ["@hourly"] | ["0", "*", "*", "*", "*"] => return preset("hourly", "", ""),
        [_, _, _, _, _] => (),
        _ => return None,
    }
    let [minute, hour, day, month, weekday] = fields[..] else { return None };
    let at = format!("{hour:0>2}:{minute:0>2}");
    parse_time(&at)?;
    match (day, month, weekday) {
        ("*", "*", "*") => preset("daily", &at, ""),
        ("*", "*", "1-5" | "MON-FRI") => preset("weekdays", &at, ""),
        ("1", "*", "*") => preset("monthly", &at, ""),
        ("*", "*", day) if WEEKDAYS.iter().any(|(known, _)| *known == day) => {
            preset("weekly", &at, day)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{KINDS, preset_from_cron, preset_to_cron};

    #[test]
    fn s8_a_schedule_in_words_is_cron_and_back() {
        for (kind, at, weekday, text) in [
            ("hourly", "", "", "0 * * * *"),
            ("daily", "07:00", "", "0 7 * * *"),
            ("weekdays", "08:30", "", "30 8 * * 1-5"),
            ("weekly", "23:59", "0", "59 23 * * 0"),
            ("monthly", "00:05", "", "5 0 1 * *"),
        ] {
            assert_eq!(preset_to_cron(kind, at, weekday, None), Ok(Some(text.into())));
            let back = preset_from_cron(text).expect(text);
            assert_eq!((back.kind, &*back.at, &*back.weekday), (kind, at, weekday));
            assert!(KINDS.iter().any(|(known, _)| *known == kind));
        }
        assert_eq!(preset_to_cron("daily", "", "", None), Ok(Some("0 7 * * *".into())));
        assert_eq!(preset_to_cron("daily", "07:30:00", "", None), Ok(Some("30 7 * * *".into())));
    }

    #[test]
    fn s8_what_no_word_says_stays_cron() {
        for text in ["*/5 * * * *", "0 7 * * 1,3", "0 7 15 * *", "0 7 * 6 *", "0 99 * * *", "", "x"]
        {
            assert_eq!(preset_from_cron(text), None, "{text}");
        }
        assert_eq!(
            preset_to_cron("custom", "", "", Some("*/5 * * * *".into())),
            Ok(Some("*/5 * * * *".into()))
        );
        // What is left of a schedule that was typed before does not count.
        assert_eq!(preset_to_cron("none", "", "", Some("*/5 * * * *".into())), Ok(None));
        assert_eq!(
            preset_to_cron("", "", "", Some("0 7 * * *".into())),
            Ok(Some("0 7 * * *".into()))
        );
        assert!(preset_to_cron("daily", "25:00", "", None).is_err());
        assert!(preset_to_cron("weekly", "07:00", "9", None).is_err());
    }
}
