//! `run_shell`: a command line, in the foreground or as a job.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::governance::shell;
use weir_core::message::MessageBlock;
use weir_core::profile::PermissionMode;
use weir_core::tool::{
    CommandEffect, EffectClass, Effects, PathAccess, PathEffect, PathPlace, RawResult, Tier,
    ToolGroup, ToolSpec,
};
use weir_engine::ports::{
    CallPlan, CommandEnd, CommandOutcome, CommandSpec, ToolContext, Variables,
};
use weir_engine::workspace::{FileError, Workspace};

use crate::built::{ActionTool, tool_spec};
use crate::draft::plan_blocking;
use crate::{job, list_files, reach, run_blocking, text};

const TIMEOUT_SECONDS_DEFAULT: u64 = 120;
pub(crate) const TIMEOUT_SECONDS_MAX: u64 = 600;
/// Output that is kept for the result: half from the head, half from the tail.
const OUTPUT_BYTES_MAX: usize = 200_000;
const COMMAND_BYTES_MAX: usize = 100_000;

pub(crate) struct RunShell;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// No standard input.
    command: String,
    /// Default: the workspace.
    #[serde(default)]
    cwd: Option<String>,
    /// 120; at most 600.
    #[serde(default)]
    timeout_seconds: Option<u64>,
    /// A job: returns at once.
    #[serde(default)]
    background: bool,
    // A terminal of its own (R7). The word says it, and each word here is sent with every request.
    #[serde(default)]
    tty: bool,
    /// Hosts, `localhost:5432`, sockets; else none.
    #[serde(default)]
    network: Vec<String>,
    /// Own ports to show the person.
    #[serde(default)]
    serve: Vec<u16>,
    /// Outside paths to write.
    #[serde(default)]
    writes: Vec<String>,
    /// Closed paths to read.
    #[serde(default)]
    reads: Vec<String>,
    /// Secrets, as variables.
    #[serde(default)]
    secrets: Vec<String>,
    /// Last resort: asks a person.
    #[serde(default)]
    outside_sandbox: bool,
}

#[async_trait]
impl ActionTool for RunShell {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            timeout_ms: Some(TIMEOUT_SECONDS_MAX * 1_000),
            ..tool_spec(
                "run_shell",
                ToolGroup::Skill,
                "Runs a shell command in a sandbox. Long output is cut in the middle. Each call is a new \
                 shell. Prefer the file tools for files.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        let outside_sandbox = input.outside_sandbox && cx.processes.tier() != Tier::None;
        let tier = if outside_sandbox { Tier::None } else { cx.processes.tier() };
        let read_only = cx.mode == PermissionMode::Plan;
        let reach = reach::parse_reach(cx, &input.network);
        let own_ports = reach::ports_of_own_jobs(cx, &reach.ports).await;
        let no_secret = input.secrets.iter().find_map(|name| {
            let problem = cx.processes.check_secret(name).err()?;
            Some(format!("secrets: {problem}"))
        });
        plan_blocking(move || {
            let (at, no_folder) =
                list_files::folder_effect(&workspace, input.cwd.as_deref(), false);
            let mut fails = command_problem(&input.command).or(no_folder).or(no_secret);
            if outside_sandbox && workspace.keeps_commands_inside() {
                let why = "commands of this account run in the sandbox only; do without it";
                fails = fails.or(Some(format!("outside_sandbox: {why}")));
            }
            let mut effects = Effects { paths: vec![at], ..Effects::default() };
            fails =
                fails.or(reach.fails).or(reach::check_served_ports(&workspace, &input.serve).err());
            effects.hosts = reach.hosts;
            // A job reads as long as it runs, and outside a sandbox anything can be read.
            if tier != Tier::None && !input.background {
                effects.paths[0].marked =
                    workspace.marked_for(&input.command, &effects.paths[0].path);
            }
            let (named, missing) = named_paths(&workspace, &input, tier);
            effects.paths.extend(named);
            let folder = &effects.paths[0].path;
            let breaks_off = || broken_off(&workspace, &input, tier, folder);
            fails = fails.or(missing).or_else(|| breaks_off().filter(|_| !read_only));
            let uncovers = match tier {
                Tier::None => Vec::new(),
                _ => workspace.uncovered_files(&input.command, folder),
            };
            let published = workspace.published_branches(&input.command, folder);
            let renews_own_commit = workspace.renews_own_commit(&input.command, folder);
            let settings = outside_sandbox
                .then(|| workspace.git_settings_change(&input.command, folder))
                .flatten();
            let command = CommandEffect {
                command: input.command,
                published,
                renews_own_commit,
                cwd: effects.paths[0].path.clone(),
                background: input.background,
                terminal: input.tty,
                tier,
                outside_sandbox,
                read_only,
                hosts: effects.hosts.iter().map(|host| host.url.clone()).collect(),
                ports: reach.ports,
                own_ports,
                serves: input.serve,
                sockets: reach.sockets,
                uncovers,
                secrets: input.secrets,
            };
            let summary = command_summary(&command);
            effects.commands.push(command);
            add_named_keys(&workspace, &mut effects);
            let plan = CallPlan::new(EffectClass::Process, effects, summary);
            let plan = CallPlan { diff: settings, ..plan };
            match fails {
                Some(message) => plan.with_failure(message),
                None => plan,
            }
        })
        .await
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        run(effects, cx, input.timeout_seconds).await
    }
}

