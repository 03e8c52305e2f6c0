//! The loop of the face: keys, news and the clock go into `App`, its wishes go out, its frames
//! are painted. Nothing is decided here.

mod clock;
mod lend;
#[cfg(test)]
mod tests;
mod unsent;

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::app::{App, AppFrame, TerminalAction};
use crate::link::{NoticeTone, OpenSessionInfo, UiChannel, UiCommand, UiUpdate};
pub use crate::options::{FaceOptions, FullMode, Motion, StartScreen, ThoughtDisplay};
use crate::terminal::{
    PaintPace, Terminal, TerminalCaps, TerminalEnds, TerminalEvent, TerminalEvents,
    TerminalOptions, TerminalSignal,
};
use crate::text::clean::{clean_line, clean_text};
use crate::text::code::end_code_thread;
use crate::text::theme::Theme;
use crate::words::one_line;
use clock::FaceClock;

/// How long the other end has to give the session back.
const OVER_WAIT: Duration = Duration::from_secs(5);
/// How long a slow terminal has to take what was told last.
const PRINT_WAIT: Duration = Duration::from_secs(1);
/// News that are taken in before anything else is looked at.
const NEWS_AT_ONCE_MAX: usize = 4096;
/// Keys that are taken in before anything is painted.
const EVENTS_AT_ONCE_MAX: usize = 1024;

/// How the face was left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FaceExit {
    /// The exit code: 0; 4 where nobody was left to answer what asks; or 128 and the signal's number.
    pub code: u8,
    /// How the session is taken up again, as a command line. The face has printed it.
    pub resume: Option<String>,
    /// Why, when the other end was the one that left.
    pub why: Option<String>,
}

/// The face cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FaceError {
    /// No terminal, or one that went away.
    #[error(
        "the terminal cannot be used: {0}; `weir run` works without one, `weir --plain` needs less of it"
    )]
    Terminal(#[from] std::io::Error),
}

/// Shows the face until the person leaves or the other end does. Must be called within a runtime.
///
/// # Errors
/// The terminal cannot be used.
pub async fn run(link: UiChannel, options: FaceOptions) -> Result<FaceExit, FaceError> {
    let caps = detect_caps();
    let theme = choose_theme(options.theme.as_deref(), caps);
    let (terminal, events) = Terminal::open(caps, TerminalOptions::default())?;
    let clock = FaceClock::new();
    let mut app = App::new(&options, theme, clock.now());
    if let Some(name) =
        options.theme.as_deref().filter(|name| Theme::by_name(name, caps.depth).is_none())
    {
        app.show_hint(
            NoticeTone::Bad,
            format!("There is no theme {}; /theme lists them", one_line(name)),
        );
    }
    let mut face = FaceLoop {
        app,
        terminal,
        clock,
        pace: PaintPace::new(),
        unsent: VecDeque::new(),
        full: false,
        code: 0,
        until: None,
        farewell: None,
    };
    face.pace.touch();
    face.run_loop(link, events).await;
    let why = face.app.over.take().flatten().map(|why| clean_text(&why).into_owned());
    let FaceLoop { terminal, farewell, code, .. } = face;
    // Gives the terminal back and prints the farewell.
    drop(terminal);
    Ok(FaceExit { code, resume: farewell, why })
}

/// What this terminal can do, from the environment.
pub fn detect_caps() -> TerminalCaps {
    let terminals = TerminalEnds {
        input: std::io::stdin().is_terminal(),
        output: std::io::stdout().is_terminal(),
    };
    TerminalCaps::detect(&|name| std::env::var(name).ok(), terminals)
}

fn choose_theme(name: Option<&str>, caps: TerminalCaps) -> Theme {
    let named = name.and_then(|name| Theme::by_name(name, caps.depth));
    named.or_else(|| Theme::by_name("dark", caps.depth)).unwrap_or_else(Theme::plain_theme)
}

