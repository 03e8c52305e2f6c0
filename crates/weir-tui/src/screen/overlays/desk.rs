//! A screen on a desk: what it may know, keys for it, and pictures of it.

use std::cell::Cell;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};
use weir_core::event::Event;
use weir_core::ids::{CallId, Timestamp};
use weir_core::model::Thinking;
use weir_core::view::transcript::{self, PlacedFact};

use super::super::{Screen, Settings, Step, View, With};
use crate::app::entries::{Entry, Row, Transcript, What};
use crate::link::{Named, News, Ticket, Wish};
use crate::terminal::Size;
use crate::text::theme::Theme;

pub(super) const NOW: Timestamp = Timestamp(1_700_000_000_000_000);
const SIZES: [(u16, u16); 2] = [(80, 24), (40, 12)];

/// A screen and what it may know.
pub(super) struct Desk {
    screen: Box<dyn Screen>,
    transcript: Transcript,
    settings: Settings,
    pub(super) named: Vec<Named>,
    tickets: Cell<Ticket>,
}

impl Desk {
    pub(super) fn new(screen: impl Screen + 'static, transcript: Transcript) -> (Desk, Vec<Wish>) {
        let settings = Settings { thinking: Thinking::Low, ..Settings::default() };
        let named = vec![Named {
            name: "review".into(),
            about: "Reviews a change".into(),
            hint: "[file]".into(),
            kind: "workflow".into(),
        }];
        let screen = Box::new(screen);
        let mut desk = Desk { screen, transcript, settings, named, tickets: Cell::new(0) };
        let wishes = desk.on(|screen, with| screen.begin(with));
        (desk, wishes)
    }

    /// The wishes of a step; the names of others are for [`Desk::step`].
    pub(super) fn on(&mut self, f: impl FnOnce(&mut dyn Screen, &With<'_>) -> Step) -> Vec<Wish> {
        match self.step(f) {
            Step::Do(wishes) | Step::CloseAnd(wishes) => wishes,
            _ => Vec::new(),
        }
    }

    pub(super) fn step(&mut self, f: impl FnOnce(&mut dyn Screen, &With<'_>) -> Step) -> Step {
        let (transcript, settings) = (&self.transcript, &self.settings);
        let (named, tickets) = (&self.named[..], &self.tickets);
        f(self.screen.as_mut(), &With { transcript, settings, named, tickets })
    }

    pub(super) fn press(&mut self, code: KeyCode) -> Step {
        self.press_with(code, KeyModifiers::NONE)
    }

    pub(super) fn press_with(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Step {
        self.step(|screen, with| screen.key(KeyEvent::new(code, modifiers), with))
    }

    pub(super) fn types(&mut self, text: &str) -> Vec<Wish> {
        let keys = text.chars().map(|c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
        keys.flat_map(|key| self.on(|screen, with| screen.key(key, with))).collect()
    }

    pub(super) fn tell(&mut self, news: &News) -> Step {
        self.step(|screen, with| screen.news(news, with))
    }

    pub(super) fn seen(&mut self, columns: u16, rows: u16) -> View {
        let (transcript, settings) = (&self.transcript, &self.settings);
        let (named, tickets) = (&self.named[..], &self.tickets);
        let with = With { transcript, settings, named, tickets };
        self.screen.view(Size { columns, rows }, &Theme::plain(), &with)
    }

    pub(super) fn text(&mut self, columns: u16, rows: u16) -> String {
        let lines = self.seen(columns, rows).lines;
        lines.iter().map(|line| line.to_string().trim_end().to_owned() + "\n").collect()
    }

    /// Compares what is to be seen at both sizes.
    pub(super) fn golden(&mut self, name: &str) {
        for (columns, rows) in SIZES {
            let view = self.seen(columns, rows);
            assert!(view.lines.len() <= rows.into(), "{name}: as many lines as there are rows");
            let wide = view.lines.iter().find(|line| line.width() > columns.into());
            assert!(wide.is_none(), "{name}: {wide:?}");
            let text = self.text(columns, rows);
            let path =
                format!("{}/tests/frames/{name}-{columns}x{rows}.txt", env!("CARGO_MANIFEST_DIR"));
            if std::env::var_os("UPDATE").is_some() {
                std::fs::write(&path, &text).expect("the folder is there");
            }
            let expected = std::fs::read_to_string(&path).expect("UPDATE=1 writes it");
            assert_eq!(text, expected, "{name} {columns}x{rows} (UPDATE=1 writes it anew)");
        }
    }
}

pub(super) fn fact(kind: &str, fields: &Value) -> Arc<Event> {
    Arc::new(Event::from_payload(kind, &fields.to_string()).expect("the fact is whole"))
}

pub(super) fn said(n: u64, text: &str) -> Entry {
    let content = json!([{ "type": "text", "text": text }]);
    let fields = json!({ "input": format!("i{n}"), "by": "ada", "content": content });
    Entry { seq: n * 10, ts: NOW, what: What::Said(fact("input.accepted", &fields)) }
}

pub(super) fn replied(n: u64, text: &str) -> Entry {
    let content = json!([{ "type": "thinking", "text": "I wonder about hidden things." },
        { "type": "text", "text": text }]);
    let fields = json!({ "turn": format!("t{n}"), "content": content, "stop": "end",
        "usage": { "input": 1, "output": 1 } });
    let event = fact("model.replied", &fields);
    Entry { seq: n * 10 + 1, ts: NOW, what: What::Replied { event, thought_ms: Some(2_000) } }
}

pub(super) fn call(n: u32, output: &str) -> Entry {
    let asked = json!({ "call": format!("c{n}"), "turn": "t1", "tool": "run_shell",
        "input": { "command": "cargo test" } });
    let done = json!({ "call": format!("c{n}"), "tool": "run_shell", "ok": true,
        "summary": "exit 0", "result": [{ "type": "text", "text": output }], "confirmed": true,
        "bytes": 9, "duration_ms": 1200 });
    let mut view = transcript::Transcript::default();
    for event in [fact("call.proposed", &asked), fact("call.finished", &done)] {
        view.apply(&PlacedFact { seq: 5, ts: NOW, event });
    }
    let row = Row::new(view.call(CallId(n)).expect("it was asked for"));
    Entry { seq: 5, ts: NOW, what: What::Call(Box::new(row)) }
}

/// A conversation of a few messages.
pub(super) fn talked() -> Transcript {
    let mut transcript = Transcript::default();
    let output: String = (1..=30).map(|n| format!("line {n} of the output\n")).collect();
    for entry in [
        said(1, "Fix the test that fails on Tuesdays"),
        replied(1, "I **run** it first."),
        call(7, &output),
        replied(2, "It passes now."),
        said(2, "And the docs"),
        replied(3, "They say the same."),
    ] {
        transcript.push(entry);
    }
    transcript
}

/// A boxed screen as a screen.
pub(super) struct Shell(pub(super) Box<dyn Screen>);

impl Screen for Shell {
    fn begin(&mut self, with: &With<'_>) -> Step {
        self.0.begin(with)
    }
    fn key(&mut self, key: KeyEvent, with: &With<'_>) -> Step {
        self.0.key(key, with)
    }
    fn news(&mut self, news: &News, with: &With<'_>) -> Step {
        self.0.news(news, with)
    }
    fn view(&mut self, size: Size, theme: &Theme, with: &With<'_>) -> View {
        self.0.view(size, theme, with)
    }
}
