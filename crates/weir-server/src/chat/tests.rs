//! The fold on the journals of the scenarios, and on text that streams between the facts: a page that
//! was open from any place on shows what a page shows that is loaded at the end.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use weir_core::event::{ApprovalRequested, Event};
use weir_core::ids::SessionId;
use weir_engine::hub::{PublishedFact, SessionUpdate, SignalKind};
use weir_scenario::parse::parse;
use weir_scenario::play::{Depth, play};

use super::{ChatFold, ChatView, PageOperation, PageTranscript};

mod window;

/// Places in one journal from which a page is followed.
const PLACES_MAX: usize = 8;

fn view() -> ChatView {
    ChatView { session: SessionId::new("s1"), csrf: "token".into(), acts: true, back: None }
}

/// What a browser has: regions of elements with their ids, and single elements.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Page {
    log: Vec<(String, String)>,
    queue: Vec<(String, String)>,
    asks: Vec<(String, String)>,
    single: Vec<(String, String)>,
}

/// The id of the first element of some HTML.
fn id_of(html: &str) -> String {
    let tag = &html[..html.find('>').expect("an element")];
    let at = tag.find(" id=\"").expect("an id") + 5;
    tag[at..].split('"').next().expect("a value").to_owned()
}

impl Page {
    /// The page as the server makes it.
    fn loaded(transcript: &PageTranscript) -> Page {
        let view = view();
        let mut log = Vec::new();
        for n in 0..transcript.len() {
            let html = transcript.render_entries(&view, n, n + 1).into_string();
            log.push((id_of(&html), html));
        }
        let one = |html: String| (id_of(&html), html);
        Page {
            log,
            queue: transcript.each_queued(&view).into_iter().map(one).collect(),
            asks: transcript.each_ask(&view).into_iter().map(one).collect(),
            single: [
                transcript.render_status(&view),
                transcript.render_plan(&view),
                transcript.render_banner(&view),
            ]
            .map(|html| one(html.into_string()))
            .into(),
        }
    }

    /// What a browser does with a step, as it comes over the wire.
    fn apply(&mut self, op: &PageOperation) {
        let op: Value = serde_json::to_value(op).expect("a step is JSON");
        let text = |name: &str| op[name].as_str().unwrap_or_default().to_owned();
        let (id, html) = (text("id"), text("html"));
        if id.starts_with("live-") && (id.contains("-text") || id.contains("-thinking")) {
            // Within an entry that is being written: it goes with that entry.
            assert!(self.log.iter().any(|(known, _)| id.starts_with(known)), "{id} has a place");
            return;
        }
        if id.ends_with("-out") {
            return;
        }
        match text("op").as_str() {
            "append" => {
                let region = match id.as_str() {
                    "log" => &mut self.log,
                    "queue" => &mut self.queue,
                    "asks" => &mut self.asks,
                    other => panic!("there is no region {other}"),
                };
                let new = id_of(&html);
                assert!(region.iter().all(|(known, _)| *known != new), "{new} is there twice");
                region.push((new, html));
            }
            "replace" => {
                let found = self.places().find(|(known, _)| *known == id);
                let place = found.unwrap_or_else(|| panic!("{id} is not there"));
                *place = (id_of(&html), html);
            }
            "remove" => {
                assert!(self.places().any(|(known, _)| *known == id), "{id} is not there");
                for region in [&mut self.log, &mut self.queue, &mut self.asks] {
                    region.retain(|(known, _)| *known != id);
                }
            }
            other => panic!("there is no step {other}"),
        }
    }

    fn places(&mut self) -> impl Iterator<Item = &mut (String, String)> {
        let lists = [&mut self.log, &mut self.queue, &mut self.asks, &mut self.single];
        lists.into_iter().flatten()
    }
}

/// What streams before the fact that tells it: the words of a reply, a few letters at a time.
fn streamed(event: &Event) -> Vec<SessionUpdate> {
    let Event::ModelReplied(fact) = event else { return Vec::new() };
    let text = weir_core::message::plain_text(&fact.content);
    let letters: Vec<char> = text.chars().collect();
    let piece = |part: &[char]| SessionUpdate::Signal {
        kind: SignalKind::Text,
        subject: fact.turn.to_string(),
        text: part.iter().collect(),
    };
    letters.chunks(7).map(piece).collect()
}

