//! What rendering costs at most: texts that are made to be slow take linear time and bounded space.

use std::time::{Duration, Instant};

use weir_server::render;

/// A debug build on a busy machine. What is quadratic takes a minute for a hundred kibibytes of the
/// texts below.
const PATIENCE: Duration = Duration::from_secs(20);
const MEBIBYTE: usize = 1 << 20;
/// HTML that comes of a text at most.
const HTML_MAX: usize = 40 * MEBIBYTE;

fn filled(piece: &str, bytes: usize) -> String {
    piece.repeat(bytes / piece.len())
}

/// The quickest of a few, because a machine that is busy is slow too.
fn check(name: &str, text: &str) {
    let once = || {
        let began = Instant::now();
        let html = render::render_markdown(text).0;
        assert!(html.len() < HTML_MAX, "{name}: {} bytes", html.len());
        began.elapsed()
    };
    let mut best = once();
    for _ in 0..4 {
        if best < PATIENCE {
            return;
        }
        best = best.min(once());
    }
    panic!("{name} takes {best:?}");
}

#[test]
fn z10_a_mebibyte_is_rendered_in_bounded_time() {
    check("a mebibyte of words", &filled("words & more ", MEBIBYTE));
    check("a mebibyte of one sign", &filled("*", MEBIBYTE));
}

#[test]
fn z10_much_of_anything_is_rendered_in_bounded_time() {
    for (name, piece) in [
        ("words", "word "),
        ("one word", "x"),
        ("quotes", ">"),
        ("quotes in lines", "> > > > x\n"),
        ("lists", "- "),
        ("lists in lines", "- x\n"),
        ("brackets", "["),
        ("links", "[a](b)"),
        ("images", "![a](b)"),
        ("open images", "!["),
        ("emphasis", "*a "),
        ("strong", "**a** "),
        ("stars", "*"),
        ("underscores", "_a__b"),
        ("backticks", "`"),
        ("backticks of many lengths", "` `` ``` ```` "),
        ("code", "```\nx\n```\n"),
        ("rust", "```rust\nfn main() {}\n```\n"),
        ("tildes", "~~a"),
        ("headings", "# a\n"),
        ("tables", "|a|b|\n|-|-|\n|c|d|\n\n"),
        ("pipes", "|"),
        ("formulas", "$x$ "),
        ("dollars", "$"),
        ("dollars and braces", "${"),
        ("footnotes", "[^1] "),
        ("definitions of footnotes", "[^a]: x\n"),
        ("definitions of links", "[a]: b\n"),
        ("entities", "&amp;"),
        ("ampersands", "&"),
        ("pounds", "£"),
        ("code of ampersands", "`&&&&&&&&` "),
        ("elements", "<a><b>"),
        ("open elements", "<a b="),
        ("comments", "<!--"),
        ("instructions", "<?"),
        ("declarations", "<!A "),
        ("addresses", "https://a.test/b "),
        ("one address", "https://a"),
        ("backslashes", "\\"),
        ("breaks", "a  \n"),
        ("tasks", "- [x] a\n"),
        ("rules", "---\n"),
        ("hidden characters", "\u{202e}"),
        ("diagrams", "```mermaid\ngraph TD\nA-->B\n```\n"),
    ] {
        check(name, &filled(piece, MEBIBYTE / 8));
    }
}

#[test]
fn z10_nesting_and_wide_tables_stay_bounded() {
    let mut deeper = String::new();
    for depth in 0..700 {
        deeper.push_str(&"  ".repeat(depth));
        deeper.push_str("- x\n");
    }
    check("lists in lists", &deeper);
    let wide = format!("{}\n{}\n{}", "|a".repeat(5000), "|-".repeat(5000), "|x\n".repeat(50_000));
    check("a wide table with narrow rows", &wide);
    let references = format!("[a]: {}\n\n{}", "b".repeat(2000), "[a] ".repeat(100_000));
    check("one long address, many references", &references);
    let notes: String = (0..5_000).map(|n| format!("x[^{n}]\n\n[^{n}]: y\n\n")).collect();
    check("many footnotes", &notes);
    let line = format!("```js\n{}\n```\n", "(".repeat(200_000));
    check("a long line of code", &line);
    let maths = format!("${}x{}$", "{".repeat(2000), "}".repeat(2000));
    check("a deep formula", &maths);
}

#[test]
fn s12_what_is_too_long_is_shown_as_it_is() {
    let text = format!("# head\n\n{}", filled("word ", MEBIBYTE));
    let html = render::render_markdown(&format!("{text}{text}")).0;
    assert!(html.starts_with("<pre class=\"plain\"") && html.contains("# head"));
}
