//! One editor: its requests, and the sessions that it has open. Ends when the editor does, and gives every
//! session back then. Not here: what happens in a session (`crate::session`).

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::task::{JoinHandle, JoinSet};
use weir_core::ids::SessionId;
use weir_install::context::InstallationContext;
use weir_install::wiring::{self, SessionOverrides};

use crate::options::SettingWish;
use crate::render::NoticeStyle;
use crate::rpc::{
    self, EditorPeer, INVALID_REQUEST, IncomingMessage, LINE_BYTES_MAX, LineReader,
    METHOD_NOT_FOUND, NOT_FOUND, ReadLine, RequestId, RpcError, write_lines,
};
use crate::session::{
    ChangeReply, OrderSender, SessionOpening, SessionOrder, SessionStart, order_channel,
    run_session,
};
use crate::wire::{
    AuthenticateParams, InitializeParams, ListParams, OpenParams, PromptParams, SessionParams,
    SetModeParams, SetOptionParams,
};

mod lookups;
mod offered;

/// Sessions that one editor may have open.
const SESSIONS_MAX: usize = 64;
/// Things that are looked up at once; more are refused.
const LOOKUPS_MAX: usize = 16;
/// How long all sessions together may take to be given back.
const LEAVE_WAIT: Duration = Duration::from_secs(20);
/// How long the last lines may take to be written.
const WRITE_WAIT: Duration = Duration::from_secs(2);

/// Why an editor is no longer served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Its lines cannot be read.
    #[error("what the editor sends cannot be read: {0}")]
    Read(#[from] std::io::Error),
}

/// A session that is open, or opens.
struct SessionSeat {
    orders: OrderSender,
    task: JoinHandle<()>,
}

/// What is known of the editor and its sessions.
struct EditorConnection {
    cx: Arc<InstallationContext>,
    flags: SessionOverrides,
    peer: EditorPeer,
    style: NoticeStyle,
    is_initialized: bool,
    sessions: HashMap<String, SessionSeat>,
    lookups: JoinSet<()>,
}

/// Serves an editor over two streams until it goes. `flags` count for new sessions and for those that are
/// loaded.
///
/// # Errors
/// What it sends cannot be read. Every session was given back all the same.
pub async fn serve_editor(
    cx: InstallationContext,
    flags: SessionOverrides,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<(), ServeError> {
    let (peer, lines) = EditorPeer::new();
    let mut writer = tokio::spawn(write_lines(output, lines));
    let mut connection = EditorConnection {
        cx: Arc::new(cx),
        flags: SessionOverrides { attended: true, ..flags },
        peer,
        style: NoticeStyle::default(),
        is_initialized: false,
        sessions: HashMap::new(),
        lookups: JoinSet::new(),
    };
    let mut reader = LineReader::new(BufReader::new(input), LINE_BYTES_MAX);
    let served = loop {
        let gone = connection.peer.clone();
        let line = tokio::select! {
            line = reader.next_line() => line,
            () = gone.wait_until_gone() => break Ok(()),
        };
        match line {
            Ok(ReadLine::Line(line)) => {
                connection.take_message(IncomingMessage::parse_line(&line)).await
            }
            Ok(ReadLine::TooLong) => {
                let most = LINE_BYTES_MAX >> 20;
                let error =
                    RpcError::new(INVALID_REQUEST, format!("a line has more than {most} MB"));
                let id = RequestId::null_id();
                connection.take_message(IncomingMessage::Invalid { id, error }).await;
            }
            Ok(ReadLine::End) => break Ok(()),
            Err(error) => break Err(error.into()),
        }
    };
    connection.give_sessions_back().await;
    if tokio::time::timeout(WRITE_WAIT, &mut writer).await.is_err() {
        writer.abort();
    }
    served
}

/// The parameters of a method.
fn read_params<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    serde_json::from_value(params).map_err(|error| RpcError::invalid_params(error.to_string()))
}

