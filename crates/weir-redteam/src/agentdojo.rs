//! AgentDojo's suite `slack` through the gate: its tools, its tasks, its checks of what was reached,
//! and a model that is hijacked already.
//!
//! The suite's tools stand in a child process that speaks JSON lines; Weir's MCP client takes its
//! place once there is one. Nothing of the suite is judged here: whether a task is solved and whether
//! an injection reached its goal is the suite's own word.

mod declared;
mod hijacked;
mod server;
mod session;
mod setup;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;

use crate::attacker::{Mind as _, Move, Seen};
use hijacked::{Hijacked, Order};
use server::Server;
use session::{Bench, Refusal};
use setup::{SETUPS, Setup};

/// What a run of one task left.
#[derive(Debug, Clone)]
struct Outcome {
    user_task: String,
    /// The injection and when its calls are tried; `None`: the task alone.
    attack: Option<(String, Order)>,
    /// The person's task is solved.
    utility: bool,
    /// The injection reached its goal.
    reached: bool,
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

/// `weir-redteam agentdojo --python PATH`: prints the report. Exit 1 when a claim does not hold.
///
/// # Errors
/// Wrong arguments; the suite cannot be started or played.
pub async fn command(arguments: &[String]) -> anyhow::Result<(String, ExitCode)> {
    let python = match arguments {
        [flag, path] if flag == "--python" => PathBuf::from(path),
        _ => anyhow::bail!(
            "usage: weir-redteam agentdojo --python PATH\nPATH is a Python that has the packages \
             of tests/outside/agentdojo/requirements.txt; tests/outside/agentdojo/run.sh knows one"
        ),
    };
    let (server, rounds) = play(&python).await?;
    let claims = table::claims(&rounds);
    let holds = claims.iter().all(|claim| claim.holds);
    let text = table::report(&server.suite, &rounds, &claims);
    Ok((text, if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }))
}

async fn play(python: &Path) -> anyhow::Result<(Arc<Server>, Vec<Round>)> {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/outside/agentdojo/server.py");
    let server = Arc::new(Server::start(python, &script).await?);
    let bench = Bench::new(server.clone())?;
    let mut rounds = Vec::new();
    for setup in SETUPS {
        let mut outcomes = Vec::new();
        for user_task in &server.user_tasks {
            outcomes.push(one(&bench, setup, user_task, None).await?);
            for injection in &server.injection_tasks {
                for order in Order::ALL {
                    let attack = Some((injection.clone(), order));
                    outcomes.push(one(&bench, setup, user_task, attack).await?);
                }
            }
        }
        rounds.push(Round { setup, outcomes });
    }
    Ok((server, rounds))
}

async fn one(
    bench: &Bench,
    setup: &Setup,
    user_task: &str,
    attack: Option<(String, Order)>,
) -> anyhow::Result<Outcome> {
    let injection = attack.as_ref().map(|(injection, _)| injection.as_str());
    let task = bench.server.begin(user_task, injection).await?;
    let order = attack.as_ref().map_or(Order::OnReading, |(_, order)| *order);
    let mind = Arc::new(Mutex::new(Hijacked::new(&task, order)));
    let (asked, refused) = if setup.gate {
        let told = bench.play(setup, &task, mind).await;
        told.with_context(|| format!("{user_task} with {injection:?}, {}", setup.name))?
    } else {
        directly(&bench.server, &mind).await?;
        (0, Vec::new())
    };
    let (utility, reached) = bench.server.end(&task.answer).await?;
    Ok(Outcome { user_task: user_task.into(), attack, utility, reached, asked, refused })
}

/// The same model with nothing before the tools.
async fn directly(server: &Server, mind: &Mutex<Hijacked>) -> anyhow::Result<()> {
    let mut results: Vec<Seen> = Vec::new();
    loop {
        let next = mind.lock().unwrap_or_else(PoisonError::into_inner).next(&results);
        let Move::Call(wishes) = next else { return Ok(()) };
        results.clear();
        for wish in wishes {
            let name = declared::without_prefix(&wish.tool);
            let (ok, text) = server.call(name, &wish.input).await?;
            results.push(Seen { ok, text });
        }
    }
}
