//! The journal of a play as faces are given it: without what varies between machines, and with
//! numbers that do not change whenever a sentence of the prompt does. Not here: how it is shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use regex::Regex;
use weir_core::event::Event;
use weir_core::model::Usage;
use weir_core::profile::LimitName;
use weir_core::tool::ResultEffect;
use weir_engine::hub::PublishedFact;
use weir_scenario::play::Played;
use weir_scenario::render::in_order;

/// The folder above the workspace, in place of the one of the play.
const HOME: &str = "/home/ada";
/// The workspace below it.
pub(super) const FOLDER: &str = "/home/ada/workspace";
/// Who speaks in scenarios: what they say is said at the face that is shown.
const PERSON: &str = "person";
/// Tokens of the first request, and how many more each has than the one before.
const REQUEST_TOKENS: (u64, u64) = (20_000, 1_000);
/// Tokens of a context before it is condensed, and after.
const CONDENSED_TOKENS: (u64, u64) = (90_000, 10_000);
/// The limit of a request's tokens.
/// US dollars for a token, where there is a price.
const PRICE_USD: f64 = 1e-5;

/// The facts, in an order that is no chance.
///
/// # Errors
/// A fact cannot be read back.
pub(super) fn stable_facts(played: &Played) -> anyhow::Result<Vec<PublishedFact>> {
    let ordered = in_order(&played.facts);
    let mut moments: Vec<_> = ordered.iter().map(|fact| fact.ts).collect();
    moments.sort();
    let mut numbers = StableNumbers::default();
    let mut texts = StableTexts::new(&played.folder)?;
    let mut facts = Vec::with_capacity(ordered.len());
    for (fact, ts) in ordered.into_iter().zip(moments) {
        let payload = texts.replace(&fact.event.payload());
        let mut event = Event::from_payload(fact.event.kind(), &payload)
            .with_context(|| format!("fact {}", fact.seq))?;
        numbers.replace(&mut event);
        name_input(&mut event);
        let seq = facts.len() as u64 + 1;
        facts.push(PublishedFact { seq, ts, event: Arc::new(event) });
    }
    Ok(facts)
}

/// Whether somebody could be asked when the session was opened.
pub(super) fn is_attended(facts: &[PublishedFact]) -> bool {
    facts.iter().any(|fact| match fact.event.as_ref() {
        Event::SessionOpened(f) => f.config.attended,
        _ => false,
    })
}

/// What the person of the scenario says has a name, as what is said at a face has.
fn name_input(event: &mut Event) {
    if let Event::InputAccepted(fact) = event
        && fact.by == PERSON
        && fact.client_id.is_none()
    {
        fact.client_id = Some(format!("here-{}", fact.input));
    }
}

/// Texts in place of those that no two plays have in common: the folder, names of facts in memory
/// (made from it), and counts of tokens in what tools answer.
struct StableTexts<'a> {
    folder: &'a str,
    names: Regex,
    tokens: Regex,
    known: BTreeMap<String, usize>,
}

impl<'a> StableTexts<'a> {
    fn new(folder: &'a str) -> anyhow::Result<StableTexts<'a>> {
        let names = Regex::new(r"\b[0-9a-f]{16}\b")?;
        let tokens = Regex::new(r"\b[0-9]{3,} tokens\b")?;
        Ok(StableTexts { folder, names, tokens, known: BTreeMap::new() })
    }

    fn replace(&mut self, payload: &str) -> String {
        let payload = payload.replace(self.folder, HOME);
        let payload = self.tokens.replace_all(&payload, "1000 tokens");
        let known = &mut self.known;
        let numbered = |found: &regex::Captures<'_>| {
            let next = known.len() + 1;
            format!("{:016x}", *known.entry(found[0].to_owned()).or_insert(next))
        };
        self.names.replace_all(&payload, numbered).into_owned()
    }
}

/// Numbers in place of those of the play. Each kind of use has its own, so that a sum shows what is
/// missing in it.
#[derive(Default)]
struct StableNumbers {
    requests: u64,
    /// Tokens of the last request.
    request: u64,
    run: Usage,
    run_usd: f64,
}

impl StableNumbers {
    fn replace(&mut self, event: &mut Event) {
        match event {
            Event::RunStarted(_) => (self.run, self.run_usd) = (Usage::default(), 0.0),
            Event::ModelRequested(f) => {
                let (first, more) = REQUEST_TOKENS;
                self.request = first + more * self.requests;
                self.requests += 1;
                f.tokens_estimated = self.request;
            }
            Event::ModelReplied(f) => {
                self.replace_use(self.request, 2_000, &mut f.usage, &mut f.cost_usd);
            }
            Event::CallJudged(f) => {
                if let Some(used) = &mut Arc::make_mut(&mut f.inspection).judge_use {
                    self.replace_use(2_000, 20, &mut used.usage, &mut used.cost_usd);
                }
            }
            Event::CallFinished(f) => {
                for news in &mut f.news {
                    if let ResultEffect::Used { usage, cost_usd } = news {
                        self.replace_use(7_000, 700, usage, cost_usd);
                    }
                }
            }
            Event::AgentFinished(f) => {
                self.replace_use(300_000, 30_000, &mut f.usage, &mut f.cost_usd);
            }
            Event::ContextCondensing(f) => f.tokens = CONDENSED_TOKENS.0,
            Event::LimitReached(f) if f.limit == LimitName::Window => {
                f.value = CONDENSED_TOKENS.0 as f64;
            }
            Event::ContextSummarised(f) => {
                self.replace_use(4_000, 400, &mut f.usage, &mut f.cost_usd)
            }
            Event::ContextCondensed(f) => {
                (f.tokens_before, f.tokens_after) = CONDENSED_TOKENS;
            }
            Event::RunRemembered(f) => {
                self.replace_use(50_000, 5_000, &mut f.usage, &mut f.cost_usd)
            }
            Event::RecipePlanned(f) => self.replace_use(6_000, 600, &mut f.usage, &mut f.cost_usd),
            Event::RunFinished(f) => {
                f.usage = self.run;
                f.cost_usd = f.cost_usd.map(|_| self.run_usd);
            }
            _ => (),
        }
    }

    /// Puts these numbers of tokens in the place of `usage`, and the price that follows from them in
    /// that of `cost_usd`. Nothing stays nothing, and what has no price has none.
    fn replace_use(
        &mut self,
        input: u64,
        output: u64,
        usage: &mut Usage,
        cost_usd: &mut Option<f64>,
    ) {
        if usage.total_tokens() == 0 {
            return;
        }
        let cache_read = if usage.cache_read > 0 { input / 2 } else { 0 };
        *usage = Usage { input: input - cache_read, output, cache_read, ..Usage::default() };
        if let Some(usd) = cost_usd.as_mut().filter(|usd| **usd > 0.0) {
            *usd = usage.total_tokens() as f64 * PRICE_USD;
            self.run_usd += *usd;
        }
        self.run.add(usage);
    }
}
