//! Finds the step for a request, checks what the script expects of it, and decides what is
//! answered. No I/O and no waiting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use weir_core::model::Usage;

use super::SCRIPT_ENDED;
use super::frames::{Ending, Frames};
use super::pieces::Pieces;
use super::step::{Expected, Fault, Found, Order, Script, Step};
use super::wire::{Context, JSON, Refusal, Request, Wire};

/// Requests whose repetitions are counted; when there are more, counting begins again.
const COUNTED_MAX: usize = 100_000;

/// Plays one script to any number of sessions at once.
pub(super) struct Player {
    script: Arc<Script>,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    /// How often a request with errors before its reply has come.
    came: HashMap<(u64, u64), usize>,
    /// For `order: requests`: which reply a request got.
    order: HashMap<u64, u64>,
}

/// What is sent back, after `delay`.
pub(super) struct Answer {
    pub(super) delay: Duration,
    pub(super) what: What,
}

pub(super) enum What {
    /// A body at once, with a status and perhaps `Retry-After`.
    Body {
        refusal: Refusal,
        retry_after: Option<String>,
    },
    Stream(Box<Frames>),
    Hang,
    NoConnection,
}

/// What the address says, where the body does not.
#[derive(Debug, Clone, Default)]
pub(super) struct Address {
    pub(super) model: Option<String>,
    pub(super) stream: Option<bool>,
}

impl Player {
    pub(super) fn new(script: Arc<Script>) -> Player {
        Player { script, memory: Mutex::new(Memory::default()) }
    }

    pub(super) fn answer(&self, wire: &dyn Wire, address: &Address, body: &[u8]) -> Answer {
        let mut request = match Request::read(wire, body) {
            Ok(request) => request,
            Err(message) => return invalid(wire, message),
        };
        if let Some(model) = &address.model {
            request.model.clone_from(model);
        }
        request.stream = address.stream.unwrap_or(request.stream);
        let (index, found) = self.choose(&request);
        let step = Arc::clone(&found.step);
        if let Some(message) = unmet(&step, &request) {
            return Answer { delay: step.delay, ..invalid(wire, message) };
        }
        let fault = self.fault(&step, index, &request);
        let what = what(wire, &request, &found, fault);
        Answer { delay: step.delay, what }
    }

    fn choose(&self, request: &Request<'_>) -> (u64, Found) {
        if !self.script.rules.is_empty() {
            let (prompt, replies) = request.prompt();
            let matching = self.script.rules.iter().find(|rule| rule.pattern.is_match(&prompt));
            if let Some(rule) = matching {
                return (request.turns, rule.find(replies).unwrap_or_else(ended));
            }
        }
        let index = match self.script.header.order {
            Order::History => request.turns,
            Order::Requests => self.order(request.hash()),
        };
        (index, self.script.find(index).unwrap_or_else(ended))
    }

    fn order(&self, hash: u64) -> u64 {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let next = memory.order.len() as u64;
        *memory.order.entry(hash).or_insert(next)
    }

