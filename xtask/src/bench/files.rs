//! A workspace of many files (`--files`): how long each kind of call takes in it, from the reply that asks for
//! it to the next request, what a checkpoint and its undo take, and the most memory. What needs one file or one
//! folder must not walk through all of them; what a command changed is found among all. Not here: what the
//! sandbox itself costs.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::figures::{Row, median, ms};
use super::house::{self, House};
use super::model::{Reply, Script};

/// Files of a folder, and folders of a folder.
const FOLDER: u32 = 1_000;
const FOLDERS: u32 = 40;
/// What a file seems to hold: it has no blocks on the disk.
const BYTES: u64 = 20_000;
/// Of so many files one has a text.
const TEXT_EACH: u32 = 50;

/// Up to so many files a command may take [`COMMAND_MS_MAX`] (Q24).
const COMMAND_FILES_MAX: u32 = 50_000;
const COMMAND_MS_MAX: f64 = 100.0;
/// What needs one file may take what a turn may, the disk's own syncs aside (Q3, p95).
const ONE_FILE_MS_MAX: f64 = 3.0;
/// What one folder of [`FOLDER`] files may take.
const ONE_FOLDER_MS_MAX: f64 = 100.0;
/// What a search may take for each file that it opens.
const SEARCHED_FILE_MS_MAX: f64 = 0.02;
/// To the first request (Q1).
const START_MS_MAX: f64 = 10.0;
/// Checkpoint and undo of one file of so many bytes (Q14).
const CHANGED_BYTES: usize = 100_000;
const CHANGED_MS_MAX: f64 = 3.0;
/// How often one is changed and taken back.
const CHANGES: usize = 5;
/// How often the disk is asked what a sync takes.
const SYNCS: u32 = 100;

/// A call, and what it may take.
struct MeasuredCall {
    measure: &'static str,
    tool: &'static str,
    input: Value,
    ms_max: Option<f64>,
}

/// Calls one after the other among so many files.
fn calls(count: u32) -> Vec<MeasuredCall> {
    let call = |measure, tool, input, ms_max| MeasuredCall { measure, tool, input, ms_max };
    let new = |path: &str| json!({ "path": path, "content": "x" });
    let command = (count <= COMMAND_FILES_MAX).then_some(COMMAND_MS_MAX);
    let (file, folder) = (Some(ONE_FILE_MS_MAX), Some(ONE_FOLDER_MS_MAX));
    let everywhere = Some(SEARCHED_FILE_MS_MAX * f64::from(count));
    let search = |path: &str| json!({ "pattern": "file 50: the quick", "path": path });
    vec![
        // The first call of each kind warms up what later ones have.
        call("read one file", "read_file", json!({"path": "tree/0/0/00050.txt"}), None),
        call("read another", "read_file", json!({"path": "tree/0/0/00100.txt"}), file),
        call("list a folder", "list_files", json!({"path": "tree/0"}), folder),
        call("glob in a folder", "glob", json!({"pattern": "tree/0/0/0005*.txt"}), folder),
        call("glob everywhere", "glob", json!({"pattern": "**/00999.txt"}), None),
        call("search_files in a folder of 1,000", "search_files", search("tree/0/0"), folder),
        call("search_files everywhere", "search_files", search("tree"), everywhere),
        call("write one file", "write_file", new("tree/0/0/new.txt"), None),
        call("write another", "write_file", new("tree/0/0/newer.txt"), file),
        call("the first command", "run_shell", json!({"command": "true"}), None),
        call("the next command", "run_shell", json!({"command": "true"}), command),
        call(
            "a command that writes",
            "run_shell",
            json!({"command": "echo x > tree/0/0/made.txt"}),
            command,
        ),
    ]
}

/// Makes the files, runs all calls in one session, and takes changes back.
///
/// # Errors
/// A file cannot be made, or the run fails.
pub(super) fn rows(house: &House, count: u32) -> anyhow::Result<Vec<Row>> {
    make_tree(&house.at("workspace/tree"), count)?;
    let sync = median(&house.syncs(SYNCS)?);
    // The first run makes the store; targets are for one that exists.
    let first: Script = Arc::new(|_| Reply::Text("It is done.".into()));
    house.run(&first, false)?;
    let asked = calls(count);
    let script: Script = Arc::new(move |number| match calls(count).into_iter().nth(number) {
        Some(call) => Reply::Calls(vec![(call.tool, call.input)]),
        None => Reply::Text("Done.".into()),
    });
    let ran = house.run(&script, true)?;
    let mut rows = vec![
        Row::watched("Q24", "files of the workspace", f64::from(count), "files"),
        Row::watched("Q24", "the disk's own sync of 4 kB", sync, "ms"),
        Row::watched("Q24", "most memory of the run", ran.peak.all / 1e6, "MB"),
    ];
    if let Some(first) = ran.exchanges.first() {
        let start = ms(first.first_byte.saturating_duration_since(ran.began));
        rows.push(Row::at_most("Q24", "start to the first request", &[start], "ms", START_MS_MAX));
    }
    for (call, pair) in asked.iter().zip(ran.exchanges.windows(2)) {
        let took = ms(pair[1].first_byte.saturating_duration_since(pair[0].answered));
        rows.push(call_row(call, took, sync));
    }
    rows.extend(taken_back(house, sync)?);
    Ok(rows)
}

