//! What stands for a file that a model does not take.

use super::*;

fn media() -> Media {
    Media {
        media_type: "application/pdf".into(),
        blob: BlobId::new("b1"),
        bytes: 1_234_567,
        name: Some("Report.pdf".into()),
    }
}

fn pages(texts: &[&str], count: u32, images: bool) -> (String, Vec<u32>) {
    let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
    let poor = poor(&texts, count, true);
    let shown: Vec<u32> = if images { poor.clone() } else { Vec::new() };
    let shown: Vec<u32> = shown.into_iter().take(PICTURES_MAX).collect();
    let told = words(&Pages {
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

fn said(blocks: &[Block]) -> String {
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
    let poor = poor(&texts, 9, false);
    assert!(poor.is_empty());
    let cut = Some("reading took more than 12 s".to_owned());
    let (shown, blank) = (Vec::new(), Vec::new());
    let told = words(&Pages {
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
    assert_eq!(poor(&[], 3, false), [1, 2, 3]);
}

#[test]
fn x5_the_reason_is_told() {
    let made = Made { words: "--- page 1 ---\nHello".into(), pages: 1, ..Made::default() };
    let told = said(&blocks(&media(), Because::Model, &made, None));
    assert_eq!(
        told,
        "[Report.pdf (PDF, 1 page, 1.2 MB) was converted. This model takes no PDFs: here is its \
         text.]\n--- page 1 ---\nHello\n[end of Report.pdf]"
    );
    let told = said(&blocks(&media(), Because::Pages, &made, None));
    assert!(told.contains("at most 100 pages"), "{told}");
    let told = said(&blocks(&media(), Because::Bytes(14 << 20), &made, None));
    assert!(told.contains("at most 14.6 MB"), "{told}");
    let failed = Made { failed: Some("it is encrypted".into()), ..Made::default() };
    let told = said(&blocks(&media(), Because::Model, &failed, None));
    assert!(told.contains("could not be converted: it is encrypted"), "{told}");
}

#[test]
fn x5_long_text_goes_on_in_a_file() {
    let words = "A line of words.\n".repeat(10_000);
    let made = Made { words, pages: 90, ..Made::default() };
    let path = ".weir/tmp/s1/report-b1.md";
    let told = said(&blocks(&media(), Because::Model, &made, Some(path)));
    assert!(told.chars().count() < WORDS_CHARS_MAX + 500);
    let line = told.lines().filter(|line| *line == "A line of words.").count() + 1;
    assert!(told.contains(&format!("all of it is in {path}; read_file with offset {line} goes")));
    assert!(told.contains("has 170000 characters"));
    let told = said(&blocks(&media(), Because::Model, &made, None));
    assert!(told.contains("could not be put into a file"));
}

#[test]
fn x5_one_long_line_is_cut_too() {
    let words = "é".repeat(WORDS_CHARS_MAX + 7);
    assert_eq!(head(&words).chars().count(), WORDS_CHARS_MAX);
}

#[test]
fn x5_files_in_results_are_replaced_and_the_rest_is_shared() {
    let call = weir_core::ids::CallId(1);
    let document = Block::Document { media: media() };
    let result = Block::Result { call, ok: true, blocks: vec![Block::text("a"), document.clone()] };
    let other = Block::Document { media: Media { blob: BlobId::new("b2"), ..media() } };
    let replace = |media: &Media| {
        (media.blob == BlobId::new("b1")).then(|| vec![Block::text("x"), Block::text("y")])
    };
    let with = Arc::new(Message::user(vec![result, document, other.clone()]));
    let after = rewritten(&with, &replace);
    let blocks = vec![Block::text("a"), Block::text("x"), Block::text("y")];
    let expected = vec![
        Block::Result { call, ok: true, blocks },
        Block::text("x"),
        Block::text("y"),
        other.clone(),
    ];
    assert_eq!(after.blocks, expected);
    let without = Arc::new(Message::user(vec![other]));
    assert!(Arc::ptr_eq(&rewritten(&without, &replace), &without));
}

#[test]
fn x5_names_of_files_are_plain() {
    for (name, slug_) in
        [("Q3 Report.pdf", "q3-report"), ("", "document"), ("../../x", "x"), ("…", "document")]
    {
        assert_eq!(slug(name), slug_);
    }
}
