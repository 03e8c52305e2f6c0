//! What the rules of a set say about one effect. Deny beats ask beats allow.

use super::compiled::WhichRules;
use super::parse::{HostPattern, MailPattern, RuleKind, RulePathPattern, ShellPattern};
use super::subjects::RuleSubject;
use super::{Rule, RuleAction, RuleContext, RuleSet};
use crate::governance::shell::{
    self, CommandLine, CommandPart, CommandReach, ReadCommand, Redirection, ShellWord,
};
use crate::tool::{
    ActEffect, ActKind, CommandEffect, ControlArgument, HostEffect, PathAccess, PathEffect,
    PathPlace, QueryEffect, SendEffect, foreign,
};

/// The way of [`SendEffect::by`] that rules of the kind `Mail` are about.
pub const MAIL: &str = "mail";

/// What rules say about one effect.
#[derive(Debug, Clone, PartialEq)]
pub enum Ruling<'a> {
    /// This rule forbids it.
    Deny(&'a Rule),
    /// This rule wants a person to be asked.
    Ask(&'a Rule),
    /// These rules together let it pass.
    Allow(Vec<&'a Rule>),
    /// No rule is about it.
    Silent,
}

impl Rule {
    /// Whether an `Mcp` rule names this tool, by itself or with its whole server.
    fn names_tool(&self, tool: &str) -> bool {
        let RuleKind::Mcp { server, tool: its_tool, .. } = &self.kind else { return false };
        foreign::split_name(tool).is_some_and(|(of, name)| {
            (server == "*" || server == of) && (its_tool == "*" || its_tool == name)
        })
    }

    /// The arguments that it names of this tool, and the tool as it names it; none: it names none.
    fn tool_arguments(&self, tool: &str) -> Option<(&str, &[ControlArgument])> {
        let RuleKind::Mcp { tool: its_tool, arguments, .. } = &self.kind else { return None };
        let names = !arguments.is_empty() && self.names_tool(tool);
        names.then_some((its_tool.as_str(), arguments.as_slice()))
    }
}

/// Whether what a rule forbids is this argument: a server may take another case for the same.
fn is_alike(forbidden: &ControlArgument, argument: &ControlArgument) -> bool {
    forbidden.name == argument.name
        && forbidden.value.to_lowercase() == argument.value.trim().to_lowercase()
}

fn use_of(edits: bool) -> PathUse {
    if edits { PathUse::Write } else { PathUse::Read }
}

/// What is done to a path, as rules see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathUse {
    /// `JournalReadResult`.
    Read,
    /// `Edit`.
    Write,
}

/// A word of a command as a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedWord {
    /// Relative to the workspace where it lies in it (`.`: its root), else absolute.
    pub(crate) path: String,
    /// It lies in the workspace or in a folder that was added to it.
    pub(crate) inside: bool,
}

/// Programs that write, move or delete what their arguments name.
pub(crate) const WRITERS: &[&str] = &[
    "rm", "rmdir", "unlink", "mv", "cp", "tee", "touch", "dd", "install", "ln", "truncate",
    "chmod", "chown", "mkdir", "rsync", "shred", "sed", "perl", "patch", "ed", "ex",
];

