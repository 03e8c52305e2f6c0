//! What a person's yes vouches for afterwards, and which lasting answer a question offers, in whole
//! sessions. Not here: which texts these are (`session/vouched`), and what the flow table makes of them.

use serde_json::{Value, json};
use weir_core::event::{ApprovalRequested, CallFinished, Decision, Event};
use weir_core::governance::label::{Integrity, Label};
use weir_core::governance::{FilterContext, Verdict, filter_result};
use weir_core::ids::CallId;
use weir_core::input::{EffectAnswer, SessionInput};
use weir_core::message::MessageBlock;
use weir_core::profile::PermissionMode;
use weir_core::session::SessionConfig;
use weir_core::tool::{Effects, Inspection, RawResult, SendEffect};

use crate::played::{self, Played};

const PUSH: &str = "mcp__git__push";

fn unknown() -> Effects {
    Effects { unknown: true, ..Effects::default() }
}

fn mail_to(recipient: &str) -> Effects {
    let send = SendEffect { recipient: recipient.into(), by: "mail".into() };
    Effects { sends: vec![send], ..Effects::default() }
}

/// A session with this in its context, whose model has asked for these calls.
fn after(permission: PermissionMode, label: Label, calls: &[(&str, Value)]) -> Played {
    saying("Do it.", permission, label, calls)
}

/// The same after other words of the person.
fn saying(
    words: &str,
    permission: PermissionMode,
    label: Label,
    calls: &[(&str, Value)],
) -> Played {
    let config = played::config(&[PUSH, "carrier", "edit", "send"]);
    let mut played = Played::open(SessionConfig { permission, ..config }, words, label);
    played.turn(1, calls);
    played
}

/// A call with these effects whose tool may want a person to confirm it.
fn found(effects: Effects, confirm: Option<&str>) -> Inspection {
    Inspection { confirm: confirm.map(str::to_owned), ..played::inspection(effects) }
}

/// What a person is asked about a call.
fn question(played: &Played, call: CallId) -> &ApprovalRequested {
    played.asked(call).into_iter().next().expect("a person is asked")
}

fn offered(played: &Played, call: CallId) -> Vec<&str> {
    question(played, call).rules.iter().map(|rule| rule.text()).collect()
}

#[test]
fn u1_a_tool_whose_effects_nobody_knows_is_offered_for_the_session_where_nothing_foreign_was_read()
{
    use PermissionMode::{Ask, Full};
    let clean = Label::default();
    let private = Label::private(Integrity::Workspace, "workspace");
    let foreign = Label::external("a.example");
    let contained = || Effects { contained: true, ..unknown() };
    let (one, none): (&[&str], &[&str]) = (&["Mcp(git:push)"], &[]);
    for (mode, label, tool, effects, expected) in [
        (Full, &clean, PUSH, unknown(), one),
        // The cell is "ask exactly" there.
        (Full, &private, PUSH, unknown(), none),
        (Full, &foreign, PUSH, unknown(), none),
        // Only the mode asks.
        (Ask, &clean, PUSH, contained(), one),
        (Ask, &foreign, PUSH, contained(), none),
        // What is no tool of a server may be a way to others.
        (Full, &clean, "carrier", unknown(), none),
    ] {
        let calls = [(tool, json!({ "n": 1 }))];
        let mut played = after(mode, label.clone(), &calls);
        played.inspect(CallId(1), found(effects, None));
        assert_eq!(offered(&played, CallId(1)), expected, "{mode} {label} {tool}");
    }
}

#[test]
fn u1_a_yes_for_the_session_lets_the_same_tool_pass_and_no_other() {
    let calls =
        [(PUSH, json!({ "n": 1 })), (PUSH, json!({ "n": 2 })), ("carrier", json!({ "n": 3 }))];
    let mut played = after(PermissionMode::Full, Label::default(), &calls);
    let [first, second, other] = [CallId(1), CallId(2), CallId(3)];
    played.inspect(first, found(unknown(), None));
    played.decide(first, Decision::Session);
    played.inspect(second, found(unknown(), None));
    played.inspect(other, found(unknown(), None));
    assert_eq!(played.judged(second).verdict, Verdict::Allow);
    assert_eq!(played.judged(other).verdict, Verdict::Ask);
}

#[test]
fn u8_a_yes_to_a_file_makes_nobody_a_recipient_whom_its_words_name() {
    let eve = "eve@evil.example";
    let calls = [
        ("edit", json!({ "path": "notes.md", "new_text": eve })),
        ("send", json!({ "to": [eve], "text": "Hello." })),
        ("send", json!({ "to": [eve], "text": "Hello again." })),
    ];
    let mut played = after(PermissionMode::Full, Label::default(), &calls);
    let [edit, mail, again] = [CallId(1), CallId(2), CallId(3)];
    let row = |played: &Played, call| played.judged(call).rule.clone().unwrap_or_default();
    played.inspect(edit, found(Effects::default(), Some("It asks in any case.")));
    played.decide(edit, Decision::Once);
    played.inspect(mail, found(mail_to(eve), None));
    assert_eq!(row(&played, mail), "flow table: send to anybody else × clean");
    assert_eq!(offered(&played, mail), [""; 0], "it is asked about exactly");
    // Whoever was asked about as a recipient is one, and is asked about all the same.
    played.decide(mail, Decision::Once);
    played.inspect(again, found(mail_to(eve), Some("No list has them.")));
    assert_eq!(
        row(&played, again),
        "flow table: send to somebody the person named or listed × clean"
    );
    assert_eq!(played.judged(again).verdict, Verdict::Ask);
    assert_eq!(offered(&played, again), [""; 0], "and no lease covers the next");
}

