//! Feeds (RSS 1 and 2, Atom) to Markdown: an entry a block. Not here: fetching what they link to.

use weir_core::document::DocumentError;

use super::flat::page_markdown;
use super::{ReadDocument, pieces_of};
use crate::broken_document;
use crate::xml::{XmlElement, parse_xml};

/// Entries that are shown; feeds begin with the newest.
const ENTRIES_MAX: usize = 500;
/// Bytes of what is said of one entry.
const SUMMARY_BYTES_MAX: usize = 1_500;

/// Whether this is a feed, by how it begins.
pub(super) fn is_feed(bytes: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(2_048)]).to_lowercase();
    ["<rss", "<feed", "<rdf:rdf"].iter().any(|root| start.contains(root))
}

/// A feed as a document.
pub(super) fn read_feed(bytes: &[u8]) -> Result<ReadDocument, DocumentError> {
    let root = parse_xml("the feed", bytes)?;
    let format = match root.name.as_str() {
        "feed" => "Atom feed",
        "rss" | "RDF" => "RSS feed",
        other => return Err(broken_document(format!("<{other}> is no feed"))),
    };
    let channel = root.find_child("channel").unwrap_or(&root);
    let entries: Vec<&XmlElement> = [channel, &root]
        .into_iter()
        .flat_map(|element| element.list_elements())
        .filter(|element| matches!(element.name.as_str(), "item" | "entry"))
        .collect();
    // In RSS 2 the channel holds the entries, in RSS 1 they stand beside it; in Atom both are one.
    let count = if std::ptr::eq(channel, &root) { entries.len() / 2 } else { entries.len() };
    let title = child_text(channel, &["title"]);
    let about = child_text(channel, &["description", "subtitle"]);
    let mut blocks = vec![format!("# {title}\n\n{about}").trim().to_owned()];
    blocks.extend(entries.iter().take(count.min(ENTRIES_MAX)).map(|entry| entry_block(entry)));
    let mut read = ReadDocument { format, ..ReadDocument::default() };
    if count > ENTRIES_MAX {
        read.remarks.push(format!("{} older entries are left out", count - ENTRIES_MAX));
    }
    read.pages = pieces_of(blocks);
    Ok(read)
}

fn entry_block(entry: &XmlElement) -> String {
    let title = match child_text(entry, &["title"]) {
        title if title.is_empty() => "(no title)".to_owned(),
        title => title.replace(['[', ']'], ""),
    };
    let date = child_text(entry, &["pubDate", "updated", "published", "date"]);
    let head = match entry_link(entry) {
        Some(link) => format!("## [{title}]({link})"),
        None => format!("## {title}"),
    };
    let mut summary = page_markdown(&child_text(entry, &["description", "summary", "content"]));
    if summary.len() > SUMMARY_BYTES_MAX {
        summary.truncate(summary.floor_char_boundary(SUMMARY_BYTES_MAX));
        summary.push('…');
    }
    let parts = [head, date, summary.trim().to_owned()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Where an entry leads: RSS has an element with the address, Atom one with it as an attribute.
fn entry_link(entry: &XmlElement) -> Option<String> {
    let links = || entry.list_elements().filter(|element| element.name == "link");
    let page = |link: &&XmlElement| link.find_attribute("rel").is_none_or(|rel| rel == "alternate");
    let by_attribute = links().filter(page).find_map(|link| link.find_attribute("href"));
    let by_text = || links().map(XmlElement::collect_text).find(|text| !text.trim().is_empty());
    let link = by_attribute.map(str::to_owned).or_else(by_text)?;
    let link = link.trim();
    let is_plain = !link.chars().any(|c| c.is_whitespace() || c.is_control() || c == ')');
    (is_plain && !link.is_empty()).then(|| link.to_owned())
}

/// The text of the first of these children that has any, in one line unless it is a longer one.
fn child_text(element: &XmlElement, names: &[&str]) -> String {
    let found = names.iter().filter_map(|name| element.find_child(name));
    let texts = found.map(|child| child.collect_text().trim().to_owned());
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(feed: &str) -> String {
        assert!(is_feed(feed.as_bytes()));
        let read = read_feed(feed.as_bytes()).expect("a feed");
        read.pages.into_iter().map(|page| page.text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn k10_feeds_are_read_entry_by_entry() {
        let rss = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>Tides</title>\
                   <description>All of them</description><link>https://t.example/</link><item>\
                   <title>High</title><link>/high</link><pubDate>Fri, 01 May 2026</pubDate>\
                   <description>&lt;p&gt;At &lt;b&gt;noon&lt;/b&gt;.&lt;/p&gt;</description></item>\
                   <item><title>Low</title></item></channel></rss>";
        let text = text_of(rss);
        for part in
            ["# Tides", "All of them", "## [High](/high)", "01 May 2026", "**noon**", "## Low"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let atom = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>Tides</title><entry>\
                    <title>High</title><link rel=\"self\" href=\"/x\"/><link href=\"https://t.example/h\"/>\
                    <updated>2026-05-01</updated><summary>At noon.</summary></entry></feed>";
        let text = text_of(atom);
        assert!(
            text.contains("## [High](https://t.example/h)\n\n2026-05-01\n\nAt noon."),
            "{text}"
        );
        assert_eq!(text.matches("## ").count(), 1, "{text}");
    }

    #[test]
    fn k10_what_is_no_feed_or_broken_is_an_error() {
        assert!(!is_feed(b"<html><body>"));
        assert!(read_feed(b"<rss><channel>").is_err());
        assert!(read_feed(b"<!DOCTYPE x [<!ENTITY a \"b\">]><rss><channel/></rss>").is_err());
        assert!(read_feed(b"<other/>").is_err());
    }
}
