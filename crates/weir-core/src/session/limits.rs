//! The table of limits (L4): every bound of a run, checked in one place between turns.

use crate::event::{Event, LimitLevel, LimitReached, RunStatus};
use crate::ids::Timestamp;
use crate::profile::{LimitName, narrower_bound};

use super::{RunState, Session, SessionConfig};

/// What stands for a sum that nobody knows: more than any bound.
const UNKNOWN_SUM: f64 = u32::MAX as f64;

/// Share of `max_iterations` at which the agent is asked to wrap up.
pub(super) const SOFT_SHARE: f64 = 0.6;

/// Refused calls in a row that end a run, where mistakes do. A refusal is no mistake of the model
/// (L5), but one that asks for one forbidden thing after the other gets nowhere.
const REFUSALS_MAX: u32 = 20;

/// One row of the table: the name of the bound, where the run is, and the bound, where it is set.
struct LimitRow {
    limit: LimitName,
    value: f64,
    max: Option<f64>,
    status: RunStatus,
    why: &'static str,
}

/// `spent`: what the whole session has cost; `None`: nobody knows.
fn limit_rows(run: &RunState, config: &SessionConfig, spent: Option<f64>) -> Vec<LimitRow> {
    let limits = &config.limits;
    let (budget, session) = (UsdBound::of_run(run, config), UsdBound::of_session(config, spent));
    let row = |limit, value, max, status, why| LimitRow { limit, value, max, status, why };
    let mistakes = limits.consecutive_mistake_limit;
    vec![
        row(
            LimitName::ConsecutiveMistakes,
            f64::from(run.mistakes),
            (mistakes > 0).then(|| f64::from(mistakes)),
            RunStatus::Limit,
            "errors in a row",
        ),
        row(
            LimitName::ConsecutiveRefusals,
            f64::from(run.refusals),
            (mistakes > 0).then(|| f64::from(REFUSALS_MAX)),
            RunStatus::Limit,
            "refused calls in a row",
        ),
        row(
            LimitName::MaxToolCalls,
            f64::from(run.tool_calls),
            limits.max_tool_calls.filter(|_| run.over_limit).map(f64::from),
            RunStatus::Limit,
            "calls of tools",
        ),
        row(
            LimitName::MaxIterations,
            f64::from(run.iterations),
            Some(f64::from(limits.max_iterations)),
            RunStatus::Limit,
            "model calls",
        ),
        row(
            LimitName::BudgetTokens,
            run.usage.total_tokens() as f64,
            limits.budget_tokens.map(|tokens| tokens as f64),
            RunStatus::Budget,
            "tokens",
        ),
        row(LimitName::BudgetUsd, budget.spent, budget.max, RunStatus::Budget, "USD"),
        row(LimitName::SessionUsd, session.spent, session.max, RunStatus::Budget, "USD"),
    ]
}

/// A bound in US dollars: what counts to it, and it, where it holds.
struct UsdBound {
    spent: f64,
    max: Option<f64>,
}

impl UsdBound {
    /// The bound of one run.
    fn of_run(run: &RunState, config: &SessionConfig) -> UsdBound {
        let limits = &config.limits;
        let has_price = config.model.price.is_some();
        UsdBound {
            // An unknown price is never "free": without a token budget beside it the run cannot
            // be held to a sum, so it does not start.
            spent: run.cost.filter(|_| has_price).unwrap_or(f64::MAX),
            max: limits.budget_usd.filter(|_| limits.budget_tokens.is_none() || has_price),
        }
    }

    /// The bound of the whole session, which has cost `spent`; `None`: nobody knows.
    fn of_session(config: &SessionConfig, spent: Option<f64>) -> UsdBound {
        UsdBound {
            // A budget in tokens is for each run anew: it cannot stand in for this one.
            spent: spent.filter(|_| config.model.price.is_some()).unwrap_or(f64::MAX),
            max: config.limits.session_usd,
        }
    }

    fn usd_left(&self) -> Option<f64> {
        self.max.map(|max| (max - self.spent).max(0.0))
    }
}

/// US dollars that the bounds of the run and of the session leave; `None`: none holds, or no run is on. Of a
/// sum that nobody knows nothing is left: the table stops the session itself for it.
pub(super) fn left_usd(session: &Session) -> Option<f64> {
    let (run, config) = (session.run.as_ref()?, session.config.as_ref()?);
    narrower_bound(
        UsdBound::of_run(run, config).usd_left(),
        UsdBound::of_session(config, session.spent_in_all()).usd_left(),
    )
}

