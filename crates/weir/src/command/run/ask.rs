//! Asks the person at the terminal: approvals and questions on standard error, answers from
//! standard input; and hears what was answered elsewhere (G4). Fails closed: what is not clearly a
//! yes is a no, and where nobody is left to ask, nobody says yes.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_core::event::{
    AgentAnswered, ApprovalRequested, ApprovalResolved, Decision, Event, NOBODY, QuestionAnswered,
    QuestionAsked,
};
use weir_core::governance::lease::LeaseTerms;
use weir_core::ids::{ApprovalId, QuestionId};
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::view::plain::visible_text;
use weir_core::view::told::{OFTEN_ASKED, bound_rules_text, grant_text, offers_always};
use weir_engine::engine::{EngineError, SessionHandle, load};
use weir_install::context::InstallationContext;

use super::keyboard::StdinTerminal;
use crate::command::approvals::{
    DIFF_LINES_MAX, describe_answer_words, describe_approval_request, describe_decision,
    join_rules, resolve_typed_choice,
};
use crate::failure::engine_failure;
use crate::options::parse_time_span;
use crate::terminal;

/// The name of who sits at this terminal.
const PERSON: &str = "person";

/// Who answers what asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::command) enum ApprovalAnswerer {
    /// Nobody: it is denied at once (C2).
    Nobody,
    /// The person at this terminal, or whoever is quicker elsewhere.
    Here,
    /// Whoever answers with `weir approvals answer`; said here unless it is to be quiet.
    Elsewhere {
        /// Nothing is said.
        quiet: bool,
    },
}

impl ApprovalAnswerer {
    /// Whether somebody can be asked.
    pub(in crate::command) fn is_attended(self) -> bool {
        self != ApprovalAnswerer::Nobody
    }
}

/// What is put to the person.
#[derive(Clone)]
enum PersonPrompt {
    /// With the sub-agents on the way to the one that asks.
    Approval(Box<ApprovalRequested>, Vec<String>),
    Question(QuestionAsked),
}

impl PersonPrompt {
    fn is_approval(&self, id: &ApprovalId) -> bool {
        matches!(self, PersonPrompt::Approval(f, _) if f.approval == *id)
    }

    fn is_question(&self, id: &QuestionId) -> bool {
        matches!(self, PersonPrompt::Question(f) if f.question == *id)
    }
}

/// What the person typed; nothing: standard input has ended.
pub(super) struct TerminalAnswer {
    line: Option<String>,
}

/// Questions that wait; the first of them is shown.
pub(super) struct TerminalAsker {
    asks: ApprovalAnswerer,
    waiting: VecDeque<PersonPrompt>,
    /// The first of those that wait was put to the person.
    shown: bool,
    /// The first was answered here, and the answer is on its way.
    sent: bool,
    keyboard: Option<StdinTerminal>,
}

impl TerminalAsker {
    pub(super) fn new(asks: ApprovalAnswerer) -> TerminalAsker {
        TerminalAsker { asks, waiting: VecDeque::new(), shown: false, sent: false, keyboard: None }
    }

    /// Hears a fact: something is asked, or was settled here or elsewhere.
    pub(super) fn hear_fact(&mut self, cx: &InstallationContext, event: &Event) {
        match event {
            Event::ApprovalRequested(f) if self.asks.is_attended() => {
                self.waiting.push_back(PersonPrompt::Approval(Box::new(f.clone()), Vec::new()));
            }
            Event::AgentAsked(f) if self.asks.is_attended() => {
                self.waiting.push_back(PersonPrompt::Approval(f.request.clone(), f.path.clone()));
            }
            Event::AgentAnswered(f) => self.settle_resolved_approval(cx, &of_agent(f)),
            Event::QuestionAsked(f) if self.asks.is_attended() => {
                self.waiting.push_back(PersonPrompt::Question(f.clone()));
            }
            Event::ApprovalResolved(f) => self.settle_resolved_approval(cx, f),
            Event::QuestionAnswered(f) => self.answered_question(f),
            _ => (),
        }
        self.show_next();
    }

