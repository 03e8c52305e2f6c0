//! The sessions that one editor has open: how each is opened, found, deleted. Not here: what happens in one
//! (`crate::session`), and the requests that name one (`super`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use weir_core::ids::SessionId;
use weir_core::view::told::one_line;
use weir_install::context::InstallationContext;
use weir_install::sessions::editor_terminals_folder;
use weir_install::wiring::{self, ADDED_FOLDERS_MAX, SessionOverrides};

use super::{EditorConnection, lookups};
use crate::client_files::{ClientFiles, FILE_WARNINGS_MAX};
use crate::client_servers::ClientServers;
use crate::rpc::{INTERNAL_ERROR, NOT_FOUND, RequestId, RpcError};
use crate::session::{
    OrderSender, SessionOpening, SessionOrder, SessionStart, order_channel, run_session,
};
use crate::wire::{OpenParams, SessionParams};

/// Sessions that one editor may have open.
const SESSIONS_MAX: usize = 64;

/// A session that is open, or opens.
pub(super) struct SessionSeat {
    pub(super) orders: OrderSender,
    pub(super) task: JoinHandle<()>,
    /// The folders beside its own, as the editor named them.
    folders: Vec<String>,
    /// The servers that the editor brought to it.
    servers: Vec<Value>,
}

impl SessionSeat {
    /// What the editor names otherwise than when it was opened; `None`: nothing.
    fn differs_in(&self, params: &OpenParams) -> Option<&'static str> {
        let folders = params.additional_directories.as_deref().unwrap_or_default();
        let servers = params.mcp_servers.as_deref().unwrap_or_default();
        match (self.folders == folders, self.servers == servers) {
            (false, _) => Some("additionalDirectories"),
            (true, false) => Some("mcpServers"),
            (true, true) => None,
        }
    }
}

/// A session that is to be opened.
struct WantedSession {
    id: SessionId,
    opening: SessionOpening,
    /// The session that it begins as a copy of.
    copied: Option<SessionId>,
    /// What the person must be told of it.
    warnings: Vec<String>,
}

impl EditorConnection {
    pub(super) fn open_new(
        &mut self,
        request: RequestId,
        params: &OpenParams,
    ) -> Result<(), RpcError> {
        let (id, opening) = (wiring::new_session_id(), SessionOpening::New);
        let wanted = WantedSession { id, opening, copied: None, warnings: Vec::new() };
        self.open_seat(request, params, wanted)
    }

    pub(super) async fn open_existing(
        &mut self,
        request: RequestId,
        params: OpenParams,
        opening: SessionOpening,
    ) -> Result<(), RpcError> {
        let name = named_session(&params)?;
        if let Some(seat) = self.find_seat(&name) {
            if opening == SessionOpening::Load {
                let why = "this session is open already; close it before it is loaded again";
                return Err(RpcError::invalid_params(why));
            }
            if let Some(others) = seat.differs_in(&params) {
                return Err(RpcError::invalid_params(format!(
                    "this session is open already with other {others}; close it before it is resumed \
                     with these"
                )));
            }
            let order = SessionOrder::Describe(request);
            return seat.orders.try_send(order).map_err(|_| busy_session());
        }
        let id = SessionId::new(name);
        let (params, warnings) = self.in_own_folder(&id, params).await?;
        self.open_seat(request, &params, WantedSession { id, opening, copied: None, warnings })
    }

    /// Opens a copy of a session, which may be open itself.
    pub(super) async fn open_fork(
        &mut self,
        request: RequestId,
        params: OpenParams,
    ) -> Result<(), RpcError> {
        let of = SessionId::new(named_session(&params)?);
        let (params, warnings) = self.in_own_folder(&of, params).await?;
        let (id, opening) = (wiring::new_session_id(), SessionOpening::Fork);
        let wanted = WantedSession { id, opening, copied: Some(of), warnings };
        self.open_seat(request, &params, wanted)
    }

    /// The parameters with the folder of this session, which works there whatever the editor has open, and
    /// what the person must be told of the folders beside it.
    async fn in_own_folder(
        &self,
        id: &SessionId,
        params: OpenParams,
    ) -> Result<(OpenParams, Vec<String>), RpcError> {
        let cwd = lookups::folder_of_session(&self.cx, id).await?;
        let had = lookups::added_folders(&self.cx, id).await?;
        let params = OpenParams { cwd, ..params };
        let warnings = dropped_folders(&had, &self.wanted_folders(&params));
        Ok((params, warnings))
    }

