//! The flow table applied (Z2): what stands in the context decides what may leave it.
//!
//! It maps each effect to a sink and looks the verdict up; what of an address or recipient the
//! person wrote or listed is found here. Modes and rules are the gate `rules`' business, except
//! where the table lets a rule or lease of the person lift an ask.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use super::{
    Gate, GateContext, GateName, GateOpinion, JudgedCall, Verdict, acts, instructing,
    quote_model_text,
};
use crate::governance::flow::{self, FlowCell, Sink};
use crate::governance::rules::{EffectPresence, RuleSet, Ruling};
use crate::governance::shell::ReadCommand;
use crate::governance::{CONNECT, Provenance};
use crate::ids::CallId;
use crate::label::{Label, Taint};
use crate::message::MessageBlock;
use crate::tool::{
    BrainEffect, CommandEffect, FeedEffect, FileState, HostEffect, PathEffect, PathPlace,
    PlannedChange, QueryEffect, SendEffect,
};

pub(super) struct LabelsGate;

impl Gate for LabelsGate {
    fn name(&self) -> GateName {
        GateName::Labels
    }
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        let taint = context.provenance.call_taint();
        let mut strictest: Option<(FlowCell, EffectFlow)> = None;
        for flow in effect_flows(call, context) {
            let cell = flow::flow_cell(flow.sink, taint);
            let lifted = match cell {
                FlowCell::AskOrLease => flow.covered,
                FlowCell::AskExactly => flow.bound == BoundLease::Held,
                FlowCell::Mode | FlowCell::AskWarned | FlowCell::Deny => false,
            };
            let cell = if lifted { FlowCell::Mode } else { cell };
            if strictest.as_ref().is_none_or(|(before, _)| cell > *before) {
                strictest = Some((cell, flow));
            }
        }
        let (cell, flow) = strictest?;
        self.cell_opinion(cell, &flow, context)
    }
}

/// One effect with its place in the table.
pub(super) struct EffectFlow {
    pub(super) sink: Sink,
    /// The effect in words.
    pub(super) what: String,
    /// A rule or lease of the person allows it.
    pub(super) covered: bool,
    /// Whether a lease that is bound to its arguments can allow it.
    pub(super) bound: BoundLease,
}

/// Whether a lease lets pass what the table wants asked exactly (U8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoundLease {
    /// No lease does.
    Never,
    /// One could be granted.
    Possible,
    /// One was, for these arguments and what stands in the context.
    Held,
}

/// Whether bound leases let a whole line of commands pass.
fn held_lease(ruling: &Ruling<'_>) -> BoundLease {
    match ruling {
        Ruling::Allow(by) if by.iter().all(|rule| rule.is_bound()) && !by.is_empty() => {
            BoundLease::Held
        }
        _ => BoundLease::Never,
    }
}

/// What a question says of leases.
const NO_LEASE: &str = " No lease covers it.";
const SESSION_LEASE: &str = " A yes for this session holds for these arguments, as long as nothing from \
                             elsewhere is read.";

/// The reason without what it says of leases: for a question whose answer gives none.
pub(crate) fn without_lease(reason: &str) -> String {
    reason.replace(NO_LEASE, "").replace(SESSION_LEASE, "")
}

impl EffectFlow {
    /// Which lease covers it, as the question says.
    fn lease_text(&self) -> &'static str {
        match self.bound {
            BoundLease::Never => NO_LEASE,
            BoundLease::Possible | BoundLease::Held => SESSION_LEASE,
        }
    }

    /// An effect of which no bound lease speaks.
    fn plain(sink: Sink, what: String, covered: bool) -> EffectFlow {
        EffectFlow { sink, what, covered, bound: BoundLease::Never }
    }
}

