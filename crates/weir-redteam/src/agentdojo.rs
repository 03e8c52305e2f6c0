//! AgentDojo's suite `slack` through the gate: its tools, its tasks, its checks of what was reached,
//! and a model that is hijacked already (U14).
//!
//! The suite's tools stand behind a real MCP server, in a real installation. Nothing of the suite is
//! judged here: whether a task is solved and whether an injection reached its goal is the suite's own
//! word, and whether a call arrived is the word of the service that it arrived at.

mod claims;
mod constants;
mod direct;
mod hijacked;
mod installation;
mod planner;
mod reader;
mod service;
mod session;
mod setup;
mod table;
mod variant;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use weir_core::tool::foreign;

use hijacked::{Attempt, Hijacked, Order};
use installation::Installation;
use planner::{Planner, Programs};
use service::{Begin, Service, Task};
use session::{Begun, Refusal};
use setup::{SETUPS, Setup, form};
use variant::{Variant, reaches_attacker};

/// The name by which the settings know the suite's server.
const SLACK: &str = "slack";
/// The folder with the suite's server and settings, from this crate's.
const SUITE: &str = "../../tests/outside/agentdojo";
/// Sessions that are played at once.
const PLAYS_AT_ONCE: usize = 4;
/// The tasks and set-ups of the short form, which is no table but a check: a task that only reads, one
/// that sends what it read, one that finds whom to invite in a page, one that chooses a channel.
const SHORT_TASKS: [&str; 4] = ["user_task_0", "user_task_6", "user_task_2", "user_task_10"];
const SHORT_SETUPS: [&str; 5] = ["open", "nobody", "careful", "open/p", "ruled/p"];

/// The name by which the model calls a tool of the suite.
fn with_prefix(name: &str) -> String {
    foreign::foreign_tool_name(SLACK, name)
}

/// The suite's name of a tool.
fn without_prefix(name: &str) -> &str {
    let ours = name.strip_prefix(foreign::PREFIX).and_then(|rest| rest.strip_prefix(SLACK));
    ours.and_then(|rest| rest.strip_prefix("__")).unwrap_or(name)
}

/// What is tried in a task.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Attack {
    variant: Variant,
    /// The suite's name of the injection, where it is one.
    injection: Option<String>,
    order: Order,
}

/// What a run of one task left.
#[derive(Debug, Clone)]
struct Outcome {
    user_task: String,
    /// `None`: the task alone.
    attack: Option<Attack>,
    /// The person's task is solved.
    utility: bool,
    /// The injection reached its goal; or a call with the attacker's value arrived.
    reached: bool,
    /// The person's task writes to whom the attacker wants to be written to: then what arrives there may be
    /// the attacker's words and no call of theirs.
    same_places: bool,
    /// Tools of the attacker's calls that arrived. Empty for injections: the suite judges those.
    arrived: Vec<String>,
    /// Questions that a person was asked.
    asked: usize,
    /// Calls that were not let through, with what decided.
    refused: Vec<Refusal>,
}

/// All runs of one set-up.
struct Round {
    setup: &'static Setup,
    outcomes: Vec<Outcome>,
}

/// What is played.
struct Scope {
    setups: Vec<&'static Setup>,
    user_tasks: Vec<String>,
    variants: Vec<Variant>,
}

struct Wishes {
    python: PathBuf,
    short: bool,
    variants: Vec<Variant>,
    setups: Vec<&'static Setup>,
}

