//! One editor: its requests, and the sessions that it has open. Ends when the editor does, and gives every
//! session back then. Not here: what happens in a session (`crate::session`).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::task::{JoinHandle, JoinSet};
use weir_install::context::InstallationContext;
use weir_install::wiring::SessionOverrides;

use crate::options::SettingWish;
use crate::render::{EditorReading, ElicitationModes, NoticeStyle};
use crate::rpc::{
    EditorPeer, INVALID_REQUEST, IncomingMessage, LINE_BYTES_MAX, LineReader, METHOD_NOT_FOUND,
    ReadLine, RequestId, RpcError, write_lines,
};
use crate::session::{ChangeReply, SessionOpening, SessionOrder};
use crate::wire::{
    AuthenticateParams, ClientFs, InitializeParams, ListParams, PromptParams, SessionParams,
    SetModeParams, SetOptionParams,
};

mod lookups;
mod offered;
mod seats;

use seats::SessionSeat;

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

/// What is known of the editor and its sessions.
struct EditorConnection {
    cx: Arc<InstallationContext>,
    flags: SessionOverrides,
    peer: EditorPeer,
    reads: EditorReading,
    files: ClientFs,
    has_terminals: bool,
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
        reads: EditorReading::default(),
        files: ClientFs::default(),
        has_terminals: false,
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
            "session/delete" => self.delete_session(id, &read_params(params)?),
            "session/new" => self.open_new(id, &read_params(params)?),
            "session/load" => {
                self.open_existing(id, read_params(params)?, SessionOpening::Load).await
            }
            "session/resume" => {
                self.open_existing(id, read_params(params)?, SessionOpening::Resume).await
            }
            "session/fork" => self.open_fork(id, read_params(params)?).await,
            _ => self.order_session(id, method, params),
        }
    }

    async fn answer_initialize(
        &mut self,
        id: &RequestId,
        params: InitializeParams,
    ) -> Result<(), RpcError> {
        let able = params.client_capabilities;
        let session = able.session.unwrap_or_default();
        let notices = match session.notices {
            Some(_) => NoticeStyle::Notices,
            None => NoticeStyle::Messages,
        };
        let asks = able.elicitation.unwrap_or_default();
        let asks = ElicitationModes { forms: asks.form.is_some(), pages: asks.url.is_some() };
        // Who says its name is younger than the protocol's first version, and reads what came with names.
        let additions = params.client_info.is_some();
        let compaction = session.compaction.is_some();
        self.reads = EditorReading { notices, additions, compaction, asks };
        (self.files, self.has_terminals) = (able.fs, able.terminal);
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