/// The first hard limit that the run has reached.
pub(super) fn hard_limit_fact(session: &Session) -> Option<Event> {
    first_reached(session, |_| true)
}

/// The first budget that is reached, where a request is made again in the middle of a turn: what was asked for
/// it before is paid, though nothing of it is used. Other bounds count turns.
pub(super) fn budget_fact(session: &Session) -> Option<Event> {
    first_reached(session, |limit| {
        matches!(limit, LimitName::BudgetTokens | LimitName::BudgetUsd | LimitName::SessionUsd)
    })
}

fn first_reached(session: &Session, counts: impl Fn(&LimitName) -> bool) -> Option<Event> {
    let (run, config) = (session.run.as_ref()?, session.config.as_ref()?);
    let rows = limit_rows(run, config, session.spent_in_all()).into_iter();
    rows.filter(|row| counts(&row.limit)).find_map(|row| {
        let max = row.max.filter(|max| row.value >= *max)?;
        Some(limit_reached(row.limit, LimitLevel::Hard, row.value.min(UNKNOWN_SUM), max))
    })
}

/// What sessions have in common is spent (R11). `spent`: how much; `None`: a price is not known.
pub(super) fn shared_limit_fact(limit: LimitName, spent: Option<f64>, max: f64) -> Option<Event> {
    let value = spent.map_or(UNKNOWN_SUM, |spent| spent.min(UNKNOWN_SUM));
    limit.is_told_from_outside().then(|| limit_reached(limit, LimitLevel::Hard, value, max))
}

/// The soft limit, once.
pub(super) fn soft_limit_fact(session: &Session) -> Option<Event> {
    let (run, config) = (session.run.as_ref()?, session.config.as_ref()?);
    let max = (f64::from(config.limits.max_iterations) * SOFT_SHARE).ceil();
    let value = f64::from(run.iterations);
    (!run.soft_said && value >= max && max >= 1.0)
        .then(|| limit_reached(LimitName::MaxIterations, LimitLevel::Soft, value, max))
}

/// The next request no longer fits the model's window (X2).
pub(super) fn window_limit_fact(session: &Session) -> Event {
    limit_reached(
        LimitName::Window,
        LimitLevel::Hard,
        session.next_tokens() as f64,
        session.window_tokens() as f64,
    )
}

/// The wall time of the run, once it is over.
pub(super) fn overtime_fact(session: &Session, now: Timestamp) -> Option<Event> {
    let deadline = run_deadline(session)?;
    // The clock of a run that is paused stands still.
    let run = session.run.as_ref().filter(|run| run.paused.is_none())?;
    let max = session.config.as_ref()?.limits.run_timeout_ms?;
    let spent = now.ms_since(run.started).saturating_sub(run.away_ms);
    (now >= deadline)
        .then(|| limit_reached(LimitName::RunTimeout, LimitLevel::Hard, spent as f64, max as f64))
}

/// When the run's wall time is over, if nobody pauses it.
pub(super) fn run_deadline(session: &Session) -> Option<Timestamp> {
    let run = session.run.as_ref()?;
    let timeout = session.config.as_ref()?.limits.run_timeout_ms?;
    Some(run.started.plus_ms(timeout.saturating_add(run.away_ms)))
}

/// When the next turn may begin (`rate_limit_ms`).
pub(super) fn next_turn_at(session: &Session) -> Option<Timestamp> {
    let rate = session.config.as_ref()?.limits.rate_limit_ms;
    let last = session.run.as_ref()?.turn_started?;
    (rate > 0).then(|| last.plus_ms(rate))
}

fn limit_reached(limit: LimitName, level: LimitLevel, value: f64, max: f64) -> Event {
    LimitReached { limit, level, value, max }.into()
}

