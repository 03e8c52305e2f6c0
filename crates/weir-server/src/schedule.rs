//! The schedulers of all people (S8): one for each person who has agents, over their own store. A
//! tick runs once, however many replicas or daemons look; places are shared by the whole
//! installation.
//!
//! A run is a live session like any other: it is opened as a server session, so that it can be
//! watched and answered. Not here: when one is due (the engine's scheduler), places (`places`).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use weir_core::governance::lease::AnswerRight;
use weir_core::ids::SessionId;
use weir_core::schedule::{AgentCause, AgentRun, ScheduledAgent};
use weir_engine::ports::{
    AtRest, GIVEN_ANSWERS, KEPT_GIVEN, MAIL_ORIGIN, RecordEntry, RunDesk, RunStarter, Store,
    StoreError, StoredItem,
};
use weir_engine::schedule::{
    ScheduledRun, ScheduledRunProgress, Scheduler, SchedulerEvent, SchedulerListener,
    SchedulerParts, follow_agent_run, given_name,
};

use crate::app::App;
use crate::live::{SessionLocation, SessionRequest, recovery};
use crate::problem::{HandlerResult, ProblemDetails};

mod places;

use places::{RunPlaces, ServerPlaces};
use weir_install::people::{Person, PersonId};
use weir_install::user_space::{SessionContext, SessionPreferences, UserSpace};

/// Kind of the entries that say who has agents.
const KIND: &str = "agent_home";
/// Looked for people and agents at most so often.
const LOOK_PAUSE: Duration = Duration::from_secs(1);
/// And at least so often: places are kept alive by it.
const LOOK_EVERY: Duration = Duration::from_secs(20);

/// Notes that somebody has agents: every replica schedules for them from now on.
///
/// # Errors
/// The database refuses.
pub(crate) async fn note_agent_owner(app: &App, person: &PersonId) -> HandlerResult<()> {
    if app.records.get(KIND, person.as_str(), app.current_time()).await?.is_none() {
        let entry = RecordEntry {
            kind: KIND.into(),
            name: person.0.clone(),
            owner: person.0.clone(),
            text: "{}".into(),
            version: 0,
            expires: None,
            ts: app.current_time(),
        };
        app.records.put(&entry, None).await?;
    }
    app.schedules.wake_schedulers();
    Ok(())
}

/// Schedules until the server ends; then every run is closed where it is.
pub(crate) async fn run(app: App) {
    let places = Arc::new(RunPlaces::new(app.records.clone(), app.clock.clone()));
    let mut running: HashMap<PersonId, CancellationToken> = HashMap::new();
    let mut tasks: JoinSet<PersonId> = JoinSet::new();
    loop {
        match scheduled_people(&app).await {
            Ok(people) => {
                let is_wanted = |id: &PersonId| people.iter().any(|person| person.id == *id);
                running.iter().filter(|(id, _)| !is_wanted(id)).for_each(|(_, stop)| stop.cancel());
                for person in people {
                    if running.contains_key(&person.id) {
                        continue;
                    }
                    let stop = app.stop.child_token();
                    running.insert(person.id.clone(), stop.clone());
                    tasks.spawn(of_person(app.clone(), person, places.clone(), stop));
                }
            }
            Err(why) => tracing::warn!(why, "it could not be looked who has scheduled agents"),
        }
        places.renew_places().await;
        tokio::select! {
            biased;
            () = app.stop.cancelled() => break,
            Some(ended) = tasks.join_next() => {
                if let Ok(person) = ended {
                    running.remove(&person);
                }
            }
            () = app.schedules.wait_for_wake() => (),
            () = app.records.wait_for_change() => (),
            () = tokio::time::sleep(LOOK_EVERY) => (),
        }
        tokio::select! {
            biased;
            () = app.stop.cancelled() => break,
            () = tokio::time::sleep(LOOK_PAUSE) => (),
        }
    }
    while tasks.join_next().await.is_some() {}
}

/// For whom is scheduled: whoever has agents and may work. The command line's own is looked at in
/// any case: it tells nobody here.
async fn scheduled_people(app: &App) -> Result<Vec<Person>, String> {
    let people = recovery::list_active_people(app).await.map_err(|problem| problem.detail)?;
    let marked =
        app.records.list(KIND, None, app.current_time()).await.map_err(|e| e.to_string())?;
    let is_marked = |person: &Person| marked.iter().any(|entry| entry.name == person.id.0);
    let may = |person: &Person| !person.disabled && (person.first || is_marked(person));
    Ok(people.into_iter().filter(may).collect())
}

async fn of_person(
    app: App,
    person: Person,
    places: Arc<RunPlaces>,
    stop: CancellationToken,
) -> PersonId {
    let id = person.id.clone();
    if let Err(why) = schedule_person(&app, &person, places, stop).await {
        // It is begun anew at the next look.
        tracing::error!(person = person.name, why, "the scheduler of a person went down");
    }
    id
}

