//! What a person can decide from within the face, in one table: what is typed, with the words of the
//! command line, and what it must be followed by. A new one is a row here and its line where it is
//! done (`weir-terminal`). Pure. Not here: how it is shown and agreed to ([`crate::screen::decide`],
//! [`crate::plain`]), what it does.
//!
//! No row decides by being typed: each first shows what would count, and only a yes to that does it.

mod answer;

/// What must follow a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VerbArguments {
    /// Nothing.
    Nothing,
    /// One name, and these flags at most.
    Name(&'static [&'static str]),
    /// The same, and behind them other words in place of those that were proposed: `--text WORDS`.
    Editable(&'static [&'static str]),
    /// `allow`, `ask` or `deny`, and a rule, which may have blanks in it.
    Rule,
    /// A rule, which may have blanks in it.
    RuleText,
    /// A key, and a value, which may have blanks in it.
    Setting,
    /// The id of an approval and an answer to it, or the id of a question and `--text WORDS`.
    Answer,
    /// A session, and the number of a lease.
    Lease,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
struct DecisionVerb {
    kind: DecisionKind,
    /// The command of the face, without the slash.
    command: &'static str,
    /// The word behind it.
    verb: &'static str,
    arguments: VerbArguments,
    /// What it takes, in words.
    hint: &'static str,
    /// One sentence.
    about: &'static str,
}

