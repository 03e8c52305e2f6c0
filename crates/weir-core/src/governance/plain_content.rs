//! Content that acts (U10): what was written beside foreign words loses its links, mentions and commands
//! before it is sent on, unless the person wrote them too. Pure and the same each time. Not here: whether
//! it may be sent at all (the gates), and calls that send nothing.
//!
//! The words stay: who reads them can still follow an address by hand, and knows then that they do.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::governance::{Provenance, map_texts};
use crate::safe_text::is_deceptive;
use crate::tool::{ActKind, Effects};

/// What is taken out is told by so many names, and by so many characters each.
const TOLD_MAX: usize = 50;
const TOLD_CHARS_MAX: usize = 200;
/// Bytes of an address without its end that are looked at: what is longer stands in nobody's words.
const ADDRESS_BYTES_MAX: usize = 1_024;
/// Signs of one text that are looked for among the words of the person; further ones are taken out.
const LOOKED_FOR_MAX: u32 = 1_000;
/// Rounds after which what still changes loses every sign that could act: nested signs that show a new
/// one when the outer is gone take one round each.
const ROUNDS_MAX: usize = 32;
/// Tags of HTML that load, lead or send; others are words.
const ACTING_TAGS: &[&str] = &[
    "a", "area", "audio", "base", "body", "button", "embed", "form", "frame", "iframe", "img",
    "input", "link", "meta", "object", "script", "source", "style", "svg", "video",
];
/// Schemes that act without `//`.
const BARE_SCHEMES: &[&str] = &["mailto", "javascript", "vbscript", "data", "tel", "sms", "file"];

/// What was taken out of content, each once and not every one of very many: `link https://x.example/`,
/// `mention @all`.
pub type TakenOut = BTreeSet<String>;

/// Whether a call sends content to somebody: what it says is made plain beside foreign words.
pub fn sends_content(effects: &Effects) -> bool {
    !effects.sends.is_empty() || effects.acts.iter().any(|act| act.kind == ActKind::Send)
}

impl Provenance<'_> {
    /// What is taken out of the content of a call that sends: nothing where no foreign words were read,
    /// and nothing that the person wrote.
    pub(crate) fn taken_out_of(&self, input: &Value, effects: &Effects) -> TakenOut {
        let carries = self.carries.unwrap_or(self.label);
        let is_foreign = self.label.is_external() || carries.is_external();
        match is_foreign && sends_content(effects) {
            true => plain_arguments(input, effects, &is_said_by(self.said)).1,
            false => TakenOut::new(),
        }
    }
}

/// Whether a link, mention or command stands in what persons said.
fn is_said_by(said: &[String]) -> impl Fn(&str) -> bool + '_ {
    let words = Provenance { said, ..Provenance::for_empty_session() };
    move |what| what.split_once(' ').is_some_and(|(_, sign)| words.is_said(sign))
}

/// The arguments of a call of which something is taken out, without it.
pub(crate) fn arguments_without(input: &Value, effects: &Effects, said: &[String]) -> Value {
    plain_arguments(input, effects, &is_said_by(said)).0
}

/// A diff that shows the content of such a call, without what is taken out; its own signs stay.
pub(crate) fn diff_without(diff: &str, said: &[String]) -> String {
    let keeps = is_said_by(said);
    let line = |line: &str| {
        let sign = usize::from(line.starts_with(['+', '-', ' ']));
        let plain = plain_content(&line[sign..], &keeps, &mut TakenOut::new());
        format!("{}{plain}", &line[..sign])
    };
    diff.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The arguments of a call that sends, with their content made plain, and what was taken out. What says
/// where it goes stays as it was judged.
pub fn plain_arguments(
    input: &Value,
    effects: &Effects,
    keeps: &dyn Fn(&str) -> bool,
) -> (Value, TakenOut) {
    let mut places: BTreeSet<&str> =
        effects.sends.iter().map(|send| send.recipient.as_str()).collect();
    for act in &effects.acts {
        places.extend(act.control.iter().chain(&act.choices).map(|one| one.value.as_str()));
    }
    let mut taken = TakenOut::new();
    let plain = map_texts(input, &mut |text| match is_place(text, &places) {
        true => text.to_owned(),
        false => plain_content(text, keeps, &mut taken),
    });
    (plain, taken)
}

/// Recipients are compared without case and blanks, as they were judged.
fn is_place(text: &str, places: &BTreeSet<&str>) -> bool {
    places.contains(text) || places.contains(text.trim().to_ascii_lowercase().as_str())
}

/// `text` without what acts. `keeps` says of each link, mention and command, as it is told in `taken`,
/// whether the person asked for it.
pub fn plain_content(text: &str, keeps: &dyn Fn(&str) -> bool, taken: &mut TakenOut) -> String {
    let is_hidden = |c: char| is_deceptive(c) || (c.is_control() && c != '\n' && c != '\t');
    let mut plain: String = text.replace("\r\n", "\n");
    if plain.contains(is_hidden) {
        taken.insert("hidden characters".into());
        plain.retain(|c| !is_hidden(c));
    }
    let mut pass = PlainPass { keeps, taken: &mut *taken, left: 0 };
    for _ in 0..ROUNDS_MAX {
        pass.left = LOOKED_FOR_MAX;
        let next = pass.without_signs(&plain);
        let next = pass.without_commands(&next);
        if next == plain {
            return plain;
        }
        plain = next;
    }
    taken.insert("signs within signs".into());
    plain.replace("://", " ").replace(['<', '>', '[', ']', '@', '\u{FF20}'], "").replace(":/", " ")
}

/// One pass over a text.
struct PlainPass<'a> {
    keeps: &'a dyn Fn(&str) -> bool,
    taken: &'a mut TakenOut,
    /// Signs that may still be looked for among the words of the person.
    left: u32,
}

