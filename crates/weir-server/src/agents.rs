//! Scheduled agents of a person, as API and pages show and change them (S8). Not here: checking a
//! definition (`weir_install::user_space`), starting what is due (`schedule`).

use std::collections::BTreeMap;

use serde::Serialize;
use weir_core::event::Event;
use weir_core::ids::Timestamp;
use weir_core::schedule::{AgentCause, AgentRun, ScheduledAgent};
use weir_core::sorting::sort_stably;
use weir_engine::ledger::fact_of;
use weir_engine::ports::{AGENT_ACTIVE, AgentRunFilter, KEPT_AGENT, Store, StoredItem, TickClaim};
use weir_engine::schedule::calendar::Calendar;
use weir_install::user_space::{AgentWish, UserSpace};

use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::schedule;

/// The state of an agent whose ticks do not count.
const PAUSED: &str = "paused";
/// Moments that are told of a schedule.
pub(crate) const NEXT_TOLD: usize = 5;
/// Facts at the end of a journal among which the end of its run is looked for.
const END_FACTS: u64 = 12;

/// A scheduled agent.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AgentLine {
    /// Its name.
    pub(crate) name: String,
    /// Its ticks count.
    pub(crate) active: bool,
    /// Grows with each change.
    pub(crate) version: u64,
    /// Since when it is as it is.
    pub(crate) since: Timestamp,
    /// The definition; `null`: what is kept cannot be used.
    pub(crate) agent: Option<ScheduledAgent>,
    /// Why it cannot be used.
    pub(crate) problem: Option<String>,
    /// When it is due next.
    pub(crate) next: Option<Timestamp>,
    /// Its last run.
    pub(crate) last: Option<RunLine>,
}

/// A line of an agent's history.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunLine {
    /// The occasion of the run.
    pub(crate) tick: String,
    /// Why there is one: `cron`, `after`, `manual`, `mail`.
    pub(crate) cause: AgentCause,
    /// When it was due.
    pub(crate) due: Timestamp,
    /// `waiting`, `running`, `asking`, `missed`, `skipped`, or how it ended.
    pub(crate) state: String,
    /// There is still something to do.
    pub(crate) open: bool,
    /// Its session.
    pub(crate) session: Option<String>,
    /// When it was started.
    pub(crate) started: Option<Timestamp>,
    /// When it ended.
    pub(crate) finished: Option<Timestamp>,
    /// The cost of the run in US dollars, where every price is known.
    pub(crate) cost_usd: Option<f64>,
    /// What else is to be said of it.
    pub(crate) note: String,
}

/// When a schedule is due.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ScheduleDescription {
    /// In plain words.
    pub(crate) words: String,
    /// The next moments.
    pub(crate) next: Vec<Timestamp>,
    /// The same as people in the zone read them.
    pub(crate) read: Vec<String>,
}

impl From<AgentRun> for RunLine {
    fn from(run: AgentRun) -> RunLine {
        RunLine {
            tick: run.tick,
            cause: run.cause,
            due: run.due,
            state: run.state.as_str().into(),
            open: run.state.is_open(),
            session: run.session.map(|session| session.to_string()),
            started: run.started,
            finished: run.finished,
            cost_usd: None,
            note: run.note,
        }
    }
}

/// When an expression is due from `now` on.
///
/// # Errors
/// It is none, or there is no such zone; in words.
pub(crate) fn describe_schedule(
    cron: &str,
    zone: &str,
    now: Timestamp,
) -> HandlerResult<ScheduleDescription> {
    let calendar = Calendar::new(cron, zone)
        .map_err(|error| ProblemDetails::bad_request(error.to_string()))?;
    let mut next = Vec::new();
    let mut at = now;
    while let Some(tick) = calendar.next_tick_after(at).filter(|_| next.len() < NEXT_TOLD) {
        next.push(tick);
        at = tick;
    }
    let read = next.iter().map(|tick| plain_moment(&calendar.local_time_text(*tick))).collect();
    Ok(ScheduleDescription { words: calendar.schedule_text(), next, read })
}

