//! A session's work through `weir serve`: somebody opens a session over HTTP, says what is to be done and
//! follows its events, while the server is killed again and again and comes back. It takes up by itself what
//! was at work; whoever follows has every fact once.

use std::cell::{Cell, RefCell};
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::house::ADMIN;
use super::moment::Moment;
use super::plan::StoreKind;
use super::process::{Watch, size};
use super::session::{PROCESSES_MAX, PROMPT, Player};
use super::victim::{self, Victim};
use super::{Fault, journal};
use crate::database::Database;
use crate::served::ServedProcess;
use crate::served::person::Person;

/// A server that does not listen in this time, or a session that does not come to its end, never does.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the moment and the witness are looked at.
const GLANCE: Duration = Duration::from_millis(1);
/// How often it is looked whether the session is left alone.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The name under which the prompt is said: said again under it, it is said once.
const CLIENT_ID: &str = "the-work";

/// Somebody who uses the server, and what they know, over all its processes.
struct Visit {
    person: Person,
    session: Option<String>,
    /// Facts that were told, in their order.
    told: Vec<Value>,
    /// Where the server listens now, and since when.
    address: Option<String>,
    since: Instant,
    /// How often something else than the server was hit, while it ran.
    hits: u64,
}

/// How one process of the server came to its end.
enum Round {
    Killed(Instant),
    /// The run is over, and the server is there.
    Over,
    /// It ended by itself, or refused: why.
    Failed(String),
}

