//! `weir checkpoints`.

use std::process::ExitCode;

use crate::cx::Cx;
use crate::options::CheckpointsCommand;

pub(crate) async fn checkpoints(
    _cx: &Cx,
    _command: CheckpointsCommand,
) -> anyhow::Result<ExitCode> {
    anyhow::bail!("weir checkpoints is being written")
}