macro_rules! decisions {
    ($(
        $(#[$comment:meta])*
        $kind:ident = $command:literal $verb:literal $arguments:expr, $hint:literal $about:literal;
    )*) => {
        /// Something that a person decides.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum DecisionKind {
            $($(#[$comment])* $kind,)*
        }

        impl DecisionKind {
            /// All of them, in the order of the table.
            pub const ALL: &'static [DecisionKind] = &[$(DecisionKind::$kind,)*];
        }

        const VERBS: &[DecisionVerb] = &[
            $(DecisionVerb {
                kind: DecisionKind::$kind,
                command: $command,
                verb: $verb,
                arguments: $arguments,
                hint: $hint,
                about: $about,
            },)*
        ];
    };
}

const UNTRUSTED: &[&str] = &["--untrusted"];

// The words are those of `weir memory`, `weir skills` and so on.
decisions! {
    /// A proposed fact is used from now on.
    MemoryAccept = "memory" "accept" VerbArguments::Editable(&["--private"]), "id" "Keeps a proposed fact";
    /// A fact is not used, and not proposed again.
    MemoryReject = "memory" "reject" VerbArguments::Name(&[]), "id" "Rejects a fact for good";
    /// A fact is used no longer.
    MemoryForget = "memory" "forget" VerbArguments::Name(&[]), "id" "Forgets a fact";
    /// A proposed skill becomes one of the person's own.
    SkillAccept = "skills" "accept" VerbArguments::Editable(UNTRUSTED), "name" "Accepts a proposed skill";
    /// A proposed skill is thrown away.
    SkillReject = "skills" "reject" VerbArguments::Name(&[]), "name" "Rejects a proposed skill";
    /// A skill of the person's own is put aside.
    SkillRemove = "skills" "remove" VerbArguments::Name(&[]), "name" "Removes a skill of your own";
    /// A learned recipe is used, or one that was rejected counts again.
    RecipeAccept = "recipes" "accept" VerbArguments::Editable(UNTRUSTED), "id" "Accepts a learned recipe";
    /// A recipe is neither used nor proposed again.
    RecipeReject = "recipes" "reject" VerbArguments::Name(&[]), "id" "Rejects a recipe for good";
    /// A recipe is taken away.
    RecipeRemove = "recipes" "remove" VerbArguments::Name(&[]), "id" "Removes a recipe";
    /// What a server is and offers now may be used.
    ServerApprove = "mcp" "approve" VerbArguments::Name(&[]), "name" "Approves what a server is and offers now";
    /// A server and its approval are taken away.
    ServerRemove = "mcp" "remove" VerbArguments::Name(&[]), "name" "Removes a server of your own";
    /// A plugin is switched on as it is now.
    PluginEnable = "plugins" "enable" VerbArguments::Name(&[]), "id" "Enables a plugin as it is now";
    /// A plugin is switched off.
    PluginDisable = "plugins" "disable" VerbArguments::Name(&[]), "id" "Disables a plugin";
    /// A custom tool may be used as it is now.
    ToolAccept = "tools" "accept" VerbArguments::Name(UNTRUSTED), "name" "Accepts a custom tool as it is now";
    /// A custom tool is switched off.
    ToolDisable = "tools" "disable" VerbArguments::Name(&[]), "name" "Disables a custom tool";
    /// A custom tool is taken away.
    ToolRemove = "tools" "remove" VerbArguments::Name(&[]), "name" "Removes a custom tool";
    /// A proposed setting holds.
    SettingAccept = "config" "accept" VerbArguments::Name(UNTRUSTED), "key" "Accepts a proposed setting";
    /// A proposed setting is thrown away.
    SettingReject = "config" "reject" VerbArguments::Name(&[]), "key" "Rejects a proposed setting";
    /// A setting of the person's own configuration is another one.
    SettingSet = "config" "set" VerbArguments::Setting, "key value" "Changes a setting of your own";
    /// A setting of the person's own configuration is taken away.
    SettingUnset = "config" "unset" VerbArguments::Name(&[]), "key" "Removes a setting of your own";
    /// The folder's own files may define hooks, servers, scripts and allow rules.
    TrustGrant = "trust" "" VerbArguments::Nothing, "" "Trusts this folder's own files";
    /// They may no longer.
    TrustRemove = "trust" "remove" VerbArguments::Nothing, "" "Stops trusting this folder";
    /// A rule is added to the person's own configuration.
    RuleAdd = "permissions" "add" VerbArguments::Rule, "allow|ask|deny rule" "Adds a rule of your own";
    /// A rule is taken out of every file that has it.
    RuleRemove = "permissions" "remove" VerbArguments::RuleText, "rule" "Removes a rule";
    /// What another session asks is answered.
    ApprovalAnswer = "approvals" "answer" VerbArguments::Answer, "id once|session|always|deny" "Answers what another session asks";
    /// What an answer for a session allows is asked again.
    LeaseRevoke = "approvals" "revoke" VerbArguments::Lease, "session number" "Revokes what an answer allowed";
}

/// What is to be decided: the kind, and what was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRequest {
    /// What kind of decision.
    pub kind: DecisionKind,
    /// What it is about, as the command line takes it: a name; a key and a value; `allow` and a rule; an
    /// approval, `deny` and a reason.
    pub arguments: Vec<String>,
    /// Flags of the command line: `--untrusted`, `--uses=5`.
    pub flags: Vec<String>,
    /// Words of the person in place of those that were proposed, as `--text` takes them.
    pub own_words: Option<String>,
}

impl DecisionRequest {
    /// The first thing that was named; empty: nothing was.
    pub fn name(&self) -> &str {
        self.arguments.first().map_or("", String::as_str)
    }

    /// Whether a flag was typed.
    pub fn has_flag(&self, flag: &str) -> bool {
        self.flags.iter().any(|one| one == flag)
    }

    /// What stands behind a flag that was typed, such as `--uses`.
    pub fn flag_value(&self, flag: &str) -> Option<&str> {
        self.flags.iter().find_map(|one| one.strip_prefix(flag)?.strip_prefix('='))
    }

    /// As it is typed: `/skills accept release-notes`.
    pub fn typed_line(&self) -> String {
        match &self.own_words {
            Some(text) => self.typed_line_with(text),
            None => self.typed_words(),
        }
    }

    /// As it is typed with these words in place of those that were proposed: what a person changes.
    pub fn typed_line_with(&self, text: &str) -> String {
        let gap = if text.contains('\n') { '\n' } else { ' ' };
        format!("{} {TEXT_FLAG}{gap}{text}", self.typed_words())
    }

    /// The same without any words of the person.
    pub fn typed_words(&self) -> String {
        let row = verb_row(self.kind);
        let mut words = vec![format!("/{}", row.command)];
        words.extend(Some(row.verb.to_owned()).filter(|verb| !verb.is_empty()));
        words.extend(self.arguments.iter().chain(&self.flags).cloned());
        words.join(" ")
    }
}

fn verb_row(kind: DecisionKind) -> &'static DecisionVerb {
    let found = VERBS.iter().find(|row| row.kind == kind);
    found.expect("the table was made with a row for every kind")
}

/// What a line after a command of the face means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TypedDecision {
    /// Nothing is decided by it.
    Not,
    /// A verb, but not what must follow it, or one that only the command line has: how it is typed.
    Incomplete(String),
    /// This is to be decided.
    Asked(DecisionRequest),
}

/// Commands whose words are searched for: there a verb is one only with exactly what belongs to it.
const SEARCHED: &[&str] = &["memory"];

