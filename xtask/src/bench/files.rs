//! A workspace of many files (`--files`): how long each kind of call takes in it, from the reply that asks for
//! it to the next request, and the most memory. What needs one file or one folder must not walk through all of
//! them; what a command changed is found among all. Not here: what the sandbox itself costs.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::figures::{Row, ms};
use super::house::House;
use super::model::{Reply, Script};

/// Files of a folder, and folders of a folder.
const FOLDER: u32 = 1_000;
const FOLDERS: u32 = 40;
/// What a file seems to hold: it has no blocks on the disk.
const BYTES: u64 = 20_000;
/// Of so many files one has a text.
const TEXT_EACH: u32 = 50;

/// Calls one after the other, and what each of them is.
fn calls() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("read one file", "read_file", json!({"path": "tree/0/0/00050.txt"})),
        ("list a folder", "list_files", json!({"path": "tree/0"})),
        ("glob in a folder", "glob", json!({"pattern": "tree/0/0/0005*.txt"})),
        ("glob everywhere", "glob", json!({"pattern": "**/00999.txt"})),
        ("write one file", "write_file", json!({"path": "tree/0/0/new.txt", "content": "x"})),
        ("write another", "write_file", json!({"path": "tree/0/0/newer.txt", "content": "x"})),
        ("the first command", "run_shell", json!({"command": "true"})),
        ("the next command", "run_shell", json!({"command": "true"})),
        ("a command that writes", "run_shell", json!({"command": "echo x > tree/0/0/made.txt"})),
    ]
}

/// Makes the files and runs all calls in one session.
///
/// # Errors
/// A file cannot be made, or the run fails.
pub(super) fn rows(house: &House, count: u32) -> anyhow::Result<Vec<Row>> {
    make_tree(&house.at("workspace/tree"), count)?;
    let asked = calls();
    let script: Script = Arc::new(|number| match calls().into_iter().nth(number) {
        Some((_, tool, input)) => Reply::Calls(vec![(tool, input)]),
        None => Reply::Text("Done.".into()),
    });
    let ran = house.run(&script, true)?;
    let mut rows = vec![
        Row::watched("Q24", "files of the workspace", f64::from(count), "files"),
        Row::watched("Q24", "most memory of the run", ran.peak.all / 1e6, "MB"),
    ];
    if let Some(first) = ran.exchanges.first() {
        let start = first.first_byte.saturating_duration_since(ran.began);
        rows.push(Row::watched("Q24", "start to the first request", ms(start), "ms"));
    }
    for ((what, ..), pair) in asked.iter().zip(ran.exchanges.windows(2)) {
        let took = pair[1].first_byte.saturating_duration_since(pair[0].answered);
        rows.push(Row::watched("Q24", what, ms(took), "ms"));
    }
    Ok(rows)
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
