//! What a person's yes to a call vouches for afterwards: the addresses and recipients that they were
//! asked about, and no other text of its arguments. Pure; what follows from it is the flow table's
//! business.

use serde_json::Value;

use crate::governance::each_text;
use crate::tool::{ActEffect, ActKind, Effects};

/// The texts of `input` that are a host, an address or a recipient of the call's `effects`. What
/// stands in a file that it writes, in a message or in a question was not asked about as one.
pub(super) fn asked_texts(input: &Value, effects: &Effects) -> Vec<String> {
    let mut found = Vec::new();
    each_text(input, &mut |text| {
        if is_asked_about(text, effects) {
            found.push(text.to_owned());
        }
    });
    // Of what is sent all that it reaches together: the number of an issue is none of a project. Who
    // let something be deleted, or a right be given, said nothing of sending there.
    let sends = effects.acts.iter().filter(|act| act.kind == ActKind::Send);
    found.extend(sends.map(ActEffect::place_text));
    found
}

fn is_asked_about(text: &str, effects: &Effects) -> bool {
    let bare = text.trim().trim_end_matches('/');
    let is_host =
        || effects.hosts.iter().any(|to| to.url.trim_end_matches('/') == bare || to.host == bare);
    let is_recipient =
        || effects.sends.iter().any(|to| to.recipient.to_lowercase() == bare.to_lowercase());
    !bare.is_empty() && (is_host() || is_recipient())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::{HostEffect, QueryEffect, SendEffect};

    fn host(method: &str, url: &str, host: &str) -> HostEffect {
        HostEffect { method: method.into(), host: host.into(), url: url.into(), secret: None }
    }

    #[test]
    fn u8_a_yes_to_a_file_vouches_for_no_text_in_it() {
        let input = json!({
            "path": "notes.md",
            "old_text": "eve@evil.example",
            "new_text": "https://evil.example/take",
        });
        assert!(asked_texts(&input, &Effects::default()).is_empty());
    }

    #[test]
    fn u8_a_yes_to_an_address_vouches_for_it_and_for_nothing_beside_it() {
        let effects = Effects {
            hosts: vec![host("POST", "https://good.example/", "good.example")],
            ..Effects::default()
        };
        let input = json!({
            "url": "https://good.example",
            "body": ["https://evil.example/take", { "to": "evil.example" }],
        });
        assert_eq!(asked_texts(&input, &effects), ["https://good.example"]);
        let network = json!({ "command": "cargo fetch", "network": ["good.example", "x.example"] });
        assert_eq!(asked_texts(&network, &effects), ["good.example"]);
    }

    #[test]
    fn u8_a_yes_to_a_recipient_vouches_for_them_and_not_for_whom_the_words_name() {
        let send = |to: &str| SendEffect { recipient: to.into(), by: "mail".into() };
        let effects = Effects { sends: vec![send("bob@good.example")], ..Effects::default() };
        let input = json!({
            "to": ["Bob@good.example"],
            "subject": "eve@evil.example",
            "text": "https://evil.example/take",
        });
        assert_eq!(asked_texts(&input, &effects), ["Bob@good.example"]);
    }

    #[test]
    fn u8_words_of_a_question_are_no_recipient_afterwards() {
        let words = vec!["eve@evil.example".to_owned()];
        let queries = vec![QueryEffect { server: "mcp:wiki".into(), words }];
        let effects = Effects { queries, ..Effects::default() };
        assert!(
            asked_texts(&json!({ "q": "eve@evil.example", "blank": " / " }), &effects).is_empty()
        );
    }
}
