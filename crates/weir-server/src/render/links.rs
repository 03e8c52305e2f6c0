//! Which addresses a text may lead to. Not here: how a link looks.

use url::Url;

/// Longest address that is made a link.
const ADDRESS_MAX: usize = 2048;

/// Own addresses for what a text names. What it gives back counts only if it is a path of this
/// server (`/…`).
pub trait LinkResolver {
    /// Where a link that is neither `http`, `https` nor `mailto` leads; `None`: nowhere, its words
    /// are shown without a link.
    fn resolve_link(&self, _address: &str) -> Option<String> {
        None
    }
    /// Where the bytes of an image lie; `None`: it is not shown, a link to it is.
    fn resolve_image(&self, _address: &str) -> Option<String> {
        None
    }
    /// What is said behind the words of a link that leads nowhere, or of an image that is a link: why, or
    /// what it is. `None`: what is always said.
    fn link_mark(&self, _address: &str) -> Option<String> {
        None
    }
    /// The anchor of the heading with this number, from 1; it begins with `section-`. `None`: nothing
    /// leads to it.
    fn heading_anchor(&self, _number: usize) -> Option<String> {
        None
    }
}

/// Nothing of one's own.
#[derive(Debug, Clone, Copy)]
pub struct NoAddresses;

impl LinkResolver for NoAddresses {}

/// An address as it may stand in `href`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinkTarget {
    /// Out of here: a new tab, and nothing told to whom it leads.
    Away(String),
    /// A page of this server.
    Here(String),
    /// Nowhere.
    Nowhere,
}

/// Where `address` may lead.
pub(super) fn link_target(address: &str, own: &dyn LinkResolver) -> LinkTarget {
    if address.len() > ADDRESS_MAX {
        return LinkTarget::Nowhere;
    }
    if let Some(here) = own.resolve_link(address).filter(|path| is_own(path)) {
        return LinkTarget::Here(here);
    }
    external_address(address).map_or(LinkTarget::Nowhere, LinkTarget::Away)
}

/// A path of this server: never `//host`, never `/\host`, which browsers take for one.
pub(super) fn is_own(path: &str) -> bool {
    let mut bytes = path.bytes();
    bytes.next() == Some(b'/')
        && !matches!(bytes.next(), Some(b'/' | b'\\'))
        && !path.bytes().any(|byte| byte.is_ascii_control() || byte == b'\\')
}

/// An absolute address of a scheme that does nothing but lead somewhere, as a browser would read
/// it.
pub(super) fn external_address(address: &str) -> Option<String> {
    // A browser drops these before it reads the scheme: what holds them means to deceive.
    if address.chars().any(|c| c.is_control()) {
        return None;
    }
    // To a browser a backslash is a slash; in a text it is a sign of the path.
    let url = Url::parse(&address.trim().replace('\\', "%5C")).ok()?;
    let kept = match url.scheme() {
        "http" | "https" => url.has_host() && url.username().is_empty() && url.password().is_none(),
        "mailto" => true,
        _ => false,
    };
    kept.then(|| url.as_str().to_string()).filter(|url| url.len() <= 2 * ADDRESS_MAX)
}

/// The host that an address names, for people.
pub(super) fn address_host(address: &str) -> String {
    let url = Url::parse(address).ok();
    url.and_then(|url| url.host_str().map(str::to_string)).unwrap_or_default()
}

/// The first bare address in `text`: where it begins and ends.
pub(super) fn find_bare_address(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(found) = text[from..].find("http") {
        let start = from + found;
        let rest = &text[start..];
        let scheme = ["https://", "http://"].iter().find(|scheme| rest.starts_with(**scheme));
        let begins = !text[..start].ends_with(|c: char| c.is_alphanumeric());
        from = start + "http".len();
        let Some(scheme) = scheme.filter(|_| begins) else { continue };
        match bare_length(rest) {
            Some(length) if length > scheme.len() => return Some((start, start + length)),
            Some(_) => (),
            // Too long for a link: not looked at again from each word in it.
            None => from = start + rest.floor_char_boundary(ADDRESS_MAX),
        }
    }
    None
}

/// How far a bare address goes: to the next blank, without the punctuation of the sentence around
/// it (GFM, extended autolinks). `None`: too far.
fn bare_length(rest: &str) -> Option<usize> {
    let ends = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '`');
    let window = &rest[..rest.floor_char_boundary(ADDRESS_MAX)];
    let mut end = match window.find(ends) {
        Some(end) => end,
        None if window.len() < rest.len() => return None,
        None => window.len(),
    };
    let opened = rest[..end].matches('(').count();
    let mut closed = rest[..end].matches(')').count();
    while let Some(last) = rest[..end].chars().next_back() {
        match last {
            '?' | '!' | '.' | ',' | ':' | ';' | '*' | '_' | '~' | '\'' | ']' | '}' | '|' => (),
            ')' if closed > opened => closed -= 1,
            _ => break,
        }
        end -= last.len_utf8();
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::{external_address, find_bare_address, is_own};

    #[test]
    fn s12_only_addresses_that_lead_somewhere_are_links() {
        for good in ["https://example.org/a?b=c#d", "http://127.0.0.1:8080", "mailto:a@b.org"] {
            assert!(external_address(good).is_some(), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            " javascript:alert(1)",
            "java\nscript:alert(1)",
            "java\tscript:alert(1)",
            "\u{1}javascript:alert(1)",
            "vbscript:x",
            "data:text/html,<script>alert(1)</script>",
            "blob:https://example.org/1",
            "file:///etc/passwd",
            "filesystem:https://example.org/temporary/x",
            "//example.org/x",
            "/chats",
            "chats",
            "#top",
            "",
            "https://user:secret@example.org/",
            "ftp://example.org/",
            "intent://scan/#Intent;scheme=zxing;end",
            "view-source:https://example.org",
            "about:blank",
            "https:\\\\foreign.test",
            "https://a.test\\@foreign.test",
        ] {
            assert_eq!(external_address(bad), None, "{bad}");
        }
    }

    #[test]
    fn s12_own_paths_stay_on_this_server() {
        assert!(is_own("/api/v1/x"));
        for bad in ["//evil.example/x", "/\\evil.example", "https://x", "x", "", "/a\\b", "/a\n"] {
            assert!(!is_own(bad), "{bad}");
        }
    }

    #[test]
    fn bare_addresses_end_before_the_sentence_does() {
        let found =
            |text: &str| find_bare_address(text).map(|(start, end)| text[start..end].to_string());
        assert_eq!(found("see https://a.example/b."), Some("https://a.example/b".into()));
        assert_eq!(found("(https://a.example/b_(c))"), Some("https://a.example/b_(c)".into()));
        assert_eq!(found("xhttps://a.example"), None);
        assert_eq!(found("https://"), None);
        assert_eq!(found("http https http://é.example/ü"), Some("http://é.example/ü".into()));
    }
}
