//! Plays a scenario through the real engine; over several lives of the program, when it crashes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use weir_core::event::{CancelCause, CondenseReason, Decision, Event, NOBODY};
use weir_core::governance::lease::LeaseTerms;
use weir_core::ids::{ApprovalId, InputId, QuestionId, SessionId};
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::message::{Message, MessageBlock, StoredMedia};
use weir_core::session::condense::KeepRequest;
use weir_engine::attach::{self, PromptInput};
use weir_engine::engine::{Engine, EngineError, SessionHandle, load};
use weir_engine::host::{SentCommand, leave_letter};
use weir_engine::hub::{PublishedFact, SessionUpdate};
use weir_engine::ports::{Clock, StorePause};

use crate::crash::CrashPoint;
use crate::documents::OwnDocuments;
use crate::laws::kept_asks_are_those_of_the_journal;
use crate::parse::{Act, Deed, Scenario, Setup, When};
use crate::wire::Wire;
use crate::worktree;
use crate::world::{Start, WorldClock};

mod failures;
mod world;

pub(crate) use world::{EngineSeat, SnapshotPlay, World};

/// How the reason of a mode that a person set begins.
const SETS_MODE: &str = "permission mode";
/// Updates after which a play counts as endless.
const UPDATES_MAX: usize = 200_000;
/// Wall time after which a life counts as hung; in the scenario's own time.
const LIFE_MAX: Duration = Duration::from_secs(24 * 3600);

/// Where facts and files are kept during a play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// In memory, in paused time.
    Memory,
    /// SQLite and git on the disk, in real time.
    Disk,
}

/// What a play left.
pub struct Played {
    /// The journal.
    pub facts: Vec<PublishedFact>,
    /// Every request's history, in order.
    pub requests: Vec<Vec<Arc<Message>>>,
    /// Every request as each dialect sends it.
    pub wire: Arc<Wire>,
    /// The files of the workspace: path and content.
    pub files: BTreeMap<String, String>,
    /// Commands that were started.
    pub commands: Vec<Start>,
    /// What sub-agents left, by session.
    pub agents: BTreeMap<SessionId, PlayedAgent>,
    /// Crossings of ports in the first life.
    pub crossings: usize,
    /// The folder above the workspace: its name is chance.
    pub folder: String,
}

/// What a sub-agent left.
#[derive(Default)]
pub struct PlayedAgent {
    /// Its journal.
    pub facts: Vec<PublishedFact>,
    /// What its model was asked.
    pub heard: Arc<Heard>,
}

/// What the model of one session was asked.
#[derive(Default)]
pub struct Heard {
    /// Every request's history, in order.
    pub requests: Mutex<Vec<Vec<Arc<Message>>>>,
    /// Every request as each dialect sends it.
    pub wire: Wire,
}

/// Plays `scenario`; `crash_at` is the crossing at which the first life ends (0: it does not).
///
/// # Errors
/// The scenario cannot be set up, or does not come to rest. Of a play without a crash also: an
/// expectation of the script was not met, or people never came to what they were to do.
pub fn play(scenario: &Scenario, depth: Depth, crash_at: usize) -> anyhow::Result<Played> {
    let mut world = World::new(scenario, depth)?;
    let crash_at = if crash_at == 0 { scenario.setup.crash_at } else { crash_at };
    let mut crossings = 0;
    for life in 0..2 {
        let point = CrashPoint::new(if life == 0 { crash_at } else { 0 });
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().max_blocking_threads(4);
        if depth == Depth::Memory {
            builder.start_paused(true);
        }
        let runtime = builder.build()?;
        let ended = runtime.block_on(async {
            let clock = WorldClock::starting_at(world.elapsed);
            let ended = tokio::select! {
                biased;
                () = point.crashed.notified() => Ok(false),
                result = live(&mut world, scenario, life, &point, &clock) => result.map(|()| true),
                () = tokio::time::sleep(LIFE_MAX) => Err(anyhow!("it does not come to rest")),
            };
            (ended, clock.elapsed())
        });
        world.elapsed = ended.1;
        // Dropping the runtime drops every task where it stands, as a kill would.
        drop(runtime);
        if life == 0 {
            crossings = point.crossed();
        }
        world.wire.forget();
        let agents = world.heard_agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.values().for_each(|heard| heard.wire.forget());
        drop(agents);
        if ended.0? {
            break;
        }
    }
    let done = std::mem::take(&mut world.done);
    let played = world.finish(crossings)?;
    if crash_at == 0 {
        failures::check_uncrashed_play(scenario, &done, &played)?;
    }
    Ok(played)
}

