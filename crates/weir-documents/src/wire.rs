//! How a question goes to the child and its answer back: a line of JSON, then raw bytes.

use std::io::{self, BufRead, BufReader, Read, Write};

use serde::{Deserialize, Serialize};
use weir_core::document::{DocumentError, DocumentRequest, DocumentResult};
use weir_core::office::OfficeDocument;

use crate::answer_question;

/// Longest line of JSON, in bytes: text of a book stands in one.
const LINE_BYTES_MAX: u64 = 64 << 20;

#[derive(Serialize, Deserialize)]
struct AnswerHead {
    result: Result<DocumentResult, DocumentError>,
    /// Bytes of each picture or file, in order; they follow the line.
    #[serde(default)]
    lengths: Vec<u64>,
}

/// Writes a question about `bytes`.
///
/// # Errors
/// `out` fails.
pub fn write_question(out: &mut dyn Write, wish: &DocumentRequest, bytes: &[u8]) -> io::Result<()> {
    write_line(out, wish)?;
    out.write_all(bytes)?;
    out.flush()
}

/// What the child does: one question from `input`, one answer to `out`. `limit` is called first, for
/// every question: bounds of memory and time belong there. `confine` is called when all of the
/// question was read and before any file in it is looked at: what closes the process in belongs there.
///
/// # Errors
/// A stream fails, the question is none, or `limit` or `confine` refuses.
pub fn serve_question(
    input: &mut dyn Read,
    out: &mut dyn Write,
    limit: impl FnOnce() -> io::Result<()>,
    confine: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    limit()?;
    let mut input = BufReader::new(input);
    let wish: DocumentRequest = read_line(&mut input)?;
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    // What a panic says is of no use to anybody, and it may quote the file.
    std::panic::set_hook(Box::new(|_| ()));
    let mut result = if is_free_of_files(&wish) {
        answer_question(&wish, &[])
    } else {
        confine()?;
        answer_question(&wish, &bytes)
    };
    let parts: Vec<Vec<u8>> = result.iter_mut().flat_map(byte_parts).map(std::mem::take).collect();
    let lengths = parts.iter().map(|bytes| bytes.len() as u64).collect();
    write_line(out, &AnswerHead { result, lengths })?;
    parts.iter().try_for_each(|bytes| out.write_all(bytes))?;
    out.flush()
}

/// Whether nothing that anybody else made is looked at: a workbook is written from its description
/// alone. Its writer starts threads, and a confined process cannot; its memory and time are bounded
/// all the same.
fn is_free_of_files(wish: &DocumentRequest) -> bool {
    match wish {
        DocumentRequest::Make { document, .. } => matches!(document, OfficeDocument::Workbook(_)),
        DocumentRequest::Image { .. }
        | DocumentRequest::Mosaic { .. }
        | DocumentRequest::Pdf
        | DocumentRequest::Text { .. }
        | DocumentRequest::Pictures { .. }
        | DocumentRequest::Markdown { .. }
        | DocumentRequest::Unpack { .. } => false,
    }
}

/// Reads what [`serve_question`] wrote.
///
/// # Errors
/// It is not whole.
pub fn read_answer(input: &mut dyn Read) -> io::Result<Result<DocumentResult, DocumentError>> {
    let mut input = BufReader::new(input);
    let AnswerHead { mut result, lengths } = read_line(&mut input)?;
    for (bytes, length) in result.iter_mut().flat_map(byte_parts).zip(lengths) {
        (&mut input).take(length).read_to_end(bytes)?;
        if bytes.len() as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(result)
}

fn byte_parts(seen: &mut DocumentResult) -> Vec<&mut Vec<u8>> {
    match seen {
        DocumentResult::Image { smaller, .. } => {
            smaller.iter_mut().map(|it| &mut it.bytes).collect()
        }
        DocumentResult::Pictures { pictures, .. } => {
            pictures.iter_mut().map(|it| &mut it.bytes).collect()
        }
        DocumentResult::Unpacked { files } => {
            files.iter_mut().map(|file| &mut file.bytes).collect()
        }
        DocumentResult::Made { bytes, .. } => vec![bytes],
        DocumentResult::Mosaic { .. }
        | DocumentResult::Pdf { .. }
        | DocumentResult::Text { .. }
        | DocumentResult::Markdown { .. } => Vec::new(),
    }
}

fn write_line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    out.write_all(&text)
}

