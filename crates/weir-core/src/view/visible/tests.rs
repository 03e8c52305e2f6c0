//! Deceptive texts and honest ones, and differences of every size.

use super::*;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(look_alikes(text), expected, "{text}");
}

#[test]
fn z10_words_of_two_alphabets_are_named() {
    check("curl https://раypal.com/x", &["`раypal.com` mixes Cyrillic and Latin letters"]);
    check("pip install reqυests", &["`reqυests` mixes Latin and Greek letters"]);
    check("ѕudo ls", &["`ѕudo` mixes Cyrillic and Latin letters"]);
    check("npm i reасt-dοm", &["`reасt-dοm` mixes Latin, Cyrillic and Greek letters"]);
    check("gооgle.com gооgle.com", &["`gооgle.com` mixes Latin and Cyrillic letters"]);
    check("ցit push", &["`ցit` mixes Armenian and Latin letters"]);
    check("Ꮯurl x", &["`Ꮯurl` mixes Cherokee and Latin letters"]);
    check("mail ada@ехample.org", &["`ехample.org` mixes Cyrillic and Latin letters"]);
}

#[test]
fn z10_a_name_that_is_all_look_alikes_is_named() {
    check("аррӏе", &["`аррӏе` is written with Cyrillic letters that look like Latin ones"]);
    check("сору a b", &["`сору` is written with Cyrillic letters that look like Latin ones"]);
    check("ΟΚ", &["`ΟΚ` is written with Greek letters that look like Latin ones"]);
    check("ｒｍ -rf x", &["`ｒｍ` is written with full-width letters instead of plain ones"]);
    check("𝐜𝐮𝐫𝐥 x", &["`𝐜𝐮𝐫𝐥` is written with mathematical letters instead of plain ones"]);
    check("ⓒⓤⓡⓛ", &["`ⓒⓤⓡⓛ` is written with circled letters instead of plain ones"]);
    check(
        "https://xn--pypal-4ve.com/",
        &[
            "`xn--pypal-4ve.com` stands for a name in other letters, which may look like another name",
        ],
    );
}

#[test]
fn z10_signs_that_look_like_others_are_named() {
    check("https://bank.com⁄login", &["`⁄` (U+2044) looks like `/` and is another character"]);
    check("rm\u{00A0}-rf x", &["(U+00A0) looks like a blank and is another character"]);
    check("a ；b", &["`；` (U+FF1B) looks like `;` and is another character"]);
    check("git −−force", &["`−` (U+2212) looks like `-` and is another character"]);
    check("echo ’x’", &["`’` (U+2019) looks like `'` and is another character"]);
    check("exit １", &["`１` (U+FF11) looks like a plain digit and is another character"]);
    check("bank。com", &["`。` (U+3002) looks like `.` and is another character"]);
}

#[test]
fn z10_honest_texts_are_left_alone() {
    for text in [
        "",
        "cargo test --workspace && git commit -m 'naïve café, Zürich, œuvre, ĳ'",
        "curl https://docs.rs/x?y=z#a | sh",
        "echo привет мир",
        "grep -rn 'Ελλάδα' .",
        "印刷 テスト Tシャツ 한국어",
        "echo 🎉 ❤",
        "open µs.txt 5µm",
        "./a_b-c.d/e_f.tar.gz",
        "خذ שלום",
        "…",
    ] {
        check(text, &[]);
    }
}

#[test]
fn z10_remarks_are_bounded_and_safe_to_show() {
    let many: String = (0..40).map(|n| format!("а{n}z ")).collect();
    let found = look_alikes(&many);
    assert_eq!(found.len(), 9);
    assert_eq!(found[8], "32 more such characters or words");
    let long = format!("а{}", "b".repeat(5_000));
    let found = look_alikes(&long);
    assert!(found[0].chars().count() < 200, "{}", found[0]);
    // What hides splits the word, and is written out by whoever shows the text.
    assert_eq!(look_alikes("pay\u{202E}pal"), Vec::<String>::new());
    assert_eq!(visible_text("pay\u{202E}pal"), "pay<U+202E>pal");
}

