//! What tools are given: patches, texts to replace, globs, files of any bytes, pages of the web.

use weir_tools::outside;

use crate::input::{join, parts, text};
use crate::seeds;

pub(super) const PATCH_WORDS: &[&str] = &[
    "\x1e",
    "--- a/x\n",
    "+++ b/x\n",
    "--- /dev/null\n",
    "+++ /dev/null\n",
    "@@ -1,2 +1,2 @@\n",
    "@@",
    "@@ @@\n",
    "@@ -0,0 +1 @@\n",
    "\n+",
    "\n-",
    "\n ",
    "\\ No newline at end of file\n",
    "diff --git ",
    "diff --git a/x b/x\n",
    "rename from ",
    "rename to ",
    "new file mode 100644\n",
    "deleted file mode 100644\n",
    "\"a/\\303\\251\"",
    "\\777",
    "*** Begin Patch\n",
    "\r\n",
    "\t2026",
    "a\n",
    "b\n",
    "\n",
];

pub(super) const HTML_WORDS: &[&str] = &[
    "<p>",
    "</p>",
    "<b>",
    "<table><tr><td>",
    "</table>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<![CDATA[",
    "<svg>",
    "<template>",
    "<li>",
    "<ul>",
    "<ol>",
    "<a href=\"",
    "<a href=javascript:x>",
    "<img src=x alt=\"",
    "<pre>",
    "<code>",
    "```",
    "<h1>",
    "<br>",
    "&amp;",
    "&#x110000;",
    "&#0;",
    "&",
    "<",
    ">",
    "</",
    "<title>",
    "<head>",
    "<body>",
    "<form><form>",
    "<select><option>",
    "<frameset>",
    "<math><mtext>",
    "<plaintext>",
    "<noscript>",
    "<style>",
    "<font ",
    "<nobr>",
    "| ",
    "<article>",
    "A sentence about weirs, which are low dams across a river, goes on. ",
];

// ------------------------------------------------------------ patches

/// A patch is refused with a sentence or gives bytes; each file of it has a path; what applies
/// grows by no more than the patch holds.
pub(super) fn patch(data: &[u8]) {
    let [patch, file] = parts::<2>(data);
    let patch = text(patch);
    match outside::apply_patch(&patch, file) {
        Err(why) => assert!(!why.is_empty()),
        Ok(files) => {
            assert!(!files.is_empty(), "no file and no error");
            for found in files {
                assert!(found.old.is_some() || found.new.is_some(), "a file without a path");
                match found.result {
                    Ok(bytes) => assert!(bytes.len() <= file.len() + 2 * patch.len() + 2),
                    Err(why) => assert!(!why.is_empty()),
                }
            }
        }
    }
}

pub(super) fn patch_seeds() -> Vec<Vec<u8>> {
    let patches = seeds::fields("crates/weir-tools/tests/cases/apply_patch", "call.json", "patch");
    let file = b"fn main() {\n    let x = 1;\n    println!(\"{x}\");\n}\n";
    let mut seeds: Vec<Vec<u8>> = patches.iter().map(|patch| join(&[patch, file])).collect();
    seeds.push(join(&[
        b"diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
        b"a\n",
    ]));
    seeds
}

/// The difference of two texts, read as a patch and applied to the one, is the other.
pub(super) fn diff(data: &[u8]) {
    let [old, new] = parts::<2>(data).map(text);
    // A lone carriage return ends a line for who shows a difference, but not in a file. A mark is said beside
    // the lines.
    let plain = |text: &str| !text.contains(['\r', '\0']) && !text.starts_with('\u{feff}');
    let shown = outside::unified_difference("x", old.as_bytes(), new.as_bytes());
    assert_eq!(shown.is_empty(), old == new);
    if shown.is_empty() || !plain(&old) || !plain(&new) || shown.len() > 90_000 {
        return;
    }
    let files = match outside::apply_patch(&shown, old.as_bytes()) {
        Ok(files) => files,
        Err(why) => panic!("its own difference is no patch: {why}\n{shown}"),
    };
    let [file] = files.as_slice() else { panic!("{} files in\n{shown}", files.len()) };
    let result = file.result.as_ref().map(|bytes| text(bytes));
    assert_eq!(result, Ok(new), "applied:\n{shown}");
}

pub(super) fn diff_seeds() -> Vec<Vec<u8>> {
    [
        ("a\nb\nc\nd\ne\nf\ng\nh\n", "a\nB\nc\nd\ne\nf\ng\nH"),
        ("", "one\ntwo\n"),
        ("- x\n-- y\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n", "- x\n--- a/z\n+++ b/z\n"),
        ("\n\n\n", "\n\n"),
        ("last", "last\n"),
    ]
    .map(|(old, new)| join(&[old.as_bytes(), new.as_bytes()]))
    .to_vec()
}

// ------------------------------------------------------------ replacing

/// A text that stands there once is replaced there and nowhere else, in any encoding.
pub(super) fn edit(data: &[u8]) {
    let [old, new, file] = parts::<3>(data);
    let (old, new) = (text(old), text(new));
    let edited = outside::replace_text(file, &old, &new);
    let places = places(file, old.as_bytes());
    let has_crlf = file.contains(&b'\r') || old.contains('\r');
    if has_crlf {
        return;
    }
    match (edited, places.as_slice()) {
        (Ok(bytes), [place]) => {
            let expected = [&file[..*place], new.as_bytes(), &file[place + old.len()..]].concat();
            assert_eq!(bytes, expected, "something else was changed");
        }
        (Ok(_), places) => panic!("replaced although it stands at {} places", places.len()),
        (Err(why), [_]) => assert!(old.is_empty() || old == new, "refused: {why}"),
        (Err(why), _) => assert!(!why.is_empty()),
    }
}

