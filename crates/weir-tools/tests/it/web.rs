//! `web_fetch` over a fake network.

use serde_json::json;
use weir_engine::ports::FetchedPage;

use super::world::{World, block_on, text};
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
