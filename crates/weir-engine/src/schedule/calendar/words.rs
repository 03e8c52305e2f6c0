//! Cron expressions in plain words, for people who do not read them. The common ones are said as one
//! would say them; the others as their parser says them.

/// The words of an expression that is known to be one; `None`: it is not one of the common ones.
pub(super) fn common_schedule_text(expression: &str) -> Option<String> {
    let text = expression.trim();
    if text.starts_with('@') {
        return Some(nickname_text(&text.to_ascii_lowercase())?.to_owned());
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields[..] else { return None };
    if month != "*" {
        return None;
    }
    if let (Some(step), "*", "*", "*") = (minute.strip_prefix("*/"), hour, day, weekday) {
        let step: u32 = step.parse().ok()?;
        return Some(if step == 1 {
            "Every minute".into()
        } else {
            format!("Every {step} minutes")
        });
    }
    if (minute, hour, day, weekday) == ("*", "*", "*", "*") {
        return Some("Every minute".into());
    }
    let minute: u32 = minute.parse().ok()?;
    if (hour, day, weekday) == ("*", "*", "*") {
        return Some(format!("Every hour at minute {minute}"));
    }
    if let (Some(step), "*", "*") = (hour.strip_prefix("*/"), day, weekday) {
        let step: u32 = step.parse().ok()?;
        return Some(format!("Every {step} hours at minute {minute}"));
    }
    let hour: u32 = hour.parse().ok()?;
    let days = match (day, weekday) {
        ("*", "*") => "Every day".to_owned(),
        ("*", days) => format!("Every {}", weekdays_text(days)?),
        (day, "*") => format!("On day {} of every month", day.parse::<u32>().ok()?),
        _ => return None,
    };
    Some(format!("{days} at {hour:02}:{minute:02}"))
}

fn nickname_text(name: &str) -> Option<&'static str> {
    Some(match name {
        "@hourly" => "Every hour, on the hour",
        "@daily" => "Every day at 00:00",
        "@weekly" => "Every Sunday at 00:00",
        "@monthly" => "On day 1 of every month at 00:00",
        "@yearly" | "@annually" => "Every year on 1 January at 00:00",
        _ => return None,
    })
}

/// `MON-FRI` as `weekday (Monday to Friday)`, `1,3` as `Monday and Wednesday`.
fn weekdays_text(field: &str) -> Option<String> {
    if let Some((from, to)) = field.split_once('-') {
        let (from, to) = (weekday_name(from)?, weekday_name(to)?);
        return Some(match (from, to) {
            ("Monday", "Friday") => "weekday (Monday to Friday)".into(),
            _ => format!("day from {from} to {to}"),
        });
    }
    let named: Vec<&str> = field.split(',').map(weekday_name).collect::<Option<_>>()?;
    let (last, first) = named.split_last()?;
    Some(match first {
        [] => (*last).to_owned(),
        _ => format!("{} and {last}", first.join(", ")),
    })
}

fn weekday_name(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_uppercase().as_str() {
        "0" | "7" | "SUN" => "Sunday",
        "1" | "MON" => "Monday",
        "2" | "TUE" => "Tuesday",
        "3" | "WED" => "Wednesday",
        "4" | "THU" => "Thursday",
        "5" | "FRI" => "Friday",
        "6" | "SAT" => "Saturday",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s8_common_expressions_are_said_in_words() {
        for (expression, words) in [
            ("0 8 * * MON-FRI", Some("Every weekday (Monday to Friday) at 08:00")),
            ("30 6 * * 1,3,sun", Some("Every Monday, Wednesday and Sunday at 06:30")),
            ("5 0 * * *", Some("Every day at 00:05")),
            ("0 12 15 * *", Some("On day 15 of every month at 12:00")),
            ("*/15 * * * *", Some("Every 15 minutes")),
            ("* * * * *", Some("Every minute")),
            ("7 * * * *", Some("Every hour at minute 7")),
            ("0 */6 * * *", Some("Every 6 hours at minute 0")),
            ("@Weekly", Some("Every Sunday at 00:00")),
            ("0 8 1 1 *", None),
            ("0 8 * * MON#2", None),
            ("0 0 8 * * *", None),
        ] {
            assert_eq!(common_schedule_text(expression).as_deref(), words, "{expression}");
        }
    }
}
