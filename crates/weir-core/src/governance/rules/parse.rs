//! From the text of a rule to what it means, without knowing workspace or home.

use super::RULE_CHARS_MAX;
use crate::governance::shell;
use crate::tool::ControlArgument;

/// What a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RuleKind {
    /// `*`: every effect.
    Everything,
    /// A bare tool name: every effect of that tool.
    Tool(String),
    /// `Read(glob)`, `Edit(glob)`.
    Path { edits: bool, pattern: RulePathPattern },
    /// `Shell(…)`.
    Shell(ShellPattern),
    /// `Web(host)`.
    Web(HostPattern),
    /// `Mail(address)`.
    Mail(MailPattern),
    /// `Mcp(server:tool)`; either may be `*`. With `NAME=VALUE` behind, separated by commas: only calls
    /// whose declared arguments are these.
    Mcp { server: String, tool: String, arguments: Vec<ControlArgument> },
    /// `Agent(name)`.
    Agent(String),
}

impl RuleKind {
    pub(super) fn needs_home(&self) -> bool {
        matches!(self, RuleKind::Path { pattern: RulePathPattern::Home(_), .. })
    }
}

/// A pattern of paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RulePathPattern {
    /// Every path inside the workspace; for deny and ask rules every path at all.
    All,
    /// At any depth below the workspace's root.
    Anywhere(String),
    /// From the workspace's root.
    Anchored(String),
    /// Absolute.
    Absolute(String),
    /// Below the home folder.
    Home(String),
}

/// A pattern of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShellPattern {
    /// Every command.
    All,
    /// Those that begin with these words.
    Prefix(Vec<String>),
    /// This one; its words too, when all of them are literal.
    Exact { text: String, words: Option<Vec<String>> },
}

/// A pattern of hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HostPattern {
    /// Every host.
    All,
    /// This one and its subdomains.
    Domain(String),
    /// Its subdomains only.
    Below(String),
    /// This address.
    Address(core::net::IpAddr),
}

/// A pattern of recipients of mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MailPattern {
    /// Everybody.
    All,
    /// This address, in lower case.
    Address(String),
    /// Every address of this domain, in lower case.
    Domain(String),
}

const KINDS: &[&str] = &["Read", "Edit", "Shell", "Web", "Mail", "Mcp", "Agent"];

/// Understands the text of a rule.
pub(super) fn parse_kind(text: &str) -> Result<RuleKind, String> {
    if text.is_empty() {
        return Err("is empty; write for example Edit(src/**)".into());
    }
    if text.chars().count() > RULE_CHARS_MAX {
        return Err(format!("is longer than {RULE_CHARS_MAX} characters"));
    }
    if text == "*" {
        return Ok(RuleKind::Everything);
    }
    let Some((name, rest)) = text.split_once('(') else {
        return parse_bare_rule(text);
    };
    let Some(specifier) = rest.strip_suffix(')') else {
        return Err("has no closing parenthesis at its end".into());
    };
    if specifier.trim().is_empty() {
        return Err(format!(
            "has nothing in its parentheses and can never match; write {name}(…) with what it is \
             about, or {name} alone for everything of that kind"
        ));
    }
    match name {
        "Read" | "Edit" => {
            Ok(RuleKind::Path { edits: name == "Edit", pattern: parse_path_pattern(specifier)? })
        }
        "Shell" => parse_shell_pattern(specifier).map(RuleKind::Shell),
        "Web" => parse_host_pattern(specifier).map(RuleKind::Web),
        "Mail" => parse_mail_pattern(specifier).map(RuleKind::Mail),
        "Mcp" => parse_mcp_rule(specifier),
        "Agent" => parse_agent_rule(specifier),
        other => Err(unknown_kind(other)),
    }
}

fn unknown_kind(name: &str) -> String {
    let near = KINDS.iter().find(|kind| kind.eq_ignore_ascii_case(name.trim()));
    // What other agents call it.
    let near = near.copied().or(match name.trim() {
        "Bash" | "Command" | "Run" => Some("Shell"),
        "Write" | "MultiEdit" | "Delete" => Some("Edit"),
        "Grep" | "Glob" | "LS" => Some("Read"),
        "WebFetch" | "Fetch" | "Domain" => Some("Web"),
        "Task" => Some("Agent"),
        _ => None,
    });
    let hint = near.map_or(String::new(), |kind| format!("; did you mean {kind}(…)?"));
    format!(
        "has the unknown kind {name:?}: before the parenthesis stands one of {}{hint}",
        KINDS.join(", ")
    )
}

