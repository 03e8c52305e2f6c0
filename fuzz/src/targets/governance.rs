//! What decides: rules, command lines, the one form of arguments, secrets in results.

use serde_json::{Value, json};
use weir_core::governance::filter::redact_text;
use weir_core::governance::plain_content::{TakenOut, plain_content};
use weir_core::governance::rules::{
    Rule, RuleAction, RuleContext, RuleError, RuleOrigin, RuleSet, Ruling,
};
use weir_core::governance::shell::{self, CommandLine};
use weir_core::tool::{CommandEffect, Effects, HostEffect, PathEffect};

use crate::input::{join, parts, random_of, text};
use crate::seeds;

pub(super) const RULE_WORDS: &[&str] = &[
    "\x1e",
    "Read(",
    "Edit(",
    "Shell(",
    "Web(",
    "Mcp(",
    "Agent(",
    ")",
    "*",
    "**",
    "/**",
    "**/",
    "~/",
    "./",
    "../",
    ":*",
    "src/",
    ".env",
    "{a,b}",
    "[a-z]",
    "[!",
    "]",
    "\\",
    "git push",
    "docs.rs",
    "*.",
    "[::1]",
    "127.1",
    "mcp__a__b",
    "server:tool",
    " && ",
    "rm -rf /",
    "!",
    "()",
    "(",
];

pub(super) const SHELL_WORDS: &[&str] = &[
    "rm -rf /",
    " && ",
    " || ",
    "; ",
    " | ",
    " & ",
    "\n",
    "$(",
    "`",
    ")",
    "(",
    "{ ",
    "; }",
    "'",
    "\"",
    "$'",
    "\\x41",
    "\\",
    "<<EOF\n",
    "\nEOF\n",
    "<<-'E'\n",
    "<<<",
    ">",
    ">>",
    "2>&1",
    "&>",
    "<(",
    ">(",
    "${a:-b}",
    "$((",
    "))",
    "if ",
    "then ",
    "fi",
    "for i in ",
    "do ",
    "done",
    "case x in ",
    "esac",
    "f() {",
    "sudo ",
    "env -i A=1 ",
    "sh -c '",
    "eval ",
    "xargs ",
    "find . -exec ",
    "A=1 ",
    "#",
    "*",
    "{a,b}",
    "{1..9}",
    "~",
    "[[ ",
    " ]]",
    "!",
    "echo",
];

pub(super) const SECRET_WORDS: &[&str] = &[
    "\x1e",
    "sk-",
    "sk-ant-",
    "ghp_",
    "AKIA",
    "eyJ",
    ".",
    "Bearer ",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
    "-----BEGIN ",
    "0123456789abcdefghij",
    "correcthorse",
    "xoxb-",
];

// ------------------------------------------------------------ one form

