//! Finds the step for a request, checks what the script expects of it, and decides what is
//! answered. No I/O and no waiting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use weir_core::model::{StopReason, Usage};

use super::SCRIPT_ENDED;
use super::fault::ScriptedFault;
use super::frames::{ReplyFrames, StreamEnding};
use super::pieces::ReplyPieces;
use super::search::SearchOutcome;
use super::step::{ExpectedContent, FoundStep, Script, ScriptStep, StepOrder};
use super::wire::{JSON, RefusalResponse, ReplyContext, Wire, WireRequest, search_answer};

/// Requests whose repetitions are counted; when there are more, counting begins again.
const COUNTED_MAX: usize = 100_000;

/// Plays one script to any number of sessions at once.
pub(super) struct ScriptPlayer {
    script: Arc<Script>,
    memory: Mutex<PlayerMemory>,
}

#[derive(Default)]
struct PlayerMemory {
    /// How often a request with errors before its reply has come.
    came: HashMap<(u64, u64), usize>,
    /// For `order: requests`: which reply a request got.
    order: HashMap<u64, u64>,
}

/// What is sent back, after `delay`.
pub(super) struct ScriptAnswer {
    pub(super) delay: Duration,
    pub(super) what: ScriptAnswerBody,
}

pub(super) enum ScriptAnswerBody {
    /// A body at once, with a status and perhaps `Retry-After`.
    Body {
        refusal: RefusalResponse,
        retry_after: Option<String>,
    },
    Stream(Box<ReplyFrames>),
    Hang,
    NoConnection,
}

/// What the address says, where the body does not.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestAddress {
    pub(super) model: Option<String>,
    pub(super) stream: Option<bool>,
}

impl ScriptPlayer {
    pub(super) fn new(script: Arc<Script>) -> ScriptPlayer {
        ScriptPlayer { script, memory: Mutex::new(PlayerMemory::default()) }
    }

    pub(super) fn answer_request(
        &self,
        wire: &dyn Wire,
        address: &RequestAddress,
        body: &[u8],
    ) -> ScriptAnswer {
        let mut request = match WireRequest::parse_body(wire, body) {
            Ok(request) => request,
            Err(message) => return invalid_request(wire, message),
        };
        if let Some(model) = &address.model {
            request.model.clone_from(model);
        }
        request.stream = address.stream.unwrap_or(request.stream);
        if request.wants_search() {
            return self.answer_search(wire, &request);
        }
        let (index, found) = self.choose(&request);
        let step = Arc::clone(&found.step);
        if let Some(message) = unmet_expectation(&step, &request) {
            return ScriptAnswer { delay: step.delay, ..invalid_request(wire, message) };
        }
        let fault = self.next_fault(&step, index, &request);
        let what = answer_body(wire, &request, &found, fault);
        ScriptAnswer { delay: step.delay, what }
    }

    /// What the vendor's own search tool finds. It takes no step of the script.
    fn answer_search(&self, wire: &dyn Wire, request: &WireRequest<'_>) -> ScriptAnswer {
        let (prompt, _) = request.last_prompt();
        let found = self.script.searches.iter().find(|search| prompt.contains(&search.words));
        let nothing = SearchOutcome::Pages(Vec::new());
        let outcome = found.map_or(&nothing, |search| &search.outcome);
        // What Weir asks begins with a line of the words.
        let first = prompt.lines().next().unwrap_or_default();
        let words = first.strip_prefix("Words: ").unwrap_or(first);
        let context = ReplyContext {
            model: request.model.clone(),
            number: request.turns,
            usage: Usage { input: 1_000, output: 100, ..Usage::default() },
            stop: StopReason::End,
            include_usage: request.include_usage,
        };
        let refusal = search_answer(wire, &context, words, outcome);
        let what = ScriptAnswerBody::Body { refusal, retry_after: None };
        ScriptAnswer { delay: Duration::ZERO, what }
    }

    fn choose(&self, request: &WireRequest<'_>) -> (u64, FoundStep) {
        if !self.script.rules.is_empty() {
            let (prompt, replies) = request.last_prompt();
            let matching = self.script.rules.iter().find(|rule| rule.pattern.is_match(&prompt));
            if let Some(rule) = matching {
                return (request.turns, rule.find_step(replies).unwrap_or_else(end_of_script));
            }
        }
        let index = match self.script.header.order {
            StepOrder::History => request.turns,
            StepOrder::Requests => self.reply_number(request.hash()),
        };
        (index, self.script.find_step(index).unwrap_or_else(end_of_script))
    }

    fn reply_number(&self, hash: u64) -> u64 {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let next = memory.order.len() as u64;
        *memory.order.entry(hash).or_insert(next)
    }

    fn next_fault<'s>(
        &self,
        step: &'s ScriptStep,
        index: u64,
        request: &WireRequest<'_>,
    ) -> Option<&'s ScriptedFault> {
        let last = step.errors.last()?;
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.came.len() >= COUNTED_MAX {
            memory.came.clear();
        }
        let times = memory.came.entry((index, request.hash())).or_insert(0);
        let fault = step.errors.get(*times);
        *times = times.saturating_add(1);
        fault.or(if step.says.is_empty() { Some(last) } else { None })
    }
}

fn end_of_script() -> FoundStep {
    FoundStep { step: Arc::new(ScriptStep::with_text(SCRIPT_ENDED)), round: None }
}