impl LabelsGate {
    fn cell_opinion(
        &self,
        cell: FlowCell,
        flow: &EffectFlow,
        context: &GateContext<'_>,
    ) -> Option<GateOpinion> {
        let label = context.provenance.label;
        let because = || {
            let context_is = match label.taint() {
                Taint::Clean => String::new(),
                Taint::Private | Taint::External | Taint::Both => {
                    format!(" The context is {}.", quote_model_text(&label.to_string()))
                }
            };
            format!("{context_is}{}", carried_text(&context.provenance))
        };
        let what = &flow.what;
        let (verdict, reason) = match cell {
            FlowCell::Mode => return None,
            FlowCell::AskOrLease => {
                let (because, kept) = (because(), kept_text(flow.sink, label));
                (Verdict::Ask, format!("A person must agree to {what}.{because}{kept}"))
            }
            FlowCell::AskExactly => {
                let (because, lease) = (because(), flow.lease_text());
                let reason =
                    format!("A person must agree to exactly this: {what}.{because}{lease}");
                (Verdict::Ask, reason)
            }
            FlowCell::AskWarned => (Verdict::Ask, warning_text(flow, label, &because())),
            FlowCell::Deny => (Verdict::Deny, format!("{what} is refused.{}", because())),
        };
        let rule = flow::rule_of_cell(flow.sink, context.provenance.call_taint());
        let exact = matches!(cell, FlowCell::AskExactly | FlowCell::AskWarned);
        let bound = cell == FlowCell::AskExactly && flow.bound != BoundLease::Never;
        Some(GateOpinion { gate: self.name(), verdict, rule: Some(rule), reason, exact, bound })
    }
}

/// Whose words a call carries that its context does not have.
fn carried_text(provenance: &Provenance<'_>) -> String {
    match provenance.carries.filter(|carries| carries.is_external()) {
        Some(carries) if !provenance.label.is_external() => {
            format!(" It carries words that are {}.", quote_model_text(&carries.to_string()))
        }
        _ => String::new(),
    }
}

/// The question about what an attacker would want (U1): what could happen, whose words stand in the
/// context, and what to look at before agreeing.
fn warning_text(flow: &EffectFlow, label: &Label, because: &str) -> String {
    let what = &flow.what;
    let wanted = match label.is_external() {
        true => " Words from outside may have led to it: agree only if you wanted exactly this.",
        false => " Agree only if you wanted exactly this.",
    };
    let danger = match flow.sink {
        Sink::WriteInstruction => {
            "what is written would later run or instruct, so read the change first"
        }
        Sink::RunOutside => {
            "nothing confines it: it can read, change and send whatever you can, and no undo reaches \
             that"
        }
        Sink::UseSocket => {
            "the command can do what the program behind the socket can: by that of a container engine or \
             a service manager all that you can"
        }
        Sink::LendSecret => "the command can send the secret wherever it reaches",
        Sink::Commit => "it costs money or binds you, and may not be taken back",
        Sink::ChangeIdentity => "it changes who can do what, and that can be used against you",
        Sink::Destroy => "what it deletes does not come back, and no undo reaches it",
        Sink::Unknown => "nobody knows what it does, and it could carry away what was read",
        _ => "it could carry away what was read, so look at every word of it",
    };
    format!("Careful: {danger}. A person must agree to exactly this: {what}.{because}{wanted}")
}

/// What a yes does not change: so a person who is asked, and a model that is refused, know of the way that
/// does.
fn kept_text(sink: Sink, label: &Label) -> &'static str {
    if sink != Sink::WriteInstructionByCommand || !label.is_external() {
        return "";
    }
    " Beside foreign words a command changes nothing of that kind for good, whatever is answered: what is \
     there is read-only, and what is new is taken back. A file tool writes it, if a person agrees."
}