impl RuleSet {
    /// The rules about a tool as a whole: its bare name, `Mcp(…)`, and `*` when the call
    /// `touches` anything.
    pub fn rule_tool(&self, tool: &str, touches: EffectPresence) -> Ruling<'_> {
        self.strongest_matching(RuleSubject::Tool, |rule| match &rule.kind {
            RuleKind::Everything => touches == EffectPresence::Something,
            RuleKind::Tool(name) => name == tool,
            RuleKind::Mcp { arguments, .. } => arguments.is_empty() && rule.names_tool(tool),
            RuleKind::Path { .. }
            | RuleKind::Shell(_)
            | RuleKind::Web(_)
            | RuleKind::Mail(_)
            | RuleKind::Agent(_) => false,
        })
    }

    /// The rules about a server's questions to the model, which stand under the name `tool` (R3). A rule about
    /// all tools of a server says nothing of them.
    pub fn rule_sampling(&self, tool: &str) -> Ruling<'_> {
        self.strongest_matching(RuleSubject::Tool, |rule| match &rule.kind {
            RuleKind::Everything => true,
            RuleKind::Tool(name) => name == tool,
            RuleKind::Mcp { tool: named, arguments, .. } => {
                arguments.is_empty() && named == foreign::SAMPLING && rule.names_tool(tool)
            }
            RuleKind::Path { .. }
            | RuleKind::Shell(_)
            | RuleKind::Web(_)
            | RuleKind::Mail(_)
            | RuleKind::Agent(_) => false,
        })
    }

    /// The rules that name arguments of a tool, about what a call of it is declared to do (U2). One that
    /// forbids counts when what it names stands in the call; one that allows, when it names every
    /// argument that says what is done, and that is neither a commitment nor a right. Deleting for good
    /// it allows of a tool that it names.
    pub fn rule_act(&self, tool: &str, act: &ActEffect) -> Ruling<'_> {
        self.strongest_matching(RuleSubject::Tool, |rule| {
            let Some((its_tool, arguments)) = rule.tool_arguments(tool) else { return false };
            if rule.action != RuleAction::Allow {
                let said = || act.control.iter().chain(&act.choices);
                return arguments.iter().all(|one| said().any(|is| is_alike(one, is)));
            }
            let is_lent = match act.kind {
                ActKind::Own | ActKind::Send => true,
                ActKind::Destroy => its_tool != "*",
                ActKind::Identity | ActKind::Commit => false,
            };
            let names_all = act.control.iter().all(|is| arguments.contains(is));
            let is_named = |one: &ControlArgument| act.control.iter().any(|is| is.name == one.name);
            is_lent && !act.control.is_empty() && names_all && arguments.iter().all(is_named)
        })
    }

    /// The rules that name arguments of a tool of which nobody knows which of its arguments say what it
    /// does, or whose effects do not tell them: they forbid whatever the arguments are, and allow nothing.
    pub fn rule_undeclared(&self, tool: &str) -> Ruling<'_> {
        self.strongest_matching(RuleSubject::Tool, |rule| {
            rule.action != RuleAction::Allow && rule.tool_arguments(tool).is_some()
        })
    }

    /// The rules that name arguments of a tool that only reads, about the words that it asks in.
    pub fn rule_query(&self, tool: &str, query: &QueryEffect) -> Ruling<'_> {
        let says = |one: &ControlArgument| {
            query.words.iter().any(|word| word.trim().to_lowercase() == one.value.to_lowercase())
        };
        self.strongest_matching(RuleSubject::Tool, |rule| {
            let arguments = rule.tool_arguments(tool);
            rule.action != RuleAction::Allow
                && arguments.is_some_and(|(_, arguments)| arguments.iter().all(says))
        })
    }

    /// The rules about spawning an agent.
    pub fn rule_agent(&self, agent: &str) -> Ruling<'_> {
        self.strongest_matching(
            RuleSubject::Agent,
            |rule| matches!(&rule.kind, RuleKind::Agent(n) if n == "*" || n == agent),
        )
    }

    /// The rules about a host.
    pub fn rule_host(&self, effect: &HostEffect) -> Ruling<'_> {
        let host = effect.host.trim_end_matches('.');
        let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        let address: Option<core::net::IpAddr> = bare.parse().ok();
        let below = |domain: &str| {
            host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.') && rest.len() > 1)
        };
        self.strongest_matching(RuleSubject::Host, |rule| match &rule.kind {
            RuleKind::Web(HostPattern::All) => true,
            RuleKind::Web(HostPattern::Domain(domain)) => host == domain || below(domain),
            RuleKind::Web(HostPattern::Below(domain)) => below(domain),
            RuleKind::Web(HostPattern::Address(named)) => address == Some(*named),
            RuleKind::Everything
            | RuleKind::Tool(_)
            | RuleKind::Path { .. }
            | RuleKind::Shell(_)
            | RuleKind::Mail(_)
            | RuleKind::Mcp { .. }
            | RuleKind::Agent(_) => false,
        })
    }

    /// The rules about somebody who is sent something. `Mail(…)` is about mail and no other way.
    pub fn rule_send(&self, effect: &SendEffect) -> Ruling<'_> {
        let recipient = effect.recipient.to_ascii_lowercase();
        let domain = recipient.rsplit_once('@').map(|(_, domain)| domain);
        self.strongest_matching(RuleSubject::Recipient, |rule| match &rule.kind {
            RuleKind::Mail(_) if effect.by != MAIL => false,
            RuleKind::Mail(MailPattern::All) => true,
            RuleKind::Mail(MailPattern::Address(address)) => *address == recipient,
            RuleKind::Mail(MailPattern::Domain(of)) => domain == Some(of.as_str()),
            RuleKind::Everything
            | RuleKind::Tool(_)
            | RuleKind::Path { .. }
            | RuleKind::Shell(_)
            | RuleKind::Web(_)
            | RuleKind::Mcp { .. }
            | RuleKind::Agent(_) => false,
        })
    }

    /// The rules about a path. Both ends of a move are written, and its source is read as well.
    pub fn rule_path(&self, effect: &PathEffect) -> Ruling<'_> {
        let uses: &[PathUse] = match effect.access {
            PathAccess::Read | PathAccess::List => &[PathUse::Read],
            PathAccess::MoveFrom => &[PathUse::Write, PathUse::Read],
            PathAccess::Write | PathAccess::Create | PathAccess::MoveTo | PathAccess::Delete => {
                &[PathUse::Write]
            }
        };
        let found = self.rule_path_uses(&effect.path, &effect.place, uses, None);
        if !effect.recursive || !effect.access.is_write() {
            return found;
        }
        // A pattern that lies below what is moved or deleted whole.
        match self.deny_below(&effect.path) {
            Some(rule) if !matches!(found, Ruling::Deny(_)) => Ruling::Deny(rule),
            Some(_) | None => found,
        }
    }

    /// The rules about reading or writing `path`, relative to the workspace or absolute. Tools
    /// that walk folders leave out what this denies.
    pub fn rule_path_use(&self, path: &str, path_use: PathUse) -> Ruling<'_> {
        let place = if path.starts_with('/') { PathPlace::Outside } else { PathPlace::Inside };
        self.rule_path_uses(path, &place, &[path_use], None)
    }

    /// `which`: only what forbids counts, or everything.
    fn rule_path_uses(
        &self,
        path: &str,
        place: &PathPlace,
        uses: &[PathUse],
        which: Option<WhichRules>,
    ) -> Ruling<'_> {
        let relative = match path {
            "" => ".",
            other => other,
        };
        let joined;
        let absolute = if path.starts_with('/') {
            path
        } else {
            let root = self.context.workspace.trim_end_matches('/');
            joined = if relative == "." { root.to_string() } else { format!("{root}/{relative}") };
            &joined
        };
        let relative = (*place == PathPlace::Inside && !path.starts_with('/')).then_some(relative);
        let about = |side: WhichRules| {
            let hits = self.compiled_patterns(side).matching_rules(relative, absolute);
            let places = self.places.places_about(RuleSubject::Path);
            let rules = hits.into_iter().map(|hit| &self.rules[places[hit]]);
            // Permission to move is permission to edit; a prohibition of either use forbids it.
            strongest_ruling(rules.filter(|rule| match (&rule.kind, side) {
                (RuleKind::Path { edits, .. }, WhichRules::Allowing) => {
                    uses.first() == Some(&use_of(*edits))
                }
                (RuleKind::Path { edits, .. }, WhichRules::Forbidding) => {
                    uses.contains(&use_of(*edits))
                }
                _ => false,
            }))
        };
        match (about(WhichRules::Forbidding), which) {
            (Ruling::Silent, None | Some(WhichRules::Allowing)) => about(WhichRules::Allowing),
            (found, _) => found,
        }
    }

    /// A deny rule for edits whose pattern is anchored below `folder`.
    fn deny_below(&self, folder: &str) -> Option<&Rule> {
        let root = matches!(folder, "" | ".");
        self.rules_about(RuleSubject::Path).find(|rule| match &rule.kind {
            RuleKind::Path { edits: true, pattern: RulePathPattern::Anchored(text) }
                if rule.action == RuleAction::Deny =>
            {
                let below = text.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
                (root || below) && !text.starts_with("**")
            }
            RuleKind::Path { edits: true, pattern: RulePathPattern::Absolute(text) }
                if rule.action == RuleAction::Deny =>
            {
                let whole = format!("/{text}");
                let base = self.context.workspace.trim_end_matches('/');
                let folder = match folder {
                    absolute if absolute.starts_with('/') => absolute.to_string(),
                    _ if root => base.to_string(),
                    relative => format!("{base}/{relative}"),
                };
                // A pattern has the letters of a folder's name as they are, or so that none stands for
                // another.
                [globset::escape(&folder), folder].iter().any(|folder| {
                    whole.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
                })
            }
            _ => false,
        })
    }

    /// The rules about a command.
    pub fn rule_command(&self, effect: &CommandEffect) -> Ruling<'_> {
        self.rule_read_command(effect, &ReadCommand::from_text(&effect.command))
    }

    /// The same where the command line was read already.
    pub(crate) fn rule_read_command(
        &self,
        effect: &CommandEffect,
        read: &ReadCommand,
    ) -> Ruling<'_> {
        let ReadCommand { line, reach } = read;
        let commands: Vec<&[ShellWord]> = reach.commands().collect();
        let about = self.rules_about(RuleSubject::Command);
        let forbidding = strongest_ruling(about.filter(|rule| match rule.action {
            RuleAction::Deny | RuleAction::Ask => forbids_command(rule, effect, line, &commands),
            RuleAction::Allow => false,
        }));
        if matches!(forbidding, Ruling::Deny(_)) {
            return forbidding;
        }
        let named = self.rule_named_paths(effect, reach, &commands);
        match (forbidding, named) {
            (_, Ruling::Deny(rule)) => Ruling::Deny(rule),
            (Ruling::Ask(rule), _) | (_, Ruling::Ask(rule)) => Ruling::Ask(rule),
            _ => self.allow_command(effect, line),
        }
    }

    /// Whether some deny rule is about single commands: then what a computed command would run
    /// cannot be left to the mode.
    pub fn denies_commands(&self) -> Option<&Rule> {
        self.rules_about(RuleSubject::Command).find(|rule| rule.action == RuleAction::Deny)
    }

    /// A deny rule for commands whose words stand in this text in their order, wherever: in a command
    /// that is computed they may come to be what it runs.
    pub fn denies_words_of(&self, command: &str) -> Option<&Rule> {
        // `${X:-deploy}`
        fn trim_punctuation(word: &str) -> &str {
            word.trim_matches(['-', '+', '.'])
        }
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
        let stand = |wanted: &[String]| {
            let mut words = command.split(|c| !is_part(c)).map(trim_punctuation);
            !wanted.is_empty()
                && wanted.iter().all(|one| words.any(|word| word == trim_punctuation(one)))
        };
        self.rules_about(RuleSubject::Command).find(|rule| {
            rule.action == RuleAction::Deny
                && match &rule.kind {
                    RuleKind::Shell(ShellPattern::Prefix(words)) => stand(words),
                    RuleKind::Shell(ShellPattern::Exact { words, .. }) => {
                        words.as_ref().is_some_and(|words| stand(words))
                    }
                    _ => false,
                }
        })
    }

    /// Deny and ask rules for paths, applied to the paths that a command names. `commands`: those of `reach`.
    fn rule_named_paths(
        &self,
        effect: &CommandEffect,
        reach: &CommandReach,
        commands: &[&[ShellWord]],
    ) -> Ruling<'_> {
        if self.rules_about(RuleSubject::Path).all(|rule| rule.action == RuleAction::Allow) {
            return Ruling::Silent;
        }
        let mut found = Ruling::Silent;
        let mut consider = |word: &str, path_use: PathUse| {
            if matches!(found, Ruling::Deny(_)) {
                return;
            }
            for resolved in resolve_word(self, &effect.cwd, word) {
                let place = if resolved.inside { PathPlace::Inside } else { PathPlace::Outside };
                let only = Some(WhichRules::Forbidding);
                let ruling = self.rule_path_uses(&resolved.path, &place, &[path_use], only);
                match (&found, &ruling) {
                    (Ruling::Deny(_), _) => {}
                    (_, Ruling::Deny(_)) => found = ruling,
                    (Ruling::Silent, Ruling::Ask(_)) => found = ruling,
                    _ => {}
                }
            }
        };
        for words in commands {
            let writes = WRITERS.contains(&shell::head_name(&words[0]));
            // A bare option names no path.
            let names =
                |word: &&ShellWord| !word.text.starts_with('-') || word.text.contains(['=', '/']);
            for word in words[1..].iter().filter(names) {
                consider(&word.text, PathUse::Read);
                if writes {
                    consider(&word.text, PathUse::Write);
                }
            }
        }
        // What a variable is given is named as well as a word.
        for assignment in reach.parts.iter().flat_map(|part| &part.assignments) {
            consider(&assignment.text, PathUse::Read);
        }
        for redirection in reach.parts.iter().flat_map(|p| &p.redirections) {
            if redirection.writes() {
                consider(&redirection.target.text, PathUse::Write);
            } else if redirection.is_file() {
                consider(&redirection.target.text, PathUse::Read);
            }
        }
        found
    }

    fn allow_command(&self, effect: &CommandEffect, line: &CommandLine) -> Ruling<'_> {
        let allow = || {
            let about = self.rules_about(RuleSubject::Command);
            about.filter(|rule| rule.action == RuleAction::Allow)
        };
        let all = allow().find(|r| matches!(&r.kind, RuleKind::Shell(ShellPattern::All)));
        if let Some(rule) = all {
            return Ruling::Allow(vec![rule]);
        }
        if effect.cwd.starts_with('/') {
            return Ruling::Silent;
        }
        let whole = effect.command.trim();
        let exact = allow().find(|rule| {
            matches!(&rule.kind, RuleKind::Shell(ShellPattern::Exact { text, .. }) if text == whole)
        });
        if let Some(rule) = exact {
            return Ruling::Allow(vec![rule]);
        }
        // What a sandbox without network holds may have words that the shell expands: they are
        // arguments of a program that may have any.
        let confined = !effect.has_network();
        let computed = line.substitution && !confined;
        // What the shell evaluates can run what stands in a text, whatever the parts are.
        if line.parts.is_empty()
            || !line.is_readable()
            || computed
            || line.computes
            || !line.functions.is_empty()
        {
            return Ruling::Silent;
        }
        // After a change of folder nobody knows where a relative target leads.
        let moves = line.parts.iter().any(|part| {
            let name = part.words.first().map(|w| w.text.as_str());
            matches!(name, Some("cd" | "pushd" | "popd"))
        });
        let mut used = Vec::new();
        for (at, part) in line.parts.iter().enumerate() {
            let stays =
                part.redirections.iter().filter(|r| r.is_file()).all(|redirection| {
                    self.target_is_inside(&effect.cwd, &redirection.target, moves)
                });
            if !stays || (!confined && !part.is_settled()) {
                return Ruling::Silent;
            }
            // What feeds `>(bash)` stands behind it.
            let may_be_fed = (at > 0 && line.pipes) || line.substitution;
            let fed = may_be_fed && shell::runs_its_input(part);
            let forms = written_forms(part);
            let ruled = allow().find(|rule| allows_part(rule, part, forms, fed, &self.context));
            match ruled {
                Some(rule) => used.push(rule),
                None if shell::is_reader(part, confined)
                    || self.moves_inside(&effect.cwd, part) => {}
                None => return Ruling::Silent,
            }
        }
        used.dedup();
        // Nothing but what needs no rule: the mode decides.
        if used.is_empty() { Ruling::Silent } else { Ruling::Allow(used) }
    }

    /// Whether a part only goes to a folder of the workspace.
    fn moves_inside(&self, cwd: &str, part: &CommandPart) -> bool {
        let [go, to] = part.words.as_slice() else { return false };
        let mut places = resolve_word(self, cwd, &to.text).peekable();
        go.text == "cd"
            && !to.expands
            && part.assignments.is_empty()
            && places.peek().is_some()
            && places.all(|at| at.inside)
    }

    /// Whether a redirection's target certainly lies in the workspace, outside what is always
    /// protected there.
    fn target_is_inside(&self, cwd: &str, target: &ShellWord, moves: bool) -> bool {
        if matches!(target.text.as_str(), "/dev/null" | "/dev/stdout" | "/dev/stderr") {
            return true;
        }
        if moves && !target.text.starts_with('/') {
            return false;
        }
        let mut places = resolve_word(self, cwd, &target.text).peekable();
        places.peek().is_some()
            && places.all(|at| {
                let below = self.context.below_added_folder(&at.path).unwrap_or(&at.path);
                let first = below.split('/').next().unwrap_or("");
                let name = below.rsplit('/').next().unwrap_or("");
                at.inside && !matches!(first, ".git" | ".weir") && !name.starts_with(".env")
            })
    }

    /// The strongest of those about `subject` that match: no other may.
    fn strongest_matching<'a>(
        &'a self,
        subject: RuleSubject,
        matches: impl Fn(&Rule) -> bool,
    ) -> Ruling<'a> {
        strongest_ruling(self.rules_about(subject).filter(|rule| matches(rule)))
    }
}

