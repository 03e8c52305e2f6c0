//! `weir backup` and `weir restore`: everything of an installation as one file, and back (D9, S15).

use std::process::ExitCode;

use weir_install::archive::{self, BackupOf};
use weir_install::context::InstallationContext;
use weir_install::keys::ProviderKeys;

use crate::options::{BackupArgs, RestoreArgs};
use crate::terminal::{err_line, out_line};

/// Writes one.
pub(super) async fn write_backup(
    cx: &InstallationContext,
    args: &BackupArgs,
) -> anyhow::Result<ExitCode> {
    let database = backup_database_url(cx, args.database.as_deref())?;
    let keys = if args.keys { Some(cx.provider_keys()?) } else { None };
    let kept_keys = keys.and_then(ProviderKeys::all_as_file);
    let of = BackupOf {
        dirs: &cx.dirs,
        database: &database,
        keys: args.keys,
        kept_keys: kept_keys.as_ref(),
    };
    let bytes = archive::write_archive(&of, &args.file).await?;
    out_line(&format!("{} ({} kB)", args.file.display(), bytes.div_ceil(1024)))?;
    if let Some(keys) = keys {
        err_line("it contains provider keys: protect it as you protect them");
        let missing: Vec<&str> = keys.unread_in_keyring().collect();
        if !missing.is_empty() {
            err_line(&format!(
                "not in it, as the system keyring cannot be read now: {}; unlock it and make another \
                 backup, or save these keys again after a restore",
                missing.join(", ")
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Puts one back.
pub(super) async fn restore_backup(
    cx: &InstallationContext,
    args: &RestoreArgs,
) -> anyhow::Result<ExitCode> {
    // The settings come with the backup: those that are there now say nothing.
    let database = args.database.clone().unwrap_or_default();
    let of = BackupOf { dirs: &cx.dirs, database: &database, keys: true, kept_keys: None };
    for folder in archive::restore_archive(&of, &args.file, args.replace).await? {
        err_line(&format!("the previous data is now in {}", folder.display()));
    }
    out_line(&format!("restored from {}", args.file.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn backup_database_url(cx: &InstallationContext, flag: Option<&str>) -> anyhow::Result<String> {
    match flag {
        Some(url) => Ok(url.to_owned()),
        None => Ok(cx.config()?.settings.server.database.clone()),
    }
}
