//! What is sent to each engine, and what its documented answers become.

use weir_engine::ports::SearchEngineKind::{Brave, Exa, Kagi, Searxng, Tavily};

use super::*;

fn engine(kind: SearchEngineKind) -> SearchEngine {
    let own = kind.own_url().unwrap_or("https://searx.example/s");
    SearchEngine { kind, base_url: own.into(), host: "h".into(), secret: None }
}

fn asked(kind: SearchEngineKind) -> EngineRequest {
    let query = SearchQuery {
        words: "rust & ünï",
        limit: 5,
        age: Some(PageAge::Week),
        site: Some("a.org"),
    };
    engine_request(&engine(kind), &query)
}

#[test]
fn k10_each_engine_is_asked_as_its_maker_documents_it() {
    let get = |url: &str| EngineRequest { method: "GET", url: url.into(), body: None };
    let words = "rust%20%26%20%C3%BCn%C3%AF%20site%3Aa.org";
    assert_eq!(
        asked(Searxng),
        get(&format!("https://searx.example/s/search?q={words}&format=json&time_range=month"))
    );
    let brave = "https://api.search.brave.com/res/v1/web/search?q=";
    assert_eq!(asked(Brave), get(&format!("{brave}{words}&count=5&freshness=pw")));
    assert_eq!(asked(Kagi), get(&format!("https://kagi.com/api/v0/search?q={words}&limit=5")));
    let tavily = asked(Tavily);
    assert_eq!((tavily.method, tavily.url.as_str()), ("POST", "https://api.tavily.com/search"));
    assert_eq!(
        tavily.body.as_deref(),
        Some(
            r#"{"query":"rust & ünï","max_results":5,"time_range":"week","include_domains":["a.org"]}"#
        )
    );
    let exa = asked(Exa);
    assert_eq!((exa.method, exa.url.as_str()), ("POST", "https://api.exa.ai/search"));
    assert_eq!(
        exa.body.as_deref(),
        Some(
            r#"{"query":"rust & ünï","type":"auto","numResults":5,"contents":{"highlights":true},"includeDomains":["a.org"]}"#
        )
    );
}

fn page(title: &str, url: &str, passage: &str, date: Option<&str>) -> FoundPage {
    FoundPage {
        title: title.into(),
        url: url.into(),
        passage: passage.into(),
        date: date.map(Into::into),
    }
}

#[test]
fn k10_documented_answers_become_pages() {
    let read = |kind, body: Value| read_answer(kind, body.to_string().as_bytes(), 10);
    let one = "https://a.org/1";
    assert_eq!(
        read(
            Searxng,
            json!({ "query": "q", "number_of_results": 0, "results": [
                { "title": "A", "url": one, "content": "Words.", "engine": "bing",
                  "publishedDate": "2026-03-01T10:00:00", "score": 1.0 },
                { "title": "Again", "url": one, "content": "" },
                { "title": "B", "url": "javascript:alert(1)", "content": "" },
            ], "unresponsive_engines": [["google", "timeout"]] })
        ),
        Ok(vec![page("A", one, "Words.", Some("2026-03-01"))])
    );
    assert_eq!(
        read(
            Brave,
            json!({ "type": "search", "query": { "original": "q" }, "web": { "results": [
                { "title": "<strong>A</strong> &amp; B", "url": one, "description": "Some\nwords",
                  "extra_snippets": ["more"], "age": "2 days ago",
                  "page_age": "2026-03-01T00:00:00" },
                { "title": "", "url": "https://a.org/2", "description": "x", "age": "May 3, 2024" },
            ] } })
        ),
        Ok(vec![
            page("A & B", one, "Some words … more", Some("2026-03-01")),
            page("(no title)", "https://a.org/2", "x", Some("May 3, 2024")),
        ])
    );
    let nothing = json!({ "type": "search", "query": { "original": "q" } });
    assert_eq!(read(Brave, nothing), Ok(Vec::new()));
    assert_eq!(
        read(
            Tavily,
            json!({ "query": "q", "answer": null, "results": [
                { "title": "A", "url": one, "content": "Words.", "score": 0.9,
                  "published_date": "Mon, 02 Mar 2026 10:00:00 GMT" } ] })
        ),
        Ok(vec![page("A", one, "Words.", Some("Mon, 02 Mar 2026 10:00:00 GMT"))])
    );
    assert_eq!(
        read(
            Exa,
            json!({ "requestId": "r", "results": [
                { "id": one, "title": "A", "url": one, "publishedDate": "2026-03-01T00:00:00.000Z",
                  "highlights": ["one", "two"], "text": "all" },
                { "id": "x", "title": null, "url": "https://a.org/2", "text": "all" } ],
                "costDollars": { "total": 0.007 } })
        ),
        Ok(vec![
            page("A", one, "one … two", Some("2026-03-01")),
            page("(no title)", "https://a.org/2", "all", None),
        ])
    );
    assert_eq!(
        read(
            Kagi,
            json!({ "meta": { "id": "1", "node": "us", "ms": 3 }, "data": [
                { "t": 0, "rank": 1, "url": one, "title": "A", "snippet": "Words.",
                  "published": "2026-03-01T00:00:00Z" },
                { "t": 1, "list": ["related"] } ] })
        ),
        Ok(vec![page("A", one, "Words.", Some("2026-03-01"))])
    );
}

