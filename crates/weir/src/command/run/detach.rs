//! `weir run --detach` (R7): the same program once more, in a session of processes of its own, so that no
//! terminal that closes ends it. The one that was started waits until what was said is in the journal,
//! says how to find it, and leaves. Not here: the run itself, and following it (`weir sessions attach`).

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{IsTerminal as _, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use weir_core::ids::SessionId;
use weir_engine::ports::Store as _;
use weir_install::context::InstallationContext;
use weir_install::session_ids;
use weir_install::sessions::detached_output_file;
use weir_install::wiring::{self, SUPERVISE};
use weir_sandbox::is_below_supervisor;
use weir_store::SqliteStore;

use super::{RunTarget, resolve_run_target};
use crate::failure::usage;
use crate::options::{OutputFormat, RunArgs};
use crate::terminal::{self, out_json, out_line};

/// The flag that is replaced for the program in the background, and by which.
const DETACH: &str = "--detach";
const DETACHED: &str = "--detached";
/// How often is looked whether it has begun.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long that may take before whoever waits is told where to look.
const BEGIN_WAIT: Duration = Duration::from_secs(60);
/// Facts after which what was said is in the journal: the session is opened or taken up, and the input.
const BEGUN_FACTS: u64 = 2;
/// Characters of an id of a session.
const ID_CHARS: usize = 32;

/// Of a program in the background: leaves the terminal of whoever started it. The id that its session is
/// to have, where it is a new one.
///
/// # Errors
/// A usage error: what stands there is no id, or an agent's command asks.
pub(super) fn enter_background(
    cx: &InstallationContext,
    args: &RunArgs,
) -> anyhow::Result<Option<SessionId>> {
    let Some(id) = &args.detached else { return Ok(None) };
    refuse_below_supervisor(cx)?;
    let is_id = id.len() == ID_CHARS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_id {
        return Err(usage(format!("{DETACHED} is what `weir run {DETACH}` uses; use that")));
    }
    // Where it leads a session of processes already, there is no terminal to leave.
    let _ = rustix::process::setsid();
    Ok(Some(SessionId::new(id.clone())))
}

/// Starts the program in the background and waits until it has begun.
///
/// # Errors
/// An agent's command asks, the program cannot be started, or the store cannot be read.
pub(super) async fn start_in_background(
    cx: &InstallationContext,
    args: &RunArgs,
    store: &SqliteStore,
) -> anyhow::Result<ExitCode> {
    refuse_below_supervisor(cx)?;
    let new_id = wiring::new_session_id();
    let id = existing_session(cx, args).await?.unwrap_or_else(|| new_id.clone());
    let known = store.session_meta(&id).await?.map_or(0, |meta| meta.facts);
    let log = detached_output_file(&cx.dirs.state, &id);
    // What earlier runs of the session printed stands there already.
    let printed = std::fs::metadata(&log).map_or(0, |found| found.len());
    let mut child = start_program(&log, &new_id)?;
    let begun = Instant::now();
    loop {
        let facts = store.session_meta(&id).await?.map_or(0, |meta| meta.facts);
        if facts >= known + BEGUN_FACTS {
            break;
        }
        if let Some(status) = child.try_wait()? {
            // It said why, as it would have here.
            let said = take_printed(&log, printed).unwrap_or_default();
            terminal::err_line(&said);
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return Ok(ExitCode::from(code.unwrap_or(crate::failure::exit::FAILED)));
        }
        if begun.elapsed() > BEGIN_WAIT {
            terminal::err_message(&format!(
                "it has not begun after {} s; {} will say why",
                BEGIN_WAIT.as_secs(),
                log.display()
            ));
            break;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    announce(args, &id, &child, &log)?;
    Ok(ExitCode::SUCCESS)
}

fn refuse_below_supervisor(cx: &InstallationContext) -> anyhow::Result<()> {
    match is_below_supervisor(cx.environment.all_variables(), SUPERVISE) {
        false => Ok(()),
        true => Err(usage(format!(
            "{DETACH} is refused: this was started by a command that an agent runs, and what it starts \
             ends with it"
        ))),
    }
}

/// The session that goes on in the background; `None`: a new one begins.
async fn existing_session(
    cx: &InstallationContext,
    args: &RunArgs,
) -> anyhow::Result<Option<SessionId>> {
    let store = cx.local_store()?;
    if let Some(source) = &args.fork {
        // Who forks finds a mistake here, and the copy is made by whoever goes on with it.
        session_ids::find_session_id(store.as_ref(), source).await?;
        return Ok(None);
    }
    Ok(match resolve_run_target(cx, args, &store, None).await? {
        RunTarget::New => None,
        RunTarget::Existing(id) => Some(id),
    })
}

fn start_program(log: &Path, id: &SessionId) -> anyhow::Result<Child> {
    let (output, errors) = open_output(log)?;
    let stdin = std::io::stdin();
    // A terminal is left; what comes through a pipe is for the run.
    let input = if stdin.is_terminal() { Stdio::null() } else { Stdio::inherit() };
    Ok(Command::new(std::env::current_exe()?)
        .args(words_of_background(std::env::args_os().skip(1), id))
        .stdin(input)
        .stdout(output)
        .stderr(errors)
        .spawn()?)
}

/// The same words, with the id of the session in place of the first `--detach`.
fn words_of_background(words: impl Iterator<Item = OsString>, id: &SessionId) -> Vec<OsString> {
    let mut is_told = false;
    words
        .map(|word| match !is_told && word == DETACH {
            true => {
                is_told = true;
                OsString::from(format!("{DETACHED}={id}"))
            }
            false => word,
        })
        .collect()
}

/// What it prints, for nobody but the person: it may hold what they said.
fn open_output(log: &Path) -> anyhow::Result<(File, File)> {
    let made = log.parent().map(std::fs::create_dir_all).transpose();
    let opened =
        made.and_then(|_| OpenOptions::new().create(true).append(true).mode(0o600).open(log));
    let file = opened.and_then(|file| Ok((file.try_clone()?, file)));
    file.map_err(|error| {
        usage(format!("{} cannot be written: {error}; nothing was started", log.display()))
    })
}

/// Takes what was printed since the log had this length out of it again.
fn take_printed(log: &Path, printed: u64) -> std::io::Result<String> {
    let mut file = OpenOptions::new().read(true).write(true).open(log)?;
    file.seek(SeekFrom::Start(printed))?;
    let mut said = Vec::new();
    file.read_to_end(&mut said)?;
    match printed {
        0 => std::fs::remove_file(log)?,
        length => file.set_len(length)?,
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

fn announce(args: &RunArgs, id: &SessionId, child: &Child, log: &Path) -> anyhow::Result<()> {
    match args.output {
        OutputFormat::Text => out_line(id.as_str())?,
        OutputFormat::Json | OutputFormat::Jsonl => {
            out_json(&json!({ "session": id, "pid": child.id(), "log": log }))?;
        }
    }
    if !args.quiet {
        terminal::err_message(&format!(
            "runs in the background as process {}: `weir sessions attach {id}` shows it, `weir \
             approvals list` what it asks; what it prints goes to {}",
            child.id(),
            log.display()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r7_the_words_of_the_program_in_the_background_are_those_that_were_given() {
        let id = SessionId::new("0198c5e0");
        let words = ["-C", "/x", "run", "--detach", "--model", "a/b", "--", "--detach"];
        let words = words_of_background(words.iter().map(OsString::from), &id);
        let expected =
            ["-C", "/x", "run", "--detached=0198c5e0", "--model", "a/b", "--", "--detach"];
        assert_eq!(words, expected.map(OsString::from));
    }
}
