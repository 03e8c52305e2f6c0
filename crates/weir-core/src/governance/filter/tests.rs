//! Filters as tables.

use proptest::prelude::*;

use super::*;
use crate::message::StoredMedia;
use crate::tool::ToolGroup;

fn spec(name: &str, keeps_result: bool) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        group: ToolGroup::Read,
        input_schema: serde_json::json!({}).into(),
        deferred: false,
        parallel_safe: true,
        poll: false,
        keeps_result,
        timeout_ms: None,
    }
}

fn cleaned(raw: RawResult, tool: &ToolSpec, secrets: &[&str]) -> FilterOutput {
    let secrets: Vec<String> = secrets.iter().map(ToString::to_string).collect();
    filter_result(
        raw,
        &FilterContext {
            tool: Some(tool),
            secrets: &secrets,
            externalize_over: 2_000,
            externalize_to: ".weir/tmp/task",
            ..FilterContext::of_plain_result(CallId(7), &crate::label::Label::default())
        },
    )
}

fn redacted(text: &str, secrets: &[&str]) -> String {
    let secrets: Vec<String> = secrets.iter().map(ToString::to_string).collect();
    redact_text(text, &secrets).into_owned()
}

#[test]
fn g8_known_secrets_are_taken_out_in_every_form() {
    let secret = "hunter2/+key value";
    let forms = [
        ("plain", "hunter2/+key value"),
        ("json", "\"hunter2/+key value\""),
        ("hex", "68756e746572322f2b6b65792076616c7565"),
        ("upper hex", "68756E746572322F2B6B65792076616C7565"),
        ("percent", "hunter2%2F%2Bkey%20value"),
        ("lower percent", "hunter2%2f%2bkey%20value"),
        ("every byte", "%68%75%6E%74%65%72%32%2F%2B%6B%65%79%20%76%61%6C%75%65"),
        // Base64 of the value alone, and after one and two other bytes.
        ("base64", "aHVudGVyMi8ra2V5IHZhbHVl"),
        ("base64 after one", "eGh1bnRlcjIvK2tleSB2YWx1ZQ=="),
        ("base64 after two", "eHhodW50ZXIyLytrZXkgdmFsdWU="),
    ];
    for (name, form) in forms {
        let text = format!("before {form} after");
        let clean = redacted(&text, &[secret]);
        assert!(clean.contains("[redacted: secret"), "{name}: {clean}");
        assert!(clean.starts_with("before ") && clean.ends_with(" after"), "{name}: {clean}");
        assert!(!clean.contains("unter2"), "{name}: {clean}");
    }
    assert_eq!(redacted("abc", &["", "abc"]), "abc", "short values stand everywhere");
    assert_eq!(redacted("a\\nb12345", &["a\nb12345"]), "[redacted: secret]", "escaped in JSON");
    assert_eq!(
        redacted("xabcdy abcd", &["abcd", "xabcdy"]),
        "[redacted: secret] [redacted: secret]"
    );
}

#[test]
fn z10_many_beginnings_of_tokens_are_read_once() {
    // Each of them asked for the end of the same run: minutes instead of moments.
    for text in ["sk-", "eyJ-", "xoxb-", "hf_", "ghp_ sk-"] {
        let many = text.repeat(200_000);
        let clean = redacted(&format!("{many} AKIAIOSFODNN7EXAMPLE"), &[]);
        assert!(clean.ends_with(" [redacted: AWS key id]"), "{text}");
    }
    // Each of them looked for the beginning of the one line.
    for text in ["-----END ", "-----END PRIVATE KEY-----"] {
        let many = text.repeat(200_000);
        let clean = redacted(&format!("{many} AKIAIOSFODNN7EXAMPLE"), &[]);
        assert!(clean.ends_with(" [redacted: AWS key id]"), "{text}");
    }
    // Each of them looked for the end of its line, or of the one below it.
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKB";
    for text in [format!("{line} "), format!("{line}\n"), format!("{line}\nwords\n")] {
        let many = text.repeat(50_000);
        assert!(!redacted(&many, &[]).contains("MII"), "{text}");
    }
    let mixed = "sk-sk-proj-abcdefghij0123456789xyz sk-abcdefghijklmnopqrstuv";
    assert_eq!(redacted(mixed, &[]), "[redacted: API key] sk-abcdefghijklmnopqrstuv");
}