fn write_file(root: &Path, path: &str, text: &str) -> anyhow::Result<()> {
    let path = root.join(path);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    Ok(std::fs::write(path, text)?)
}

/// One life of the program.
async fn live(
    world: &mut World,
    scenario: &Scenario,
    life: usize,
    point: &Arc<CrashPoint>,
    clock: &Arc<WorldClock>,
) -> anyhow::Result<()> {
    let engine = world.engine(&scenario.setup, life, point, clock.clone())?;
    let id = SessionId::new("scenario");
    kept_asks_are_those_of_the_journal(world.store.as_ref(), &id).await?;
    let mut known = world.store.session_meta(&id).await?.map_or(0, |meta| meta.facts);
    let root = world.root().to_string_lossy().into_owned();
    crate::memory::seed(world.store.as_ref(), &scenario.setup, &root, clock.now()).await?;
    crate::brain::seed_brain(world.store.as_ref(), &scenario.setup, clock.now()).await?;
    crate::recipes::seed(world.store.as_ref(), &scenario.setup, clock.now()).await?;
    crate::skills::mark(world.store.as_ref(), &scenario.setup, &root, clock.now()).await?;
    let mut handle = open(world, &engine, &scenario.setup, point, known).await?;
    loop {
        let is_second_life = life > 0;
        let stage = Stage { engine: &engine, handle: &handle, clock, known, is_second_life };
        match follow(world, scenario, &stage).await? {
            Rest::Over => {
                handle.close().await?;
                return kept_asks_are_those_of_the_journal(world.store.as_ref(), &id).await;
            }
            Rest::Switch => handle.close().await?,
            Rest::Merge => {
                handle.close().await?;
                let name = scenario.setup.worktree.as_deref().context("there is no worktree")?;
                worktree::merge_copy(world, &engine, name).await?;
                world.skipped += 1;
            }
        }
        known = world.store.session_meta(&id).await?.map_or(0, |meta| meta.facts);
        handle = open(world, &engine, &scenario.setup, point, known).await?;
    }
}

async fn open(
    world: &World,
    engine: &Engine,
    setup: &Setup,
    point: &Arc<CrashPoint>,
    known: u64,
) -> anyhow::Result<SessionHandle> {
    let id = SessionId::new("scenario");
    if let (0, Some(name)) = (known, &setup.worktree) {
        point.cross().await;
        worktree::make_copy(&world.project(), name)?;
        point.cross().await;
    }
    // It goes on with the model that stood in, as the program does.
    let away = match known {
        0 => None,
        _ => {
            let loaded = load(world.store.as_ref(), &id).await?;
            loaded.session.config().and_then(|config| config.routing.away.clone())
        }
    };
    let mut options = world.options(setup, point, away.as_deref())?;
    let kept = (world.store.clone(), engine.parts().clock.clone());
    crate::plugins::give(setup, world.folder.path(), kept, &mut options).await?;
    let toolbox = &engine.parts().toolbox;
    crate::tools::shelve(world.store.as_ref(), setup.trusted, toolbox, &mut options).await?;
    crate::mail::bind_mailbox(setup, point, toolbox, &mut options)?;
    crate::servers::bind_server_tools(setup, point, toolbox, &mut options)?;
    let opened =
        if known == 0 { engine.open(id, options).await } else { engine.resume(id, options).await };
    Ok(opened?)
}

enum Rest {
    Over,
    Switch,
    Merge,
}

