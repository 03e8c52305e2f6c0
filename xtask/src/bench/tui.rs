//! The face for terminals (Q21): start, keys while text streams in, memory, processor time and bytes,
//! all with a long session open. The real program on a pty; its model is a process of its own that
//! plays a script.
//!
//! Not here: what a terminal makes of the bytes. A key counts as shown when it was written.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::figures::{Row, ms, quantile};
use super::house::House;
use super::used::{memory, processor_time, ticks_time};
use crate::pty::Pty;

/// What is measured by hundredths of a second has to take long enough.
const STREAM: Duration = Duration::from_secs(10);
/// Tokens a second of a stream.
const RATE: u32 = 200;
/// Replies of the long session, each with a call of a tool.
const REPLIES: u32 = 200;
/// Lines of each of them, so that it has 20,000.
const REPLY_LINES: u32 = 100;
/// How long a process is watched while nothing happens.
const IDLE: Duration = Duration::from_secs(5);
/// Nothing was written for so long: it rests.
const REST: Duration = Duration::from_millis(700);
/// Between two keys, so that each finds a frame of its own.
const BETWEEN_KEYS: Duration = Duration::from_millis(37);
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Letters that nothing on the screen holds: one that appears was typed.
const LETTERS: &str = "абвгдежзийклмнопрстуфхцчшщъыьэюя";

/// Measures all of it.
///
/// # Errors
/// The program does not start, draw or answer.
pub(super) fn rows(house: &House, runs: u32) -> anyhow::Result<Vec<Row>> {
    let model = Model::start(house)?;
    let mut rows = starts(house, &model, runs)?;
    let session = long_session(house, &model)?;
    let began = Instant::now();
    let (mut face, opened) = Face::open(house, &model, &["--resume", &session])?;
    let read = face.pty.shown(0, "It is done.", PATIENCE).context("the session is not shown")?;
    let (opening, read) = ("TUI: opening 20,000 lines", ms(read.duration_since(began)));
    rows.push(Row::watched("Q21", &format!("{opening}, to a key on the screen"), opened, "ms"));
    rows.push(Row::watched("Q21", &format!("{opening}, to the last of them"), read, "ms"));
    face.pty.rest(REST, PATIENCE)?;
    rows.extend(idle(&face)?);
    rows.extend(streamed(&mut face)?);
    rows.extend(typed_while_streaming(&mut face)?);
    let (rss, pss) = memory(face.pty.pid())?;
    let rss = [rss / 1e6];
    rows.push(Row::at_most("Q21", "TUI: memory with 20,000 lines (RSS)", &rss, "MB", 30.0));
    rows.push(Row::watched("Q21", "TUI: the same, its share (PSS)", pss / 1e6, "MB"));
    Ok(rows)
}

/// Start to first paint and to the first key that was taken in; with a session that does not exist yet.
fn starts(house: &House, model: &Model, runs: u32) -> anyhow::Result<Vec<Row>> {
    // The first start makes the store.
    Face::open(house, model, &[])?;
    let (mut painted, mut accepted) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let began = Instant::now();
        let (face, took) = Face::open(house, model, &[])?;
        accepted.push(took);
        let at = face.pty.first_letter().context("nothing was painted")?;
        painted.push(ms(at.duration_since(began)));
    }
    let (painted95, accepted95) = (quantile(&painted, 0.95), quantile(&accepted, 0.95));
    Ok(vec![
        Row::at_most("Q21", "TUI: start of the process to first paint", &painted, "ms", 30.0),
        Row::watched("Q21", "TUI: the same, p95", painted95, "ms"),
        Row::of("Q21", "TUI: start to a key on the screen", &accepted, "ms"),
        Row::watched("Q21", "TUI: the same, p95", accepted95, "ms"),
    ])
}

fn idle(face: &Face) -> anyhow::Result<Vec<Row>> {
    let (before, written) = (processor_time(face.pty.pid())?, face.pty.written());
    thread::sleep(IDLE);
    let used = processor_time(face.pty.pid())?.saturating_sub(before);
    let written = face.pty.written() - written;
    let share = used.as_secs_f64() / IDLE.as_secs_f64() * 100.0;
    Ok(vec![
        Row::at_most("Q21", "TUI: processor time when nothing happens", &[share], "%", 0.0),
        Row::at_most("Q21", "TUI: bytes written meanwhile", &[written as f64], "bytes", 0.0),
    ])
}

