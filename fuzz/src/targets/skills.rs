//! Skills: the files of others, and those that Weir writes.

use weir_core::skill::{SkillDraft, SkillTrigger, TriggerWords, names_in, skill_md};
use weir_engine::skills::{parse_skill, trigger_problem};

use crate::input::{parts, text};
use crate::seeds;

pub(super) const SKILL_WORDS: &[&str] = &[
    "---\n",
    "---",
    "name: ",
    "name: a\n",
    "description: ",
    "description: x\n",
    "metadata:\n",
    "  trigger: ",
    "trigger: ",
    "trigger:\n  - ",
    "allowed-tools: ",
    "compatibility: ",
    "license: ",
    "\x1e",
    ": ",
    "- ",
    "\n",
    "\r\n",
    "#",
    " #",
    "'",
    "\"",
    "|",
    ">-",
    "[",
    "]",
    "{",
    "}",
    "&a ",
    "*a",
    "<<: ",
    "!!str ",
    "? ",
    "%YAML 1.2\n",
    "...\n",
    "~",
    "null",
    "true",
    "1e999",
    ".nan",
    "0x1F",
    "\t",
    "/",
    "/(a+)+$/",
    "/[a/i",
    "/a{1000}/",
    "$ARGUMENTS",
    "$1",
    "\\$",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "é",
    "\u{301}",
];

/// A `SKILL.md`: what can be used keeps the rules of the format.
pub(super) fn skill(bytes: &[u8]) {
    let parsed = parse_skill(bytes, "a");
    assert_eq!(parsed.head.is_none(), parsed.findings.iter().any(|finding| finding.fatal));
    for finding in &parsed.findings {
        let said = finding.to_string();
        assert!(said.len() < 2_000 && !said.contains('\n'), "{said:?}");
    }
    let Some(head) = parsed.head else { return };
    assert_eq!(head.name, "a");
    let length = head.description.chars().count();
    assert!((1..=1_024).contains(&length) && !head.description.trim().is_empty());
    // Whatever it is, it is compiled or refused; and it is its own form.
    let _ = trigger_problem(&head.trigger);
    if let SkillTrigger::Words(words) = &head.trigger {
        let body = TriggerWords::new(&parsed.body);
        words.iter().for_each(|word| assert!(TriggerWords::new(word).has_word(word), "{word:?}"));
        let _ = words.iter().any(|word| body.has_word(word));
    }
    for name in names_in(&parsed.body) {
        assert_eq!(weir_core::skill::name_problem(&name), None);
    }
}

/// A skill that Weir writes reads back as it was.
pub(super) fn skill_written(bytes: &[u8]) {
    let [description, body, trigger, author] = parts::<4>(bytes).map(text);
    let draft = SkillDraft {
        name: "a".into(),
        description,
        body,
        trigger,
        metadata: [("author".to_owned(), author.chars().take(1_000).collect())].into(),
    };
    if !draft.findings().is_empty() {
        return;
    }
    let written = skill_md(&draft);
    let parsed = parse_skill(written.as_bytes(), "a");
    assert_eq!(parsed.findings, [], "{written:?}");
    let head = parsed.head.expect("there are no findings");
    assert_eq!(parsed.body.trim(), draft.body.trim(), "{written:?}");
    let blank = |c: char| c.is_control() || c.is_whitespace() || c == '\u{feff}';
    let words = |text: &str| text.split(blank).filter(|w| !w.is_empty()).collect::<String>();
    assert_eq!(words(&head.description), words(&draft.description), "{written:?}");
    assert_eq!(head.trigger.is_none(), draft.trigger.trim().is_empty(), "{written:?}");
    // Readers that end the head at the first `---` they see find it where it ends.
    assert_eq!(written.split("---").nth(1).map(|head| head.lines().count() > 2), Some(true));
}

pub(super) fn skill_seeds() -> Vec<Vec<u8>> {
    let mut found = seeds::files("crates/weir-engine/skills", "SKILL.md");
    found.extend(
        [
            "---\nname: a\ndescription: >-\n  x\n  y\nmetadata: {trigger: \"b, c\", v: 1.0}\n---\nBody",
            "---\nname: a\ndescription: 'x'\ntrigger: ['b c', \"d\"]\nallowed-tools:\n  - Read\n---\n/b",
            "---\nname: a\ndescription: x\ntrigger: '/(a+)+$/i'\nlicense: MIT\ncompatibility: git\n---\n",
        ]
        .map(|text| text.as_bytes().to_vec()),
    );
    found
}

pub(super) fn written_seeds() -> Vec<Vec<u8>> {
    [
        "Does x: \"y\" --- z\x1eDo it.\n---\nEnd\x1ex, y\x1eweir",
        "a\nb\tc # d\x1e# Body\x1e/a[b]+/i\x1e1.0",
        "é 😀 {a: [b]} & *c !d %e @f `g`\x1e- x\x1e\x1e",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}