fn effect_flows(call: &JudgedCall<'_>, context: &GateContext<'_>) -> Vec<EffectFlow> {
    let (effects, rules) = (&call.inspection.effects, context.rules);
    // The person's word about the tool itself covers what the tool says it sends, or does not say.
    let of_tool = LazyCell::new(|| rules.rule_tool(call.tool, EffectPresence::Something));
    let covered = || matches!(*of_tool, Ruling::Allow(_));
    let mut flows = Vec::new();
    let by_git = |path: &str| effects.run_by_git.iter().any(|run| run == path);
    let by_git = |path: &str| by_git(path).then_some(flow::HOOKS);
    let is_link = |change: &PlannedChange| matches!(change.after, FileState::Link { .. });
    let links = effects.changes.iter().filter(|change| is_link(change));
    let links: BTreeSet<&str> = links.map(|change| change.path.as_str()).collect();
    flows.extend(effects.paths.iter().map(|path| {
        let whole =
            path.recursive || path.place != PathPlace::Inside || links.contains(path.path.as_str());
        of_path(path, whole, by_git(&path.path), rules)
    }));
    flows.extend(effects.unannounced_changes().into_iter().filter_map(|change| {
        let why = match is_link(change) {
            true => flow::instructs_below(&change.path, None),
            false => flow::instructing_reason(&change.path),
        };
        let why = why.or_else(|| by_git(&change.path))?;
        let what = format!("writing {} ({why})", quote_model_text(&change.path));
        Some(EffectFlow::plain(Sink::WriteInstruction, what, false))
    }));
    let commands = || call.read_commands();
    let taint = context.provenance.call_taint();
    flows.extend(commands().map(|(command, read)| of_command(command, read, rules, taint)));
    flows.extend(commands().filter_map(|(command, read)| writes_plainly(command, read, rules)));
    let by_command = !effects.commands.is_empty();
    // A question is judged by its words, which its address only repeats.
    let elsewhere = |host: &&HostEffect| {
        by_command && host.method == CONNECT || effects.is_declared_query(host)
    };
    let direct = effects.hosts.iter().filter(|host| !elsewhere(host));
    flows.extend(direct.map(|host| of_host(call.tool, host, context)));
    flows.extend(effects.sends.iter().map(|send| of_send(send, context, rules, covered())));
    let of_act = |act| acts::of_act(call.tool, act, &of_tool, rules, &context.provenance);
    flows.extend(effects.acts.iter().map(of_act));
    flows.extend(effects.feeds.iter().map(of_feed));
    flows.extend(effects.queries.iter().map(|query| of_query(query, &context.provenance)));
    flows.extend(effects.brain.iter().map(|change| of_brain(change, covered())));
    if effects.unknown {
        let (sink, what) = match effects.contained {
            true => (Sink::RunConfined, "using a tool that a sandbox contains"),
            false => (Sink::Unknown, "using a tool whose effects nobody knows"),
        };
        flows.push(EffectFlow::plain(sink, what.to_string(), covered()));
    }
    flows
}

/// `is_whole`: what lies below it comes with it, or is reached through it.
fn of_path(
    path: &PathEffect,
    is_whole: bool,
    by_git: Option<&'static str>,
    rules: &RuleSet,
) -> EffectFlow {
    let shown = quote_model_text(&path.path);
    if !path.access.is_write() {
        let what = format!("reading {shown}");
        return EffectFlow::plain(Sink::ReadWorkspace, what, false);
    }
    // Below a folder that is given whole lies all that could be made in it (A10), and behind a link all
    // that lies in what it leads to.
    let instructs = match is_whole {
        true => flow::instructs_below(&path.path, rules.context().home.as_deref()),
        false => flow::instructing_reason(&path.path),
    };
    match instructs.or(by_git) {
        Some(why) => {
            let covered = matches!(rules.rule_path(path), Ruling::Allow(_));
            EffectFlow::plain(Sink::WriteInstruction, format!("writing {shown} ({why})"), covered)
        }
        None if path.place != PathPlace::Inside => {
            let what = format!("writing {shown} outside the workspace");
            EffectFlow::plain(Sink::WriteOutside, what, false)
        }
        None => EffectFlow::plain(Sink::WriteFile, format!("writing {shown}"), false),
    }
}