/// Verbs that only the command line has: the command here, the one there, and its verbs.
const ONLY_ON_COMMAND_LINE: &[(&str, &str, &[&str])] = &[
    ("memory", "memory", &["add", "export"]),
    ("skills", "skills", &["add", "validate"]),
    ("recipes", "recipes", &["add"]),
    ("mcp", "mcp-servers", &["add", "declare", "install", "update", "restart"]),
    ("tools", "tools", &["add"]),
    ("config", "config", &["get", "edit", "path", "schema"]),
    ("permissions", "permissions", &["explain", "marks", "unmark"]),
];

/// How a verb is typed that is none here, but one of the command line.
fn typed_on_command_line(command: &str, verb: &str) -> Option<String> {
    let (_, there, _) = ONLY_ON_COMMAND_LINE
        .iter()
        .find(|(here, _, verbs)| *here == command && verbs.contains(&verb))?;
    let search = match SEARCHED.contains(&command) {
        true => format!(" (/{command} search {verb} … searches the words)"),
        false => String::new(),
    };
    Some(format!("On the command line: weir {there} {verb} …{search}"))
}

/// The words of a report that follow `/command`: `list` is the list itself, as on the command line.
pub(crate) fn report_words<'a>(command: &str, rest: &'a str) -> &'a str {
    let is_list = rest.trim() == "list" && !verbs_of_command(command).is_empty();
    if is_list { "" } else { rest }
}

/// What `rest` after `/command` decides.
pub(crate) fn parse_decision(command: &str, rest: &str) -> TypedDecision {
    let rest = rest.trim();
    let (verb, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if let Some(how) = typed_on_command_line(command, verb) {
        return TypedDecision::Incomplete(how);
    }
    let Some(row) = VERBS.iter().find(|row| row.command == command && row.verb == verb) else {
        return TypedDecision::Not;
    };
    match read_arguments(row, after.trim()) {
        Some(ReadArguments { arguments, flags, own_words }) => {
            let kind = row.kind;
            TypedDecision::Asked(DecisionRequest { kind, arguments, flags, own_words })
        }
        // With other words behind it, it is one of the words that are searched for.
        None if SEARCHED.contains(&command) && !after.trim().is_empty() => TypedDecision::Not,
        None => TypedDecision::Incomplete(format!("Type /{command} {verb} {}", row.hint)),
    }
}

/// What followed a verb.
#[derive(Debug, Default)]
struct ReadArguments {
    arguments: Vec<String>,
    flags: Vec<String>,
    own_words: Option<String>,
}

/// Behind this everything is words of the person.
const TEXT_FLAG: &str = "--text";

fn read_arguments(row: &DecisionVerb, text: &str) -> Option<ReadArguments> {
    let owned = |words: &[&str]| {
        let arguments = words.iter().map(ToString::to_string).collect();
        Some(ReadArguments { arguments, ..ReadArguments::default() })
    };
    let two = text.split_once(char::is_whitespace).map(|(first, more)| (first, more.trim()));
    match row.arguments {
        VerbArguments::Nothing => text.is_empty().then(Default::default),
        VerbArguments::Name(known) => read_name(text, known),
        VerbArguments::Editable(known) => match split_own_words(text) {
            None => read_name(text, known),
            Some((_, "")) => None,
            Some((before, words)) => read_name(before, known)
                .map(|read| ReadArguments { own_words: Some(words.to_owned()), ..read }),
        },
        VerbArguments::Rule => two
            .filter(|(set, _)| ["allow", "ask", "deny"].contains(set))
            .and_then(|(a, b)| owned(&[a, b])),
        VerbArguments::RuleText => {
            if text.is_empty() {
                None
            } else {
                owned(&[text])
            }
        }
        VerbArguments::Setting => two
            .filter(|(key, _)| !key.starts_with('-'))
            .and_then(|(key, value)| owned(&[key, value])),
        VerbArguments::Answer => answer::read_answer(text),
        VerbArguments::Lease => {
            let (session, number) = two.filter(|(session, _)| !session.starts_with('-'))?;
            let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
            if is_number { owned(&[session, number]) } else { None }
        }
    }
}

/// What stands before `--text` and behind it; `None`: it does not stand there.
fn split_own_words(text: &str) -> Option<(&str, &str)> {
    let is_flag = |at: &usize| {
        let begins = text[..*at].chars().next_back().is_none_or(char::is_whitespace);
        let behind = text[at + TEXT_FLAG.len()..].chars().next();
        begins && behind.is_none_or(|c| c.is_whitespace() || c == '=')
    };
    let at = text.match_indices(TEXT_FLAG).map(|(at, _)| at).find(is_flag)?;
    let words = &text[at + TEXT_FLAG.len()..];
    Some((&text[..at], words.strip_prefix('=').unwrap_or(words).trim()))
}

/// One name, before or after it flags that are known.
fn read_name(text: &str, known: &[&str]) -> Option<ReadArguments> {
    let (flags, names): (Vec<&str>, Vec<&str>) =
        text.split_whitespace().partition(|word| word.starts_with('-'));
    let fits = names.len() == 1 && flags.iter().all(|flag| known.contains(flag));
    let owned = |words: Vec<&str>| words.into_iter().map(String::from).collect();
    fits.then(|| ReadArguments { arguments: owned(names), flags: owned(flags), own_words: None })
}

/// What a person looks at of a report, instead of the list of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportPart {
    /// One thing, whole.
    One(String),
    /// What waits for a decision, whole.
    Inbox,
}

