//! `weir usage`: tokens and cost in a span of days, the caps in effect, and what caches missed (R11). Not here:
//! how sums come about (the store), and what a miss is (`weir_core::view::cache`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use jiff::civil::Date;
use serde::Serialize;
use serde_json::json;
use weir_core::model::Usage;
use weir_core::view::plain::visible_text;
use weir_core::view::told::{format_dollars, one_line};
use weir_core::view::visible::grouped_number;
use weir_engine::ports::{Store as _, UsageFilter, UsageRow};
use weir_install::context::InstallationContext;
use weir_install::spending::{CapState, cap_states};
use weir_install::usage::{
    SESSIONS_MAX, SessionMiss, SessionsUsage, cause_heading, read_sessions_usage,
};
use weir_install::wording::timestamp_text;

use crate::command::{context_for_looking, current_timestamp};
use crate::failure::usage;
use crate::options::{UsageArgs, UsageBy};
use crate::terminal::{format_table, out_json, out_line};

/// One line of the table, or all of it.
#[derive(Debug, Clone, Default, Serialize)]
struct UsageLine {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    title: String,
    #[serde(flatten)]
    usage: Usage,
    cost_usd: f64,
    unpriced: u64,
    replies: u64,
    runs: u64,
}

impl UsageLine {
    fn add_row(&mut self, row: &UsageRow) {
        self.usage.add(&row.usage);
        self.cost_usd += row.cost_usd;
        self.unpriced += row.unpriced;
        self.replies += row.replies;
        self.runs += row.runs;
    }
}

/// Everything that is told.
struct UsageTold {
    from: Date,
    to: Date,
    by: UsageBy,
    lines: Vec<UsageLine>,
    total: UsageLine,
    caps: Vec<CapState>,
    sessions: SessionsUsage,
}