/// `2026-11-23T08:00:00+01:00[Europe/Berlin]` without what nobody needs.
fn plain_moment(moment: &str) -> String {
    let zone = moment.split_once('[').map_or("", |(_, zone)| zone.trim_end_matches(']'));
    let (day, rest) = moment.split_once('T').unwrap_or((moment, ""));
    let time: String = rest.chars().take(5).collect();
    format!("{day} {time} {zone}")
}

fn agent_line(kept: StoredItem, last: Option<RunLine>, now: Timestamp) -> AgentLine {
    let read: Result<ScheduledAgent, String> =
        serde_json::from_str(&kept.text).map_err(|error| error.to_string());
    let active = kept.state == AGENT_ACTIVE;
    let calendar = |agent: &ScheduledAgent| match &agent.cron {
        Some(cron) => Calendar::new(cron, &agent.timezone).map(Some).map_err(|e| e.to_string()),
        None => Ok(None),
    };
    let (agent, calendar, problem) = match read {
        Err(why) => (None, None, Some(why)),
        Ok(agent) => match calendar(&agent) {
            Ok(calendar) => (Some(agent), calendar, None),
            Err(why) => (Some(agent), None, Some(why)),
        },
    };
    let next = calendar.filter(|_| active).and_then(|calendar| calendar.next_tick_after(now));
    AgentLine {
        name: kept.name,
        active,
        version: kept.version.into(),
        since: kept.ts,
        agent,
        problem,
        next,
        last,
    }
}

/// Every agent of a person, by name.
///
/// # Errors
/// The store refuses.
pub(crate) async fn list_agents(
    space: &UserSpace,
    now: Timestamp,
) -> HandlerResult<Vec<AgentLine>> {
    let store = space.store();
    let mut lines = Vec::new();
    for kept in store.stored_items(KEPT_AGENT).await? {
        let last = load_runs(store.as_ref(), &kept.name, 1).await?.pop();
        lines.push(agent_line(kept, last.map(RunLine::from), now));
    }
    sort_stably(&mut lines, |a, b| a.name.cmp(&b.name));
    Ok(lines)
}

/// One agent.
///
/// # Errors
/// There is none of this name, or the store refuses.
pub(crate) async fn load_agent(
    space: &UserSpace,
    name: &str,
    now: Timestamp,
) -> HandlerResult<AgentLine> {
    let store = space.store();
    let kept = find_kept_agent(store.as_ref(), name).await?;
    let last = load_runs(store.as_ref(), name, 1).await?.pop();
    Ok(agent_line(kept, last.map(RunLine::from), now))
}

async fn find_kept_agent(store: &dyn Store, name: &str) -> HandlerResult<StoredItem> {
    store.stored_item(KEPT_AGENT, name).await?.ok_or_else(|| missing_agent(name))
}

fn missing_agent(name: &str) -> ProblemDetails {
    ProblemDetails::not_found(format!("the agent {name:?}"))
}

async fn load_runs(store: &dyn Store, name: &str, limit: usize) -> HandlerResult<Vec<AgentRun>> {
    let filter = AgentRunFilter {
        agent: Some(name.to_owned()),
        limit: Some(limit),
        ..AgentRunFilter::default()
    };
    Ok(store.agent_runs(&filter).await?)
}

/// The history of an agent, newest first, with what its runs cost. One that was removed still has
/// its history; one that never was has none.
///
/// # Errors
/// There is neither, or the store refuses.
pub(crate) async fn run_history(
    space: &UserSpace,
    name: &str,
    limit: usize,
) -> HandlerResult<Vec<RunLine>> {
    let store = space.store();
    let runs = load_runs(store.as_ref(), name, limit).await?;
    if runs.is_empty() {
        find_kept_agent(store.as_ref(), name).await?;
    }
    let mut lines = Vec::new();
    for run in runs {
        let cost_usd = run_cost(store.as_ref(), &run).await?;
        lines.push(RunLine { cost_usd, ..run.into() });
    }
    Ok(lines)
}

