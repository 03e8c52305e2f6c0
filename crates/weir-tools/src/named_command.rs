//! What the tools of plugins share: a named command becomes a command like any other, judged by its
//! words, confined, checkpointed. Only where its line comes from differs from `run_shell`.

use weir_core::profile::PermissionMode;
use weir_core::tool::{CommandEffect, EffectClass, Effects, Raw};
use weir_engine::ports::{CommandCall, Plan, ToolContext};

use crate::built::nothing;
use crate::draft::planning;
use crate::{list_files, reach, run_shell, text};

/// The plan of a call that runs `call`.
pub(crate) async fn plan(call: CommandCall, what: String, cx: &ToolContext) -> Plan {
    let (workspace, tier) = (cx.workspace.clone(), cx.processes.tier());
    let read_only = cx.mode == PermissionMode::Plan;
    let reach = reach::asked(cx, &call.hosts);
    if let Some(why) = reach.fails {
        return nothing(what).failing(why);
    }
    planning(move || {
        let (at, no_folder) = list_files::folder(&workspace, None, false);
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
        let plan = Plan::new(EffectClass::Process, effects, summary);
        match no_folder {
            Some(message) => plan.failing(message),
            None => plan,
        }
    })
    .await
}

/// Runs the command of `effects`, if `call` still comes to it.
pub(crate) async fn run(call: CommandCall, effects: &Effects, cx: &ToolContext) -> Raw {
    let judged = effects.commands.first().map(|command| command.command.as_str());
    if judged != Some(call.command.as_str()) {
        return Raw::error("Not run: the command is another one than was judged; call it again");
    }
    if let Some(plugin) = &call.plugin
        && let Err(why) = cx.plugins.ready(&cx.session, plugin).await
    {
        return Raw::error(format!("Not run: {why}"));
    }
    run_shell::run(effects, cx, Some(run_shell::TIMEOUT_SECONDS_MAX)).await
}
