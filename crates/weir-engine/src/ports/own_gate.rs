//! Gates of the program around the engine: they narrow what the engine's own gates would let pass
//! (F5). Not here: those gates (`weir_core::governance`), and how the opinions become one verdict.

use serde_json::Value;
use weir_core::ids::SessionId;
use weir_core::profile::PermissionMode;
use weir_core::tool::Inspection;

/// A call of a tool as an [`OwnGate`] sees it.
#[derive(Debug, Clone, Copy)]
pub struct OwnGateCall<'a> {
    /// The session in which it would be made.
    pub session: &'a SessionId,
    /// Permission mode of that session.
    pub mode: PermissionMode,
    /// Name of the tool.
    pub tool: &'a str,
    /// Its arguments, which fit the schema of the tool.
    pub input: &'a Value,
    /// What was found out about it: the effects that it would have, their class, the diff of file
    /// changes, the sentence for a person. Judge by this rather than by names.
    pub inspection: &'a Inspection,
}

/// What an [`OwnGate`] says about a call. There is no way to let through what another gate stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnVerdict {
    /// Nothing against it: what the other gates say holds.
    Pass,
    /// A person must agree: why, in a sentence. Where nobody attends, this refuses.
    Ask(String),
    /// It must not happen: why, in a sentence that the model and the person read.
    Deny(String),
}

/// A gate of the program around the engine.
///
/// It is asked about each call that could run, once, after its effects were found out and before it is
/// judged; the steps of tools that work by other tools and the calls of sub-agents are calls too. What
/// it says is journaled with the call, so that a replay needs no gate. One that panics refuses the call.
///
/// It must not wait, block or change anything, and should give the same answer for the same call.
pub trait OwnGate: Send + Sync {
    /// The name that stands in the journal and before people. Always the same.
    fn name(&self) -> &str;
    /// Judges one call.
    fn judge_call(&self, call: &OwnGateCall<'_>) -> OwnVerdict;
}