/// The next of some characters from a place on, found once for all the places before it: a text of
/// nothing but open brackets is read in one go.
struct NextChar {
    chars: [char; 2],
    at: Option<usize>,
}

impl NextChar {
    fn of(chars: [char; 2]) -> NextChar {
        NextChar { chars, at: None }
    }

    /// Its place at or after `from`, which is never less than before; the end of the text where there is none.
    fn find(&mut self, text: &str, from: usize) -> usize {
        match self.at.filter(|at| *at >= from) {
            Some(at) => at,
            None => {
                let found = text[from..].find(self.chars).map_or(text.len(), |at| from + at);
                *self.at.insert(found)
            }
        }
    }
}

/// What a sign at some place comes to: the bytes that it takes, and what stands there instead.
struct PlainSign {
    bytes: usize,
    instead: String,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '+')
}

/// Where an address ends: at a blank, a quote or a bracket.
fn address_end(text: &str) -> usize {
    let most = (0..=text.len().min(ADDRESS_BYTES_MAX)).rev().find(|at| text.is_char_boundary(*at));
    let text = &text[..most.unwrap_or_default()];
    text.find(|c: char| {
        c.is_whitespace() || matches!(c, '<' | '>' | '"' | '\'' | '`' | '|' | ')' | ']' | '}')
    })
    .unwrap_or(text.len())
}