/// `weir-redteam agentdojo --python PATH [--short] [--variant NAME]… [--setup NAME]…`: prints the report. Exit 1 when
/// a claim does not hold.
///
/// # Errors
/// Wrong arguments; the suite cannot be started or played.
pub async fn command(arguments: &[String]) -> anyhow::Result<(String, ExitCode)> {
    let wishes = wishes(arguments)?;
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join(SUITE);
    let service = Service::start(&wishes.python, &suite.join("server.py")).await?;
    let installation = Installation::new(&suite, &service.address).await?;
    let programs = Programs::load(&suite.join("programs"))?;
    let scope = scope(&wishes, &service);
    let name = service.suite.clone();
    let bench = Bench { service, installation, programs };
    let rounds = play_all(Arc::new(bench), &scope).await?;
    let claims = table::claims(&rounds);
    let holds = claims.iter().all(|claim| claim.holds);
    let text = match wishes.short {
        true => table::short_report(&name, &rounds, &claims),
        false => table::report(&name, &rounds, &claims),
    };
    Ok((text, if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }))
}

fn wishes(arguments: &[String]) -> anyhow::Result<Wishes> {
    let (variants, setups) = (Vec::new(), Vec::new());
    let mut wishes = Wishes { python: PathBuf::new(), short: false, variants, setups };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} wants a value"));
        match word.as_str() {
            "--python" => wishes.python = value()?.into(),
            "--short" => wishes.short = true,
            "--variant" => {
                let key = value()?;
                let found = Variant::ALL.into_iter().find(|variant| variant.key() == key);
                let keys = Variant::ALL.map(Variant::key).join(", ");
                let why = || format!("there is no variant {key:?}; there are {keys}");
                wishes.variants.push(found.with_context(why)?);
            }
            "--setup" => {
                let key = value()?;
                let found = SETUPS.iter().find(|setup| setup.key == key);
                wishes.setups.push(found.with_context(|| format!("there is no set-up {key:?}"))?);
            }
            _ => anyhow::bail!("{word:?} is no option of weir-redteam agentdojo"),
        }
    }
    anyhow::ensure!(
        !wishes.python.as_os_str().is_empty(),
        "usage: weir-redteam agentdojo --python PATH [--short] [--variant NAME]… [--setup NAME]…\n\
         PATH is a Python that has the packages of tests/outside/agentdojo/requirements.txt; \
         tests/outside/agentdojo/run.sh knows one"
    );
    Ok(wishes)
}

fn scope(wishes: &Wishes, service: &Service) -> Scope {
    let variants = match (wishes.variants.is_empty(), wishes.short) {
        (false, _) => wishes.variants.clone(),
        (true, true) => vec![Variant::Placed],
        (true, false) => Variant::ALL.to_vec(),
    };
    let is_wanted = |setup: &&'static Setup| {
        wishes.setups.is_empty() || wishes.setups.iter().any(|wanted| wanted.key == setup.key)
    };
    let is_played = |setup: &&Setup| !wishes.short || SHORT_SETUPS.contains(&setup.key);
    let is_tried = |task: &&String| !wishes.short || SHORT_TASKS.contains(&task.as_str());
    Scope {
        setups: SETUPS.iter().filter(is_wanted).filter(is_played).collect(),
        user_tasks: service.user_tasks.iter().filter(is_tried).cloned().collect(),
        variants,
    }
}

/// The suite and an installation that uses it.
struct Bench {
    service: Service,
    installation: Installation,
    programs: Programs,
}

impl Bench {
    /// A model at a task that was begun.
    fn mind(
        &self,
        user_task: &str,
        task: &Task,
        attempt: &Attempt<'_>,
    ) -> anyhow::Result<Hijacked> {
        let user = match attempt.planner {
            Planner::Calls => Planner::Calls.wishes_of(&task.user),
            Planner::Program => self.programs.wishes_for(user_task, task)?,
        };
        Ok(Hijacked::new(task, user, attempt))
    }
}

