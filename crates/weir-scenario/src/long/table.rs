//! What keeping long work small saves: the same large session with one of its means off at a time,
//! as one table of bytes. Deterministic, so it is a golden file (docs/generated/context.txt). Not
//! here: times.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use anyhow::ensure;
use weir_core::event::{Event, RunStatus};
use weir_core::model::ModelRequest;
use weir_engine::hub::PublishedFact;
use weir_engine::ports::MediaMap;
use weir_providers::DIALECTS;

use super::{CONSTRAINT, GOAL, LARGE, Long, Scales, Watch, large, seen};
use crate::parse::Scenario;
use crate::play::Depth;

/// A window that nothing fills.
const ENDLESS: u64 = 1_000_000_000;
/// Turns of the sessions that are compared, and their windows in tokens.
const TURNS: usize = 200;
const WINDOWS: [u64; 2] = [200_000, 32_000];
/// How the page is to be read.
const READING: &str = "\
What keeping long work small saves. Printed from plays through the real engine and codecs by
`UPDATE=1 cargo test -p weir-scenario --test scenarios q15`; the model is a script, so every figure is
the same every time.

One session, played again with one of its means off at a time. Its turns are a command and a file
in turn, each with a result of 40,000 characters. \"Tokens in all\" is what the model is sent over the
whole session (four bytes count as one). \"A cache serves\" is the share of those bytes that stood
unchanged at the beginning of the request before, as each vendor's request is written: what a prefix
cache need not read again. \"New\" is the rest, as anthropic's requests are written. Where the window
bounds the whole, what is saved shows in \"new\" and in how seldom the context is condensed.

  without externalising   results of commands stand in the history as they are
  without condensing      nothing is ever hidden, in a window that has no end
  without stable order    the time stands in front of the system prompt, as in an agent that does
                          not care for the cache

";

/// What a session sent.
#[derive(Default)]
pub struct Sent {
    scales: Scales,
    /// Requests.
    pub requests: usize,
    /// Bytes of all requests, and of those the ones that stood at the start of the request before,
    /// by dialect.
    pub bytes: Vec<(u64, u64)>,
    /// Input tokens that the vendor counted.
    pub tokens: u64,
    /// The largest request, in tokens as the vendor counted them.
    pub largest: u64,
    /// How often the context was condensed.
    pub condensed: usize,
    /// How the last run ended.
    pub ended: Option<RunStatus>,
}

impl Watch for Sent {
    fn request(&mut self, request: &ModelRequest, media: &MediaMap) {
        self.requests += 1;
        self.bytes.resize(DIALECTS.len(), (0, 0));
        let weighed = self.scales.weigh(request, media);
        for ((bytes, kept), prepared) in self.bytes.iter_mut().zip(weighed) {
            *bytes += prepared.bytes;
            *kept += prepared.prefix_bytes;
        }
    }
    fn fact(&mut self, fact: &PublishedFact) {
        match fact.event.as_ref() {
            Event::ModelReplied(f) => {
                self.tokens += f.usage.input;
                self.largest = self.largest.max(f.usage.input);
            }
            Event::ContextCondensed(_) => self.condensed += 1,
            Event::RunFinished(f) => self.ended = Some(f.status),
            _ => (),
        }
    }
}

/// What keeps long work small. Each can be off, to see what it is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off {
    /// All are on.
    Nothing,
    /// Long results go into the history as they are.
    Externalising,
    /// Nothing is condensed; the window has no end.
    Condensing,
    /// What changes stands first: the time, in front of the system prompt.
    StableOrder,
}

impl Off {
    fn name(self) -> &'static str {
        match self {
            Off::Nothing => "as it is",
            Off::Externalising => "without externalising",
            Off::Condensing => "without condensing",
            Off::StableOrder => "without stable order",
        }
    }
}

/// Plays a large session in a window of so many tokens, without `off`.
///
/// # Errors
/// The session cannot be played to its end.
pub fn sent(window: u64, off: Off) -> anyhow::Result<Sent> {
    let mut scenario = large(TURNS);
    scenario.setup.window = Some(window);
    match off {
        Off::Externalising => scenario.setup.externalize_over = Some(0),
        Off::Condensing => {
            scenario.setup.threshold = Some(0);
            scenario.setup.window = Some(ENDLESS);
        }
        Off::Nothing | Off::StableOrder => (),
    }
    played(&scenario, off == Off::StableOrder)
}

