//! Handles (U6): foreign words that a call brought stand beside the context, and a later call carries them
//! where its arguments name them, `{{h12/items/3/body}}`. Here they are kept and put in. Not here: what
//! the model sees in their place (`governance::filter`), and what the gates make of a call that
//! carries them.
//!
//! A name is put in once: words that look like the name of another handle stay words.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{CallFinished, CallJudged};
use crate::governance::Verdict;
use crate::governance::filter::handle_name;
use crate::ids::CallId;
use crate::label::Label;
use crate::tool::built_in::{EXTRACT_FIELDS, PROGRAM_RUNNER};
use crate::tool::{ArgumentPlace, Effects, foreign};

use super::{CallState, Session};

/// Most bytes that the handles of a session stand for together; the oldest go first.
pub const HANDLES_BYTES_MAX: usize = 8 << 20;
/// Most bytes of a call's arguments once the words are put in.
pub const CARRIED_BYTES_MAX: usize = 1 << 20;
/// Most members of sets of services that a session remembers.
const MEMBERS_MAX: usize = 10_000;
/// The one argument of [`EXTRACT_FIELDS`] that handles may stand in.
const EXTRACTED_ARGUMENT: &str = "text";

/// The handles of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct HandleTable {
    kept: BTreeMap<CallId, Arc<KeptWords>>,
    /// Calls whose words were given up for later ones.
    given_up: Option<CallId>,
    bytes: usize,
    /// Bits that extraction may have told, by the source of the words (U12).
    extracted: BTreeMap<String, u32>,
    /// Values of typed fields that are members of a set which a service keeps, by the service (U3).
    members: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct KeptWords {
    value: Value,
    bytes: usize,
    label: Label,
}

/// Foreign words in an argument of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CarriedWords {
    /// Path of the argument, as declarations name it: `message.body`.
    pub argument: String,
    /// Whose words they are.
    pub label: Label,
}

/// The arguments of a call with the words of the handles that it names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CarriedInput {
    pub(super) input: Value,
    pub(super) carried: Vec<CarriedWords>,
    /// Why they cannot be put in.
    pub(super) problem: Option<String>,
}

/// The labels of a call that carries foreign words (U4).
#[derive(Debug, Clone, PartialEq)]
pub struct CallLabels {
    /// What decided that it is made, and what it does.
    pub chosen: Label,
    /// What leaves with it.
    pub carries: Label,
}

impl HandleTable {
    /// Takes in what a call brought from these servers.
    pub(crate) fn keep(&mut self, finished: &CallFinished, servers: &BTreeSet<String>) {
        let Some(words) = finished.handle.as_deref() else { return };
        let value = match words.json {
            true => serde_json::from_str(&words.text).unwrap_or_default(),
            false => Value::String(words.text.clone()),
        };
        let bytes = words.text.len();
        self.bytes += bytes;
        self.kept.insert(
            finished.call,
            Arc::new(KeptWords { value, bytes, label: words.label.clone() }),
        );
        while self.bytes > HANDLES_BYTES_MAX
            && let Some((call, words)) = self.kept.pop_first()
        {
            self.bytes -= words.bytes;
            self.given_up = Some(call);
        }
        for server in servers.iter().filter(|_| !words.members.is_empty()) {
            let all: usize = self.members.values().map(BTreeSet::len).sum();
            let of = self.members.entry(server.clone()).or_default();
            of.extend(words.members.iter().take(MEMBERS_MAX.saturating_sub(all)).cloned());
        }
    }

    /// What was kept before `later` calls ended. `None`: some words were given up, so nobody can say.
    pub(crate) fn without_calls(&self, later: &BTreeSet<CallId>) -> Option<HandleTable> {
        self.of_calls(|call| !later.contains(&call))
    }

    /// What was kept when `last` was the last call that had been asked for, and all had ended. `None`: as
    /// in [`HandleTable::without_calls`].
    pub(crate) fn until_call(&self, last: Option<CallId>) -> Option<HandleTable> {
        self.of_calls(|call| Some(call) <= last)
    }

    fn of_calls(&self, is_kept: impl Fn(CallId) -> bool) -> Option<HandleTable> {
        if self.given_up.is_some() {
            return None;
        }
        let mut before = self.clone();
        before.kept.retain(|call, _| is_kept(*call));
        before.bytes = before.kept.values().map(|words| words.bytes).sum();
        Some(before)
    }

    /// Whether nothing was ever kept: no name means a handle.
    fn is_unused(&self) -> bool {
        self.kept.is_empty() && self.given_up.is_none()
    }

    /// Values that a service says are members of a set that it keeps.
    pub(super) fn members(&self) -> &BTreeMap<String, BTreeSet<String>> {
        &self.members
    }

    /// Bits that extraction may have told of words with this label: of the source with most.
    pub(super) fn extracted_bits(&self, carried: &Label) -> u32 {
        let of = carried.origins.iter().filter_map(|origin| self.extracted.get(origin));
        of.copied().max().unwrap_or_default()
    }

