//! The gate: every call is judged here, and only here is a [`Permit`] made (G1, G3, G8).
//!
//! Pure. What a gate must know about the world (does the tool exist, where does a path lead) was
//! found out before, by the engine, and stands in the [`Inspection`]; what it must know about the
//! session stands in [`GateContext`]. Gates judge effects, never the name of a tool or of an
//! argument.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{CallId, SessionId};
use crate::message::Message;
use crate::profile::{Limits, PermissionMode};
use crate::tool::{EffectClass, Effects, Inspection};

pub(crate) mod acknowledge;
mod call_form;
pub mod filter;
pub mod flow;
pub mod frame;
pub mod gate;
mod gate_name;
pub mod grants;
pub mod instructs;
pub mod judge;
pub mod label;
pub mod lease;
pub mod outcome;
pub mod plain_content;
pub mod policy;
pub mod rules;
pub mod shell;
pub mod trail;
pub mod way_out;

pub use call_form::{call_form, canonical_json, same_form};
pub use filter::{FilterContext, FilterOutput, filter_result};
pub use gate::{GATES, Judgement, judge_call, judge_each};
pub use gate_name::GateName;

/// The right to run one call once (G1). Made only in this module, for a call that was judged,
/// approved where that was asked, and journaled as started. It cannot be cloned or read from
/// bytes; a tool takes it by value.
#[derive(Debug)]
pub struct Permit {
    session: SessionId,
    call: CallId,
    tool: String,
    input: Value,
    effects: Effects,
    class: EffectClass,
    confirmed: bool,
}

impl Permit {
    /// Called by the session alone, for a call in stage *started*.
    pub(crate) fn mint(
        session: SessionId,
        call: CallId,
        tool: String,
        input: Value,
        inspection: &Inspection,
    ) -> Permit {
        let (effects, class) = (inspection.effects.clone(), inspection.class);
        Permit { session, call, tool, input, effects, class, confirmed: false }
    }
    /// The same for a call that a person let run.
    pub(crate) fn confirmed(self) -> Permit {
        Permit { confirmed: true, ..self }
    }
    /// The session it belongs to.
    pub fn session(&self) -> &SessionId {
        &self.session
    }
    /// The call it is for.
    pub fn call(&self) -> CallId {
        self.call
    }
    /// The tool it is for.
    pub fn tool(&self) -> &str {
        &self.tool
    }
    /// The arguments that were judged.
    pub fn input(&self) -> &Value {
        &self.input
    }
    /// The effects that were judged: the most that the call may do.
    pub fn effects(&self) -> &Effects {
        &self.effects
    }
    /// How the call is recovered.
    pub fn class(&self) -> EffectClass {
        self.class
    }
    /// Whether a person was asked about this very call and let it run. Never of a call that a tool makes
    /// by another: what they were shown was the outer one.
    pub fn is_confirmed(&self) -> bool {
        self.confirmed
    }
}

/// What one gate, or all together, say about a call. Ordered by strictness: the strictest wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It may run.
    Allow,
    /// A person must say.
    Ask,
    /// It may not run.
    Deny,
}

/// One gate's opinion, journaled when it is not a plain allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct GateOpinion {
    /// The gate whose opinion it is.
    pub gate: GateName,
    /// Whether the call may run, must be asked about, or may not run.
    pub verdict: Verdict,
    /// The rule it rests on, with its place where it stands in a file:
    /// `deny Read(**/.env) (.weir/config.toml:7)`, `mode ask`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// A sentence for person and model: what is wrong and what to do.
    pub reason: String,
    /// Only an answer to this very call lifts it: no rule, no lease (Z2).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// A right that is bound to the arguments of this call and to what had been read may lift it for
    /// later calls (U8).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bound: bool,
}

/// The call that is judged.
#[derive(Debug, Clone, Copy)]
pub struct CallFacts<'a> {
    /// Number of the call in its session.
    pub call: CallId,
    /// Name of the tool as the model wrote it.
    pub tool: &'a str,
    /// Arguments of the call, as a JSON object.
    pub input: &'a Value,
    /// Parser's message when the arguments were not JSON.
    pub broken: Option<&'a str>,
    /// What the engine found out about it.
    pub inspection: &'a Inspection,
}

/// The parts of the session's state that a gate may look at.
#[derive(Debug, Clone, Copy)]
pub struct GateContext<'a> {
    /// Names of the tools that this run may use.
    pub visible: &'a [String],
    /// Deferred tools that were loaded in this run: these too.
    pub found: &'a BTreeSet<String>,
    /// Permission mode.
    pub mode: PermissionMode,
    /// All rules, from every source.
    pub rules: &'a rules::RuleSet,
    /// The bounds.
    pub limits: &'a Limits,
    /// Calls already judged in this run, this one not counted.
    pub tool_calls: u32,
    /// Calls of this run that asked the stronger model, this one not counted.
    pub consulted: u32,
    /// Successful changes of the world that the session has made so far (L6).
    pub changes: u64,
    /// The last calls of the session, oldest first, those of this turn and refused ones included.
    pub recent: &'a VecDeque<RecentCall>,
    /// Calls whose outcome is unknown (D4).
    pub unknown: &'a [outcome::UnknownOutcome],
    /// Where what the model has read came from.
    pub provenance: Provenance<'a>,
}