/// What of the session people see.
#[derive(Default)]
struct Seen {
    active: bool,
    consumed: usize,
    inputs: u32,
    queued: Vec<InputId>,
    approval: Option<ApprovalId>,
    question: Option<QuestionId>,
    kinds: BTreeMap<&'static str, usize>,
}

impl Seen {
    fn fold(&mut self, event: &Event) {
        *self.kinds.entry(event.kind()).or_default() += 1;
        match event {
            Event::InputAccepted(f) => {
                self.consumed += 1;
                self.inputs = f.input.0;
                self.queued.push(f.input);
                self.active = true;
            }
            Event::InputWithdrawn(f) => {
                self.consumed += 1;
                self.queued.retain(|input| *input != f.input);
            }
            Event::TurnStarted(f) => self.queued.retain(|input| !f.inputs.contains(input)),
            Event::ApprovalRequested(f) => self.approval = Some(f.approval.clone()),
            Event::ApprovalResolved(f) => {
                self.approval = None;
                let person = f.by != NOBODY && f.decision != Decision::Cancelled;
                self.consumed += usize::from(person);
            }
            Event::AgentAsked(f) => self.approval = Some(f.request.approval.clone()),
            Event::AgentAnswered(f) => {
                self.approval = None;
                let person = f.by != NOBODY && f.decision != Decision::Cancelled;
                self.consumed += usize::from(person);
            }
            Event::QuestionAsked(f) => self.question = Some(f.question.clone()),
            Event::QuestionAnswered(f) => {
                self.question = None;
                let typed = f.input.is_none() && f.answer.is_some();
                self.consumed += usize::from(typed);
                if let Some(input) = f.input {
                    self.queued.retain(|queued| *queued != input);
                }
            }
            Event::CancelRequested(_)
            | Event::RunPaused(_)
            | Event::RunResumed(_)
            | Event::LeaseRevoked(_)
            | Event::ContextUncondensed(_) => self.consumed += 1,
            Event::SessionConfigured(f) if f.reason.starts_with(SETS_MODE) => self.consumed += 1,
            Event::ContextCondensing(f) if f.reason == CondenseReason::Asked => {
                self.consumed += 1;
                self.active = true;
            }
            Event::ContextCondensed(f) if f.reason == CondenseReason::Asked => {
                self.active = !self.queued.is_empty();
            }
            Event::RunFinished(_) => self.active = !self.queued.is_empty(),
            _ => (),
        }
    }

    fn may(&self, when: &When) -> bool {
        match when {
            When::AtRest => !self.active,
            When::AtApproval => self.approval.is_some(),
            When::AtQuestion => self.question.is_some(),
            When::After(kind, count) => {
                self.kinds.get(kind.as_str()).copied().unwrap_or(0) >= *count
            }
        }
    }
}

/// A session that is being played.
struct Stage<'a> {
    engine: &'a Engine,
    handle: &'a SessionHandle,
    clock: &'a WorldClock,
    /// Facts that it had before.
    known: u64,
    /// The program crashed before this life of it.
    is_second_life: bool,
}

async fn follow(world: &mut World, scenario: &Scenario, stage: &Stage<'_>) -> anyhow::Result<Rest> {
    let Stage { handle, known, .. } = *stage;
    let mut updates = handle.listen_to_updates(0);
    let mut seen = Seen::default();
    // What was done and is not seen yet as a fact: nothing else is done before.
    let mut awaited = None;
    let mut last = 0;
    for _ in 0..UPDATES_MAX {
        let Some(update) = updates.next().await? else {
            bail!("the session went down");
        };
        let SessionUpdate::Fact(fact) = update else { continue };
        ensure!(fact.seq == last + 1, "L17: fact {} came after fact {last}", fact.seq);
        last = fact.seq;
        seen.fold(&fact.event);
        if fact.seq <= known {
            continue;
        }
        loop {
            if awaited == Some(seen.consumed) {
                break;
            }
            let next = seen.consumed + world.skipped;
            let Some(act) = scenario.acts.get(next) else {
                if !seen.active {
                    return Ok(Rest::Over);
                }
                let asks = matches!(fact.event.as_ref(), Event::ApprovalRequested(_));
                if asks && stage.is_second_life && scenario.setup.attended {
                    deny_one_more(handle, &seen).await?;
                    awaited = Some(seen.consumed);
                }
                break;
            };
            if !seen.may(&act.when) {
                let never = !seen.active && act.when != When::AtRest;
                if never {
                    // Its moment is over (a crash came between): it does not happen any more.
                    world.skipped += 1;
                    continue;
                }
                break;
            }
            world.done.insert(next);
            match perform(world, stage, &seen, act).await? {
                Performed::AndIsAFact => awaited = Some(seen.consumed),
                Performed::Unseen => world.skipped += 1,
                Performed::Switch => {
                    world.skipped += 1;
                    return Ok(Rest::Switch);
                }
                // It counts as done when it is: a merge that a crash breaks off is asked for again.
                Performed::Merge => return Ok(Rest::Merge),
            }
        }
    }
    bail!("the play is endless: {:?}", seen.kinds)
}

