//! `weir sessions`.

use std::process::ExitCode;

use crate::cx::Cx;
use crate::options::SessionsCommand;

pub(crate) async fn sessions(_cx: &Cx, _command: SessionsCommand) -> anyhow::Result<ExitCode> {
    anyhow::bail!("weir sessions is being written")
}