impl Player<'_> {
    /// Plays the whole work and checks it; how many unknowns were said.
    pub(super) fn play_server(&mut self) -> anyhow::Result<u64> {
        let server = self.harness.databases.as_ref();
        let server = server.filter(|_| self.plan.store == StoreKind::Postgres);
        let database = server.map(|server| server.create(&self.database_name())).transpose()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // The store and the first account are made in peace: what is proven is what comes then.
        let person = self.sign_in(&runtime, database.as_ref())?;
        let (session, address, told) = (None, None, Vec::new());
        let mut visit = Visit { person, session, told, address, since: Instant::now(), hits: 0 };
        for process in 1..=PROCESSES_MAX {
            let left = self.turns_left();
            let moment = self.moment(process, left);
            let mut server = self.start_server(database.as_ref())?;
            let told_before = visit.told.len();
            let began = Instant::now();
            let round = runtime.block_on(self.play_round(&mut server, moment, &mut visit))?;
            let told = visit.told.get(told_before..).unwrap_or_default();
            self.acknowledged.extend(told.iter().cloned());
            let turns = told.iter().filter(|fact| fact["kind"] == "turn.started").count();
            if let Some(turns) = u32::try_from(turns).ok().filter(|turns| *turns > 0) {
                self.turn = visit.since.elapsed() / turns;
            }
            let (took, facts) = (began.elapsed(), told.len());
            let end = match &round {
                Round::Killed(_) => "killed",
                Round::Over => "over",
                Round::Failed(why) => why.as_str(),
            };
            self.note_line(&format!("{process}: {moment:?}; {end} after {took:?}, {facts} facts"))?;
            match round {
                Round::Over => {
                    self.take_in_end(None, visit.hits);
                    return self.check_server(&runtime, server, &visit);
                }
                Round::Killed(killed) => self.take_in_end(Some(killed), visit.hits),
                Round::Failed(why) => {
                    self.take_in_end(None, visit.hits);
                    self.fault(Fault::Unfinished, why);
                    drop(server);
                    self.check_processes();
                    return Ok(0);
                }
            }
        }
        self.fault(Fault::Unfinished, format!("it does not rest after {PROCESSES_MAX} servers"));
        self.check_processes();
        Ok(0)
    }

    fn sign_in(
        &self,
        runtime: &tokio::runtime::Runtime,
        database: Option<&Database>,
    ) -> anyhow::Result<Person> {
        let mut server = self.start_server(database)?;
        let address = server.wait_for_address(PATIENCE)?.context("weir serve does not listen")?;
        runtime.block_on(Person::sign_in(&address, ADMIN))
    }

    /// A name that no other session of any harness has.
    fn database_name(&self) -> String {
        let number = self.house.folder.file_name().unwrap_or_default().to_string_lossy();
        format!("weir_kill_{}_{}_{number}", std::process::id(), self.harness.seed)
    }

    fn start_server(&self, database: Option<&Database>) -> anyhow::Result<ServedProcess> {
        let url = database.map(|database| database.url.as_str());
        let command = self.house.serve_people(self.syncs, url)?;
        let server = ServedProcess::start(command, &self.house.folder.join("serve.log"))?;
        self.house.wait_until_begun(server.id());
        Ok(server)
    }

    /// One process of the server, until its moment or the end of the run.
    async fn play_round(
        &mut self,
        server: &mut ServedProcess,
        moment: Moment,
        visit: &mut Visit,
    ) -> anyhow::Result<Round> {
        visit.hits = 0;
        let is_killed = self.plan.victim == Victim::Engine;
        let from_start = self.random.below(4) == 0 && is_killed;
        let address = if from_start {
            let wait = moment.latest().unwrap_or(PATIENCE);
            server.wait_for_address(wait)
        } else {
            server.wait_for_address(PATIENCE)
        };
        let address = match address {
            Ok(Some(address)) => address,
            Ok(None) if from_start && moment != Moment::Never => return killed(server),
            Ok(None) => return Ok(Round::Failed("weir serve does not listen".into())),
            Err(error) => return Ok(Round::Failed(error.to_string())),
        };
        let witness = &self.house.witness;
        let watch = RefCell::new(Watch::of(moment, size(witness), Instant::now()));
        let folder = self.house.workspace.to_string_lossy();
        let visiting = tokio::time::timeout(PATIENCE, visit.go_on(&address, &folder, &watch));
        let hits = Cell::new(0);
        let hitting = self.hit_until_killed(server.id(), &watch, &hits);
        let round = tokio::select! {
            visited = visiting => match visited {
                Ok(Ok(())) => Ok(Round::Over),
                Ok(Err(error)) => Ok(Round::Failed(format!("{error:#}"))),
                Err(_) => Ok(Round::Failed("the session does not come to its end".into())),
            },
            due = hitting => due.and_then(|()| killed(server)),
        };
        visit.hits = hits.get();
        round
    }

    /// Hits whatever else is to be hit at its moments; ends when the moment of the server itself has come.
    async fn hit_until_killed(
        &self,
        engine: u32,
        watch: &RefCell<Watch>,
        hits: &Cell<u64>,
    ) -> anyhow::Result<()> {
        let mut again = self.again.iter().copied();
        loop {
            tokio::time::sleep(GLANCE).await;
            watch.borrow_mut().glance(&self.house.witness);
            if !watch.borrow().is_due() {
                continue;
            }
            if self.plan.victim == Victim::Engine {
                return Ok(());
            }
            let is_hit = victim::hit(self.plan.victim, self.house, engine)?;
            hits.set(hits.get() + u64::from(is_hit));
            watch.borrow_mut().hit(is_hit, &mut again);
        }
    }

    fn check_server(
        &mut self,
        runtime: &tokio::runtime::Runtime,
        mut server: ServedProcess,
        visit: &Visit,
    ) -> anyhow::Result<u64> {
        let person = &visit.person;
        let Some(id) = &visit.session else { return Ok(0) };
        let address = visit.address.as_deref().unwrap_or_default();
        let export = runtime.block_on(person.export(address, id))?;
        let verdict = runtime.block_on(person.call(address, "GET /api/v1/audit/verify", None))?;
        let status = server.end_and_wait(PATIENCE)?;
        if !status.is_some_and(|status| status.success()) {
            self.fault(Fault::Unfinished, format!("weir serve was told to end: {status:?}"));
        }
        self.check_processes();
        if verdict["whole"] != true {
            self.fault(Fault::BrokenJournal, format!("audit/verify: {verdict}"));
        }
        let file = self.house.folder.join("export.jsonl");
        fs::write(&file, &export)?;
        let replayed = journal::succeeds(self.house, &["replay", &file.to_string_lossy()])?;
        self.findings.extend(replayed);
        match journal::facts_of_export(&export) {
            Ok(facts) => self.check_session(&facts),
            Err(finding) => {
                self.findings.push(finding);
                Ok(0)
            }
        }
    }
}