/// The page that was open from the fact `from` on.
fn followed(facts: &[PublishedFact], from: usize, streams: bool) -> Page {
    let (mut fold, mut transcript) = (ChatFold::new(view()), PageTranscript::default());
    for fact in &facts[..from] {
        transcript.apply_operations(fold.apply_fact(fact));
    }
    let mut page = Page::loaded(&transcript);
    // A connection folds anew: it was told nothing of what the page has.
    let mut fold = ChatFold::new(view());
    for fact in &facts[..from] {
        fold.apply_update(&SessionUpdate::Fact(fact.clone()));
    }
    for fact in &facts[from..] {
        if streams {
            for (n, signal) in streamed(&fact.event).iter().enumerate() {
                assert!(fold.apply_update(signal).is_empty(), "signals are gathered");
                if n % 2 == 0 {
                    fold.flush_signals().iter().for_each(|op| page.apply(op));
                }
            }
        }
        fold.apply_update(&SessionUpdate::Fact(fact.clone())).iter().for_each(|op| page.apply(op));
        assert!(
            fold.flush_signals().iter().all(|op| !format!("{op:?}").contains("Writing(")),
            "{fact:?}"
        );
    }
    page
}

fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut found = Vec::new();
    for group in ["loop", "gate", "context", "agents", "memory", "recipes", "prompt"] {
        let files = std::fs::read_dir(folder.join(group)).expect("scenarios are there");
        let files = files.map(|file| file.expect("it can be read").path());
        found.extend(files.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    found.sort();
    found
}

/// The page at the end is the same from wherever it was open.
fn check(name: &str, facts: &[PublishedFact]) {
    let whole = followed(facts, facts.len(), false);
    let ids: std::collections::BTreeSet<_> = whole.log.iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), whole.log.len(), "{name}: every entry has an id of its own");
    // Long journals repeat themselves: a few places of theirs will do.
    for from in (0..facts.len()).step_by(facts.len().div_ceil(PLACES_MAX).max(1)) {
        for streams in [false, true] {
            let page = followed(facts, from, streams);
            assert!(page == whole, "{name} from {from}, streams {streams}:\n{page:#?}\n{whole:#?}");
        }
    }
}

#[test]
fn s11_a_page_that_was_open_shows_what_a_page_shows_that_is_loaded() {
    let mut count = 0;
    for path in scenarios() {
        let text = std::fs::read_to_string(&path).expect("a scenario is text");
        // What is no scenario of a session is another suite's.
        let Ok(scenario) = parse(&text) else { continue };
        let Ok(played) = play(&scenario, Depth::Memory, 0) else { continue };
        check(&path.display().to_string(), &played.facts);
        count += 1;
    }
    assert!(count >= 60, "only {count} scenarios were played");
}

fn fact(seq: u64, kind: &str, payload: &Value) -> PublishedFact {
    let event = Event::from_payload(kind, &payload.to_string()).expect("a fact");
    PublishedFact { seq, ts: weir_core::ids::Timestamp(1_700_000_000_000_000), event: event.into() }
}

#[test]
fn s11_what_somebody_wrote_is_text_and_nothing_else() {
    let evil = "<script>x</script><img src=x onerror=y>\"'\u{202E}";
    let block = serde_json::json!([{ "type": "text", "text": evil }]);
    let facts = [
        fact(
            1,
            "input.accepted",
            &serde_json::json!({ "input": "i1", "content": block, "by": evil }),
        ),
        fact(2, "run.started", &serde_json::json!({ "run": "r1", "trigger": "user" })),
        fact(
            3,
            "model.replied",
            &serde_json::json!({
            "turn": "t1", "content": block, "stop": "end", "usage": { "input": 1, "output": 1 } }),
        ),
        fact(
            4,
            "call.proposed",
            &serde_json::json!({
            "call": "c1", "turn": "t1", "tool": evil, "input": { evil: evil } }),
        ),
        fact(
            5,
            "question.asked",
            &serde_json::json!({
            "question": evil, "call": "c1", "text": evil, "options": [evil], "multiple": true }),
        ),
        fact(6, "alert.raised", &serde_json::json!({ "alert": evil, "detail": evil })),
        fact(7, "call.unknown", &serde_json::json!({ "call": "c1", "tool": evil, "reason": evil })),
    ];
    let page = followed(&facts, 0, true);
    let all = format!("{page:?}");
    for wrong in ["<script", "<img", "\u{202E}"] {
        assert!(!all.contains(wrong), "{wrong} in {all}");
    }
    assert!(all.contains("&lt;script&gt;"), "{all}");
}

