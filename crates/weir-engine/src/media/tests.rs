//! What stands for a file that a model does not take.

use super::*;

fn media() -> StoredMedia {
    StoredMedia {
        media_type: "application/pdf".into(),
        blob: BlobId::new("b1"),
        bytes: 1_234_567,
        name: Some("Report.pdf".into()),
    }
}

fn pages(texts: &[&str], count: u32, images: bool) -> (String, Vec<u32>) {
    let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
    let poor = pages_without_text(&texts, count, true);
    let shown: Vec<u32> = if images { poor.clone() } else { Vec::new() };
    let shown: Vec<u32> = shown.into_iter().take(PICTURES_MAX).collect();
    let told = pages_text(&DocumentPages {
        texts: &texts,
        count,
        unread: vec![7],
        cut: None,
        poor: poor.clone(),
        shown,
        blank: Vec::new(),
        images,
    });
    (told, poor)
}

fn said(blocks: &[MessageBlock]) -> String {
    weir_core::message::plain_text(blocks)
}

#[test]
fn x5_text_is_told_by_page() {
    let (told, poor) = pages(&["The first page of it.", "", "The third page of it."], 3, false);
    assert_eq!(poor, [2]);
    assert_eq!(
        told,
        "--- page 1 ---\nThe first page of it.\n--- page 2 ---\n(no text: perhaps a scan or a \
         drawing, which this model cannot be shown)\n--- page 3 ---\nThe third page of it."
    );
    let (told, _) = pages(&["The first page of it.", "12"], 2, true);
    assert!(told.ends_with("--- page 2 ---\n12\n(shown as a picture below)"), "{told}");
}

#[test]
fn x5_pages_that_cannot_be_read_are_told() {
    let (told, poor) = pages(&[""; 8], 8, false);
    assert_eq!(poor.len(), 8);
    assert_eq!(told.matches("perhaps a scan").count(), 7);
    assert!(told.contains("--- page 7 ---\n(it could not be read: it is damaged"), "{told}");
}

#[test]
fn x5_many_scans_are_not_all_shown() {
    let (told, poor) = pages(&[""; 25], 25, true);
    assert_eq!(poor.len(), 25);
    assert_eq!(told.matches("shown as a picture").count(), PICTURES_MAX);
    assert_eq!(told.matches("split the file").count(), 5);
}

#[test]
fn x5_what_was_not_read_is_said() {
    let texts = vec!["The first page of it.".to_owned()];
    let poor = pages_without_text(&texts, 9, false);
    assert!(poor.is_empty());
    let cut = Some("reading took more than 12 s".to_owned());
    let (shown, blank) = (Vec::new(), Vec::new());
    let told = pages_text(&DocumentPages {
        texts: &texts,
        count: 9,
        unread: Vec::new(),
        cut,
        poor,
        shown,
        blank,
        images: true,
    });
    assert!(told.ends_with("--- pages 2 to 9 are left out: reading took more than 12 s ---"));
}

#[test]
fn x5_a_file_without_readable_text_is_drawn() {
    assert_eq!(pages_without_text(&[], 3, false), [1, 2, 3]);
}

#[test]
fn x5_the_reason_is_told() {
    let made = ConvertedMedia {
        words: "--- page 1 ---\nHello".into(),
        pages: 1,
        ..ConvertedMedia::default()
    };
    let told = said(&converted_blocks(&media(), ConversionReason::Model, &made, None));
    assert_eq!(
        told,
        "[Report.pdf (PDF, 1 page, 1.2 MB) was converted. This model takes no PDFs: here is its \
         text.]\n--- page 1 ---\nHello\n[end of Report.pdf]"
    );
    let told = said(&converted_blocks(&media(), ConversionReason::Pages, &made, None));
    assert!(told.contains("at most 100 pages"), "{told}");
    let told = said(&converted_blocks(&media(), ConversionReason::Bytes(14 << 20), &made, None));
    assert!(told.contains("at most 14.6 MB"), "{told}");
    let failed =
        ConvertedMedia { failed: Some("it is encrypted".into()), ..ConvertedMedia::default() };
    let told = said(&converted_blocks(&media(), ConversionReason::Model, &failed, None));
    assert!(told.contains("could not be converted: it is encrypted"), "{told}");
}

#[test]
fn x5_long_text_goes_on_in_a_file() {
    let words = "A line of words.\n".repeat(10_000);
    let made = ConvertedMedia { words, pages: 90, ..ConvertedMedia::default() };
    let path = ".weir/tmp/s1/report-b1.md";
    let told = said(&converted_blocks(&media(), ConversionReason::Model, &made, Some(path)));
    assert!(told.chars().count() < WORDS_CHARS_MAX + 500);
    let line = told.lines().filter(|line| *line == "A line of words.").count() + 1;
    assert!(told.contains(&format!("all of it is in {path}; read_file with offset {line} goes")));
    assert!(told.contains("has 170000 characters"));
    let told = said(&converted_blocks(&media(), ConversionReason::Model, &made, None));
    assert!(told.contains("could not be put into a file"));
}

#[test]
fn x5_one_long_line_is_cut_too() {
    let words = "é".repeat(WORDS_CHARS_MAX + 7);
    assert_eq!(leading_lines(&words).chars().count(), WORDS_CHARS_MAX);
}

#[test]
fn x5_files_in_results_are_replaced_and_the_rest_is_shared() {
    let call = weir_core::ids::CallId(1);
    let document = MessageBlock::Document { media: media() };
    let result = MessageBlock::Result {
        call,
        ok: true,
        blocks: vec![MessageBlock::text("a"), document.clone()],
    };
    let other =
        MessageBlock::Document { media: StoredMedia { blob: BlobId::new("b2"), ..media() } };
    let replace = |media: &StoredMedia| {
        (media.blob == BlobId::new("b1"))
            .then(|| vec![MessageBlock::text("x"), MessageBlock::text("y")])
    };
    let with = Arc::new(Message::user(vec![result, document, other.clone()]));
    let after = rewrite_message(&with, &replace);
    let blocks = vec![MessageBlock::text("a"), MessageBlock::text("x"), MessageBlock::text("y")];
    let expected = vec![
        MessageBlock::Result { call, ok: true, blocks },
        MessageBlock::text("x"),
        MessageBlock::text("y"),
        other.clone(),
    ];
    assert_eq!(after.blocks, expected);
    let without = Arc::new(Message::user(vec![other]));
    assert!(Arc::ptr_eq(&rewrite_message(&without, &replace), &without));
}

#[test]
fn x5_names_of_files_are_plain() {
    for (name, slug_) in
        [("Q3 Report.pdf", "q3-report"), ("", "document"), ("../../x", "x"), ("…", "document")]
    {
        assert_eq!(file_slug(name), slug_);
    }
}
