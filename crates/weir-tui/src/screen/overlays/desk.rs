//! A screen on a desk: what it may know, keys for it, and pictures of it.

use std::cell::Cell;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};
use weir_core::event::{Event, EventKind, SharedFact};
use weir_core::ids::{CallId, Timestamp};
use weir_core::model::Thinking;
use weir_core::view::transcript::{self, PlacedFact, SettledPlace};

use super::super::{Screen, ScreenContext, ScreenStep, ScreenView, SessionSettings};
use crate::app::entries::{
    CallRow, EarlierEntries, EntryContent, EntryTranscript, TranscriptEntry,
};
use crate::link::{CommandTicket, SlashCommandInfo, UiCommand, UiUpdate};
use crate::terminal::TerminalSize;
use crate::text::theme::Theme;

pub(super) const NOW: Timestamp = Timestamp(1_700_000_000_000_000);
const SIZES: [(u16, u16); 2] = [(80, 24), (40, 12)];

/// A screen and what it may know.
pub(super) struct Desk {
    screen: Box<dyn Screen>,
    transcript: EntryTranscript,
    settings: SessionSettings,
    pub(super) named: Vec<SlashCommandInfo>,
    tickets: Cell<CommandTicket>,
}

impl Desk {
    pub(super) fn new(
        screen: impl Screen + 'static,
        transcript: EntryTranscript,
    ) -> (Desk, Vec<UiCommand>) {
        let settings = SessionSettings { thinking: Thinking::Low, ..SessionSettings::default() };
        let named = vec![SlashCommandInfo {
            name: "review".into(),
            about: "Reviews a change".into(),
            hint: "[file]".into(),
            kind: "workflow".into(),
        }];
        let screen = Box::new(screen);
        let mut desk = Desk { screen, transcript, settings, named, tickets: Cell::new(0) };
        let wishes = desk.on(|screen, with| screen.on_open(with));
        (desk, wishes)
    }

    /// The wishes of a step; the names of others are for [`Desk::step`].
    pub(super) fn on(
        &mut self,
        f: impl FnOnce(&mut dyn Screen, &ScreenContext<'_>) -> ScreenStep,
    ) -> Vec<UiCommand> {
        match self.step(f) {
            ScreenStep::Do(wishes) | ScreenStep::CloseAnd(wishes) => wishes,
            _ => Vec::new(),
        }
    }

    pub(super) fn step(
        &mut self,
        f: impl FnOnce(&mut dyn Screen, &ScreenContext<'_>) -> ScreenStep,
    ) -> ScreenStep {
        let (transcript, settings) = (&self.transcript, &self.settings);
        let (named, tickets) = (&self.named[..], &self.tickets);
        f(
            self.screen.as_mut(),
            &ScreenContext { transcript, settings, named, tickets, now: Timestamp(0) },
        )
    }

    pub(super) fn press(&mut self, code: KeyCode) -> ScreenStep {
        self.press_with(code, KeyModifiers::NONE)
    }

    pub(super) fn press_with(&mut self, code: KeyCode, modifiers: KeyModifiers) -> ScreenStep {
        self.step(|screen, with| screen.handle_key(KeyEvent::new(code, modifiers), with))
    }

    pub(super) fn types(&mut self, text: &str) -> Vec<UiCommand> {
        let keys = text.chars().map(|c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
        keys.flat_map(|key| self.on(|screen, with| screen.handle_key(key, with))).collect()
    }

    pub(super) fn tell(&mut self, news: &UiUpdate) -> ScreenStep {
        self.step(|screen, with| screen.handle_update(news, with))
    }

    /// How earlier entries stand.
    pub(super) fn set_earlier(&mut self, earlier: EarlierEntries) {
        self.transcript.set_earlier(Some(earlier));
    }

    /// An entry from before those that are there comes in above them, and the screen is told. `rest`: what is
    /// left before it.
    pub(super) fn insert_earlier(
        &mut self,
        entry: TranscriptEntry,
        rest: Option<EarlierEntries>,
    ) -> ScreenStep {
        let mut earlier = EntryTranscript::default();
        earlier.push(entry);
        self.transcript.insert_earlier(earlier, rest);
        let from = Box::new(SettledPlace::START);
        self.tell(&UiUpdate::Earlier { ticket: 1, from, facts: Vec::new() })
    }

    pub(super) fn seen(&mut self, columns: u16, rows: u16) -> ScreenView {
        let (transcript, settings) = (&self.transcript, &self.settings);
        let (named, tickets) = (&self.named[..], &self.tickets);
        let with = ScreenContext { transcript, settings, named, tickets, now: Timestamp(0) };
        self.screen.render_view(TerminalSize { columns, rows }, &Theme::plain_theme(), &with)
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

fn shared<F: EventKind>(kind: &str, fields: &Value) -> SharedFact<F> {
    SharedFact::new(&fact(kind, fields)).expect("it is of this kind")
}

pub(super) fn said(n: u64, text: &str) -> TranscriptEntry {
    let content = json!([{ "type": "text", "text": text }]);
    let fields = json!({ "input": format!("i{n}"), "by": "ada", "content": content });
    TranscriptEntry {
        seq: n * 10,
        ts: NOW,
        what: EntryContent::Said(shared("input.accepted", &fields)),
    }
}

pub(super) fn replied(n: u64, text: &str) -> TranscriptEntry {
    let content = json!([{ "type": "thinking", "text": "I wonder about hidden things." },
        { "type": "text", "text": text }]);
    let fields = json!({ "turn": format!("t{n}"), "content": content, "stop": "end",
        "usage": { "input": 1, "output": 1 } });
    let fact = shared("model.replied", &fields);
    TranscriptEntry {
        seq: n * 10 + 1,
        ts: NOW,
        what: EntryContent::Replied { fact, thought_ms: Some(2_000) },
    }
}

pub(super) fn call(n: u32, output: &str) -> TranscriptEntry {
    let asked = json!({ "call": format!("c{n}"), "turn": "t1", "tool": "run_shell",
        "input": { "command": "cargo test" } });
    let done = json!({ "call": format!("c{n}"), "tool": "run_shell", "ok": true,
        "summary": "exit 0", "result": [{ "type": "text", "text": output }], "confirmed": true,
        "bytes": 9, "duration_ms": 1200 });
    let mut view = transcript::Transcript::default();
    for event in [fact("call.proposed", &asked), fact("call.finished", &done)] {
        view.apply(&PlacedFact { seq: 5, ts: NOW, event });
    }
    let row = CallRow::new(view.find_call(CallId(n)).expect("it was asked for"));
    TranscriptEntry { seq: 5, ts: NOW, what: EntryContent::Call(Box::new(row)) }
}

/// A conversation of a few messages.
pub(super) fn talked() -> EntryTranscript {
    let mut transcript = EntryTranscript::default();
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
    fn on_open(&mut self, with: &ScreenContext<'_>) -> ScreenStep {
        self.0.on_open(with)
    }
    fn handle_key(&mut self, key: KeyEvent, with: &ScreenContext<'_>) -> ScreenStep {
        self.0.handle_key(key, with)
    }
    fn handle_update(&mut self, news: &UiUpdate, with: &ScreenContext<'_>) -> ScreenStep {
        self.0.handle_update(news, with)
    }
    fn render_view(
        &mut self,
        size: TerminalSize,
        theme: &Theme,
        with: &ScreenContext<'_>,
    ) -> ScreenView {
        self.0.render_view(size, theme, with)
    }
}
