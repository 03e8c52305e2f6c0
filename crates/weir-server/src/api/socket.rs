//! The WebSocket (C7, S3): one connection, any number of sessions. Facts and signals go out, commands
//! come in.
//!
//! Here: the connection, its limits and its end. What a client may send stands in `frame`, what it is
//! told of one session in `subscription`, what its commands do in `act`, how messages go out in
//! `writer`. Each session that is listened to has a task, which sends by itself: text that streams
//! passes by what else a connection waits for (Q19).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use futures::StreamExt as _;
use futures::stream::{SplitSink, SplitStream};
use http::{HeaderMap, header};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};
use weir_core::ids::SessionId;

use crate::app::App;
use crate::caller::{Caller, CallerCredential};
use crate::guard::is_own_origin;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::route::Route;
use crate::session_registry::listeners::ListenerSlot;

mod act;
mod frame;
mod subscription;
mod writer;

use frame::ClientFrame;
use subscription::SessionSubscription;
use writer::{CloseReason, SocketWriter};

/// Largest frame of a client, in bytes: a long text; files go by upload.
const FRAME_BYTES_MAX: usize = 1 << 20;
/// Bytes read at once, kept by each connection. Small: most are idle (Q18), and commands are short.
const READ_BUFFER: usize = 1 << 10;
/// Sessions that one connection listens to.
const SUBSCRIPTIONS_MAX: usize = 64;
/// Commands of one connection under way at once; more wait in the network.
const COMMANDS_MAX: usize = 16;
/// Frames that cannot be read, one after the other, before the connection is closed.
const BAD_FRAMES_MAX: u32 = 20;
/// How often the other side is asked whether it is there.
const PING_EVERY: Duration = Duration::from_secs(20);
/// How long it may say nothing.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The routes of this file.
pub(crate) fn socket_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/ws", upgrade_socket)
            .summary("WebSocket: events of your sessions, and commands to them")
            .gives_nothing(101),
    ]
}

async fn upgrade_socket(
    State(app): State<App>,
    caller: Caller,
    mut request: Request,
) -> HandlerResult<Response> {
    check_origin(&app, &caller, request.headers())?;
    let response = create_response_with_body(&request, Body::empty).map_err(|error| {
        ProblemDetails::bad_request(format!(
            "this address opens a WebSocket, nothing else: {error}"
        ))
    })?;
    let listener = app.sessions.listeners().claim_slot(&caller.person.id)?;
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(serve_connection(app, caller, upgrade, listener));
    Ok(response)
}

fn check_origin(app: &App, caller: &Caller, headers: &HeaderMap) -> HandlerResult<()> {
    let says_origin = headers.contains_key(header::ORIGIN);
    // A browser always says which page asks; a program with a token is no page.
    let by_token = matches!(caller.via, CallerCredential::Token { .. });
    if (says_origin || !by_token) && !is_own_origin(app, headers) {
        return Err(ProblemDetails::not_permitted(
            "another site may not open a connection in your name",
        ));
    }
    Ok(())
}

async fn serve_connection(app: App, caller: Caller, upgrade: OnUpgrade, listener: ListenerSlot) {
    let upgraded = match upgrade.await {
        Ok(upgraded) => TokioIo::new(upgraded),
        Err(error) => return tracing::debug!(%error, "no WebSocket came about"),
    };
    let config = WebSocketConfig::default()
        .max_message_size(Some(FRAME_BYTES_MAX))
        .max_frame_size(Some(FRAME_BYTES_MAX))
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0);
    let socket = WebSocketStream::from_raw_socket(upgraded, Role::Server, Some(config)).await;
    let (sink, stream) = socket.split();
    let connection = SocketConnection {
        app,
        caller,
        writer: Arc::new(SocketWriter::new(sink)),
        _listener: listener,
        subscriptions: Vec::new(),
        feeds: JoinSet::new(),
        commands: JoinSet::new(),
        heard: Instant::now(),
        bad: 0,
    };
    connection.go_on(stream).await;
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;

struct SocketConnection {
    app: App,
    caller: Caller,
    writer: Arc<SocketWriter<SplitSink<Socket, Message>>>,
    _listener: ListenerSlot,
    subscriptions: Vec<ActiveSubscription>,
    /// The tasks of what is listened to.
    feeds: JoinSet<Result<(), CloseReason>>,
    commands: JoinSet<Value>,
    heard: Instant,
    bad: u32,
}

