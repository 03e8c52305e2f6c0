//! How search engines of the web are asked and what they answer, each as its maker documents it.
//! Pure: requests and answers as values. Not here: who is asked (`Web::search_engine`), and sending.

use std::fmt::Write as _;

use serde_json::{Value, json};
use weir_core::plugin::address::percent_encode;
use weir_engine::ports::{SearchEngine, SearchEngineKind};

/// Most results that any of the engines gives at once.
pub(crate) const RESULTS_MAX: usize = 20;
/// Longest question, in characters: what Brave and Tavily take.
pub(crate) const WORDS_CHARACTERS_MAX: usize = 400;
/// Characters of a passage.
pub(crate) const PASSAGE_CHARACTERS_MAX: usize = 600;
pub(crate) const TITLE_CHARACTERS_MAX: usize = 200;
/// Longest address of a result: a longer one is no page that anybody would fetch.
const URL_BYTES_MAX: usize = 2_000;
/// Characters of what an engine says about its own failure.
const REFUSAL_CHARACTERS_MAX: usize = 300;

/// How new pages must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum PageAge {
    Day,
    Week,
    Month,
    Year,
}

impl PageAge {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            PageAge::Day => "day",
            PageAge::Week => "week",
            PageAge::Month => "month",
            PageAge::Year => "year",
        }
    }
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchQuery<'a> {
    pub(crate) words: &'a str,
    pub(crate) limit: usize,
    pub(crate) age: Option<PageAge>,
    /// Pages of this domain alone.
    pub(crate) site: Option<&'a str>,
}

/// A request to an engine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EngineRequest {
    pub(crate) method: &'static str,
    pub(crate) url: String,
    /// JSON.
    pub(crate) body: Option<String>,
}

/// A page that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundPage {
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) passage: String,
    /// When it was published, as the engine says it.
    pub(crate) date: Option<String>,
}

/// Whether an engine can be asked for new pages alone.
pub(crate) fn knows_age(kind: SearchEngineKind) -> bool {
    match kind {
        SearchEngineKind::Searxng | SearchEngineKind::Brave | SearchEngineKind::Tavily => true,
        SearchEngineKind::Exa | SearchEngineKind::Kagi => false,
    }
}

/// The request that asks `query`.
pub(crate) fn engine_request(engine: &SearchEngine, query: &SearchQuery<'_>) -> EngineRequest {
    let base = &engine.base_url;
    let limit = query.limit.clamp(1, RESULTS_MAX);
    match engine.kind {
        SearchEngineKind::Searxng => {
            let mut url = format!("{base}/search?q={}&format=json", query_value(&with_site(query)));
            // Its documented ranges have no week.
            let age = query.age.map(|age| if age == PageAge::Week { PageAge::Month } else { age });
            if let Some(age) = age {
                let _ = write!(url, "&time_range={}", age.as_str());
            }
            get_request(url)
        }
        SearchEngineKind::Brave => {
            let words = query_value(&with_site(query));
            let mut url = format!("{base}/res/v1/web/search?q={words}&count={limit}");
            if let Some(age) = query.age {
                let _ = write!(url, "&freshness=p{}", &age.as_str()[..1]);
            }
            get_request(url)
        }
        SearchEngineKind::Kagi => get_request(format!(
            "{base}/api/v0/search?q={}&limit={limit}",
            query_value(&with_site(query))
        )),
        SearchEngineKind::Tavily => {
            let mut body = json!({ "query": query.words, "max_results": limit });
            if let Some(age) = query.age {
                body["time_range"] = age.as_str().into();
            }
            if let Some(site) = query.site {
                body["include_domains"] = json!([site]);
            }
            post_request(format!("{base}/search"), &body)
        }
        SearchEngineKind::Exa => {
            let mut body = json!({
                "query": query.words,
                "type": "auto",
                "numResults": limit,
                "contents": { "highlights": true },
            });
            if let Some(site) = query.site {
                body["includeDomains"] = json!([site]);
            }
            post_request(format!("{base}/search"), &body)
        }
    }
}

