//! What is looked up for an editor beside its sessions: whether a model can be asked, and which sessions
//! there are. Leaves nothing behind.

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};
use weir_core::ids::SessionId;
use weir_core::session::child;
use weir_core::view::told::one_line;
use weir_engine::ports::{SessionMeta, Store as _};
use weir_install::context::InstallationContext;
use weir_install::failure::engine_failure;
use weir_install::models::{self, MissingForModel};
use weir_install::session_ids::{self, SubAgentListing};
use weir_install::sessions;
use weir_install::wiring::{self, SessionOverrides};

use crate::rpc::{AUTH_REQUIRED, NOT_FOUND, RpcError};
use crate::wire::{ListParams, ListResult, SessionInfo};

/// Sessions of one page of a list.
const PAGE: usize = 50;
/// Sessions that a list goes back to.
const LISTED_MAX: usize = 1_000;
/// What this process is called where it holds a session.
const LABEL: &str = "weir acp";
/// The file of the store.
const STORE_FILE: &str = "weir.db";

/// A model can be asked in this folder.
///
/// # Errors
/// None can be: what to do.
pub(super) async fn check_model(
    cx: &InstallationContext,
    flags: &SessionOverrides,
) -> Result<(), RpcError> {
    let profile = wiring::choose_profile(cx, flags, None);
    let profile = profile.map_err(internal)?;
    let asked = flags.model.as_deref().or(profile.profile.model.as_deref());
    let missing = models::find_missing_for_model(cx, asked).await;
    let why = match missing.map_err(internal)? {
        None => return Ok(()),
        Some(MissingForModel::Model) => {
            "no model is set up yet: run `weir` in a terminal, which asks for one, or `weir auth set \
             PROVIDER`, or start a local model server"
                .to_owned()
        }
        Some(MissingForModel::Key(vendor)) => {
            let vendor = one_line(&vendor.name);
            format!("the model needs a key for {vendor}: run `weir auth set {vendor}` in a terminal")
        }
    };
    Err(RpcError::new(AUTH_REQUIRED, why))
}

/// The sessions of this machine, the newest first.
///
/// # Errors
/// The store cannot be read, or the cursor is none.
pub(super) async fn list_sessions(
    cx: &InstallationContext,
    params: ListParams,
) -> Result<Value, RpcError> {
    let begin: usize = match params.cursor.as_deref() {
        None => 0,
        Some(cursor) => {
            let number = cursor.parse().ok().filter(|begin| *begin <= LISTED_MAX);
            number.ok_or_else(|| RpcError::invalid_params("this cursor is none of a list"))?
        }
    };
    let mut found = Vec::new();
    if cx.dirs.state.join(STORE_FILE).exists() {
        let folder = params.cwd.map(|cwd| real_folder(&cwd));
        let store = cx.local_store().map_err(internal)?;
        let limit = begin + PAGE + 1;
        let listed = session_ids::list_newest_sessions(
            store.as_ref(),
            folder,
            limit,
            SubAgentListing::Hidden,
        );
        found = listed.await.map_err(internal)?;
    }
    let next = begin + PAGE;
    let next_cursor = (found.len() > next && next < LISTED_MAX).then(|| next.to_string());
    let mut sessions = Vec::new();
    for meta in found.into_iter().skip(begin).take(PAGE) {
        // One that cannot be understood, as a newer program wrote it, keeps nobody from the others.
        let added = added_folders(cx, &meta.id).await.unwrap_or_else(|error| {
            tracing::debug!(session = %meta.id, error = %error.message, "its folders are not known");
            Vec::new()
        });
        sessions.push(session_info(meta, added));
    }
    let result = ListResult { sessions, next_cursor };
    serde_json::to_value(result).map_err(|error| RpcError::internal_error(error.to_string()))
}

/// A folder as sessions name it: without links. One that has gone is taken as it is written.
fn real_folder(cwd: &str) -> String {
    let real = Path::new(cwd).canonicalize();
    real.map_or_else(|_| cwd.to_owned(), |path| path.display().to_string())
}

fn session_info(meta: SessionMeta, additional_directories: Vec<String>) -> SessionInfo {
    let updated = Timestamp::from_microsecond(meta.updated.0).unwrap_or_default();
    SessionInfo {
        session_id: meta.id.to_string(),
        cwd: meta.workspace,
        additional_directories,
        title: one_line(&meta.title),
        updated_at: updated.to_string(),
    }
}

/// The folders that a session has beside its own.
///
/// # Errors
/// The store cannot be read.
pub(super) async fn added_folders(
    cx: &InstallationContext,
    id: &SessionId,
) -> Result<Vec<String>, RpcError> {
    let store = cx.local_store().map_err(internal)?;
    let settings = sessions::load_settings(store.as_ref(), id).await.map_err(internal)?;
    Ok(settings.map(|settings| settings.rules.context().added_folders.clone()).unwrap_or_default())
}

/// The folder of a session.
///
/// # Errors
/// There is no such session.
pub(super) async fn folder_of_session(
    cx: &InstallationContext,
    id: &SessionId,
) -> Result<String, RpcError> {
    let unknown = || RpcError::new(NOT_FOUND, format!("there is no session {id} on this machine"));
    find_session(cx, id).await?.map(|meta| meta.workspace).ok_or_else(unknown)
}

async fn find_session(
    cx: &InstallationContext,
    id: &SessionId,
) -> Result<Option<SessionMeta>, RpcError> {
    if !cx.dirs.state.join(STORE_FILE).exists() {
        return Ok(None);
    }
    let store = cx.local_store().map_err(internal)?;
    let meta = store.session_meta(id).await;
    let meta = meta.map_err(|error| RpcError::internal_error(error.to_string()))?;
    Ok(meta.filter(|meta| meta.facts > 0))
}

/// Deletes a session with its sub-agents, as `weir sessions delete` does. One that is not there is
/// deleted already.
///
/// # Errors
/// Somebody has it or one of them, and nothing was deleted; it is a sub-agent, or something could not be removed.
pub(super) async fn delete_session(
    cx: &InstallationContext,
    id: &SessionId,
) -> Result<Value, RpcError> {
    if let Some((parent, _)) = child::parent_of(id) {
        let why =
            format!("{id} is a sub-agent and goes with the session that started it: {parent}");
        return Err(RpcError::invalid_params(why));
    }
    if find_session(cx, id).await?.is_some() {
        let store = cx.local_store().map_err(internal)?;
        let all = sessions::with_sub_agents(store.as_ref(), id).await.map_err(internal)?;
        sessions::remove_all(cx, &all, LABEL, |_| Ok(())).await.map_err(internal)?;
    }
    Ok(json!({}))
}

/// Copies a session up to where it was last at rest, as the terminal does. The copy is called `fork`.
///
/// # Errors
/// It was never at rest, or cannot be read.
pub(super) async fn fork_session(
    cx: &InstallationContext,
    of: &SessionId,
    fork: &SessionId,
) -> Result<(), RpcError> {
    let engine = wiring::open_engine(cx, LABEL).await.map_err(internal)?;
    let copied = engine.fork(of, fork.clone(), None).await.map_err(engine_failure);
    copied.map(drop).map_err(internal)
}

fn internal(error: impl std::fmt::Display) -> RpcError {
    RpcError::internal_error(format!("{error:#}"))
}