/// One stream that nobody disturbs: what it costs.
fn streamed(face: &mut Face) -> anyhow::Result<Vec<Row>> {
    let pid = face.pty.pid();
    let before = ticks_time(pid)?;
    let from = face.pty.written();
    face.pty.send("go\r")?;
    face.pty.shown(from, "first-word", PATIENCE)?;
    face.pty.shown(from, "last-word", STREAM + PATIENCE)?;
    let written = face.pty.written() - from;
    face.pty.rest(REST, PATIENCE)?;
    let used = ticks_time(pid)?.saturating_sub(before);
    let tokens = f64::from(RATE) * STREAM.as_secs_f64();
    Ok(vec![
        Row::watched(
            "Q21",
            "TUI: processor time for 1,000 streamed tokens, engine and all",
            ms(used) / tokens * 1e3,
            "ms",
        ),
        Row::watched(
            "Q21",
            "TUI: bytes to the terminal for one streamed token",
            written as f64 / tokens,
            "bytes",
        ),
        Row::watched("Q21", "TUI: bytes of such a token itself", word_bytes(), "bytes"),
    ])
}

/// Keys from the first word to the last of another stream.
fn typed_while_streaming(face: &mut Face) -> anyhow::Result<Vec<Row>> {
    let from = face.pty.written();
    face.pty.send("go\r")?;
    face.pty.shown(from, "first-word", PATIENCE)?;
    let began = Instant::now();
    let mut took = Vec::new();
    'stream: loop {
        for letter in LETTERS.chars() {
            if began.elapsed() > STREAM - Duration::from_secs(1) {
                break 'stream;
            }
            thread::sleep(BETWEEN_KEYS);
            took.push(ms(face.key(letter)?));
        }
        face.empty_the_box()?;
    }
    face.empty_the_box()?;
    face.pty.shown(from, "last-word", STREAM + PATIENCE)?;
    face.pty.rest(REST, PATIENCE)?;
    let what = format!("TUI: key to screen, {RATE} tokens/s, 20,000 lines");
    Ok(vec![
        Row::watched("Q21", &format!("{what}, p50"), quantile(&took, 0.5), "ms"),
        Row::at_most("Q21", &format!("{what}, p99"), &[quantile(&took, 0.99)], "ms", 16.0),
        Row::watched(
            "Q21",
            &format!("{what}, slowest of {}", took.len()),
            quantile(&took, 1.0),
            "ms",
        ),
    ])
}

/// `weir` on a pty. Dropping it ends it.
struct Face {
    pty: Pty,
}

impl Face {
    /// Starts it, types a letter at once, and waits until that is shown: milliseconds. The letter is
    /// taken back.
    fn open(house: &House, model: &Model, words: &[&str]) -> anyhow::Result<(Face, f64)> {
        let mut command = house.weir(words);
        command.env("ANTHROPIC_BASE_URL", &model.url).env("WEIR_MODEL", "anthropic/bench");
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        let began = Instant::now();
        let pty = Pty::start(&command)?;
        let mut face = Face { pty };
        face.pty.send("я")?;
        let shown = face.pty.shown(0, "я", PATIENCE).context("the first key is not shown")?;
        face.empty_the_box()?;
        Ok((face, ms(shown.duration_since(began))))
    }

    /// From a key to its letter among what is written.
    fn key(&mut self, letter: char) -> anyhow::Result<Duration> {
        let from = self.pty.written();
        let pressed = Instant::now();
        self.pty.send(&letter.to_string())?;
        let shown = self.pty.shown(from, &letter.to_string(), PATIENCE)?;
        Ok(shown.saturating_duration_since(pressed))
    }

    fn empty_the_box(&mut self) -> anyhow::Result<()> {
        // Backspaces, since what else empties the box is the face's own business.
        let from = self.pty.written();
        self.pty.send(&"\u{7f}".repeat(LETTERS.chars().count()))?;
        self.pty.written_after(from, PATIENCE)
    }
}

