//! `weir agents daemon`: the scheduler in the foreground, until a signal ends it.

use std::process::ExitCode;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use weir_core::schedule::AgentRunState;
use weir_core::view::plain::visible_text;
use weir_engine::schedule::{
    Scheduler, SchedulerEvent, SchedulerListener, SchedulerParts, SchedulerSettings,
};
use weir_install::context::InstallationContext;
use weir_install::leftovers;
use weir_install::wiring::{self, WallClock};
use weir_store::this_process;

use super::start::ScheduledSessionRunner;
use crate::command::run::TerminationSignals;
use crate::options::AgentsDaemonArgs;
use crate::terminal;

/// Starts what is due.
pub(super) async fn run_agents_daemon(
    cx: &InstallationContext,
    args: &AgentsDaemonArgs,
) -> anyhow::Result<ExitCode> {
    let settings = &cx.config()?.settings.agents;
    let settings = SchedulerSettings {
        at_once: settings.max_concurrent_runs as usize,
        per_hour: settings.max_runs_per_hour as usize,
        missed: settings.missed,
    };
    let mut signals = TerminationSignals::new()?;
    let stop = CancellationToken::new();
    let scheduler = Scheduler::new(SchedulerParts {
        store: cx.local_store()?,
        clock: Arc::new(WallClock::default()),
        starter: Arc::new(ScheduledSessionRunner { cx: cx.reloaded_in_folder(&cx.folder)? }),
        holder: this_process("weir agents daemon"),
        settings,
        tell: run_event_printer(args.quiet),
        shared_places: None,
    });
    leftovers::remove_orphans(cx);
    if !args.quiet {
        let state = cx.dirs.state.display();
        terminal::err_line(&format!(
            "running the scheduled agents of {state}; Ctrl-C or SIGTERM stops this"
        ));
    }
    let mut run = std::pin::pin!(scheduler.run(stop.clone()));
    let mut asked = false;
    loop {
        tokio::select! {
            biased;
            code = signals.next() => {
                if asked {
                    // Asked twice: what is in flight is left to the next daemon.
                    return Ok(ExitCode::from(code));
                }
                asked = true;
                stop.cancel();
            }
            ended = &mut run => {
                ended?;
                break;
            }
        }
    }
    wiring::sweep_command_records(cx);
    Ok(ExitCode::SUCCESS)
}

/// One line for each beginning and end.
fn run_event_printer(quiet: bool) -> SchedulerListener {
    Arc::new(move |told| {
        let line = match told {
            SchedulerEvent::Begun(run) => {
                let session = run.session.as_ref().map(ToString::to_string).unwrap_or_default();
                format!("{} started: session {session}", run.agent)
            }
            SchedulerEvent::AtRest(run) => {
                let state = match run.state {
                    AgentRunState::Waiting => "interrupted, to be continued".to_owned(),
                    state => state.to_string(),
                };
                let note =
                    if run.note.is_empty() { String::new() } else { format!(": {}", run.note) };
                format!("{} {state}{}", run.agent, visible_text(&note))
            }
            SchedulerEvent::Unusable(agent) => {
                let why = visible_text(&agent.why);
                terminal::err_message(&format!(
                    "the scheduled agent {} cannot be used: {why}",
                    agent.name
                ));
                return;
            }
            SchedulerEvent::Paused(true) => {
                "paused: nothing starts until `weir release`".to_owned()
            }
            SchedulerEvent::Paused(false) => "released".to_owned(),
        };
        if !quiet {
            terminal::err_line(&line);
        }
    })
}