    /// Counts what an answer about words with this label can tell.
    pub(super) fn count_extracted(&mut self, carried: &Label, bits: u32) {
        for origin in carried.origins.iter().filter(|_| bits > 0) {
            let told = self.extracted.entry(origin.clone()).or_default();
            *told = told.saturating_add(bits);
        }
    }

    /// What a model wrote, as a person reads it: with the words of the handles that it names. `None`: it
    /// names none.
    pub(crate) fn shown_text(&self, text: &str) -> Option<String> {
        if self.is_unused() {
            return None;
        }
        match self.shown_value(&Value::String(text.to_owned()))? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The same of a value.
    pub(crate) fn shown_value(&self, value: &Value) -> Option<Value> {
        if self.is_unused() {
            return None;
        }
        let shown = self.carried_input(value);
        (!shown.carried.is_empty() && shown.problem.is_none()).then_some(shown.input)
    }

    /// `input` with the words that it names.
    pub(super) fn carried_input(&self, input: &Value) -> CarriedInput {
        let mut work = PutIn { table: self, carried: Vec::new(), problem: None, bytes: 0 };
        let input = work.of_value(input, &mut ArgumentPlace::default());
        CarriedInput { input, carried: work.carried, problem: work.problem }
    }
}

/// Words on their way into arguments.
struct PutIn<'a> {
    table: &'a HandleTable,
    carried: Vec<CarriedWords>,
    problem: Option<String>,
    bytes: usize,
}

impl PutIn<'_> {
    fn of_value(&mut self, value: &Value, path: &mut ArgumentPlace) -> Value {
        match value {
            Value::String(text) => Value::String(self.of_text(text, path)),
            Value::Array(items) => {
                let step = path.enter_items();
                let items = items.iter().map(|item| self.of_value(item, path)).collect();
                path.leave(step);
                Value::Array(items)
            }
            Value::Object(fields) => {
                let mut with = serde_json::Map::new();
                for (name, field) in fields {
                    let step = path.enter_field(name);
                    with.insert(name.clone(), self.of_value(field, path));
                    path.leave(step);
                }
                Value::Object(with)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn of_text(&mut self, text: &str, path: &ArgumentPlace) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("{{h") {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let named = HandlePlace::parse(rest);
            let words = named.as_ref().and_then(|place| self.words_of(place, path));
            match (named, words) {
                (Some(place), Some(words)) => {
                    self.bytes += words.len();
                    if self.bytes > CARRIED_BYTES_MAX {
                        self.fail(format!(
                            "The handles in it stand for more than {CARRIED_BYTES_MAX} bytes: pass less on \
                             at once."
                        ));
                        return String::new();
                    }
                    out.push_str(&words);
                    rest = &rest[place.bytes..];
                }
                _ => {
                    out.push_str("{{h");
                    rest = &rest["{{h".len()..];
                }
            }
        }
        out.push_str(rest);
        out
    }

    /// The words at a place; none where no handle is meant.
    fn words_of(&mut self, place: &HandlePlace<'_>, path: &ArgumentPlace) -> Option<String> {
        let name = handle_name(place.call);
        let Some(kept) = self.table.kept.get(&place.call) else {
            if self.table.given_up.is_some_and(|last| place.call <= last) {
                self.fail(format!("{name} is no longer kept: make its call again."));
            }
            return None;
        };
        let Some(found) = kept.value.pointer(place.pointer) else {
            self.fail(format!("There is no {} in {name}.", place.pointer));
            return None;
        };
        let words = CarriedWords { argument: path.as_str().to_owned(), label: kept.label.clone() };
        if !self.carried.contains(&words) {
            self.carried.push(words);
        }
        Some(found.as_str().map_or_else(|| found.to_string(), str::to_owned))
    }

    fn fail(&mut self, why: String) {
        self.problem.get_or_insert(why);
    }
}

/// A handle, or a place in it, as arguments name it.
struct HandlePlace<'a> {
    call: CallId,
    /// JSON pointer within it; empty: all of it.
    pointer: &'a str,
    /// Bytes of the name.
    bytes: usize,
}

impl HandlePlace<'_> {
    /// The place that `text` begins with.
    fn parse(text: &str) -> Option<HandlePlace<'_>> {
        let end = text.find("}}")?;
        let inner = text.get("{{h".len()..end)?;
        let split = inner.find('/').unwrap_or(inner.len());
        let (number, pointer) = inner.split_at(split);
        let is_plain = !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && !number.starts_with('0')
            && !pointer.contains(['{', '}', '\n']);
        let call = CallId(number.parse().ok().filter(|_| is_plain)?);
        Some(HandlePlace { call, pointer, bytes: end + "}}".len() })
    }
}