    fn fault<'s>(&self, step: &'s Step, index: u64, request: &Request<'_>) -> Option<&'s Fault> {
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

fn ended() -> Found {
    Found { step: Arc::new(Step::says(SCRIPT_ENDED)), round: None }
}

fn invalid(wire: &dyn Wire, message: String) -> Answer {
    let fault = Fault::Status { status: 400, retry_after: None, message };
    let refusal = wire.refusal(&fault);
    Answer { delay: Duration::ZERO, what: What::Body { refusal, retry_after: None } }
}

fn what(wire: &dyn Wire, request: &Request<'_>, found: &Found, fault: Option<&Fault>) -> What {
    let ending = match fault {
        None => Ending::Whole,
        Some(Fault::Cut) => Ending::Cut,
        Some(Fault::Reset) => Ending::Reset,
        Some(Fault::Stall) => Ending::Stall,
        Some(Fault::Midstream) => Ending::Midstream,
        Some(Fault::Garbage) => Ending::Garbage,
        Some(Fault::Hang) => return What::Hang,
        Some(Fault::Network) => return What::NoConnection,
        Some(fault @ (Fault::Status { .. } | Fault::Overflow | Fault::Safety)) => {
            let retry_after = match fault {
                Fault::Status { retry_after, .. } => retry_after.clone(),
                _ => None,
            };
            return What::Body { refusal: wire.refusal(fault), retry_after };
        }
    };
    let mut pieces = Pieces::new(found, format!("{}{:04}", id_prefix(wire), request.turns));
    let context = Context {
        model: request.model.clone(),
        number: request.turns,
        usage: found.step.usage.unwrap_or_else(|| Usage {
            input: request.body.len() as u64 / 4 + 1,
            output: pieces.bytes() / 4 + 1,
            ..Usage::default()
        }),
        stop: found.step.stop_or_usual(),
        include_usage: request.include_usage,
    };
    if request.stream {
        let pace = found.step.pace;
        return What::Stream(Box::new(Frames::new(wire.writer(context), pieces, pace, ending)));
    }
    match ending {
        Ending::Whole => {
            let body = wire.whole(&context, &mut pieces);
            let refusal = Refusal { status: 200, content_type: JSON, body };
            What::Body { refusal, retry_after: None }
        }
        Ending::Stall => What::Hang,
        Ending::Cut | Ending::Reset => What::NoConnection,
        Ending::Midstream => {
            let fault = Fault::Status { status: 500, retry_after: None, message: String::new() };
            What::Body { refusal: wire.refusal(&fault), retry_after: None }
        }
        Ending::Garbage => {
            let body = super::frames::GARBAGE.to_vec();
            let refusal = Refusal { status: 200, content_type: JSON, body };
            What::Body { refusal, retry_after: None }
        }
    }
}

fn id_prefix(wire: &dyn Wire) -> &'static str {
    if wire.name() == "anthropic" { "toolu_script_" } else { "call_script_" }
}

/// The first expectation that is not met, as a sentence.
fn unmet(step: &Step, request: &Request<'_>) -> Option<String> {
    if step.expects.is_empty() {
        return None;
    }
    let last = request.last();
    step.expects.iter().find_map(|expect| {
        let (found, looked_at) = match &expect.what {
            Expected::Text(text) => (
                last.text.contains(text) || last.results.contains(text),
                format!("{}\n{}", last.text, last.results),
            ),
            Expected::Result(text) => (last.results.contains(text), last.results.clone()),
            Expected::Pattern(pattern) => {
                let regex = regex::Regex::new(pattern).ok();
                let all = format!("{}\n{}", last.text, last.results);
                (regex.is_some_and(|regex| regex.is_match(&all)), all)
            }
            Expected::System(text) => {
                let system = request.system();
                (system.contains(text), system)
            }
            Expected::Tool(name) => {
                let tools = request.tools();
                (tools.contains(name), tools.join(", "))
            }
            Expected::Body(text) => {
                let body = String::from_utf8_lossy(request.body).into_owned();
                (body.contains(text), body)
            }
            Expected::Image => (last.media > 0, format!("{} pictures", last.media)),
        };
        if found != expect.not {
            return None;
        }
        let shown: String = looked_at.trim().chars().take(400).collect();
        let not = if expect.not { "not " } else { "" };
        Some(format!(
            "the script (line {}) expects {not}{}; the request holds: {shown}",
            expect.line,
            described(&expect.what),
        ))
    })
}

fn described(what: &Expected) -> String {
    match what {
        Expected::Text(text) => format!("text {text:?} since the last reply"),
        Expected::Result(text) => format!("a result with {text:?} since the last reply"),
        Expected::Pattern(pattern) => format!("a match of /{pattern}/ since the last reply"),
        Expected::System(text) => format!("{text:?} in the system prompt"),
        Expected::Tool(name) => format!("a tool {name:?} on offer"),
        Expected::Body(text) => format!("{text:?} in the body"),
        Expected::Image => "a picture or document since the last reply".to_owned(),
    }
}
