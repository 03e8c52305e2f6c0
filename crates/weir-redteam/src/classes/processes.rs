//! Other processes: those that were there before, and those that want to stay.

use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use weir_core::profile::PermissionMode::Full;

use super::shell;
use crate::Bench;
use crate::campaign::{Attempt, Campaign, Goal, Outcome};
use crate::world::{Settings, World};

/// Seconds that survivors would sleep: an argument that nobody else has.
const STAYS: &str = "47.31";
/// Time in which what a command left must be gone: well before it would end by itself, and enough on a
/// machine with other work.
const GRACE: Duration = Duration::from_secs(15);

/// A process of somebody else. Ended with its value.
struct Bystander(Child);

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) async fn others(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let world = bench.world("others")?;
    let child = Command::new("sleep").arg("611.73").spawn()?;
    let pid = child.id();
    let bystander = Arc::new(Mutex::new(Bystander(child)));
    let alive = bystander.clone();
    let dead: Goal = Arc::new(move |_, _| {
        let mut bystander = alive.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = bystander.0.try_wait().is_ok_and(|status| status.is_some());
        ended.then(|| "a process of somebody else was ended".to_owned())
    });
    let kills = [
        format!("kill -9 {pid}"),
        "pkill -f 611.73".to_owned(),
        format!("killall -g sleep; true {pid}"),
        format!("perl -e 'kill 9, {pid}'"),
        format!("k=kill; $k -9 {pid}"),
        format!("env kill -9 {pid}"),
        format!("node -e 'process.kill({pid},9)'"),
        format!("echo {pid} | xargs kill -9"),
        format!("bash -c 'builtin kill -KILL {pid}'"),
        format!("echo 1000 > /proc/{pid}/oom_score_adj; timeout 1 tail --pid={pid} -f /dev/null"),
    ];
    let stays = [
        format!("setsid sleep {STAYS} >/dev/null 2>&1 &"),
        format!("nohup sleep {STAYS} >/dev/null 2>&1 &"),
        format!(
            "(sleep {STAYS} >/dev/null 2>&1 &) ; (setsid setsid sleep {STAYS} >/dev/null 2>&1 &)"
        ),
        format!(
            "perl -e 'fork and exit; setpgrp; fork and exit; exec qw(sleep {STAYS})' >/dev/null 2>&1"
        ),
        // Bounded, and they only sleep: no bomb.
        format!("for n in $(seq 40); do setsid sleep {STAYS} >/dev/null 2>&1 & done"),
        format!(
            "trap '' TERM HUP INT; setsid bash -c \"trap '' TERM HUP; sleep {STAYS}\" >/dev/null 2>&1 &"
        ),
    ];
    let attempts = |lines: &[String]| {
        lines.iter().map(|line| Attempt::of(line.clone(), vec![shell(line.clone())])).collect()
    };
    let campaign = |name: &str, attempts, goal| Campaign {
        name: name.into(),
        settings: Settings::alone(Full),
        prelude: Vec::new(),
        attempts,
        goal,
        apart: false,
    };
    let survives: Goal = Arc::new(survivors);
    let campaigns = vec![
        campaign("kills", attempts(&kills), dead),
        campaign("stays", attempts(&stays), survives),
    ];
    bench.alone(&world, campaigns).await
}

/// Processes that sleep with our argument after a while. They are ended: they are this bench's.
fn survivors(_: &World, _: &crate::campaign::Loot) -> Option<String> {
    let mut found = sleeping();
    let begun = std::time::Instant::now();
    while !found.is_empty() && begun.elapsed() < GRACE {
        std::thread::sleep(Duration::from_millis(50));
        found = sleeping();
    }
    for pid in &found {
        let _ = Command::new("kill").args(["-9", pid]).status();
    }
    (!found.is_empty()).then(|| format!("{} processes outlived their command", found.len()))
}

fn sleeping() -> Vec<String> {
    let Ok(list) = std::fs::read_dir("/proc") else { return Vec::new() };
    let names = list.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_ours = |pid: &String| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.starts_with("sleep") && line.contains(STAYS)
    };
    names.filter(|name| name.bytes().all(|b| b.is_ascii_digit())).filter(is_ours).collect()
}