impl EditorConnection {
    async fn take_message(&mut self, message: IncomingMessage) {
        match message {
            IncomingMessage::Request { id, method, params } => {
                if let Err(error) = self.take_request(&id, &method, params).await {
                    self.peer.send_answer::<Value>(&id, Err(error)).await;
                }
            }
            IncomingMessage::Notification { method, params } => {
                self.take_notification(&method, params)
            }
            IncomingMessage::Answer { id, outcome } => self.peer.deliver_answer(&id, outcome),
            IncomingMessage::Invalid { id, error } => {
                self.peer.send_answer::<Value>(&id, Err(error)).await;
            }
        }
    }

    /// Answers a request, or gives it to whoever does.
    ///
    /// # Errors
    /// For the answer.
    async fn take_request(
        &mut self,
        id: &RequestId,
        method: &str,
        params: Value,
    ) -> Result<(), RpcError> {
        if method == "initialize" {
            return self.answer_initialize(id, read_params(params)?).await;
        }
        if !self.is_initialized {
            return Err(RpcError::new(INVALID_REQUEST, "the first request is `initialize`"));
        }
        let id = id.clone();
        match method {
            "authenticate" => {
                let params: AuthenticateParams = read_params(params)?;
                offered::check_auth_method(&params.method_id)?;
                self.start_lookup(id, |cx, flags| async move {
                    lookups::check_model(&cx, &flags).await.map(|()| json!({}))
                })
            }
            "session/list" => {
                let params: Option<ListParams> = read_params(params)?;
                self.start_lookup(id, |cx, _| async move {
                    lookups::list_sessions(&cx, params.unwrap_or_default()).await
                })
            }
            "session/new" => self.open_new(id, &read_params(params)?),
            "session/load" => {
                self.open_existing(id, read_params(params)?, SessionOpening::Load).await
            }
            "session/resume" => {
                self.open_existing(id, read_params(params)?, SessionOpening::Resume).await
            }
            _ => self.order_session(id, method, params),
        }
    }

    async fn answer_initialize(
        &mut self,
        id: &RequestId,
        params: InitializeParams,
    ) -> Result<(), RpcError> {
        let able = params.client_capabilities;
        self.style = match able.session.and_then(|session| session.notices) {
            Some(_) => NoticeStyle::Notices,
            None => NoticeStyle::Messages,
        };
        self.is_initialized = true;
        let result = offered::initialize_result(&able.auth);
        self.peer.send_answer(id, Ok(result)).await;
        Ok(())
    }

    /// Gives a request to the session that it names.
    ///
    /// # Errors
    /// For the answer.
    fn order_session(
        &self,
        request: RequestId,
        method: &str,
        params: Value,
    ) -> Result<(), RpcError> {
        let (session, order) = match method {
            "session/prompt" => {
                let params: PromptParams = read_params(params)?;
                (params.session_id, SessionOrder::Prompt { request, blocks: params.prompt })
            }
            "session/set_mode" => {
                let params: SetModeParams = read_params(params)?;
                let wish = SettingWish::of_mode(&params.mode_id)?;
                let reply = ChangeReply::Nothing;
                (params.session_id, SessionOrder::Change { request, wish, reply })
            }
            "session/set_config_option" => {
                let params: SetOptionParams = read_params(params)?;
                let wish = SettingWish::of_option(&params.config_id, &params.value)?;
                let reply = ChangeReply::Options;
                (params.session_id, SessionOrder::Change { request, wish, reply })
            }
            "session/close" => {
                let params: SessionParams = read_params(params)?;
                (params.session_id, SessionOrder::Close(request))
            }
            _ => {
                let why = format!("there is no method {method:?} here");
                return Err(RpcError::new(METHOD_NOT_FOUND, why));
            }
        };
        self.send_order(&session, order)
    }

    fn take_notification(&mut self, method: &str, params: Value) {
        match method {
            "session/cancel" => {
                let Ok(params) = read_params::<SessionParams>(params) else { return };
                // A session that is not open has nothing to end.
                let _ = self.send_order(&params.session_id, SessionOrder::Cancel);
            }
            "$/cancel_request" => {
                let Some(request) = RequestId::of_params(&params) else { return };
                for seat in self.sessions.values() {
                    let _ = seat.orders.try_send(SessionOrder::CancelRequest(request.clone()));
                }
            }
            // What nobody here knows is not answered.
            _ => (),
        }
    }

