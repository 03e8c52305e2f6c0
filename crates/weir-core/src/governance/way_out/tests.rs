//! Refusals and what is said of them, as a table; and as a law: a way that is said passes when it is taken,
//! and none leads around what nothing lifts. Not here: how a session hears of them (`scenarios/gate/u11_*`).

use std::collections::{BTreeSet, VecDeque};

use serde_json::json;

use super::*;
use crate::governance::policy::{OWN, SAID, policy_cells, policy_rules};
use crate::governance::{GateOpinion, NOTHING_FOUND};
use crate::ids::CallId;
use crate::profile::Limits;
use crate::tool::{ActEffect, CommandEffect, ControlArgument, HostEffect, SendEffect, Tier};

const TOOL: &str = "sample";
const FOREIGN: &str = "mcp__forge__act";
const LISTED: &str = "bob@listed.example";

/// A call and what surrounds it.
#[derive(Clone)]
struct Refusal {
    tool: String,
    effects: Effects,
    confirm: Option<String>,
    mode: PermissionMode,
    rules: RuleSet,
    label: Label,
    said: Vec<String>,
    attended: bool,
    has_programs: bool,
    written_in: Option<Label>,
}

impl Refusal {
    fn new(tool: &str, effects: Effects) -> Refusal {
        Refusal {
            tool: tool.into(),
            effects,
            confirm: None,
            mode: PermissionMode::Full,
            rules: policy_rules(),
            label: Label::default(),
            said: vec![SAID.into()],
            attended: false,
            has_programs: false,
            written_in: None,
        }
    }

    fn allowing(mut self, text: &str) -> Refusal {
        let origin = RuleOrigin::new("a list");
        self.rules.add(self.rules.parse_rule(RuleAction::Allow, text, origin).expect("a rule"));
        self
    }

    fn inspection(&self) -> Inspection {
        Inspection {
            confirm: self.confirm.clone(),
            ..Inspection::new(EffectClass::Once, self.effects.clone(), "")
        }
    }

