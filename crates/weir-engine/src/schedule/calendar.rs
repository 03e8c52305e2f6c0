//! When a scheduled agent is due (M7): cron expressions in a time zone.
//!
//! The crate `croner` knows the calendar, `jiff` the zones. When the clocks go forward, a fixed time
//! that does not exist comes due at the end of the gap; when they go back, a fixed time comes due
//! once, the first time round; an interval (`*/15`, `0 * * * *`) follows the real time. Not here:
//! what is done about a tick.

use croner::Cron;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Zoned;
use jiff::tz::TimeZone;
use weir_core::ids::Timestamp;

mod words;

/// Longest expression, in characters.
const EXPRESSION_CHARS_MAX: usize = 200;
/// Ticks that are counted when many were missed.
const COUNTED_MAX: usize = 1_000;
/// Words for expressions that people write often.
const NICKNAMES: [&str; 6] = ["@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@annually"];

/// An expression that is none, or a zone that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CalendarError(String);

/// A cron expression in a zone.
#[derive(Debug, Clone)]
pub struct Calendar {
    cron: Cron,
    zone: TimeZone,
    text: String,
}

/// Ticks that lie between two moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassedTicks {
    /// The first of them.
    pub oldest: Timestamp,
    /// The last of them.
    pub newest: Timestamp,
    /// How many; at most [`PassedTicks::count_max`] are counted.
    pub count: usize,
}

impl PassedTicks {
    /// Where counting ends.
    pub fn count_max() -> usize {
        COUNTED_MAX
    }
}

impl Calendar {
    /// Reads an expression of five fields (minute, hour, day, month, weekday), of six with seconds
    /// first, or a word such as `@daily`.
    ///
    /// # Errors
    /// It is none, it never comes due, or there is no such zone; in words that say what to write.
    pub fn new(expression: &str, zone: &str) -> Result<Calendar, CalendarError> {
        let zone = time_zone(zone)?;
        let wrong = |why: &str| {
            CalendarError(format!(
                "the cron expression {expression:?} cannot be used: {why}; write five fields \
                 (minute hour day month weekday), six with seconds first, or one of {}",
                NICKNAMES.join(", ")
            ))
        };
        if expression.chars().count() > EXPRESSION_CHARS_MAX {
            return Err(wrong(&format!("it is longer than {EXPRESSION_CHARS_MAX} characters")));
        }
        let text = expression.trim();
        let is_nickname = NICKNAMES.iter().any(|name| name.eq_ignore_ascii_case(text));
        if text.starts_with('@') && !is_nickname {
            return Err(wrong("there is no such word"));
        }
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed);
        let cron = parser.build().parse(text).map_err(|error| wrong(&cron_error_text(&error)))?;
        let calendar = Calendar { cron, zone, text: text.to_owned() };
        // From a fixed day on, so that the answer does not depend on when it is asked.
        match calendar.next_tick_after(Timestamp(0)) {
            Some(_) => Ok(calendar),
            None => Err(wrong("it names days that no year has")),
        }
    }

    /// The first tick after `moment`; none: there is none any more.
    pub fn next_tick_after(&self, moment: Timestamp) -> Option<Timestamp> {
        let next = self.cron.find_next_occurrence(&self.zoned_second(moment)?, false).ok()?;
        // A fraction of a second is left over from `moment` otherwise.
        let next = Timestamp(next.timestamp().as_second().checked_mul(1_000_000)?);
        (next > moment).then_some(next)
    }

    /// The last tick up to and with `moment`.
    fn up_to(&self, moment: Timestamp) -> Option<Timestamp> {
        let last = self.cron.find_previous_occurrence(&self.zoned_second(moment)?, true).ok()?;
        Some(Timestamp(last.timestamp().as_second().checked_mul(1_000_000)?))
    }

    /// The ticks after `from` up to and with `to`; none where there are none. However long the time
    /// between the two, it does a bounded amount of work.
    pub fn passed_ticks(&self, from: Timestamp, to: Timestamp) -> Option<PassedTicks> {
        let oldest = self.next_tick_after(from).filter(|tick| *tick <= to)?;
        let mut newest = oldest;
        let mut count = 1;
        while count < COUNTED_MAX {
            match self.next_tick_after(newest).filter(|tick| *tick <= to) {
                Some(next) => newest = next,
                None => return Some(PassedTicks { oldest, newest, count }),
            }
            count += 1;
        }
        newest = self.up_to(to).unwrap_or(newest).max(newest);
        Some(PassedTicks { oldest, newest, count })
    }

    /// `moment` as people in the zone read it: `2026-11-22T08:00:00+01:00[Europe/Berlin]`.
    pub fn local_time_text(&self, moment: Timestamp) -> String {
        self.zoned_second(moment).map_or_else(|| moment.to_string(), |zoned| zoned.to_string())
    }

    /// When it is due, in plain words.
    pub fn schedule_text(&self) -> String {
        words::common_schedule_text(&self.text).unwrap_or_else(|| self.cron.describe())
    }

    /// The second of `moment`, in the zone.
    fn zoned_second(&self, moment: Timestamp) -> Option<Zoned> {
        let second = moment.micros().div_euclid(1_000_000);
        let moment = jiff::Timestamp::from_second(second).ok()?;
        Some(moment.to_zoned(self.zone.clone()))
    }
}

/// The zone of this name, such as `Europe/Berlin` or `UTC`.
///
/// # Errors
/// There is none; in words.
pub fn time_zone(name: &str) -> Result<TimeZone, CalendarError> {
    let unknown = || {
        CalendarError(format!(
            "there is no time zone {name:?}; write the name of one, such as Europe/Berlin, \
             America/New_York or UTC"
        ))
    };
    if name.trim().is_empty() {
        return Err(unknown());
    }
    TimeZone::get(name).map_err(|_| unknown())
}

/// What the parser says, without its own names.
fn cron_error_text(error: &CronError) -> String {
    match error {
        CronError::EmptyPattern => "it is empty".into(),
        CronError::InvalidDate | CronError::InvalidTime | CronError::TimeSearchLimitExceeded => {
            "it never comes due".into()
        }
        CronError::InvalidPattern(_) => "it has not five or six fields".into(),
        CronError::IllegalCharacters(why) | CronError::ComponentError(why) => {
            why.replace("CronPattern", "it").trim_end_matches('.').to_owned()
        }
    }
}

#[cfg(test)]
mod tests;