/// Everything that the loop holds.
struct FaceLoop {
    app: App,
    terminal: Terminal,
    clock: FaceClock,
    pace: PaintPace,
    /// Wishes for which there was no room; in order.
    unsent: VecDeque<UiCommand>,
    /// A screen lies over the chat.
    full: bool,
    code: u8,
    /// When it ends at the latest, once it is leaving.
    until: Option<Instant>,
    farewell: Option<String>,
}

/// What came first.
enum LoopWake {
    Event(TerminalEvent),
    News(Option<UiUpdate>),
    Room,
    Paint,
    Tick,
    TimeUp,
}

impl FaceLoop {
    async fn run_loop(&mut self, mut link: UiChannel, mut events: TerminalEvents) {
        while self.app.over.is_none() {
            let came = self.wait_for_next(&mut link, &mut events).await;
            match came {
                LoopWake::Event(event) => {
                    self.handle_event(event);
                    for _ in 0..EVENTS_AT_ONCE_MAX {
                        let Some(event) = events.try_next() else { break };
                        self.handle_event(event);
                    }
                }
                LoopWake::News(None) => self.app.over = Some(None),
                LoopWake::News(Some(news)) => self.handle_updates(&news, &mut link),
                LoopWake::Room | LoopWake::Tick => (),
                LoopWake::Paint => self.paint_frame(),
                LoopWake::TimeUp => break,
            }
            self.app.tick(self.clock.now());
            self.run_actions();
            self.send_commands(&link);
            if self.app.leaving && self.until.is_none() {
                self.until = Some(Instant::now() + OVER_WAIT);
            }
            if self.terminal.is_broken() && !self.app.leaving {
                self.app.leave();
            }
            if self.app.is_dirty() {
                self.pace.touch();
            }
            // News without a pause must not keep what they tell from being seen.
            if self.pace.time_to_wait(Instant::now()) == Some(Duration::ZERO) {
                self.paint_frame();
            }
            // Neither must they keep it from ending.
            if self.until.is_some_and(|until| until <= Instant::now()) {
                break;
            }
        }
        self.last_words().await;
    }

