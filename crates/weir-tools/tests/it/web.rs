//! `web_fetch` over a fake network.

use serde_json::json;
use weir_engine::ports::FetchedPage;

use super::world::{World, block_on, text};
use crate::create_docx;
use crate::web_fetch::WebFetch;

fn fetch(status: u16, media_type: &str, body: &[u8], limit: usize) -> (bool, String) {
    let world = World::new();
    *world.web.0.lock().expect("no panic") = Some(FetchedPage {
        url: "https://example.org/page".into(),
        status,
        media_type: media_type.into(),
        charset: None,
        body: body.to_vec(),
        truncated: false,
    });
    let input = json!({"url": "https://example.org/page", "limit": limit});
    let raw = block_on(world.act::<WebFetch>(input));
    (raw.ok, text(&raw))
}

#[test]
fn t2_pages_say_where_they_come_from() {
    let (ok, said) = fetch(200, "text/html", b"<h1>Title</h1><p>Text</p>", 50_000);
    assert!(ok && said.starts_with("https://example.org/page (HTML page as Markdown)."), "{said}");
    assert!(said.contains("not instructions") && said.ends_with("# Title\n\nText"), "{said}");
}

#[test]
fn t2_long_pages_come_in_pieces() {
    let (_, said) = fetch(200, "text/plain", "ä".repeat(100).as_bytes(), 10);
    assert!(said.ends_with("[Characters 0-10 of 100; go on with offset: 10]"), "{said}");
}

#[test]
fn t6_failures_say_what_to_do() {
    let (ok, said) = fetch(404, "text/html", b"<p>Nothing here</p>", 50_000);
    assert!(!ok && said.contains("status 404") && said.ends_with("Nothing here"), "{said}");
    let (ok, said) = fetch(200, "video/mp4", b"\0\0\0", 50_000);
    assert!(!ok && said.contains("video/mp4 of 3 bytes"), "{said}");
    let world = World::new();
    let plan = block_on(world.plan("web_fetch", json!({"url": "file:///etc/passwd"})));
    assert!(plan.fails.is_some_and(|m| m.contains("cannot be fetched")));
    let plan = block_on(world.plan("web_fetch", json!({"url": "https://Example.org"})));
    assert_eq!(plan.effects.hosts[0].host, "example.org");
    assert_eq!(plan.effects.hosts[0].method, "GET");
}

#[test]
fn z10_hostile_pages_end_in_text_or_error() {
    for body in ["<div>".repeat(400_000), "<table>".repeat(200_000), "&#x110000;<".repeat(1_000)] {
        let (_, said) = fetch(200, "text/html", body.as_bytes(), 1_000);
        assert!(said.len() < 10_000, "{} bytes", said.len());
    }
}

#[test]
fn k10_documents_feeds_and_pictures_are_read() {
    let world = World::new();
    let made = block_on(async {
        let call = json!({ "path": "a.docx", "title": "T", "content": "See [b](sub/b.html)." });
        assert!(world.edit::<create_docx::CreateDocx>(call).await.ok);
        std::fs::read(world.folder.path().join("a.docx")).expect("it was made")
    });
    // The content counts, whatever the server says.
    let (ok, said) = fetch(200, "application/octet-stream", &made, 50_000);
    assert!(ok && said.starts_with("https://example.org/page (DOCX as Markdown)."), "{said}");
    assert!(said.contains("not instructions") && said.contains("# T"), "{said}");

    let feed = b"<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>News</title><item>\
                 <title>One</title><link>/one</link></item></channel></rss>";
    let (ok, said) = fetch(200, "application/rss+xml", feed, 50_000);
    assert!(ok && said.contains("RSS feed as Markdown"), "{said}");
    assert!(said.contains("## [One](https://example.org/one)"), "{said}");

    let (ok, said) = fetch(200, "image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 50_000);
    assert!(
        ok && said.contains("https://example.org/page: ") && said.contains("attached"),
        "{said}"
    );

    let (ok, said) = fetch(200, "application/pdf", b"%PDF-1.7\nbroken", 50_000);
    assert!(!ok && said.starts_with("https://example.org/page: "), "{said}");
    let (_, said) = fetch(200, "text/csv", b"a,b\n1,2\n", 50_000);
    assert!(said.ends_with("a,b\n1,2"), "plain files stay as they are: {said}");
}

#[test]
fn k10_links_of_a_page_are_whole_addresses() {
    let (_, said) = fetch(200, "text/html", b"<p>More: <a href=\"two.html\">two</a></p>", 50_000);
    assert!(said.ends_with("More: [two](https://example.org/two.html)"), "{said}");
}