fn of_command(
    command: &CommandEffect,
    read: &ReadCommand,
    rules: &RuleSet,
    taint: Taint,
) -> EffectFlow {
    let shown = quote_model_text(&command.command);
    let sink = match () {
        () if !command.secrets.is_empty() => Sink::LendSecret,
        () if command.outside_sandbox => Sink::RunOutside,
        // Whoever speaks to a container engine or a service manager is outside.
        () if !command.sockets.is_empty() => Sink::UseSocket,
        () if command.has_network() => Sink::RunWithNetwork,
        () => Sink::RunConfined,
    };
    let reaches = command.describe_reach();
    let reach = match (command.has_network(), reaches.is_empty()) {
        _ if command.outside_sandbox => {
            " outside the sandbox, with all of this machine, the network and your variables (but for \
             those that look like keys)"
                .to_string()
        }
        (false, _) => String::new(),
        (true, true) => " with all of the network, unconfined".to_string(),
        (true, false) => format!(" with access to {}", quote_model_text(&reaches.join(", "))),
    };
    let lent = match command.secrets.is_empty() {
        true => String::new(),
        false => format!(" with your secret {}", quote_model_text(&command.secrets.join(", "))),
    };
    let no_network = if lent.is_empty() || !reach.is_empty() { "" } else { " and no network" };
    // Rules are asked where what they say can lift what the table wants asked.
    let ruling = match flow::flow_cell(sink, taint) {
        FlowCell::AskOrLease | FlowCell::AskExactly => rules.rule_read_command(command, read),
        FlowCell::Mode | FlowCell::AskWarned | FlowCell::Deny => Ruling::Silent,
    };
    // The person agreed to the job when it began to serve, as with what is written to one.
    let covered = matches!(ruling, Ruling::Allow(_)) || command.reaches_own_jobs_only();
    let what = format!("running `{shown}`{lent}{reach}{no_network}");
    EffectFlow { sink, what, covered, bound: held_lease(&ruling) }
}

/// What a command says that it writes of what later runs or instructs. Asked about with every label: that
/// more was read never lets through what less would not (Z2).
fn writes_plainly(
    command: &CommandEffect,
    read: &ReadCommand,
    rules: &RuleSet,
) -> Option<EffectFlow> {
    if command.outside_sandbox || command.read_only {
        return None;
    }
    let (path, why) = instructing::find_written_path(command, read, rules)?;
    let what = format!(
        "writing {} ({why}) by `{}`",
        quote_model_text(&path),
        quote_model_text(&command.command)
    );
    let covered = matches!(rules.rule_read_command(command, read), Ruling::Allow(_));
    // What a job makes is not taken back.
    let sink = match command.background {
        true => Sink::WriteInstruction,
        false => Sink::WriteInstructionByCommand,
    };
    Some(EffectFlow::plain(sink, what, covered))
}

/// A running job that has network is a command with network, whenever it was started (A12). The
/// person agreed to it when it began, so only what came into the context since asks.
fn of_feed(feed: &FeedEffect) -> EffectFlow {
    let reach = match feed.hosts.is_empty() {
        true => "all of the network".to_string(),
        false => quote_model_text(&feed.hosts.join(", ")),
    };
    let (job, command) = (quote_model_text(&feed.job), quote_model_text(&feed.command));
    let what = format!("writing to the job {job} (`{command}`), which reaches {reach}");
    EffectFlow::plain(Sink::RunWithNetwork, what, true)
}

/// The standing permission is a rule for the tool: it covers what no foreign words went into.
fn of_brain(effect: &BrainEffect, covered: bool) -> EffectFlow {
    let entry = match effect.entry.is_empty() {
        true => String::new(),
        false => format!(" ({})", quote_model_text(&effect.entry)),
    };
    let what = format!(
        "{} \u{201c}{}\u{201d}{entry}",
        effect.change.as_words(),
        quote_model_text(&effect.title)
    );
    EffectFlow::plain(Sink::KeepInBrain, what, covered)
}

