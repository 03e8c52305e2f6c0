//! `weir agents run`: a run in the foreground, as strict as one that is due.

use std::process::ExitCode;

use weir_core::schedule::{AgentCause, AgentRun, AgentRunState, OnAsk};
use weir_engine::ports::{AtRest, Store, TickClaim};
use weir_engine::schedule::{
    ScheduledRunProgress, first_prompt_input, follower_runs, load_known_agents,
};
use weir_install::agents::agent_session_overrides;
use weir_install::context::InstallationContext;
use weir_install::wiring;
use weir_store::this_process;

use super::{find_kept_agent, open_runs};
use crate::command::current_timestamp;
use crate::command::run::{self, ApprovalAnswerer, OutputOptions, paused_failure};
use crate::failure::{engine_failure, usage};
use crate::options::AgentsRunArgs;
use crate::terminal;

/// What this program is called where a session is found held.
const LABEL: &str = "weir agents run";

/// Runs an agent now.
pub(super) async fn run(
    cx: &InstallationContext,
    args: &AgentsRunArgs,
) -> anyhow::Result<ExitCode> {
    let store = cx.local_store()?;
    if let Some(pause) = store.pause_state().await? {
        return Err(paused_failure(&pause));
    }
    let (_, agent) = find_kept_agent(store.as_ref(), &args.name).await?;
    let there = cx.reloaded_in_folder(std::path::Path::new(&agent.workspace))?;
    let options = wiring::session_options(&there, &agent_session_overrides(&agent), None).await?;
    let engine = wiring::open_engine(&there, LABEL).await?;
    let session = wiring::new_session_id();
    let begun = current_timestamp();
    let run = AgentRun {
        state: AgentRunState::Running,
        session: Some(session.clone()),
        started: Some(begun),
        ..AgentRun::new(&agent, AgentCause::Manual, format!("by hand {session}"), begun)
    };
    let holder = this_process(LABEL);
    let claims = store.claim_ticks(std::slice::from_ref(&run), Some(&holder)).await?;
    if claims != [TickClaim::Claimed] {
        let open = open_runs(store.as_ref(), &agent.name).await?;
        let open = open.iter().find_map(|run| run.session.as_ref());
        let named = open.map(|session| format!(" (session {session})")).unwrap_or_default();
        return Err(usage(format!(
            "another run of {} is not finished{named}; nothing was run",
            agent.name
        )));
    }
    let asks = match agent.on_ask {
        OnAsk::Deny => ApprovalAnswerer::Nobody,
        OnAsk::Queue => ApprovalAnswerer::Elsewhere { quiet: args.quiet },
    };
    let shown =
        OutputOptions { output: args.output, deltas: false, quiet: args.quiet, resumable: true };
    let play =
        run::begin_run(engine, session.clone(), options, run::RunDialog { shown, asks }).await;
    let by = agent.actor_name();
    let played = match play {
        Ok(play) => {
            play.said_by(by).run_to_end(&there, Some(first_prompt_input(&agent, &run))).await
        }
        Err(error) => Err(error),
    };
    let now = current_timestamp();
    let course = match store.session_meta(&session).await? {
        Some(_) => ScheduledRunProgress::from_journal(store.as_ref(), &session)
            .await
            .map_err(engine_failure)?,
        None => ScheduledRunProgress::default(),
    };
    let ended = match (course.at_rest(), &played) {
        (Some(AtRest::Ended { status, note }), _) => {
            run.clone().with_end(AgentRunState::Ended(status), now, note)
        }
        // It went down: whoever comes next takes it up again.
        (_, Ok(_)) => AgentRun { state: AgentRunState::Waiting, ..run.clone() },
        (_, Err(error)) => {
            let failed = AgentRunState::Ended(weir_core::event::RunStatus::Failed);
            run.clone().with_end(failed, now, format!("{error:#}"))
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
    let (agents, _) = load_known_agents(store).await?;
    let next = follower_runs(&agents, run, current_timestamp());
    let claims = store.claim_ticks(&next, None).await?;
    for (next, _) in next.iter().zip(claims).filter(|(_, claim)| *claim == TickClaim::Claimed) {
        if !quiet {
            let name = &next.agent;
            terminal::err_line(&format!("{name} is due now; `weir agents daemon` starts it"));
        }
    }
    Ok(())
}