#[test]
fn g8_tokens_are_taken_out_by_their_shape() {
    let a36 = "a1B2".repeat(9);
    let yes = [
        ("sk-ant-api03-abcdefghijklmnop", "Anthropic key"),
        ("sk-proj-abcdefghij0123456789xyz", "API key"),
        (&format!("ghp_{a36}"), "GitHub token"),
        ("github_pat_11ABCDEFG0abcdefghij_klmnop", "GitHub token"),
        ("AKIAIOSFODNN7EXAMPLE", "AWS key id"),
        ("xoxb-123456789012-abcdef", "Slack token"),
        ("xoxp-123456789012-abcdef", "Slack token"),
        (&format!("AIza{}", "a1B2_".repeat(7)), "Google key"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "JSON web token"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "private key"),
        ("-----BEGIN PRIVATE KEY-----\ncut off", "private key"),
    ];
    for (token, kind) in yes {
        for (before, after) in [("", ""), ("key=\"", "\""), ("a ", "\nb")] {
            let expected = match kind {
                "private key" if !token.contains("END") => format!("{before}[redacted: {kind}]"),
                _ => format!("{before}[redacted: {kind}]{after}"),
            };
            assert_eq!(redacted(&format!("{before}{token}{after}"), &[]), expected);
        }
    }
    assert_eq!(
        redacted("Authorization: Bearer abcdef0123456789ab", &[]),
        "Authorization: Bearer [redacted: bearer token]"
    );
    let no = [
        "sk-learn",
        "task-with-a-very-long-name-1234567890",
        "sk-circle-fade-dot-container-large",
        "ghp_short",
        "AKIA",
        "AKIAIOSFODNN7EXAMPLEX",
        "the bearer of this letter is trustworthy",
        "eyJ",
        "-----BEGIN CERTIFICATE-----\nabc",
        "-----BEGIN PUBLIC KEY-----",
        "fn sky() {}",
    ];
    for text in no {
        assert_eq!(redacted(text, &[]), text);
    }
}

#[test]
fn g8_secrets_leave_neither_by_text_nor_summary_nor_file() {
    let long =
        format!("{}\nmy-secret-value\n{}", "a line of text\n".repeat(100), "b\n".repeat(999));
    let raw = RawResult::ok(long).with_summary("my-secret-value\u{1b}[31m\nred");
    let result = cleaned(raw, &spec("search", false), &["my-secret-value"]);
    assert_eq!(result.clean.summary(), "[redacted: secret] [31m red");
    let (path, text) = result.file.expect("a file");
    assert_eq!(path, ".weir/tmp/task/search-7.md");
    assert!(!text.contains("my-secret-value") && text.contains("[redacted: secret]"));
    let whole = result.whole.expect("the whole");
    assert_eq!(plain_text(whole.blocks()), text);
    assert_eq!(result.clean.full_blob(), Some(&BlobId(sha256_hex(text.as_bytes()))));
    assert_eq!(result.clean.externalized_path(), Some(path.as_str()));
}

#[test]
fn c2_that_a_person_was_missed_is_told_although_the_call_failed() {
    let reason = "A person must agree to fetching https://a.example/?k=hunter2-hunter2.".into();
    let news = vec![ResultEffect::Unapproved { tool: "web_fetch".into(), reason }];
    let raw = RawResult { news, ..RawResult::error("a step failed") };
    let out = cleaned(raw, &spec("made", false), &["hunter2-hunter2"]);
    let [ResultEffect::Unapproved { reason, .. }] = out.clean.result_effects() else {
        panic!("it is not told of: {:?}", out.clean.result_effects());
    };
    assert!(reason.contains("a.example") && !reason.contains("hunter2"), "{reason}");
}

#[test]
fn x1_only_long_results_are_externalised() {
    let edge = "é".repeat(2_000);
    let kept = cleaned(RawResult::ok(edge.clone()), &spec("a", false), &[]);
    assert_eq!(
        (kept.file, kept.whole, plain_text(kept.clean.blocks())),
        (None, None, edge.clone())
    );
    let over = cleaned(RawResult::ok(format!("{edge}x")), &spec("a", false), &[]);
    assert!(over.file.is_some());
    let error = cleaned(RawResult::error("x ".repeat(2_000)), &spec("a", false), &[]);
    assert!(error.file.is_some() && !error.clean.is_ok());
    let reading = cleaned(RawResult::ok("x".repeat(50_000)), &spec("read_file", true), &[]);
    assert_eq!(reading.file, None);
    assert_eq!(plain_text(reading.clean.blocks()).len(), 50_000);
}

