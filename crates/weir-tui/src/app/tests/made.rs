//! A face that is told and used by tests, and what it shows as text.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};
use weir_core::event::Event;
use weir_core::ids::{SessionId, Timestamp};

use crate::app::{App, AppFrame};
use crate::link::{OpenSessionInfo, SignalKind, UiCommand, UiUpdate};
use crate::options::{FaceOptions, Motion};
use crate::terminal::TerminalSize;
use crate::text::theme::Theme;
use crate::text::wrap::{text_width, wrap_exact};

/// When the tests begin.
const START: i64 = 1_700_000_000_000_000;

/// A face.
pub(super) struct Face {
    pub(super) app: App,
    pub(super) now: Timestamp,
    size: TerminalSize,
    /// What went to the scrollback.
    pub(super) printed: Vec<String>,
    pub(super) wishes: Vec<UiCommand>,
    seq: u64,
}

impl Face {
    /// One that was told nothing.
    pub(super) fn shut(columns: u16, rows: u16) -> Face {
        let options = FaceOptions { motion: Motion::Lively, ..FaceOptions::default() };
        let now = Timestamp(START);
        let app = App::new(&options, Theme::plain_theme(), now);
        let size = TerminalSize { columns, rows };
        Face { app, now, size, printed: Vec::new(), wishes: Vec::new(), seq: 0 }
    }

    /// One with a session open.
    pub(super) fn open(columns: u16, rows: u16) -> Face {
        let mut face = Face::shut(columns, rows);
        face.opened(0);
        face.fact("session.opened", &opened());
        face
    }

    /// A session is open.
    pub(super) fn opened(&mut self, known: u64) {
        let about = OpenSessionInfo {
            folder: "~/code/weir".into(),
            branch: Some("main".into()),
            resume: "weir --resume 0197".into(),
            local: true,
            ..OpenSessionInfo::default()
        };
        self.seq = 0;
        let session = Some(SessionId::new("0197"));
        let named = Vec::new();
        self.news(&UiUpdate::Opened { session, known, about: Box::new(about), named });
    }

    pub(super) fn news(&mut self, news: &UiUpdate) {
        self.app.handle_update(news, self.now);
        self.wishes.extend(self.app.take_wishes());
    }

    /// A fact by its kind and fields.
    pub(super) fn fact(&mut self, kind: &str, fields: &Value) {
        let event = Event::from_payload(kind, &fields.to_string()).expect("a fact");
        self.seq += 1;
        self.news(&UiUpdate::Fact { seq: self.seq, ts: self.now, event: Arc::new(event) });
    }

    pub(super) fn signal(&mut self, kind: SignalKind, subject: &str, text: &str) {
        self.news(&UiUpdate::Signal { kind, subject: subject.into(), text: text.into() });
    }

    /// Time passes, after what is new was painted.
    pub(super) fn wait(&mut self, ms: u64) {
        if self.app.shown.is_some() && self.app.is_dirty() {
            self.shot();
        }
        self.now = self.now.plus_ms(ms);
        self.app.tick(self.now);
    }

    pub(super) fn press(&mut self, code: KeyCode) {
        self.chord(code, KeyModifiers::NONE);
    }

    pub(super) fn control(&mut self, c: char) {
        self.chord(KeyCode::Char(c), KeyModifiers::CONTROL);
    }

    pub(super) fn chord(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.app.handle_key(KeyEvent::new(code, modifiers), self.now);
        self.wishes.extend(self.app.take_wishes());
    }

    /// Types, a key every 100 ms.
    pub(super) fn type_in(&mut self, text: &str) {
        for c in text.chars() {
            self.wait(100);
            self.press(KeyCode::Char(c));
        }
    }

    /// Types a line and sends it.
    pub(super) fn say(&mut self, text: &str) {
        self.type_in(text);
        self.press(KeyCode::Enter);
    }

    /// What is wished since the last call.
    pub(super) fn wished(&mut self) -> Vec<UiCommand> {
        std::mem::take(&mut self.wishes)
    }

    /// Something that was said here arrives while a run is on.
    pub(super) fn queue(&mut self, input: &str, text: &str) {
        self.app.typed(text);
        let wished = self.app.take_wishes();
        let [UiCommand::Say { client_id, .. }] = wished.as_slice() else { panic!("{wished:?}") };
        let content = json!([{"type": "text", "text": text}]);
        let by = json!({"input": input, "content": content, "by": "ada", "client_id": client_id});
        self.fact("input.accepted", &by);
    }

