//! How a question goes to the child and its answer back: a line of JSON, then raw bytes.

use std::io::{self, BufRead, BufReader, Read, Write};

use serde::{Deserialize, Serialize};
use weir_core::document::{DocumentError, DocumentRequest, DocumentResult};

use crate::answer_question;

/// Longest line of JSON, in bytes: text of a book stands in one.
const LINE_BYTES_MAX: u64 = 64 << 20;

#[derive(Serialize, Deserialize)]
struct AnswerHead {
    result: Result<DocumentResult, DocumentError>,
    /// Bytes of each picture, in order; they follow the line.
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

/// What the child does: one question from `input`, one answer to `out`. `ready` is called when all
/// of the question was read and before anything in it is looked at: what confines the process
/// belongs there.
///
/// # Errors
/// A stream fails, the question is none, or `ready` refuses.
pub fn serve_question(
    input: &mut dyn Read,
    out: &mut dyn Write,
    ready: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let mut input = BufReader::new(input);
    let wish: DocumentRequest = read_line(&mut input)?;
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    ready()?;
    // What a panic says is of no use to anybody, and it may quote the file.
    std::panic::set_hook(Box::new(|_| ()));
    let mut result = answer_question(&wish, &bytes);
    let pictures: Vec<Vec<u8>> =
        result.iter_mut().flat_map(pictures_of).map(std::mem::take).collect();
    let lengths = pictures.iter().map(|bytes| bytes.len() as u64).collect();
    write_line(out, &AnswerHead { result, lengths })?;
    pictures.iter().try_for_each(|bytes| out.write_all(bytes))?;
    out.flush()
}

/// Reads what [`serve_question`] wrote.
///
/// # Errors
/// It is not whole.
pub fn read_answer(input: &mut dyn Read) -> io::Result<Result<DocumentResult, DocumentError>> {
    let mut input = BufReader::new(input);
    let AnswerHead { mut result, lengths } = read_line(&mut input)?;
    for (bytes, length) in result.iter_mut().flat_map(pictures_of).zip(lengths) {
        (&mut input).take(length).read_to_end(bytes)?;
        if bytes.len() as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(result)
}

fn pictures_of(seen: &mut DocumentResult) -> Vec<&mut Vec<u8>> {
    match seen {
        DocumentResult::Image { smaller, .. } => {
            smaller.iter_mut().map(|it| &mut it.bytes).collect()
        }
        DocumentResult::Pictures { pictures, .. } => {
            pictures.iter_mut().map(|it| &mut it.bytes).collect()
        }
        DocumentResult::Pdf { .. } | DocumentResult::Text { .. } => Vec::new(),
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
        serve_question(&mut asked.as_slice(), &mut said, || Ok(()))?;
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
        serve_question(&mut asked.as_slice(), &mut said, || Ok(())).expect("served");
        for end in [0, 5, said.len() - 1] {
            assert!(read_answer(&mut &said[..end]).is_err(), "{end}");
        }
        assert!(serve_question(&mut &b"nonsense\n"[..], &mut Vec::new(), || Ok(())).is_err());
        let refused = || Err(io::Error::other("not confined"));
        assert!(serve_question(&mut asked.as_slice(), &mut Vec::new(), refused).is_err());
    }
}