/// Commands of which one thing can be shown.
const SHOWS_ONE: &[&str] = &["skills", "recipes", "mcp", "plugins", "tools", "approvals"];
/// Commands that have an inbox.
const HAS_INBOX: &[&str] = &["memory", "skills", "config"];

/// The part of a report that `rest` after `/command` names; `None`: all of it.
pub(crate) fn parse_report_part(command: &str, rest: &str) -> Option<ReportPart> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    match words[..] {
        ["inbox"] if HAS_INBOX.contains(&command) => Some(ReportPart::Inbox),
        ["show", name] if SHOWS_ONE.contains(&command) && !name.starts_with('-') => {
            Some(ReportPart::One(name.to_owned()))
        }
        _ => None,
    }
}

/// A word that can follow a command, for completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VerbOffer {
    pub(crate) verb: &'static str,
    pub(crate) hint: &'static str,
    pub(crate) about: &'static str,
}

/// What can follow `/command`, in the order of the table.
pub(crate) fn verbs_of_command(command: &str) -> Vec<VerbOffer> {
    let mut all = Vec::new();
    if SHOWS_ONE.contains(&command) {
        all.push(VerbOffer { verb: "show", hint: "name", about: "Shows one, whole" });
    }
    if HAS_INBOX.contains(&command) {
        all.push(VerbOffer {
            verb: "inbox",
            hint: "",
            about: "Shows what waits for your decision",
        });
    }
    let rows = VERBS.iter().filter(|row| row.command == command && !row.verb.is_empty());
    all.extend(rows.map(|row| VerbOffer { verb: row.verb, hint: row.hint, about: row.about }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Option<DecisionRequest> {
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        match parse_decision(command, rest) {
            TypedDecision::Asked(request) => Some(request),
            TypedDecision::Not | TypedDecision::Incomplete(_) => None,
        }
    }

    #[test]
    fn r10_the_words_of_the_command_line_are_understood() {
        for (line, kind, arguments, flags) in [
            ("memory accept m3", DecisionKind::MemoryAccept, vec!["m3"], vec![]),
            (
                "memory accept m3 --private",
                DecisionKind::MemoryAccept,
                vec!["m3"],
                vec!["--private"],
            ),
            (
                "skills accept a --untrusted",
                DecisionKind::SkillAccept,
                vec!["a"],
                vec!["--untrusted"],
            ),
            ("mcp approve git", DecisionKind::ServerApprove, vec!["git"], vec![]),
            ("trust", DecisionKind::TrustGrant, vec![], vec![]),
            ("trust remove", DecisionKind::TrustRemove, vec![], vec![]),
            (
                "permissions add allow Shell(cargo test:*)",
                DecisionKind::RuleAdd,
                vec!["allow", "Shell(cargo test:*)"],
                vec![],
            ),
            ("permissions remove Web(a b)", DecisionKind::RuleRemove, vec!["Web(a b)"], vec![]),
            ("config set model a b", DecisionKind::SettingSet, vec!["model", "a b"], vec![]),
            ("config unset model", DecisionKind::SettingUnset, vec!["model"], vec![]),
            (
                "approvals answer s-a1 once",
                DecisionKind::ApprovalAnswer,
                vec!["s-a1", "once"],
                vec![],
            ),
            (
                "approvals answer s-a1 deny not on a Friday",
                DecisionKind::ApprovalAnswer,
                vec!["s-a1", "deny", "not on a Friday"],
                vec![],
            ),
            (
                "approvals answer s-a1 always",
                DecisionKind::ApprovalAnswer,
                vec!["s-a1", "always"],
                vec![],
            ),
            (
                "approvals answer s-a1 session --uses=5 --for=10m",
                DecisionKind::ApprovalAnswer,
                vec!["s-a1", "session"],
                vec!["--uses=5", "--for=10m"],
            ),
            ("approvals revoke s 2", DecisionKind::LeaseRevoke, vec!["s", "2"], vec![]),
        ] {
            let request = asked(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(
                (request.kind, &request.arguments[..], &request.flags[..]),
                (kind, &owned(&arguments)[..], &owned(&flags)[..]),
                "{line}"
            );
            assert_eq!(request.typed_line(), format!("/{line}"));
        }
    }

    #[test]
    fn r10_words_in_place_of_those_that_were_proposed_are_all_that_follows() {
        let fact = asked("memory accept m3 --private --text Use --text tabs,  not blanks");
        let fact = fact.expect("it is one");
        assert_eq!((fact.name(), &fact.flags[..]), ("m3", &["--private".to_owned()][..]));
        assert_eq!(fact.own_words.as_deref(), Some("Use --text tabs,  not blanks"));
        assert_eq!(
            fact.typed_line(),
            "/memory accept m3 --private --text Use --text tabs,  not blanks"
        );
        let text = "---\nname: notes\n---\n\n  Write it.";
        let skill = asked("skills accept notes").expect("it is one").typed_line_with(text);
        let skill = asked(skill.trim_start_matches('/')).expect("it is one");
        assert_eq!(skill.own_words.as_deref(), Some(text));
        assert_eq!(asked("recipes accept r --text=x").and_then(|r| r.own_words), Some("x".into()));
        // Nothing behind it, behind a verb that takes none, and before the name.
        for line in ["skills accept a --text", "skills reject a --text b", "skills accept --text a"]
        {
            assert_eq!(asked(line), None, "{line}");
        }
        assert_eq!(asked("memory accept m3 --textual x"), None);
    }

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn r10_what_is_no_decision_stays_a_search_or_is_said_to_be_incomplete() {
        for line in [
            "memory accept the rules",
            "memory accept m3 --yes",
            "memory search accept m3",
            "memory tabs",
            "skills",
            "skills list",
            "config",
        ] {
            let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
            assert_eq!(parse_decision(command, rest), TypedDecision::Not, "{line}");
        }
        for line in [
            "memory accept",
            "memory forget",
            "skills accept",
            "skills accept a b",
            "skills accept a --yes",
            "plugins enable --yes",
            "plugins enable x --hash=1",
            "permissions add Shell(x)",
            "permissions remove",
            "config set model",
            "config unset",
            "trust remove /etc",
            "approvals answer s-a1 once and for all",
            "approvals answer s-a1 always and everywhere",
            "approvals answer s-a1 once --uses 5",
            "approvals answer s-a1 session --uses",
            "approvals answer s-a1 session --uses=",
            "approvals answer s-a1 session 5",
            "approvals answer s-q1 --text",
            "approvals answer --text yes",
            "approvals answer s-q1 once --text yes",
            "approvals answer s-a1",
            "approvals revoke s",
            "approvals revoke s two",
        ] {
            let (command, rest) = line.split_once(' ').expect("two words");
            let parsed = parse_decision(command, rest);
            assert!(matches!(parsed, TypedDecision::Incomplete(_)), "{line}: {parsed:?}");
        }
    }

    #[test]
    fn r10_a_verb_of_the_command_line_alone_is_named_and_list_is_no_word_to_search() {
        for (command, rest, how) in [
            ("memory", "add Tests run with just", "weir memory add …"),
            ("memory", "export", "weir memory export …"),
            ("mcp", "add git -- git-mcp", "weir mcp-servers add …"),
            ("permissions", "marks", "weir permissions marks …"),
        ] {
            let TypedDecision::Incomplete(told) = parse_decision(command, rest) else {
                panic!("{command} {rest}")
            };
            assert!(told.starts_with(&format!("On the command line: {how}")), "{told}");
        }
        for line in ["memory search add", "memory added", "skills addition"] {
            let (command, rest) = line.split_once(' ').expect("two words");
            assert_eq!(parse_decision(command, rest), TypedDecision::Not, "{line}");
        }
        assert_eq!(report_words("memory", "list"), "");
        assert_eq!(report_words("skills", " list "), "");
        assert_eq!(report_words("memory", "list of tests"), "list of tests");
        assert_eq!(report_words("file", "list"), "list", "it is a path");
    }

    #[test]
    fn r10_one_thing_or_the_inbox_is_shown() {
        assert_eq!(parse_report_part("skills", "show a"), Some(ReportPart::One("a".into())));
        assert_eq!(parse_report_part("memory", "inbox"), Some(ReportPart::Inbox));
        for (command, rest) in [
            ("memory", "inbox rules"),
            ("memory", "show a"),
            ("skills", "show"),
            ("skills", "show -x"),
        ] {
            assert_eq!(parse_report_part(command, rest), None, "{command} {rest}");
        }
    }
}
