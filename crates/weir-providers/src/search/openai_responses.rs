//! OpenAI's tool `web_search` of the Responses API: items `web_search_call`, annotations `url_citation`.
//! Not here: what of it is told to the model that asked.

use serde_json::{Value, json};
use weir_core::model::ModelInfo;
use weir_engine::ports::{VendorPage, VendorQuestion};

use super::cited::passage_around;
use super::{INSTRUCTIONS, SearchReading, answer_tokens, question_text, text_of};
use crate::dialect::openai_responses::read_usage;

pub(super) fn request_body(info: &ModelInfo, question: &VendorQuestion) -> Value {
    // From its index alone: words that name an address are not to make the vendor open it.
    let mut tool = json!({
        "type": "web_search", "search_context_size": "low", "external_web_access": false,
    });
    if let Some(site) = &question.site {
        tool["filters"] = json!({ "allowed_domains": [site] });
    }
    let mut body = json!({
        "model": info.model.name,
        "store": false,
        "max_output_tokens": answer_tokens(info),
        "instructions": INSTRUCTIONS,
        "tools": [tool],
        "tool_choice": "required",
        "max_tool_calls": 1,
        "include": ["web_search_call.action.sources"],
        "input": question_text(question, false),
    });
    if info.has_ability("thinking") {
        body["reasoning"] = json!({ "effort": "low" });
    }
    body
}

pub(super) fn read_answer(answer: &Value) -> Option<SearchReading> {
    let items = answer["output"].as_array()?;
    let mut read =
        SearchReading { usage: read_usage(&answer["usage"]), ..SearchReading::default() };
    for item in items {
        match item["type"].as_str().unwrap_or_default() {
            "web_search_call" => read_call(item, &mut read),
            "message" => {
                let parts = item["content"].as_array().into_iter().flatten();
                parts.for_each(|part| read_part(part, &mut read));
            }
            _ => {}
        }
    }
    let error = &answer["error"]["message"];
    if let Some(why) = error.as_str() {
        read.refusal = Some(why.to_owned());
    }
    if answer["status"] == "incomplete" && read.pages.is_empty() {
        let why = answer["incomplete_details"]["reason"].as_str().unwrap_or("it broke off");
        read.refusal = Some(format!("the answer is incomplete: {why}"));
    }
    Some(read)
}

fn read_call(item: &Value, read: &mut SearchReading) {
    let action = &item["action"];
    // Pages that it opens or looks through are no searches, and are not billed as such.
    if !matches!(action["type"].as_str(), None | Some("search")) {
        return;
    }
    if item["status"] == "failed" {
        read.refusal = Some("the vendor's search failed; try again later".into());
        return;
    }
    read.searches += 1;
    let several = action["queries"].as_array().into_iter().flatten();
    let one = std::iter::once(&action["query"]);
    let words = several.chain(one).filter_map(Value::as_str);
    for words in words {
        if !words.is_empty() && !read.searched.iter().any(|known| known == words) {
            read.searched.push(words.to_owned());
        }
    }
    for source in action["sources"].as_array().into_iter().flatten() {
        if source["type"] == "url" {
            let url = text_of(&source["url"]);
            read.add_page(VendorPage { url, ..VendorPage::default() });
        }
    }
}

fn read_part(part: &Value, read: &mut SearchReading) {
    if let Some(refusal) = part["refusal"].as_str() {
        read.refusal = Some(format!("the vendor's model refused it: {refusal}"));
        return;
    }
    let text = part["text"].as_str().unwrap_or_default();
    read.text.push_str(text);
    read_citations(text, &part["annotations"], read);
}

/// The pages that annotations of `text` cite. Their fields stand in the annotation itself, or, in Chat
/// Completions, in an object of its own.
pub(super) fn read_citations(text: &str, annotations: &Value, read: &mut SearchReading) {
    for annotation in annotations.as_array().into_iter().flatten() {
        if annotation["type"] != "url_citation" {
            continue;
        }
        let inner = &annotation["url_citation"];
        let citation = if inner.is_object() { inner } else { annotation };
        let place = |name: &str| citation[name].as_u64().and_then(|at| usize::try_from(at).ok());
        let passage = match (citation["content"].as_str(), place("start_index"), place("end_index"))
        {
            (Some(content), _, _) if !content.trim().is_empty() => content.to_owned(),
            (_, Some(start), Some(end)) if end > 0 => passage_around(text, start, end),
            _ => String::new(),
        };
        read.add_page(VendorPage {
            title: text_of(&citation["title"]),
            url: plain_url(&text_of(&citation["url"])),
            passage,
            date: None,
        });
    }
}

/// The address without the mark by which OpenAI says who led there.
fn plain_url(url: &str) -> String {
    let bare = url.strip_suffix("?utm_source=openai").or(url.strip_suffix("&utm_source=openai"));
    bare.unwrap_or(url).to_owned()
}