/// A call that only reads from a foreign server tells it something all the same (A11).
fn of_query(query: &QueryEffect, provenance: &Provenance<'_>) -> EffectFlow {
    let is_said = |word: &String| provenance.is_worded(word);
    let is_found = |word: &String| is_said(word) || provenance.is_in_results(word);
    let sink = match () {
        () if query.words.iter().all(is_said) => Sink::ReadServer,
        () if query.words.iter().all(is_found) => Sink::ReadServerLinked,
        () => Sink::ReadServerBuilt,
    };
    let words = quote_model_text(&query.words.join(" · "));
    let what = format!("asking {} with `{words}`", quote_model_text(&query.server));
    EffectFlow::plain(sink, what, false)
}

fn of_host(tool: &str, host: &HostEffect, context: &GateContext<'_>) -> EffectFlow {
    let GateContext { rules, provenance, .. } = context;
    let ruling = rules.rule_host(host);
    let listed = matches!(ruling, Ruling::Allow(_));
    // A rule for a domain covers every name below it, and a name can carry as much as a path.
    let exactly = matches!(&ruling, Ruling::Allow(by)
        if by.iter().any(|rule| rule.text() == format!("Web({})", host.host)));
    let shown = quote_model_text(&host.url);
    let reads = host.method == "GET" || host.method == "HEAD";
    if !reads || host.secret.is_some() {
        let named = listed || provenance.is_named(&host.host);
        let sink = if named { Sink::SendNamed } else { Sink::SendOther };
        let what = format!("sending to {shown} ({})", quote_model_text(&host.method));
        return EffectFlow::plain(sink, what, listed);
    }
    let sink = match listed {
        true if (exactly && is_bare(host)) || provenance.is_asked(&host.url) => Sink::FetchListed,
        _ if provenance.follows_link(tool, host) => Sink::FetchLink,
        true if provenance.is_linked(&host.url) => Sink::FetchListedLink,
        true => Sink::FetchListedBuilt,
        false if provenance.is_asked(&host.url) => Sink::FetchAsked,
        false => Sink::FetchOther,
    };
    EffectFlow::plain(sink, format!("fetching {shown}"), listed)
}

/// Whether an address is its host and nothing else: no port, path or query of its own.
fn is_bare(host: &HostEffect) -> bool {
    let after = host.url.split_once("://").map_or("", |(_, rest)| rest);
    after.trim_end_matches('/') == host.host
}

fn of_send(
    send: &SendEffect,
    context: &GateContext<'_>,
    rules: &RuleSet,
    covered: bool,
) -> EffectFlow {
    let ruling = rules.rule_send(send);
    let listed = matches!(ruling, Ruling::Allow(_));
    let covered = covered || listed;
    let bound = match &ruling {
        Ruling::Allow(by) if by.iter().any(|rule| rule.is_bound()) => BoundLease::Held,
        _ => BoundLease::Never,
    };
    let sink = match () {
        () if context.provenance.is_own(&send.recipient) => Sink::SendOwn,
        () if listed || context.provenance.is_named(&send.recipient) => Sink::SendNamed,
        () => Sink::SendOther,
    };
    let what = format!(
        "sending to {} by {}",
        quote_model_text(&send.recipient),
        quote_model_text(&send.by)
    );
    EffectFlow { sink, what, covered, bound }
}