/// The paths that a call names beside its folder, and why the command must not begin: what it made in a
/// place that is missing would lie in the sandbox alone, and be gone with it.
fn named_paths(
    workspace: &Workspace,
    input: &Input,
    tier: Tier,
) -> (Vec<PathEffect>, Option<String>) {
    let named = |paths: &[String], access| {
        paths.iter().map(|path| workspace.resolve_tree(path, access)).collect::<Vec<_>>()
    };
    let mut paths = named(&input.writes, PathAccess::Write);
    let is_missing = |at: &&PathEffect| {
        at.place != PathPlace::Inside
            && matches!(workspace.stat_entry(at), Err(FileError::NotFound { .. }))
    };
    let missing = paths.iter().find(is_missing).filter(|_| tier != Tier::None).map(|at| {
        format!(
            "writes: {} does not exist, and what a command makes there would be lost. Make the folder \
             with create_folder first, or name the one above it that exists",
            at.path
        )
    });
    paths.extend(named(&input.reads, PathAccess::Read));
    (paths, missing)
}

/// Why a line must not begin of which git would be refused in `folder` when the rest has run: what it names to
/// write may open what git needs.
fn broken_off(workspace: &Workspace, input: &Input, tier: Tier, folder: &str) -> Option<String> {
    let is_shut = tier != Tier::None && input.writes.is_empty();
    is_shut.then(|| workspace.refused_history(&input.command, folder)).flatten()
}

/// Adds the files with private keys that the commands of a call name to what it reads: a person is asked as
/// before any other reading of them (G6).
pub(crate) fn add_named_keys(workspace: &Workspace, effects: &mut Effects) {
    let read = effects.paths.iter_mut().filter(|at| at.access == PathAccess::Read);
    for at in read.filter(|at| at.sensitive.is_none()) {
        at.sensitive = workspace.key_inside(at);
    }
    let commands = effects.commands.iter();
    let keys = commands.flat_map(|of| workspace.keys_read_by(&of.command, &of.cwd));
    let keys: Vec<PathEffect> = keys
        .filter(|key| !effects.paths.iter().any(|at| at.path == key.path && at.sensitive.is_some()))
        .collect();
    effects.paths.extend(keys);
}

/// What the person is asked about, in a line.
fn command_summary(command: &CommandEffect) -> String {
    let verb = if command.background { "Start" } else { "Run" };
    let place = if command.terminal { " (in a terminal)" } else { "" };
    let reaches = command.describe_reach();
    let reach = match reaches.is_empty() {
        _ if command.outside_sandbox => " (outside the sandbox)".to_owned(),
        true => String::new(),
        false => format!(" (network: {})", text::one_line(&reaches.join(", "), 200)),
    };
    let lent = match command.secrets.is_empty() {
        true => String::new(),
        false => format!(" (secret: {})", text::one_line(&command.secrets.join(", "), 200)),
    };
    format!("{verb}: {}{place}{reach}{lent}", text::one_line(&command.command, 200))
}

/// Runs the command of `effects` as it was judged, for at most so many seconds.
pub(crate) async fn run(effects: &Effects, cx: &ToolContext, seconds: Option<u64>) -> RawResult {
    let Some(command) = effects.commands.first().cloned() else {
        return RawResult::error("the call has no command");
    };
    let own_view = view_note(&command).filter(|_| !cx.workspace.keeps_commands_inside());
    let folder = command.cwd.clone();
    let (workspace, judged) = (cx.workspace.clone(), effects.clone());
    let of_command = command.clone();
    let foreign = cx.foreign;
    let look = move || workspace.confine_command(&of_command, &judged, foreign);
    let confine = match run_blocking(look).await {
        Ok(Ok(confine)) => confine,
        Ok(Err(why)) => return RawResult::error(format!("The command cannot be confined: {why}")),
        Err(why) => return RawResult::error(format!("The command cannot be confined: {why}")),
    };
    let seconds = seconds.unwrap_or(TIMEOUT_SECONDS_DEFAULT);
    let variables = match command.outside_sandbox {
        true => Variables::Persons,
        false => Variables::Listed,
    };
    let command = CommandSpec {
        session: cx.session.clone(),
        call: cx.call,
        command: command.command.clone(),
        cwd: cx.workspace.root().join(&command.cwd),
        timeout_ms: (seconds.clamp(1, TIMEOUT_SECONDS_MAX) * 1_000).min(cx.timeout_ms),
        keep_bytes: OUTPUT_BYTES_MAX,
        background: command.background,
        terminal: command.terminal,
        confine,
        variables,
        secrets: command.secrets,
    };
    if command.background {
        return match cx.processes.start_job(command).await {
            Ok(info) => RawResult::ok(format!(
                "Started job {0}. read_shell_output shows its output, write_shell_input feeds \
                 it, kill_shell ends it; it ends with the session",
                info.job
            ))
            .with_summary(format!("job {}", info.job))
            .with_job(&info.job, true),
            Err(why) => RawResult::error(format!("The job could not be started: {why}")),
        };
    }
    let (workspace, confined) = (cx.workspace.clone(), command.confine.clone());
    let above = cx.workspace.clone();
    let weakness = cx.processes.weakness_once(&cx.session);
    let outcome = cx.processes.run(command, &cx.progress, &cx.cancel).await;
    let mut raw = command_report(&outcome);
    if let Some(weakness) = weakness {
        raw.blocks.push(MessageBlock::text(format!("[{weakness}; `weir doctor` tells more]")));
    }
    raw.blocks.extend(own_view.map(MessageBlock::text));
    if outcome.output.contains("fatal: not a git repository") && confined.tier != Tier::None {
        let output = outcome.output.clone();
        let said = run_blocking(move || above.missing_repository_text(&output, &folder)).await;
        raw.blocks.extend(said.ok().flatten().map(MessageBlock::text));
    }
    if meets_closed_objects(&outcome.output)
        && let Ok(Some(said)) = run_blocking(move || workspace.hidden_history_text(&confined)).await
    {
        raw.blocks.push(MessageBlock::text(said));
    }
    raw
}

