//! Which mails start which agent. Pure.

use serde::{Deserialize, Serialize};
use weir_engine::ports::ReceivedMail;

/// Rules of one account, at most.
pub const RULES_MAX: usize = 50;
/// Characters of what a rule looks for.
pub const PATTERN_CHARS_MAX: usize = 200;
/// Characters of a mail that an agent is given.
const GIVEN_CHARS_MAX: usize = 50_000;

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MailRule {
    /// From whom: an address, or `*@example.org`; empty: anybody.
    #[serde(default)]
    pub from: String,
    /// Words that stand in the subject, in any case; empty: any.
    #[serde(default)]
    pub subject: String,
    /// Also mails whose sender nobody vouches for: anybody can write any address.
    #[serde(default)]
    pub unchecked: bool,
    /// Also what programs send by themselves: lists, notices of absence.
    #[serde(default)]
    pub automatic: bool,
    /// The agent may answer the sender once, where the receiving server checked them and nothing but their
    /// mail was read: what it writes goes to them without a question.
    #[serde(default)]
    pub answers: bool,
    /// The scheduled agent that it starts.
    pub agent: String,
}

/// What is wrong with a rule, in words.
pub fn rule_problem(rule: &MailRule) -> Option<String> {
    let long = |text: &str| text.chars().count() > PATTERN_CHARS_MAX;
    if long(&rule.from) || long(&rule.subject) {
        return Some(format!("a rule looks for {PATTERN_CHARS_MAX} characters at most"));
    }
    if rule.agent.trim().is_empty() {
        return Some("a rule needs the agent that it starts".into());
    }
    let from = rule.from.trim();
    (!from.is_empty() && !from.contains('@'))
        .then(|| format!("{from:?} is no sender; write bob@example.org or *@example.org"))
}

/// The first rule that fits.
pub fn first_matching_rule<'a>(rules: &'a [MailRule], mail: &ReceivedMail) -> Option<&'a MailRule> {
    rules.iter().find(|rule| is_rule_match(rule, mail))
}

fn is_rule_match(rule: &MailRule, mail: &ReceivedMail) -> bool {
    if (mail.automatic && !rule.automatic) || (!mail.authenticated && !rule.unchecked) {
        return false;
    }
    let from = rule.from.trim().to_ascii_lowercase();
    let from_fits = match from.strip_prefix("*@") {
        _ if from.is_empty() => true,
        Some(domain) => mail.sender.rsplit_once('@').is_some_and(|(_, of)| of == domain),
        None => mail.sender == from,
    };
    let subject = rule.subject.trim().to_lowercase();
    from_fits && mail.text.subject.to_lowercase().contains(&subject)
}

/// What an agent is given of a mail.
pub fn mail_text_for_agent(mail: &ReceivedMail) -> String {
    let text = &mail.text;
    let checked = match mail.authenticated {
        true => "the receiving server checked it",
        false => "NOT checked: anybody can write any address",
    };
    let mut out = format!("From: {} (sender {checked})\n", text.from);
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&format!("{name}: {value}\n"));
        }
    };
    line("To", &text.to.join(", "));
    line("Reply-To", text.reply_to.as_deref().unwrap_or_default());
    line("Date", &text.date);
    line("Subject", &text.subject);
    line("Message-ID", text.message_id.as_deref().unwrap_or_default());
    line("Attached", &text.attachments.join("; "));
    out.push('\n');
    let whole = text.text.chars().count();
    out.extend(text.text.chars().take(GIVEN_CHARS_MAX));
    if whole > GIVEN_CHARS_MAX {
        out.push_str(&format!("\n[{} more characters were left out]", whole - GIVEN_CHARS_MAX));
    }
    out
}

#[cfg(test)]
mod tests {
    use weir_engine::ports::{MailText, ReceivedMail};

    use super::*;

    fn mail(sender: &str, subject: &str) -> ReceivedMail {
        let text = MailText { subject: subject.into(), ..MailText::default() };
        ReceivedMail { text, sender: sender.into(), authenticated: true, automatic: false }
    }

    fn rule(from: &str, subject: &str) -> MailRule {
        MailRule {
            from: from.into(),
            subject: subject.into(),
            unchecked: false,
            automatic: false,
            answers: false,
            agent: "a".into(),
        }
    }

    #[test]
    fn s16_rules_fit_sender_and_subject() {
        let table = [
            ("", "", "x@y.example", "any", true),
            ("bob@a.example", "", "bob@a.example", "any", true),
            ("Bob@A.example", "", "bob@a.example", "any", true),
            ("bob@a.example", "", "xbob@a.example", "any", false),
            ("bob@a.example", "", "bob@a.example.evil.example", "any", false),
            ("*@a.example", "", "bob@a.example", "any", true),
            ("*@a.example", "", "bob@b.a.example", "any", false),
            ("*@a.example", "", "bob@xa.example", "any", false),
            ("", "invoice", "x@y.example", "Your INVOICE 7", true),
            ("", "invoice", "x@y.example", "other", false),
        ];
        for (from, subject, sender, about, expected) in table {
            let rules = [rule(from, subject)];
            let found = first_matching_rule(&rules, &mail(sender, about)).is_some();
            assert_eq!(found, expected, "{from} {subject} {sender} {about}");
        }
    }

    #[test]
    fn z11_a_spoofed_sender_starts_nothing() {
        let spoofed = ReceivedMail { authenticated: false, ..mail("bob@a.example", "x") };
        assert!(first_matching_rule(&[rule("bob@a.example", "")], &spoofed).is_none());
        assert!(first_matching_rule(&[rule("", "")], &spoofed).is_none());
        let open = MailRule { unchecked: true, ..rule("", "") };
        assert!(first_matching_rule(&[open], &spoofed).is_some());
        assert!(mail_text_for_agent(&spoofed).contains("NOT checked"));
    }

    #[test]
    fn s16_programs_do_not_answer_programs() {
        let automatic = ReceivedMail { automatic: true, ..mail("bob@a.example", "x") };
        assert!(first_matching_rule(&[rule("", "")], &automatic).is_none());
        let also = MailRule { automatic: true, ..rule("", "") };
        assert!(first_matching_rule(&[also], &automatic).is_some());
    }

    #[test]
    fn s16_a_rule_says_what_is_wrong_with_it() {
        assert!(rule_problem(&rule("", "")).is_none());
        assert!(rule_problem(&rule("bob", "")).is_some());
        assert!(rule_problem(&rule("", &"x".repeat(201))).is_some());
        assert!(rule_problem(&MailRule { agent: " ".into(), ..rule("", "") }).is_some());
    }
}
