//! A talk with a far end that a test plays, and facts for it.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use serde_json::{Value, json};
use tokio::io::AsyncWrite;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use weir_core::event::Event;
use weir_core::governance::rules::{Rule, RuleAction, RuleOrigin};
use weir_core::ids::{SessionId, Timestamp};
use weir_core::model::{ModelInfo, ModelRef};
use weir_core::profile::{PermissionMode, built_in_profiles};
use weir_core::session::SessionConfig;

use super::super::typed::{LineSource, TypedLine, TypingStart};
use super::super::{LineModeIo, PlainError, PlainInterrupt, PlainOptions, run_talk};
use crate::link::{
    BackendChannel, OpenSessionInfo, SignalKind as Signal, UiCommand, UiUpdate, ui_channel_pair,
};
use crate::options::StartScreen;
use crate::run::FaceExit;

/// What was printed.
#[derive(Clone, Default)]
pub(super) struct Paper(Arc<Mutex<Vec<u8>>>, Arc<AtomicBool>);

impl AsyncWrite for Paper {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.lock().expect("nobody panics while writing").extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // It is asked again at whatever happens next.
        if self.1.load(Ordering::Relaxed) { Poll::Pending } else { Poll::Ready(Ok(())) }
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A talk and its far end.
pub(super) struct Table {
    pub(super) far: BackendChannel,
    pub(super) typed: Option<mpsc::Sender<TypedLine>>,
    interrupts: mpsc::Sender<PlainInterrupt>,
    paper: Paper,
    pub(super) talk: JoinHandle<Result<FaceExit, PlainError>>,
    seq: u64,
}

pub(super) fn options(screen_reader: bool) -> PlainOptions {
    PlainOptions {
        screen_reader,
        theme: None,
        prompt: true,
        terminal: true,
        name: "test".into(),
        now: || Timestamp(1_700_000_000_000_000),
        start: StartScreen::Chat,
        first: None,
    }
}

pub(super) fn config(permission: PermissionMode) -> SessionConfig {
    let found = built_in_profiles().into_iter().find(|known| known.name == "code");
    let profile = found.or_else(|| built_in_profiles().pop()).expect("there are profiles");
    let model = ModelRef { provider: "script".into(), name: "one".into() };
    let model = ModelInfo::with_name(model);
    SessionConfig {
        permission,
        attended: true,
        ..SessionConfig::with_defaults("/work", profile, model)
    }
}

impl Table {
    pub(super) fn new(options: PlainOptions) -> Table {
        let (near, far) = ui_channel_pair();
        let (typed, lines) = mpsc::channel(16);
        let (interrupts, heard) = mpsc::channel(16);
        let paper = Paper::default();
        let ends =
            LineModeIo { lines: LineSource::Fed(lines), interrupts: heard, out: paper.clone() };
        let talk = tokio::spawn(run_talk(near, options, ends));
        Table { far, typed: Some(typed), interrupts, paper, talk, seq: 0 }
    }

    /// A talk in a new session.
    pub(super) async fn opened(options: PlainOptions) -> Table {
        let mut table = Table::new(options);
        table.open(None, 0).await;
        table
    }

    pub(super) async fn open(&mut self, session: Option<&str>, known: u64) {
        self.seq = 0;
        let about = OpenSessionInfo {
            folder: "~/code".into(),
            branch: Some("main".into()),
            resume: "weir --resume s1".into(),
            notes: vec!["The folder is not trusted.".into()],
            local: true,
            ..OpenSessionInfo::default()
        };
        let session = session.map(SessionId::new);
        let named = Vec::new();
        self.tell(UiUpdate::Opened { session, known, about: Box::new(about), named }).await;
    }

    /// Tells it, and waits until everything that was told and typed is done with.
    pub(super) async fn tell(&mut self, news: UiUpdate) {
        self.far.news.send(news).await.expect("the talk goes on");
        self.rest().await;
    }

