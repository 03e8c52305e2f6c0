//! The flow table applied (Z2): what stands in the context decides what may leave it.
//!
//! It maps each effect to a sink and looks the verdict up; what of an address or recipient the
//! person wrote or listed is found here. Modes and rules are the gate `rules`' business, except
//! where the table lets a rule or lease of the person lift an ask.

use super::{
    CallFacts, Gate, GateContext, GateName, GateOpinion, Verdict, instructing, quote_model_text,
};
use crate::governance::Provenance;
use crate::governance::flow::{self, FlowCell, Sink};
use crate::governance::rules::{EffectPresence, RuleSet, Ruling};
use crate::ids::CallId;
use crate::label::{Label, Taint};
use crate::message::MessageBlock;
use crate::tool::{
    BrainEffect, CommandEffect, FeedEffect, HostEffect, PathEffect, PathPlace, QueryEffect,
    SendEffect,
};

pub(super) struct LabelsGate;

impl Gate for LabelsGate {
    fn name(&self) -> GateName {
        GateName::Labels
    }
    fn judge(&self, call: &CallFacts<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        let taint = context.provenance.label.taint();
        let mut strictest: Option<(FlowCell, EffectFlow)> = None;
        for flow in effect_flows(call, context) {
            let cell = flow::flow_cell(flow.sink, taint);
            let lifted = cell == FlowCell::AskOrLease && flow.covered;
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
struct EffectFlow {
    sink: Sink,
    /// The effect in words.
    what: String,
    /// A rule or lease of the person allows it.
    covered: bool,
}

impl LabelsGate {
    fn cell_opinion(
        &self,
        cell: FlowCell,
        flow: &EffectFlow,
        context: &GateContext<'_>,
    ) -> Option<GateOpinion> {
        let label = context.provenance.label;
        let rule =
            format!("flow table: {} × {}", flow::sink_text(flow.sink), label.taint().as_str());
        let because = match label.taint() {
            Taint::Clean => String::new(),
            Taint::Private | Taint::External | Taint::Both => {
                format!(" The context is {}.", quote_model_text(&label.to_string()))
            }
        };
        let what = &flow.what;
        let (verdict, reason) = match cell {
            FlowCell::Mode => return None,
            FlowCell::AskOrLease => {
                (Verdict::Ask, format!("A person must agree to {what}.{because}"))
            }
            FlowCell::AskExactly => (
                Verdict::Ask,
                format!(
                    "A person must agree to exactly this: {what}.{because} No lease covers it."
                ),
            ),
            FlowCell::AskWarned => (Verdict::Ask, warning_text(flow, label, &because)),
            FlowCell::Deny => (Verdict::Deny, format!("{what} is refused.{because}")),
        };
        let exact = matches!(cell, FlowCell::AskExactly | FlowCell::AskWarned);
        Some(GateOpinion { gate: self.name(), verdict, rule: Some(rule), reason, exact })
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
        Sink::Unknown => "nobody knows what it does, and it could carry away what was read",
        _ => "it could carry away what was read, so look at every word of it",
    };
    format!("Careful: {danger}. A person must agree to exactly this: {what}.{because}{wanted}")
}

fn effect_flows(call: &CallFacts<'_>, context: &GateContext<'_>) -> Vec<EffectFlow> {
    let (effects, rules) = (&call.inspection.effects, context.rules);
    // The person's word about the tool itself covers what the tool says it sends, or does not say.
    let covered = matches!(rules.rule_tool(call.tool, EffectPresence::Something), Ruling::Allow(_));
    let mut flows = Vec::new();
    let by_git = |path: &str| effects.run_by_git.iter().any(|run| run == path);
    let by_git = |path: &str| by_git(path).then_some(flow::HOOKS);
    flows.extend(effects.paths.iter().map(|path| of_path(path, by_git(&path.path), rules)));
    let announced =
        |path: &str| effects.paths.iter().any(|p| p.access.is_write() && p.path == path);
    let changes = effects.changes.iter().filter(|change| !announced(&change.path));
    flows.extend(changes.filter_map(|change| {
        let why = flow::instructing_reason(&change.path).or_else(|| by_git(&change.path))?;
        let what = format!("writing {} ({why})", quote_model_text(&change.path));
        Some(EffectFlow { sink: Sink::WriteInstruction, what, covered: false })
    }));
    flows.extend(effects.commands.iter().map(|command| of_command(command, rules)));
    // Under foreign words the sandbox keeps these paths, and a yes would not open them.
    if !context.provenance.label.is_external() {
        flows.extend(effects.commands.iter().filter_map(|command| writes_plainly(command, rules)));
    }
    let by_command = !effects.commands.is_empty();
    // A question is judged by its words, which its address only repeats.
    let elsewhere = |host: &&HostEffect| {
        by_command && host.method == CONNECT || effects.is_declared_query(host)
    };
    let direct = effects.hosts.iter().filter(|host| !elsewhere(host));
    flows.extend(direct.map(|host| of_host(call.tool, host, context)));
    flows.extend(effects.sends.iter().map(|send| of_send(send, context, rules, covered)));
    flows.extend(effects.feeds.iter().map(of_feed));
    flows.extend(effects.queries.iter().map(|query| of_query(query, &context.provenance)));
    flows.extend(effects.brain.iter().map(|change| of_brain(change, covered)));
    if effects.unknown {
        let (sink, what) = match effects.contained {
            true => (Sink::RunConfined, "using a tool that a sandbox contains"),
            false => (Sink::Unknown, "using a tool whose effects nobody knows"),
        };
        flows.push(EffectFlow { sink, what: what.to_string(), covered });
    }
    flows
}

/// The way through the proxy that a command asks for: judged with the command.
const CONNECT: &str = "CONNECT";

fn of_path(path: &PathEffect, by_git: Option<&'static str>, rules: &RuleSet) -> EffectFlow {
    let shown = quote_model_text(&path.path);
    if !path.access.is_write() {
        let what = format!("reading {shown}");
        return EffectFlow { sink: Sink::ReadWorkspace, what, covered: false };
    }
    // Below a folder that is given whole lies all that could be made in it (A10).
    let is_whole = path.recursive || path.place != PathPlace::Inside;
    let instructs = match is_whole {
        true => flow::instructs_below(&path.path, rules.context().home.as_deref()),
        false => flow::instructing_reason(&path.path),
    };
    match instructs.or(by_git) {
        Some(why) => EffectFlow {
            sink: Sink::WriteInstruction,
            what: format!("writing {shown} ({why})"),
            covered: matches!(rules.rule_path(path), Ruling::Allow(_)),
        },
        None if path.place != PathPlace::Inside => {
            let what = format!("writing {shown} outside the workspace");
            EffectFlow { sink: Sink::WriteOutside, what, covered: false }
        }
        None => {
            EffectFlow { sink: Sink::WriteFile, what: format!("writing {shown}"), covered: false }
        }
    }
}

fn of_command(command: &CommandEffect, rules: &RuleSet) -> EffectFlow {
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
    EffectFlow {
        sink,
        what: format!("running `{shown}`{lent}{reach}{no_network}"),
        covered: matches!(rules.rule_command(command), Ruling::Allow(_)),
    }
}

/// What a command says that it writes of what later runs or instructs: like a file tool that would.
fn writes_plainly(command: &CommandEffect, rules: &RuleSet) -> Option<EffectFlow> {
    if command.outside_sandbox || command.read_only {
        return None;
    }
    let (path, why) = instructing::find_written_path(command, rules)?;
    let what = format!(
        "writing {} ({why}) by `{}`",
        quote_model_text(&path),
        quote_model_text(&command.command)
    );
    let covered = matches!(rules.rule_command(command), Ruling::Allow(_));
    Some(EffectFlow { sink: Sink::WriteInstruction, what, covered })
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
    EffectFlow { sink: Sink::RunWithNetwork, what, covered: true }
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
    EffectFlow { sink: Sink::KeepInBrain, what, covered }
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
    EffectFlow { sink, what, covered: false }
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
        return EffectFlow { sink, what, covered: listed };
    }
    let sink = match listed {
        true if (exactly && is_bare(host)) || provenance.is_asked(&host.url) => Sink::FetchListed,
        _ if provenance.follows_link(tool, host) => Sink::FetchLink,
        true if provenance.is_linked(&host.url) => Sink::FetchListedLink,
        true => Sink::FetchListedBuilt,
        false if provenance.is_asked(&host.url) => Sink::FetchAsked,
        false => Sink::FetchOther,
    };
    EffectFlow { sink, what: format!("fetching {shown}"), covered: listed }
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
    let listed = matches!(rules.rule_send(send), Ruling::Allow(_));
    let named = listed || context.provenance.is_named(&send.recipient);
    let covered = covered || listed;
    let sink = if named { Sink::SendNamed } else { Sink::SendOther };
    let what = format!(
        "sending to {} by {}",
        quote_model_text(&send.recipient),
        quote_model_text(&send.by)
    );
    EffectFlow { sink, what, covered }
}

impl Provenance<'_> {
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

    /// Whether the person named this recipient, or approved a call with it.
    fn is_named(&self, recipient: &str) -> bool {
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
