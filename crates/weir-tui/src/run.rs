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

use crate::app::{App, Local, Picture};
use crate::link::{About, Link, News, Tone, Wish};
pub use crate::options::{FaceOptions, FullMode, Motion, Start, Thoughts};
use crate::terminal::{Caps, Event, Events, Options, Pace, Signal, Terminal, Terminals};
use crate::text::clean::{clean, clean_line};
use crate::text::theme::Theme;
use crate::words::one_line;
use clock::Clock;

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
pub struct Left {
    /// The exit code: 0, or 128 and the signal's number.
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
pub async fn run(link: Link, options: FaceOptions) -> Result<Left, FaceError> {
    let caps = caps();
    let theme = theme(options.theme.as_deref(), caps);
    let (terminal, events) = Terminal::open(caps, Options::default())?;
    let clock = Clock::new();
    let mut app = App::new(&options, theme, clock.now());
    if let Some(name) =
        options.theme.as_deref().filter(|name| Theme::named(name, caps.depth).is_none())
    {
        app.hint(Tone::Bad, format!("There is no theme {}; /theme lists them", one_line(name)));
    }
    let mut face = Face {
        app,
        terminal,
        clock,
        pace: Pace::new(),
        unsent: VecDeque::new(),
        full: false,
        code: 0,
        until: None,
        farewell: None,
    };
    face.pace.touch();
    face.live(link, events).await;
    let why = face.app.over.take().flatten().map(|why| clean(&why).into_owned());
    let Face { terminal, farewell, code, .. } = face;
    // Gives the terminal back and prints the farewell.
    drop(terminal);
    Ok(Left { code, resume: farewell, why })
}

/// What this terminal can do, from the environment.
pub fn caps() -> Caps {
    let terminals = Terminals {
        input: std::io::stdin().is_terminal(),
        output: std::io::stdout().is_terminal(),
    };
    Caps::detect(&|name| std::env::var(name).ok(), terminals)
}

fn theme(name: Option<&str>, caps: Caps) -> Theme {
    let named = name.and_then(|name| Theme::named(name, caps.depth));
    named.or_else(|| Theme::named("dark", caps.depth)).unwrap_or_else(Theme::plain)
}

/// Everything that the loop holds.
struct Face {
    app: App,
    terminal: Terminal,
    clock: Clock,
    pace: Pace,
    /// Wishes for which there was no room; in order.
    unsent: VecDeque<Wish>,
    /// A screen lies over the chat.
    full: bool,
    code: u8,
    /// When it ends at the latest, once it is leaving.
    until: Option<Instant>,
    farewell: Option<String>,
}

/// What came first.
enum Came {
    Event(Event),
    News(Option<News>),
    Room,
    Paint,
    Tick,
    TimeUp,
}

impl Face {
    async fn live(&mut self, mut link: Link, mut events: Events) {
        while self.app.over.is_none() {
            let came = self.wait(&mut link, &mut events).await;
            match came {
                Came::Event(event) => {
                    self.event(event);
                    for _ in 0..EVENTS_AT_ONCE_MAX {
                        let Some(event) = events.take() else { break };
                        self.event(event);
                    }
                }
                Came::News(None) => self.app.over = Some(None),
                Came::News(Some(news)) => self.news(&news, &mut link),
                Came::Room | Came::Tick => (),
                Came::Paint => self.paint(),
                Came::TimeUp => break,
            }
            self.app.tick(self.clock.now());
            self.acts();
            self.send(&link);
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
            if self.pace.wait(Instant::now()) == Some(Duration::ZERO) {
                self.paint();
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
            if tokio::time::timeout(left, self.terminal.drained()).await.is_err() {
                break;
            }
            self.paint();
            if !self.terminal.is_behind() || self.terminal.is_broken() {
                break;
            }
        }
    }

    /// Waits for whatever comes first. Nothing wakes it while nothing happens.
    async fn wait(&mut self, link: &mut Link, events: &mut Events) -> Came {
        let paint = self.pace.wait(Instant::now());
        let tick = self.app.next_tick_ms().map(Duration::from_millis);
        let until = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        let (terminal, blocked) = (&self.terminal, !self.unsent.is_empty());
        let ready = async {
            match paint {
                Some(wait) => {
                    sleep(wait).await;
                    terminal.drained().await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            event = events.next() => Came::Event(event),
            news = link.news.recv() => Came::News(news),
            room = link.wishes.reserve(), if blocked => match room {
                Ok(_) => Came::Room,
                Err(_) => Came::News(None),
            },
            () = ready => Came::Paint,
            () = after(tick) => Came::Tick,
            () = after(until) => Came::TimeUp,
        }
    }

    fn event(&mut self, event: Event) {
        let now = self.clock.now();
        match event {
            Event::Key(key) => {
                self.app.key(key, now);
                self.at_once();
            }
            Event::Paste(text) => {
                self.app.paste(&text, now);
                self.at_once();
            }
            Event::Focus(focused) => {
                self.app.away = !focused;
                self.terminal.set_focus(focused);
            }
            Event::Resize(size) => {
                self.terminal.resized(size);
                self.pace.touch_at_once();
            }
            Event::Signal(signal) => self.signal(signal),
            Event::Ended => self.leave_with(129),
        }
    }

    /// What a person did is seen at once, whatever streams in meanwhile.
    fn at_once(&mut self) {
        if self.app.is_dirty() {
            self.pace.touch_at_once();
        }
    }

    fn signal(&mut self, signal: Signal) {
        match signal {
            Signal::Terminate => self.leave_with(143),
            Signal::Hangup => self.leave_with(129),
            Signal::Quit => self.leave_with(131),
            Signal::Interrupt => self.app.interrupt(),
            Signal::Suspend => self.app.acts.push(Local::Suspend),
            Signal::Continue => {
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
    fn news(&mut self, first: &News, link: &mut Link) {
        let now = self.clock.now();
        self.one_news(first, now);
        for _ in 1..NEWS_AT_ONCE_MAX {
            let Ok(news) = link.news.try_recv() else { break };
            self.one_news(&news, now);
        }
    }

    fn one_news(&mut self, news: &News, now: weir_core::ids::Timestamp) {
        self.app.news(news, now);
        if let News::Opened { about, .. } = news {
            let resume = way_back(about);
            let text = resume.as_ref().map(|line| format!("To go on here: {line}"));
            self.terminal.set_farewell(text);
            self.farewell = resume;
            self.terminal.set_title(&format!("weir {}", about.folder));
        }
    }

    fn acts(&mut self) {
        for act in self.app.take_acts() {
            match act {
                Local::Editor => self.edit(),
                Local::Suspend => self.stop(),
                Local::Repaint => self.terminal.redraw(),
                Local::Theme(name) => self.restyle(&name),
                Local::Notify(text) => self.terminal.notify(&text),
                Local::Copy(text) => self.terminal.copy(&text),
            }
            self.pace.touch();
        }
    }

    fn paint(&mut self) {
        if !self.terminal.ready() {
            return;
        }
        self.app.tick(self.clock.now());
        match self.app.picture(self.terminal.size()) {
            Picture::Chat(frame) => {
                if std::mem::take(&mut self.full) {
                    self.terminal.leave_full();
                }
                self.terminal.paint(frame);
            }
            Picture::Full(view) => {
                self.full = true;
                self.terminal.full(&view.lines, view.cursor);
            }
        }
        self.pace.painted(Instant::now());
        if self.terminal.is_behind() {
            self.pace.touch();
        }
    }
}

/// After this long; never for `None`.
async fn after(wait: Option<Duration>) {
    match wait {
        Some(wait) => sleep(wait).await,
        None => std::future::pending().await,
    }
}

/// How the session is taken up again. A server names it, so it is made safe.
fn way_back(about: &About) -> Option<String> {
    let line = clean_line(&about.resume).into_owned();
    Some(line).filter(|line| !line.is_empty())
}