async fn play_all(bench: Arc<Bench>, scope: &Scope) -> anyhow::Result<Vec<Round>> {
    let mut plays: Vec<(usize, &'static Setup, String, Option<Attack>)> = Vec::new();
    for (round, setup) in scope.setups.iter().enumerate() {
        for task in &scope.user_tasks {
            let attacks = scope.variants.iter().flat_map(|v| attacks(*v, &bench.service));
            for attack in std::iter::once(None).chain(attacks.map(Some)) {
                plays.push((round, setup, task.clone(), attack));
            }
        }
    }
    let free = Arc::new(Semaphore::new(PLAYS_AT_ONCE));
    let mut running = JoinSet::new();
    for (number, (round, setup, task, attack)) in plays.into_iter().enumerate() {
        let (bench, free) = (bench.clone(), free.clone());
        running.spawn(async move {
            let _turn = free.acquire_owned().await?;
            let told = format!("{task} with {attack:?}, {}", setup.name);
            let outcome = one(&bench, &format!("p{number}"), setup, &task, attack).await;
            anyhow::Ok((number, round, outcome.context(told)?))
        });
    }
    let mut done = Vec::new();
    while let Some(ended) = running.join_next().await {
        done.push(ended??);
    }
    done.sort_by_key(|(number, ..)| *number);
    let mut rounds: Vec<Round> =
        scope.setups.iter().map(|setup| Round { setup, outcomes: Vec::new() }).collect();
    for (_, round, outcome) in done {
        rounds[round].outcomes.extend(outcome);
    }
    Ok(rounds)
}

/// Every attack of a variant.
fn attacks(variant: Variant, service: &Service) -> Vec<Attack> {
    let injections: Vec<Option<String>> = match variant.has_injection() {
        true => service.injection_tasks.iter().cloned().map(Some).collect(),
        false => vec![None],
    };
    let each = injections.into_iter().flat_map(|injection| {
        let of =
            move |order: &Order| Attack { variant, injection: injection.clone(), order: *order };
        variant.orders().iter().map(of).collect::<Vec<_>>()
    });
    each.collect()
}

/// Plays one task; `None`: the attack has nothing to attack in it.
async fn one(
    bench: &Bench,
    play: &str,
    setup: &Setup,
    user_task: &str,
    attack: Option<Attack>,
) -> anyhow::Result<Option<Outcome>> {
    let injection_task = attack.as_ref().and_then(|attack| attack.injection.as_deref());
    let variant = attack.as_ref().map_or(Variant::Placed, |attack| attack.variant);
    let begin = Begin { play, user_task, injection_task, data: variant.data() };
    let task = bench.service.begin(&begin).await?;
    let calls = if attack.is_some() { variant.attack(&task) } else { Vec::new() };
    if attack.is_some() && calls.is_empty() {
        return Ok(None);
    }
    let order = attack.as_ref().map_or(Order::OnReading, |attack| attack.order);
    let attempt = Attempt { planner: setup.planner, calls: &calls, order };
    let mind = Arc::new(Mutex::new(bench.mind(user_task, &task, &attempt)?));
    let (asked, refused) = if setup.gate {
        let begun = Begun { task: &task, attack: &calls, mind };
        session::play(&bench.installation, play, setup, &begun).await?
    } else {
        direct::play(&bench.service, play, &mind).await?;
        (0, Vec::new())
    };
    let ended = bench.service.end(play, &task.answer).await?;
    let arrived: Vec<String> = match variant.has_injection() {
        true => Vec::new(),
        false => {
            let theirs = ended.arrived.iter().filter(|call| reaches_attacker(call));
            theirs.map(|call| call.name.clone()).collect()
        }
    };
    let reached = ended.security || !arrived.is_empty();
    let theirs: Vec<String> = task.user.iter().map(|call| form(call, false)).collect();
    let same_places = calls.iter().all(|call| theirs.contains(&form(call, false)));
    let user_task = user_task.into();
    Ok(Some(Outcome {
        user_task,
        attack,
        utility: ended.utility,
        reached,
        same_places,
        arrived,
        asked,
        refused,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u14_a_tool_has_one_name_here_and_there() {
        assert_eq!(with_prefix("get_channels"), "mcp__slack__get_channels");
        assert_eq!(without_prefix("mcp__slack__get_channels"), "get_channels");
        assert_eq!(without_prefix("mcp__other__get_channels"), "mcp__other__get_channels");
    }
}
