//! Cron expressions in zones, at daylight-saving changes above all.

use super::*;

fn at(text: &str) -> Timestamp {
    let moment: jiff::Timestamp = text.parse().expect("a moment");
    Timestamp(moment.as_microsecond())
}

/// The ticks after `from`, as they are read in the zone, without its name.
fn ticks(expression: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
    let calendar = Calendar::new(expression, zone).expect("an expression");
    let mut moment = at(from);
    let mut found = Vec::new();
    for _ in 0..count {
        moment = calendar.next_tick_after(moment).expect("there is another");
        found.push(
            calendar.local_time_text(moment).split('[').next().unwrap_or_default().to_owned(),
        );
    }
    found
}

fn check(expression: &str, zone: &str, from: &str, expected: &[&str]) {
    assert_eq!(ticks(expression, zone, from, expected.len()), expected, "{expression} in {zone}");
}

#[test]
fn m7_a_tick_in_the_gap_comes_at_its_end_and_in_the_doubled_hour_once() {
    // Berlin goes from 02:00 to 03:00 on 29 March and from 03:00 to 02:00 on 25 October 2026.
    check(
        "30 2 * * *",
        "Europe/Berlin",
        "2026-03-27T12:00:00Z",
        &["2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"],
    );
    check(
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-24T12:00:00Z",
        &["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"],
    );
    // New York: 8 March and 1 November 2026.
    check(
        "30 2 * * *",
        "America/New_York",
        "2026-03-07T12:00:00Z",
        &["2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"],
    );
    check(
        "30 1 * * *",
        "America/New_York",
        "2026-10-31T12:00:00Z",
        &["2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"],
    );
}

#[test]
fn m7_intervals_follow_the_clock_over_a_change() {
    check(
        "0 */6 * * *",
        "Europe/Berlin",
        "2026-03-28T20:00:00Z",
        &["2026-03-29T00:00:00+01:00", "2026-03-29T06:00:00+02:00", "2026-03-29T12:00:00+02:00"],
    );
    check(
        "0 */6 * * *",
        "Europe/Berlin",
        "2026-10-24T20:00:00Z",
        &["2026-10-25T00:00:00+02:00", "2026-10-25T06:00:00+01:00", "2026-10-25T12:00:00+01:00"],
    );
    check(
        "0 * * * *",
        "Europe/Berlin",
        "2026-10-24T23:30:00Z",
        &["2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"],
    );
    check(
        "*/30 * * * *",
        "America/New_York",
        "2026-03-08T06:15:00Z",
        &["2026-03-08T01:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T03:30:00-04:00"],
    );
}

#[test]
fn m7_days_words_and_seconds() {
    check("0 0 L * *", "UTC", "2026-01-31T12:00:00Z", &["2026-02-28T00:00:00+00:00"]);
    check("0 0 29 2 *", "UTC", "2026-03-07T12:00:00Z", &["2028-02-29T00:00:00+00:00"]);
    check("0 9 * * MON-FRI", "UTC", "2026-03-27T12:00:00Z", &["2026-03-30T09:00:00+00:00"]);
    check("@daily", "Europe/Berlin", "2026-03-07T12:00:00Z", &["2026-03-08T00:00:00+01:00"]);
    check("@Weekly", "UTC", "2026-03-07T12:00:00Z", &["2026-03-08T00:00:00+00:00"]);
    check(
        "*/20 * * * * *",
        "UTC",
        "2026-03-07T12:00:00.5Z",
        &["2026-03-07T12:00:20+00:00", "2026-03-07T12:00:40+00:00", "2026-03-07T12:01:00+00:00"],
    );
    // Day and weekday together mean either, as cron always had it.
    check(
        "0 0 13 * 5",
        "UTC",
        "2026-05-09T12:00:00Z",
        &["2026-05-13T00:00:00+00:00", "2026-05-15T00:00:00+00:00"],
    );
}

#[test]
fn m7_what_is_no_expression_is_said_and_never_hangs() {
    let long = "0 ".repeat(150);
    for (expression, words) in [
        ("", "it is empty"),
        ("   ", "it is empty"),
        ("* * * *", "five or six fields"),
        ("* * * * * * *", "five or six fields"),
        ("@reboot", "no such word"),
        ("@daily @weekly", "no such word"),
        ("60 * * * *", "out of bounds"),
        ("*/0 * * * *", "zero"),
        ("0 0 1 1 8", "out of bounds"),
        ("0 0 * * é", "illegal character"),
        ("0 0 30 2 *", "no year has"),
        ("0 0 31 4,6,9,11 *", "no year has"),
        ("0 0 30W 2 *", "no year has"),
        (long.as_str(), "longer than"),
    ] {
        let error = Calendar::new(expression, "UTC").expect_err(expression).to_string();
        assert!(
            error.contains(words) && error.contains("minute hour day"),
            "{expression}: {error}"
        );
    }
    for zone in ["", "Mars/Olympus", "Europe/Berlinn", "../etc/passwd", "EUROPE"] {
        let error = Calendar::new("@daily", zone).expect_err(zone).to_string();
        assert!(error.contains("no time zone"), "{zone}: {error}");
    }
}

#[test]
fn m7_passed_ticks_are_counted_within_bounds() {
    let calendar = Calendar::new("0 8 * * *", "UTC").expect("an expression");
    let (from, to) = (at("2026-11-01T08:00:00Z"), at("2026-11-04T08:00:00Z"));
    let days = PassedTicks { oldest: at("2026-11-02T08:00:00Z"), newest: to, count: 3 };
    assert_eq!(
        calendar.passed_ticks(from, to),
        Some(days),
        "the first is known, the last has come"
    );
    assert_eq!(calendar.passed_ticks(from, at("2026-11-02T07:59:59.9Z")), None);
    assert_eq!(calendar.passed_ticks(to, from), None, "a clock that went back");
    let seconds = Calendar::new("* * * * * *", "UTC").expect("an expression");
    let passed = seconds.passed_ticks(at("2025-01-01T00:00:00Z"), at("2026-01-01T00:00:00.7Z"));
    let newest = at("2026-01-01T00:00:00Z");
    let passed = passed.expect("there are some");
    assert_eq!((passed.newest, passed.count), (newest, PassedTicks::count_max()));
}
