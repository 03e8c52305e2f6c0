//! What parent and child say to each other: one JSON value a line, each line bounded. Not here: what
//! is done about it.

use std::io::{self, BufRead, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_engine::ports::{ProgramTask, ScriptKind, ScriptTask};

/// Longest line in either direction.
pub(crate) const LINE_BYTES_MAX: usize = 8 << 20;
/// Longest result of a script.
pub(crate) const RESULT_BYTES_MAX: usize = 1 << 20;

/// The first line to the child.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ScriptRequest {
    pub(crate) kind: WireScriptKind,
    pub(crate) code: String,
    pub(crate) input: Value,
    /// Time in which it computes, in milliseconds; what it waits for does not count.
    pub(crate) own_ms: u64,
    /// What a program has besides; none for other scripts.
    #[serde(default)]
    pub(crate) program: ProgramTerms,
}

/// What only a program has: the fields of [`ProgramTask`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ProgramTerms {
    pub(crate) tools: Vec<String>,
    pub(crate) now_ms: u64,
    pub(crate) seed: u64,
}

/// Most of that time.
const OWN_MS_MAX: u64 = 10_000;

impl From<ScriptTask> for ScriptRequest {
    /// Computing may take half of a script's time: the rest is for what it waits for.
    fn from(script: ScriptTask) -> ScriptRequest {
        let half = u64::try_from(script.time.as_millis() / 2).unwrap_or(OWN_MS_MAX);
        let own_ms = half.clamp(1, OWN_MS_MAX);
        ScriptRequest {
            kind: script.kind.into(),
            code: script.code,
            input: script.input,
            own_ms,
            program: ProgramTerms::default(),
        }
    }
}

impl From<ProgramTask> for ScriptRequest {
    fn from(task: ProgramTask) -> ScriptRequest {
        let ProgramTask { code, tools, now_ms, seed } = task;
        ScriptRequest {
            kind: WireScriptKind::Program,
            code,
            input: Value::Null,
            own_ms: OWN_MS_MAX,
            program: ProgramTerms { tools, now_ms, seed },
        }
    }
}

/// [`ScriptKind`] on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WireScriptKind {
    Check,
    Module,
    Expression,
    /// A program with steps: no [`ScriptKind`], it has a way of its own.
    Program,
}

impl From<ScriptKind> for WireScriptKind {
    fn from(kind: ScriptKind) -> WireScriptKind {
        match kind {
            ScriptKind::Check => WireScriptKind::Check,
            ScriptKind::Module => WireScriptKind::Module,
            ScriptKind::Expression => WireScriptKind::Expression,
        }
    }
}

/// A line of the child.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FromChild {
    /// It wants something done and waits for the answer of this number.
    Call { id: u64, tool: String, input: Value, whole: bool },
    /// A program wants this step made and goes on meanwhile.
    Step { number: u32, tool: String, input: Value },
    /// A program can do nothing more until it hears of a step: the answer is a [`HostAnswer`] with the
    /// number of that step.
    Stalled,
    /// It says how far it is.
    Log(String),
    /// The end: what it returned.
    Ok(String),
    /// The end: what went wrong.
    Error(String),
}

/// A later line to the child.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostAnswer {
    pub(crate) id: u64,
    pub(crate) result: Result<String, String>,
}

/// Writes a line.
pub(crate) fn write_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Reads a line.
pub(crate) fn read_line<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<T> {
    let mut line = Vec::new();
    let bound = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
    input.take(bound).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&line)?)
}
