//! Dates in the formats of Moment.js, which Obsidian's settings and bases use. English names. Not here:
//! which day it is.

use jiff::civil::DateTime;

/// Longest format that is followed.
const FORMAT_CHARS_MAX: usize = 500;

/// Signs that mean something, longest first where they begin alike.
const TOKENS: &[&str] = &[
    "YYYY", "YY", "Y", "Qo", "Q", "MMMM", "MMM", "MM", "Mo", "M", "DDDD", "DDDo", "DDD", "DD",
    "Do", "D", "dddd", "ddd", "dd", "do", "d", "E", "e", "GGGG", "GG", "gggg", "gg", "WW", "Wo",
    "W", "ww", "wo", "w", "HH", "H", "hh", "h", "kk", "k", "A", "a", "mm", "m", "ss", "s", "SSS",
    "SS", "S", "X", "x", "ZZ", "Z", "LTS", "LT", "LLLL", "LLL", "LL", "L",
];

/// A moment in this format. Text in brackets stands as it is; what is no sign stands as it is too. The
/// zone's signs are those of `offset_minutes`.
pub fn format_moment(at: DateTime, format: &str, offset_minutes: i64) -> String {
    let format: String = format.chars().take(FORMAT_CHARS_MAX).collect();
    let mut text = String::new();
    let mut rest = format.as_str();
    while let Some(letter) = rest.chars().next() {
        if let Some(quoted) = rest.strip_prefix('[')
            && let Some(end) = quoted.find(']')
        {
            text.push_str(&quoted[..end]);
            rest = &quoted[end + 1..];
            continue;
        }
        match TOKENS.iter().find(|token| rest.starts_with(**token)) {
            Some(token) => {
                text.push_str(&token_text(at, token, offset_minutes));
                rest = &rest[token.len()..];
            }
            None => {
                text.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    text
}

fn token_text(at: DateTime, token: &str, offset_minutes: i64) -> String {
    let strf = |format: &str| at.strftime(format).to_string();
    let weekday = at.weekday().to_sunday_zero_offset();
    let iso = at.date().iso_week_date();
    // Weeks that begin on Sunday, the first of which has the first of January in it.
    let first = at.date().first_of_year().weekday().to_sunday_zero_offset();
    let week = (i64::from(at.day_of_year()) - 1 + i64::from(first)) / 7 + 1;
    let week = if week == 53
        && i64::from(at.date().last_of_year().weekday().to_sunday_zero_offset()) < 6
    {
        1
    } else {
        week
    };
    match token {
        "YYYY" => format!("{:04}", at.year()),
        "Y" => at.year().to_string(),
        "YY" => format!("{:02}", at.year().rem_euclid(100)),
        "Q" => ((at.month() + 2) / 3).to_string(),
        "Qo" => ordinal_text(i64::from((at.month() + 2) / 3)),
        "MMMM" => strf("%B"),
        "MMM" => strf("%b"),
        "MM" => format!("{:02}", at.month()),
        "Mo" => ordinal_text(i64::from(at.month())),
        "M" => at.month().to_string(),
        "DDDD" => format!("{:03}", at.day_of_year()),
        "DDDo" => ordinal_text(i64::from(at.day_of_year())),
        "DDD" => at.day_of_year().to_string(),
        "DD" => format!("{:02}", at.day()),
        "Do" => ordinal_text(i64::from(at.day())),
        "D" => at.day().to_string(),
        "dddd" => strf("%A"),
        "ddd" => strf("%a"),
        "dd" => strf("%a").chars().take(2).collect(),
        "do" => ordinal_text(i64::from(weekday)),
        "d" | "e" => weekday.to_string(),
        "E" => at.weekday().to_monday_one_offset().to_string(),
        "GGGG" => format!("{:04}", iso.year()),
        "GG" => format!("{:02}", iso.year().rem_euclid(100)),
        "gggg" => format!("{:04}", week_year(at, week)),
        "gg" => format!("{:02}", week_year(at, week).rem_euclid(100)),
        "WW" => format!("{:02}", iso.week()),
        "Wo" => ordinal_text(i64::from(iso.week())),
        "W" => iso.week().to_string(),
        "ww" => format!("{week:02}"),
        "wo" => ordinal_text(week),
        "w" => week.to_string(),
        "X" => unix_ms(at, offset_minutes).div_euclid(1000).to_string(),
        "x" => unix_ms(at, offset_minutes).to_string(),
        "Z" => offset_text(offset_minutes, ":"),
        "ZZ" => offset_text(offset_minutes, ""),
        "LT" => format_moment(at, "h:mm A", offset_minutes),
        "LTS" => format_moment(at, "h:mm:ss A", offset_minutes),
        "L" => format_moment(at, "MM/DD/YYYY", offset_minutes),
        "LL" => format_moment(at, "MMMM D, YYYY", offset_minutes),
        "LLL" => format_moment(at, "MMMM D, YYYY h:mm A", offset_minutes),
        "LLLL" => format_moment(at, "dddd, MMMM D, YYYY h:mm A", offset_minutes),
        token => clock_text(at, token),
    }
}

/// The signs of a time of day.
fn clock_text(at: DateTime, token: &str) -> String {
    let hour12 = if at.hour() % 12 == 0 { 12 } else { at.hour() % 12 };
    let hour24 = if at.hour() == 0 { 24 } else { at.hour() };
    match token {
        "HH" => format!("{:02}", at.hour()),
        "H" => at.hour().to_string(),
        "hh" => format!("{hour12:02}"),
        "h" => hour12.to_string(),
        "kk" => format!("{hour24:02}"),
        "k" => hour24.to_string(),
        "A" => (if at.hour() < 12 { "AM" } else { "PM" }).to_owned(),
        "a" => (if at.hour() < 12 { "am" } else { "pm" }).to_owned(),
        "mm" => format!("{:02}", at.minute()),
        "m" => at.minute().to_string(),
        "ss" => format!("{:02}", at.second()),
        "s" => at.second().to_string(),
        "SSS" => format!("{:03}", at.millisecond()),
        "SS" => format!("{:02}", at.millisecond() / 10),
        "S" => (at.millisecond() / 100).to_string(),
        other => other.to_owned(),
    }
}

fn week_year(at: DateTime, week: i64) -> i64 {
    i64::from(at.year()) + i64::from(week == 1 && at.month() == 12)
}

fn unix_ms(at: DateTime, offset_minutes: i64) -> i64 {
    let zoned = at.to_zoned(jiff::tz::TimeZone::UTC);
    zoned.map_or(0, |zoned| zoned.timestamp().as_millisecond()) - offset_minutes * 60_000
}

fn offset_text(minutes: i64, between: &str) -> String {
    let sign = if minutes < 0 { '-' } else { '+' };
    format!("{sign}{:02}{between}{:02}", minutes.abs() / 60, minutes.abs() % 60)
}

fn ordinal_text(number: i64) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}
