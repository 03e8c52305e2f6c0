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
use crate::guard::{Caller, Via, is_own_origin};
use crate::live::listeners::Listener;
use crate::problem::{Answer, Problem};
use crate::route::Route;

mod act;
mod frame;
mod subscription;

use frame::Frame;
use subscription::Subscription;

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
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/ws", upgrade)
            .summary("WebSocket: events of your sessions, and commands to them")
            .gives_nothing(101),
    ]
}

async fn upgrade(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    socket: WebSocketUpgrade,
) -> Answer<Response> {
    let says_origin = headers.contains_key(header::ORIGIN);
    // A browser always says which page asks; a program with a token is no page.
    let by_token = matches!(caller.via, Via::Token { .. });
    if (says_origin || !by_token) && !is_own_origin(&app, &headers) {
        return Err(Problem::forbidden("another site may not open a connection in your name"));
    }
    let listener = app.rooms.listeners().place(&caller.person.id)?;
    let socket = socket
        .max_message_size(FRAME_BYTES_MAX)
        .max_frame_size(FRAME_BYTES_MAX)
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0);
    Ok(socket.on_upgrade(move |socket| serve(app, caller, (socket, listener))))
}

async fn serve(app: App, caller: Caller, (socket, listener): (WebSocket, Listener)) {
    let (sink, stream) = socket.split();
    let connection = Connection {
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

type Told = (Subscription, Answer<Option<String>>);
type Waiting = Abortable<futures::future::BoxFuture<'static, Told>>;

struct Connection {
    app: App,
    caller: Caller,
    sink: SplitSink<WebSocket, Message>,
    _listener: Listener,
    /// What is listened to, each with the handle that ends it.
    subscriptions: Vec<(SessionId, AbortHandle)>,
    feeds: FuturesUnordered<Waiting>,
    commands: JoinSet<Value>,
    heard: Instant,
    bad: u32,
}

/// Why a connection ends: code and words for the client.
struct Close(u16, &'static str);

/// The client has gone: there is nobody to tell.
const GONE: Close = Close(0, "");

impl Connection {
    async fn go_on(mut self, mut stream: SplitStream<WebSocket>) {
        let (app, caller) = (self.app.clone(), self.caller.clone());
        let ended = app.doorman.ended(&caller);
        tokio::pin!(ended);
        let close = tokio::select! {
            close = self.talk(&mut stream) => close,
            () = &mut ended => Close(close_code::POLICY, "you are signed out"),
            () = app.stop.cancelled() => Close(close_code::AWAY, "the server ends; come again"),
        };
        if close.0 == GONE.0 {
            return;
        }
        let frame = CloseFrame { code: close.0, reason: Utf8Bytes::from_static(close.1) };
        let said = self.sink.send(Message::Close(Some(frame)));
        let _ = tokio::time::timeout(Duration::from_secs(2), said).await;
        let _ = tokio::time::timeout(Duration::from_secs(2), self.sink.close()).await;
    }

    async fn talk(&mut self, stream: &mut SplitStream<WebSocket>) -> Close {
        let hello = frame::hello(&self.app, &self.caller).to_string();
        if let Err(close) = self.send(hello).await {
            return close;
        }
        let mut ping = tokio::time::interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        loop {
            let is_free = self.commands.len() < COMMANDS_MAX;
            let next = tokio::select! {
                Some(done) = self.commands.join_next() => match done {
                    Ok(answer) => self.send(answer.to_string()).await,
                    Err(_) => Err(Close(close_code::ERROR, "a command failed badly")),
                },
                message = stream.next(), if is_free => self.took(message).await,
                Some(told) = self.feeds.next(), if !self.feeds.is_empty() => match told {
                    Ok((subscription, told)) => self.tell(subscription, told).await,
                    Err(Aborted) => Ok(()),
                },
                _ = ping.tick() => self.ping().await,
            };
            if let Err(close) = next {
                return close;
            }
        }
    }

    async fn ping(&mut self) -> Result<(), Close> {
        if self.heard.elapsed() > SILENCE_MAX {
            return Err(Close(close_code::POLICY, "nothing was heard of you"));
        }
        self.put(Message::Ping(axum::body::Bytes::new())).await
    }

    async fn send(&mut self, text: String) -> Result<(), Close> {
        self.put(Message::Text(text.into())).await
    }

    /// Sends, and waits for a client that is slow: what is streamed meanwhile is joined where it
    /// comes from, and no session waits for it.
    async fn put(&mut self, message: Message) -> Result<(), Close> {
        match tokio::time::timeout(SEND_WAIT, self.sink.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(GONE),
            Err(_) => Err(Close(close_code::POLICY, "you read nothing")),
        }
    }

    async fn took(&mut self, message: Option<Result<Message, axum::Error>>) -> Result<(), Close> {
        self.heard = Instant::now();
        match message {
            None | Some(Ok(Message::Close(_))) => Err(GONE),
            Some(Err(error)) => {
                tracing::debug!(%error, "a connection broke");
                // What is left to say is said where it still can be: a frame was too large, or none.
                Err(Close(close_code::SIZE, "a frame was too large, or not one at all"))
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(()),
            Some(Ok(Message::Binary(_))) => self.wrong("frames are JSON text", None).await,
            Some(Ok(Message::Text(text))) => self.heard_text(&text).await,
        }
    }

    async fn wrong(&mut self, why: &str, client_id: Option<&str>) -> Result<(), Close> {
        self.bad += 1;
        if self.bad > BAD_FRAMES_MAX {
            return Err(Close(close_code::POLICY, "too many frames that cannot be read"));
        }
        let problem = Problem::bad(why);
        self.send(frame::error(&problem, client_id).to_string()).await
    }

    async fn heard_text(&mut self, text: &str) -> Result<(), Close> {
        let allowance = self.app.rooms.frames().take(self.caller.person.id.clone(), self.app.now());
        if !allowance.allowed {
            self.bad += 1;
            let wait = u64::from(allowance.seconds);
            let problem = Problem::too_many(wait, format!("too many frames; wait {wait} s"));
            if self.bad > BAD_FRAMES_MAX {
                return Err(Close(close_code::POLICY, "too many frames"));
            }
            return self
                .send(frame::error(&problem, frame::client_id(text).as_deref()).to_string())
                .await;
        }
        let frame = match serde_json::from_str::<Frame>(text) {
            Ok(frame) => frame,
            Err(error) => {
                let id = frame::client_id(text);
                return self
                    .wrong(&format!("this frame means nothing: {error}"), id.as_deref())
                    .await;
            }
        };
        self.bad = 0;
        match frame {
            Frame::Ping { client_id } => {
                let pong = json!({ "type": "pong", "client_id": client_id });
                self.send(pong.to_string()).await
            }
            Frame::Unsubscribe { session } => {
                self.end(&session);
                self.send(json!({ "type": "unsubscribed", "session": session }).to_string()).await
            }
            Frame::Subscribe { session, after, view } => {
                self.end(&session);
                if self.subscriptions.len() >= SUBSCRIPTIONS_MAX {
                    let problem = Problem::too_many(0, "one connection listens to 64 sessions");
                    return self.send(frame::error(&problem, None).to_string()).await;
                }
                let wanted = (session.clone(), after, view);
                match Subscription::open(&self.app, &self.caller, wanted).await {
                    Ok(subscription) => self.listen(subscription).await,
                    Err(problem) => {
                        let mut error = frame::error(&problem, None);
                        error["session"] = json!(session);
                        self.send(error.to_string()).await
                    }
                }
            }
            Frame::Command(command) => {
                self.commands.spawn(act::act(self.app.clone(), self.caller.clone(), command));
                Ok(())
            }
        }
    }

    async fn listen(&mut self, subscription: Subscription) -> Result<(), Close> {
        let subscribed = subscription.subscribed().to_string();
        self.send(subscribed).await?;
        self.wait(subscription);
        Ok(())
    }

    fn wait(&mut self, mut subscription: Subscription) {
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

    fn end(&mut self, session: &SessionId) {
        self.subscriptions.retain(|(other, handle)| {
            if other == session {
                handle.abort();
            }
            other != session
        });
    }

    async fn tell(
        &mut self,
        subscription: Subscription,
        told: Answer<Option<String>>,
    ) -> Result<(), Close> {
        let session = subscription.session().clone();
        match told {
            Ok(Some(frame)) => {
                self.send(frame).await?;
                self.wait(subscription);
                Ok(())
            }
            Ok(None) => {
                self.end(&session);
                self.send(json!({ "type": "ended", "session": session }).to_string()).await
            }
            Err(problem) => {
                self.end(&session);
                let mut error = frame::error(&problem, None);
                error["session"] = json!(session);
                self.send(error.to_string()).await
            }
        }
    }
}
