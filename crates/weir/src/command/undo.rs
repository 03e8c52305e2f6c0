//! `weir undo`.

use std::process::ExitCode;

use crate::cx::Cx;
use crate::options::UndoArgs;

pub(crate) async fn undo(_cx: &Cx, _args: UndoArgs) -> anyhow::Result<ExitCode> {
    anyhow::bail!("weir undo is being written")
}