impl RunState {
    /// Status and sentence for a run that ends at this limit.
    pub(super) fn limit_end(
        &self,
        config: &SessionConfig,
        limit: &LimitReached,
        spent: Option<f64>,
    ) -> (RunStatus, String) {
        if limit.limit == LimitName::RunTimeout {
            let next = next_step(&limit.limit);
            let text = format!("The run's time is over ({} ms). {next}", limit.max);
            return (RunStatus::Limit, text);
        }
        if let Some(text) = together_text(limit) {
            return (RunStatus::Budget, text);
        }
        if limit.limit == LimitName::BudgetUsd && config.model.price.is_none() {
            let text = format!(
                "The price of {} is unknown, so {} cannot be held. Give its price in the config, or \
                 a budget in tokens.",
                config.model.model,
                config.budget_in_words()
            );
            return (RunStatus::Budget, text);
        }
        if limit.limit.is_money() && limit.value >= UNKNOWN_SUM {
            let mut text = format!(
                "The cap {} of {} USD cannot be held: the price of {}, or of a reply that it \
                 counts, is unknown, and an unknown price is not nothing. `weir models prices` \
                 shows prices and sets them: 0 for a model that costs nothing.",
                limit.limit, limit.max, config.model.model
            );
            if limit.limit == LimitName::SessionUsd && config.model.price.is_some() {
                text.push_str(
                    " What another model was asked here at an unknown price stays unknown: begin \
                     another session.",
                );
            }
            return (RunStatus::Budget, text);
        }
        if limit.limit.is_money() && limit.limit != LimitName::BudgetUsd {
            let text = format!(
                "The cap {} is reached: {:.4} of {} USD. {}",
                limit.limit,
                limit.value,
                limit.max,
                next_step(&limit.limit)
            );
            return (RunStatus::Budget, text);
        }
        let row = limit_rows(self, config, spent).into_iter().find(|row| row.limit == limit.limit);
        let (status, what) = row.map_or((RunStatus::Limit, ""), |row| (row.status, row.why));
        let mut text = format!(
            "Stopped at the limit {}: {} of {} {what}.",
            limit.limit, limit.value, limit.max
        );
        if limit.limit == LimitName::ConsecutiveMistakes {
            text.push_str(" The errors: ");
            text.push_str(&self.mistake_texts.join("; "));
            if !text.ends_with('.') {
                text.push('.');
            }
        }
        let next = next_step(&limit.limit);
        if !next.is_empty() {
            text.push(' ');
            text.push_str(next);
        }
        (status, text)
    }
}

/// Why an agent ends that has a part of its own left, where that is so (R11).
fn together_text(limit: &LimitReached) -> Option<String> {
    let is_money = limit.limit == LimitName::AgentsUsd;
    let sum = |sum: f64| if is_money { format!("{sum:.4} USD") } else { format!("{sum} tokens") };
    (is_money || limit.limit == LimitName::AgentsTokens).then(|| {
        format!(
            "Stopped at the limit {}: agents that work at the same time used {} of the {} that were \
             left for them together.",
            limit.limit,
            sum(limit.value),
            sum(limit.max),
        )
    })
}

/// How somebody goes on whose run ended at this limit. Every run counts anew.
fn next_step(limit: &LimitName) -> &'static str {
    match limit {
        LimitName::MaxIterations => {
            "Say \"go on\" for as many more, or raise limits.max_iterations."
        }
        LimitName::MaxToolCalls => {
            "Say \"go on\" for as many more, or raise limits.max_tool_calls."
        }
        LimitName::BudgetTokens => {
            "Say \"go on\" to spend as much again, or raise limits.budget_tokens."
        }
        LimitName::BudgetUsd => "Say \"go on\" to spend as much again, or raise limits.budget_usd.",
        LimitName::SessionUsd => {
            "Begin another session, or raise spending.session_usd and open this one again."
        }
        LimitName::DayUsd => {
            "It counts anew from 00:00 UTC; or raise spending.day_usd and open the session again. \
             `weir usage` shows what was spent."
        }
        LimitName::PersonUsd => {
            "It counts anew from the first of the month (UTC); or raise spending.person_usd and open \
             the session again."
        }
        LimitName::ScheduleUsd => {
            "It counts anew from 00:00 UTC; or raise spending.schedule_usd, or the agent's own cap."
        }
        LimitName::ServerUsd => {
            "It counts anew from 00:00 UTC; or whoever runs this server raises spending.server_usd."
        }
        LimitName::RunTimeout => "Say \"go on\" for as long again, or raise limits.run_timeout.",
        LimitName::ConsecutiveMistakes => {
            "Say what to do differently, or \"go on\"; limits.consecutive_mistake_limit says how many \
             end a run (0: none)."
        }
        LimitName::ConsecutiveRefusals => {
            "Say what to do instead, or allow what it needs (weir permissions add) and say \"go on\"."
        }
        LimitName::AgentsUsd
        | LimitName::AgentsTokens
        | LimitName::Window
        | LimitName::Other(_) => "",
    }
}
