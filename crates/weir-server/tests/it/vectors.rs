//! What attackers write: every vector of the list, and arbitrary text, through every way in which
//! text reaches a page.

use proptest::prelude::*;
use weir_core::view::markdown_cut::split_blocks;
use weir_server::render;

use crate::checker::faults;

fn vectors() -> Vec<String> {
    serde_json::from_str(include_str!("vectors.json")).expect("a list of texts")
}

/// Own addresses, as a page has them.
struct Own;

impl render::LinkResolver for Own {
    fn resolve_link(&self, address: &str) -> Option<String> {
        address.strip_prefix("page:").map(|page| format!("/{page}"))
    }
    fn resolve_image(&self, address: &str) -> Option<String> {
        Some(format!("/own/{address}"))
    }
    fn link_mark(&self, address: &str) -> Option<String> {
        address.contains('x').then(|| format!("leads nowhere: {address}"))
    }
    fn heading_anchor(&self, number: usize) -> Option<String> {
        Some(format!("section-{number}"))
    }
}

/// Every way in which `text` reaches a page.
fn every_way(text: &str) -> Vec<String> {
    let own = render::MarkdownStyle { heading: 2, addresses: &Own };
    let mut all = vec![
        render::render_markdown(text).0,
        render::markdown_as(text, &own).0,
        render::render_plain(text).0,
        render::render_json(text).0,
        render::render_json(&serde_json::json!({ "a": text }).to_string()).0,
        render::render_diff(text).0,
        render::render_diff(&format!("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-{text}\n+{text}\n")).0,
    ];
    all.extend(
        ["rust", "html", "js", "css", "diff", "", text]
            .map(|name| render::render_code(text, name).0),
    );
    all.extend(split_blocks(text).into_iter().map(|block| render::render_markdown(block).0));
    all
}

#[test]
fn s12_no_vector_becomes_anything_but_text() {
    let vectors = vectors();
    assert!(vectors.len() >= 200, "{} vectors", vectors.len());
    for vector in &vectors {
        for text in
            [vector.clone(), format!("> {vector}\n"), format!("before\n\n{vector}\n\nafter")]
        {
            for html in every_way(&text) {
                assert_eq!(faults(&html), Vec::<String>::new(), "{text:?} became {html}");
            }
        }
    }
}

#[test]
fn s12_two_vectors_together_are_no_more_than_each() {
    let vectors = vectors();
    for (at, one) in vectors.iter().enumerate() {
        let other = &vectors[(at * 7 + 3) % vectors.len()];
        for text in
            [format!("{one}{other}"), format!("{one}\n{other}"), format!("[{one}]({other})")]
        {
            let html = render::render_markdown(&text).0;
            assert_eq!(faults(&html), Vec::<String>::new(), "{text:?} became {html}");
        }
    }
}

#[test]
fn the_checker_sees_what_the_product_must_not_write() {
    for bad in [
        "<script>x</script>",
        "<p onclick=x>",
        "<a href=javascript:x>",
        "<a href=//foreign.test>",
        "<img src=https://foreign.test/x.png>",
        "<p style=color:red>",
        "<p id=main>",
        "<svg><a xlink:href=javascript:x></svg>",
        "<svg><path fill=url(https://foreign.test)></svg>",
        "<math><annotation-xml></annotation-xml></math>",
        "<iframe>",
        "<form>",
        "<input type=text>",
        "<!-- x -->",
        "<template>x</template>",
    ] {
        assert!(!faults(bad).is_empty(), "{bad}");
    }
    assert_eq!(
        faults("<p>x <a href=\"https://a.test\" rel=noopener>y</a></p>"),
        Vec::<String>::new()
    );
}

fn pieces() -> impl Strategy<Value = String> {
    let words = vec![
        "<",
        ">",
        "\"",
        "'",
        "`",
        "```",
        "```mermaid\n",
        "graph TD\n",
        "A-->B",
        "[",
        "](",
        ")",
        "![",
        "|",
        "|---|\n",
        "\n",
        "\n\n",
        "- [ ] ",
        "> ",
        "# ",
        "*",
        "**",
        "~~",
        "$",
        "$$",
        "\\",
        "&#",
        "&lt;",
        "<script>",
        "<svg>",
        "<math>",
        "onerror=",
        "javascript:",
        "https://a.test/",
        "[^1]",
        "[^1]: ",
        "    ",
        "\t",
        "\u{202e}",
        "\0",
        "é",
        "{",
        "}",
        "\\frac",
        "^",
        "_",
        "<!--",
        "-->",
        "<br>",
        "data:text/html,",
        "1. ",
        "---\n",
        "@@ -1 +1 @@\n",
        "+",
        "\u{1b}[31m",
        "x",
    ];
    prop::collection::vec(prop::sample::select(words), 0..40).prop_map(|all| all.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn z10_any_text_becomes_harmless_html(text in prop_oneof![pieces(), any::<String>()]) {
        for html in every_way(&text) {
            prop_assert_eq!(faults(&html), Vec::<String>::new(), "{:?} became {}", text, html);
        }
    }

    #[test]
    fn s12_blocks_together_are_the_text_and_finished_ones_stay(
        text in pieces(), cut in any::<prop::sample::Index>(),
    ) {
        let whole = split_blocks(&text);
        prop_assert_eq!(whole.concat(), text.clone());
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let prefix = &text[..*cut.get(&ends)];
        let before = split_blocks(prefix);
        let finished = &before[..before.len().saturating_sub(1)];
        prop_assert_eq!(finished, &whole[..finished.len().min(whole.len())], "{:?} in {:?}", prefix, text);
    }
}
