//! A terminal to try by hand and by `tmux`: it shows what comes in and streams text. Not the
//! program: nothing here is shipped.
//!
//! Keys: `q` ends, `p` panics, `t` panics in a task, `s` streams 200 tokens a second, `f` the full
//! screen, `e` lends the terminal to `sh -c 'echo lent'`, Ctrl-Z stops.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyModifiers};
use ratatui::text::Line;
use weir_tui::terminal::{
    PaintPace, Terminal, TerminalCaps, TerminalEnds, TerminalEvent, TerminalEvents, TerminalFrame,
    TerminalOptions, TerminalSignal,
};

struct Shown {
    typed: String,
    streamed: String,
    said: String,
    finished: Vec<Line<'static>>,
    frames: usize,
    tokens: usize,
    stream: bool,
    full: bool,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let both = TerminalEnds { input: true, output: true };
    let caps = TerminalCaps::detect(&|name| std::env::var(name).ok(), both);
    let (mut terminal, mut events) = Terminal::open(caps, TerminalOptions::default())?;
    terminal.set_farewell(Some("weir --resume EXAMPLE".into()));
    terminal.set_title("weir example");
    let mut shown = Shown {
        typed: String::new(),
        streamed: String::new(),
        said: "ready".into(),
        finished: (0..5).map(|at| Line::from(format!("finished line {at}"))).collect(),
        frames: 0,
        tokens: 0,
        stream: std::env::var_os("STREAM").is_some(),
        full: false,
    };
    let mut pace = PaintPace::new();
    pace.touch();
    let mut token = tokio::time::interval(Duration::from_millis(5));
    loop {
        let wait = pace.time_to_wait(Instant::now());
        let due = async {
            match wait {
                Some(wait) => {
                    tokio::time::sleep(wait).await;
                    terminal.wait_until_drained().await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = events.next() => {
                if !act(event, &mut terminal, &mut events, &mut shown).await? {
                    return Ok(());
                }
                pace.touch();
            }
            () = due => {
                paint(&mut terminal, &mut shown);
                pace.mark_painted(Instant::now());
                if terminal.is_behind() {
                    pace.touch();
                }
            }
            _ = token.tick(), if shown.stream => {
                shown.tokens += 1;
                shown.streamed.push_str(["the ", "fox ", "ran ", "far "][shown.tokens % 4]);
                pace.touch();
            }
        }
    }
}

async fn act(
    event: TerminalEvent,
    terminal: &mut Terminal,
    _events: &mut TerminalEvents,
    shown: &mut Shown,
) -> std::io::Result<bool> {
    match event {
        TerminalEvent::Key(key, _) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            match key.code {
                KeyCode::Char('z') => shown.said = format!("{:?}", terminal.stop_job()?),
                KeyCode::Char('c') => return Ok(false),
                other => shown.said = format!("ctrl {other:?}"),
            }
        }
        TerminalEvent::Key(key, _) => match key.code {
            KeyCode::Char('q') => return Ok(false),
            KeyCode::Char('p') => panic!("as was asked"),
            KeyCode::Char('t') => {
                let _ = tokio::spawn(async { panic!("in a task") }).await;
                shown.said = "a task panicked".into();
            }
            KeyCode::Char('s') => shown.stream = !shown.stream,
            KeyCode::Char('f') => {
                shown.full = !shown.full;
                if !shown.full {
                    terminal.leave_full();
                }
            }
            KeyCode::Char('e') => {
                terminal.suspend()?;
                std::process::Command::new("sh").args(["-c", "echo lent; sleep 0.3"]).status()?;
                terminal.resume()?;
            }
            KeyCode::Char(letter) => shown.typed.push(letter),
            other => shown.said = format!("{other:?}"),
        },
        TerminalEvent::Paste(text) => {
            let lines = text.lines().count();
            shown.said = format!("pasted {} bytes, {lines} lines", text.len());
        }
        TerminalEvent::Focus(gained) => terminal.set_focus(gained),
        TerminalEvent::Resize(size) => terminal.set_size(size),
        TerminalEvent::Signal(TerminalSignal::Suspend) => {
            terminal.stop_job()?;
        }
        TerminalEvent::Signal(TerminalSignal::Continue) => {}
        TerminalEvent::Signal(_) | TerminalEvent::Ended => return Ok(false),
    }
    Ok(true)
}

fn paint(terminal: &mut Terminal, shown: &mut Shown) {
    shown.frames += 1;
    let columns = usize::from(terminal.size().columns).max(1);
    if shown.full {
        terminal
            .paint_full_screen(&[Line::from("the full screen"), Line::from("f leaves it")], None);
        return;
    }
    let mut finished = std::mem::take(&mut shown.finished);
    while shown.streamed.len() > columns {
        let rest = shown.streamed.split_off(columns);
        finished.push(Line::from(std::mem::replace(&mut shown.streamed, rest)));
    }
    let rule = "─".repeat(columns);
    let live = vec![
        Line::from(shown.streamed.clone()),
        Line::from(rule.clone()),
        Line::from(format!("> {}", shown.typed)),
        Line::from(rule),
        Line::from(format!("{} | {} tokens", shown.said, shown.tokens)),
    ];
    terminal.paint_frame(TerminalFrame {
        finished,
        live,
        cursor: Some((2, 2 + shown.typed.len())),
    });
}