/// Equal values have one form, whatever the order of their keys; the form is a value that has
/// itself as form.
pub(super) fn canonical(data: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    let form = weir_core::governance::canonical_json(&value);
    let again: Value = serde_json::from_str(&form).expect("the form is JSON");
    assert_eq!(again, value, "the form is another value");
    assert_eq!(weir_core::governance::canonical_json(&again), form, "the form has another form");
    assert_eq!(
        weir_core::governance::canonical_json(&reversed(&value)),
        form,
        "keys in another order"
    );
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            Value::Object(map.iter().rev().map(|(k, v)| (k.clone(), reversed(v))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

// ------------------------------------------------------------ rules

fn context() -> RuleContext {
    RuleContext {
        workspace: "/home/p/ws".into(),
        home: Some("/home/p".into()),
        own_folders: vec!["/home/p/.config/weir".into()],
        ..RuleContext::default()
    }
}

fn parse(set: &RuleSet, action: RuleAction, text: &str) -> Result<Rule, RuleError> {
    let parsed = set.parse_rule(action, text, RuleOrigin::new("rules.toml").at_line(7));
    match &parsed {
        Ok(rule) => {
            let again = Rule::parse(action, rule.text(), rule.origin().clone());
            assert_eq!(again.as_ref(), Ok(rule), "its own text is another rule");
            let shown = rule.to_string();
            assert_eq!(shown, format!("{action} {} (rules.toml:7)", rule.text()));
            let stored = serde_json::to_value(rule).expect("a rule is JSON");
            let read: Rule = serde_json::from_value(stored).expect("what was stored is read");
            assert_eq!(&read, rule, "stored as another rule");
        }
        Err(error) => {
            assert!(error.to_string().starts_with("rules.toml:7: "), "{error}");
            assert!(!error.problem.is_empty());
        }
    }
    parsed
}

/// A rule is its text; an error names its place; an allow rule takes nothing from a deny rule; a
/// rule made for exactly one call allows that call.
pub(super) fn rule(data: &[u8]) {
    let [deny, allow, subject] = parts::<3>(data).map(text);
    let empty = RuleSet::new(context());
    let deny = parse(&empty, RuleAction::Deny, &deny);
    let allow = parse(&empty, RuleAction::Allow, &allow);
    let (mut only_deny, mut both) = (empty.clone(), empty.clone());
    only_deny.extend(deny.ok());
    both.extend(only_deny.iter().cloned().chain(allow.ok()));
    let subjects = Subjects::of(&subject);
    let pairs = [
        (only_deny.rule_path(&subjects.path), both.rule_path(&subjects.path)),
        (only_deny.rule_host(&subjects.host), both.rule_host(&subjects.host)),
        (only_deny.rule_command(&subjects.command), both.rule_command(&subjects.command)),
    ];
    for (before, after) in pairs {
        let denies = matches!(before, Ruling::Deny(_));
        assert!(!matches!(before, Ruling::Allow(_)), "a deny rule allows");
        assert_eq!(denies, matches!(after, Ruling::Deny(_)), "an allow rule beats a deny rule");
    }
    offered(&empty, subjects.command);
}

fn offered(empty: &RuleSet, command: CommandEffect) {
    let effects = Effects { commands: vec![command], ..Effects::default() };
    let rules = empty.offered_rules("run_shell", &effects, &RuleOrigin::new("session"));
    let mut set = empty.clone();
    let any = !rules.is_empty();
    set.extend(rules);
    let ruling = set.rule_command(&effects.commands[0]);
    assert_eq!(any, matches!(ruling, Ruling::Allow(_)), "its own rule does not allow it");
}

/// One text as each thing that a rule can be about.
struct Subjects {
    path: PathEffect,
    host: HostEffect,
    command: CommandEffect,
}

impl Subjects {
    fn of(text: &str) -> Subjects {
        let place = if text.starts_with('/') { "outside" } else { "inside" };
        let url = format!("https://{text}/");
        Subjects {
            path: made(json!({"path": text, "access": "write", "place": place})),
            host: made(json!({"method": "GET", "host": text, "url": url})),
            command: made(json!({"command": text, "cwd": "."})),
        }
    }
}

fn made<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the fields of an effect")
}

pub(super) fn rule_seeds() -> Vec<Vec<u8>> {
    let rules = [
        "Edit(src/**)",
        "Read(**/.env)",
        "Read(~/.ssh/**)",
        "Edit(/etc/**)",
        "Shell(git push:*)",
        "Shell(cargo test)",
        "Shell(*)",
        "Web(docs.rs)",
        "Web(*.example.org)",
        "Web([::1])",
        "Mcp(files:read)",
        "Agent(reviewer)",
        "read_file",
        "*",
    ];
    let subjects = [
        "src/main.rs",
        "/etc/passwd",
        "a/.env",
        "git push --force",
        "cargo test",
        "docs.rs",
        "sub.example.org",
        "sudo git push && ls",
        "sh -c 'git push'",
    ];
    let mut seeds = Vec::new();
    for (at, deny) in rules.iter().enumerate() {
        let allow = rules[(at * 5 + 3) % rules.len()];
        let subject = subjects[at % subjects.len()];
        seeds.push(join(&[deny.as_bytes(), allow.as_bytes(), subject.as_bytes()]));
    }
    seeds
}

// ------------------------------------------------------------ commands

/// Nothing is lost: each command that was read might run, what is plain means the same when it is
/// quoted word by word, and reading twice gives the same.
pub(super) fn command(data: &[u8]) {
    let text = text(data);
    let line = shell::parse_command_line(&text);
    assert_eq!(shell::parse_command_line(&text), line);
    let reach = shell::command_reach(&line);
    if reach.opaque.is_none() {
        for part in line.parts.iter().filter(|part| !part.words.is_empty()) {
            let found = reach.commands().any(|words| words == part.words);
            assert!(found, "a command is read and not reached: {:?}", part.raw);
        }
    }
    // What stands in backquotes is read without its backslashes.
    for part in line.parts.iter().filter(|_| !text.contains('`')) {
        assert!(text.contains(&part.raw), "a part that is not in the text: {:?}", part.raw);
    }
    if line.unreadable.is_some() {
        assert!(reach.opaque.is_some(), "unreadable, but nothing is hidden");
    }
    if line.is_plain() {
        quoted(&line);
    }
    repeated(&text, &line);
}

/// Each plain part, its words in quotes, is the same words.
fn quoted(line: &CommandLine) {
    for part in line.parts.iter().filter(|part| part.redirections.is_empty()) {
        let Some(words) = part.literal_words().filter(|words| !words.is_empty()) else { continue };
        let written: Vec<String> =
            words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
        let again = shell::parse_command_line(&written.join(" "));
        let texts: Vec<Vec<&str>> = again
            .parts
            .iter()
            .map(|part| part.words.iter().map(|word| word.text.as_str()).collect())
            .collect();
        assert_eq!(texts, [words], "in quotes: {written:?}");
    }
}

/// A whole line twice is its parts twice.
fn repeated(text: &str, line: &CommandLine) {
    let closed = line.is_plain() && !text.contains(['#', '\\']) && !text.contains("<<");
    if closed && !line.parts.is_empty() && line.parts.len() < 1_000 && text.len() < 20_000 {
        let twice = shell::parse_command_line(&format!("{text}\n{text}"));
        assert_eq!(twice.parts.len(), 2 * line.parts.len(), "two lines are not twice one");
    }
}

pub(super) fn command_seeds() -> Vec<Vec<u8>> {
    let mut seeds = seeds::texts(&[
        "cargo test --workspace && git push",
        "grep -rn 'a b' src | sort > out.txt 2>&1",
        "cat <<'EOF' > x\nrm -rf /\nEOF\nls",
        "bash -c \"rm $(cat list)\"",
        "for f in *.rs; do sudo env A=1 rm \"$f\"; done",
        "find . -name '*.o' -exec rm {} ;",
        "echo $'\\x72m' `id` ${HOME} $((1+2)) {a,b} ~/x &",
        "(cd /tmp && ls) || true; f() { echo hi; }; f",
    ]);
    for block in seeds::blocks("docs", "sh") {
        seeds.extend(block.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
    }
    seeds
}

// ------------------------------------------------------------ secrets

/// A known secret does not come through, and where something is taken out it is said.
pub(super) fn secrets(data: &[u8]) {
    let [secret, rest] = parts::<2>(data).map(text);
    let known = [secret.clone()];
    let at = random_of(data).below(rest.len() + 1);
    let at = (0..=at).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(0);
    let planted = format!("{}{secret}{}", &rest[..at], &rest[at..]);
    let clean = redact_text(&planted, &known).into_owned();
    // Short words are no secrets: to take them out would take texts apart.
    if secret.trim().len() >= 16 {
        assert!(!clean.contains(&secret), "a secret comes through");
    }
    if !clean.contains("[redacted: ") {
        assert_eq!(clean, planted, "changed, and nothing is said of it");
    }
    let bound = 24 * planted.len() + 64;
    assert!(clean.len() <= bound, "{} bytes of {}", clean.len(), planted.len());
}

pub(super) fn secret_seeds() -> Vec<Vec<u8>> {
    seeds::texts(&[
        "correct-horse-battery-staple-7\x1eThe key is correct-horse-battery-staple-7, keep it.",
        "x\x1eexport OPENAI_API_KEY=sk-0123456789abcdefghijklmnop AKIA0123456789ABCDEF",
        "pässword with spaces 0123\x1eAuthorization: Bearer abcdef0123456789abcdef",
        "0123456789abcdef\x1e-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n",
        "aaaaaaaaaaaaaaaa\x1eeyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2Q",
    ])
}

// ------------------------------------------------------------ content that is sent

pub(super) const SENT_CONTENT_WORDS: &[&str] = &[
    "https://",
    "://",
    "mailto:",
    "javascript:",
    "[",
    "](",
    ")",
    "![",
    "<",
    ">",
    "<a href=",
    "<img src=",
    "<!",
    "<@",
    "|",
    "@",
    "@all",
    "\n/close",
    "\u{200b}",
    "\u{202e}",
    "\u{FF20}",
];

/// What acts is gone, a second time takes nothing more, and it never grows by more than brackets.
pub(super) fn sent_content(data: &[u8]) {
    let text = text(data);
    let plain = |text: &str| plain_content(text, &|_| false, &mut TakenOut::new());
    let once = plain(&text);
    assert!(!once.contains("://"), "an address keeps its scheme: {once:?}");
    assert_eq!(plain(&once), once, "a second time takes more");
    assert!(once.len() <= 2 * text.len() + 1, "{} bytes of {}", once.len(), text.len());
    let kept = plain_content(&text, &|_| true, &mut TakenOut::new());
    assert!(kept.len() <= text.len(), "what is kept does not grow");
}

pub(super) fn sent_content_seeds() -> Vec<Vec<u8>> {
    seeds::texts(&[
        "See [the plan](https://evil.example/p?for=bob) and ![x](https://evil.example/p.png).",
        "<https://evil.example/|here> <!channel> <@U1> @all @@all",
        "<a href=\"https://evil.example\">here</a><<a>script>x</script>",
        "hthttp://tp://evil.example mailto:eve@evil.example?bcc=x",
        "/close\n  /label ~bug\nann@example.org wrote: a <b and c> d",
    ])
}