impl Provenance<'_> {
    /// The column of the flow table for a call: whether foreign words chose it, and whether private data
    /// leaves with it (U4).
    fn call_taint(&self) -> Taint {
        let carries = self.carries.unwrap_or(self.label);
        Taint::of_parts(self.label.is_external(), self.label.is_private() || carries.is_private())
    }

    /// Whether the person wrote this address, or approved a call with it.
    fn is_asked(&self, url: &str) -> bool {
        let bare = url.trim_end_matches('/');
        self.approved.iter().any(|text| text.trim_end_matches('/') == bare) || self.is_said(url)
    }

    /// Whether the person wrote this address.
    pub(in crate::governance) fn is_said(&self, url: &str) -> bool {
        let bare = url.trim_end_matches('/');
        // People leave the scheme out.
        let plain = bare.strip_prefix("https://").unwrap_or(bare);
        self.said.iter().any(|said| stands_in(said, bare) || stands_in(said, plain))
    }

    /// Whether the person wrote this address with its scheme, letter for letter.
    pub(in crate::governance) fn is_written_out(&self, url: &str) -> bool {
        let bare = url.trim_end_matches('/');
        bare.contains("://") && self.said.iter().any(|said| stands_in(said, bare))
    }

    /// Whether the person named this recipient, or approved a call with it.
    pub(super) fn is_named(&self, recipient: &str) -> bool {
        let recipient = recipient.to_lowercase();
        !recipient.trim().is_empty()
            && (self.approved.iter().any(|text| text.to_lowercase() == recipient)
                || self.said.iter().any(|said| stands_in(&said.to_lowercase(), &recipient)))
    }

    /// Whether the person wrote this, word for word, or approved a call with it.
    fn is_worded(&self, words: &str) -> bool {
        let words = words.trim();
        words.is_empty()
            || self.approved.contains(words)
            || self.said.iter().any(|said| stands_in(said, words))
    }

    /// Whether this stands literally in a result.
    fn is_in_results(&self, words: &str) -> bool {
        self.history.iter().any(|message| results_say(&message.blocks, words.trim()))
    }

    /// Whether this address stands literally in a result. What the model itself wrote does not
    /// count.
    fn is_linked(&self, url: &str) -> bool {
        let bare = url.trim_end_matches('/');
        self.is_in_results(bare)
            || self.history.iter().any(|message| self.links_to(&message.blocks, bare))
    }

    /// Whether a page of the same place has a relative link to this address.
    fn links_to(&self, blocks: &[MessageBlock], url: &str) -> bool {
        blocks.iter().any(|block| {
            let MessageBlock::Result { call, blocks, .. } = block else { return false };
            let Some(page) = self.page_of(*call) else { return false };
            let targets = relative_forms(page, url);
            let texts = blocks.iter().filter_map(|block| match block {
                MessageBlock::Text { text, .. } => Some(text.as_str()),
                _ => None,
            });
            texts.into_iter().any(|text| targets.iter().any(|target| is_link(text, target)))
        })
    }

    /// The address that a call fetched.
    fn page_of(&self, id: CallId) -> Option<&str> {
        let blocks = self.history.iter().flat_map(|message| &message.blocks);
        let mut calls = blocks.filter_map(|block| match block {
            MessageBlock::Call(call) if call.call == id => Some(call),
            _ => None,
        });
        calls.next()?.input.get("url")?.as_str()
    }
}

/// Whether a result of a call contains the address. What the model itself wrote does not count.
fn results_say(blocks: &[MessageBlock], url: &str) -> bool {
    blocks.iter().any(|block| match block {
        MessageBlock::Result { blocks, .. } => blocks
            .iter()
            .any(|b| matches!(b, MessageBlock::Text { text, .. } if stands_in(text, url))),
        MessageBlock::Text { .. }
        | MessageBlock::Thinking { .. }
        | MessageBlock::Call(_)
        | MessageBlock::Image { .. }
        | MessageBlock::Document { .. } => false,
    })
}

