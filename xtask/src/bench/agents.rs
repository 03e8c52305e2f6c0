//! Many scheduled agents due in the same second (M7): the real daemon, the real store, a scripted
//! model in the same process. How long all of them take, what one costs, how many run at once.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::figures::Row;
use super::house::{House, Peak};

/// One call of a tool and an answer, at once.
const SCRIPT: &str = "calls: read_file {\"path\": \"small/00000.txt\"}\n\nsays: Done.\n";
/// Seconds until they are due, beside the time that it takes to add them.
const AHEAD: u64 = 8;
/// Runs at once: what the settings say when nobody changes them.
const AT_ONCE: usize = 3;

/// Adds `count` agents, lets a daemon run them, and reads the history.
///
/// # Errors
/// Weir refuses something, or a run does not complete.
pub(super) fn rows(house: &House, count: u32) -> anyhow::Result<Vec<Row>> {
    let script = house.at("agents.script");
    fs::write(&script, SCRIPT)?;
    let model = format!("script:{}", script.display());
    let began = SystemTime::now().duration_since(UNIX_EPOCH)?;
    // The first shows how long one takes.
    add(house, "agent-0", &model, began.as_secs() + 3_600)?;
    let each = SystemTime::now().duration_since(UNIX_EPOCH)?.saturating_sub(began);
    let due = (began + each * (count + 1)).as_secs() + AHEAD;
    for number in 0..count {
        add(house, &format!("agent-{number}"), &model, due)?;
    }
    let errors = File::create(house.at("daemon.err"))?;
    let mut command = house.weir(&["agents", "daemon"]);
    let mut daemon = command.stdout(errors).stderr(Stdio::piped()).spawn()?;
    let peak = Peak::watch(daemon.id());
    let said = daemon.stderr.take().context("it was piped")?;
    let mut over = 0;
    for line in BufReader::new(said).lines() {
        let line = line?;
        ensure!(line.contains("started") || !line.contains("failed"), "{line}");
        over += u32::from(line.ends_with(" completed"));
        if over == count {
            break;
        }
    }
    let peak = peak.end().all;
    Command::new("kill").args(["-TERM", &daemon.id().to_string()]).status()?;
    ensure!(daemon.wait()?.success(), "the daemon did not end cleanly");
    let listed = house.weir(&["agents", "list", "--json"]).output()?;
    let agents: Vec<Value> = serde_json::from_slice(&listed.stdout)?;
    figures(&agents, due, peak, count)
}

fn add(house: &House, name: &str, model: &str, due: u64) -> anyhow::Result<()> {
    let at = format!("@{due}");
    let cron = Command::new("date").args(["-u", "-d", &at, "+%-S %-M %-H %-d %-m *"]).output()?;
    let cron = String::from_utf8(cron.stdout)?.trim().to_owned();
    let words = ["agents", "add", name, "--replace", "--cron", &cron, "--tools", "read_file"];
    let more = ["--model", model, "--prompt", "Read the file and answer."];
    let said = house.weir(&[&words[..], &more[..]].concat()).output()?;
    ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    Ok(())
}

fn figures(agents: &[Value], due: u64, peak: f64, count: u32) -> anyhow::Result<Vec<Row>> {
    let due = Duration::from_secs(due).as_secs_f64() * 1e3;
    let runs: Vec<(f64, f64)> =
        agents.iter().map(|agent| span(&agent["last"])).collect::<anyhow::Result<_>>()?;
    ensure!(runs.len() == count as usize, "{} agents have run, not {count}", runs.len());
    let at_once = |moment: f64| runs.iter().filter(|(a, b)| *a <= moment && moment < *b).count();
    let most = runs.iter().map(|(begun, _)| at_once(*begun)).max().unwrap_or(0);
    ensure!(most <= AT_ONCE, "{most} ran at once");
    let end = runs.iter().map(|(_, end)| *end).fold(0.0, f64::max);
    let first = runs.iter().map(|(begun, _)| *begun).fold(f64::MAX, f64::min);
    let each: Vec<f64> = runs.iter().map(|(begun, end)| end - begun).collect();
    Ok(vec![
        Row::watched("M7", "scheduled agents due in one second", f64::from(count), "runs"),
        Row::watched("M7", "most at once, of 3 places", most as f64, "runs"),
        Row::watched("M7", "from due to the first beginning", first - due, "ms"),
        Row::watched("M7", "from due to the last end", end - due, "ms"),
        Row::of("M7", "one run among three, two model calls", &each, "ms"),
        Row::watched("M7", "all of them, per run", (end - first) / f64::from(count), "ms"),
        Row::watched("M7", "most memory of the daemon", peak / 1e6, "MB"),
    ])
}

/// When a run began and ended, in milliseconds since 1970.
fn span(run: &Value) -> anyhow::Result<(f64, f64)> {
    ensure!(run["state"] == "completed", "a run is {run}");
    let moment = |field: &str| -> anyhow::Result<f64> {
        let text = run[field].as_str().with_context(|| format!("{field} of {run}"))?;
        let (seconds, fraction) =
            text.trim_end_matches('Z').split_once('.').context("a fraction of a second")?;
        let seconds =
            Command::new("date").args(["-u", "-d", &format!("{seconds}Z"), "+%s"]).output()?;
        let seconds: f64 = String::from_utf8(seconds.stdout)?.trim().parse()?;
        Ok((seconds + format!("0.{fraction}").parse::<f64>()?) * 1e3)
    };
    Ok((moment("started")?, moment("finished")?))
}