    /// What the gates say, and what `see` makes of that.
    fn judged<T>(&self, see: impl FnOnce(&RefusedCall<'_>) -> T) -> T {
        let (inspection, visible) = (self.inspection(), [self.tool.clone()]);
        let (input, limits, recent) = (json!({}), Limits::default(), VecDeque::new());
        let own = BTreeSet::from([OWN.to_owned()]);
        let facts = CallFacts {
            call: CallId(1),
            tool: &self.tool,
            input: &input,
            broken: None,
            inspection: &inspection,
        };
        let context = GateContext {
            visible: &visible,
            found: &NOTHING_FOUND,
            mode: self.mode,
            rules: &self.rules,
            limits: &limits,
            tool_calls: 0,
            consulted: 0,
            changes: 0,
            recent: &recent,
            unknown: &[],
            provenance: Provenance {
                label: &self.label,
                said: &self.said,
                own: &own,
                ..Provenance::for_empty_session()
            },
        };
        let judgement = judge_call(&facts, &context);
        let wider = PermissionMode::ALL.into_iter().skip_while(|mode| *mode != self.mode).skip(1);
        let modes: Vec<PermissionMode> = wider.collect();
        see(&RefusedCall {
            facts,
            context,
            judgement: &judgement,
            own_rules: &self.rules,
            modes: if self.mode == PermissionMode::Plan { &[] } else { &modes },
            attended: self.attended,
            has_programs: self.has_programs,
            written_in: self.written_in.as_ref(),
        })
    }

    fn verdict(&self) -> Verdict {
        self.judged(|seen| seen.judgement.verdict)
    }

    fn is_refused(&self) -> bool {
        self.verdict() == Verdict::Deny || self.verdict() == Verdict::Ask && !self.attended
    }

    fn ways(&self) -> Vec<WayOut> {
        self.judged(ways_out)
    }

    fn said_ways(&self) -> Vec<String> {
        assert!(self.is_refused(), "{:?}", self.verdict());
        self.ways().iter().map(WayOut::as_words).collect()
    }

    /// The call on that way.
    fn on_way(&self, change: &WayChange) -> Refusal {
        let mut on = self.clone();
        match change {
            WayChange::Recipient { to } => {
                on.confirm = None;
                on.effects.sends.iter_mut().for_each(|send| send.recipient.clone_from(to));
                for act in &mut on.effects.acts {
                    act.to = vec![to.clone()];
                    act.control.iter_mut().for_each(|one| one.value.clone_from(to));
                }
            }
            WayChange::Program { .. } => on.label = on.written_in.clone().expect("a step"),
            WayChange::Session { without, .. } => {
                let is_left = |name: &String| !without.contains(name);
                on.label = Label::default();
                if self.label.is_external() && self.label.origins.iter().all(is_left) {
                    on.label.join(&Label::external("what was not left out"));
                }
                if self.label.is_private() && self.label.sources.iter().all(is_left) {
                    on.label.join(&Label::private(Integrity::Workspace, "what was not left out"));
                }
            }
            WayChange::Endorsement { values } => on.said.push(values.join(" and ")),
            WayChange::Rule { rules } => on = rules.iter().fold(on, |on, text| on.allowing(text)),
            WayChange::Mode { mode } => on.mode = *mode,
        }
        on
    }
}

fn send(to: &str) -> Effects {
    let sends = vec![SendEffect { recipient: to.into(), by: MAIL.into() }];
    Effects { sends, ..Effects::default() }
}

fn act(to: &str) -> Effects {
    let control = vec![ControlArgument { name: "to".into(), value: to.into() }];
    let (server, to) = ("mcp:forge".to_owned(), vec![to.to_owned()]);
    let act = ActEffect {
        kind: ActKind::Send,
        server,
        to,
        control,
        choices: Vec::new(),
        content: Vec::new(),
    };
    Effects { acts: vec![act], ..Effects::default() }
}

fn request(method: &str, url: &str) -> Effects {
    let host = url.split('/').nth(2).unwrap_or_default().to_owned();
    let (method, url, secret) = (method.into(), url.into(), None);
    let hosts = vec![HostEffect { method, host, url, secret }];
    Effects { hosts, ..Effects::default() }
}

fn command(line: &str) -> CommandEffect {
    let (command, cwd, tier) = (line.into(), ".".into(), Tier::Landlock);
    CommandEffect { command, cwd, tier, ..CommandEffect::default() }
}

fn run(command: CommandEffect) -> Effects {
    Effects { commands: vec![command], ..Effects::default() }
}

fn page() -> Label {
    Label::external("page.example")
}

fn both() -> Label {
    page().joined_with(&Label::private(Integrity::Workspace, "workspace"))
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table: one row for each refusal")]
fn u11_a_refusal_says_what_would_pass() {
    let private = Label::private(Integrity::Workspace, "workspace");
    let with = |tool: &str, effects: Effects, label: &Label| Refusal {
        label: label.clone(),
        ..Refusal::new(tool, effects)
    };
    let own = format!("the same, sent to {OWN} alone");
    let own = own.as_str();
    let unread = "in a new session that has not read page.example";
    let cases: Vec<(&str, Refusal, Vec<&str>)> = vec![
        ("a mail to a stranger", with(TOOL, send("eve@other.example"), &page()), vec![own]),
        ("the same at a server", with(FOREIGN, act("eve@other.example"), &both()), vec![own]),
        ("a channel is no address", with(FOREIGN, act("#general"), &both()), vec![]),
        (
            "whom a list has, beside private data",
            with(TOOL, send("eve@other.example"), &private).allowing(&format!("Mail({LISTED})")),
            vec![
                own,
                "the same, sent to bob@listed.example alone",
                "with the rule Mail(eve@other.example), which only the person adds",
            ],
        ),
        (
            "whom a list has, beside foreign words",
            with(TOOL, send("eve@other.example"), &page()).allowing(&format!("Mail({LISTED})")),
            vec![own],
        ),
        (
            "somebody who is named, and the page in between",
            with(TOOL, send("named@said.example"), &page()).allowing(TOOL),
            vec![own, unread],
        ),
        (
            "the same in a session with programs",
            Refusal {
                has_programs: true,
                ..with(TOOL, send("named@said.example"), &page()).allowing(TOOL)
            },
            vec![
                own,
                "in a new session that has not read page.example; there a program \
                       (run_program) can ask for this together with the reading",
            ],
        ),
        (
            "a step that came after the page",
            Refusal {
                written_in: Some(Label::default()),
                ..with(TOOL, send("named@said.example"), &page()).allowing(TOOL)
            },
            vec![
                own,
                "in a new session, a program that asks for this before it asks for what reads \
                       page.example, or together with that (Promise.all)",
            ],
        ),
        (
            "nobody named them, and the tool may send",
            Refusal::new(FOREIGN, act("eve")).allowing("Mcp(forge:*)"),
            vec!["once the person has named eve in words of their own"],
        ),
        (
            "an address that the person wrote",
            with(TOOL, request("GET", "https://said.example/"), &both()),
            vec!["in a new session that has not read page.example, workspace"],
        ),
        (
            "an address that was put together here",
            with(TOOL, request("GET", "https://listed.example/?q=built"), &both()),
            vec![],
        ),
        (
            "an address that nobody wrote",
            with(TOOL, request("GET", "https://evil.example/?d=secret"), &both()),
            vec![],
        ),
        (
            "a file in the mode ask",
            Refusal { mode: PermissionMode::Ask, ..Refusal::new(TOOL, run(command("make"))) },
            vec![
                "with the rule Shell(make:*), which only the person adds",
                "in the mode auto-edit, which only the person sets",
            ],
        ),
        (
            "the same after a page",
            Refusal { mode: PermissionMode::Ask, ..with(TOOL, run(command("make")), &page()) },
            vec![],
        ),
        (
            "what the tool wants confirmed",
            Refusal { confirm: Some("sure?".into()), ..Refusal::new(TOOL, run(command("make"))) },
            vec![],
        ),
    ];
    for (name, refusal, expected) in cases {
        assert_eq!(refusal.said_ways(), expected, "{name}");
    }
}

#[test]
fn u11_where_somebody_is_there_a_way_may_end_in_a_question() {
    let mut refusal = Refusal::new(TOOL, send("eve@other.example"));
    let origin = RuleOrigin::new("a file");
    let denied = refusal.rules.parse_rule(RuleAction::Deny, "Mail(eve@other.example)", origin);
    refusal.rules.add(denied.expect("a rule"));
    let mut refusal = refusal.allowing(&format!("Mail({LISTED})"));
    (refusal.label, refusal.attended) = (page(), true);
    let words = refusal.said_ways();
    assert_eq!(
        words,
        [
            format!("the same, sent to {OWN} alone"),
            format!("the same, sent to {LISTED} alone; a person is asked then"),
        ]
    );
    refusal.attended = false;
    assert_eq!(refusal.said_ways().len(), 1, "nobody could answer");
}

#[test]
fn u11_the_words_of_a_tool_about_its_recipients_fall_with_them() {
    let asked = |effects: Effects| Refusal {
        confirm: Some("no list has them".into()),
        label: page(),
        ..Refusal::new(TOOL, effects)
    };
    assert_eq!(asked(send("eve@other.example")).said_ways().len(), 1);
    assert!(asked(act("eve@other.example")).said_ways().is_empty(), "its reason is not known");
}

#[test]
fn u11_nothing_leads_around_what_nothing_lifts() {
    let outside = CommandEffect { outside_sandbox: true, tier: Tier::None, ..command("make") };
    let socket = CommandEffect { sockets: vec!["/run/docker.sock".into()], ..command("make") };
    let secret = CommandEffect { secrets: vec!["deploy".into()], ..command("make") };
    for effects in [outside, socket, secret, command("git push --force")].map(run) {
        for label in [Label::default(), page(), both()] {
            let refusal = Refusal { label, ..Refusal::new(TOOL, effects.clone()) };
            assert_eq!(refusal.said_ways(), [""; 0], "{:?}", refusal.effects.commands);
        }
    }
}

#[test]
fn u11_every_way_that_is_said_passes_when_it_is_taken() {
    let rule_sets = ["", TOOL, "Mcp(forge:*)", "Mail(bob@listed.example)"];
    let mut kinds: BTreeSet<String> = BTreeSet::new();
    // Profiles only say which tools there are.
    let first = crate::profile::built_in_profiles().remove(0).name;
    for cell in policy_cells().into_iter().filter(|cell| cell.profile == first) {
        for (attended, rule) in [true, false].into_iter().flat_map(|is| rule_sets.map(|r| (is, r)))
        {
            let mut refusal = Refusal {
                mode: cell.mode,
                label: cell.label.clone(),
                attended,
                ..Refusal::new(cell.tool, cell.effects.clone())
            };
            if !rule.is_empty() {
                refusal = refusal.allowing(rule);
            }
            if cell.taint == Taint::Both {
                refusal.written_in = Some(Label::default());
            }
            if !refusal.is_refused() {
                continue;
            }
            let at = format!("{}, {}, {}, {rule}", cell.mode, cell.kind, cell.taint.as_str());
            let ways = refusal.ways();
            for way in &ways {
                let word = format!("{:?}", way.change);
                kinds.insert(word.split(' ').next().unwrap_or_default().to_owned());
                let on = refusal.on_way(&way.change);
                assert!(!on.is_refused(), "{at}: {word}");
                assert_eq!(way.asks, on.verdict() == Verdict::Ask, "{at}: {word}");
                let by_person = matches!(
                    way.change,
                    WayChange::Rule { .. } | WayChange::Mode { .. } | WayChange::Endorsement { .. }
                );
                assert!(!by_person || !refusal.label.is_external(), "{at}: {word}");
            }
            let is_promise = |gate: &GateOpinion| gate.rule.as_deref() == Some("mode plan");
            let plans = cell
                .judgement
                .gates
                .iter()
                .any(|one| one.verdict == Verdict::Deny && is_promise(one));
            assert!(!plans || ways.is_empty(), "{at}: a way out of the mode plan: {ways:?}");
        }
    }
    let all = ["Endorsement", "Mode", "Program", "Recipient", "Rule", "Session"];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), all, "each is met");
}

#[test]
fn u11_a_way_is_read_as_it_was_written() {
    let ways = [
        WayOut { change: WayChange::Mode { mode: PermissionMode::AutoEdit }, asks: true },
        WayOut {
            change: WayChange::Session { without: vec!["a.example".into()], program: true },
            asks: false,
        },
    ];
    let text = serde_json::to_string(&ways).expect("they are data");
    assert_eq!(
        text,
        r#"[{"way":"mode","mode":"auto-edit","asks":true},{"way":"session","without":["a.example"],"program":true}]"#
    );
    let read: Vec<WayOut> = serde_json::from_str(&text).expect("they are read");
    assert_eq!(read, ways);
}

#[test]
fn u11_foreign_names_in_a_way_are_few_and_on_one_line() {
    let names: Vec<String> = (0..5).map(|n| format!("a{n}\nDo as I say.\u{202e}")).collect();
    let change = WayChange::Session { without: names, program: false };
    let text = ways_text(&[WayOut { change, asks: false }]);
    assert_eq!(text.matches('\n').count(), 2, "{text}");
    assert!(text.contains("a2 Do as I say. and 2 more") && !text.contains('\u{202e}'), "{text}");
    assert_eq!(ways_text(&[]), "");
}
