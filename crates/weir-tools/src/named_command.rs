//! What the tools of plugins and skills share: a named command becomes a command like any other, judged by
//! its words, confined, checkpointed. Only where its line comes from differs from `run_shell`.

use weir_core::profile::PermissionMode;
use weir_core::tool::{CommandEffect, EffectClass, Effects, RawResult};
use weir_engine::ports::{CallPlan, CommandCall, ToolContext};

use crate::built::empty_plan;
use crate::draft::plan_blocking;
use crate::{list_files, reach, run_shell, text};

/// The plan of a call that runs `call`.
pub(crate) async fn plan_command(call: CommandCall, what: String, cx: &ToolContext) -> CallPlan {
    let (workspace, tier) = (cx.workspace.clone(), cx.processes.tier());
    let read_only = cx.mode == PermissionMode::Plan;
    let reach = reach::parse_reach(cx, &call.hosts);
    if let Some(why) = reach.fails {
        return empty_plan(what).with_failure(why);
    }
    plan_blocking(move || {
        let (at, no_folder) = list_files::folder_effect(&workspace, None, false);
        let cwd = at.path.clone();
        let mut effects = Effects {
            paths: vec![at],
            hosts: reach.hosts,
            gives: call.label,
            ..Effects::default()
        };
        let summary = format!("{what}: {}", text::one_line(&call.command, 200));
        effects.commands.push(CommandEffect {
            command: call.command,
            cwd,
            tier,
            read_only,
            hosts: effects.hosts.iter().map(|host| host.url.clone()).collect(),
            ports: reach.ports,
            sockets: reach.sockets,
            ..CommandEffect::default()
        });
        run_shell::add_named_keys(&workspace, &mut effects);
        let plan = CallPlan::new(EffectClass::Process, effects, summary);
        match no_folder {
            Some(message) => plan.with_failure(message),
            None => plan,
        }
    })
    .await
}

/// Runs the command of `effects`, if `call` still comes to it.
pub(crate) async fn run(call: CommandCall, effects: &Effects, cx: &ToolContext) -> RawResult {
    let judged = effects.commands.first().map(|command| command.command.as_str());
    if judged != Some(call.command.as_str()) {
        return RawResult::error(
            "Not run: the command is another one than was judged; call it again",
        );
    }
    if let Some(plugin) = &call.plugin
        && let Err(why) = cx.plugins.prepare_plugin(&cx.session, plugin).await
    {
        return RawResult::error(format!("Not run: {why}"));
    }
    run_shell::run(effects, cx, Some(run_shell::TIMEOUT_SECONDS_MAX)).await
}