    /// What was told last is printed before the terminal goes.
    async fn last_words(&mut self) {
        self.app.leaving = true;
        self.app.screens.clear();
        let until = Instant::now() + PRINT_WAIT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if tokio::time::timeout(left, self.terminal.wait_until_drained()).await.is_err() {
                break;
            }
            self.paint_frame();
            if !self.terminal.is_behind() || self.terminal.is_broken() {
                break;
            }
        }
    }

    /// Waits for whatever comes first. Nothing wakes it while nothing happens.
    async fn wait_for_next(
        &mut self,
        link: &mut UiChannel,
        events: &mut TerminalEvents,
    ) -> LoopWake {
        let paint = self.pace.time_to_wait(Instant::now());
        let tick = self.app.next_tick_ms().map(Duration::from_millis);
        let until = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        let (terminal, blocked) = (&self.terminal, !self.unsent.is_empty());
        let ready = async {
            match paint {
                Some(wait) => {
                    sleep(wait).await;
                    terminal.wait_until_drained().await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            event = events.next() => LoopWake::Event(event),
            news = link.news.recv() => LoopWake::News(news),
            room = link.wishes.reserve(), if blocked => match room {
                Ok(_) => LoopWake::Room,
                Err(_) => LoopWake::News(None),
            },
            () = ready => LoopWake::Paint,
            () = wait_or_never(tick) => LoopWake::Tick,
            () = wait_or_never(until) => LoopWake::TimeUp,
        }
    }

    fn handle_event(&mut self, event: TerminalEvent) {
        let now = self.clock.now();
        match event {
            // What was pressed while the face was at something else was pressed then (G4).
            TerminalEvent::Key(key, read) => {
                self.app.handle_key(key, self.clock.time_at(read));
                self.at_once();
            }
            TerminalEvent::Paste(text) => {
                self.app.handle_paste(&text, now);
                self.at_once();
            }
            TerminalEvent::Focus(focused) => {
                self.app.away = !focused;
                self.terminal.set_focus(focused);
            }
            TerminalEvent::Resize(size) => {
                self.terminal.set_size(size);
                self.pace.touch_at_once();
            }
            TerminalEvent::Signal(signal) => self.handle_signal(signal),
            TerminalEvent::Ended => self.leave_with(129),
        }
    }

    /// What a person did is seen at once, whatever streams in meanwhile.
    fn at_once(&mut self) {
        if self.app.is_dirty() {
            self.pace.touch_at_once();
        }
    }

    fn handle_signal(&mut self, signal: TerminalSignal) {
        match signal {
            TerminalSignal::Terminate => self.leave_with(143),
            TerminalSignal::Hangup => self.leave_with(129),
            TerminalSignal::Quit => self.leave_with(131),
            TerminalSignal::Interrupt => self.app.interrupt_run(),
            TerminalSignal::Suspend => self.app.acts.push(TerminalAction::Suspend),
            TerminalSignal::Continue => {
                self.terminal.redraw();
                self.pace.touch();
            }
        }
    }

    fn leave_with(&mut self, code: u8) {
        if self.code == 0 {
            self.code = code;
        }
        self.app.leave();
    }

    /// All news that are there, before anything is painted.
    fn handle_updates(&mut self, first: &UiUpdate, link: &mut UiChannel) {
        let now = self.clock.now();
        self.one_news(first, now);
        for _ in 1..NEWS_AT_ONCE_MAX {
            let Ok(news) = link.news.try_recv() else { break };
            self.one_news(&news, now);
        }
    }

    fn one_news(&mut self, news: &UiUpdate, now: weir_core::ids::Timestamp) {
        self.app.handle_update(news, now);
        if let UiUpdate::Opened { about, .. } = news {
            let resume = way_back(about);
            let text = resume.as_ref().map(|line| format!("To go on here: {line}"));
            self.terminal.set_farewell(text);
            self.farewell = resume;
            self.terminal.set_title(&format!("weir {}", about.folder));
        }
    }

    fn run_actions(&mut self) {
        for act in self.app.take_acts() {
            match act {
                TerminalAction::Editor => self.edit_in_editor(),
                TerminalAction::Suspend => self.suspend_to_shell(),
                TerminalAction::Repaint => self.terminal.redraw(),
                TerminalAction::Theme(name) => self.set_theme(&name),
                TerminalAction::Notify(text) => self.terminal.notify_person(&text),
                TerminalAction::Copy(text) => self.terminal.copy_to_clipboard(&text),
            }
            self.pace.touch();
        }
    }

    fn paint_frame(&mut self) {
        if !self.terminal.is_ready() {
            return;
        }
        self.app.tick(self.clock.now());
        match self.app.next_frame(self.terminal.size()) {
            AppFrame::Chat(frame) => {
                if std::mem::take(&mut self.full) {
                    self.terminal.leave_full();
                }
                self.terminal.paint_frame(frame);
            }
            AppFrame::Full(view) => {
                self.full = true;
                self.terminal.paint_full_screen(&view.lines, view.cursor);
            }
        }
        if self.app.is_at_rest() {
            end_code_thread();
        }
        self.pace.mark_painted(Instant::now());
        if self.terminal.is_behind() || self.app.is_dirty() {
            self.pace.touch();
        }
    }
}

/// After this long; never for `None`.
async fn wait_or_never(wait: Option<Duration>) {
    match wait {
        Some(wait) => sleep(wait).await,
        None => std::future::pending().await,
    }
}

/// How the session is taken up again. A server names it, so it is made safe.
fn way_back(about: &OpenSessionInfo) -> Option<String> {
    let line = clean_line(&about.resume).into_owned();
    Some(line).filter(|line| !line.is_empty())
}
