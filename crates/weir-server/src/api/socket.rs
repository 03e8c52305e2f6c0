//! The WebSocket (C7, S3): one connection, any number of sessions. Facts and signals go out, commands
//! come in.
//!
//! Here: the connection, its limits and its end. What a client may send stands in `frame`, what it is
//! told of one session in `subscription`, what its commands do in `act`.

use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use futures::future::{AbortHandle, Abortable, Aborted};
use futures::stream::{FuturesUnordered, SplitSink, SplitStream};
use futures::{FutureExt as _, SinkExt as _, StreamExt as _};
use http::{HeaderMap, header};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;
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

use frame::ClientFrame;
use subscription::SessionSubscription;

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
/// How long a frame may wait for a client that does not read.
const SEND_WAIT: Duration = Duration::from_secs(30);

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
    headers: HeaderMap,
    socket: WebSocketUpgrade,
) -> HandlerResult<Response> {
    let says_origin = headers.contains_key(header::ORIGIN);
    // A browser always says which page asks; a program with a token is no page.
    let by_token = matches!(caller.via, CallerCredential::Token { .. });
    if (says_origin || !by_token) && !is_own_origin(&app, &headers) {
        return Err(ProblemDetails::not_permitted(
            "another site may not open a connection in your name",
        ));
    }
    let listener = app.sessions.listeners().claim_slot(&caller.person.id)?;
    let socket = socket
        .max_message_size(FRAME_BYTES_MAX)
        .max_frame_size(FRAME_BYTES_MAX)
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0);
    Ok(socket.on_upgrade(move |socket| serve_connection(app, caller, socket, listener)))
}

async fn serve_connection(app: App, caller: Caller, socket: WebSocket, listener: ListenerSlot) {
    let (sink, stream) = socket.split();
    let connection = SocketConnection {
        app,
        caller,
        sink,
        _listener: listener,
        subscriptions: Vec::new(),
        feeds: FuturesUnordered::new(),
        commands: JoinSet::new(),
        heard: Instant::now(),
        bad: 0,
    };
    connection.go_on(stream).await;
}

type SubscriptionUpdate = (SessionSubscription, HandlerResult<Option<String>>);
type PendingUpdate = Abortable<futures::future::BoxFuture<'static, SubscriptionUpdate>>;

struct SocketConnection {
    app: App,
    caller: Caller,
    sink: SplitSink<WebSocket, Message>,
    _listener: ListenerSlot,
    /// What is listened to, each with the handle that ends it.
    subscriptions: Vec<(SessionId, AbortHandle)>,
    feeds: FuturesUnordered<PendingUpdate>,
    commands: JoinSet<Value>,
    heard: Instant,
    bad: u32,
}