    fn settle_resolved_approval(&mut self, cx: &InstallationContext, f: &ApprovalResolved) {
        let Some(at) = self.waiting.iter().position(|open| open.is_approval(&f.approval)) else {
            return;
        };
        let here = at == 0 && self.sent && f.by == PERSON;
        if let Some(PersonPrompt::Approval(asked, _)) = self.waiting.get(at)
            && here
            && f.decision == Decision::Always
        {
            cx.keep_allow_rules_and_notify(&asked.rules);
        }
        if !here {
            let ended = matches!(f.decision, Decision::Cancelled | Decision::Expired);
            let what = if ended || f.by == NOBODY { "is closed" } else { "was answered elsewhere" };
            let said = describe_decision(f.decision, f.terms, &f.by, f.reason.as_deref());
            self.print_line(&format!("{} {what}: {said}", f.approval));
        }
        self.remove_settled(at, here);
    }

    fn answered_question(&mut self, f: &QuestionAnswered) {
        let Some(at) = self.waiting.iter().position(|open| open.is_question(&f.question)) else {
            return;
        };
        let here = at == 0 && self.sent && f.by == PERSON;
        if !here && f.answer.is_none() {
            self.print_line(&format!("{} is closed: the run was ended", f.question));
        } else if !here {
            let answer = f.answer.as_deref().map(visible_text).unwrap_or_default();
            let by = visible_text(&f.by);
            self.print_line(&format!("{} was answered elsewhere, by {by}: {answer}", f.question));
        }
        self.remove_settled(at, here);
    }

    /// Takes what was settled away. What was typed for it must not answer the next.
    fn remove_settled(&mut self, at: usize, here: bool) {
        self.waiting.remove(at);
        if at > 0 {
            return;
        }
        self.shown = false;
        self.sent = false;
        if !here && let Some(keyboard) = &mut self.keyboard {
            keyboard.discard_typed();
        }
    }

    fn print_line(&self, text: &str) {
        if self.asks != (ApprovalAnswerer::Elsewhere { quiet: true }) {
            terminal::err_line(text);
        }
    }

    fn show_next(&mut self) {
        if self.shown {
            return;
        }
        let Some(open) = self.waiting.front() else { return };
        let lines = match self.asks {
            ApprovalAnswerer::Nobody => return,
            ApprovalAnswerer::Here => describe_person_prompt(open)
                .into_iter()
                .chain(approval_choices(open))
                .collect::<Vec<_>>(),
            ApprovalAnswerer::Elsewhere { .. } => describe_person_prompt(open)
                .into_iter()
                .chain([describe_remote_answering(open)])
                .collect(),
        };
        self.shown = true;
        self.print_line("");
        lines.iter().for_each(|line| self.print_line(line));
    }

    /// The next answer; never, while nothing is asked here.
    pub(super) async fn next_answer(&mut self) -> TerminalAnswer {
        if self.asks != ApprovalAnswerer::Here || !self.shown || self.sent {
            return std::future::pending().await;
        }
        if self.keyboard.is_none() {
            self.keyboard = StdinTerminal::open();
        }
        match &mut self.keyboard {
            Some(keyboard) => TerminalAnswer { line: keyboard.next_line().await },
            None => TerminalAnswer { line: None },
        }
    }

    /// Passes an answer on.
    pub(super) async fn pass_answer_on(
        &mut self,
        cx: &InstallationContext,
        handle: &SessionHandle,
        answer: TerminalAnswer,
    ) -> anyhow::Result<()> {
        let Some(line) = answer.line else { return self.deny_without_person(cx, handle).await };
        let command = match self.waiting.front() {
            Some(PersonPrompt::Approval(asked, _)) => {
                let (decision, reason, terms) = parse_typed_decision(&line, asked);
                let approval = asked.approval.clone();
                PersonCommand::Decide(ApprovalAnswer { approval, decision, reason, terms })
            }
            Some(PersonPrompt::Question(asked)) => PersonCommand::Reply {
                question: asked.question.clone(),
                answer: resolve_typed_choice(&line, &asked.options),
            },
            None => return Ok(()),
        };
        self.sent = true;
        match handle.tell_session(PERSON, command).await {
            // Refused: somebody else was quicker, and their answer is on its way.
            Ok(()) | Err(EngineError::Refused(_)) => Ok(()),
            Err(error) => Err(engine_failure(error)),
        }
    }