#[test]
fn k10_what_is_wrong_is_said_with_what_to_do() {
    let of = |kind, status, body: &str| refusal_text(kind, status, body.as_bytes());
    for (kind, status, body, says) in [
        (Searxng, 403, "<html>Forbidden", "search.formats"),
        (
            Brave,
            401,
            r#"{"type":"ErrorResponse","error":{"id":"1","status":401,"code":"SUBSCRIPTION_TOKEN_INVALID","detail":"The provided subscription token is invalid."}}"#,
            "saying: The provided subscription token is invalid.. The key is not accepted",
        ),
        (Brave, 429, "{}", "wait before the next one"),
        (Tavily, 432, r#"{"detail":{"error":"plan's limit"}}"#, "plan's limit. The plan's limit"),
        (
            Exa,
            401,
            r#"{"requestId":"r","error":"Invalid API key","tag":"INVALID_API_KEY"}"#,
            "Invalid API key",
        ),
        (
            Kagi,
            401,
            r#"{"meta":{},"data":null,"error":[{"code":1,"msg":"Unauthorized","ref":null}]}"#,
            "saying: Unauthorized",
        ),
        (Exa, 503, "oops", "try again later"),
    ] {
        let said = of(kind, status, body);
        assert!(said.contains(says) && said.starts_with(kind.as_str()), "{said}");
    }
    let why = |kind, body: &str| read_answer(kind, body.as_bytes(), 10).expect_err("no answer");
    assert!(why(Searxng, "<!doctype html>").contains("add json to search.formats"));
    assert!(why(Kagi, r#"{"error":[{"msg":"Quota"}]}"#).contains("it says: Quota"));
    assert!(why(Exa, "[]").contains("no list of results"));
}

#[test]
fn z10_what_an_engine_sends_is_cut_and_made_plain() {
    let long = "x".repeat(5_000);
    let hidden = "\u{202e}a\u{0}b<b onclick='y'>c</b> 1 < 2 <";
    let body = json!({ "results": [
        { "title": hidden, "url": "https://a.org/1", "content": long },
        { "title": "far", "url": format!("https://a.org/{long}"), "content": "" },
        { "title": "blank", "url": "https://a.org/a b", "content": "" },
        { "title": 3, "url": 4 }, "text", null,
    ] });
    let pages = read_answer(Searxng, body.to_string().as_bytes(), 10).expect("an answer");
    assert_eq!(pages.len(), 1, "{pages:?}");
    assert!(pages[0].title.ends_with("bc 1 < 2 <"), "{}", pages[0].title);
    assert!(!pages[0].title.contains(['\u{202e}', '\u{0}']), "{}", pages[0].title);
    assert_eq!(pages[0].passage.chars().count(), PASSAGE_CHARACTERS_MAX + 1);
}