#[test]
fn d4_the_banner_loses_only_what_a_question_told_of() {
    let mut facts = Vec::new();
    let mut add = |kind: &str, payload: &Value| {
        let seq = facts.len() as u64 + 1;
        facts.push(fact(seq, kind, payload));
    };
    for call in ["c1", "c2"] {
        let unknown =
            serde_json::json!({ "call": call, "tool": "run_shell", "reason": "It ended." });
        add("call.unknown", &unknown);
    }
    for (approval, told, decision) in
        [("a1", vec![], "once"), ("a2", vec!["c1"], "deny"), ("a3", vec!["c1"], "once")]
    {
        let asked = serde_json::json!({
            "approval": approval, "call": "c3", "tool": "run_shell", "input": {}, "summary": "Run",
            "reason": "asked", "binds": "x", "unknown": told,
        });
        add("approval.requested", &asked);
        let answered = serde_json::json!({
            "approval": approval, "call": "c3", "decision": decision, "by": "person",
        });
        add("approval.resolved", &answered);
    }
    let shown = |until: usize| {
        let page = followed(&facts[..until], until / 2, false);
        let banner = page.single.iter().find(|(id, _)| id == "banner").expect("a banner");
        ["#e1", "#e2"].map(|place| banner.1.contains(place))
    };
    assert_eq!(shown(4), [true, true], "the first question told of nothing");
    assert_eq!(shown(6), [true, true], "a no settles nothing");
    assert_eq!(shown(8), [false, true]);
}

#[test]
fn s17_a_reply_that_is_begun_again_elsewhere_stands_there_once() {
    let asked = serde_json::json!({
        "turn": "t1", "provider": "script", "model": "m", "bytes": 1, "prefix_bytes": 0,
        "tokens_estimated": 1 });
    let block = serde_json::json!([{ "type": "text", "text": "Another answer." }]);
    let facts = [
        fact(1, "run.started", &serde_json::json!({ "run": "r1", "trigger": "user" })),
        fact(2, "model.requested", &asked),
        fact(3, "session.resumed", &serde_json::json!({ "engine": "x", "run": "r1" })),
        fact(4, "model.requested", &asked),
        fact(
            5,
            "model.replied",
            &serde_json::json!({
            "turn": "t1", "content": block, "stop": "end", "usage": { "input": 1, "output": 1 } }),
        ),
    ];
    let mut fold = ChatFold::new(view());
    let mut page = Page::loaded(&PageTranscript::default());
    for told in &facts {
        fold.apply_update(&SessionUpdate::Fact(told.clone())).iter().for_each(|op| page.apply(op));
        if told.seq == 2 || told.seq == 4 {
            let (subject, text) = ("t1".to_owned(), format!("Streamed after {}.", told.seq));
            fold.apply_update(&SessionUpdate::Signal { kind: SignalKind::Text, subject, text });
            fold.flush_signals().iter().for_each(|op| page.apply(op));
            let writing = page.log.iter().filter(|(id, _)| id.starts_with("live-")).count();
            assert_eq!(writing, 1, "{page:#?}");
        }
    }
    assert_eq!(page.log, followed(&facts, facts.len(), false).log);
}