fn get_request(url: String) -> EngineRequest {
    EngineRequest { method: "GET", url, body: None }
}

fn post_request(url: String, body: &Value) -> EngineRequest {
    EngineRequest { method: "POST", url, body: Some(body.to_string()) }
}

/// The words, with the domain as engines for people know it.
fn with_site(query: &SearchQuery<'_>) -> String {
    match query.site {
        Some(site) => format!("{} site:{site}", query.words),
        None => query.words.to_owned(),
    }
}

/// `text` as a value in the query of an address.
fn query_value(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    percent_encode(text, false, &mut out);
    out
}

/// The pages in an answer, best first, each address once.
///
/// # Errors
/// It is no answer of this engine: what is missing.
pub(crate) fn read_answer(
    kind: SearchEngineKind,
    body: &[u8],
    limit: usize,
) -> Result<Vec<FoundPage>, String> {
    let answer: Value = serde_json::from_slice(body)
        .map_err(|why| format!("its answer is no JSON ({why}){}", html_hint(kind, body)))?;
    let rows = match kind {
        SearchEngineKind::Searxng | SearchEngineKind::Tavily | SearchEngineKind::Exa => {
            answer["results"].as_array()
        }
        // Without a hit Brave leaves the whole list out.
        SearchEngineKind::Brave if answer["web"].is_null() && answer["query"].is_object() => {
            return Ok(Vec::new());
        }
        SearchEngineKind::Brave => answer["web"]["results"].as_array(),
        SearchEngineKind::Kagi => answer["data"].as_array(),
    };
    let Some(rows) = rows else {
        let said = refusal_words(&answer);
        return Err(match said.is_empty() {
            true => "its answer holds no list of results".to_owned(),
            false => format!("it says: {said}"),
        });
    };
    let mut pages: Vec<FoundPage> = Vec::new();
    for page in rows.iter().filter_map(|row| found_page(kind, row)) {
        if pages.iter().all(|known| known.url != page.url) {
            pages.push(page);
        }
    }
    pages.truncate(limit);
    Ok(pages)
}

/// Which of an engine's own sources gave nothing, where it says so.
pub(crate) fn missing_sources(kind: SearchEngineKind, body: &[u8]) -> Vec<String> {
    if kind != SearchEngineKind::Searxng {
        return Vec::new();
    }
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let rows = answer["unresponsive_engines"].as_array().into_iter().flatten();
    let named = rows.filter_map(|row| {
        let (name, why) = (row.get(0)?.as_str()?, row.get(1).and_then(Value::as_str));
        Some(format!("{} ({})", plain_words(name, 40), plain_words(why.unwrap_or("silent"), 80)))
    });
    named.take(5).collect()
}

fn html_hint(kind: SearchEngineKind, body: &[u8]) -> &'static str {
    let start = body.trim_ascii_start();
    if kind == SearchEngineKind::Searxng && start.starts_with(b"<") {
        return "; a person must add json to search.formats in the settings of that instance";
    }
    ""
}

