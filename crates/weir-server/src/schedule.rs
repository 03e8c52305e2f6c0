//! The schedulers of all homes (S8): one for each person who has agents, over their own store. A
//! tick runs once, however many replicas or daemons look; places are shared by the whole house.
//!
//! A run is a live session like any other: it is opened as a room, so that it can be watched and
//! answered. Not here: when one is due (the engine's scheduler), places (`places`).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use weir_core::ids::SessionId;
use weir_core::schedule::{AgentCause, AgentRun, ScheduledAgent};
use weir_engine::ports::{AtRest, Entry, RunDesk, Starter, StoreError};
use weir_engine::schedule::{Course, ScheduledRun, Scheduler, SchedulerParts, Tell, Told, follow};

use crate::app::App;
use crate::live::{Hold, recovery};
use crate::problem::{Answer, Problem};

mod places;

use places::{HouseOfPeople, Places};
use weir_install::failure::HouseError;
use weir_install::people::{Person, PersonId};
use weir_install::user_space::{SessionContext, SessionWish, UserSpace};

/// Kind of the entries that say who has agents.
const KIND: &str = "agent_home";
/// Looked for people and agents at most so often.
const LOOK_PAUSE: Duration = Duration::from_secs(1);
/// And at least so often: places are kept alive by it.
const LOOK_EVERY: Duration = Duration::from_secs(20);

/// What handlers tell the schedulers.
#[derive(Default)]
pub(crate) struct Schedules {
    changed: Notify,
}

impl Schedules {
    /// Somebody's first agent came, or an account changed.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }
}

/// Notes that somebody has agents: every replica schedules for them from now on.
///
/// # Errors
/// The database refuses.
pub(crate) async fn noted(app: &App, person: &PersonId) -> Answer<()> {
    if app.records.get(KIND, person.as_str(), app.now()).await?.is_none() {
        let entry = Entry {
            kind: KIND.into(),
            name: person.0.clone(),
            owner: person.0.clone(),
            text: "{}".into(),
            version: 0,
            expires: None,
            ts: app.now(),
        };
        app.records.put(&entry, None).await?;
    }
    app.schedules.wake();
    Ok(())
}