    pub(super) async fn rest(&self) {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    pub(super) async fn fact(&mut self, kind: &str, fields: Value) {
        let event = Event::from_payload(kind, &fields.to_string()).expect("the fact is whole");
        self.event(event).await;
    }

    pub(super) async fn event(&mut self, event: Event) {
        self.seq += 1;
        let (seq, ts) = (self.seq, Timestamp::default());
        self.tell(UiUpdate::Fact { seq, ts, event: Arc::new(event) }).await;
    }

    pub(super) async fn begin(&mut self, permission: PermissionMode) {
        let config = serde_json::to_value(config(permission)).expect("settings are JSON");
        let fields = json!({ "workspace": "/work", "profile": "code", "permission": permission,
            "model": "script/one", "engine": "test", "tools": [], "config": config });
        self.fact("session.opened", fields).await;
    }

    pub(super) async fn signal(&mut self, kind: Signal, subject: &str, text: &str) {
        self.tell(UiUpdate::Signal { kind, subject: subject.into(), text: text.into() }).await;
    }

    /// Types a line; a terminal would show it, and so does the paper.
    pub(super) async fn line(&mut self, line: &str) {
        self.paper
            .0
            .lock()
            .expect("nobody panics")
            .extend_from_slice(format!("{line}\n").as_bytes());
        self.typed.as_ref().expect("not ended").send(line.into()).await.expect("it reads");
        self.rest().await;
    }

    /// Types the end of a line whose beginning was typed before what is asked was printed.
    pub(super) async fn line_begun_before(&mut self, line: &str) {
        let typed = TypedLine { text: line.into(), begun: TypingStart::Before };
        self.typed.as_ref().expect("not ended").send(typed).await.expect("it reads");
        self.rest().await;
    }

    pub(super) async fn interrupt(&mut self, what: PlainInterrupt) {
        self.interrupts.send(what).await.expect("it hears");
        self.rest().await;
    }

    pub(super) fn wished(&mut self) -> Vec<UiCommand> {
        std::iter::from_fn(|| self.far.wishes.try_recv().ok()).collect()
    }

    pub(super) fn printed(&self) -> String {
        String::from_utf8(self.paper.0.lock().expect("nobody panics").clone()).expect("UTF-8")
    }

    /// Takes what was printed.
    pub(super) fn taken(&self) -> String {
        let text = self.printed();
        self.paper.0.lock().expect("nobody panics").clear();
        text
    }

    /// From now on nobody can read what is printed.
    pub(super) fn hold_paper(&self) {
        self.paper.1.store(true, Ordering::Relaxed);
    }

    /// It can be read again, from the next thing that happens.
    pub(super) fn release_paper(&self) {
        self.paper.1.store(false, Ordering::Relaxed);
    }

    /// The other end goes.
    pub(super) async fn over(self) -> (FaceExit, String) {
        let Table { far, talk, paper, typed, interrupts, .. } = self;
        drop(far);
        let left = talk.await.expect("it ends").expect("it can print");
        drop((typed, interrupts));
        let text = paper.0.lock().expect("nobody panics").clone();
        (left, String::from_utf8(text).expect("UTF-8"))
    }
}

pub(super) fn said(n: u32, text: &str, client: Option<&str>) -> Value {
    let mut fields = json!({ "input": format!("i{n}"), "by": "ada",
        "content": [{ "type": "text", "text": text }] });
    if let Some(client) = client {
        fields["client_id"] = client.into();
    }
    fields
}

pub(super) fn judged(call: &str, summary: &str) -> Value {
    json!({ "call": call, "verdict": "allow", "inspection": { "known": true, "effects": {},
        "class": "read", "summary": summary } })
}

pub(super) fn approval(name: &str, call: &str, summary: &str) -> Value {
    let rule = Rule::parse(RuleAction::Allow, "Shell(cargo test)", RuleOrigin::new("an approval"));
    json!({ "approval": name, "call": call, "tool": "run_shell",
        "input": { "command": "cargo test" }, "summary": summary, "reason": "mode ask",
        "rules": [rule.expect("a rule")], "binds": "x" })
}

pub(super) fn finished(call: &str, tool: &str, ok: bool, summary: &str, ms: u64) -> Value {
    json!({ "call": call, "tool": tool, "ok": ok, "summary": summary, "result": [],
        "confirmed": false, "bytes": 0, "duration_ms": ms })
}

pub(super) fn replied(turn: &str, text: &str) -> Value {
    json!({ "turn": turn, "content": [{ "type": "text", "text": text }], "stop": "calls",
        "usage": { "input": 10, "output": 5 } })
}

pub(super) fn ended(status: &str, error: Option<&str>) -> Value {
    json!({ "run": "r1", "status": status, "text": "", "usage": { "input": 1200, "output": 34 },
        "cost_usd": 0.0123, "iterations": 3, "tool_calls": 2, "denials": [{ "call": "c2",
        "tool": "run_shell", "summary": "Run rm", "by": "person", "reason": "use git clean" }],
        "changed_files": ["src/a.rs"], "error": error })
}
