//! `weir script`.

use std::process::ExitCode;

use crate::options::ScriptCommand;

pub(crate) async fn script(_command: ScriptCommand) -> anyhow::Result<ExitCode> {
    anyhow::bail!("weir script is being written")
}