/// The scripted model in a process of its own. Dropping it ends it.
struct Model {
    child: Child,
    url: String,
}

impl Drop for Model {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Model {
    fn start(house: &House) -> anyhow::Result<Model> {
        let file = house.at("tui.script");
        fs::write(&file, script())?;
        let mut command = house.weir(&["script", "serve", "--bind", "127.0.0.1:0"]);
        let mut child = command.arg(&file).stdout(Stdio::piped()).spawn()?;
        let mut said = String::new();
        BufReader::new(child.stdout.take().context("it was piped")?).read_line(&mut said)?;
        let url = said.trim().strip_prefix("listening on ").map(ToOwned::to_owned);
        let model = Model { child, url: url.unwrap_or_default() };
        ensure!(!model.url.is_empty(), "the scripted model does not listen: {said}");
        Ok(model)
    }
}

/// A session as long as one gets in a day's work: text, and calls of a tool between. Its id.
fn long_session(house: &House, model: &Model) -> anyhow::Result<String> {
    let run = house.run_command(&model.url).output()?;
    let error = String::from_utf8_lossy(&run.stderr).into_owned();
    ensure!(run.status.success(), "the long session cannot be made: {error}");
    let text = String::from_utf8(run.stdout)?;
    let first: Value = serde_json::from_str(text.lines().next().context("a first fact")?)?;
    Ok(first["session"].as_str().context("a session")?.to_owned())
}

/// The long session, then two streams.
fn script() -> String {
    let mut text = format!("loop: {REPLIES}\nsays: |\n");
    for line in 0..REPLY_LINES {
        let _ = writeln!(text, "  {}", said(line));
    }
    text.push_str("calls: glob {\"pattern\": \"small/*{{i}}.txt\"}\nend\n\nsays: It is done.\n");
    for _ in 0..3 {
        let _ = write!(text, "\npace: {}us\nsays: |\n", 1_000_000 / RATE);
        for line in stream_words() {
            // A blank at the end, since a token ends where a blank begins.
            let _ = writeln!(text, "  {line} ");
        }
    }
    text
}

/// Lines as models write them: some of a list, some of code, most of them words.
fn said(line: u32) -> String {
    match line % 20 {
        0 => format!("## Part {line}"),
        1 | 9 | 16 => String::new(),
        2..=5 => format!("- point {line} with `code` and **weight**"),
        10 => "```rust".to_owned(),
        11..=14 => format!("    let value_{line} = read(&path, {line})?; // what was read"),
        15 => "```".to_owned(),
        _ => format!("Line {line} of a paragraph that is neither short nor long, as they are."),
    }
}

/// As many words as there are tokens, in lines.
fn stream_words() -> Vec<String> {
    let count = usize::try_from(u64::from(RATE) * STREAM.as_secs()).unwrap_or(usize::MAX);
    let mut words: Vec<&str> = WORDS.iter().copied().cycle().take(count).collect();
    if let Some(first) = words.first_mut() {
        *first = "first-word";
    }
    if let Some(last) = words.last_mut() {
        *last = "last-word";
    }
    let lines = words.chunks(12).enumerate();
    lines
        .flat_map(|(n, line)| {
            // A new paragraph now and then.
            let gap = (n % 5 == 4).then(String::new);
            std::iter::once(line.join(" ")).chain(gap)
        })
        .collect()
}

const WORDS: &[&str] = &[
    "every",
    "token",
    "is",
    "a",
    "word",
    "of",
    "some",
    "length",
    "**strong**",
    "or",
    "`code`",
    "here",
];

fn word_bytes() -> f64 {
    let bytes: usize = WORDS.iter().map(|word| word.len() + 1).sum();
    bytes as f64 / WORDS.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_holds_the_lines_and_words_that_figures_are_divided_by() {
        let text = script();
        let words: usize = stream_words().iter().map(|line| line.split_whitespace().count()).sum();
        assert_eq!(words as u64, u64::from(RATE) * STREAM.as_secs());
        assert_eq!(REPLIES * REPLY_LINES, 20_000);
        assert_eq!(text.matches("last-word").count(), 3);
    }
}