    /// The person has gone: what asks is denied from now on, and a question ends the run. Nothing
    /// hangs, nothing is allowed (C2).
    async fn deny_without_person(
        &mut self,
        cx: &InstallationContext,
        handle: &SessionHandle,
    ) -> anyhow::Result<()> {
        terminal::err_line("standard input was closed: nobody can be asked from now on");
        self.asks = ApprovalAnswerer::Nobody;
        let store = cx.local_store()?;
        let loaded = load(store.as_ref(), handle.id()).await.map_err(engine_failure)?;
        let Some(config) = loaded.session.config() else { return Ok(()) };
        let mut config = config.as_ref().clone();
        config.attended = false;
        let reason = format!("{NOBODY} can be asked from now on");
        let configure = PersonCommand::Configure { reason, config: Arc::new(config) };
        match handle.tell_session(NOBODY, configure).await {
            Ok(()) | Err(EngineError::Refused(_)) => Ok(()),
            Err(error) => Err(engine_failure(error)),
        }
    }
}

/// The way to the agent that asks, for people.
fn agent_path_text(path: &[String]) -> String {
    path.iter().map(|name| visible_text(name)).collect::<Vec<_>>().join(" > ")
}

/// What settled an approval of a sub-agent, as that of the session's own would say it.
fn of_agent(f: &AgentAnswered) -> ApprovalResolved {
    ApprovalResolved {
        approval: f.approval.clone(),
        call: f.call,
        decision: f.decision,
        by: f.by.clone(),
        reason: None,
        terms: None,
    }
}

fn describe_person_prompt(open: &PersonPrompt) -> Vec<String> {
    match open {
        PersonPrompt::Approval(asked, path) => {
            let more = format!("weir approvals show {} --full shows them", asked.approval);
            let by = (!path.is_empty())
                .then(|| format!("asked by the agent {}:", agent_path_text(path)));
            by.into_iter().chain(describe_approval_request(asked, DIFF_LINES_MAX, &more)).collect()
        }
        PersonPrompt::Question(asked) => {
            let mut lines: Vec<String> = asked.text.lines().map(visible_text).collect();
            for (number, option) in asked.options.iter().enumerate() {
                lines.push(format!("  {}. {}", number + 1, visible_text(option)));
            }
            lines
        }
    }
}

/// What can be typed.
fn approval_choices(open: &PersonPrompt) -> Vec<String> {
    let PersonPrompt::Approval(asked, _) = open else { return Vec::new() };
    if !asked.lines.is_empty() {
        return vec!["[y] all of these steps, once  [n reason] none of them".into()];
    }
    if asked.rules.is_empty() {
        return vec!["[y] once  [n reason] no".into()];
    }
    let (first, second) = match asked.often {
        true => ("[s] this session", "[y] once"),
        false => ("[y] once", "[s] this session"),
    };
    let allow = join_rules(&asked.rules);
    let adds = match &asked.grant {
        Some(grant) => format!("s grants: {}; a allows: {allow}", grant_text(grant)),
        None if asked.bound => format!("s allows: {}", bound_rules_text(&allow)),
        None => format!("s and a allow: {allow}"),
    };
    let always = if offers_always(asked) { "  [a] always in this project" } else { "" };
    let often = asked.often.then(|| OFTEN_ASKED.to_owned());
    let keys = [
        format!("{first}  {second}{always}  [n reason] no    ({adds})"),
        "[s 5] five further calls  [s 10m] ten minutes".into(),
    ];
    often.into_iter().chain(keys).collect()
}

/// How it is answered from elsewhere.
fn describe_remote_answering(open: &PersonPrompt) -> String {
    match open {
        PersonPrompt::Approval(asked, _) => {
            let until = asked.expires.map(|expires| {
                format!(" (until {} UTC)", crate::command::sessions::timestamp_text(expires))
            });
            format!(
                "waiting for an answer{}: weir approvals answer {} {}",
                until.unwrap_or_default(),
                asked.approval,
                describe_answer_words(asked)
            )
        }
        PersonPrompt::Question(asked) => {
            format!("waiting for an answer: weir approvals answer {} --text \"…\"", asked.question)
        }
    }
}

type TypedDecision = (Decision, Option<String>, Option<LeaseTerms>);

/// What a typed line decides. What is not clearly a yes is a no, with the line as its reason.
fn parse_typed_decision(line: &str, asked: &ApprovalRequested) -> TypedDecision {
    let no = |words: &str| {
        let words = words.trim();
        (Decision::Deny, (!words.is_empty()).then(|| words.to_string()), None)
    };
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let lasting = !asked.rules.is_empty();
    match word.to_lowercase().as_str() {
        "y" | "yes" | "once" if rest.is_empty() => (Decision::Once, None, None),
        "s" | "session" if lasting && rest.is_empty() => (Decision::Session, None, None),
        "s" | "session" if lasting => match parse_lease_terms(rest) {
            Some(terms) => (Decision::Session, None, Some(terms)),
            None => no(line),
        },
        "a" | "always" if lasting && rest.is_empty() => (Decision::Always, None, None),
        "n" | "no" | "deny" => no(rest),
        _ => no(line),
    }
}

