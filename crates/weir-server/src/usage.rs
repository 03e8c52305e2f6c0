//! Tokens and cost: gathered of one person or of everybody, summed up by what is asked for. Not
//! here: how the sums come about (the store), or how they are drawn.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;
use weir_core::sorting::sort_stably;
use weir_engine::ports::UsageFilter;

use crate::app::App;
use crate::auth::accounts;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};

mod details;

pub(crate) use details::{UsageDetails, add_details};

/// Days that are shown where nobody says how many.
const DAYS_DEFAULT: i64 = 30;
/// Most days of one look: ten years.
const DAYS_MAX: i64 = 3_660;

/// The days that are summed up, and the person whose usage it is.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UsageQuery {
    /// From this day on, UTC: `2026-01-02`. Without it: thirty days up to `to`.
    #[serde(default)]
    pub(crate) from: String,
    /// To this day, UTC. Without it: today.
    #[serde(default)]
    pub(crate) to: String,
    /// Of everybody, and not of oneself alone: only an admin may.
    #[serde(default)]
    pub(crate) everybody: bool,
}

/// What was used on one day by one person with one model, profile and agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UsageLine {
    /// The day, UTC.
    pub(crate) day: String,
    /// The person whose usage it is.
    pub(crate) person: String,
    /// `provider/name`; `(helper models)`: those beside the chat's own.
    pub(crate) model: String,
    /// The profile.
    pub(crate) profile: String,
    /// The scheduled agent; empty: no schedule began it.
    pub(crate) agent: String,
    /// The sums of the day.
    #[serde(flatten)]
    pub(crate) sum: UsageSum,
}

/// A sum.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UsageSum {
    /// Input tokens at full price.
    pub(crate) input: u64,
    /// Output tokens.
    pub(crate) output: u64,
    /// Input tokens read from the cache.
    pub(crate) cache_read: u64,
    /// Input tokens written to the cache.
    pub(crate) cache_write: u64,
    /// Of the output, reasoning.
    pub(crate) reasoning: u64,
    /// US dollars of the replies whose price is known.
    pub(crate) cost_usd: f64,
    /// Replies whose price nobody knows: missing in the cost.
    pub(crate) unpriced: u64,
    /// Replies of models.
    pub(crate) replies: u64,
    /// Runs that finished.
    pub(crate) runs: u64,
}

impl UsageSum {
    /// All tokens.
    pub(crate) fn total_tokens(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }

    /// Of the input, the share that came from the cache, in per cent; `None`: no input.
    pub(crate) fn cache_share(&self) -> Option<u64> {
        let input = self.input + self.cache_read + self.cache_write;
        (input > 0).then(|| self.cache_read * 100 / input)
    }

    fn add(&mut self, other: &UsageSum) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.reasoning += other.reasoning;
        self.cost_usd += other.cost_usd;
        self.unpriced += other.unpriced;
        self.replies += other.replies;
        self.runs += other.runs;
    }
}

/// What was used in a span of days.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UsageReport {
    /// The first day, UTC.
    pub(crate) from: String,
    /// The last day.
    pub(crate) to: String,
    /// By day, person, model, profile and agent.
    pub(crate) lines: Vec<UsageLine>,
    /// All of it.
    pub(crate) total: UsageSum,
    /// Caps, and what caches missed.
    pub(crate) details: UsageDetails,
}

/// By what lines are summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageGrouping {
    Day,
    Model,
    Person,
    Agent,
    Profile,
}

impl UsageGrouping {
    fn line_key(self, line: &UsageLine) -> &str {
        match self {
            UsageGrouping::Day => &line.day,
            UsageGrouping::Model => &line.model,
            UsageGrouping::Person => &line.person,
            UsageGrouping::Agent => &line.agent,
            UsageGrouping::Profile => &line.profile,
        }
    }
}

impl UsageReport {
    /// Sums by name, in the order of names.
    pub(crate) fn sums_by(&self, by: UsageGrouping) -> BTreeMap<String, UsageSum> {
        let mut sums: BTreeMap<String, UsageSum> = BTreeMap::new();
        for line in &self.lines {
            sums.entry(by.line_key(line).to_owned()).or_default().add(&line.sum);
        }
        sums
    }

    /// One sum for each day of the span, those without use too.
    pub(crate) fn daily_sums(&self) -> Vec<(String, UsageSum)> {
        let sums = self.sums_by(UsageGrouping::Day);
        let (Ok(from), Ok(to)) = (self.from.parse::<Date>(), self.to.parse::<Date>()) else {
            return sums.into_iter().collect();
        };
        let days = from.series(jiff::Span::new().days(1)).take_while(|day| *day <= to);
        days.map(|day| {
            let day = day.to_string();
            let sum = sums.get(&day).copied().unwrap_or_default();
            (day, sum)
        })
        .collect()
    }

    /// The lines as CSV (RFC 4180), with names that no spreadsheet takes for a formula.
    pub(crate) fn to_csv(&self) -> String {
        let mut text = String::from(
            "day,person,model,profile,agent,input,output,cache_read,cache_write,reasoning,\
             cost_usd,unpriced,replies,runs\r\n",
        );
        for line in &self.lines {
            let names = [&line.day, &line.person, &line.model, &line.profile, &line.agent];
            let names = names.map(|name| quote_csv_field(name)).join(",");
            let sum = &line.sum;
            text.push_str(&format!(
                "{names},{},{},{},{},{},{},{},{},{}\r\n",
                sum.input,
                sum.output,
                sum.cache_read,
                sum.cache_write,
                sum.reasoning,
                sum.cost_usd,
                sum.unpriced,
                sum.replies,
                sum.runs
            ));
        }
        text
    }
}

