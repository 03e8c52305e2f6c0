//! `weir mcp`: another agent's program on standard input and output, with Weir's hands (R2). Not here: the
//! protocol (`weir-mcp-server`), and what a call goes through (`weir_install::mcp_serving`).

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use weir_core::profile::PermissionMode;
use weir_install::context::InstallationContext;
use weir_install::mcp_serving::{ClientAgent, ServeOptions};
use weir_install::wiring::SessionOverrides;

use crate::failure::{exit, failure_with_status};
use crate::options::McpArgs;
use crate::terminal;

/// Serves the client until it goes.
pub(super) async fn serve_client(
    cx: InstallationContext,
    args: McpArgs,
) -> anyhow::Result<ExitCode> {
    let settings = &cx.config()?.settings.mcp_server;
    let serving = ServeOptions {
        flags: SessionOverrides {
            profile: args.profile,
            permission: args.permission.map(PermissionMode::from),
            allow: args.allow,
            deny: args.deny,
            ..SessionOverrides::default()
        },
        approvals: args.approvals.map_or(settings.approvals, Into::into),
        trust: settings.trust,
        roots: settings.roots,
        sampling: settings.sampling,
        label: "weir mcp",
        rest: None,
    };
    let agent = Arc::new(ClientAgent::start_agent(cx, serving).await?);
    if std::io::stdin().is_terminal() {
        terminal::err_message(
            "`weir mcp` speaks MCP with another agent, which starts it itself; docs/mcp-server.md \
             has the settings. `weir mcp-servers` is about servers that Weir uses",
        );
    }
    let stop = CancellationToken::new();
    let served = weir_mcp_server::serve_streams(
        agent.clone(),
        tokio::io::stdin(),
        tokio::io::stdout(),
        stop.clone(),
    );
    tokio::pin!(served);
    let (mut terminated, mut interrupted) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (served, status) = tokio::select! {
        served = &mut served => (served, ExitCode::SUCCESS),
        _ = terminated.recv() => {
            stop.cancel();
            (served.await, ExitCode::from(exit::TERMINATED))
        }
        _ = interrupted.recv() => {
            stop.cancel();
            (served.await, ExitCode::from(exit::INTERRUPTED))
        }
    };
    // What was under way ends, and the session is given back, however the client went.
    agent.close_agent().await;
    served.map_err(|error| failure_with_status(exit::FAILED, error.to_string()))?;
    Ok(status)
}