/// A kind or a tool without specifier.
fn parse_bare_rule(text: &str) -> Result<RuleKind, String> {
    match text {
        "Read" | "Edit" => {
            Ok(RuleKind::Path { edits: text == "Edit", pattern: RulePathPattern::All })
        }
        "Shell" => Ok(RuleKind::Shell(ShellPattern::All)),
        "Web" => Ok(RuleKind::Web(HostPattern::All)),
        "Mail" => Ok(RuleKind::Mail(MailPattern::All)),
        "Mcp" => Ok(RuleKind::Mcp { server: "*".into(), tool: "*".into(), arguments: Vec::new() }),
        "Agent" => Ok(RuleKind::Agent("*".into())),
        name => {
            let valid = name.len() <= 64 && name.bytes().all(is_name_byte);
            if valid {
                Ok(RuleKind::Tool(name.to_string()))
            } else {
                Err(format!(
                    "is neither the name of a tool nor a kind with a specifier such as \
                     Edit(src/**); kinds are {}",
                    KINDS.join(", ")
                ))
            }
        }
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// A gitignore-like pattern.
fn parse_path_pattern(specifier: &str) -> Result<RulePathPattern, String> {
    let text = specifier.trim();
    if text.contains(['\n', '\r', '\0']) {
        return Err("contains a line break or NUL, which no path of a rule may have".into());
    }
    if text.starts_with('!') {
        return Err("begins with !, which rules do not have; write a rule of another set".into());
    }
    let (make, rest): (fn(String) -> RulePathPattern, &str) =
        if let Some(rest) = text.strip_prefix("~/") {
            (RulePathPattern::Home, rest)
        } else if text == "~" {
            (RulePathPattern::Home, "**")
        } else if text.starts_with('~') {
            return Err("names another person's home; write the path in full".into());
        } else if let Some(rest) = text.strip_prefix('/') {
            (RulePathPattern::Absolute, rest)
        } else if let Some(rest) = text.strip_prefix("./") {
            (RulePathPattern::Anchored, rest)
        } else if text.trim_end_matches('/').contains('/') {
            (RulePathPattern::Anchored, text)
        } else {
            (RulePathPattern::Anywhere, text)
        };
    let rest = rest.trim_end_matches('/');
    if rest.split('/').any(|part| part == "..") {
        return Err(
            "contains .. and can never match: paths are compared resolved; write where it \
                    leads"
                .into(),
        );
    }
    if rest.split('/').any(|part| part == "." || part.is_empty()) && !rest.is_empty() {
        return Err("contains an empty or . part and can never match".into());
    }
    let pattern = match rest {
        "" | "." => make("**".to_string()),
        rest => make(rest.to_string()),
    };
    Ok(match pattern {
        RulePathPattern::Anywhere(all) | RulePathPattern::Anchored(all)
            if all == "**" || all == "*" =>
        {
            RulePathPattern::Anchored("**".into())
        }
        other => other,
    })
}

/// `words:*`, `*`, or the exact command.
fn parse_shell_pattern(specifier: &str) -> Result<ShellPattern, String> {
    let text = specifier.trim();
    if text == "*" {
        return Ok(ShellPattern::All);
    }
    let prefix = text.strip_suffix(":*");
    let is_comment = prefix.is_some_and(ends_in_comment);
    if let Some(words) = prefix.filter(|_| !is_comment) {
        if words.trim().is_empty() {
            return Err("has no words before :*; write Shell(*) for every command".into());
        }
        if words.contains(":*") {
            return Err("has :* in the middle; it may only stand at the end".into());
        }
        let line = shell::parse_command_line(words);
        let [part] = line.parts.as_slice() else {
            return Err("has more than one command before :*; a compound command is judged part \
                        by part, so write one rule for each"
                .into());
        };
        let plain = line.is_plain() && part.redirections.is_empty() && !line.subshell;
        let Some(words) = part.literal_words().filter(|_| plain && !line.background) else {
            return Err("has expansions, assignments or redirections before :* and can never \
                        match; write plain words"
                .into());
        };
        return Ok(ShellPattern::Prefix(words.into_iter().map(String::from).collect()));
    }
    if text.contains(":*") && !is_comment {
        return Err("has :* in the middle; it may only stand at the end".into());
    }
    let line = shell::parse_command_line(text);
    if line.parts.is_empty() {
        return Err("names no command and can never match".into());
    }
    if let Some(why) = line.unreadable {
        return Err(format!("is no command that can be read: {why}"));
    }
    let single = line.is_plain() && !line.subshell && !line.background;
    let words = match line.parts.as_slice() {
        [part] if single && part.redirections.is_empty() => part.literal_words(),
        _ => None,
    };
    let words = words.map(|words| words.into_iter().map(String::from).collect());
    Ok(ShellPattern::Exact { text: text.to_string(), words })
}

/// Whether what stands before `:*` ends in a comment. `bash #:*` is a command like any other, and offered as
/// it stands: it must not come to mean every command of bash.
fn ends_in_comment(words: &str) -> bool {
    let line = shell::parse_command_line(words);
    let [part] = line.parts.as_slice() else { return false };
    words.contains('#') && part.raw.trim() != words.trim()
}

/// A host name or address.
fn parse_host_pattern(specifier: &str) -> Result<HostPattern, String> {
    let text = specifier.trim();
    if text == "*" {
        return Ok(HostPattern::All);
    }
    if text.contains("://") {
        return Err("contains a scheme and can never match; write the host alone, as in \
                    Web(docs.rs)"
            .into());
    }
    if text.contains(['/', '?', '#', '@']) {
        return Err("contains more than a host and can never match; write the host alone, as in \
                    Web(docs.rs)"
            .into());
    }
    let address = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    if let Ok(address) = address.parse() {
        return Ok(HostPattern::Address(address));
    }
    if text.contains(':') {
        return Err("contains a port and can never match: rules name hosts only".into());
    }
    if !text.is_ascii() {
        return Err("is not in ASCII and can never match; write the host as xn--…".into());
    }
    let (below, name) = match text.strip_prefix("*.") {
        Some(name) => (true, name),
        None => (false, text),
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let valid = !name.is_empty()
        && name.len() <= 253
        && name.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(is_name_byte)
                && !label.starts_with('-')
                && !label.ends_with('-')
        });
    if !valid {
        return Err("is no host name and can never match; write for example Web(docs.rs), which \
                    covers its subdomains"
            .into());
    }
    Ok(if below { HostPattern::Below(name) } else { HostPattern::Domain(name) })
}

/// `bob@example.org`, `*@example.org`.
fn parse_mail_pattern(specifier: &str) -> Result<MailPattern, String> {
    let text = specifier.trim();
    if text == "*" {
        return Ok(MailPattern::All);
    }
    let wrong = "is no address and can never match; write Mail(bob@example.org), or \
                 Mail(*@example.org) for everybody there";
    let (name, domain) = text.rsplit_once('@').ok_or(wrong)?;
    let HostPattern::Domain(domain) = parse_host_pattern(domain)? else { return Err(wrong.into()) };
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '<' | '>' | '"' | ',' | ';' | '@');
    match name {
        "*" => Ok(MailPattern::Domain(domain)),
        "" => Err(wrong.into()),
        name if name.contains('*') || !name.chars().all(plain) => Err(wrong.into()),
        name => Ok(MailPattern::Address(format!("{}@{domain}", name.to_ascii_lowercase()))),
    }
}