/// Schedules until the server ends; then every run is closed where it is.
pub(crate) async fn run(app: App) {
    let places = Arc::new(Places::new(app.records.clone(), app.clock.clone()));
    let mut running: HashMap<PersonId, CancellationToken> = HashMap::new();
    let mut tasks: JoinSet<PersonId> = JoinSet::new();
    loop {
        match wanted(&app).await {
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
        places.keep().await;
        tokio::select! {
            biased;
            () = app.stop.cancelled() => break,
            Some(ended) = tasks.join_next() => {
                if let Ok(person) = ended {
                    running.remove(&person);
                }
            }
            () = app.schedules.changed.notified() => (),
            () = app.records.changed() => (),
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
async fn wanted(app: &App) -> Result<Vec<Person>, String> {
    let people = recovery::people(app).await.map_err(|problem| problem.detail)?;
    let marked = app.records.list(KIND, None, app.now()).await.map_err(|e| e.to_string())?;
    let is_marked = |person: &Person| marked.iter().any(|entry| entry.name == person.id.0);
    let may = |person: &Person| !person.disabled && (person.first || is_marked(person));
    Ok(people.into_iter().filter(may).collect())
}

async fn of_person(
    app: App,
    person: Person,
    places: Arc<Places>,
    stop: CancellationToken,
) -> PersonId {
    let id = person.id.clone();
    if let Err(why) = scheduled(&app, &person, places, stop).await {
        // It is begun anew at the next look.
        tracing::error!(person = person.name, why, "the scheduler of a person went down");
    }
    id
}

async fn scheduled(
    app: &App,
    person: &Person,
    places: Arc<Places>,
    stop: CancellationToken,
) -> Result<(), String> {
    let home = app.home(person).await.map_err(|error| error.to_string())?;
    let settings = home.schedule_bounds().map_err(|error| error.to_string())?;
    let scheduler = Scheduler::new(SchedulerParts {
        store: home.store(),
        clock: app.clock.clone(),
        holder: home.schedule_holder(),
        house: Some(Arc::new(HouseOfPeople::new(places, home.clone()))),
        starter: Arc::new(LiveRuns { app: app.clone(), home }),
        settings,
        tell: tell(person.name.clone()),
    });
    scheduler.run(stop).await.map_err(|error: StoreError| error.to_string())
}

/// One line in the log for each beginning and end.
fn tell(person: String) -> Tell {
    Arc::new(move |told| match told {
        Told::Begun(run) => tracing::info!(person, agent = run.agent, "a scheduled run begins"),
        Told::AtRest(run) => {
            let (agent, state) = (&run.agent, run.state.as_str());
            tracing::info!(person, agent, state, "a scheduled run is at rest");
        }
        Told::Unusable(agent) => {
            tracing::warn!(person, agent = agent.name, why = agent.why, "an agent cannot be used");
        }
        Told::Paused(paused) => tracing::info!(person, paused, "the kill switch changed"),
    })
}

/// Opens the runs of one person as live sessions.
struct LiveRuns {
    app: App,
    home: Arc<UserSpace>,
}

#[async_trait]
impl Starter for LiveRuns {
    fn session(&self) -> SessionId {
        self.home.new_session()
    }

    async fn run(
        &self,
        agent: &ScheduledAgent,
        run: &AgentRun,
        desk: &dyn RunDesk,
        stop: CancellationToken,
    ) -> AtRest {
        match self.drive(agent, run, desk, &stop).await {
            Ok(rest) => rest,
            // What goes down with the server was closed by it.
            Err(_) if stop.is_cancelled() => AtRest::Closed,
            Err(problem) => AtRest::Failed(said(&problem)),
        }
    }
}

fn said(problem: &Problem) -> String {
    if problem.detail.is_empty() { problem.title.clone() } else { problem.detail.clone() }
}

impl LiveRuns {
    async fn drive(
        &self,
        agent: &ScheduledAgent,
        run: &AgentRun,
        desk: &dyn RunDesk,
        stop: &CancellationToken,
    ) -> Answer<AtRest> {
        let (app, home) = (&self.app, &self.home);
        let store = home.store();
        let Some(id) = run.session.clone() else { return Err(Problem::bad("it has no session")) };
        let there = store.meta(&id).await?.is_some_and(|meta| meta.facts > 0);
        if !there {
            let wish = SessionWish {
                context: match run.cause {
                    AgentCause::Mail => SessionContext::Injected,
                    AgentCause::Cron | AgentCause::After | AgentCause::Manual => {
                        SessionContext::Scheduled
                    }
                },
                only_tools: Some(agent.tools.clone()),
                agent: Some(Box::new(agent.clone())),
                ..SessionWish::default()
            };
            app.rooms.create_as(app, home, id.clone(), wish).await?;
        }
        let room = match app.rooms.take(app, home, &id, None).await? {
            Hold::Here(room) => room,
            Hold::Elsewhere(holder) => {
                return Err(Problem::conflict(format!("{holder} has its session")));
            }
        };
        // Of one that was opened just now nothing may stand in the journal yet.
        let mut course = match there {
            true => Course::of(store.as_ref(), &id).await?,
            false => Course::default(),
        };
        if let Some(rest) = course.at_rest() {
            return Ok(rest);
        }
        let run = ScheduledRun { agent, run };
        let watched = follow(room.handle(), &mut course, run, desk, stop.clone()).await;
        if matches!(watched, Ok(AtRest::Closed)) {
            // Whoever comes next takes it up: it must be free by then.
            room.handle().stop().await;
            room.handle().ended().await;
        }
        if course.is_over() {
            home.remove_run_results(agent, &id);
        }
        Ok(watched?)
    }
}

/// The bounds of the house, as the settings say now.
fn bounds(home: &UserSpace) -> Result<(usize, usize), HouseError> {
    let bounds = home.schedule_bounds()?;
    Ok((bounds.at_once, bounds.per_hour))
}