/// What is to be said of a command that looks at the machine from a sandbox with a view of its own: whoever
/// reads its output would take it for all there is.
pub(crate) fn view_note(command: &CommandEffect) -> Option<&'static str> {
    const LOOKING: [&str; 10] =
        ["ifconfig", "ip", "lsof", "netstat", "pgrep", "pidof", "ps", "ss", "systemctl", "top"];
    let looks = || {
        let line = shell::parse_command_line(&command.command);
        let heads = line.parts.iter().filter_map(|part| part.words.first());
        heads.map(shell::head_name).any(|head| LOOKING.contains(&head))
    };
    (matches!(command.tier, Tier::Namespaces | Tier::Bubblewrap) && looks()).then_some(
        "[processes, services and network are those of the sandbox; to see those of this machine run the \
         same line with outside_sandbox: true, and a person is asked]",
    )
}

/// Whether the output looks like git without its objects.
fn meets_closed_objects(output: &str) -> bool {
    ["fatal: ", ".git/objects", "bad object", "unable to read"].iter().any(|s| output.contains(s))
}

fn command_problem(command: &str) -> Option<String> {
    if command.trim().is_empty() {
        return Some("command is empty".into());
    }
    if command.contains('\0') {
        return Some("command has a NUL byte; no shell can run it".into());
    }
    (command.len() > COMMAND_BYTES_MAX).then(|| {
        format!(
            "command has {}; at most {}. Write a script with write_file and run that",
            text::size_text(command.len() as u64),
            text::size_text(COMMAND_BYTES_MAX as u64)
        )
    })
}

/// The result of a foreground command. A command that ran to its end is a success of the tool,
/// whatever its exit code: the code is the answer.
pub(crate) fn command_report(outcome: &CommandOutcome) -> RawResult {
    let ended = matches!(outcome.end, CommandEnd::Exited { .. });
    let first = format!(
        "{} after {}",
        capitalize_first(&job::describe_end(&outcome.end)),
        text::duration_text(outcome.duration_ms)
    );
    let mut lines = vec![first.clone()];
    let output = outcome.output.trim_end_matches('\n');
    lines.push(if output.is_empty() { "(no output)".into() } else { output.to_owned() });
    let cut = outcome.bytes > outcome.output.len() as u64;
    if cut {
        lines.push(format!(
            "[{} of output, the middle left out; to see it send it to a file (command > out.txt \
             2>&1) and use read_file or search_files]",
            text::size_text(outcome.bytes)
        ));
    }
    if outcome.end == CommandEnd::TimedOut {
        lines.push(
            "[give a longer timeout_seconds, or background: true for what does not end by itself]"
                .into(),
        );
    }
    if !outcome.refused.is_empty() {
        // A host that was granted and lies in a private network: to name it again would not help.
        let only_listing = outcome.refused.iter().all(|one| one.contains("web.allow_hosts"));
        let way = match only_listing {
            true => "",
            false => {
                ". If the task needs it, run the command again and name it in network, writes or reads; a \
                 person may be asked. What none of these gives can run with outside_sandbox: true, if a \
                 person agrees"
            }
        };
        lines.push(format!("[the sandbox refused: {}{way}]", outcome.refused.join(", ")));
    }
    let mut raw =
        if ended { RawResult::ok(lines.join("\n")) } else { RawResult::error(lines.join("\n")) };
    raw.full_bytes = cut.then_some(outcome.bytes);
    raw.with_summary(first)
}

fn capitalize_first(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or(String::new(), |c| c.to_uppercase().chain(characters).collect())
}
