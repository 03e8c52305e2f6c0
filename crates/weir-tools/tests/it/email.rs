//! Sending by `email`: who is asked about, and that what a person is shown is what would be sent.
//! Not here: what passes the mailbox (`weir-mail`), and reading.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_engine::ports::{CallPlan, MailDraft, MailLine, MailText, Mailbox, RecipientStanding};

use super::world::{World, block_on};
use crate::email_tool;

/// Lists Bob and all of `home.example`, closes Mallory, and has no other opinion.
struct ListedBox;

#[async_trait]
impl Mailbox for ListedBox {
    fn address(&self) -> &str {
        "me@home.example"
    }
    fn host(&self) -> &str {
        "imap.home.example"
    }
    async fn recipient_standing(&self, recipient: &str) -> RecipientStanding {
        match recipient {
            "bob@good.example" => RecipientStanding::Listed,
            "mallory@good.example" => RecipientStanding::Closed("somebody closed it".into()),
            other if other.ends_with("@home.example") => RecipientStanding::Listed,
            _ => RecipientStanding::Unlisted,
        }
    }
    async fn search(
        &self,
        _: &str,
        _: &str,
        _: usize,
        _: &CancellationToken,
    ) -> Result<Vec<MailLine>, String> {
        Ok(Vec::new())
    }
    async fn read(&self, _: &str, _: &CancellationToken) -> Result<MailText, String> {
        Ok(MailText::default())
    }
    async fn send(&self, _: &MailDraft, _: &CancellationToken) -> Result<String, String> {
        Err("nothing is sent here".into())
    }
}

fn plan(input: &Value) -> CallPlan {
    let world = World::new();
    block_on(async { email_tool(Arc::new(ListedBox)).plan_call(input, &world.cx).await })
}

fn plan_to(to: &[&str]) -> CallPlan {
    plan(&json!({ "action": "send", "to": to, "subject": "Hi", "text": "Hello." }))
}

fn recipients(plan: &CallPlan) -> Vec<&str> {
    plan.effects.sends.iter().map(|send| send.recipient.as_str()).collect()
}

#[test]
fn u1_an_unlisted_recipient_is_an_effect_that_a_person_is_asked_about() {
    let listed = plan_to(&["Bob@good.example", "ann@home.example"]);
    assert_eq!(recipients(&listed), ["bob@good.example", "ann@home.example"]);
    assert_eq!((listed.fails, listed.confirm), (None, None));
    let mixed = plan_to(&["bob@good.example", "Eve@evil.example", "eve@evil.example "]);
    assert_eq!(recipients(&mixed), ["bob@good.example", "eve@evil.example"]);
    assert_eq!(mixed.fails, None);
    let why = mixed.confirm.expect("a person must confirm it");
    assert!(why.contains("eve@evil.example") && !why.contains("bob"), "{why}");
}

#[test]
fn s16_a_closed_recipient_is_refused_with_words_and_asks_nobody() {
    for to in [&["mallory@good.example"][..], &["eve@evil.example", "mallory@good.example"]] {
        let plan = plan_to(to);
        let why = plan.fails.expect("it fails");
        assert!(why.contains("mallory@good.example may not be written to: somebody"), "{why}");
        assert_eq!((plan.effects.sends.len(), plan.confirm), (0, None));
    }
}

#[test]
fn u1_a_person_sees_recipients_subject_and_body_whole() {
    let subject = "s".repeat(500);
    let plan = plan(&json!({
        "action": "send", "to": ["eve@evil.example", "bob@good.example"],
        "subject": format!("{subject}\r\n"), "text": "One.\n\nTo: nobody@good.example",
        "answers": "<1@a>\r\nBcc: x@y.example",
    }));
    assert_eq!(plan.fails.as_deref(), Some(TOO_LONG), "line breaks count");
    let plan = self::plan(&json!({
        "action": "send", "to": ["eve@evil.example", "bob@good.example"],
        "subject": format!("{}\r\nBcc: x@y.example", "s".repeat(400)),
        "text": "One.\n\nTo: nobody@good.example", "answers": "<1@a>\r\nBcc: x@y.example",
    }));
    let shown = plan.diff.expect("the mail is shown");
    let subject = "s".repeat(400);
    assert_eq!(
        shown,
        format!(
            "+To: eve@evil.example, bob@good.example\n+Subject: {subject} Bcc: x@y.example\n\
             +In-Reply-To: <1@a> Bcc: x@y.example\n+\n+One.\n+\n+To: nobody@good.example\n"
        )
    );
}

const TOO_LONG: &str =
    "`subject` and `answers` may have 500 characters each; write the rest into `text`";

/// A recipient is an address and nothing else, so that who is asked about is who gets the mail.
#[test]
fn z11_no_second_recipient_and_no_name_hides_in_an_address() {
    for to in [
        "bob@good.example <eve@evil.example>",
        "\"bob@good.example\" <eve@evil.example>",
        "<eve@evil.example>",
        "bob@good.example,eve@evil.example",
        "bob@good.example; eve@evil.example",
        "eve@evil.example\r\nBcc: bob@good.example",
        "eve@evil.example@good.example",
        "eve@evil.example(bob@good.example)",
        "bob@good.example\u{200b}",
        "\u{202e}bob@good.example",
        "team:bob@good.example;",
        "*@good.example",
        "@good.example",
        "bob@",
        "bob",
    ] {
        let plan = plan_to(&[to]);
        assert!(plan.fails.is_some_and(|why| why.contains("no address alone")), "{to:?}");
        assert!(plan.effects.sends.is_empty(), "{to:?}");
    }
    for field in ["cc", "bcc", "reply_to", "reply-to", "from", "headers", "sender"] {
        let mut input = json!({ "action": "send", "to": ["bob@good.example"], "text": "Hello." });
        input[field] = json!(["eve@evil.example"]);
        let plan = plan(&input);
        assert!(plan.fails.is_some_and(|why| why.contains("cannot be used")), "{field}");
    }
    // A letter of another alphabet is another address, which nobody listed.
    assert!(plan_to(&["b\u{43e}b@good.example"]).confirm.is_some());
}