impl CallState {
    /// A call with these arguments, and the words of the handles that they name.
    pub(super) fn with_carried(mut self, handles: &HandleTable, base: &Label) -> CallState {
        // The steps of a program carry them: put into its code they would be code.
        if handles.is_unused() || self.tool == PROGRAM_RUNNER {
            return self;
        }
        let CarriedInput { input, carried, problem } = handles.carried_input(&self.input);
        let outside = |words: &CarriedWords| words.argument != EXTRACTED_ARGUMENT;
        let problem = match self.tool == EXTRACT_FIELDS && carried.iter().any(outside) {
            // The kinds of its fields would be foreign words, and come back as values.
            true => Some(format!("Only {EXTRACTED_ARGUMENT} of {EXTRACT_FIELDS} takes a handle.")),
            false => problem,
        };
        if carried.is_empty() && problem.is_none() {
            return self;
        }
        self.written = Some(std::mem::replace(&mut self.input, input));
        self.broken = self.broken.or(problem);
        self.chosen =
            Some(carried.iter().fold(base.clone(), |label, one| label.joined_with(&one.label)));
        self.carried = carried;
        self
    }

    /// Whose words it carries from handles.
    pub fn carried_label(&self) -> Label {
        self.carried.iter().fold(Label::default(), |label, one| label.joined_with(&one.label))
    }

    /// The servers whose answer its own is, as acts name them.
    pub(super) fn answering_servers(&self) -> BTreeSet<String> {
        let Some(found) = &self.inspection else { return BTreeSet::new() };
        let acts = found.effects.acts.iter().map(|act| &act.server);
        found.effects.reads_from.iter().chain(acts).cloned().collect()
    }
}

/// The arguments whose words are content alone: they leave with the call and decide nothing of it. What
/// nobody declared so does not.
fn content_arguments<'a>(tool: &str, effects: &'a Effects) -> &'a [String] {
    let [act] = effects.acts.as_slice() else { return &[] };
    let only_acts = Effects {
        acts: Vec::new(),
        reads_from: Vec::new(),
        acknowledges: false,
        ..effects.clone()
    };
    match tool.starts_with(foreign::PREFIX) && only_acts == Effects::default() {
        true => &act.content,
        false => &[],
    }
}

impl Session {
    /// Both labels of a call that carries foreign words, once it is known what it does; none of any other
    /// call: what stands in its context decided all of it.
    pub(super) fn labels_of_carrier(
        &self,
        call: &CallState,
        effects: &Effects,
    ) -> Option<CallLabels> {
        if call.carried.is_empty() {
            return None;
        }
        let mut chosen = self.base_label(call).clone();
        let carries = chosen.clone().joined_with(&call.carried_label());
        let content = content_arguments(&call.tool, effects);
        for words in call.carried.iter().filter(|one| !content.contains(&one.argument)) {
            chosen.join(&words.label);
        }
        Some(CallLabels { chosen, carries })
    }

    /// What decided that a call that carries foreign words is made; none of any other call.
    pub(super) fn chosen_label_of_carrier(&self, id: CallId, effects: &Effects) -> Option<Label> {
        let labels = self.labels_of_carrier(self.find_call(id)?, effects)?;
        Some(labels.chosen)
    }

    /// A call may do what it wants with the foreign words that it carries.
    pub(super) fn note_carried(&mut self, f: &CallJudged) {
        let effects = &f.inspection.effects;
        let call = self.find_call(f.call).filter(|_| f.verdict != Verdict::Deny);
        let Some(carried) = call.map(CallState::carried_label) else { return };
        // A task list, a recipe, an end: its words are told by another way than its answer.
        if effects.control.is_some() {
            self.label.join(&carried);
        }
        self.handles.count_extracted(&carried, effects.extracts);
    }

    /// Keeps the foreign words that a call brought.
    pub(super) fn keep_words(&mut self, finished: &CallFinished) {
        if finished.handle.is_none() {
            return;
        }
        let call = self.find_call(finished.call);
        let servers = call.map(CallState::answering_servers).unwrap_or_default();
        self.handles.keep(finished, &servers);
    }

    /// The label of what an agent's session answers to whom it works for: what it extracted of foreign words
    /// it may tell there, where the bits of a source are counted anew (U12).
    pub fn answer_label(&self) -> Label {
        let told = self.handles.extracted.keys().map(Label::external);
        told.fold(self.label.clone(), |label, one| label.joined_with(&one))
    }
}

/// Whether a call's answer is kept as a handle in a session that keeps them: words of servers, pages and
/// other agents, and what those give that were given such words. Files of the workspace and commands stay
/// what they were. What steers the agent or is remembered comes into the context by more ways than its
/// answer, so its answer brings the label of the words that it was given.
pub fn keeps_answer(effects: &Effects, carries: bool) -> bool {
    let comes_from_others = !effects.reads_from.is_empty()
        || !effects.hosts.is_empty()
        || effects.unknown
        || effects.spawns.is_some();
    let passes_on = carries && (!effects.acts.is_empty() || effects.extracts > 0);
    let of_workspace =
        !effects.commands.is_empty() || !effects.jobs.is_empty() || !effects.paths.is_empty();
    let steers =
        effects.control.is_some() || !effects.remembers.is_empty() || effects.brain.is_some();
    // What a server asked the model goes to that server, which must be able to read it (R3).
    let goes_back = effects.samples.is_some();
    !effects.opens && !of_workspace && !steers && !goes_back && (comes_from_others || passes_on)
}

#[cfg(test)]
mod tests;