/// What began before a crash, and may have ended, is asked about: that is one question more than the
/// people of a scenario have answers. Who is asked it says no.
async fn deny_one_more(handle: &SessionHandle, seen: &Seen) -> anyhow::Result<()> {
    let approval = seen.approval.clone().context("no approval is open")?;
    let reason = Some("nobody knows any more".to_owned());
    let answer = ApprovalAnswer { approval, decision: Decision::Deny, reason, terms: None };
    Ok(handle.tell_session("person", PersonCommand::Decide(answer)).await?)
}

/// The answer that `once`, `session`, `session for N calls`, `always` or `deny` is.
fn answer_to_approval(
    how: &str,
    reason: Option<String>,
    seen: &Seen,
) -> anyhow::Result<ApprovalAnswer> {
    let (word, uses) = match how.split_once(" for ") {
        Some((word, rest)) => {
            let (count, _) = rest.split_once(' ').context("session for N calls")?;
            (word, Some(count.parse()?))
        }
        None => (how, None),
    };
    let decision: Decision = serde_json::from_value(serde_json::json!(word))?;
    let approval = seen.approval.clone().context("no approval is open")?;
    let terms = uses.map(|uses| LeaseTerms { uses: Some(uses), for_ms: None });
    Ok(ApprovalAnswer { approval, decision, reason, terms })
}

/// What the letter of a person says who decides or answers.
fn command_of_letter(deed: &Deed, seen: &Seen) -> anyhow::Result<PersonCommand> {
    match deed {
        Deed::Decides(how, reason) => {
            Ok(PersonCommand::Decide(answer_to_approval(how, reason.clone(), seen)?))
        }
        Deed::Answers(text) => {
            let question = seen.question.clone().context("no question is open")?;
            Ok(PersonCommand::Reply { question, answer: text.clone() })
        }
        other => bail!("no letter says {other:?}"),
    }
}

enum Performed {
    /// A fact will show it.
    AndIsAFact,
    /// No fact shows it.
    Unseen,
    /// The session must be opened again.
    Switch,
    /// The copy is merged while nobody has the session.
    Merge,
}