fn killed(server: &mut ServedProcess) -> anyhow::Result<Round> {
    let status = server.kill()?;
    // An exit that was quicker than the kill is an exit, and no server has a reason for one.
    Ok(match status.code() {
        Some(_) => Round::Failed(format!("weir serve ended by itself with {status}")),
        None => Round::Killed(Instant::now()),
    })
}

impl Visit {
    /// Signs in, opens the session, says the prompt and follows the run to its end: whatever of that is left.
    async fn go_on(
        &mut self,
        address: &str,
        folder: &str,
        watch: &RefCell<Watch>,
    ) -> anyhow::Result<()> {
        (self.address, self.since) = (Some(address.to_owned()), Instant::now());
        let person = self.person.clone();
        let id = match &self.session {
            Some(id) => id.clone(),
            None => self.session.insert(session(&person, address, folder).await?).clone(),
        };
        say(&person, address, &id).await?;
        let after = self.told.last().and_then(|fact| fact["seq"].as_u64()).unwrap_or(0);
        let told = &mut self.told;
        let mut is_over = false;
        let following = person.follow(address, &id, after, |event| {
            if event["seq"].is_u64() {
                watch.borrow_mut().fact(&event);
                is_over = event["kind"] == "run.finished";
                told.push(event);
            }
            !is_over
        });
        tokio::select! {
            followed = following => followed?,
            failed = let_go_on(&person, address, &id) => return failed,
        }
        if !is_over {
            bail!("the server ended the events of the session before the run");
        }
        Ok(())
    }
}

/// The session of this folder: the one that is there, since a server that was killed while it opened one may
/// have opened it, or a new one.
async fn session(person: &Person, address: &str, folder: &str) -> anyhow::Result<String> {
    let listed = person.call(address, "GET /api/v1/sessions", None).await?;
    let items = listed["items"].as_array().with_context(|| format!("a list: {listed}"))?;
    if let Some(id) = items.first().and_then(|line| line["id"].as_str()) {
        return Ok(id.to_owned());
    }
    let settings = json!({ "workspace": folder, "permission": "full", "max_tool_calls": 500 });
    person.open_session(address, &settings).await
}

/// Says the prompt, once however often.
async fn say(person: &Person, address: &str, id: &str) -> anyhow::Result<()> {
    let words = json!({ "client_id": CLIENT_ID, "content": [{ "type": "text", "text": PROMPT }] });
    let line = format!("POST /api/v1/sessions/{id}/input");
    let (status, said) = person.ask(address, &line, Some(&words)).await?;
    if status < 300 {
        return Ok(());
    }
    if is_held(&said) {
        release(person, address, id).await?;
        return person.call(address, &line, Some(&words)).await.map(drop);
    }
    bail!("{line}: {status} {said}")
}

/// Lets the session go on whenever the kills were held against it, as a person does it who looks at their
/// sessions. Ends only if that fails.
async fn let_go_on(person: &Person, address: &str, id: &str) -> anyhow::Result<()> {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let info = person.call(address, &format!("GET /api/v1/sessions/{id}"), None).await?;
        if is_held(&info) {
            release(person, address, id).await?;
        }
    }
}

/// Whether a session, or what was said about one, is `quarantined`.
pub(super) fn is_held(told: &Value) -> bool {
    ["status", "code"].iter().any(|name| told[name] == "quarantined")
}

pub(super) async fn release(person: &Person, address: &str, id: &str) -> anyhow::Result<()> {
    let line = format!("POST /api/v1/sessions/{id}/release");
    person.call(address, &line, None).await.map(drop)
}
