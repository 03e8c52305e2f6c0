//! What the names of a tool and of its arguments suggest that it does: a declaration for a person to
//! look at (U2). Pure. Not here: a declaration that counts. A proposal is worth nothing until a
//! person says yes to it; where its words leave a choice, it is the stricter one.

use serde_json::Value;
use weir_core::tool::{ArgumentPath, CommitDeclaration, SendDeclaration, ToolDeclaration};

use crate::listing::ListedTool;

mod arguments;

use arguments::{Argument, collect_arguments};

/// Characters of a name or a description that are looked at.
const TEXT_CHARS_MAX: usize = 200;

/// Words that stand for money and bookings.
const COMMITS: &[&str] = &[
    "pay", "payment", "charge", "transfer", "book", "booking", "refund", "order", "purchase",
    "buy", "invoice", "donate", "withdraw", "checkout",
];
/// Words that stand for credentials, rights and members.
const IDENTITY: &[&str] = &[
    "token",
    "key",
    "permission",
    "role",
    "member",
    "collaborator",
    "password",
    "credential",
    "secret",
    "webhook",
    "access",
    "grant",
    "revoke",
    "oauth",
];
/// Words that stand for deleting.
const DESTROYS: &[&str] = &[
    "delete", "remove", "purge", "archive", "destroy", "drop", "erase", "wipe", "truncate", "trash",
];
/// Words that stand for sending, and for changing what others read.
const SENDS: &[&str] = &[
    "create", "send", "post", "reply", "comment", "invite", "share", "publish", "forward",
    "update", "edit", "add", "assign", "upload", "push", "merge", "notify", "submit", "tweet",
    "respond", "patch",
];
/// Words with which the name of a tool begins that only reads.
const READS: &[&str] = &[
    "list", "get", "search", "read", "find", "fetch", "show", "view", "describe", "lookup", "count",
];

/// Words of arguments that say where to or to whom.
const TO: &[&str] = &[
    "to",
    "recipient",
    "channel",
    "email",
    "user",
    "assignee",
    "cc",
    "bcc",
    "project",
    "issue",
    "chat",
    "reviewer",
    "member",
    "attendee",
    "participant",
    "thread",
    "room",
    "group",
    "team",
    "repo",
    "repository",
    "owner",
    "calendar",
    "board",
    "page",
    "phone",
    "address",
    "url",
    "uri",
    "webhook",
];
/// Words of arguments that are what is sent.
const CONTENT: &[&str] = &[
    "body",
    "text",
    "message",
    "content",
    "description",
    "title",
    "subject",
    "note",
    "comment",
    "summary",
    "html",
    "markdown",
];
/// Words of arguments that say how much.
const AMOUNT: &[&str] = &["amount", "price", "quantity", "total"];
/// Words of arguments at which anybody can be reached.
const ADDRESSES: &[&str] = &["url", "uri", "link", "endpoint", "webhook"];

/// A declaration that nobody made yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclarationProposal {
    /// What is proposed.
    pub declaration: ToolDeclaration,
    /// The word that it rests on, for a person: `its name says "send"`.
    pub because: String,
}

/// What the words of a tool suggest; `None`: nothing, and it stays unknown what it does. A tool is
/// proposed as one that reads only where it says so of itself and its name agrees.
pub fn propose_declaration(name: &str, listed: &ListedTool) -> Option<DeclarationProposal> {
    let name_words = words_of(name);
    let arguments = collect_arguments(&listed.input_schema);
    if let Some((kind, because)) = find_written_kind(&name_words, &listed.description) {
        let declaration = kind.declare_with(&arguments);
        return Some(DeclarationProposal { declaration, because });
    }
    let verb = name_words.iter().find(|word| READS.contains(&word.as_str()))?;
    if !listed.says_read_only {
        return None;
    }
    let addresses = |path: &&Argument| path.free && path.has_word(ADDRESSES);
    let to: Vec<ArgumentPath> =
        arguments.iter().filter(addresses).map(|argument| argument.path.clone()).collect();
    if to.is_empty() {
        let because = format!("its name says {verb:?}, and it declares itself read-only");
        return Some(DeclarationProposal { declaration: ToolDeclaration::reading(), because });
    }
    let because = format!("it asks an address that a call names ({})", join_paths(&to));
    let sends = Some(SendDeclaration { to, content: Vec::new() });
    let declaration = ToolDeclaration { sends, ..ToolDeclaration::default() };
    Some(DeclarationProposal { declaration, because })
}

/// A declaration as a person writes it, a line for each key.
pub fn declaration_toml(declaration: &ToolDeclaration) -> String {
    let mut text = String::new();
    let mut flag = |is_said: bool, key: &str| {
        if is_said {
            text.push_str(&format!("{key} = true\n"));
        }
    };
    flag(declaration.reads, "reads");
    flag(declaration.own, "own");
    flag(declaration.destroys, "destroys");
    flag(declaration.identity, "identity");
    let mut table = |key: &str, lists: [(&str, &[ArgumentPath]); 2]| {
        let lists = lists.iter().filter(|(_, paths)| !paths.is_empty());
        let lists: Vec<String> =
            lists.map(|(name, paths)| format!("{name} = {}", toml_list(paths))).collect();
        let inside =
            if lists.is_empty() { " ".to_owned() } else { format!(" {} ", lists.join(", ")) };
        text.push_str(&format!("{key} = {{{inside}}}\n"));
    };
    if let Some(sends) = &declaration.sends {
        table("sends", [("to", &sends.to), ("content", &sends.content)]);
    }
    if let Some(commits) = &declaration.commits {
        table("commits", [("to", &commits.to), ("amount", &commits.amount)]);
    }
    for (key, paths) in [("control", &declaration.control), ("content", &declaration.content)] {
        if !paths.is_empty() {
            text.push_str(&format!("{key} = {}\n", toml_list(paths)));
        }
    }
    text
}