/// How a page at `page` could name `url` without its host: from the top, and from its own folder.
fn relative_forms(page: &str, url: &str) -> Vec<String> {
    let cut = |url: &'_ str| {
        let (scheme, rest) = url.split_once("://")?;
        let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(at);
        Some((format!("{scheme}://{host}").to_lowercase(), path.to_owned()))
    };
    let (Some((base, page)), Some((origin, path))) = (cut(page), cut(url)) else {
        return Vec::new();
    };
    if base != origin || !path.starts_with('/') {
        return Vec::new();
    }
    let page = page.split(['?', '#']).next().unwrap_or_default();
    let mut forms = vec![path.clone()];
    let mut folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut up = String::new();
    loop {
        if let Some(rest) = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) {
            forms.push(format!("{up}{rest}"));
            if up.is_empty() {
                forms.push(format!("./{rest}"));
            }
        }
        let Some((above, _)) = folder.rsplit_once('/') else { return forms };
        folder = above;
        up.push_str("../");
    }
}

/// Whether `target` stands in `text` as the target of a link, in Markdown or HTML.
fn is_link(text: &str, target: &str) -> bool {
    let is_target = |(at, _): (usize, &str)| {
        let before = text[..at].chars().next_back();
        let after = text[at + target.len()..].trim_start_matches('/').chars().next();
        matches!(before, Some('(' | '<' | '"' | '\''))
            && matches!(after, Some(')' | '>' | '"' | '\'' | '#' | ' '))
    };
    !target.is_empty() && text.match_indices(target).any(is_target)
}

/// Whether `needle` stands in `text` as a word of its own: what stands beside it does not go on
/// with it.
fn stands_in(text: &str, needle: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '%' | '=' | '&' | '@');
    text.match_indices(needle).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + needle.len()..].chars();
        let next = after.next();
        // A full stop or slash ends it, unless a word follows.
        let ends = match next {
            None => true,
            Some('.' | '/' | ':' | '?' | '#') => after.next().is_none_or(|c| !goes_on(c)),
            Some(c) => !goes_on(c),
        };
        ends && before.is_none_or(|c| !goes_on(c) && c != '.')
    })
}

#[cfg(test)]
mod tests {
    use super::{is_link, relative_forms, stands_in};

    #[test]
    fn u1_a_relative_link_of_the_same_place_is_a_link() {
        let page = "https://a.example/book/ch1.html?x=1";
        let to = |url: &str, text: &str| relative_forms(page, url).iter().any(|f| is_link(text, f));
        assert!(to("https://a.example/book/ch2.html", "next: [2](ch2.html)"));
        assert!(to("https://a.example/book/ch2.html", "[2](./ch2.html#top)"));
        assert!(to("https://a.example/top/x", "<a href=\"/top/x\">"));
        assert!(to("https://a.example/top/x", "[x](../top/x/)"));
        assert!(!to("https://a.example/book/ch2.html", "ch2.html is next"));
        assert!(!to("https://a.example/book/ch", "[2](ch2.html)"));
        assert!(!to("https://b.example/book/ch2.html", "[2](ch2.html)"));
    }

    #[test]
    fn z2_a_word_counts_only_as_a_whole() {
        for (text, needle) in [
            ("get https://a.example/x now", "https://a.example/x"),
            ("get https://a.example/x.", "https://a.example/x"),
            ("(https://a.example)", "https://a.example"),
            ("mail bob@a.example, please", "bob@a.example"),
            ("read https://a.example/", "https://a.example"),
        ] {
            assert!(stands_in(text, needle), "{needle} in {text}");
        }
        for (text, needle) in [
            ("get https://a.example/x?q=1", "https://a.example/x"),
            ("get https://a.example/xy", "https://a.example/x"),
            ("get https://a.example.evil.example", "https://a.example"),
            ("mail evilbob@a.example", "bob@a.example"),
            ("mail not.bob@a.example", "bob@a.example"),
            ("https://a.example/x", "https://a.example"),
            ("mail bob@a.example.org", "bob@a.example"),
        ] {
            assert!(!stands_in(text, needle), "{needle} in {text}");
        }
    }
}