/// Why a connection ends: code and words for the client.
struct CloseReason(u16, &'static str);

/// The client has gone: there is nobody to tell.
const GONE: CloseReason = CloseReason(0, "");

impl SocketConnection {
    async fn go_on(mut self, mut stream: SplitStream<WebSocket>) {
        let (app, caller) = (self.app.clone(), self.caller.clone());
        let ended = app.auth.wait_until_revoked(&caller);
        tokio::pin!(ended);
        let close = tokio::select! {
            close = self.exchange_frames(&mut stream) => close,
            () = &mut ended => CloseReason(close_code::POLICY, "you are signed out"),
            () = app.stop.cancelled() => CloseReason(close_code::AWAY, "the server ends; come again"),
        };
        if close.0 == GONE.0 {
            return;
        }
        let frame = CloseFrame { code: close.0, reason: Utf8Bytes::from_static(close.1) };
        let said = self.sink.send(Message::Close(Some(frame)));
        let _ = tokio::time::timeout(Duration::from_secs(2), said).await;
        let _ = tokio::time::timeout(Duration::from_secs(2), self.sink.close()).await;
    }

    async fn exchange_frames(&mut self, stream: &mut SplitStream<WebSocket>) -> CloseReason {
        let hello = frame::hello_frame(&self.app, &self.caller).to_string();
        if let Err(close) = self.send_text(hello).await {
            return close;
        }
        let mut ping = tokio::time::interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        loop {
            let is_free = self.commands.len() < COMMANDS_MAX;
            let next = tokio::select! {
                Some(done) = self.commands.join_next() => match done {
                    Ok(answer) => self.send_text(answer.to_string()).await,
                    Err(_) => Err(CloseReason(close_code::ERROR, "a command failed badly")),
                },
                message = stream.next(), if is_free => self.handle_message(message).await,
                Some(told) = self.feeds.next(), if !self.feeds.is_empty() => match told {
                    Ok((subscription, told)) => self.forward_update(subscription, told).await,
                    Err(Aborted) => Ok(()),
                },
                _ = ping.tick() => self.send_ping().await,
            };
            if let Err(close) = next {
                return close;
            }
        }
    }

    async fn send_ping(&mut self) -> Result<(), CloseReason> {
        if self.heard.elapsed() > SILENCE_MAX {
            return Err(CloseReason(close_code::POLICY, "nothing was heard of you"));
        }
        self.send_message(Message::Ping(axum::body::Bytes::new())).await
    }

    async fn send_text(&mut self, text: String) -> Result<(), CloseReason> {
        self.send_message(Message::Text(text.into())).await
    }

    /// Sends, and waits for a client that is slow: what is streamed meanwhile is joined where it
    /// comes from, and no session waits for it.
    async fn send_message(&mut self, message: Message) -> Result<(), CloseReason> {
        match tokio::time::timeout(SEND_WAIT, self.sink.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(GONE),
            Err(_) => Err(CloseReason(close_code::POLICY, "you read nothing")),
        }
    }

    async fn handle_message(
        &mut self,
        message: Option<Result<Message, axum::Error>>,
    ) -> Result<(), CloseReason> {
        self.heard = Instant::now();
        match message {
            None | Some(Ok(Message::Close(_))) => Err(GONE),
            Some(Err(error)) => {
                tracing::debug!(%error, "a connection broke");
                // What is left to say is said where it still can be: a frame was too large, or none.
                Err(CloseReason(close_code::SIZE, "a frame was too large, or not one at all"))
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(()),
            Some(Ok(Message::Binary(_))) => {
                self.report_bad_frame("frames are JSON text", None).await
            }
            Some(Ok(Message::Text(text))) => self.heard_text(&text).await,
        }
    }

    async fn report_bad_frame(
        &mut self,
        why: &str,
        client_id: Option<&str>,
    ) -> Result<(), CloseReason> {
        self.bad += 1;
        if self.bad > BAD_FRAMES_MAX {
            return Err(CloseReason(close_code::POLICY, "too many frames that cannot be read"));
        }
        let problem = ProblemDetails::bad_request(why);
        self.send_text(frame::error_frame(&problem, client_id).to_string()).await
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
                return Err(CloseReason(close_code::POLICY, "too many frames"));
            }
            return self
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
                self.send_text(pong.to_string()).await
            }
            ClientFrame::Unsubscribe { session } => {
                self.end_subscription(&session);
                self.send_text(json!({ "type": "unsubscribed", "session": session }).to_string())
                    .await
            }
            ClientFrame::Subscribe { session, after, view } => {
                self.end_subscription(&session);
                if self.subscriptions.len() >= SUBSCRIPTIONS_MAX {
                    let problem =
                        ProblemDetails::too_many(0, "one connection listens to 64 sessions");
                    return self.send_text(frame::error_frame(&problem, None).to_string()).await;
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
                        self.send_text(error.to_string()).await
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
        self.send_text(subscribed).await?;
        self.await_update(subscription);
        Ok(())
    }

    fn await_update(&mut self, mut subscription: SessionSubscription) {
        let (handle, registration) = AbortHandle::new_pair();
        let session = subscription.session().clone();
        self.subscriptions.retain(|(other, _)| *other != session);
        self.subscriptions.push((session, handle));
        let next = async move {
            let told = subscription.next().await;
            (subscription, told)
        };
        self.feeds.push(Abortable::new(next.boxed(), registration));
    }

    fn end_subscription(&mut self, session: &SessionId) {
        self.subscriptions.retain(|(other, handle)| {
            if other == session {
                handle.abort();
            }
            other != session
        });
    }

    async fn forward_update(
        &mut self,
        subscription: SessionSubscription,
        told: HandlerResult<Option<String>>,
    ) -> Result<(), CloseReason> {
        let session = subscription.session().clone();
        match told {
            Ok(Some(frame)) => {
                self.send_text(frame).await?;
                self.await_update(subscription);
                Ok(())
            }
            Ok(None) => {
                self.end_subscription(&session);
                self.send_text(json!({ "type": "ended", "session": session }).to_string()).await
            }
            Err(problem) => {
                self.end_subscription(&session);
                let mut error = frame::error_frame(&problem, None);
                error["session"] = json!(session);
                self.send_text(error.to_string()).await
            }
        }
    }
}
