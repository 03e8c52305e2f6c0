//! `weir sessions delete` (D9). Not here: what of a session goes (`weir_install::sessions`).

use std::process::ExitCode;

use weir_engine::ports::SessionMeta;
use weir_install::context::InstallationContext;
use weir_install::session_ids;
use weir_install::sessions::{remove_all, with_sub_agents};

use crate::failure::{exit, usage};
use crate::options::SessionsDeleteArgs;
use crate::terminal::{self, err_message, is_attended, out_line};

/// Finds all of them first, asks once, then removes one after the other.
pub(super) async fn delete_sessions(
    cx: &InstallationContext,
    args: &SessionsDeleteArgs,
) -> anyhow::Result<ExitCode> {
    let store = cx.local_store()?;
    let mut found: Vec<SessionMeta> = Vec::new();
    for text in &args.sessions {
        let id = session_ids::find_session_id(store.as_ref(), text).await?;
        for one in with_sub_agents(store.as_ref(), &id).await? {
            if found.iter().all(|meta| meta.id != one.id) {
                found.push(one);
            }
        }
    }
    if !args.yes && !confirm_deletion(&found)? {
        err_message("nothing was deleted");
        return Ok(ExitCode::from(exit::FAILED));
    }
    let say = |meta: &SessionMeta| out_line(&format!("Deleted session {}.", meta.id));
    remove_all(cx, &found, "weir sessions delete", say).await?;
    Ok(ExitCode::SUCCESS)
}

fn confirm_deletion(sessions: &[SessionMeta]) -> anyhow::Result<bool> {
    if !is_attended() {
        return Err(usage("nobody can be asked here; confirm the deletion with --yes"));
    }
    for meta in sessions {
        let title = weir_core::view::plain::visible_text(&meta.title);
        terminal::err_line(&format!("{}  {} events  {title}", meta.id, meta.facts));
    }
    terminal::confirm_by_person("Delete with all checkpoints?")
}
