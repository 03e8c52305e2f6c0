//! A question to a set is answered as each of its rules alone would answer it. Not here: what each kind of rule
//! matches.

use super::*;

/// One of every kind, and one with arguments.
const TEXTS: &[&str] = &[
    "*",
    "tool",
    "Read(a/**)",
    "Edit(a/**)",
    "Shell(make:*)",
    "Web(a.org)",
    "Mail(bob@a.org)",
    "Mcp(git:push)",
    "Mcp(git:push, to=4711)",
    "Agent(scout)",
];

type Question = fn(&RuleSet) -> Ruling<'_>;

fn rule_texts(ruling: &Ruling<'_>) -> Vec<String> {
    match ruling {
        Ruling::Deny(rule) | Ruling::Ask(rule) => vec![rule.text().to_owned()],
        Ruling::Allow(rules) => rules.iter().map(|rule| rule.text().to_owned()).collect(),
        Ruling::Silent => Vec::new(),
    }
}

#[test]
fn q12_a_question_finds_its_rules_among_those_of_every_kind() {
    let bob = |by: &str| SendEffect { recipient: "bob@a.org".into(), by: by.into() };
    assert!(matches(&with(RuleAction::Deny, TEXTS).rule_send(&bob(MAIL))));
    assert!(!matches(&with(RuleAction::Deny, TEXTS).rule_send(&bob("chat"))));
    let questions: [(&str, Question); 12] = [
        ("a tool", |rules| rules.rule_tool("tool", EffectPresence::Something)),
        ("a tool without effects", |rules| rules.rule_tool("tool", EffectPresence::Nothing)),
        ("a tool of a server", |rules| rules.rule_tool("mcp__git__push", EffectPresence::Nothing)),
        ("what a server asks", |rules| rules.rule_sampling("mcp__git__push")),
        ("what is undeclared", |rules| rules.rule_undeclared("mcp__git__push")),
        ("a read path", |rules| rules.rule_path_use("a/b", PathUse::Read)),
        ("a written path", |rules| rules.rule_path(&path("a/b"))),
        ("another path", |rules| rules.rule_path(&path("b/a"))),
        ("a command", |rules| rules.rule_command(&command("make all"))),
        ("a command that names a path", |rules| rules.rule_command(&command("cat a/b"))),
        ("a host", |rules| rules.rule_host(&host("docs.a.org"))),
        ("an agent", |rules| rules.rule_agent("scout")),
    ];
    let mut answered = 0;
    for action in RuleAction::ALL {
        let all = with(action, TEXTS);
        for (name, ask) in questions {
            let alone = |text: &&str| rule_texts(&ask(&with(action, &[*text])));
            let mut expected: Vec<String> = TEXTS.iter().flat_map(alone).collect();
            expected.sort_unstable();
            if action != RuleAction::Allow {
                // The first that forbids is named.
                expected.truncate(1);
            }
            answered += usize::from(!expected.is_empty());
            assert_eq!(rule_texts(&ask(&all)), expected, "{action} {name}");
        }
        let denied = with(action, TEXTS).denies_commands().map(|rule| rule.text().to_owned());
        let expected = (action == RuleAction::Deny).then(|| "Shell(make:*)".to_owned());
        assert_eq!(denied, expected, "{action}");
    }
    assert!(answered >= 20, "most questions have a rule: {answered}");
}

#[test]
fn q12_what_was_compiled_stays_right_whatever_rule_is_added() {
    let texts = ["*", "Edit(/etc/**)", "Edit(a/**)", "Edit(b)", "Read(**)", "Shell(make:*)"];
    let all = RuleAction::ALL.map(|action| texts.map(|text| with(action, &[text])));
    let each_set = || all.iter().flatten();
    let paths = ["a/x", "b", "c", "/etc/x"].map(path);
    let command = command("make b && cat a/x");
    for first in each_set() {
        let mut first = first.clone();
        first.extend(with(RuleAction::Deny, &["Edit(b)"]).iter().cloned());
        first.extend(with(RuleAction::Allow, &["Edit(**)"]).iter().cloned());
        let asked =
            |rules: &RuleSet| paths.iter().filter(|path| matches(&rules.rule_path(path))).count();
        assert!(asked(&first) >= 3, "its patterns are compiled");
        for more in each_set() {
            let mut kept = first.clone();
            kept.extend(more.iter().cloned());
            let mut fresh = set();
            fresh.extend(kept.iter().cloned());
            assert_eq!(kept, fresh);
            for path in &paths {
                assert_eq!(kept.rule_path(path), fresh.rule_path(path), "{fresh:?} {path:?}");
            }
            assert_eq!(kept.rule_command(&command), fresh.rule_command(&command), "{fresh:?}");
        }
    }
}

#[test]
fn q12_copies_of_a_set_share_what_is_compiled() {
    let is_compiled = |rules: &RuleSet| rules.forbidding.get().is_some();
    let original = with(RuleAction::Deny, &["Edit(a/**)"]);
    let mut copy = original.clone();
    copy.extend(with(RuleAction::Allow, &["Edit(b)", "Shell(make)"]).iter().cloned());
    assert!(!is_compiled(&original) && !is_compiled(&copy));
    assert!(matches(&original.rule_path(&path("a/b"))));
    assert!(is_compiled(&copy), "rules that allow leave what forbids as it is");
    copy.extend(with(RuleAction::Ask, &["Shell(git push:*)"]).iter().cloned());
    assert!(is_compiled(&copy), "so does one about commands");
    copy.extend(with(RuleAction::Ask, &["Edit(c)"]).iter().cloned());
    assert!(is_compiled(&original) && !is_compiled(&copy), "one about paths does not");
}