/// `5` is five calls, `10m` ten minutes, `5 10m` both.
fn parse_lease_terms(text: &str) -> Option<LeaseTerms> {
    let mut terms = LeaseTerms::default();
    for word in text.split_whitespace() {
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            terms.uses = Some(word.parse().ok().filter(|uses| *uses > 0)?);
        } else {
            terms.for_ms = Some(parse_time_span(word).ok().filter(|span| span.ms > 0)?.ms);
        }
    }
    Some(terms)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(rules: &serde_json::Value) -> ApprovalRequested {
        serde_json::from_value(json!({
            "approval": "s-a1", "call": "c1", "tool": "run_shell", "input": {},
            "summary": "Run it", "reason": "mode ask", "rules": rules, "binds": "x",
        }))
        .expect("it is an approval")
    }

    fn with_rule() -> ApprovalRequested {
        let origin = weir_core::governance::rules::RuleOrigin::new("an approval");
        let action = weir_core::governance::rules::RuleAction::Allow;
        let rule = weir_core::governance::rules::Rule::parse(action, "Shell(ls)", origin);
        ApprovalRequested { rules: vec![rule.expect("a rule")], ..asked(&json!([])) }
    }

    #[test]
    fn g4_what_is_not_clearly_a_yes_is_a_no() {
        let deny = |reason: Option<&str>| (Decision::Deny, reason.map(String::from), None);
        let session = |uses, for_ms| (Decision::Session, None, Some(LeaseTerms { uses, for_ms }));
        let asked = with_rule();
        for (line, expected) in [
            ("y", (Decision::Once, None, None)),
            ("YES", (Decision::Once, None, None)),
            ("s", (Decision::Session, None, None)),
            ("s 5", session(Some(5), None)),
            ("s 10m", session(None, Some(600_000))),
            ("session 2 1h30m", session(Some(2), Some(5_400_000))),
            ("a", (Decision::Always, None, None)),
            ("n", deny(None)),
            ("n not today", deny(Some("not today"))),
            ("", deny(None)),
            ("yes but only once", deny(Some("yes but only once"))),
            ("s 0", deny(Some("s 0"))),
            ("s 0m", deny(Some("s 0m"))),
            ("s five", deny(Some("s five"))),
            ("s 99999999999", deny(Some("s 99999999999"))),
            ("a now", deny(Some("a now"))),
            ("maybe", deny(Some("maybe"))),
            ("\u{443}", deny(Some("\u{443}"))),
        ] {
            assert_eq!(parse_typed_decision(line, &asked), expected, "{line}");
        }
    }

    #[test]
    fn u13_a_grant_is_named_and_what_was_often_allowed_stands_first() {
        let grant = weir_core::tool::NamedGrant {
            name: "crates.io for cargo".into(),
            hosts: vec!["crates.io".into()],
            commands: vec!["cargo add".into()],
        };
        let choices = |often| {
            let asked = ApprovalRequested { grant: Some(grant.clone()), often, ..with_rule() };
            approval_choices(&PersonPrompt::Approval(Box::new(asked), Vec::new()))
        };
        let named = "(s grants: crates.io for cargo (crates.io); a allows: Shell(ls))";
        let [keys, _] = &choices(false)[..] else { panic!("two lines") };
        assert!(keys.starts_with("[y] once  [s] this session") && keys.ends_with(named), "{keys}");
        let [often, keys, _] = &choices(true)[..] else { panic!("three lines") };
        assert_eq!(often, OFTEN_ASKED);
        assert!(keys.starts_with("[s] this session  [y] once") && keys.ends_with(named), "{keys}");
    }

    #[test]
    fn g4_what_no_rule_can_say_is_not_allowed_for_longer() {
        let asked = asked(&json!([]));
        assert_eq!(parse_typed_decision("y", &asked).0, Decision::Once);
        for line in ["s", "s 5", "a", "always"] {
            assert_eq!(parse_typed_decision(line, &asked).0, Decision::Deny, "{line}");
        }
        assert_eq!(
            approval_choices(&PersonPrompt::Approval(Box::new(asked), Vec::new())),
            ["[y] once  [n reason] no"]
        );
    }
}