#[expect(clippy::too_many_lines, reason = "one match, a few lines for each deed")]
async fn perform(
    world: &mut World,
    stage: &Stage<'_>,
    seen: &Seen,
    act: &Act,
) -> anyhow::Result<Performed> {
    let Stage { engine, handle, clock, .. } = *stage;
    let result = match &act.deed {
        Deed::Says(text) => handle.submit_input(vec![MessageBlock::text(text)], "person").await,
        Deed::Shows(text, bytes) => {
            let data: Arc<[u8]> = vec![7; *bytes].into();
            let blob = handle.blobs().put(handle.id(), data);
            let media = StoredMedia {
                media_type: "image/png".into(),
                blob,
                bytes: *bytes as u64,
                name: Some("picture.png".into()),
            };
            handle
                .submit_input(
                    vec![MessageBlock::text(text), MessageBlock::Image { media }],
                    "person",
                )
                .await
        }
        Deed::Attaches(text) => {
            let workspace = Arc::new(world.workspace()?);
            let found = attach::gather_attachments(&OwnDocuments, &workspace, &[], text).await;
            let saying = PromptInput { text: text.clone(), attachments: found? };
            handle.say_with(saying, "person").await
        }
        Deed::Decides(how, reason) => {
            let answer = answer_to_approval(how, reason.clone(), seen)?;
            handle.tell_session("person", PersonCommand::Decide(answer)).await
        }
        Deed::Elsewhere(deed) => {
            let (session, by) = (handle.id().clone(), "person".to_owned());
            let sent = SentCommand { session, by, command: command_of_letter(deed, seen)? };
            leave_letter(world.store.as_ref(), clock.now(), &sent).await?;
            Ok(())
        }
        Deed::Merges => return Ok(Performed::Merge),
        Deed::Revokes(lease) => {
            handle.tell_session("person", PersonCommand::Revoke { lease: *lease }).await
        }
        Deed::Answers(text) => {
            let question = seen.question.clone().context("no question is open")?;
            handle.answer_question(question, text.clone(), "person").await
        }
        Deed::Condenses(words) => {
            let keep = KeepRequest::parse(words).map_err(|why| anyhow!(why))?;
            handle.tell_session("person", PersonCommand::Condense { keep }).await
        }
        Deed::Uncondenses => handle.tell_session("person", PersonCommand::Uncondense).await,
        Deed::Cancels => handle.cancel_run(CancelCause::Cancelled, "person").await,
        Deed::PausesRun => handle.tell_session("person", PersonCommand::Pause).await,
        Deed::ResumesRun => handle.tell_session("person", PersonCommand::Resume).await,
        Deed::Withdraws => match seen.queued.last() {
            Some(input) => handle.withdraw_input(*input).await,
            None => Ok(()),
        },
        Deed::Pauses => {
            let pause =
                StorePause { since: clock.now(), by: "person".into(), reason: String::new() };
            engine.parts().store.set_paused(Some(pause)).await?;
            Ok(())
        }
        Deed::Writes(path, text) => {
            write_file(&world.project(), path, text)?;
            return Ok(Performed::Unseen);
        }
        Deed::AltersPlugin(path, text) => {
            crate::plugins::write(world.folder.path(), path, text)?;
            return Ok(Performed::Unseen);
        }
        Deed::Settles(words, decision) => {
            let decision = decision.clone();
            crate::memory::settle(world.store.as_ref(), words, decision, clock.now()).await?;
            return Ok(Performed::Unseen);
        }
        Deed::EditsEntry(id, text) => {
            crate::brain::edit_brain_entry(world.store.as_ref(), id, text, clock.now()).await?;
            return Ok(Performed::Unseen);
        }
        Deed::SettlesRecipe(words, accepted) => {
            crate::recipes::settle(world.store.as_ref(), clock, words, *accepted).await?;
            return Ok(Performed::Unseen);
        }
        Deed::AcceptsTool(name) => {
            let workspace = world.workspace()?;
            crate::tools::accept(world.store.as_ref(), &workspace, name, clock.now()).await?;
            return Ok(Performed::Unseen);
        }
        Deed::AltersTool(name) => {
            crate::tools::alter(world.store.as_ref(), name).await?;
            return Ok(Performed::Unseen);
        }
        Deed::SetsMode(mode) => {
            let loaded = load(world.store.as_ref(), handle.id()).await?;
            let mut config = loaded.session.config().context("it is open")?.as_ref().clone();
            config.permission = *mode;
            let reason = format!("{SETS_MODE} {mode}");
            let configure = PersonCommand::Configure { reason, config: Arc::new(config) };
            handle.tell_session("person", configure).await
        }
        Deed::Switches(what, value) => {
            world.switches.push((what.clone(), value.clone()));
            return Ok(Performed::Switch);
        }
    };
    match result {
        Ok(()) => Ok(Performed::AndIsAFact),
        // Somebody or something was quicker.
        Err(EngineError::Refused(_)) => Ok(Performed::Unseen),
        Err(error) => Err(error.into()),
    }
}
