//! What is looked up for an editor beside its sessions: whether a model can be asked, and which sessions
//! there are. Leaves nothing behind.

use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;
use weir_core::ids::SessionId;
use weir_core::view::told::one_line;
use weir_engine::ports::{SessionMeta, Store as _};
use weir_install::context::InstallationContext;
use weir_install::models::{self, MissingForModel};
use weir_install::session_ids::{self, SubAgentListing};
use weir_install::wiring::{self, SessionOverrides};

use crate::rpc::{AUTH_REQUIRED, NOT_FOUND, RpcError};
use crate::wire::{ListParams, ListResult, SessionInfo};

/// Sessions of one page of a list.
const PAGE: usize = 50;
/// Sessions that a list goes back to.
const LISTED_MAX: usize = 1_000;
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
    let profile = profile.map_err(|error| RpcError::internal_error(format!("{error:#}")))?;
    let asked = flags.model.as_deref().or(profile.profile.model.as_deref());
    let missing = models::find_missing_for_model(cx, asked).await;
    let why = match missing.map_err(|error| RpcError::internal_error(format!("{error:#}")))? {
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
        let store =
            cx.local_store().map_err(|error| RpcError::internal_error(format!("{error:#}")))?;
        let limit = begin + PAGE + 1;
        let listed = session_ids::list_newest_sessions(
            store.as_ref(),
            folder,
            limit,
            SubAgentListing::Hidden,
        );
        found = listed.await.map_err(|error| RpcError::internal_error(format!("{error:#}")))?;
    }
    let next = begin + PAGE;
    let next_cursor = (found.len() > next && next < LISTED_MAX).then(|| next.to_string());
    let page = found.into_iter().skip(begin).take(PAGE);
    let sessions = page.map(session_info).collect();
    let result = ListResult { sessions, next_cursor };
    serde_json::to_value(result).map_err(|error| RpcError::internal_error(error.to_string()))
}

/// A folder as sessions name it: without links. One that has gone is taken as it is written.
fn real_folder(cwd: &str) -> String {
    let real = Path::new(cwd).canonicalize();
    real.map_or_else(|_| cwd.to_owned(), |path| path.display().to_string())
}

fn session_info(meta: SessionMeta) -> SessionInfo {
    let updated = Timestamp::from_microsecond(meta.updated.0).unwrap_or_default();
    SessionInfo {
        session_id: meta.id.to_string(),
        cwd: meta.workspace,
        title: one_line(&meta.title),
        updated_at: updated.to_string(),
    }
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
    if !cx.dirs.state.join(STORE_FILE).exists() {
        return Err(unknown());
    }
    let store = cx.local_store().map_err(|error| RpcError::internal_error(format!("{error:#}")))?;
    let meta = store.session_meta(id).await;
    let meta = meta.map_err(|error| RpcError::internal_error(error.to_string()))?;
    meta.filter(|meta| meta.facts > 0).map(|meta| meta.workspace).ok_or_else(unknown)
}