#[test]
fn x1_the_reference_tells_what_was_found() {
    let matches: String =
        (0..300).map(|n| format!("src/file{}.rs:{n}:let x = {n};\n", n / 10)).collect();
    let listing: String = (0..400).map(|n| format!("src/dir/file{n}.rs\n")).collect();
    let document: String = (0..60)
        .map(|n| format!("## Part {n}\n\n{}\n\n", "text and more text ".repeat(5)))
        .collect();
    let json = format!("{{\"a\": [{}]}}", "1, ".repeat(2_000));
    let table: [(String, &[&str]); 4] = [
        (matches, &["300 matches in 30 files", "src/file0.rs:0:let x = 0;", "more lines"]),
        (listing, &["400 entries", "src/dir/file0.rs", "more lines"]),
        (document, &["60 headings", "## Part 0 (line 1)", "It begins: text and more"]),
        (json, &["first lines", "{\"a\": [1, 1"]),
    ];
    for (text, expected) in table {
        let result = cleaned(RawResult::ok(text.clone()), &spec("tool/../x", false), &[]);
        let reference = plain_text(result.clean.blocks());
        assert!(reference.chars().count() <= REFERENCE_CHARS_MAX, "{reference}");
        let first = format!(
            "Result of {} characters in .weir/tmp/task/tool____x-7.md ({} lines).",
            text.chars().count(),
            text.lines().count()
        );
        assert_eq!(reference.lines().next(), Some(first.as_str()));
        for part in expected.iter().chain(&["read_file", "offset", "limit"]) {
            assert!(reference.contains(part), "{part:?} is missing in {reference}");
        }
        assert_eq!(result, cleaned(RawResult::ok(text), &spec("tool/../x", false), &[]));
    }
}

/// Weir's own search says each path once, above its lines.
#[test]
fn x1_the_reference_of_a_search_says_how_much_where_and_what_was_left_out() {
    let mut found = String::from("60 matches in 20 files\n");
    for file in 0..20 {
        found.push_str(&format!("\nsrc/[id]/file{file}.rs\n"));
        for line in 1..=3 {
            found.push_str(&format!("{line}:let value = {line}; // {}\n", "x".repeat(40)));
            found.push_str(&format!("{}-around\n--\n", line + 1));
        }
    }
    found.push_str(
        "\n[stopped after 60 matches; narrow pattern, path or glob, or raise max_results]\n\
         [not searched:\n- big.bin (line too long)]",
    );
    let result = cleaned(RawResult::ok(found), &spec("search_files", false), &[]);
    let reference = plain_text(result.clean.blocks());
    assert!(reference.chars().count() <= REFERENCE_CHARS_MAX, "{reference}");
    for part in [
        "60 matches in 20 files.\n[stopped after 60 matches; narrow pattern",
        "[not searched:\n- big.bin (line too long)]",
        "By file: src/[id]/file0.rs (3), src/[id]/file1.rs (3), ",
        " more files.\nThe first matches:\nsrc/[id]/file0.rs:1:let value = 1; // xx",
        " more matches.\n",
    ] {
        assert!(reference.contains(part), "{part:?} is missing in {reference}");
    }
    assert!(!reference.contains("around"), "{reference}");
    let quoted = reference.lines().filter(|line| line.contains(":let value")).count();
    assert!(reference.contains(&format!("… and {} more matches.", 60 - quoted)), "{reference}");
}

#[test]
fn x1_what_a_tool_left_out_itself_is_said_in_the_reference() {
    let mut listing: String = (0..400).map(|n| format!("src/dir/file{n}.rs\n")).collect();
    listing.push_str("[400 of 9000 entries; give a folder]");
    let result = cleaned(RawResult::ok(listing), &spec("list_files", false), &[]);
    let reference = plain_text(result.clean.blocks());
    let said =
        "400 entries.\n[400 of 9000 entries; give a folder]\nThe first ones:\nsrc/dir/file0.rs";
    assert!(reference.contains(said), "{reference}");
}

#[test]
fn x1_images_stay_beside_the_reference() {
    let media = StoredMedia {
        media_type: "image/png".into(),
        blob: BlobId::new("b"),
        bytes: 3,
        name: None,
    };
    let raw = RawResult {
        blocks: vec![
            MessageBlock::text("x ".repeat(3_000)),
            MessageBlock::Image { media: media.clone() },
            MessageBlock::text("end"),
        ],
        ..RawResult::ok("")
    };
    let result = cleaned(raw, &spec("a", false), &[]);
    assert_eq!(result.clean.blocks().len(), 2);
    assert_eq!(result.clean.blocks()[1], MessageBlock::Image { media });
    assert_eq!(result.whole.map(|w| w.blocks().len()), Some(3));
}

