//! The whole addresses that stand in what the web brought, as they would be fetched (K10). Not here:
//! which of them may be followed (the gate), and making relative links whole (`html`).

use std::collections::BTreeSet;

use weir_core::governance::trail::{CALL_LINKS_MAX, LINK_BYTES_MAX};
use weir_core::tool::ResultEffect;

/// Bytes of all links of one call: they stand in its journal.
const LINKS_BYTES_MAX: usize = 32_768;
const SCHEMES: [&str; 2] = ["https://", "http://"];

/// The addresses in `text`, each once, in their order. Where an address ends is told by the text alone,
/// so that each place of it gives one address at most.
pub(crate) fn links_of(text: &str) -> Vec<String> {
    let mut links = LinkList::default();
    let mut from = 0;
    // One pass: a search for each scheme by itself would look at the rest of the text for each address.
    for (at, _) in text.match_indices("http") {
        let here = &text[at..];
        if at < from || !SCHEMES.iter().any(|scheme| here.starts_with(scheme)) {
            continue;
        }
        let goes_on = text[from..at].chars().next_back().is_some_and(char::is_alphanumeric);
        let found = address_at(here);
        if !goes_on && !links.add(found) {
            break;
        }
        from = at + found.len().max(SCHEMES[1].len());
    }
    links.links
}

/// The same of addresses that are known as such.
pub(crate) fn links_among<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut links = LinkList::default();
    for address in addresses {
        if !links.add(address) {
            break;
        }
    }
    links.links
}

/// What a result says of the links that it brought; none: nothing.
pub(crate) fn link_news(links: Vec<String>) -> Option<ResultEffect> {
    (!links.is_empty()).then_some(ResultEffect::Links { links })
}

#[derive(Default)]
struct LinkList {
    links: Vec<String>,
    known: BTreeSet<String>,
    bytes: usize,
}

impl LinkList {
    /// Adds an address where it is one; whether there is room for more.
    fn add(&mut self, address: &str) -> bool {
        if let Some(link) = canonical_link(address)
            && self.known.insert(link.clone())
        {
            self.bytes += link.len();
            if self.bytes > LINKS_BYTES_MAX {
                return false;
            }
            self.links.push(link);
        }
        self.links.len() < CALL_LINKS_MAX
    }
}

/// The one form of an address that a fetch would have; `None`: no page is fetched from it.
fn canonical_link(address: &str) -> Option<String> {
    let mut url = url::Url::parse(address).ok()?;
    let is_page = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none();
    // What follows `#` is never sent.
    url.set_fragment(None);
    (is_page && url.as_str().len() <= LINK_BYTES_MAX).then(|| url.into())
}

/// The address that `text` begins with: to the first sign that no address has, or the parenthesis that
/// closes around it, without the signs that end a sentence.
fn address_at(text: &str) -> &str {
    let mut open = 0_usize;
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        let ends = match c {
            '(' => {
                open += 1;
                false
            }
            ')' if open == 0 => true,
            ')' => {
                open -= 1;
                false
            }
            '<' | '>' | '"' | '`' | '{' | '}' | '|' | '\\' | '^' => true,
            c => c.is_whitespace() || c.is_control(),
        };
        if ends {
            end = at;
            break;
        }
    }
    text[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_', '~'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k10_whole_addresses_of_a_text_are_its_links() {
        let text = "See [a](https://A.example:443/x#part), <https://b.example/a%20b> and \
                    http://c.example. (https://d.example/Foo_(bar)) \"https://e.example/?q=1&r=2\" \
                    https://a.example/x again, xhttps://no.example, https://u:p@f.example/ and \
                    ftp://g.example/ https://";
        assert_eq!(
            links_of(text),
            [
                "https://a.example/x",
                "https://b.example/a%20b",
                "http://c.example/",
                "https://d.example/Foo_(bar)",
                "https://e.example/?q=1&r=2",
            ]
        );
        assert_eq!(links_of("https://bücher.example/ä"), ["https://xn--bcher-kva.example/%C3%A4"]);
    }

    /// One address with many signs at which it could be cut is one link, not many.
    #[test]
    fn k10_each_place_of_a_text_gives_one_link() {
        let long = format!("https://evil.example/{}", "a,b;c!d".repeat(50));
        assert_eq!(links_of(&long), std::slice::from_ref(&long));
        let nested = "https://evil.example/?next=https://evil.example/b";
        assert_eq!(links_of(nested), [nested]);
    }

    #[test]
    fn z10_the_links_of_a_text_are_bounded() {
        let many: String = (0..100_000).map(|n| format!("https://e.example/{n}\n")).collect();
        assert_eq!(links_of(&many).len(), CALL_LINKS_MAX);
        let long: String =
            (0..1_000).map(|n| format!("https://e.example/{n}{}\n", "x".repeat(1_900))).collect();
        let bytes: usize = links_of(&long).iter().map(String::len).sum();
        assert!(bytes <= LINKS_BYTES_MAX, "{bytes}");
        assert!(links_of(&"https://".repeat(10_000)).is_empty());
        // The same address again and again is no link more; looking for it takes one pass.
        assert_eq!(links_of(&"https://a.b\n".repeat(500_000)), ["https://a.b/"]);
    }
}
