//! The scripted model (V6): plays replies from a readable file, through a real dialect's bytes.
//!
//! In process ([`ScriptedModel`]) a request goes through the real encoder of a dialect, is answered
//! with the bytes that the vendor's server would send, and those go through the real decoder. Over
//! HTTP (`serve::serve`) the same bytes are served for every dialect on one port. It is not a
//! mock: nothing of Weir knows that the model is scripted.
//!
//! # The file
//!
//! A script is a list of *steps*; each is one reply of the model. An empty line or `---` ends a
//! step. `#` at the start of a line, or after a value, begins a comment (not in texts).
//!
//! ```text
//! dialect: openai-chat          # header lines, all optional, before the first step:
//! name: tester                  # name, window, max-output, order,
//! price: input=3 output=15      # price per million tokens
//!
//! think: I should look first.
//! says: Let me look.
//! calls: read_file {"path": "a.txt"}
//! calls: read_file {"path": "b.txt"}
//! usage: input=1200 output=40 cache_read=1000
//!
//! expect: result "content of a"
//! error: 529 overloaded
//! error: 429 retry-after=1
//! says: |
//!   Both are there.
//!
//!   # a text keeps its empty lines and its comments
//! ```
//!
//! | Line | Means |
//! |---|---|
//! | `says: TEXT` | text; goes on in indented lines, or stands wholly in them after `\|` |
//! | `think: TEXT` | reasoning, signed as the vendor does |
//! | `says-json: "…"`, `think-json: "…"` | the same as a JSON string, for texts with odd blanks |
//! | `calls: TOOL {…}` | a call; several in a step are parallel calls of one reply |
//! | `raw-arguments: TOOL …` | a call whose arguments are sent as they stand, JSON or not |
//! | `image: dot`, `image: FILE`, `image: data:…` | a picture that the model made |
//! | `usage: input=… output=… cache_read=… cache_write=… reasoning=…` | what is reported; without it one token per four bytes |
//! | `stop: end`, `calls`, `max_tokens`, `refusal` | why it stops |
//! | `error: STATUS [words] [retry-after=SECONDS]` | an HTTP error with the vendor's body |
//! | `error: overflow`, `safety` | the vendor's words for a request too large, or refused |
//! | `error: cut`, `reset`, `stall`, `midstream`, `garbage` | the stream ends, breaks, stops, reports an error, turns to garbage half-way |
//! | `error: hang`, `network` | no answer ever; the connection breaks before an answer |
//! | `delay: 200ms` | before the first byte |
//! | `pace: 20ms` | between words: tokens at a fixed rate |
//! | `repeat: 10000` | every text and call of the step so many times in this one reply; `{{n}}` is the number |
//! | `call-ids: a, b` | ids of the calls instead of made ones; doubled or empty on purpose |
//! | `expect: "TEXT"` | what came since the last reply, results included, contains it; else HTTP 400 |
//! | `expect: text`, `result`, `system`, `body "TEXT"` · `pattern "REGEX"` · `tool NAME` · `image` | where to look |
//! | `expect-not: …` | must not be there |
//! | `loop: N` … `end` | the steps between, N times; `{{i}}` in texts and arguments is the round, from 1 |
//! | `when: "REGEX"` … `end` | steps for prompts that match, tried before the others; counted from that prompt |
//! | `found: WORDS` | what the vendor's own search tool finds for a question that contains them, in indented lines: `TITLE \| ADDRESS \| PASSAGE \| DATE`, or `refused CODE`, or `error STATUS` |
//! | `model: says …`, `calls`, `thinks`, `fails` | a step of one line, as scenarios write it |
//!
//! Several `error:` lines come one after the other while the same request is repeated; then the
//! reply comes. A step of errors alone repeats its last one. After the last step the model says
//! [`SCRIPT_ENDED`].
//!
//! The step is found by the number of replies that the request holds, so a resumed session, a
//! second process and a retry get the same reply; `order: requests` counts the different requests
//! of this process instead. A reply that holds nothing leaves no trace in the history, so its step
//! would be played again.
#![warn(missing_docs)]

mod fault;
mod frames;
mod journal;
mod model;
mod parse;
mod pieces;
mod player;
mod search;
pub mod serve;
mod step;
mod wire;

pub use fault::ScriptedFault;
pub use journal::from_journal;
pub use model::{ModelOptions, ScriptedModel, SleepFunction};
pub use search::{ScriptedPage, ScriptedSearch, SearchOutcome};
pub use step::{
    ExpectedContent, Script, ScriptExpectation, ScriptHeader, ScriptStep, ScriptedPiece, StepOrder,
};

/// What the model says when the script is over.
pub const SCRIPT_ENDED: &str = "(the script has ended)";

/// A script that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("script{}{}: {why}", file_label(.file.as_deref()), line_label(*.line))]
pub struct ScriptError {
    /// Its file, where it came from one.
    pub file: Option<String>,
    /// The line, from 1; 0 for the whole.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub why: String,
}

fn file_label(file: Option<&str>) -> String {
    file.map(|file| format!(" {file}")).unwrap_or_default()
}

fn line_label(line: usize) -> String {
    if line == 0 { String::new() } else { format!(", line {line}") }
}
