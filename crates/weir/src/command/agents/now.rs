//! `weir agents run`: a run in the foreground, as strict as one that is due.

use std::process::ExitCode;

use weir_core::schedule::{AgentCause, AgentRun, AgentRunState, OnAsk};
use weir_engine::ports::{AtRest, Claim, Store};
use weir_engine::schedule::{Course, followers, known, saying};
use weir_install::agents::wishes;
use weir_install::cx::Cx;
use weir_install::wiring;
use weir_store::this_process;

use super::{find, now_micros, open_runs};
use crate::command::run::{self, Asks, Shown};
use crate::failure::{engine_failure, exit, failure, usage};
use crate::options::AgentsRunArgs;
use crate::terminal;

/// What this program is called where a session is found held.
const LABEL: &str = "weir agents run";

/// Runs an agent now.
pub(super) async fn run(cx: &Cx, args: &AgentsRunArgs) -> anyhow::Result<ExitCode> {
    let store = cx.store()?;
    if let Some(pause) = store.paused().await? {
        return Err(failure(
            exit::PAUSED,
            format!(
                "Weir has been paused since {} by {}; nothing was run. `weir release` ends the \
                 pause.",
                pause.since, pause.by
            ),
        ));
    }
    let (_, agent) = find(store.as_ref(), &args.name).await?;
    let there = cx.anew(std::path::Path::new(&agent.workspace))?;
    let options = wiring::session_options(&there, &wishes(&agent), None).await?;
    let engine = wiring::engine(&there, LABEL)?;
    let session = wiring::new_session_id();
    let begun = now_micros();
    let run = AgentRun {
        state: AgentRunState::Running,
        session: Some(session.clone()),
        started: Some(begun),
        ..AgentRun::new(&agent, AgentCause::Manual, format!("by hand {session}"), begun)
    };
    let holder = this_process(LABEL);
    let claims = store.claim_ticks(std::slice::from_ref(&run), Some(&holder)).await?;
    if claims != [Claim::Claimed] {
        let open = open_runs(store.as_ref(), &agent.name).await?;
        let open = open.iter().find_map(|run| run.session.as_ref());
        let named = open.map(|session| format!(" (session {session})")).unwrap_or_default();
        return Err(usage(format!(
            "another run of {} is not finished{named}; nothing was run",
            agent.name
        )));
    }
    let asks = match agent.on_ask {
        OnAsk::Deny => Asks::Nobody,
        OnAsk::Queue => Asks::Elsewhere { quiet: args.quiet },
    };
    let shown = Shown { output: args.output, deltas: false, quiet: args.quiet, resumable: true };
    let play = run::begin(engine, session.clone(), options, (shown, asks)).await;
    let by = agent.by();
    let played = match play {
        Ok(play) => play.said_by(by).go(&there, Some(saying(&agent, &run))).await,
        Err(error) => Err(error),
    };
    let now = now_micros();
    let course = match store.meta(&session).await? {
        Some(_) => Course::of(store.as_ref(), &session).await.map_err(engine_failure)?,
        None => Course::default(),
    };
    let ended = match (course.at_rest(), &played) {
        (Some(AtRest::Ended { status, note }), _) => {
            run.clone().ended(AgentRunState::Ended(status), now, note)
        }
        // It went down: whoever comes next takes it up again.
        (_, Ok(_)) => AgentRun { state: AgentRunState::Waiting, ..run.clone() },
        (_, Err(error)) => {
            let failed = AgentRunState::Ended(weir_core::event::RunStatus::Failed);
            run.clone().ended(failed, now, format!("{error:#}"))
        }
    };
    if course.is_completed() {
        claim_what_follows(store.as_ref(), &run, args.quiet).await?;
    }
    store.note_agent_run(&ended, &holder).await?;
    played
}

/// Claims the runs of agents that run after this one's, for whoever takes them.
async fn claim_what_follows(store: &dyn Store, run: &AgentRun, quiet: bool) -> anyhow::Result<()> {
    let (agents, _) = known(store).await?;
    let next = followers(&agents, run, now_micros());
    let claims = store.claim_ticks(&next, None).await?;
    for (next, _) in next.iter().zip(claims).filter(|(_, claim)| *claim == Claim::Claimed) {
        if !quiet {
            let name = &next.agent;
            terminal::err_line(&format!("{name} is due now; `weir agents daemon` starts it"));
        }
    }
    Ok(())
}