/// A session that is listened to, and how that ends.
struct ActiveSubscription {
    session: SessionId,
    /// Set before the client is told that it has ended: nothing of it is sent after that.
    is_over: Arc<AtomicBool>,
    task: AbortHandle,
}

impl SocketConnection {
    async fn go_on(mut self, mut stream: SplitStream<Socket>) {
        let app = self.app.clone();
        let watch = app.auth.watch_credential(&self.caller);
        let ended = watch.wait_until_revoked();
        tokio::pin!(ended);
        let close = tokio::select! {
            close = self.exchange_frames(&mut stream) => close,
            () = &mut ended => CloseReason::Told(CloseCode::Policy, "you are signed out"),
            () = app.stop.cancelled() => {
                CloseReason::Told(CloseCode::Away, "the server ends; come again")
            }
        };
        // None of them writes any more when the client is told.
        self.feeds.shutdown().await;
        self.writer.close(close).await;
    }

    async fn exchange_frames(&mut self, stream: &mut SplitStream<Socket>) -> CloseReason {
        let hello = frame::hello_frame(&self.app, &self.caller).to_string();
        if let Err(close) = self.writer.send_text(hello).await {
            return close;
        }
        let mut ping = tokio::time::interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_free = self.commands.len() < COMMANDS_MAX;
            let next = tokio::select! {
                // What a client said is heard before it counts as silent.
                biased;
                message = stream.next(), if is_free => self.handle_message(message).await,
                Some(done) = self.commands.join_next() => match done {
                    Ok(answer) => self.writer.send_text(answer.to_string()).await,
                    Err(_) => Err(CloseReason::Told(CloseCode::Error, "a command failed badly")),
                },
                Some(ended) = self.feeds.join_next() => self.forget_ended(ended),
                _ = ping.tick() => self.send_ping().await,
            };
            if let Err(close) = next {
                return close;
            }
        }
    }

    async fn send_ping(&mut self) -> Result<(), CloseReason> {
        if self.heard.elapsed() > SILENCE_MAX {
            return Err(CloseReason::Told(CloseCode::Policy, "nothing was heard of you"));
        }
        self.writer.send_ping().await
    }

    async fn handle_message(
        &mut self,
        message: Option<Result<Message, SocketError>>,
    ) -> Result<(), CloseReason> {
        self.heard = Instant::now();
        match message {
            None | Some(Ok(Message::Close(_))) => Err(CloseReason::Gone),
            Some(Err(error)) => {
                tracing::debug!(%error, "a connection broke");
                // What is left to say is said where it still can be: a frame was too large, or none.
                let why = "a frame was too large, or not one at all";
                Err(CloseReason::Told(CloseCode::Size, why))
            }
            // A single frame is never told of one that is read.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(()),
            Some(Ok(Message::Binary(_))) => {
                self.report_bad_frame("frames are JSON text", None).await
            }
            // Apart from the connection's own task, which waits most of the time and would keep room for
            // all that a frame can lead to: three quarters of what an idle socket took (Q18).
            Some(Ok(Message::Text(text))) => Box::pin(self.heard_text(&text)).await,
        }
    }

    async fn report_bad_frame(
        &mut self,
        why: &str,
        client_id: Option<&str>,
    ) -> Result<(), CloseReason> {
        self.bad += 1;
        if self.bad > BAD_FRAMES_MAX {
            return Err(CloseReason::Told(
                CloseCode::Policy,
                "too many frames that cannot be read",
            ));
        }
        let problem = ProblemDetails::bad_request(why);
        self.writer.send_text(frame::error_frame(&problem, client_id).to_string()).await
    }

    #[expect(clippy::too_many_lines, reason = "what a frame can ask, in one match")]
    async fn heard_text(&mut self, text: &str) -> Result<(), CloseReason> {
        let allowance = self
            .app
            .sessions
            .frame_quotas()
            .take(self.caller.person.id.clone(), self.app.current_time());
        if !allowance.allowed {
            self.bad += 1;
            let wait = u64::from(allowance.seconds);
            let problem = ProblemDetails::too_many(wait, format!("too many frames; wait {wait} s"));
            if self.bad > BAD_FRAMES_MAX {
                return Err(CloseReason::Told(CloseCode::Policy, "too many frames"));
            }
            return self
                .writer
                .send_text(
                    frame::error_frame(&problem, frame::client_id(text).as_deref()).to_string(),
                )
                .await;
        }
        let frame = match serde_json::from_str::<ClientFrame>(text) {
            Ok(frame) => frame,
            Err(error) => {
                let id = frame::client_id(text);
                return self
                    .report_bad_frame(&format!("this frame means nothing: {error}"), id.as_deref())
                    .await;
            }
        };
        self.bad = 0;
        match frame {
            ClientFrame::Ping { client_id } => {
                let pong = json!({ "type": "pong", "client_id": client_id });
                self.writer.send_text(pong.to_string()).await
            }
            ClientFrame::Unsubscribe { session } => {
                self.end_subscription(&session);
                self.writer
                    .send_text(json!({ "type": "unsubscribed", "session": session }).to_string())
                    .await
            }
            ClientFrame::Subscribe { session, after, view } => {
                self.end_subscription(&session);
                self.subscriptions.retain(|one| !one.task.is_finished());
                if self.subscriptions.len() >= SUBSCRIPTIONS_MAX {
                    let problem =
                        ProblemDetails::too_many(0, "one connection listens to 64 sessions");
                    return self
                        .writer
                        .send_text(frame::error_frame(&problem, None).to_string())
                        .await;
                }
                match SessionSubscription::open(
                    &self.app,
                    &self.caller,
                    session.clone(),
                    after,
                    view,
                )
                .await
                {
                    Ok(subscription) => self.start_subscription(subscription).await,
                    Err(problem) => {
                        let mut error = frame::error_frame(&problem, None);
                        error["session"] = json!(session);
                        self.writer.send_text(error.to_string()).await
                    }
                }
            }
            ClientFrame::Command(command) => {
                self.commands.spawn(act::run_client_command(
                    self.app.clone(),
                    self.caller.clone(),
                    command,
                ));
                Ok(())
            }
        }
    }

    async fn start_subscription(
        &mut self,
        subscription: SessionSubscription,
    ) -> Result<(), CloseReason> {
        let subscribed = subscription.subscribed_frame().to_string();
        self.writer.send_text(subscribed).await?;
        let session = subscription.session().clone();
        let is_over = Arc::new(AtomicBool::new(false));
        let task =
            self.feeds.spawn(forward_updates(subscription, self.writer.clone(), is_over.clone()));
        self.subscriptions.push(ActiveSubscription { session, is_over, task });
        Ok(())
    }

    fn end_subscription(&mut self, session: &SessionId) {
        self.subscriptions.retain(|one| {
            let goes_on = one.session != *session;
            if !goes_on {
                one.is_over.store(true, Ordering::Release);
                one.task.abort();
            }
            goes_on
        });
    }

    /// One that ended by itself, or was ended.
    fn forget_ended(
        &mut self,
        ended: Result<Result<(), CloseReason>, JoinError>,
    ) -> Result<(), CloseReason> {
        self.subscriptions.retain(|one| !one.task.is_finished());
        match ended {
            Ok(ended) => ended,
            Err(error) if error.is_cancelled() => Ok(()),
            Err(_) => Err(CloseReason::Told(CloseCode::Error, "a subscription failed badly")),
        }
    }
}

/// Tells a client of one session, until there is nothing more to tell.
///
/// # Errors
/// Why the whole connection ends.
async fn forward_updates(
    mut subscription: SessionSubscription,
    writer: Arc<SocketWriter<SplitSink<Socket, Message>>>,
    is_over: Arc<AtomicBool>,
) -> Result<(), CloseReason> {
    let session = subscription.session().clone();
    let last = loop {
        match subscription.next().await {
            Ok(Some(frame)) => {
                if !writer.send_unless(&is_over, frame).await? {
                    return Ok(());
                }
            }
            Ok(None) => break json!({ "type": "ended", "session": session }),
            Err(problem) => {
                let mut error = frame::error_frame(&problem, None);
                error["session"] = json!(session);
                break error;
            }
        }
    };
    writer.send_unless(&is_over, last.to_string()).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that a task of this kind keeps as long as it lives.
    fn future_bytes<A, B, C, D, F>(_task: impl Fn(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn q18_a_connection_that_waits_keeps_no_room_for_what_a_frame_can_lead_to() {
        let bytes = future_bytes(serve_connection);
        assert!(bytes <= 8 << 10, "{bytes} bytes for each socket");
    }
}
