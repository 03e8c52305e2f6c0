//! How often a turn waits for the disk (Q3): strace counts the syncs of whole runs, and what a run without turns
//! has is taken off. Not here: how long a sync takes (`turns`).

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::figures::Row;
use super::house::{self, House};
use super::model::{Model, Reply, Script};

/// What stands before the program: only its syncs stop on their way.
const STRACE: &[&str] =
    &["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=fsync,fdatasync,syncfs"];
/// How a line begins that tells of a sync, behind the number of the thread.
const CALLS: &[&str] = &["fsync(", "fdatasync(", "syncfs("];
/// Turns of a run.
const TURNS: u32 = 50;
/// What a turn may have: of reads, and with an effect.
const READING_MAX: f64 = 1.0;
const WRITING_MAX: f64 = 2.0;

/// Syncs of a turn; nothing, and the reason said, where nobody can count them.
///
/// # Errors
/// A run fails.
pub(super) fn rows(house: &House) -> anyhow::Result<Vec<Row>> {
    if let Err(why) = find_strace() {
        writeln!(std::io::stderr(), "Q3: syncs per turn are not counted here: {why:#}")?;
        return Ok(Vec::new());
    }
    let none = counted(house, &calls(0, read), 0)?;
    let reading = counted(house, &calls(TURNS, read), TURNS)?;
    let writing = counted(house, &calls(TURNS, write), TURNS)?;
    let each = |run: u32| f64::from(run.saturating_sub(none)) / f64::from(TURNS);
    Ok(vec![
        Row::watched("Q3", "syncs of a run without turns", f64::from(none), "syncs"),
        Row::at_most("Q3", "syncs of a turn that reads", &[each(reading)], "syncs", READING_MAX),
        Row::at_most("Q3", "syncs of a turn that writes", &[each(writing)], "syncs", WRITING_MAX),
    ])
}

/// Makes sure that syncs can be counted.
fn find_strace() -> anyhow::Result<()> {
    let output = Command::new(STRACE[0])
        .args(&STRACE[1..])
        .args(["-o", "/dev/null", "true"])
        .stdin(Stdio::null())
        .output()
        .context("strace cannot be started (Debian and Ubuntu: strace)")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "strace ended with {}: {}", output.status, said.trim());
    Ok(())
}

fn read(number: u32) -> Reply {
    Reply::Read(house::small(number))
}

fn write(number: u32) -> Reply {
    let input = json!({ "path": format!("written/{number:05}.txt"), "content": "A line.\n" });
    Reply::Calls(vec![("write_file", input)])
}

/// So many turns with one call each, then an answer.
fn calls(turns: u32, call: fn(u32) -> Reply) -> Script {
    Arc::new(move |number| match u32::try_from(number) {
        Ok(number) if number < turns => call(number),
        _ => Reply::Text("All done.".into()),
    })
}

/// Syncs of a run in which so many calls succeed.
fn counted(house: &House, script: &Script, turns: u32) -> anyhow::Result<u32> {
    let model = Model::start(Arc::clone(script))?;
    let run = house.run_command(&model.url());
    let log = house.at("syncs.log");
    let output = Command::new(STRACE[0])
        .args(&STRACE[1..])
        .arg("-o")
        .arg(&log)
        .arg(run.get_program())
        .args(run.get_args())
        .current_dir(house.at("workspace"))
        .env_clear()
        .envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::null())
        .output()
        .context("starting weir run below strace")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "weir run below strace ended with {}: {said}", output.status);
    let printed = String::from_utf8_lossy(&output.stdout);
    let facts = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let done = facts.filter(|fact| fact["kind"] == "call.finished" && fact["ok"] == true).count();
    ensure!(done == turns as usize, "{done} of {turns} calls succeeded");
    let log = fs::read_to_string(&log).with_context(|| log.display().to_string())?;
    Ok(u32::try_from(syncs_of(&log))?)
}

/// Calls of the kernel that began, in a log of strace.
fn syncs_of(log: &str) -> usize {
    let is_sync = |word: &str| CALLS.iter().any(|call| word.starts_with(call));
    log.lines().filter(|line| line.split_whitespace().take(2).any(is_sync)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q3_a_sync_counts_once_however_many_lines_tell_of_it() {
        let log = "71 fdatasync(9)                       = 0\n\
                   72 fsync(11 <unfinished ...>\n\
                   71 fdatasync(9 <unfinished ...>\n\
                   72 <... fsync resumed>)              = 0\n\
                   71 <... fdatasync resumed>)          = 0\n\
                   71 +++ exited with 0 +++\n";
        assert_eq!(syncs_of(log), 3);
        assert_eq!(syncs_of("fsync(3) = 0\n"), 1);
        assert_eq!(syncs_of(""), 0);
    }
}