/// Where `wanted` stands, without overlaps.
fn places(bytes: &[u8], wanted: &[u8]) -> Vec<usize> {
    let mut places = Vec::new();
    let mut at = 0;
    while !wanted.is_empty() && at + wanted.len() <= bytes.len() {
        if bytes[at..].starts_with(wanted) {
            places.push(at);
            at += wanted.len();
        } else {
            at += 1;
        }
    }
    places
}

pub(super) fn edit_seeds() -> Vec<Vec<u8>> {
    let folder = "crates/weir-tools/tests/cases/edit_file";
    let olds = seeds::fields(folder, "call.json", "old_text");
    let news = seeds::fields(folder, "call.json", "new_text");
    let file = "fn main() {\n    let x = 1;\n    println!(\"{x}\");\n}\n";
    let pairs = olds.iter().zip(&news);
    let mut seeds: Vec<Vec<u8>> =
        pairs.map(|(old, new)| join(&[old, new, file.as_bytes()])).collect();
    seeds.push(join(&["é".as_bytes(), b"e", b"caf\xc3\xa9 \xe9"]));
    seeds.push(join(&[b"x", b"yy", b"a x b"]));
    seeds
}

// ------------------------------------------------------------ globs and pages

/// A glob says no with a sentence, or matches in reasonable time; one without a slash looks at the
/// name only.
pub(super) fn glob(data: &[u8]) {
    let [pattern, path] = parts::<2>(data).map(text);
    match outside::glob_matches(&pattern, &path) {
        Err(why) => assert!(!why.is_empty()),
        Ok(matches) => {
            let bare = pattern.strip_prefix("./").unwrap_or(&pattern);
            if !bare.contains('/') {
                let below = outside::glob_matches(&pattern, &format!("folder/{path}"));
                assert_eq!(below, Ok(matches), "the name alone decides");
            }
        }
    }
}

pub(super) fn glob_seeds() -> Vec<Vec<u8>> {
    let patterns = seeds::fields("crates/weir-tools/tests/cases/glob", "call.json", "pattern");
    let mut seeds: Vec<Vec<u8>> =
        patterns.iter().map(|pattern| join(&[pattern, b"src/lib/a.rs"])).collect();
    seeds.push(join(&[b"**/{a,b}*[!c-e]?.{rs,md}", b"x/y/bfoo.rs"]));
    seeds
}

/// A file shown in pages of three lines: read in any pieces each page is the same, and all pages
/// together are the file's lines.
pub(super) fn page(data: &[u8]) {
    let mut offset = 1;
    let mut seen = 0;
    for _ in 0..40 {
        let whole = outside::read_file_page(data, 1 << 16, offset, 3);
        let pieces = outside::read_file_page(data, 7, offset, 3);
        assert_eq!(pieces, whole, "read in pieces");
        let Ok(page) = whole else { return };
        seen += page.lines;
        assert!(page.lines <= 3 && page.text.len() < 1_000_000);
        let Some(next) = page.next else {
            if let Some(total) = page.total {
                assert_eq!(seen, total, "lines are lost between the pages");
            }
            return;
        };
        assert!(next > offset, "no way on from line {offset}");
        offset = next;
    }
}

pub(super) fn page_seeds() -> Vec<Vec<u8>> {
    let mut seeds = seeds::files("crates/weir-tools/tests/cases/read_file", "");
    seeds.push(b"one\r\ntwo\r\n\xff\xfe three\rfour\n\nlast".to_vec());
    seeds
}

// ------------------------------------------------------------ pages of the web

/// Any page becomes a text that is not much larger than it; what is no text is not in it.
pub(super) fn html(data: &[u8]) {
    let html = text(data);
    let page = outside::page_of_html(&html, "https://example.org/a/b");
    assert!(page.text.len() <= 64 * html.len() + 4_096, "{} bytes", page.text.len());
    assert!(page.title.is_none_or(|title| title.chars().count() <= 301));
}

pub(super) fn html_seeds() -> Vec<Vec<u8>> {
    let long = "A sentence about weirs, which are low dams across a river, goes on and on. ";
    let article = format!(
        "<html><head><title>Weirs</title><script>x</script></head><body><nav><a href=/a>Home</a>\
         </nav><article><h1>Weirs</h1><p>{}</p><table><tr><th>a<td>b</table></article></body></html>",
        long.repeat(8)
    );
    let mut seeds = seeds::texts(&[
        "<p>a &lt; b<!-- not this --></p><SCRIPT>if (x < 3) {}</SCRIPT>c<br>d<",
        "<ul><li>a<li>b<ol><li>c</ul><pre><code>x\n  y</code></pre><blockquote>q</blockquote>",
        "<table><tr><td><table><td>x</table><p><b><i>a</b>b</i><img src=a alt='b|c'>",
        "<svg><template><math><mtext><b></math><form><select><option>a</select></form>",
    ]);
    seeds.push(article.into_bytes());
    seeds
}
