//! The flow table applied (Z2): what stands in the context decides what may leave it.
//!
//! It maps each effect to a sink and looks the verdict up; what of an address or recipient the
//! person wrote or listed is found here. Modes and rules are the gate `rules`' business, except
//! where the table lets a rule or lease of the person lift an ask.

use super::{CallFacts, Gate, GateContext, Opinion, Verdict, quoted};
use crate::governance::Provenance;
use crate::governance::flow::{self, Cell, Sink};
use crate::governance::label::Taint;
use crate::governance::rules::{RuleSet, Ruling, Touches};
use crate::message::Block;
use crate::tool::{CommandEffect, HostEffect, PathEffect, Place, SendEffect};

pub(super) struct Labels;

impl Gate for Labels {
    fn name(&self) -> &'static str {
        "labels"
    }
    fn judge(&self, call: &CallFacts<'_>, context: &GateContext<'_>) -> Option<Opinion> {
        let taint = context.provenance.label.taint();
        let mut strictest: Option<(Cell, Flow)> = None;
        for flow in flows(call, context) {
            let cell = flow::cell(flow.sink, taint);
            let lifted = cell == Cell::AskOrLease && flow.covered;
            let cell = if lifted { Cell::Mode } else { cell };
            if strictest.as_ref().is_none_or(|(before, _)| cell > *before) {
                strictest = Some((cell, flow));
            }
        }
        let (cell, flow) = strictest?;
        self.opinion(cell, &flow, context)
    }
}

/// One effect with its place in the table.
struct Flow {
    sink: Sink,
    /// What it is, in a sentence.
    what: String,
    /// A rule or lease of the person allows it.
    covered: bool,
}

impl Labels {
    fn opinion(&self, cell: Cell, flow: &Flow, context: &GateContext<'_>) -> Option<Opinion> {
        let label = context.provenance.label;
        let rule = format!("flow table: {} × {}", flow::text(flow.sink), label.taint().as_str());
        let because = match label.taint() {
            Taint::Clean => String::new(),
            Taint::Private | Taint::External | Taint::Both => {
                format!(" The context is {}.", quoted(&label.to_string()))
            }
        };
        let what = &flow.what;
        let (verdict, reason) = match cell {
            Cell::Mode => return None,
            Cell::AskOrLease => (Verdict::Ask, format!("A person must agree to {what}.{because}")),
            Cell::AskExactly => (
                Verdict::Ask,
                format!(
                    "A person must agree to exactly this: {what}.{because} No lease covers it."
                ),
            ),
            Cell::Deny if flow.sink == Sink::WriteInstruction => (
                Verdict::Deny,
                format!(
                    "{what} is refused: it would later run or instruct, and foreign words stand in \
                     the context.{because} Show the person what you propose instead."
                ),
            ),
            Cell::Deny => (
                Verdict::Deny,
                format!(
                    "{what} is refused: data could leave in it.{because} Tell the person what you \
                     need; they can do it themselves, or ask for exactly this in a new session."
                ),
            ),
        };
        let exact = cell == Cell::AskExactly;
        Some(Opinion { gate: self.name().into(), verdict, rule: Some(rule), reason, exact })
    }
}

fn flows(call: &CallFacts<'_>, context: &GateContext<'_>) -> Vec<Flow> {
    let (effects, rules) = (&call.inspection.effects, context.rules);
    // The person's word about the tool itself covers what the tool says it sends, or does not say.
    let covered = matches!(rules.rule_tool(call.tool, Touches::Something), Ruling::Allow(_));
    let mut flows = Vec::new();
    flows.extend(effects.paths.iter().map(|path| of_path(path, rules)));
    let announced =
        |path: &str| effects.paths.iter().any(|p| p.access.is_write() && p.path == path);
    let changes = effects.changes.iter().filter(|change| !announced(&change.path));
    flows.extend(changes.filter_map(|change| {
        let why = flow::instructs(&change.path)?;
        let what = format!("writing {} ({why})", quoted(&change.path));
        Some(Flow { sink: Sink::WriteInstruction, what, covered: false })
    }));
    flows.extend(effects.commands.iter().map(|command| of_command(command, rules)));
    let by_command = !effects.commands.is_empty();
    let direct = effects.hosts.iter().filter(|host| !(by_command && host.method == CONNECT));
    flows.extend(direct.map(|host| of_host(host, rules, &context.provenance)));
    flows.extend(effects.sends.iter().map(|send| of_send(send, context, rules, covered)));
    if effects.unknown {
        let (sink, what) = match effects.contained {
            true => (Sink::RunConfined, "using a tool that a sandbox contains"),
            false => (Sink::Unknown, "using a tool whose effects nobody knows"),
        };
        flows.push(Flow { sink, what: what.to_string(), covered });
    }
    flows
}

/// The way through the proxy that a command asks for: judged with the command.
const CONNECT: &str = "CONNECT";