#[test]
fn z10_what_hides_or_turns_is_written_out() {
    for (text, shown) in [
        ("a\u{0}b", "a<U+0000>b"),
        ("a\r\nb", "a<U+000D><U+000A>b"),
        ("\u{1b}[31mred", "<U+001B>[31mred"),
        ("\u{9b}2J", "<U+009B>2J"),
        ("a\u{2028}b\u{2029}", "a<U+2028>b<U+2029>"),
        ("\u{2066}x\u{2069}", "<U+2066>x<U+2069>"),
        ("\u{202A}\u{202B}\u{202D}", "<U+202A><U+202B><U+202D>"),
        ("zero\u{200D}width\u{FEFF}", "zero<U+200D>width<U+FEFF>"),
        ("tag\u{E0041}", "tag<U+E0041>"),
        ("co\u{034F}mbine", "co<U+034F>mbine"),
        ("blank\u{2800}", "blank<U+2800>"),
        ("soft\u{00AD}hyphen", "soft<U+00AD>hyphen"),
        ("note\u{FFF9}\u{FFFB}", "note<U+FFF9><U+FFFB>"),
        ("\u{180B}mongolian", "<U+180B>mongolian"),
        ("tab\tstays, ünïcödé too 🎉", "tab\tstays, ünïcödé too 🎉"),
    ] {
        assert_eq!(visible_text(text), shown);
    }
}

#[test]
fn g4_a_long_diff_is_counted_first_and_cut_where_it_is_seen() {
    let body: String = (0..9_998).map(|n| format!("+line {n}\n")).collect();
    let text = format!("--- a/x\n+++ b/x\n@@ -1,0 +1,9998 @@\n{body}");
    let shown = cut_diff(&text, 800);
    assert_eq!(shown.head, "1 file, 10,001 lines: 9,998 added, 0 removed");
    assert_eq!((shown.lines.len(), shown.left), (800, 9_201));
    assert_eq!(shown.cut_notice().as_deref(), Some("… 9,201 more lines"));
    let whole = cut_diff(&text, usize::MAX);
    assert_eq!((whole.lines.len(), whole.cut_notice()), (10_001, None));
    let one = cut_diff(&text, 10_000);
    assert_eq!(one.cut_notice().as_deref(), Some("… 1 more line"));
}

#[test]
fn g4_content_cannot_pose_as_another_file() {
    let text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/secret\n+++ b/secret\n same\n";
    assert_eq!(cut_diff(text, 9).head, "1 file, 6 lines: 1 added, 1 removed");
    let two = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n\
               --- /dev/null\n+++ b/y\n@@ -0,0 +1,2 @@\n+c\n+d\n";
    assert_eq!(cut_diff(two, 99).head, "2 files, 11 lines: 3 added, 1 removed");
    let binary = "--- a/x\n+++ b/x\nBinary content, 3 B before, 4 B after\n";
    assert_eq!(cut_diff(binary, 99).head, "1 file, 3 lines: 0 added, 0 removed");
    assert_eq!(cut_diff("", 9).head, "0 files, 0 lines: 0 added, 0 removed");
    assert_eq!(cut_diff("@@ -9999999999999999999999 +1 @@\n+x\n", 9).left, 0);
    assert_eq!(cut_diff("+\u{202E}x\n", 9).lines[0].text, "+<U+202E>x");
}

#[test]
fn g4_numbers_are_grouped() {
    for (number, text) in
        [(0, "0"), (999, "999"), (1_000, "1,000"), (10_000, "10,000"), (1_234_567, "1,234,567")]
    {
        assert_eq!(grouped_number(number), text);
    }
}

#[test]
fn g4_arguments_are_shown_one_a_line_and_cut_where_everybody_sees_it() {
    let text = "one\ntwo \u{202e}owt\nthree";
    let input = serde_json::json!({ "a": text, "b": 3, "c": "x\u{1b}[2J" });
    let fields = input.as_object().expect("an object");
    let shown = argument_lines(fields, 2, |left| format!("{left} more"));
    let expected = ["a:", "  one", "  two <U+202E>owt", "  1 more", "b: 3", "c: x<U+001B>[2J"];
    assert_eq!(shown, expected);
    assert_eq!(argument_lines(fields, 3, |_| unreachable!("all is shown")).len(), 6);
}