/// What a run that is over cost, as the end of its journal says.
async fn run_cost(store: &dyn Store, run: &AgentRun) -> HandlerResult<Option<f64>> {
    let Some(session) = run.session.as_ref().filter(|_| run.finished.is_some()) else {
        return Ok(None);
    };
    let Some(meta) = store.session_meta(session).await? else { return Ok(None) };
    let from = meta.facts.saturating_sub(END_FACTS).max(1);
    let limit = usize::try_from(END_FACTS).unwrap_or(usize::MAX).saturating_add(1);
    let records = store.read_records(session, from, limit).await?;
    let ends =
        records.iter().rev().filter_map(|record| match fact_of(record).ok()?.event.as_ref() {
            Event::RunFinished(finished) => Some(finished.cost_usd),
            _ => None,
        });
    Ok(ends.into_iter().next().flatten())
}

/// Checks and keeps a definition. What should be known of it is given back with it.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) async fn define_agent(
    owner: &CallerSpace,
    wish: &AgentWish,
    replace: bool,
) -> HandlerResult<(AgentLine, Vec<String>)> {
    let CallerSpace { app, caller, space } = owner;
    // Before it is kept: an agent without a scheduler would never run.
    schedule::note_agent_owner(app, &caller.person.id).await?;
    let defined = space.define_agent(wish, replace).await?;
    Ok((load_agent(space.as_ref(), &defined.agent.name, app.current_time()).await?, defined.notes))
}

/// Pauses an agent or lets its ticks count again.
///
/// # Errors
/// There is none of this name, or the store refuses.
pub(crate) async fn set_active(
    owner: &CallerSpace,
    name: &str,
    active: bool,
) -> HandlerResult<AgentLine> {
    let CallerSpace { app, caller, space } = owner;
    let store = space.store();
    let kept = find_kept_agent(store.as_ref(), name).await?;
    let state = if active { AGENT_ACTIVE } else { PAUSED };
    if kept.state != state {
        schedule::note_agent_owner(app, &caller.person.id).await?;
        store
            .store_item(&StoredItem { state: state.into(), ts: app.current_time(), ..kept })
            .await?;
    }
    load_agent(space.as_ref(), name, app.current_time()).await
}

/// Runs an agent now, whether it is due or not: a scheduler takes it up at once, also of a paused
/// agent, and it needs no place.
///
/// # Errors
/// There is none of this name, a run of it is not over, or everything is paused.
pub(crate) async fn run_now(owner: &CallerSpace, name: &str) -> HandlerResult<RunLine> {
    let CallerSpace { app, caller, space } = owner;
    let store = space.store();
    let kept = find_kept_agent(store.as_ref(), name).await?;
    crate::live::pause::may_run(app, space.as_ref()).await?;
    let agent: ScheduledAgent = serde_json::from_str(&kept.text).map_err(|error| {
        ProblemDetails::conflict(format!("the agent {name} cannot be used: {error}"))
    })?;
    schedule::note_agent_owner(app, &caller.person.id).await?;
    let now = app.current_time();
    let tick = format!("by hand {}", space.new_session());
    let run = AgentRun::new(&agent, AgentCause::Manual, tick, now);
    match store.claim_ticks(std::slice::from_ref(&run), None).await?.first() {
        Some(TickClaim::Claimed) => Ok(run.into()),
        Some(TickClaim::Overlaps | TickClaim::Taken) | None => Err(ProblemDetails::conflict(
            format!("a run of {name} is not over; wait for it, or cancel it in its chat"),
        )),
    }
}

/// Takes an agent away; its history and sessions stay.
///
/// # Errors
/// There is none of this name, or the store refuses.
pub(crate) async fn remove(owner: &CallerSpace, name: &str) -> HandlerResult<()> {
    let CallerSpace { space, .. } = owner;
    match space.store().remove_stored_item(KEPT_AGENT, name).await? {
        true => Ok(()),
        false => Err(missing_agent(name)),
    }
}

/// The tools of a picker, by group, in the order in which groups come.
pub(crate) fn by_group<T>(tools: Vec<T>, group: impl Fn(&T) -> String) -> Vec<(String, Vec<T>)> {
    let mut groups: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for tool in tools {
        groups.entry(group(&tool)).or_default().push(tool);
    }
    groups.into_iter().collect()
}