/// Whether a call touches anything outside the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectPresence {
    /// It has effects.
    Something,
    /// It has none, or only on the agent itself.
    Nothing,
}

/// The strongest of `rules`, which come strongest first.
fn strongest_ruling<'a>(rules: impl Iterator<Item = &'a Rule>) -> Ruling<'a> {
    let mut allowing = Vec::new();
    for rule in rules {
        match rule.action {
            RuleAction::Deny => return Ruling::Deny(rule),
            RuleAction::Ask => return Ruling::Ask(rule),
            RuleAction::Allow => allowing.push(rule),
        }
    }
    if allowing.is_empty() { Ruling::Silent } else { Ruling::Allow(allowing) }
}

/// The words of one part that an allow rule is compared with: as they are, and without what only sets
/// their circumstances.
fn written_forms(part: &CommandPart) -> [Option<&[ShellWord]>; 2] {
    let words = part.assignments.is_empty().then_some(part.words.as_slice());
    // What nothing was taken off is compared once.
    let is_other = |inner: &&[ShellWord]| words.is_none_or(|words| words.len() != inner.len());
    [words, shell::unwrap_command(part).filter(is_other)]
}

/// Whether an allow rule matches one part, precisely, in one of its forms.
/// `fed`: it runs what another command prints.
fn allows_part(
    rule: &Rule,
    part: &CommandPart,
    forms: [Option<&[ShellWord]>; 2],
    fed: bool,
    context: &RuleContext,
) -> bool {
    // Who agreed to exactly this command agreed to none that it is told elsewhere.
    if fed && matches!(&rule.kind, RuleKind::Shell(ShellPattern::Exact { .. })) {
        return false;
    }
    forms.into_iter().flatten().any(|words| allows_words(rule, words, part, context))
}