fn read_line<T: for<'a> Deserialize<'a>>(input: &mut dyn BufRead) -> io::Result<T> {
    let mut text = Vec::new();
    input.take(LINE_BYTES_MAX).read_until(b'\n', &mut text)?;
    if text.last() != Some(&b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(
        wish: &DocumentRequest,
        bytes: &[u8],
    ) -> io::Result<Result<DocumentResult, DocumentError>> {
        let (mut asked, mut said) = (Vec::new(), Vec::new());
        write_question(&mut asked, wish, bytes)?;
        serve_question(&mut asked.as_slice(), &mut said, || Ok(()), || Ok(()))?;
        read_answer(&mut said.as_slice())
    }

    #[test]
    fn x5_questions_and_answers_travel_whole() {
        let picture = crate::image::tests::png(300, 200);
        let wish = DocumentRequest::Image { side_max: 100, bytes_max: 1 << 20 };
        let there = through(&wish, &picture).expect("whole");
        assert_eq!(there, answer_question(&wish, &picture));
        let Ok(DocumentResult::Image { smaller: Some(smaller), .. }) = there else {
            panic!("no copy")
        };
        assert_eq!((smaller.width, smaller.height), (100, 67));
        assert!(smaller.bytes.starts_with(b"\x89PNG"), "its bytes came along");
        let bad = through(&DocumentRequest::Pdf, b"no pdf").expect("whole");
        assert!(matches!(bad, Err(DocumentError::Broken { .. })), "{bad:?}");
    }

    #[test]
    fn x5_what_is_cut_short_is_an_error() {
        let picture = crate::image::tests::png(300, 200);
        let wish = DocumentRequest::Image { side_max: 100, bytes_max: 1 << 20 };
        let (mut asked, mut said) = (Vec::new(), Vec::new());
        write_question(&mut asked, &wish, &picture).expect("written");
        serve_question(&mut asked.as_slice(), &mut said, || Ok(()), || Ok(())).expect("served");
        for end in [0, 5, said.len() - 1] {
            assert!(read_answer(&mut &said[..end]).is_err(), "{end}");
        }
        assert!(
            serve_question(&mut &b"nonsense\n"[..], &mut Vec::new(), || Ok(()), || Ok(())).is_err()
        );
        let refused = || Err(io::Error::other("not confined"));
        let served = serve_question(&mut asked.as_slice(), &mut Vec::new(), || Ok(()), refused);
        assert!(served.is_err());
    }

    #[test]
    fn x5_every_question_is_answered_within_limits() {
        let sheet = weir_core::office::WorkbookSheet { name: "S".into(), ..Default::default() };
        let sheets = vec![sheet];
        let document = OfficeDocument::Workbook(weir_core::office::WorkbookDocument {
            sheets,
            ..Default::default()
        });
        for wish in [DocumentRequest::Make { document, parts: Vec::new() }, DocumentRequest::Pdf] {
            let mut asked = Vec::new();
            write_question(&mut asked, &wish, b"x").expect("written");
            let mut limited = false;
            let limit = || {
                limited = true;
                Ok(())
            };
            serve_question(&mut asked.as_slice(), &mut Vec::new(), limit, || Ok(()))
                .expect("served");
            assert!(limited, "{wish:?}");
            let refused = || Err(io::Error::other("no limits"));
            let mut said = Vec::new();
            let served = serve_question(&mut asked.as_slice(), &mut said, refused, || Ok(()));
            assert!(served.is_err() && said.is_empty());
        }
    }
}
