//! PDFs that the tests write by hand.

use super::*;

/// A PDF of these objects, numbered from 1; the first is the catalogue.
pub(crate) fn file(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(out.len());
        out.extend(format!("{} 0 obj\n", at + 1).bytes());
        out.extend(object);
        out.extend(b"\nendobj\n");
    }
    let start = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for place in places {
        out.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let trailer = format!(
        "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1
    );
    out.extend(trailer.bytes());
    out
}

fn stream(head: &str, data: &[u8]) -> Vec<u8> {
    let mut out = format!("<< {head} /Length {} >>\nstream\n", data.len()).into_bytes();
    out.extend(data);
    out.extend(b"\nendstream");
    out
}

/// Pages with one line of text each; an empty one has a black square instead.
pub(crate) fn with_text(lines: &[&str]) -> Vec<u8> {
    let drawn = lines.iter().map(|line| match *line {
        "" => "100 50 80 80 re f".to_owned(),
        " " => String::new(),
        line => format!("BT /F1 18 Tf 20 100 Td ({line}) Tj ET"),
    });
    with_pages(&drawn.collect::<Vec<_>>())
}

/// Pages on which this is drawn.
fn with_pages(drawn: &[String]) -> Vec<u8> {
    let kids: Vec<String> = (0..drawn.len()).map(|at| format!("{} 0 R", 4 + 2 * at)).collect();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), drawn.len()).into(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
    ];
    for (at, drawn) in drawn.iter().enumerate() {
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents {} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>",
            5 + 2 * at
        );
        objects.push(page.into());
        objects.push(stream("", drawn.as_bytes()));
    }
    file(&objects)
}

fn texts(bytes: &[u8]) -> Vec<String> {
    match extract_text(bytes, 1 << 20) {
        Ok(DocumentResult::Text { pages, cut: None, .. }) => pages,
        other => panic!("{other:?}"),
    }
}

#[test]
fn x5_text_comes_page_by_page() {
    let bytes = with_text(&["Hello there", "", "Third page"]);
    assert_eq!(count_pages(&bytes), Ok(3));
    assert_eq!(texts(&bytes), ["Hello there", "", "Third page"]);
    match extract_text(&bytes, 5) {
        Ok(DocumentResult::Text { pages, cut: Some(why), .. }) => {
            assert_eq!(pages, ["Hello there"]);
            assert!(why.contains("5 bytes"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn x5_pages_are_drawn_and_blank_ones_are_told() {
    let bytes = with_text(&["Hello there", "", " "]);
    let Ok(DocumentResult::Pictures { pictures, blank }) = render_pages(&bytes, &[2, 3, 9, 0], 600)
    else {
        panic!("no pictures")
    };
    assert_eq!(blank, [3]);
    assert_eq!(pictures.len(), 1, "only page 2 was asked for, is there and shows something");
    let picture = &pictures[0];
    assert_eq!((picture.page, picture.width, picture.height), (2, 600, 400));
    let drawn = image::load_from_memory(&picture.bytes).expect("an image").to_rgb8();
    assert_eq!(drawn.get_pixel(5, 5).0, [255, 255, 255]);
    assert_eq!(drawn.get_pixel(280, 230).0, [0, 0, 0], "the square");
}

#[test]
fn x5_broken_files_are_errors() {
    let whole = with_text(&["Hello there"]);
    for bytes in [&b""[..], b"%PDF-1.7", b"text", &whole[..40]] {
        let why = count_pages(bytes).expect_err("no PDF");
        assert!(matches!(why, DocumentError::Broken { .. }), "{why:?}");
        assert!(
            crate::answer_question(
                &weir_core::document::DocumentRequest::Text { bytes_max: 9 },
                bytes
            )
            .is_err()
        );
    }
    let none = file(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [] /Count 0 >>".to_vec(),
    ]);
    assert!(matches!(count_pages(&none), Err(DocumentError::Broken { .. })));
}

#[test]
fn x5_a_page_that_cannot_be_read_is_told_and_the_others_are_read() {
    let bytes = with_text(&["Hello there", "Second page"]);
    let text_of = String::from_utf8(bytes).expect("plain");
    // What is drawn on the first page is in no object of the file.
    let broken = text_of.replacen("/Contents 5 0 R", "/Contents 9 0 R", 1);
    match extract_text(broken.as_bytes(), 1 << 20) {
        Ok(DocumentResult::Text { pages, unread, cut: None }) => {
            assert_eq!((pages, unread), (vec![String::new(), "Second page".to_owned()], vec![1]));
        }
        other => panic!("{other:?}"),
    }
    let unsized_page = text_of.replacen("/MediaBox [0 0 300 200]", "/MediaBxx [0 0 300 200]", 1);
    assert_eq!(texts(unsized_page.as_bytes()), ["Hello there", "Second page"]);
}

#[test]
fn x5_words_and_lines_are_told_by_where_letters_stand() {
    let cases = [
        ("[(Hel) -20 (lo) -300 (there)] TJ", "Hello there"),
        // Letters that stand apart for their looks are one word, also where words stand apart.
        ("2 Tc (SPACED) Tj", "SPACED"),
        ("2 Tc [(SPACED) -400 (OUT)] TJ", "SPACED OUT"),
        ("[(1) -900 (2) -900 (3) -900 (4)] TJ", "1 2 3 4"),
        ("(One) Tj 0 -20 Td (Two) Tj", "One\nTwo"),
        ("(One) Tj 0 -40 Td (Two) Tj", "One\n\nTwo"),
        ("(Left) Tj 120 0 Td (Right) Tj", "Left Right"),
        ("(Right) Tj -120 0 Td (Left) Tj", "Right Left"),
        // Upwards along the side.
        ("0 1 -1 0 100 20 Tm (Up) Tj (stairs) Tj", "Upstairs"),
        ("0 1 -1 0 100 20 Tm (Up) Tj 1 0 0 1 20 100 Tm (Right) Tj", "Up\n\nRight"),
        // Filled and then drawn around, and drawn again beside it: both are bold letters.
        ("2 Tr (Bold) Tj", "Bold"),
        ("(Bold) Tj 0.3 0 Td (Bold) Tj", "Bold"),
        // A scan has its text where nobody sees it.
        ("3 Tr (Scanned) Tj", "Scanned"),
    ];
    for (drawn, text) in cases {
        let page = format!("BT /F1 18 Tf 150 100 Td {drawn} ET");
        assert_eq!(texts(&with_pages(&[page])), [text], "{drawn}");
    }
}

#[test]
fn x5_a_password_is_told() {
    let locked = with_text(&["Hello there"]);
    let text = String::from_utf8_lossy(&locked).into_owned();
    // The standard handler with keys that no empty password gives.
    let key = "00".repeat(32);
    let encrypt = format!(
        "/Root 1 0 R /ID [<{id}> <{id}>] /Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 \
         /P -44 /O <{key}> /U <{key}> >>",
        id = "ab".repeat(16)
    );
    let locked = text.replace("/Root 1 0 R", &encrypt);
    assert_eq!(count_pages(locked.as_bytes()), Err(DocumentError::Encrypted));
}