fn invalid_request(wire: &dyn Wire, message: String) -> ScriptAnswer {
    let fault = ScriptedFault::Status { status: 400, retry_after: None, message };
    let refusal = wire.refusal_for(&fault);
    ScriptAnswer {
        delay: Duration::ZERO,
        what: ScriptAnswerBody::Body { refusal, retry_after: None },
    }
}

fn answer_body(
    wire: &dyn Wire,
    request: &WireRequest<'_>,
    found: &FoundStep,
    fault: Option<&ScriptedFault>,
) -> ScriptAnswerBody {
    let ending = match fault {
        None => StreamEnding::Whole,
        Some(ScriptedFault::Cut) => StreamEnding::Cut,
        Some(ScriptedFault::Reset) => StreamEnding::Reset,
        Some(ScriptedFault::Stall) => StreamEnding::Stall,
        Some(ScriptedFault::Midstream) => StreamEnding::Midstream,
        Some(ScriptedFault::Garbage) => StreamEnding::Garbage,
        Some(ScriptedFault::Hang) => return ScriptAnswerBody::Hang,
        Some(ScriptedFault::Network) => return ScriptAnswerBody::NoConnection,
        Some(
            fault
            @ (ScriptedFault::Status { .. } | ScriptedFault::Overflow | ScriptedFault::Safety),
        ) => {
            let retry_after = match fault {
                ScriptedFault::Status { retry_after, .. } => retry_after.clone(),
                _ => None,
            };
            return ScriptAnswerBody::Body { refusal: wire.refusal_for(fault), retry_after };
        }
    };
    let mut pieces = ReplyPieces::new(found, format!("{}{:04}", id_prefix(wire), request.turns));
    let context = ReplyContext {
        model: request.model.clone(),
        number: request.turns,
        usage: found.step.usage.unwrap_or_else(|| Usage {
            input: request.body.len() as u64 / 4 + 1,
            output: pieces.total_bytes() / 4 + 1,
            ..Usage::default()
        }),
        stop: found.step.stop_or_usual(),
        include_usage: request.include_usage,
    };
    if request.stream {
        let pace = found.step.pace;
        return ScriptAnswerBody::Stream(Box::new(ReplyFrames::new(
            wire.new_writer(context),
            pieces,
            pace,
            ending,
        )));
    }
    match ending {
        StreamEnding::Whole => {
            let body = wire.whole_reply(&context, &mut pieces);
            let refusal = RefusalResponse { status: 200, content_type: JSON, body };
            ScriptAnswerBody::Body { refusal, retry_after: None }
        }
        StreamEnding::Stall => ScriptAnswerBody::Hang,
        StreamEnding::Cut | StreamEnding::Reset => ScriptAnswerBody::NoConnection,
        StreamEnding::Midstream => {
            let fault =
                ScriptedFault::Status { status: 500, retry_after: None, message: String::new() };
            ScriptAnswerBody::Body { refusal: wire.refusal_for(&fault), retry_after: None }
        }
        StreamEnding::Garbage => {
            let body = super::frames::GARBAGE.to_vec();
            let refusal = RefusalResponse { status: 200, content_type: JSON, body };
            ScriptAnswerBody::Body { refusal, retry_after: None }
        }
    }
}

fn id_prefix(wire: &dyn Wire) -> &'static str {
    if wire.name() == "anthropic" { "toolu_script_" } else { "call_script_" }
}

/// The first expectation that is not met, as a sentence.
fn unmet_expectation(step: &ScriptStep, request: &WireRequest<'_>) -> Option<String> {
    if step.expects.is_empty() {
        return None;
    }
    let last = request.last_user_content();
    step.expects.iter().find_map(|expect| {
        let (found, looked_at) = match &expect.what {
            ExpectedContent::Text(text) => (
                last.text.contains(text) || last.results.contains(text),
                format!("{}\n{}", last.text, last.results),
            ),
            ExpectedContent::Result(text) => (last.results.contains(text), last.results.clone()),
            ExpectedContent::Pattern(pattern) => {
                let regex = regex::Regex::new(pattern).ok();
                let all = format!("{}\n{}", last.text, last.results);
                (regex.is_some_and(|regex| regex.is_match(&all)), all)
            }
            ExpectedContent::System(text) => {
                let system = request.system_text();
                (system.contains(text), system)
            }
            ExpectedContent::Tool(name) => {
                let tools = request.offered_tools();
                (tools.contains(name), tools.join(", "))
            }
            ExpectedContent::Body(text) => {
                let body = String::from_utf8_lossy(request.body).into_owned();
                (body.contains(text), body)
            }
            ExpectedContent::Image => (last.media > 0, format!("{} pictures", last.media)),
        };
        if found != expect.not {
            return None;
        }
        let shown: String = looked_at.trim().chars().take(400).collect();
        let not = if expect.not { "not " } else { "" };
        Some(format!(
            "the script (line {}) expects {not}{}; the request holds: {shown}",
            expect.line,
            describe_expectation(&expect.what),
        ))
    })
}

fn describe_expectation(what: &ExpectedContent) -> String {
    match what {
        ExpectedContent::Text(text) => format!("text {text:?} since the last reply"),
        ExpectedContent::Result(text) => format!("a result with {text:?} since the last reply"),
        ExpectedContent::Pattern(pattern) => format!("a match of /{pattern}/ since the last reply"),
        ExpectedContent::System(text) => format!("{text:?} in the system prompt"),
        ExpectedContent::Tool(name) => format!("a tool {name:?} on offer"),
        ExpectedContent::Body(text) => format!("{text:?} in the body"),
        ExpectedContent::Image => "a picture or document since the last reply".to_owned(),
    }
}
