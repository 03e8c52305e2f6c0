//! `weir sessions export` (D9, V7): on standard output or into a new file. Not here: the forms
//! (`weir_install::sessions`).

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use weir_install::context::InstallationContext;
use weir_install::session_ids;
use weir_install::sessions::{export_session, meta};

use super::session_status;
use crate::failure::usage;
use crate::options::SessionsExportArgs;
use crate::terminal::{err_message, out_bytes};

/// Writes it.
pub(super) async fn write_session_export(
    cx: &InstallationContext,
    args: &SessionsExportArgs,
) -> anyhow::Result<()> {
    let store = cx.local_store()?;
    let id = session_ids::find_session_id(store.as_ref(), &args.session).await?;
    let meta = meta(store.as_ref(), &id).await?;
    let status = session_status(&store, &meta).await?;
    let exported = export_session(store.as_ref(), &id, args.format.into(), Some(status)).await?;
    for note in &exported.notes {
        err_message(&format!("warning: {note}"));
    }
    write_new_output(args.output.as_deref(), exported.text.as_bytes())
}

/// On standard output, or into a new file that only its owner can read.
pub(in crate::command) fn write_new_output(
    path: Option<&Path>,
    bytes: &[u8],
) -> anyhow::Result<()> {
    let Some(path) = path else { return out_bytes(bytes) };
    let refused = |error: &std::io::Error| {
        let what_to_do = match error.kind() {
            std::io::ErrorKind::AlreadyExists => "; choose another name or remove it first",
            _ => "",
        };
        usage(format!("--output {}: {error}{what_to_do}", path.display()))
    };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(path).map_err(|error| refused(&error))?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // Half of it is worse than nothing.
        let _ = std::fs::remove_file(path);
        return Err(refused(&error));
    }
    Ok(())
}
