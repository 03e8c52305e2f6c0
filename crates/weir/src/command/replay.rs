//! `weir replay`.

use std::process::ExitCode;

use crate::cx::Cx;
use crate::options::ReplayArgs;

pub(crate) async fn replay(_cx: &Cx, _args: ReplayArgs) -> anyhow::Result<ExitCode> {
    anyhow::bail!("weir replay is being written")
}