fn found_page(kind: SearchEngineKind, row: &Value) -> Option<FoundPage> {
    // Among Kagi's rows stand related searches.
    if kind == SearchEngineKind::Kagi && row["t"].as_i64() != Some(0) {
        return None;
    }
    let url = row["url"].as_str()?.trim();
    if !is_page_url(url) {
        return None;
    }
    let (passage, date) = match kind {
        SearchEngineKind::Searxng => (text_of(&row["content"]), &row["publishedDate"]),
        SearchEngineKind::Brave => {
            let more = row["extra_snippets"].as_array().into_iter().flatten().map(text_of);
            let all = std::iter::once(text_of(&row["description"])).chain(more);
            let date = if row["page_age"].is_string() { &row["page_age"] } else { &row["age"] };
            (all.collect::<Vec<_>>().join(" … "), date)
        }
        SearchEngineKind::Tavily => (text_of(&row["content"]), &row["published_date"]),
        SearchEngineKind::Exa => {
            let best = row["highlights"].as_array().into_iter().flatten().map(text_of);
            let best = best.collect::<Vec<_>>().join(" … ");
            let passage = if best.is_empty() { text_of(&row["text"]) } else { best };
            (passage, &row["publishedDate"])
        }
        SearchEngineKind::Kagi => (text_of(&row["snippet"]), &row["published"]),
    };
    let title = plain_words(&text_of(&row["title"]), TITLE_CHARACTERS_MAX);
    let date = date.as_str().map(|text| plain_words(text, 40)).filter(|text| !text.is_empty());
    Some(FoundPage {
        title: if title.is_empty() { "(no title)".to_owned() } else { title },
        url: url.to_owned(),
        passage: plain_words(&passage, PASSAGE_CHARACTERS_MAX),
        date: date.map(|text| day_of(&text).to_owned()),
    })
}

/// Whether this is the address of a page that could be fetched.
pub(crate) fn is_page_url(url: &str) -> bool {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    let is_plain = !url.chars().any(|c| c.is_whitespace() || c.is_control());
    is_web && is_plain && url.len() <= URL_BYTES_MAX
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The day of a moment as ISO 8601 writes it; any other text as it is.
pub(crate) fn day_of(text: &str) -> &str {
    let is_moment = text.as_bytes().get(10) == Some(&b'T');
    if is_moment { text.get(..10).unwrap_or(text) } else { text }
}

/// One line without the marks of HTML that some engines put around what fits.
pub(crate) fn plain_words(text: &str, max: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let is_tag = tag[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        match tag.find('>').filter(|_| is_tag) {
            Some(end) => rest = &tag[end + 1..],
            None => {
                out.push('<');
                rest = &tag[1..];
            }
        }
    }
    out.push_str(rest);
    for (name, sign) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ] {
        if out.contains(name) {
            out = out.replace(name, sign);
        }
    }
    let line = out.split_whitespace().collect::<Vec<_>>().join(" ");
    crate::text::one_line(&weir_core::view::plain::visible_text(&line), max)
}

/// Why an engine gave no results, with what to do.
pub(crate) fn refusal_text(kind: SearchEngineKind, status: u16, body: &[u8]) -> String {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let said = refusal_words(&answer);
    let advice = match (kind, status) {
        (SearchEngineKind::Searxng, 403) => {
            "This instance gives no JSON, or not to programs; a person must add json to \
             search.formats in its settings, or name another one in web.search.url"
        }
        (_, 401 | 403) => "The key is not accepted; a person must set a valid one",
        (SearchEngineKind::Tavily, 432 | 433) => {
            "The plan's limit is reached; a person must raise it or name another engine"
        }
        (_, 402) => "There is no credit left; a person must add some or name another engine",
        (_, 429) => "Too many questions for now; wait before the next one",
        (_, 400 | 422) => "It does not take this question; ask in fewer and plainer words",
        (_, 500..=599) => "The engine failed; try again later",
        _ => "Check web.search in the configuration",
    };
    let said = if said.is_empty() { String::new() } else { format!(", saying: {said}") };
    format!("{} answered with status {status}{said}. {advice}.", kind.as_str())
}

/// What an engine says of its failure, wherever it says it.
fn refusal_words(answer: &Value) -> String {
    let places = [
        &answer["error"]["detail"],
        &answer["error"]["message"],
        &answer["error"][0]["msg"],
        &answer["detail"]["error"],
        &answer["detail"],
        &answer["error"],
        &answer["message"],
    ];
    let said = places.into_iter().find_map(Value::as_str).unwrap_or_default();
    plain_words(said, REFUSAL_CHARACTERS_MAX)
}

#[cfg(test)]
mod tests;
