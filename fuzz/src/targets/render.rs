//! Text that becomes HTML: nothing but text, tables, formulas and drawings comes of it.

use weir_core::view::markdown_cut::split_blocks;
use weir_server::render;

use super::skills;
use crate::seeds;

/// The checker of the renderer's own tests.
#[path = "../../../crates/weir-server/tests/it/checker.rs"]
mod checker;

/// What Markdown, HTML and drawings are written with.
pub(super) const WORDS: &[&str] = &[
    "```mermaid\n",
    "```",
    "graph TD\n",
    "sequenceDiagram\n",
    "A-->B",
    "A->>B: ",
    "pie\n",
    "mindmap\n",
    "classDiagram\n",
    "stateDiagram-v2\n",
    "erDiagram\n",
    "subgraph ",
    "end\n",
    "$$",
    "$",
    "\\frac{",
    "\\left(",
    "\\begin{matrix}",
    "\\text{",
    "[^1]",
    "[^1]: ",
    "](",
    "![",
    "|---|",
    "<script>",
    "<svg>",
    "onerror=",
    "javascript:",
    "https://a.test/",
    "> ",
    "- [x] ",
    "&#x",
    "<!--",
    "\u{202e}",
];

fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

pub(super) fn markdown(data: &[u8]) {
    let text = text(data);
    let html = render::render_markdown(&text).0;
    assert_eq!(checker::faults(&html), Vec::<String>::new(), "{html}");
    let blocks = split_blocks(&text);
    assert_eq!(blocks.concat(), text, "blocks are not the text");
}

pub(super) fn markdown_seeds() -> Vec<Vec<u8>> {
    let mut seeds = seeds::texts(&[
        "# a\n\n| a | b |\n|---|:-:|\n| *c* | `d` |\n\n- [x] e\n  1. f\n\n> g[^1]\n\n[^1]: h\n",
        "```mermaid\ngraph TD\n  A[Start] -->|yes| B{Q}\n  subgraph s\n    B --> C((D))\n  end\n```\n",
        "```mermaid\nsequenceDiagram\n  participant A\n  A->>+B: x\n  Note over A,B: n\n  loop l\n  B-->>-A: y\n  end\n```\n",
        "```mermaid\nclassDiagram\n  A <|-- B\n  A : +int x\n```\n\n```mermaid\npie title t\n  \"a\" : 10\n```\n",
        "```mermaid\nstateDiagram-v2\n  [*] --> a\n  a --> [*]\n```\n\n```mermaid\nerDiagram\n  A ||--o{ B : has\n```\n",
        "```mermaid\nmindmap\n  root((r))\n    a\n      b\n```\n",
        "$\\frac{1}{2} x^2$ $$\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix} \\left( \\sqrt[3]{x} \\right)$$",
        "[a](https://a.test 't') ![b](c.png) <https://d.test> https://e.test/f_(g). ~~h~~ **i** <b>j</b>",
    ]);
    seeds.extend(skills::skill_seeds());
    seeds
}