async fn schedule_person(
    app: &App,
    person: &Person,
    places: Arc<RunPlaces>,
    stop: CancellationToken,
) -> Result<(), String> {
    let space = app.user_space(person).await.map_err(|error| error.to_string())?;
    let settings = space.schedule_bounds().map_err(|error| error.to_string())?;
    let scheduler = Scheduler::new(SchedulerParts {
        store: space.store(),
        clock: app.clock.clone(),
        holder: space.schedule_holder(),
        shared_places: Some(Arc::new(ServerPlaces::new(places, space.clone()))),
        starter: Arc::new(LiveRuns { app: app.clone(), space }),
        settings,
        tell: scheduler_logger(person.name.clone()),
    });
    scheduler.run(stop).await.map_err(|error: StoreError| error.to_string())
}

/// One line in the log for each beginning and end.
fn scheduler_logger(person: String) -> SchedulerListener {
    Arc::new(move |told| match told {
        SchedulerEvent::Begun(run) => {
            tracing::info!(person, agent = run.agent, "a scheduled run begins")
        }
        SchedulerEvent::AtRest(run) => {
            let (agent, state) = (&run.agent, run.state.as_str());
            tracing::info!(person, agent, state, "a scheduled run is at rest");
        }
        SchedulerEvent::Unusable(agent) => {
            tracing::warn!(person, agent = agent.name, why = agent.why, "an agent cannot be used");
        }
        SchedulerEvent::Paused(paused) => tracing::info!(person, paused, "the kill switch changed"),
    })
}

/// Opens the runs of one person as live sessions.
struct LiveRuns {
    app: App,
    space: Arc<UserSpace>,
}

#[async_trait]
impl RunStarter for LiveRuns {
    fn new_session_id(&self) -> SessionId {
        self.space.new_session()
    }

    async fn run(
        &self,
        agent: &ScheduledAgent,
        run: &AgentRun,
        desk: &dyn RunDesk,
        stop: CancellationToken,
    ) -> AtRest {
        match self.drive_run(agent, run, desk, &stop).await {
            Ok(rest) => rest,
            // What goes down with the server was closed by it.
            Err(_) if stop.is_cancelled() => AtRest::Closed,
            Err(problem) => AtRest::Failed(problem_text(&problem)),
        }
    }
}

fn problem_text(problem: &ProblemDetails) -> String {
    if problem.detail.is_empty() { problem.title.clone() } else { problem.detail.clone() }
}

/// Whom a run may answer once: the sender of the mail that started it, where the rule says so.
async fn mail_answer(
    store: &dyn Store,
    agent: &ScheduledAgent,
    run: &AgentRun,
) -> HandlerResult<Option<AnswerRight>> {
    if run.cause != AgentCause::Mail {
        return Ok(None);
    }
    let given = store.stored_item(KEPT_GIVEN, &given_name(&agent.name, &run.tick)).await?;
    let right = |kept: StoredItem| {
        let to = kept.by.strip_prefix(MAIL_ORIGIN)?.to_ascii_lowercase();
        let by = "a rule of your mail account".to_owned();
        Some(AnswerRight { to, read: kept.label, by, is_copy: false })
    };
    Ok(given.filter(|kept| kept.state == GIVEN_ANSWERS).and_then(right))
}

impl LiveRuns {
    async fn drive_run(
        &self,
        agent: &ScheduledAgent,
        run: &AgentRun,
        desk: &dyn RunDesk,
        stop: &CancellationToken,
    ) -> HandlerResult<AtRest> {
        let (app, space) = (&self.app, &self.space);
        let store = space.store();
        let Some(id) = run.session.clone() else {
            return Err(ProblemDetails::bad_request("it has no session"));
        };
        let there = store.session_meta(&id).await?.is_some_and(|meta| meta.facts > 0);
        if !there {
            let preferences = SessionPreferences {
                context: match run.cause {
                    AgentCause::Mail => SessionContext::Injected,
                    AgentCause::Cron | AgentCause::After | AgentCause::Manual => {
                        SessionContext::Scheduled
                    }
                },
                only_tools: Some(agent.tools.clone()),
                agent: Some(Box::new(agent.clone())),
                answer: mail_answer(store.as_ref(), agent, run).await?,
                ..SessionPreferences::default()
            };
            app.sessions.create_as(app, space, id.clone(), preferences).await?;
        }
        let server_session =
            match app.sessions.take_session(SessionRequest::new(app, space, &id)).await? {
                SessionLocation::Here(server_session) => server_session,
                SessionLocation::Elsewhere(holder) => {
                    return Err(ProblemDetails::conflict(format!("{holder} has its session")));
                }
            };
        // Of one that was opened just now nothing may stand in the journal yet.
        let mut course = match there {
            true => ScheduledRunProgress::from_journal(store.as_ref(), &id).await?,
            false => ScheduledRunProgress::default(),
        };
        if let Some(rest) = course.at_rest() {
            return Ok(rest);
        }
        let run = ScheduledRun { agent, run };
        let watched =
            follow_agent_run(server_session.handle(), &mut course, run, desk, stop.clone()).await;
        if matches!(watched, Ok(AtRest::Closed)) {
            // Whoever comes next takes it up: it must be free by then.
            server_session.handle().request_stop().await;
            server_session.handle().wait_until_ended().await;
        }
        if course.is_over() {
            space.remove_run_results(agent, &id);
        }
        Ok(watched?)
    }
}