/// Shows what was used.
pub(crate) async fn show_usage(
    cx: &InstallationContext,
    args: UsageArgs,
) -> anyhow::Result<ExitCode> {
    let (from, to) = wanted_days(&args)?;
    let filter = UsageFilter { from: Some(from.to_string()), to: Some(to.to_string()) };
    let cx = &context_for_looking(cx)?;
    let store = cx.local_store()?;
    let rows = store.usage_rows(&filter).await?;
    let sessions = read_sessions_usage(store.as_ref(), &filter, SESSIONS_MAX).await?;
    let mut total = UsageLine { name: "together".into(), ..UsageLine::default() };
    rows.iter().for_each(|row| total.add_row(row));
    let told = UsageTold {
        from,
        to,
        by: args.by,
        lines: match args.by {
            UsageBy::Session => session_lines(&sessions, &total),
            by => sum_by(&rows, by),
        },
        total,
        caps: cap_states(cx, store.as_ref(), current_timestamp()).await?,
        sessions,
    };
    if args.json.json {
        out_json(&told.to_json())?;
    } else {
        out_line(&told.to_text(args.misses))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The span of days.
fn wanted_days(args: &UsageArgs) -> anyhow::Result<(Date, Date)> {
    let day = |flag: &str, text: &str| {
        text.parse::<Date>()
            .map_err(|_| usage(format!("{flag} {text:?} is no day; write 2026-11-29")))
    };
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let to = args.to.as_deref().map_or(Ok(today), |text| day("--to", text))?;
    let back = jiff::Span::new().days(i64::from(args.days) - 1);
    let from = match &args.from {
        Some(text) => day("--from", text)?,
        None => to.checked_sub(back).unwrap_or(to),
    };
    match from <= to {
        true => Ok((from, to)),
        false => Err(usage(format!("{from} is after {to}: there is no day to show"))),
    }
}

fn sum_by(rows: &[UsageRow], by: UsageBy) -> Vec<UsageLine> {
    let mut sums: BTreeMap<String, UsageLine> = BTreeMap::new();
    for row in rows {
        let name = match by {
            UsageBy::Day | UsageBy::Session => &row.day,
            UsageBy::Model => &row.model,
            UsageBy::Profile => &row.profile,
            UsageBy::Agent => &row.agent,
        };
        let name = if name.is_empty() { "(no schedule)" } else { name.as_str() };
        let line = sums.entry(name.to_owned()).or_default();
        line.name = name.to_owned();
        line.add_row(row);
    }
    let mut lines: Vec<UsageLine> = sums.into_values().collect();
    if by != UsageBy::Day {
        lines.sort_by(|a, b| b.cost_usd.total_cmp(&a.cost_usd));
    }
    lines
}

/// One line for each session; what those used that are gone or were not read is one more.
fn session_lines(sessions: &SessionsUsage, total: &UsageLine) -> Vec<UsageLine> {
    let mut lines: Vec<UsageLine> = sessions
        .sessions
        .iter()
        .map(|used| UsageLine {
            name: used.session.to_string(),
            title: used.title.clone(),
            usage: used.usage,
            cost_usd: used.cost_usd,
            unpriced: used.unpriced,
            replies: used.replies,
            runs: used.runs,
        })
        .collect();
    let replies: u64 = lines.iter().map(|line| line.replies).sum();
    if total.replies > replies {
        let mut all = Usage::default();
        lines.iter().for_each(|line| all.add(&line.usage));
        let rest = |of: fn(&Usage) -> u64| of(&total.usage).saturating_sub(of(&all));
        lines.push(UsageLine {
            name: "(other sessions)".into(),
            title: "deleted, or too old to be read here".into(),
            usage: Usage {
                input: rest(|usage| usage.input),
                output: rest(|usage| usage.output),
                cache_read: rest(|usage| usage.cache_read),
                cache_write: rest(|usage| usage.cache_write),
                reasoning: rest(|usage| usage.reasoning),
            },
            cost_usd: (total.cost_usd - lines.iter().map(|line| line.cost_usd).sum::<f64>())
                .max(0.0),
            unpriced: total.unpriced.saturating_sub(lines.iter().map(|line| line.unpriced).sum()),
            replies: total.replies - replies,
            runs: total.runs.saturating_sub(lines.iter().map(|line| line.runs).sum()),
        });
    }
    lines
}

impl UsageTold {
    fn to_json(&self) -> serde_json::Value {
        json!({
            "from": self.from.to_string(),
            "to": self.to.to_string(),
            "by": self.by.as_str(),
            "rows": self.lines,
            "total": self.total,
            "caps": self.caps,
            "misses": {
                "by_cause": self.sessions.sums_by_cause(),
                "list": self.sessions.misses(),
                "sessions_left_out": self.sessions.left_out,
                "unreadable_facts": self.sessions.unreadable(),
            },
        })
    }

    fn to_text(&self, lists_misses: bool) -> String {
        let mut text = format!("Usage from {} to {} (UTC)\n\n", self.from, self.to);
        let word = self.by.as_str().to_uppercase();
        let mut head: Vec<String> =
            [&word, "INPUT", "FROM CACHE", "TO CACHE", "OUTPUT", "COST", "REPLIES", "RUNS"]
                .map(String::from)
                .to_vec();
        if self.by == UsageBy::Session {
            head.push("TITLE".into());
        }
        let mut rows = vec![head];
        rows.extend(self.lines.iter().map(line_cells));
        rows.push(line_cells(&self.total));
        text.push_str(&format_table(&rows));
        if self.total.unpriced > 0 {
            let _ = writeln!(
                text,
                "The price of {} replies is unknown, and what they cost is in no sum: `weir models \
                 prices` sets one.",
                self.total.unpriced
            );
        }
        self.push_caps(&mut text);
        self.push_misses(&mut text, lists_misses);
        text.trim_end().to_owned()
    }

    fn push_caps(&self, text: &mut String) {
        if self.caps.is_empty() {
            return;
        }
        text.push_str("\nCaps\n");
        let rows: Vec<Vec<String>> =
            self.caps.iter().map(|cap| vec![cap.key.clone(), cap.in_words()]).collect();
        text.push_str(&format_table(&rows));
    }

    fn push_misses(&self, text: &mut String, lists_all: bool) {
        let sums = self.sessions.sums_by_cause();
        if sums.is_empty() {
            text.push_str("\nNo cache miss.\n");
        } else {
            text.push_str("\nCache misses, and what they cost more than the cache would have\n");
            let rows: Vec<Vec<String>> = sums
                .iter()
                .map(|sum| {
                    vec![
                        format!("{} ×", sum.misses),
                        format!("{} tokens", number(sum.tokens)),
                        cost_text(sum.cost_usd, sum.unpriced),
                        cause_heading(&sum.cause).to_owned(),
                    ]
                })
                .collect();
            text.push_str(&format_table(&rows));
        }
        if lists_all {
            let rows: Vec<Vec<String>> =
                self.sessions.misses().into_iter().map(miss_cells).collect();
            if !rows.is_empty() {
                let _ = write!(text, "\n{}", format_table(&rows));
            }
        } else if !sums.is_empty() {
            text.push_str("`weir usage --misses` lists each.\n");
        }
        if self.sessions.left_out > 0 {
            let _ = writeln!(
                text,
                "Misses of {} older sessions were not looked for: choose fewer days.",
                self.sessions.left_out
            );
        }
        if self.sessions.unreadable() > 0 {
            let _ = writeln!(
                text,
                "{} facts cannot be read here; what they used stands in the sums by day, model, \
                 profile and agent alone. `weir audit verify` looks for damage.",
                self.sessions.unreadable()
            );
        }
    }
}

fn line_cells(line: &UsageLine) -> Vec<String> {
    let usage = &line.usage;
    let counts = [usage.input, usage.cache_read, usage.cache_write, usage.output];
    let mut cells = vec![visible_text(&line.name)];
    cells.extend(counts.map(number));
    cells.push(cost_text(line.cost_usd, line.unpriced));
    cells.extend([number(line.replies), number(line.runs)]);
    if !line.title.is_empty() {
        cells.push(one_line(&line.title));
    }
    cells
}

/// A sum of money. One of which a part is unknown says so.
fn cost_text(usd: f64, unpriced: u64) -> String {
    match (usd > 0.0, unpriced) {
        (_, 0) => format_dollars(usd),
        (true, _) => format!("{} and more", format_dollars(usd)),
        (false, _) => "unknown".to_owned(),
    }
}

fn miss_cells(one: &SessionMiss) -> Vec<String> {
    let miss = &one.miss;
    vec![
        timestamp_text(miss.ts),
        one.session.to_string(),
        miss.turn.to_string(),
        miss.model.clone(),
        format!("{} tokens", number(miss.lost_tokens())),
        miss.cost_usd.map_or_else(|| "unknown".to_owned(), format_dollars),
        one_line(&miss.cause.as_words()),
    ]
}

fn number(count: u64) -> String {
    grouped_number(usize::try_from(count).unwrap_or(usize::MAX))
}