    /// An input that a run takes at once.
    pub(super) fn begin(&mut self, text: &str) {
        let content = json!([{"type": "text", "text": text}]);
        self.fact("input.accepted", &json!({"input": "i1", "content": content, "by": "ada"}));
        self.fact("run.started", &json!({"run": "r1", "trigger": "user"}));
        let turn = json!({"turn": "t1", "iteration": 1, "inputs": ["i1"]});
        self.fact("turn.started", &turn);
        let request = json!({
            "turn": "t1", "provider": "script", "model": "demo", "bytes": 100, "prefix_bytes": 0,
            "tokens_estimated": 45_000,
        });
        self.fact("model.requested", &request);
    }

    /// An answer of the model.
    pub(super) fn replied(&mut self, text: &str) {
        let content = match text {
            "" => json!([]),
            text => json!([{"type": "text", "text": text}]),
        };
        let usage = json!({"input": 10_000, "output": 500, "cache_read": 35_000});
        let reply = json!({
            "turn": "t1", "content": content, "stop": "calls", "usage": usage, "cost_usd": 0.12,
        });
        self.fact("model.replied", &reply);
    }

    /// A call is asked for and judged.
    pub(super) fn proposed(&mut self, call: &str, tool: &str, input: &Value) {
        let asked = json!({"call": call, "turn": "t1", "tool": tool, "input": input});
        self.fact("call.proposed", &asked);
    }

    pub(super) fn started(&mut self, call: &str) {
        self.fact("call.started", &json!({"call": call}));
    }

    pub(super) fn finished(&mut self, call: &str, tool: &str, text: &str) {
        let result = json!([{"type": "text", "text": text}]);
        let fields = json!({
            "call": call, "tool": tool, "ok": true, "summary": "12 lines", "result": result,
            "confirmed": false, "bytes": 100, "duration_ms": 1234,
        });
        self.fact("call.finished", &fields);
    }

    pub(super) fn ended(&mut self, status: &str, error: Option<&str>) {
        let fields = json!({
            "run": "r1", "status": status, "text": "", "cost_usd": 0.12, "iterations": 1,
            "usage": {"input": 10_000, "output": 500, "cache_read": 35_000}, "tool_calls": 1,
            "denials": [], "changed_files": [], "error": error,
        });
        self.fact("run.finished", &fields);
    }

    /// The frame as text: what was printed, the live region, the cursor. No line may be too wide,
    /// none may steer the terminal, and the live region fits the screen.
    pub(super) fn shot(&mut self) -> String {
        let (columns, rows) = (usize::from(self.size.columns), usize::from(self.size.rows));
        let (live, cursor) = match self.app.next_frame(self.size) {
            AppFrame::Chat(frame) => {
                // A long line of code is broken by the terminal.
                let rows = frame.finished.iter().flat_map(|line| wrap_exact(line, columns, 0));
                self.printed.extend(rows.map(|line| line.to_string()));
                (frame.live, frame.cursor)
            }
            AppFrame::Full(view) => (view.lines, view.cursor),
        };
        assert!(live.len() <= rows, "{} rows in a screen of {rows}", live.len());
        let live: Vec<String> = live.iter().map(ToString::to_string).collect();
        for line in self.printed.iter().chain(&live) {
            assert!(text_width(line) <= columns, "{} cells: {line:?}", text_width(line));
            assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
        }
        let cursor = match cursor {
            Some((row, cell)) => format!("row {row}, cell {cell}"),
            None => "hidden".into(),
        };
        let printed: String = self.printed.iter().map(|line| format!("{line}\n")).collect();
        let live: String = live.iter().map(|line| format!("{line}\n")).collect();
        let text = format!("{printed}════ live ════\n{live}════ cursor {cursor}\n");
        text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

/// The fields of a `session.opened`.
pub(super) fn opened() -> Value {
    let profile = json!({"name": "coder", "description": "", "role": "", "groups": []});
    let model = json!({
        "model": {"provider": "script", "name": "demo"}, "window": 100_000, "max_output": 8_000,
    });
    let config = json!({
        "workspace": "/home/ada/code/weir", "profile": profile, "model": model,
        "permission": "ask", "rules": [], "limits": {}, "tools": [], "system": "",
        "externalize_over": 0, "attended": true,
    });
    json!({
        "workspace": "/home/ada/code/weir", "profile": "coder", "permission": "ask",
        "model": "script/demo", "engine": "0", "tools": [], "config": config,
    })
}