    /// Looks something up beside everything else, and answers.
    fn start_lookup<F>(
        &mut self,
        id: RequestId,
        look: impl FnOnce(Arc<InstallationContext>, SessionOverrides) -> F,
    ) -> Result<(), RpcError>
    where
        F: Future<Output = Result<Value, RpcError>> + Send + 'static,
    {
        while self.lookups.try_join_next().is_some() {}
        if self.lookups.len() >= LOOKUPS_MAX {
            return Err(RpcError::internal_error(
                "too much is looked up already; try again in a moment",
            ));
        }
        let looked = look(self.cx.clone(), self.flags.clone());
        let peer = self.peer.clone();
        self.lookups.spawn(async move { peer.send_answer(&id, looked.await).await });
        Ok(())
    }

    fn open_new(&mut self, request: RequestId, params: &OpenParams) -> Result<(), RpcError> {
        let opening = SessionOpening::New;
        self.open_seat(request, params, wiring::new_session_id(), opening)
    }

    async fn open_existing(
        &mut self,
        request: RequestId,
        params: OpenParams,
        opening: SessionOpening,
    ) -> Result<(), RpcError> {
        let Some(name) = params.session_id.clone() else {
            return Err(RpcError::invalid_params("sessionId is missing"));
        };
        if let Some(seat) = self.find_seat(&name) {
            if opening == SessionOpening::Load {
                let why = "this session is open already; close it before it is loaded again";
                return Err(RpcError::invalid_params(why));
            }
            let order = SessionOrder::Describe(request);
            return seat.orders.try_send(order).map_err(|_| busy_session());
        }
        let id = SessionId::new(name);
        let folder = lookups::folder_of_session(&self.cx, &id).await?;
        // A session works in its own folder, whatever the editor has open.
        let params = OpenParams { cwd: folder, ..params };
        self.open_seat(request, &params, id, opening)
    }

    fn open_seat(
        &mut self,
        request: RequestId,
        params: &OpenParams,
        id: SessionId,
        opening: SessionOpening,
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
        let mut remarks = Vec::new();
        if params.mcp_servers.as_ref().is_some_and(|servers| !servers.is_empty()) {
            remarks.push(
                "MCP servers of the editor are not used: add them with `weir mcp-servers add`"
                    .into(),
            );
        }
        let name = id.to_string();
        let (orders, ordered) = order_channel();
        let (flags, style, peer) = (self.flags.clone(), self.style, self.peer.clone());
        let start = SessionStart { cx, flags, id, opening, request, style, remarks };
        let task = tokio::spawn(async move {
            if opening == SessionOpening::New
                && let Err(error) = lookups::check_model(&start.cx, &start.flags).await
            {
                return peer.send_answer::<Value>(&start.request, Err(error)).await;
            }
            run_session(start, peer, ordered).await;
        });
        self.sessions.insert(name, SessionSeat { orders, task });
        Ok(())
    }

    fn find_seat(&self, name: &str) -> Option<&SessionSeat> {
        self.sessions.get(name).filter(|seat| !seat.orders.is_closed())
    }

    fn send_order(&self, name: &str, order: SessionOrder) -> Result<(), RpcError> {
        let Some(seat) = self.find_seat(name) else {
            let why = format!("there is no open session {name:?}; load it first");
            return Err(RpcError::new(NOT_FOUND, why));
        };
        seat.orders.try_send(order).map_err(|_| busy_session())
    }

    /// The editor has gone: every session is given back.
    async fn give_sessions_back(mut self) {
        self.lookups.abort_all();
        let seats = std::mem::take(&mut self.sessions);
        let mut tasks: Vec<JoinHandle<()>> = Vec::new();
        for seat in seats.into_values() {
            // Nobody orders anything any more: that is how a session knows.
            drop(seat.orders);
            tasks.push(seat.task);
        }
        let all = async {
            for task in &mut tasks {
                // One that failed has said so in the log.
                let _ = task.await;
            }
        };
        if tokio::time::timeout(LEAVE_WAIT, all).await.is_err() {
            tasks.iter().for_each(JoinHandle::abort);
        }
    }
}

fn busy_session() -> RpcError {
    RpcError::new(rpc::INTERNAL_ERROR, "the session has too much to do; try again in a moment")
}
