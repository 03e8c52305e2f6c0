//! `weir script`: the scripted model over HTTP (V6).

use std::process::ExitCode;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use weir_scripted_model::Script;
use weir_scripted_model::serve::{ServeOptions, run_script_server};

use crate::failure::usage;
use crate::options::{ScriptCommand, ScriptServeArgs};
use crate::terminal::out_line;

/// Does what was asked.
pub(crate) async fn run_script_command(command: ScriptCommand) -> anyhow::Result<ExitCode> {
    match command {
        ScriptCommand::Serve(args) => serve_script(args).await,
    }
}

/// Serves until a signal says to end.
async fn serve_script(args: ScriptServeArgs) -> anyhow::Result<ExitCode> {
    let script = Script::parse_file(&args.file).map_err(|error| usage(error.to_string()))?;
    let bound = TcpListener::bind(args.bind).await;
    let listener = bound.map_err(|error| {
        usage(format!("--bind {}: {error}; port 0 selects a free port", args.bind))
    })?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let shutdown = CancellationToken::new();
    let _ends_with_us = shutdown.clone().drop_guard();
    let address = listener.local_addr()?;
    let options = ServeOptions { record: args.record, shutdown: shutdown.clone() };
    let mut server = std::pin::pin!(run_script_server(listener, script, options));
    out_line(&format!("listening on http://{address}"))?;
    loop {
        tokio::select! {
            ended = &mut server => {
                ended?;
                return Ok(ExitCode::SUCCESS);
            }
            _ = interrupt.recv() => shutdown.cancel(),
            _ = terminate.recv() => shutdown.cancel(),
        }
    }
}
