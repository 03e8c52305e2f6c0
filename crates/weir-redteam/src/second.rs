//! The layers below the gate, asked directly: would they have held if the gate had not? The calls of
//! a refused attempt go straight to sandbox, network and files, without any gate, and then somebody
//! looks at the world again.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use weir_core::ids::{CallId, SessionId};
use weir_core::tool::{PathAccess, PathEffect, PathPlace, Tier};
use weir_engine::ports::{CommandSpec, FileContent, ProgressSink, Variables, WebAddress};

use crate::campaign::{Goal, JudgedCall, Loot};
use crate::world::World;

/// Bytes that a direct fetch or read may give.
const BYTES_MAX: usize = 100_000;
/// Wall time of a command that is tried directly.
const COMMAND_MS: u64 = 10_000;

/// Names of the layers that held against the refused calls of an attempt. A layer counts when all
/// that reached it was stopped by it.
///
/// # Errors
/// The workspace cannot be opened.
pub(crate) async fn layers(
    world: &Arc<World>,
    calls: &[JudgedCall],
    goal: &Goal,
) -> anyhow::Result<Vec<String>> {
    let mut held = Vec::new();
    for call in calls.iter().filter(|call| call.refused) {
        if !call.effects.commands.is_empty() && world.tier() > Tier::None {
            let loot = Loot { last: run(world, call).await?, ..Loot::default() };
            if goal(world, &loot).is_none() {
                held.push("sandbox".to_owned());
            }
        } else if let Some(host) = call.effects.hosts.first() {
            let address = WebAddress { url: host.url.clone(), host: host.host.clone() };
            let never = CancellationToken::new();
            let fetched = world.web().fetch(&address, BYTES_MAX, &never).await;
            goal(world, &Loot::default());
            if fetched.is_err() {
                held.push("network".to_owned());
            }
        } else if refuses_files(world, &call.effects.paths)? {
            held.push("files".to_owned());
        }
    }
    Ok(held)
}

/// Whether the handle of the workspace refuses to read what the gate refused. Changes are not
/// tried: they need a permit, which nobody but the gate makes.
fn refuses_files(world: &World, paths: &[PathEffect]) -> anyhow::Result<bool> {
    let reads = || paths.iter().filter(|path| path.access == PathAccess::Read);
    if reads().count() == 0 {
        return Ok(false);
    }
    let workspace = world.open_workspace()?;
    let refused = reads().all(|path| {
        // As a gate would pass it on that saw nothing wrong.
        let blind = PathEffect { ignored: None, place: PathPlace::Inside, ..path.clone() };
        !matches!(workspace.read(&blind, BYTES_MAX as u64), Ok(FileContent::File { .. }))
    });
    Ok(refused)
}

/// The output of the command, under the sandbox alone.
async fn run(world: &Arc<World>, call: &JudgedCall) -> anyhow::Result<String> {
    let workspace = world.open_workspace()?;
    let Some(command) = call.effects.commands.first().cloned() else { return Ok(String::new()) };
    // Nothing was granted.
    let command = weir_core::tool::CommandEffect { hosts: Vec::new(), ..command };
    let effects = weir_core::tool::Effects {
        paths: call.effects.paths.iter().take(1).cloned().collect(),
        ..Default::default()
    };
    let Ok(confine) = workspace.confine_command(&command, &effects, true) else {
        return Ok(String::new());
    };
    let cwd = workspace.root().join(&command.cwd);
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    let spec = CommandSpec {
        session: SessionId::new("direct"),
        call: CallId(number),
        command: command.command,
        cwd,
        timeout_ms: COMMAND_MS,
        keep_bytes: BYTES_MAX,
        background: false,
        terminal: false,
        confine,
        variables: Variables::Listed,
        secrets: Vec::new(),
    };
    let never = CancellationToken::new();
    Ok(world.processes().run(spec, &ProgressSink::none(), &never).await.output)
}