#[test]
fn g8_cap_bounds_text_and_images() {
    let media = || MessageBlock::Image {
        media: StoredMedia {
            media_type: "image/png".into(),
            blob: BlobId::new("b"),
            bytes: 3,
            name: None,
        },
    };
    let mut blocks =
        vec![MessageBlock::text("é".repeat(RESULT_CHARS_MAX - 1)), MessageBlock::text("abc")];
    blocks.extend((0..RESULT_MEDIA_MAX + 2).map(|_| media()));
    let raw = RawResult { blocks, full_bytes: Some(9_999_999), ..RawResult::ok("") };
    let result = cleaned(raw, &spec("read_file", true), &[]);
    let text = plain_text(result.clean.blocks());
    assert!(text.contains("2 more characters") && text.contains("left out: 2 images"), "no notice");
    assert!(text.chars().count() < RESULT_CHARS_MAX + 300);
    let images =
        result.clean.blocks().iter().filter(|b| matches!(b, MessageBlock::Image { .. })).count();
    assert_eq!(images, RESULT_MEDIA_MAX);
    assert_eq!(result.clean.bytes(), 9_999_999);
    let huge = cleaned(RawResult::ok("x".repeat(RESULT_CHARS_MAX * 2)), &spec("a", false), &[]);
    assert!(plain_text(huge.whole.expect("whole").blocks()).len() < RESULT_CHARS_MAX + 300);
}

#[test]
fn g8_the_summary_is_one_clean_line() {
    let table = [
        ("a\nb", "a"),
        ("\n  \n first \nsecond", "first"),
        ("\u{1b}[31mred\u{7}", "[31mred"),
        ("a\u{202e}b\u{200b}c", "abc"),
        ("tab\tand   space", "tab and space"),
        ("", ""),
    ];
    for (text, expected) in table {
        let result = cleaned(RawResult::ok(text), &spec("a", true), &[]);
        assert_eq!(result.clean.summary(), expected, "{text:?}");
        assert_eq!(plain_text(result.clean.blocks()), text, "the text itself stays");
    }
    let long = cleaned(RawResult::ok("word ".repeat(100)), &spec("a", true), &[]);
    assert_eq!(long.clean.summary().chars().count(), SUMMARY_CHARS_MAX);
    let cut = format!("{}my-secret-value", "x".repeat(110));
    let cut = cleaned(RawResult::ok(cut), &spec("a", true), &["my-secret-value"]);
    assert!(!cut.clean.summary().contains("my-"), "{}", cut.clean.summary());
}

/// What [`one_line`] says it makes of a text, step by step and of all of it.
fn line_of_all(text: &str) -> String {
    let is_hidden = |c: char| {
        ('\u{200b}'..='\u{200f}').contains(&c)
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2060}'..='\u{2069}').contains(&c)
            || c == '\u{feff}'
    };
    let spaced = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = spaced.filter(|c| !is_hidden(*c)).collect();
    while line.contains("  ") {
        line = line.replace("  ", " ");
    }
    let line: Vec<char> = line.trim_start_matches(' ').trim().chars().collect();
    if line.len() <= SUMMARY_CHARS_MAX {
        return line.into_iter().collect();
    }
    line[..SUMMARY_CHARS_MAX - 1].iter().chain(&['…']).collect()
}

proptest! {
    #[test]
    fn q6_a_line_is_made_as_if_all_of_the_text_were_read(
        text in prop_oneof![
            "[ -~]{0,130}",
            "([!-~]{1,9} ){0,20}[!-~]{0,3}",
            "[ a\u{a0}\u{3000}\u{200b}\u{feff}\n\té]{0,300}",
            any::<String>(),
        ],
        more in "[ \u{a0}a]{0,3}",
    ) {
        for text in [text.clone(), format!("{text}{more}"), format!("{more}{text}")] {
            prop_assert_eq!(one_line(&text), line_of_all(&text));
        }
    }

    #[test]
    fn g8_no_secret_survives(
        before in "[ -~é]{0,40}",
        secret in "[a-zA-Z0-9/+=_-]{8,40}",
        after in "[ -~é]{0,40}",
    ) {
        let clean = redacted(&format!("{before}{secret}{after}"), &[&secret]);
        prop_assert!(!clean.contains(&secret));
    }

    #[test]
    fn g8_redaction_is_total_and_settles(text in any::<String>()) {
        let once = redacted(&text, &[]);
        prop_assert_eq!(redacted(&once, &[]), once);
    }

    #[test]
    fn x1_references_are_bounded(text in "([ -~é]{0,80}\n?){0,80}", name in any::<String>()) {
        let text = format!("{text}{}", "z".repeat(2_001));
        let result = cleaned(RawResult::ok(text), &spec(&name, false), &[]);
        let (path, _) = result.file.expect("a file");
        prop_assert!(plain_text(result.clean.blocks()).chars().count() <= REFERENCE_CHARS_MAX);
        prop_assert!(path.starts_with(".weir/tmp/task/") && !path.contains(".."));
        prop_assert_eq!(path.matches('/').count(), 3);
    }
}