/// A path holds no control character, and what JSON escapes besides, TOML escapes alike.
fn toml_list(paths: &[ArgumentPath]) -> String {
    let quoted: Vec<String> =
        paths.iter().map(|path| Value::from(path.to_string()).to_string()).collect();
    format!("[{}]", quoted.join(", "))
}

fn join_paths(paths: &[ArgumentPath]) -> String {
    paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What a tool does that is more than reading, ordered by strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WrittenKind {
    Sends,
    Destroys,
    Identity,
    Commits,
}

impl WrittenKind {
    const BY_WORD: [(WrittenKind, &'static [&'static str]); 4] = [
        (WrittenKind::Commits, COMMITS),
        (WrittenKind::Identity, IDENTITY),
        (WrittenKind::Destroys, DESTROYS),
        (WrittenKind::Sends, SENDS),
    ];

    fn of_word(word: &str) -> Option<WrittenKind> {
        let found = WrittenKind::BY_WORD.iter().find(|(_, words)| words.contains(&word));
        found.map(|(kind, _)| *kind)
    }

    fn declare_with(self, arguments: &[Argument]) -> ToolDeclaration {
        let chosen = |keep: &dyn Fn(&Argument) -> bool| -> Vec<ArgumentPath> {
            let kept = arguments.iter().filter(|argument| argument.free && keep(argument));
            kept.map(|argument| argument.path.clone()).collect()
        };
        let is_content = |argument: &Argument| argument.is_content();
        let is_to = |argument: &Argument| !argument.is_content() && argument.has_word(TO);
        let is_amount = |argument: &Argument| !is_to(argument) && argument.last_is(AMOUNT);
        let mut made = ToolDeclaration::default();
        match self {
            // What is in neither list could be a copy to somebody: it stays out, and counts as that.
            WrittenKind::Sends => {
                made.sends =
                    Some(SendDeclaration { to: chosen(&is_to), content: chosen(&is_content) });
            }
            WrittenKind::Commits => {
                made.commits =
                    Some(CommitDeclaration { to: chosen(&is_to), amount: chosen(&is_amount) });
                made.control = chosen(&|one| !is_content(one) && !is_to(one) && !is_amount(one));
                made.content = chosen(&is_content);
            }
            WrittenKind::Destroys | WrittenKind::Identity => {
                made.destroys = self == WrittenKind::Destroys;
                made.identity = self == WrittenKind::Identity;
                made.control = chosen(&|one| !is_content(one));
                made.content = chosen(&is_content);
            }
        }
        made
    }
}

/// The strictest that any word of the name says; that of the description counts where it is
/// stricter. A tool that is read by its name, `list_members`, is not one that changes members; one
/// that does both, `get_or_create_label`, is.
fn find_written_kind(name: &[String], description: &str) -> Option<(WrittenKind, String)> {
    let reads = is_read_by_name(name);
    let of_name = name.iter().filter_map(|word| Some((WrittenKind::of_word(word)?, word)));
    let of_name = of_name.filter(|_| !reads).max_by_key(|(kind, _)| *kind);
    // Only its first word is what it does; the others are what it is about.
    let verb = words_of(description).into_iter().next().unwrap_or_default();
    let of_description = WrittenKind::of_word(&verb);
    match (of_name, of_description) {
        (Some((kind, word)), said) if said.is_none_or(|said| said <= kind) => {
            Some((kind, format!("its name says {word:?}")))
        }
        (_, Some(kind)) => Some((kind, format!("its description says {verb:?}"))),
        (_, None) => None,
    }
}

/// Whether a name begins with a word for reading, after that of its server at most: `list_members`,
/// `slack_list_members`. What follows is what is read then, if there is no second verb.
fn is_read_by_name(name: &[String]) -> bool {
    let is_read = |word: &String| READS.contains(&word.as_str());
    let at = match name {
        [first, ..] if is_read(first) => 0,
        [server, second, ..] if is_read(second) && WrittenKind::of_word(server).is_none() => 1,
        _ => return false,
    };
    !name[at + 1..].iter().any(|word| word == "or" || word == "and")
}

/// The words of a name, `createPull_requests` as *create*, *pull*, *request*: in small letters, each in
/// its plain form.
fn words_of(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for sign in text.chars().take(TEXT_CHARS_MAX) {
        let begins = !sign.is_alphanumeric() || (was_small && sign.is_uppercase());
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if sign.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(sign.to_lowercase());
        }
        was_small = sign.is_lowercase() || sign.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words.iter().map(|word| plain_form(word)).collect()
}

/// A word without the ending of a plural or of the third person, where that is one that is known.
fn plain_form(word: &str) -> String {
    let lists = [COMMITS, IDENTITY, DESTROYS, SENDS, READS, TO, CONTENT, AMOUNT, ADDRESSES];
    let known = |word: &str| lists.iter().any(|list| list.contains(&word));
    if known(word) {
        return word.to_owned();
    }
    let endings = [("ies", "y"), ("es", ""), ("s", ""), ("ing", ""), ("ing", "e")];
    let plain = endings
        .iter()
        .filter_map(|(ending, instead)| Some(format!("{}{instead}", word.strip_suffix(ending)?)));
    plain.into_iter().find(|plain| known(plain)).unwrap_or_else(|| word.to_owned())
}

#[cfg(test)]
mod tests;
