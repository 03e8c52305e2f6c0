//! `run_shell`: a command line, in the foreground or as a job.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{CommandEffect, EffectClass, Effects, Group, Raw, ToolSpec};
use weir_engine::ports::{CommandEnd, CommandOutcome, CommandSpec, Plan, ToolContext};

use crate::built::{Act, spec};
use crate::draft::planning;
use crate::{job, list_files, text};

const TIMEOUT_SECONDS_DEFAULT: u64 = 120;
const TIMEOUT_SECONDS_MAX: u64 = 600;
/// Output that is kept for the result: half from the head, half from the tail.
const OUTPUT_BYTES_MAX: usize = 200_000;
const COMMAND_BYTES_MAX: usize = 100_000;

pub(crate) struct RunShell;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Command line for the shell. Standard input is empty.
    command: String,
    /// Folder to run it in; default: the workspace.
    #[serde(default)]
    cwd: Option<String>,
    /// Seconds before it is ended; default 120, at most 600.
    #[serde(default)]
    timeout_seconds: Option<u64>,
    /// Start it as a job and return at once: for servers and watchers.
    #[serde(default)]
    background: bool,
}

#[async_trait]
impl Act for RunShell {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            timeout_ms: Some(TIMEOUT_SECONDS_MAX * 1_000),
            ..spec::<Input>(
                "run_shell",
                Group::Skill,
                "Runs a shell command and returns its exit code and output (standard output and \
                 error together; of long output the head and the tail). Each call is a new shell: \
                 nothing carries over. To read, search or edit files prefer the file tools.",
            )
        }
    }

    async fn plan(input: Input, cx: &ToolContext) -> Plan {
        let workspace = cx.workspace.clone();
        planning(move || {
            let (at, no_folder) = list_files::folder(&workspace, input.cwd.as_deref(), false);
            let fails = unusable(&input.command).or(no_folder);
            let command = CommandEffect {
                command: input.command,
                cwd: at.path.clone(),
                background: input.background,
            };
            let verb = if command.background { "Start" } else { "Run" };
            let summary = format!("{verb}: {}", text::one_line(&command.command, 200));
            let effects =
                Effects { paths: vec![at], commands: vec![command], ..Effects::default() };
            let plan = Plan::new(EffectClass::Process, effects, summary);
            match fails {
                Some(message) => plan.failing(message),
                None => plan,
            }
        })
        .await
    }

    async fn act(input: Input, effects: &Effects, cx: &ToolContext) -> Raw {
        let Some(command) = effects.commands.first() else {
            return Raw::error("the call has no command");
        };
        let seconds = input.timeout_seconds.unwrap_or(TIMEOUT_SECONDS_DEFAULT);
        let command = CommandSpec {
            session: cx.session.clone(),
            call: cx.call,
            command: command.command.clone(),
            cwd: cx.workspace.root().join(&command.cwd),
            timeout_ms: (seconds.clamp(1, TIMEOUT_SECONDS_MAX) * 1_000).min(cx.timeout_ms),
            keep_bytes: OUTPUT_BYTES_MAX,
            background: command.background,
        };
        if command.background {
            return match cx.processes.start(command).await {
                Ok(info) => Raw::ok(format!(
                    "Started job {0}. read_shell_output shows its output, write_shell_input feeds \
                     it, kill_shell ends it; it ends with the session",
                    info.job
                ))
                .with_summary(format!("job {}", info.job)),
                Err(why) => Raw::error(format!("The job could not be started: {why}")),
            };
        }
        let outcome = cx.processes.run(command, &cx.progress, &cx.cancel).await;
        report(&outcome)
    }
}

fn unusable(command: &str) -> Option<String> {
    if command.trim().is_empty() {
        return Some("command is empty".into());
    }
    if command.contains('\0') {
        return Some("command has a NUL byte; no shell can run it".into());
    }
    (command.len() > COMMAND_BYTES_MAX).then(|| {
        format!(
            "command has {}; at most {}. Write a script with write_file and run that",
            text::size(command.len() as u64),
            text::size(COMMAND_BYTES_MAX as u64)
        )
    })
}

/// The result of a foreground command. A command that ran to its end is a success of the tool,
/// whatever its exit code: the code is the answer.
pub(crate) fn report(outcome: &CommandOutcome) -> Raw {
    let ended = matches!(outcome.end, CommandEnd::Exited { .. });
    let first = format!(
        "{} after {}",
        capital(&job::end(&outcome.end)),
        text::duration(outcome.duration_ms)
    );
    let mut lines = vec![first.clone()];
    let output = outcome.output.trim_end_matches('\n');
    lines.push(if output.is_empty() { "(no output)".into() } else { output.to_owned() });
    let cut = outcome.bytes > outcome.output.len() as u64;
    if cut {
        lines.push(format!(
            "[{} of output, the middle left out; to see it send it to a file (command > out.txt \
             2>&1) and use read_file or search_files]",
            text::size(outcome.bytes)
        ));
    }
    if outcome.end == CommandEnd::TimedOut {
        lines.push(
            "[give a longer timeout_seconds, or background: true for what does not end by itself]"
                .into(),
        );
    }
    let mut raw = if ended { Raw::ok(lines.join("\n")) } else { Raw::error(lines.join("\n")) };
    raw.full_bytes = cut.then_some(outcome.bytes);
    raw.with_summary(first)
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or(String::new(), |c| c.to_uppercase().chain(characters).collect())
}