    fn open_seat(
        &mut self,
        request: RequestId,
        params: &OpenParams,
        wanted: WantedSession,
    ) -> Result<(), RpcError> {
        self.sessions.retain(|_, seat| !seat.orders.is_closed());
        if self.sessions.len() >= SESSIONS_MAX {
            let why = format!("{SESSIONS_MAX} sessions are open already; close one");
            return Err(RpcError::internal_error(why));
        }
        let folder = Path::new(&params.cwd);
        if !folder.is_absolute() {
            return Err(RpcError::invalid_params(format!(
                "cwd is not an absolute path: {folder:?}"
            )));
        }
        // One store for all sessions of this process.
        self.cx.local_store().map_err(|error| RpcError::internal_error(format!("{error:#}")))?;
        let cx = self.cx.in_folder(folder);
        let cx = cx.map_err(|error| RpcError::invalid_params(format!("{error:#}")))?;
        let folders = params.additional_directories.clone().unwrap_or_default();
        check_folders(&cx, &folders)?;
        let servers = params.mcp_servers.clone().unwrap_or_default();
        let brought = ClientServers::read(&servers)?;
        let (warn, warned) = mpsc::channel(FILE_WARNINGS_MAX);
        let files = ClientFiles::new(self.peer.clone(), wanted.id.clone(), self.files, warn);
        let cx = cx.with_editor_servers(brought.declared);
        let cx = match files {
            Some(files) => cx.with_editor_files(Arc::new(files)),
            None => cx,
        };
        let mut warnings = wanted.warnings;
        warnings.extend(brought.remarks);
        let flags = SessionOverrides {
            add_dirs: self.wanted_folders(params),
            only_add_dirs: true,
            ..self.flags.clone()
        };
        let WantedSession { id, opening, copied, .. } = wanted;
        let (name, reads, peer) = (id.to_string(), self.reads, self.peer.clone());
        let (orders, ordered) = order_channel();
        let terminals = self.has_terminals.then(|| editor_terminals_folder(&cx.dirs.state));
        let start =
            SessionStart { cx, flags, id, opening, request, reads, warnings, warned, terminals };
        let task = tokio::spawn(async move {
            let ready = match (&copied, opening) {
                (Some(of), _) => lookups::fork_session(&start.cx, of, &start.id).await,
                (None, SessionOpening::New) => lookups::check_model(&start.cx, &start.flags).await,
                (None, _) => Ok(()),
            };
            match ready {
                Ok(()) => run_session(start, peer, ordered).await,
                Err(error) => peer.send_answer::<Value>(&start.request, Err(error)).await,
            }
        });
        self.sessions.insert(name, SessionSeat { orders, task, folders, servers });
        Ok(())
    }

    /// The folders beside a session's own: those of the flags, and those that the editor names.
    fn wanted_folders(&self, params: &OpenParams) -> Vec<PathBuf> {
        let named = params.additional_directories.iter().flatten().map(PathBuf::from);
        self.flags.add_dirs.iter().cloned().chain(named).collect()
    }

    /// Deletes a session that is not open here.
    ///
    /// # Errors
    /// For the answer.
    pub(super) fn delete_session(
        &mut self,
        request: RequestId,
        params: &SessionParams,
    ) -> Result<(), RpcError> {
        if self.find_seat(&params.session_id).is_some() {
            let why = "this session is open; close it before it is deleted";
            return Err(RpcError::invalid_params(why));
        }
        let id = SessionId::new(params.session_id.clone());
        self.start_lookup(request, |cx, _| async move { lookups::delete_session(&cx, &id).await })
    }

    pub(super) fn find_seat(&self, name: &str) -> Option<&SessionSeat> {
        self.sessions.get(name).filter(|seat| !seat.orders.is_closed())
    }

    pub(super) fn send_order(&self, name: &str, order: SessionOrder) -> Result<(), RpcError> {
        let Some(seat) = self.find_seat(name) else {
            let why = format!("there is no open session {name:?}; load it first");
            return Err(RpcError::new(NOT_FOUND, why));
        };
        seat.orders.try_send(order).map_err(|_| busy_session())
    }
}

fn named_session(params: &OpenParams) -> Result<String, RpcError> {
    params.session_id.clone().ok_or_else(|| RpcError::invalid_params("sessionId is missing"))
}

/// That a session of this folder may have these beside it.
///
/// # Errors
/// One is not absolute or cannot be used, or there are too many.
fn check_folders(cx: &InstallationContext, folders: &[String]) -> Result<(), RpcError> {
    if folders.len() > ADDED_FOLDERS_MAX {
        return Err(RpcError::invalid_params(format!(
            "additionalDirectories has more than {ADDED_FOLDERS_MAX} folders; name the folder that \
             holds them"
        )));
    }
    for folder in folders {
        let path = Path::new(folder);
        let checked = match path.is_absolute() {
            true => wiring::check_added_folder(cx, path),
            false => Err("it is not an absolute path".into()),
        };
        checked.map_err(|why| {
            RpcError::invalid_params(format!("additionalDirectories: {}: {why}", one_line(folder)))
        })?;
    }
    Ok(())
}

/// Words about the folders that a session had beside its own and that it has no longer.
fn dropped_folders(had: &[String], wanted: &[PathBuf]) -> Vec<String> {
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    let wanted: Vec<PathBuf> = wanted.iter().map(real).collect();
    let is_dropped =
        |folder: &&String| !wanted.iter().any(|one| Path::new(folder).starts_with(one));
    let words = |folder: &String| {
        let folder = one_line(folder);
        format!("{folder} is no longer part of this session: the editor does not name it")
    };
    had.iter().filter(is_dropped).map(words).collect()
}

fn busy_session() -> RpcError {
    RpcError::new(INTERNAL_ERROR, "the session has too much to do; try again in a moment")
}