fn quote_csv_field(name: &str) -> String {
    let formula = name.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let name = if formula { format!("'{name}") } else { name.to_owned() };
    if name.contains(['"', ',', '\r', '\n']) {
        return format!("\"{}\"", name.replace('"', "\"\""));
    }
    name
}

/// The span of a query.
fn query_span(query: &UsageQuery, now: Timestamp) -> HandlerResult<(Date, Date)> {
    let day = |text: &str, name: &str| {
        text.parse::<Date>().map_err(|_| {
            ProblemDetails::bad_request(format!(
                "{name} is {text:?}, which is no day: write 2026-01-31"
            ))
        })
    };
    let today = jiff::Timestamp::from_microsecond(now.0).unwrap_or_default();
    let today = today.to_zoned(jiff::tz::TimeZone::UTC).date();
    let to = if query.to.is_empty() { today } else { day(&query.to, "to")? };
    let back = jiff::Span::new().days(DAYS_DEFAULT - 1);
    let from = match query.from.is_empty() {
        true => to.checked_sub(back).unwrap_or(to),
        false => day(&query.from, "from")?,
    };
    let days = (to - from).get_days();
    if from > to || i64::from(days) > DAYS_MAX {
        return Err(ProblemDetails::bad_request(format!(
            "from {from} to {to} is no span of up to {DAYS_MAX} days"
        )));
    }
    Ok((from, to))
}

/// What `query` asks for.
///
/// # Errors
/// It is no span of days, only an admin may, or a store does not answer.
pub(crate) async fn usage_report(
    app: &App,
    caller: &Caller,
    query: &UsageQuery,
) -> HandlerResult<UsageReport> {
    if query.everybody && !caller.is_admin() {
        return Err(ProblemDetails::not_permitted("only an admin sees what others used"));
    }
    let (from, to) = query_span(query, app.current_time())?;
    let filter = UsageFilter { from: Some(from.to_string()), to: Some(to.to_string()) };
    let people = match query.everybody {
        true => accounts::list_accounts(&app.auth.shelf).await?,
        false => vec![caller.person.clone()],
    };
    let mut lines = Vec::new();
    for person in people {
        let rows = app.user_space(&person).await?.store().usage_rows(&filter).await?;
        lines.extend(rows.into_iter().map(|row| UsageLine {
            day: row.day,
            person: person.name.clone(),
            model: row.model,
            profile: row.profile,
            agent: row.agent,
            sum: UsageSum {
                input: row.usage.input,
                output: row.usage.output,
                cache_read: row.usage.cache_read,
                cache_write: row.usage.cache_write,
                reasoning: row.usage.reasoning,
                cost_usd: row.cost_usd,
                unpriced: row.unpriced,
                replies: row.replies,
                runs: row.runs,
            },
        }));
    }
    sort_stably(&mut lines, |a, b| {
        (&a.day, &a.person, &a.model).cmp(&(&b.day, &b.person, &b.model))
    });
    let mut total = UsageSum::default();
    lines.iter().for_each(|line| total.add(&line.sum));
    let details = UsageDetails::default();
    Ok(UsageReport { from: from.to_string(), to: to.to_string(), lines, total, details })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(day: &str, model: &str, input: u64) -> UsageLine {
        UsageLine {
            day: day.into(),
            person: "ann".into(),
            model: model.into(),
            profile: "agent".into(),
            agent: String::new(),
            sum: UsageSum { input, cache_read: input * 3, ..UsageSum::default() },
        }
    }

    #[test]
    fn s10_usage_is_summed_by_day_and_model_and_told_as_csv() {
        let report = UsageReport {
            from: "2026-01-30".into(),
            to: "2026-02-01".into(),
            lines: vec![
                line("2026-01-30", "a/b", 1),
                line("2026-01-30", "=c/d", 2),
                line("2026-02-01", "a/b", 4),
            ],
            total: UsageSum::default(),
            details: UsageDetails::default(),
        };
        let days: Vec<(String, u64)> =
            report.daily_sums().into_iter().map(|(day, sum)| (day, sum.input)).collect();
        let expected = [("2026-01-30", 3), ("2026-01-31", 0), ("2026-02-01", 4)];
        assert_eq!(days, expected.map(|(day, input)| (day.to_owned(), input)));
        assert_eq!(report.sums_by(UsageGrouping::Model)["a/b"].input, 5);
        assert_eq!(report.sums_by(UsageGrouping::Model)["a/b"].cache_share(), Some(75));
        let csv = report.to_csv();
        assert_eq!(csv.lines().count(), 4);
        assert!(csv.contains("2026-01-30,ann,'=c/d,agent,,2,0,6,0,0,0,0,0,0\r\n"), "{csv}");
    }

    #[test]
    fn s10_a_span_has_an_end() {
        let now = Timestamp(1_800_000_000_000_000);
        let of = |from: &str, to: &str| {
            let query = UsageQuery { from: from.into(), to: to.into(), everybody: false };
            query_span(&query, now).map(|(from, to)| (from.to_string(), to.to_string())).ok()
        };
        assert_eq!(of("", ""), Some(("2026-12-17".into(), "2027-01-15".into())));
        assert_eq!(of("2026-02-30", ""), None);
        assert_eq!(of("2026-03-02", "2026-03-01"), None);
        assert_eq!(of("1000-01-01", "2026-03-01"), None);
    }
}