fn allows_words(
    rule: &Rule,
    words: &[ShellWord],
    part: &CommandPart,
    context: &RuleContext,
) -> bool {
    let begins = |wanted: &[String]| {
        let literal = |(wanted, word): (&String, &ShellWord)| !word.expands && *wanted == word.text;
        words.len() >= wanted.len() && wanted.iter().zip(words).all(literal)
    };
    match &rule.kind {
        // Who agreed to a program did not agree to another that an option names.
        RuleKind::Shell(ShellPattern::Prefix(prefix)) => {
            begins(prefix) && !shell::runs_by_option(&context.written_from_top(words), prefix.len())
        }
        RuleKind::Shell(ShellPattern::Exact { text, words: exact }) => {
            let same_words =
                exact.as_ref().is_some_and(|exact| exact.len() == words.len() && begins(exact));
            // A text that is put in says what is done as well as a word.
            let is_told = |r: &Redirection| r.is_file() || r.operator.starts_with("<<");
            // What a command is typed as ends before the text of its here-document.
            let is_whole = part.redirections.iter().all(|r| r.body.is_none());
            (same_words && !part.redirections.iter().any(is_told))
                || (*text == part.raw && is_whole)
        }
        _ => false,
    }
}

/// Whether a deny or ask rule matches a command, as broadly as possible. `commands`: all that might run.
fn forbids_command(
    rule: &Rule,
    effect: &CommandEffect,
    line: &CommandLine,
    commands: &[&[ShellWord]],
) -> bool {
    match &rule.kind {
        RuleKind::Shell(ShellPattern::All) => true,
        RuleKind::Shell(ShellPattern::Prefix(prefix)) => {
            commands.iter().any(|words| begins_broadly(words, prefix).is_some())
        }
        RuleKind::Shell(ShellPattern::Exact { text, words: exact }) => {
            effect.command.trim() == text
                || line.parts.iter().any(|part| part.raw == *text)
                || exact.as_ref().is_some_and(|exact| {
                    commands.iter().any(|words| begins_broadly(words, exact) == Some(words.len()))
                })
        }
        _ => false,
    }
}