impl PlainPass<'_> {
    /// Without links, mentions and tags.
    fn without_signs(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        let (mut angles, mut rounds) = (NextChar::of(['>', '\n']), NextChar::of([')', '\n']));
        while let Some(c) = text[at..].chars().next() {
            let before = out.chars().next_back();
            let rest = &text[at..];
            let sign = match c {
                '<' => {
                    let end = angles.find(text, at + 1);
                    let closes = text[end..].starts_with('>');
                    closes.then(|| self.angle_sign(&text[at..=end])).flatten()
                }
                '[' | '!' => self.markdown_sign(text, at, &mut rounds),
                '@' | '\u{FF20}' => self.mention(rest, before),
                _ if c.is_ascii_alphabetic() && !before.is_some_and(is_word) => self.link(rest),
                ':' if rest.starts_with("://") => {
                    Some(PlainSign { bytes: 3, instead: String::new() })
                }
                _ => None,
            };
            match sign {
                Some(sign) => {
                    out.push_str(&sign.instead);
                    at += sign.bytes;
                }
                None => {
                    out.push(c);
                    at += c.len_utf8();
                }
            }
        }
        out
    }

    /// Takes `what` out, unless the person asked for it.
    fn takes(&mut self, what: String) -> bool {
        let takes = self.left == 0 || !(self.keeps)(&what);
        self.left = self.left.saturating_sub(1);
        if takes && self.taken.len() < TOLD_MAX {
            let is_short = what.chars().nth(TOLD_CHARS_MAX).is_none();
            let told = what.chars().take(TOLD_CHARS_MAX).collect::<String>();
            self.taken.insert(if is_short { what } else { format!("{told}…") });
        }
        takes
    }

    /// An address with its scheme; what stays is the address without it. One that the person wrote stays
    /// as a whole.
    fn link(&mut self, rest: &str) -> Option<PlainSign> {
        let scheme = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-')))?;
        let after = rest[scheme..].strip_prefix(':')?;
        let name = rest[..scheme].to_ascii_lowercase();
        let slashes = after.len() - after.trim_start_matches('/').len();
        let is_bare = BARE_SCHEMES.contains(&name.as_str())
            && after.chars().next().is_some_and(|c| !c.is_whitespace());
        if slashes < 2 && !is_bare {
            return None;
        }
        let end = scheme + 1 + address_end(after);
        let address = rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?']);
        if self.takes(format!("link {address}")) {
            return Some(PlainSign { bytes: scheme + 1 + slashes, instead: String::new() });
        }
        Some(PlainSign { bytes: address.len(), instead: address.to_owned() })
    }

    /// `@name`, not within an address of mail.
    fn mention(&mut self, rest: &str, before: Option<char>) -> Option<PlainSign> {
        if before.is_some_and(|c| is_word(c) || c == '.') {
            return None;
        }
        let name = rest.trim_start_matches(['@', '\u{FF20}']);
        let signs = rest.len() - name.len();
        let end = name.find(|c: char| !is_word(c)).unwrap_or(name.len());
        if end == 0 || !self.takes(format!("mention @{}", &name[..end])) {
            // As a whole, so that its second sign does not begin another.
            let instead = rest[..signs + end].to_owned();
            return Some(PlainSign { bytes: signs + end, instead });
        }
        Some(PlainSign { bytes: signs, instead: String::new() })
    }

    /// `<https://…|words>`, `<@id>`, `<!all>`, and tags that act.
    fn angle_sign(&mut self, whole: &str) -> Option<PlainSign> {
        let bytes = whole.len();
        let inside = &whole[1..bytes - 1];
        if let Some(name) = inside.strip_prefix(['@', '!', '#']) {
            // A comment says nothing that anybody sees.
            let name = if name.starts_with("--") { "" } else { name };
            return self
                .takes(format!("mention {whole}"))
                .then(|| PlainSign { bytes, instead: name.to_owned() });
        }
        let word = inside.trim_start_matches('/');
        let tag_end = word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len());
        let tag = word[..tag_end].to_ascii_lowercase();
        if ACTING_TAGS.contains(&tag.as_str()) && !word[tag_end..].starts_with(':') {
            let sign = PlainSign { bytes, instead: String::new() };
            return self.takes(format!("tag <{tag}>")).then_some(sign);
        }
        let (address, words) = inside.split_once('|').unwrap_or((inside, ""));
        if !address.contains("://") && !address.starts_with("mailto:") {
            return None;
        }
        if !self.takes(format!("link {address}")) {
            return Some(PlainSign { bytes, instead: whole.to_owned() });
        }
        let instead = match words.is_empty() {
            true => address.to_owned(),
            false => format!("{words} ({address})"),
        };
        Some(PlainSign { bytes, instead })
    }

    /// `[words](address)` and `![words](address)`.
    fn markdown_sign(&mut self, text: &str, at: usize, rounds: &mut NextChar) -> Option<PlainSign> {
        let rest = &text[at..];
        let is_image = rest.starts_with("![");
        let from = if is_image { 2 } else { 1 };
        if !is_image && !rest.starts_with('[') {
            return None;
        }
        let inside = &rest[from..];
        let middle = inside.find(['[', ']', '\n']).filter(|at| inside[*at..].starts_with("]("))?;
        let begin = at + from + middle + 2;
        let end = rounds.find(text, begin);
        if !text[end..].starts_with(')') {
            return None;
        }
        let (words, bytes) = (&inside[..middle], end + 1 - at);
        let address = text[begin..end].trim().trim_start_matches('<');
        let target = address.split([' ', '\t', '>']).next().unwrap_or_default();
        let kind = if is_image { "image" } else { "link" };
        let instead = match self.takes(format!("{kind} {target}")) {
            false => rest[..bytes].to_owned(),
            true if is_image || target.is_empty() => words.to_owned(),
            true => format!("{words} ({target})"),
        };
        Some(PlainSign { bytes, instead })
    }

    /// A line that begins with `/word` orders something at forges and in chats.
    fn without_commands(&mut self, text: &str) -> String {
        let lines = text.split('\n').map(|line| {
            let order = line.trim_start_matches([' ', '\t']);
            let word = order.strip_prefix('/')?;
            let end = word.find(|c: char| !(c.is_ascii_alphabetic() || c == '_'));
            let end = end.unwrap_or(word.len());
            let is_order = end > 0 && (word.len() == end || word[end..].starts_with([' ', '\t']));
            let takes = is_order && self.takes(format!("command /{}", &word[..end]));
            takes.then(|| format!("{}{word}", &line[..line.len() - order.len()]))
        });
        let plain: Vec<Option<String>> = lines.collect();
        let lines = text.split('\n').zip(plain);
        let lines: Vec<String> =
            lines.map(|(line, plain)| plain.unwrap_or_else(|| line.to_owned())).collect();
        lines.join("\n")
    }
}

/// What was taken out, in words for people and the model: `2 links and 1 mention`.
pub fn describe_taken(taken: &TakenOut) -> String {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for one in taken {
        let kind = match one.split_once(' ') {
            Some((kind @ ("link" | "mention" | "image" | "tag" | "command"), _)) => kind,
            _ => one.as_str(),
        };
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind, 1)),
        }
    }
    let each = kinds.iter().map(|(kind, count)| match (*kind, *count) {
        (kind, _) if kind.contains(' ') => kind.to_owned(),
        (kind, 1) => format!("1 {kind}"),
        (kind, count) => format!("{count} {kind}s"),
    });
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