/// What is held against a target is beyond the disk's own syncs: one of a turn that reads, two of another.
fn call_row(call: &MeasuredCall, took: f64, sync: f64) -> Row {
    let Some(most) = call.ms_max else {
        return Row::watched("Q24", call.measure, took, "ms");
    };
    let syncs = match call.tool {
        "write_file" | "run_shell" => 2.0,
        _ => 1.0,
    };
    let measure = format!("{}, beyond syncs", call.measure);
    Row::at_most("Q24", &measure, &[(took - syncs * sync).max(0.0)], "ms", most)
}

/// One file of 100 kB is changed by a run and taken back by `weir undo` (Q14). What reading a file takes, and what
/// starting takes, is taken off: what is left is the checkpoint, the change and its undo, with the syncs of both.
fn taken_back(house: &House, sync: f64) -> anyhow::Result<Vec<Row>> {
    let (mut changing, mut undoing) = (Vec::new(), Vec::new());
    for number in 0..CHANGES {
        let content = format!("change {number}\n").repeat(CHANGED_BYTES / 9);
        let script: Script = Arc::new(move |asked: usize| match asked {
            0 | 1 => Reply::Read(house::small(u32::from(asked == 1))),
            2 => {
                let input = json!({ "path": "tree/0/0/changed.txt", "content": content });
                Reply::Calls(vec![("write_file", input)])
            }
            _ => Reply::Text("Done.".into()),
        });
        let ran = house.run(&script, false)?;
        let turns: Vec<f64> = ran
            .exchanges
            .windows(2)
            .map(|pair| ms(pair[1].first_byte.saturating_duration_since(pair[0].answered)))
            .collect();
        let [_, read, change, ..] = turns[..] else { anyhow::bail!("the run ended early") };
        changing.push((change - read - sync).max(0.0));
        let start = succeeded(house, &["sessions", "list"])?;
        undoing.push((succeeded(house, &["undo"])? - start).max(0.0));
        let left = house.at("workspace/tree/0/0/changed.txt");
        ensure!(!left.exists(), "weir undo left {}", left.display());
    }
    let both: Vec<f64> = changing.iter().zip(&undoing).map(|(one, other)| one + other).collect();
    let what = "one file of 100 kB among them";
    Ok(vec![
        Row::of("Q14", &format!("{what}: its turn beyond one that reads"), &changing, "ms"),
        Row::of("Q14", &format!("{what}: weir undo beyond starting, with syncs"), &undoing, "ms"),
        Row::at_most(
            "Q14",
            &format!("{what}: checkpoint, change and undo"),
            &both,
            "ms",
            CHANGED_MS_MAX,
        ),
    ])
}

/// How long a command takes, in milliseconds.
fn succeeded(house: &House, words: &[&str]) -> anyhow::Result<f64> {
    let mut command = house.weir(words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let began = Instant::now();
    let output = command.output().with_context(|| format!("starting weir {words:?}"))?;
    let took = ms(began.elapsed());
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "weir {words:?} ended with {}: {said}", output.status);
    Ok(took)
}

fn make_tree(top: &Path, count: u32) -> anyhow::Result<()> {
    for number in 0..count {
        let folder = number / FOLDER;
        let folder = top.join(format!("{}/{}", folder / FOLDERS, folder % FOLDERS));
        if number % FOLDER == 0 {
            fs::create_dir_all(&folder)?;
        }
        let mut file = File::create(folder.join(format!("{:05}.txt", number % FOLDER)))?;
        match number % TEXT_EACH {
            0 => writeln!(file, "file {number}: the quick brown fox jumps over it")?,
            _ => file.set_len(BYTES)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q24_what_needs_one_file_is_held_against_a_target_whatever_the_number() {
        for count in [1_000, COMMAND_FILES_MAX, 1_000_000] {
            let judged = |measure: &str| {
                let calls = calls(count);
                let call = calls.iter().find(|call| call.measure == measure);
                call.and_then(|call| call_row(call, 3.5, 0.5).met)
            };
            assert_eq!(judged("read another"), Some(true), "3 ms and one sync");
            assert_eq!(judged("read one file"), None);
            let few = count <= COMMAND_FILES_MAX;
            assert_eq!(judged("the next command"), few.then_some(true), "{count}");
        }
    }
}