#[test]
fn s11_a_picture_that_the_model_made_stands_there_once() {
    let picture = |blob: &str| {
        let media = serde_json::json!({ "media_type": "image/png", "blob": blob, "bytes": 1 });
        serde_json::json!({ "type": "image", "media": media })
    };
    let (known, other) = ("a".repeat(64), "b".repeat(64));
    let produced =
        |blob: &str| serde_json::json!({ "turn": "t1", "media_type": "image/png", "blob": blob });
    let facts = [
        fact(1, "run.started", &serde_json::json!({ "run": "r1", "trigger": "user" })),
        fact(
            2,
            "model.replied",
            &serde_json::json!({
            "turn": "t1", "content": [picture(&known)], "stop": "end",
            "usage": { "input": 1, "output": 1 } }),
        ),
        fact(3, "image.produced", &produced(&known)),
        // One that no reply shows has its own place.
        fact(4, "image.produced", &produced(&other)),
    ];
    let page = format!("{:?}", followed(&facts, facts.len(), false));
    assert_eq!(page.matches("<img").count(), 2, "{page}");
    check("pictures", &facts);
}

#[test]
fn s7_a_link_to_any_fact_leads_to_an_entry() {
    let block = serde_json::json!([{ "type": "text", "text": "Words." }]);
    let said = |seq: u64| {
        let input = format!("i{seq}");
        let payload = serde_json::json!({ "input": input, "content": block, "by": "ann" });
        fact(seq, "input.accepted", &payload)
    };
    let run = serde_json::json!({ "run": "r1", "trigger": "user" });
    let (mut fold, mut transcript) = (ChatFold::new(view()), PageTranscript::default());
    for told in [said(3), fact(4, "run.started", &run), said(9)] {
        transcript.apply_operations(fold.apply_fact(&told));
    }
    let at =
        |id: &str| transcript.nearest_entry_index(id).and_then(|place| transcript.id_at(place));
    for (wanted, found) in [("e3", Some("e3")), ("e4", Some("e3")), ("e1", None), ("x", None)] {
        assert_eq!(at(wanted), found, "{wanted}");
    }
}

#[test]
fn u8_each_of_several_steps_has_a_row_and_all_of_it_behind() {
    let line = |step: u32| {
        json!({
            "call": format!("c{step}"), "step": step, "tool": "email", "reason": "mode <ask>",
            "input": { "text": format!("words {step}") }, "summary": "Send <it>",
            "reaches": [{ "to": "ada@x.example", "from": "agent" }],
        })
    };
    let asked: ApprovalRequested = serde_json::from_value(json!({
        "approval": "s1-a1", "call": "c1", "tool": "run_program", "input": {}, "binds": "x",
        "summary": "2 steps of one program", "reason": "at once", "lines": [line(1), line(2)],
    }))
    .expect("an approval");
    let card = super::ask::approval_card(&view(), &asked, &[]).into_string();
    for step in 1..=2 {
        let row = format!("{step}. email → ada@x.example (the agent chose it): Send &lt;it&gt;");
        assert!(card.contains(&row), "{card}");
        assert!(card.contains(&format!("words {step}")), "{card}");
    }
    assert!(!card.contains("value=\"session\""), "{card}");
}

#[test]
fn u13_a_grant_is_named_and_what_was_often_allowed_stands_first() {
    let card = |often: bool| {
        let asked: ApprovalRequested = serde_json::from_value(json!({
            "approval": "s1-a1", "call": "c1", "tool": "run_shell", "input": {}, "binds": "x",
            "summary": "Run cargo add", "reason": "network", "often": often,
            "rules": [{"action": "allow", "rule": "Web(crates.io)", "source": "x"}],
            "grant": {"name": "crates.io for cargo", "hosts": ["crates.io"], "commands": []},
        }))
        .expect("an approval");
        super::ask::approval_card(&view(), &asked, &[]).into_string()
    };
    for (often, first, second) in [(false, "once", "session"), (true, "session", "once")] {
        let card = card(often);
        assert!(card.contains("grants <strong>crates.io for cargo (crates.io)</strong>"), "{card}");
        let place = |answer: &str| card.find(&format!("value=\"{answer}\"")).expect(answer);
        assert!(place(first) < place(second), "{card}");
        let main = format!("btn primary\" type=\"submit\" name=\"decision\" value=\"{first}\"");
        assert!(card.contains(&main), "{card}");
        assert_eq!(card.contains("three times or more"), often);
    }
}