/// Where what the model has read came from, and what of it the person said (Z1, Z2).
#[derive(Debug, Clone, Copy)]
pub struct Provenance<'a> {
    /// The label of what decided that the call is made: of the request that it answers, and of the
    /// words of handles in arguments that say what it does (U4).
    pub label: &'a label::Label,
    /// The label of what leaves with it; `None`: that is the same.
    pub carries: Option<&'a label::Label>,
    /// Members of sets that services keep, out of typed fields, by the service (U3).
    pub members: &'a BTreeMap<String, BTreeSet<String>>,
    /// Bits that extraction has told of the words that the call carries, of the source with most (U12).
    pub extracted_bits: u32,
    /// The messages so far: an address that stands in them literally carries nothing of its own.
    pub history: &'a [Arc<Message>],
    /// What persons said in this session, oldest first.
    pub said: &'a [String],
    /// Hosts, addresses and recipients of calls that a person approved, as the arguments name them.
    pub approved: &'a BTreeSet<String>,
    /// Addresses of the person's own, in lower case: what goes there stays with them (U5).
    pub own: &'a BTreeSet<String>,
    /// Where links were read, and what following them has told.
    pub trail: &'a trail::LinkTrail,
    /// The word in the prompt that must never leave (gate `canary`).
    pub canary: Option<&'a str>,
    /// Words that stood there on earlier days: still watched.
    pub canaries_before: &'a [String],
    /// The judge model must have agreed (gate `intent`).
    pub validates: bool,
}

impl Provenance<'_> {
    /// Whether this recipient or address stands in the person's own words.
    pub(crate) fn is_written_by_person(&self, to: &str) -> bool {
        !to.trim().is_empty() && self.is_said(to)
    }
}

/// Hears each text of arguments; names of fields are none.
pub(crate) fn each_text(value: &Value, hear: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => hear(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, hear)),
        Value::Object(fields) => fields.values().for_each(|item| each_text(item, hear)),
        Value::Null | Value::Bool(_) | Value::Number(_) => (),
    }
}

/// The same arguments with each of their texts as `map` makes it; names of fields stay.
fn map_texts(value: &Value, map: &mut dyn FnMut(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(map(text)),
        Value::Array(items) => items.iter().map(|item| map_texts(item, map)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            Value::Object(
                fields.map(|(name, field)| (name.clone(), map_texts(field, map))).collect(),
            )
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The method of the way through the proxy that a command asks for: judged with the command.
const CONNECT: &str = "CONNECT";

static CLEAN: label::Label = label::Label {
    integrity: label::Integrity::Person,
    origins: BTreeSet::new(),
    privacy: label::Privacy::Public,
    sources: BTreeSet::new(),
};
static NO_WORDS: BTreeSet<String> = BTreeSet::new();
static NO_MEMBERS: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
/// No deferred tool was loaded.
pub static NOTHING_FOUND: BTreeSet<String> = BTreeSet::new();

impl Provenance<'static> {
    /// A session in which nothing was read or said yet.
    pub fn for_empty_session() -> Provenance<'static> {
        Provenance {
            label: &CLEAN,
            carries: None,
            members: &NO_MEMBERS,
            extracted_bits: 0,
            history: &[],
            said: &[],
            approved: &NO_WORDS,
            own: &NO_WORDS,
            trail: &trail::NO_TRAIL,
            canary: None,
            canaries_before: &[],
            validates: false,
        }
    }
}

/// Most calls that [`GateContext::recent`] holds (L6).
pub const RECENT_CALLS: usize = 15;

/// A call as the repetition gate remembers it (L6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentCall {
    /// Name of the tool.
    pub tool: String,
    /// [`same_form`] of its input.
    pub input: String,
    /// Lower-cased words it searched for, sorted, each once; empty when it searched for nothing.
    pub words: Vec<String>,
    /// How many successful changes of the world the session had made before it.
    pub changes_before: u64,
    /// Hash of its result, once there is one; `None` for a call that was refused.
    pub result: Option<String>,
    /// It changed the world itself, successfully: its own change is no reason to repeat it.
    pub changed: bool,
    /// Its tool declares itself a poll.
    pub poll: bool,
    /// What the gate `canary` made of its input, once it did.
    #[serde(skip)]
    pub canary: gate::CanaryText,
}