fn played(scenario: &Scenario, clock_in_front: bool) -> anyhow::Result<Sent> {
    let mut long = Long::new(scenario, Depth::Memory)?;
    long.clock_in_front = clock_in_front;
    let watch = Arc::new(Mutex::new(Sent::default()));
    long.live(&scenario.setup, &[format!("{GOAL} {CONSTRAINT}")], &watch)?;
    let sent = std::mem::take(&mut *seen(&watch));
    ensure!(sent.ended == Some(RunStatus::Completed), "{}: {:?}", scenario.title, sent.ended);
    Ok(sent)
}

/// Q15: the tokens of twelve turns with large results of commands, as a share of what they are when
/// nothing is externalised.
///
/// # Errors
/// A session cannot be played.
pub fn twelve() -> anyhow::Result<f64> {
    let calls: Vec<String> = (1..=12)
        .map(|part| format!("calls: run_shell {{\"command\": \"make part-{part}\"}}\n"))
        .collect();
    let script = format!("order: requests\n\n{}\nsays: Done.\n", calls.join("\n"));
    let mut tokens = Vec::new();
    for externalize_over in [None, Some(0)] {
        let mut scenario = Scenario { script: script.clone(), ..large(24) };
        scenario.setup.externalize_over = externalize_over;
        let sent = played(&scenario, false)?;
        ensure!(sent.requests == 13 && sent.condensed == 0, "it is condensed, or not whole");
        tokens.push(sent.tokens as f64);
    }
    Ok(tokens[0] / tokens[1])
}

/// The whole page. `twelve`: what [`twelve`] said.
///
/// # Errors
/// A session cannot be played.
pub fn page(twelve: f64) -> anyhow::Result<String> {
    let endless = sent(0, Off::Condensing)?;
    let mut out = String::from(READING);
    for window in WINDOWS {
        out.push_str(&title(window));
        let whole = sent(window, Off::Nothing)?;
        let rest = [
            (Off::Externalising, &sent(window, Off::Externalising)?),
            (Off::Condensing, &endless),
            (Off::StableOrder, &sent(window, Off::StableOrder)?),
        ];
        out.push_str(&line(Off::Nothing, &whole, &whole));
        rest.into_iter().for_each(|(off, sent)| out.push_str(&line(off, sent, &whole)));
        out.push('\n');
    }
    let _ = writeln!(
        out,
        "# Twelve commands with {LARGE} characters each (Q15: at most 0.15)\n\n\
         with externalising {twelve:.2} of the tokens that they are without"
    );
    Ok(out)
}

/// A line of the page that is quickly played: the session as it is, in the smallest window.
///
/// # Errors
/// The session cannot be played.
pub fn share() -> anyhow::Result<String> {
    let whole = sent(WINDOWS[WINDOWS.len() - 1], Off::Nothing)?;
    Ok(line(Off::Nothing, &whole, &whole))
}

fn title(window: u64) -> String {
    let mut out = format!(
        "# {TURNS} turns with results of {LARGE} characters, a window of {window} tokens\n\n\
         {:<22}{:>9}{:>10}{:>9}{:>9}{:>10}   of the bytes, a cache serves\n\
         {:<22}{:>9}{:>10}{:>9}{:>9}{:>10}",
        "",
        "tokens",
        "against",
        "of them",
        "largest",
        "condensed",
        "",
        "in all",
        "as it is",
        "new",
        "request",
        ""
    );
    DIALECTS.iter().for_each(|dialect| {
        let _ = write!(out, "{:>18}", dialect.name());
    });
    out.push('\n');
    out
}

fn line(off: Off, sent: &Sent, whole: &Sent) -> String {
    let shares: Vec<f64> =
        sent.bytes.iter().map(|(bytes, kept)| *kept as f64 / *bytes as f64).collect();
    let new = sent.tokens as f64 * (1.0 - shares.first().copied().unwrap_or_default());
    let mut out = format!(
        "{:<22}{:>8.1}M{:>9.2}×{:>8.1}M{:>8}k{:>10}",
        off.name(),
        sent.tokens as f64 / 1e6,
        sent.tokens as f64 / whole.tokens as f64,
        new / 1e6,
        (sent.largest + 500) / 1_000,
        sent.condensed,
    );
    for share in shares {
        let _ = write!(out, "{:>16.0} %", share * 100.0);
    }
    out.push('\n');
    out
}