/// `server`, `server:*`, `server:tool`, each also with `, NAME=VALUE` behind it.
fn parse_mcp_rule(specifier: &str) -> Result<RuleKind, String> {
    let mut parts = specifier.split(',').map(str::trim);
    let named = parts.next().unwrap_or_default();
    let (server, tool) = named.split_once(':').unwrap_or((named, "*"));
    let valid = |name: &str| name == "*" || (!name.is_empty() && name.bytes().all(is_name_byte));
    if !valid(server) || !valid(tool) {
        return Err(
            "is not of the form Mcp(server:tool) or Mcp(server:*) and can never match".into()
        );
    }
    if server == "*" && tool != "*" {
        return Err("names a tool without its server; write Mcp(server:tool)".into());
    }
    let mut arguments = parts.map(parse_rule_argument).collect::<Result<Vec<_>, String>>()?;
    if server == "*" && !arguments.is_empty() {
        return Err("names arguments without a server; write Mcp(server:tool, name=value)".into());
    }
    arguments.sort_unstable();
    arguments.dedup();
    Ok(RuleKind::Mcp { server: server.to_string(), tool: tool.to_string(), arguments })
}

/// `NAME=VALUE`.
fn parse_rule_argument(text: &str) -> Result<ControlArgument, String> {
    let (name, value) = text.split_once('=').map_or(("", ""), |(n, v)| (n.trim(), v.trim()));
    if name.is_empty() || value.is_empty() {
        return Err(format!(
            "has {text:?} where an argument of the tool belongs; write for example \
             Mcp(forge:*, project_id=7)"
        ));
    }
    Ok(ControlArgument { name: name.to_owned(), value: value.to_owned() })
}

fn parse_agent_rule(specifier: &str) -> Result<RuleKind, String> {
    let name = specifier.trim();
    if name == "*" || name.bytes().all(is_name_byte) {
        Ok(RuleKind::Agent(name.to_string()))
    } else {
        Err("names no agent: names consist of letters, digits, _ and -".into())
    }
}