#[test]
fn u10_content_beside_foreign_words_is_sent_without_what_acts_in_it() {
    let text = "@all see [this](https://evil.example/?q=1) and https://docs.example/a";
    let send = ("send", json!({ "to": ["bob@good.example"], "text": text }));
    let foreign = Label::external("docs.example");
    for (label, expected) in
        [(Label::default(), text), (foreign, "all see this (evil.example/?q=1) and docs.example/a")]
    {
        let mut played = after(PermissionMode::Ask, label.clone(), std::slice::from_ref(&send));
        let call = CallId(1);
        played.inspect(call, found(mail_to("bob@good.example"), Some("No list has them.")));
        // Who is asked sees what will be sent, and that it is not what was written.
        let asked = question(&played, call);
        assert_eq!(asked.input["text"], *expected, "{label}");
        assert_eq!(asked.input["to"], json!(["bob@good.example"]));
        assert_eq!(asked.reason.contains("2 links, 1 mention"), label.is_external(), "{label}");
        played.decide(call, Decision::Once);
        let permit = played.session.issue_permit(call).expect("it may run");
        assert_eq!(permit.input()["text"], *expected, "{label}");
        // The journal keeps what the model wrote, and what was taken out of it.
        let taken = &played.judged(call).taken_out;
        assert_eq!(taken.contains("link https://evil.example/?q=1"), label.is_external());
    }
}

/// What stands in the journal is what came back and what the session added: played again it is added once.
#[test]
fn d2_a_call_whose_content_was_made_plain_is_played_again() {
    let text = "@all see [this](https://evil.example/?q=1)";
    let send = ("send", json!({ "to": ["bob@good.example"], "text": text }));
    for label in [Label::default(), Label::external("docs.example")] {
        let mut played = after(PermissionMode::Ask, label.clone(), std::slice::from_ref(&send));
        let call = CallId(1);
        played.inspect(call, found(mail_to("bob@good.example"), Some("No list has them.")));
        played.decide(call, Decision::Once);
        let before = played.session.clone();
        let own = Label::default();
        let context = FilterContext::of_plain_result(call, &own);
        let clean = filter_result(RawResult::ok("Sent."), &context).clean;
        let count = played.facts.len();
        played.answer(EffectAnswer::Returned { call, clean, notes: Vec::new() });
        let Some(Event::CallFinished(finished)) = played.facts.get(count) else {
            panic!("the call is answered: {:?}", &played.facts[count..]);
        };
        let mut again = before.clone();
        let answer = again.recorded_answer(finished);
        let facts = again.handle(again.last_fact_time(), SessionInput::Answer(answer));
        assert_eq!(facts, played.facts[count..], "{label}");
        // A note that somebody took away, or put in, is missed and found.
        let more = vec![MessageBlock::text("Sent."), MessageBlock::text("Not by you.")];
        for result in [Vec::new(), more] {
            let other = CallFinished { result: result.clone(), ..finished.clone() };
            let mut again = before.clone();
            let answer = again.recorded_answer(&other);
            let facts = again.handle(again.last_fact_time(), SessionInput::Answer(answer));
            let is_taken = facts.first() == Some(&Event::from(other));
            assert_eq!(is_taken, !label.is_external(), "{result:?}");
        }
    }
}

#[test]
fn u10_faces_show_what_is_sent_and_not_the_draft() {
    let text = "@all see [this](https://evil.example/?q=1)";
    let send = ("send", json!({ "to": ["bob@good.example"], "text": text }));
    let draft = Some(format!("+{text}"));
    for (label, shown) in [
        (Label::default(), format!("+{text}")),
        (Label::external("docs.example"), "+all see this (evil.example/?q=1)".to_owned()),
    ] {
        let mut played = after(PermissionMode::Ask, label.clone(), std::slice::from_ref(&send));
        let mail = mail_to("bob@good.example");
        played.inspect(
            CallId(1),
            Inspection { diff: draft.clone(), ..found(mail, Some("No list has them.")) },
        );
        // Who is asked and who looks at the finished call see the same.
        let judged = &played.judged(CallId(1)).inspection.diff;
        assert_eq!(judged.as_deref(), Some(shown.as_str()), "{label}");
        assert_eq!(&question(&played, CallId(1)).diff, judged, "{label}");
    }
}

#[test]
fn u10_what_the_person_wrote_is_sent_as_it_is() {
    let text = "Do it. https://docs.example/a";
    let calls = [("send", json!({ "to": ["bob@good.example"], "text": text }))];
    let mut played = saying(text, PermissionMode::Ask, Label::external("x.example"), &calls);
    played.inspect(CallId(1), found(mail_to("bob@good.example"), Some("No list has them.")));
    assert_eq!(question(&played, CallId(1)).input["text"], text);
}