/// Where the words of `prefix` end in `words`, options between them passed over.
fn begins_broadly<S: AsRef<str>>(words: &[ShellWord], prefix: &[S]) -> Option<usize> {
    let (first, rest) = prefix.split_first()?;
    let (head, first) = (words.first()?, first.as_ref());
    if head.text != first && shell::head_name(head) != first {
        return None;
    }
    let mut at = 1;
    let mut after_option = false;
    for wanted in rest {
        loop {
            let text = words.get(at)?.text.as_str();
            at += 1;
            if text == wanted.as_ref() {
                after_option = false;
                break;
            }
            if text.starts_with('-') {
                after_option = true;
            } else if after_option {
                after_option = false;
            } else {
                return None;
            }
        }
    }
    Some(at)
}

/// The paths that a word of a command may name: itself, and what follows `=`, `@` or `:` in it.
pub(crate) fn resolve_word(
    rules: &RuleSet,
    cwd: &str,
    word: &str,
) -> impl Iterator<Item = ResolvedWord> {
    let behind = move |mark: char| word.split_once(mark).map(|(_, after)| after);
    let texts = std::iter::once(word).chain(['=', '@', ':'].into_iter().filter_map(behind));
    texts.filter_map(move |text| resolve_path(rules, cwd, text))
}

