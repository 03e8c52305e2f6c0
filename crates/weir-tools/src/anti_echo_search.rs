//! `anti_echo_search`: looks for the other side of a topic, on hosts that were not read yet. Not
//! here: how engines are asked (`web_search`, `search_engine`), and which side is right.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::search_engine::FoundPage;
use crate::text;
use crate::web_search::{
    self, engine_searches, page_lines, plan_searches, results_head, run_search,
};

/// Most questions of one call.
const QUESTIONS_MAX: usize = 4;
/// Pages shown of each question.
const PAGES_EACH: usize = 5;
/// Pages asked for: some stand on hosts that were read.
const PAGES_ASKED: usize = 15;
/// Pages of one host: one voice is one voice however often it speaks.
const PAGES_OF_A_HOST_MAX: usize = 1;
const SUMMARY_CHARACTERS_MAX: usize = 80;
/// What is asked of a claim where nobody wrote better questions.
const OTHER_SIDES: [&str; 3] = ["criticism", "evidence against", "counterarguments"];

pub(crate) struct AntiEchoSearch;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// What the sources so far say, in a few words.
    claim: String,
    /// Queries as somebody would write them who holds the opposite, in the topic's language; at most
    /// 4. None: English ones are made of the claim.
    #[serde(default)]
    against: Vec<String>,
    /// Hosts that were read already: `example.org`
    #[serde(default)]
    known_hosts: Vec<String>,
}

#[async_trait]
impl ActionTool for AntiEchoSearch {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            parallel_safe: true,
            timeout_ms: Some(web_search::SEARCH_TIME_MS * QUESTIONS_MAX as u64),
            ..tool_spec(
                "anti_echo_search",
                ToolGroup::Web,
                "Searches the web for the other side of a claim: several queries, one page of a \
                 host, none of a host that was read.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let claim = text::one_line(&input.claim, SUMMARY_CHARACTERS_MAX);
        let what = format!("Search the web for what speaks against {claim}");
        let questions = other_questions(&input);
        let wishes = web_search::Input::with_limit(PAGES_ASKED);
        match questions.and_then(|questions| engine_searches(cx, &wishes, &questions)) {
            Ok(searches) => plan_searches(&searches, what),
            Err(why) => empty_plan(what).with_failure(why),
        }
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        let wishes = web_search::Input::with_limit(PAGES_ASKED);
        let questions = other_questions(&input);
        let searches = match questions.and_then(|all| engine_searches(cx, &wishes, &all)) {
            Ok(searches) => searches,
            Err(why) => return RawResult::error(why),
        };
        let mut seen = SeenPages::new(&input.known_hosts);
        let (mut out, mut count, mut failed) = (String::new(), 0, Vec::new());
        let mut news = Vec::new();
        for search in &searches {
            match run_search(search, effects, cx).await {
                Ok(found) => {
                    news.extend(found.used);
                    let pages = seen.new_pages(found.pages);
                    out.push_str(&results_head(&search.name(), &search.words));
                    news.extend(web_search::page_links(search, &pages));
                    out.push_str(&page_lines(&pages, count + 1));
                    out.push('\n');
                    count += pages.len();
                }
                Err(error) => {
                    news.extend(error.used);
                    failed.push(error.why);
                }
            }
        }
        if let Some(why) = failed.first().filter(|_| failed.len() == searches.len()) {
            return RawResult { news, ..RawResult::error(why.clone()) };
        }
        for why in &failed {
            let _ = writeln!(out, "[a query was not answered: {why}]");
        }
        let raw = RawResult::ok(out.trim_end().to_owned());
        RawResult { news, ..raw.with_summary(text::count_noun(count, "page")) }
    }
}

/// The questions of the other side.
fn other_questions(input: &Input) -> Result<Vec<String>, String> {
    if input.claim.trim().is_empty() {
        return Err("the claim is empty; say in a few words what the sources so far hold".into());
    }
    if input.against.len() > QUESTIONS_MAX {
        return Err(format!("there are more than {QUESTIONS_MAX} queries; keep the best of them"));
    }
    if !input.against.is_empty() {
        return Ok(input.against.clone());
    }
    Ok(OTHER_SIDES.iter().map(|side| format!("{} {side}", input.claim.trim())).collect())
}

/// What was shown or read.
struct SeenPages {
    hosts: BTreeSet<String>,
    urls: BTreeSet<String>,
}

impl SeenPages {
    fn new(known: &[String]) -> SeenPages {
        let host = |text: &String| host_of(text).unwrap_or_else(|| bare_host(text));
        SeenPages { hosts: known.iter().map(host).collect(), urls: BTreeSet::new() }
    }

    /// Of these pages those that bring a new voice, marked as seen.
    fn new_pages(&mut self, found: Vec<FoundPage>) -> Vec<FoundPage> {
        let mut pages: Vec<FoundPage> = Vec::new();
        for page in found {
            let Some(host) = host_of(&page.url) else { continue };
            let of_host =
                pages.iter().filter(|known| host_of(&known.url).as_ref() == Some(&host)).count();
            let is_new = !self.hosts.contains(&host) && self.urls.insert(page.url.clone());
            if is_new && of_host < PAGES_OF_A_HOST_MAX && pages.len() < PAGES_EACH {
                pages.push(page);
            }
        }
        self.hosts.extend(pages.iter().filter_map(|page| host_of(&page.url)));
        pages
    }
}

/// The host of an address.
fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#', ':']).unwrap_or(rest.len());
    Some(bare_host(&rest[..end]))
}

/// A host as two spellings of it are compared.
fn bare_host(text: &str) -> String {
    let lower = text.trim().to_lowercase();
    lower.strip_prefix("www.").unwrap_or(&lower).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: &str) -> FoundPage {
        FoundPage { title: "t".into(), url: url.into(), passage: String::new(), date: None }
    }

    #[test]
    fn k10_the_other_side_is_not_a_host_that_was_read() {
        let known = ["www.Read.example".to_owned(), "https://also.example/page".to_owned()];
        let mut seen = SeenPages::new(&known);
        let found = [
            "https://read.example/a",
            "https://also.example/b",
            "https://new.example/1",
            "https://www.new.example/2",
            "https://other.example/",
        ];
        let urls = |pages: Vec<FoundPage>| pages.into_iter().map(|p| p.url).collect::<Vec<_>>();
        let pages = seen.new_pages(found.map(page).to_vec());
        assert_eq!(urls(pages), ["https://new.example/1", "https://other.example/"]);
        // What the first question brought, the second does not bring again.
        let again = ["https://new.example/3", "https://third.example/"].map(page).to_vec();
        assert_eq!(urls(seen.new_pages(again)), ["https://third.example/"]);
    }

    #[test]
    fn k10_questions_are_made_where_none_are_given() {
        let input = |against: &[&str]| Input {
            claim: " Coffee is healthy ".into(),
            against: against.iter().map(ToString::to_string).collect(),
            known_hosts: Vec::new(),
        };
        let made = other_questions(&input(&[])).expect("three");
        assert_eq!(made[1], "Coffee is healthy evidence against");
        assert_eq!(other_questions(&input(&["Kaffee schadet"])).expect("one"), ["Kaffee schadet"]);
        assert!(other_questions(&input(&["a", "b", "c", "d", "e"])).is_err());
        assert!(other_questions(&Input { claim: " ".into(), ..input(&[]) }).is_err());
    }
}