fn of_path(path: &PathEffect, rules: &RuleSet) -> Flow {
    let shown = quoted(&path.path);
    if !path.access.is_write() {
        let what = format!("reading {shown}");
        return Flow { sink: Sink::ReadWorkspace, what, covered: false };
    }
    match flow::instructs(&path.path) {
        Some(why) => Flow {
            sink: Sink::WriteInstruction,
            what: format!("writing {shown} ({why})"),
            covered: matches!(rules.rule_path(path), Ruling::Allow(_)),
        },
        None if path.place != Place::Inside => {
            let what = format!("writing {shown} outside the workspace");
            Flow { sink: Sink::WriteOutside, what, covered: false }
        }
        None => Flow { sink: Sink::WriteFile, what: format!("writing {shown}"), covered: false },
    }
}

fn of_command(command: &CommandEffect, rules: &RuleSet) -> Flow {
    let shown = quoted(&command.command);
    let sink = if command.has_network() { Sink::RunWithNetwork } else { Sink::RunConfined };
    let reach = match (command.has_network(), command.hosts.is_empty()) {
        (false, _) => String::new(),
        (true, true) => " with all of the network, unconfined".to_string(),
        (true, false) => format!(" with access to {}", quoted(&command.hosts.join(", "))),
    };
    Flow {
        sink,
        what: format!("running `{shown}`{reach}"),
        covered: matches!(rules.rule_command(command), Ruling::Allow(_)),
    }
}

fn of_host(host: &HostEffect, rules: &RuleSet, provenance: &Provenance<'_>) -> Flow {
    let ruling = rules.rule_host(host);
    let listed = matches!(ruling, Ruling::Allow(_));
    // A rule for a domain covers every name below it, and a name can carry as much as a path.
    let exactly = matches!(&ruling, Ruling::Allow(by)
        if by.iter().any(|rule| rule.text() == format!("Web({})", host.host)));
    let shown = quoted(&host.url);
    let reads = host.method == "GET" || host.method == "HEAD";
    if !reads || host.secret.is_some() {
        let named = listed || provenance.is_named(&host.host);
        let sink = if named { Sink::SendNamed } else { Sink::SendOther };
        let what = format!("sending to {shown} ({})", quoted(&host.method));
        return Flow { sink, what, covered: listed };
    }
    let sink = match listed {
        true if (exactly && is_bare(host)) || provenance.is_asked(&host.url) => Sink::FetchListed,
        true if provenance.is_linked(&host.url) => Sink::FetchListedLink,
        true => Sink::FetchListedBuilt,
        false if provenance.is_asked(&host.url) => Sink::FetchAsked,
        false => Sink::FetchOther,
    };
    Flow { sink, what: format!("fetching {shown}"), covered: listed }
}

/// Whether an address is its host and nothing else: no port, path or query of its own.
fn is_bare(host: &HostEffect) -> bool {
    let after = host.url.split_once("://").map_or("", |(_, rest)| rest);
    after.trim_end_matches('/') == host.host
}

fn of_send(send: &SendEffect, context: &GateContext<'_>, rules: &RuleSet, covered: bool) -> Flow {
    let listed = matches!(rules.rule_send(send), Ruling::Allow(_));
    let named = listed || context.provenance.is_named(&send.recipient);
    let covered = covered || listed;
    let sink = if named { Sink::SendNamed } else { Sink::SendOther };
    let what = format!("sending to {} by {}", quoted(&send.recipient), quoted(&send.by));
    Flow { sink, what, covered }
}

impl Provenance<'_> {
    /// Whether the person wrote this address, or approved a call with it.
    fn is_asked(&self, url: &str) -> bool {
        let bare = url.trim_end_matches('/');
        // People leave the scheme out.
        let plain = bare.strip_prefix("https://").unwrap_or(bare);
        self.approved.iter().any(|text| text.trim_end_matches('/') == bare)
            || self.said.iter().any(|said| stands_in(said, bare) || stands_in(said, plain))
    }

    /// Whether the person named this recipient, or approved a call with it.
    fn is_named(&self, recipient: &str) -> bool {
        let recipient = recipient.to_lowercase();
        !recipient.trim().is_empty()
            && (self.approved.iter().any(|text| text.to_lowercase() == recipient)
                || self.said.iter().any(|said| stands_in(&said.to_lowercase(), &recipient)))
    }

    /// Whether this address stands literally in a result. What the model itself wrote does not
    /// count.
    fn is_linked(&self, url: &str) -> bool {
        let bare = url.trim_end_matches('/');
        self.history.iter().any(|message| results_say(&message.blocks, bare))
    }
}

/// Whether a result of a call contains the address. What the model itself wrote does not count.
fn results_say(blocks: &[Block], url: &str) -> bool {
    blocks.iter().any(|block| match block {
        Block::Result { blocks, .. } => {
            blocks.iter().any(|b| matches!(b, Block::Text { text, .. } if stands_in(text, url)))
        }
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::Call(_)
        | Block::Image { .. }
        | Block::Document { .. } => false,
    })
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
    use super::stands_in;

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