/// Where `text` leads, by its letters alone: no link is followed here.
pub(crate) fn resolve_path(rules: &RuleSet, cwd: &str, text: &str) -> Option<ResolvedWord> {
    if text.is_empty() || text.contains('\n') {
        return None;
    }
    let context = rules.context();
    let root = context.workspace.trim_end_matches('/');
    let home = context.home.as_deref().unwrap_or("/~");
    let after = |prefixes: &[&str]| {
        prefixes.iter().find_map(|prefix| {
            let rest = text.strip_prefix(prefix)?;
            (rest.is_empty() || rest.starts_with('/')).then_some(rest)
        })
    };
    let here = match cwd {
        "" | "." => [root, ""],
        cwd if cwd.starts_with('/') => [cwd, ""],
        cwd => [root, cwd],
    };
    let ([above, folder], rest) = if let Some(rest) = after(&["~", "$HOME", "${HOME}"]) {
        ([home, ""], rest)
    } else if let Some(rest) = after(&["$PWD", "${PWD}", "$(pwd)", "`pwd`"]) {
        (here, rest)
    } else if text.starts_with('/') {
        ([""; 2], text)
    } else if text.starts_with(['$', '`']) {
        return None;
    } else {
        (here, text)
    };
    let mut path = join_plainly([above, folder, rest]);
    let below = path.strip_prefix(root).filter(|_| !root.is_empty());
    if below.is_some_and(|below| below.is_empty() || below.starts_with('/')) {
        path.drain(..path.len().min(root.len() + 1));
        let path = if path.is_empty() { ".".to_owned() } else { path };
        return Some(ResolvedWord { path, inside: true });
    }
    if context.below_added_folder(&path).is_some() {
        return Some(ResolvedWord { path, inside: true });
    }
    let is_below = root.is_empty() && !text.starts_with(['/', '~', '$']);
    if is_below && !climbs_above_start(text) {
        return Some(ResolvedWord { path: path.trim_start_matches('/').to_string(), inside: true });
    }
    Some(ResolvedWord { path, inside: false })
}

/// The parts of these texts as one absolute path without `.`, `..` and doubled slashes. It is asked for each word of
/// a command several times, and is one text from the beginning.
fn join_plainly(texts: [&str; 3]) -> String {
    let bytes: usize = texts.iter().map(|text| text.len() + 1).sum();
    let mut path = String::with_capacity(bytes);
    for part in texts.into_iter().flat_map(|text| text.split('/')) {
        match part {
            "" | "." => {}
            ".." => path.truncate(path.rfind('/').unwrap_or_default()),
            part => {
                path.push('/');
                path.push_str(part);
            }
        }
    }
    if path.is_empty() {
        path.push('/');
    }
    path
}

/// Whether `..` leads above where it starts.
fn climbs_above_start(text: &str) -> bool {
    let mut depth = 0i32;
    text.split('/').any(|part| {
        depth += match part {
            ".." => -1,
            "" | "." => 0,
            _ => 1,
        };
        depth < 0
    })
}
