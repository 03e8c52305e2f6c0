//! Pages of numbered lines from a reader of any size, in memory of one page.
//!
//! It reads forward only and knows no file names.

use std::fmt::Write as _;
use std::io::{self, BufRead};

use tokio_util::sync::CancellationToken;
use weir_engine::utf16::ByteOrder;

use crate::utf16_reader::Utf16Reader;

/// Lines of a page, when none are asked for.
pub(crate) const PAGE_LINES: usize = 2_000;
/// Characters of a page.
pub(crate) const PAGE_CHARACTERS: usize = 50_000;
/// Bytes read past the page to count the lines that follow.
const COUNT_BYTES_MAX: u64 = 64_000_000;

/// What a page shows, and what else was seen on the way.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NumberedPage {
    /// Numbered lines, each ended by a line feed.
    pub(crate) text: String,
    /// Number of the first line shown; 0: none.
    pub(crate) first: usize,
    /// Number of the last line shown.
    pub(crate) last: usize,
    /// Lines of the whole, where they could be counted.
    pub(crate) total: Option<usize>,
    /// Lines follow the last one shown.
    pub(crate) more: bool,
    /// Some bytes were not of its encoding and are shown as `�`.
    pub(crate) lossy: bool,
    /// It is stored in UTF-16 of this order; `None`: in UTF-8.
    pub(crate) order: Option<ByteOrder>,
    /// The lines end with carriage return and line feed.
    pub(crate) crlf: bool,
    /// A NUL byte stands on this line.
    pub(crate) nul: Option<usize>,
}

/// One line as it was read: at most a page's worth of bytes are kept.
#[derive(Default)]
struct PageLine {
    kept: Vec<u8>,
    bytes: u64,
    ended: bool,
}

/// [`read_page`] of a file, which may be stored in UTF-16: what is counted is its text in UTF-8.
pub(crate) fn read_stored_page(
    reader: &mut dyn BufRead,
    offset: usize,
    limit: usize,
    cancel: &CancellationToken,
) -> io::Result<NumberedPage> {
    let Some(order) = ByteOrder::of_mark(reader.fill_buf()?) else {
        return read_page(reader, offset, limit, cancel);
    };
    let mut decoded = Utf16Reader::new(reader, order);
    let page = read_page(&mut decoded, offset, limit, cancel)?;
    Ok(NumberedPage { order: Some(order), ..page })
}

/// Reads lines `offset` (from 1) to `offset + limit - 1`, or fewer where the page is full.
pub(crate) fn read_page(
    reader: &mut dyn BufRead,
    offset: usize,
    limit: usize,
    cancel: &CancellationToken,
) -> io::Result<NumberedPage> {
    let mut page = NumberedPage::default();
    let skipped = skip_lines(reader, offset - 1, cancel)?;
    if skipped < offset - 1 {
        page.total = Some(skipped);
        return Ok(page);
    }
    let mut characters = 0;
    let mut number = offset;
    while number < offset.saturating_add(limit) && characters < PAGE_CHARACTERS {
        let Some(line) = read_line(reader, cancel)? else { break };
        if line.kept.contains(&0) {
            page.nul = Some(number);
            return Ok(page);
        }
        let shown = line_text(&line, &mut page);
        let length = shown.chars().count();
        if page.first > 0 && characters + length > PAGE_CHARACTERS {
            page.more = true;
            page.total = count_rest(reader, number, cancel)?;
            return Ok(page);
        }
        characters += length + 1;
        let _ = writeln!(page.text, "{number}\t{shown}");
        page.first = offset;
        page.last = number;
        number += 1;
    }
    let rest = count_rest(reader, page.last.max(offset - 1), cancel)?;
    page.more = rest.is_none_or(|total| total > page.last.max(offset - 1));
    page.total = rest;
    Ok(page)
}

/// The text of a line, cut where it alone is longer than a page.
fn line_text(line: &PageLine, page: &mut NumberedPage) -> String {
    let mut bytes = line.kept.as_slice();
    if line.ended
        && let Some(without) = bytes.strip_suffix(b"\r")
    {
        bytes = without;
        page.crlf = true;
    }
    let text = String::from_utf8_lossy(bytes);
    // A cut line may end inside a character: that is no broken encoding.
    page.lossy |= match std::str::from_utf8(bytes) {
        Ok(_) => false,
        Err(why) => why.error_len().is_some() || line.bytes == line.kept.len() as u64,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let shown = crate::text::first_chars(text, PAGE_CHARACTERS);
    let left_out = line.bytes - shown.len().min(line.kept.len()) as u64;
    if shown.len() == text.len() && line.bytes == line.kept.len() as u64 {
        shown.to_owned()
    } else {
        format!("{shown}… [this line goes on for {left_out} bytes; search_files finds text in it]")
    }
}

/// Passes over `count` lines; fewer when the reader ends before.
fn skip_lines(
    reader: &mut dyn BufRead,
    count: usize,
    cancel: &CancellationToken,
) -> io::Result<usize> {
    let mut skipped = 0;
    while skipped < count {
        match read_line_into(reader, 0, cancel)? {
            Some(_) => skipped += 1,
            None => break,
        }
    }
    Ok(skipped)
}

/// Lines in all, when `seen` were read before; `None` when there is too much to count.
fn count_rest(
    reader: &mut dyn BufRead,
    seen: usize,
    cancel: &CancellationToken,
) -> io::Result<Option<usize>> {
    let (mut total, mut bytes, mut open) = (seen, 0_u64, false);
    loop {
        stop_if(cancel)?;
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(Some(total + usize::from(open)));
        }
        total += buffer.iter().filter(|byte| **byte == b'\n').count();
        open = buffer.last() != Some(&b'\n');
        let length = buffer.len();
        bytes += length as u64;
        reader.consume(length);
        if bytes > COUNT_BYTES_MAX {
            return Ok(None);
        }
    }
}

fn read_line(reader: &mut dyn BufRead, cancel: &CancellationToken) -> io::Result<Option<PageLine>> {
    // Four bytes per character at most, and some for a carriage return.
    read_line_into(reader, PAGE_CHARACTERS * 4 + 16, cancel)
}

fn read_line_into(
    reader: &mut dyn BufRead,
    keep: usize,
    cancel: &CancellationToken,
) -> io::Result<Option<PageLine>> {
    let mut line = PageLine::default();
    loop {
        stop_if(cancel)?;
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok((line.bytes > 0).then_some(line));
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        let room = keep.saturating_sub(line.kept.len());
        line.kept.extend_from_slice(&part[..part.len().min(room)]);
        line.bytes += part.len() as u64;
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            line.ended = true;
            return Ok(Some(line));
        }
    }
}

fn stop_if(cancel: &CancellationToken) -> io::Result<()> {
    if cancel.is_cancelled() {
        return Err(io::Error::new(io::ErrorKind::Interrupted, "the call was cancelled"));
    }
    Ok(())
}

/// The page with its last line: what it shows and how to go on. `name` is what was read.
pub(crate) fn render_page(
    page: &NumberedPage,
    name: &str,
    bytes: u64,
    offset: usize,
) -> Result<String, String> {
    if let Some(line) = page.nul {
        return Err(format!(
            "{name} ({}) has a NUL byte on line {line}: it is not text; look at it with a program \
             through run_shell (file, xxd)",
            crate::text::size_text(bytes)
        ));
    }
    if page.first == 0 {
        return match page.total {
            Some(0) | None if offset == 1 => Ok(format!("[{name} is empty]")),
            Some(0) => Err(format!("{name} is empty: there is no line {offset}")),
            total => Err(format!(
                "{name} has {}: there is no line {offset}",
                crate::text::count_noun(total.unwrap_or_default(), "line")
            )),
        };
    }
    let mut notes = Vec::new();
    if page.more || page.first > 1 {
        let of = match page.total {
            Some(total) => format!(" of {total}"),
            None => format!(" of a file of {}", crate::text::size_text(bytes)),
        };
        notes.push(format!("lines {}-{}{of}", page.first, page.last));
    }
    if page.more {
        notes.push(format!("go on with offset: {}", page.last + 1));
    } else if page.first > 1 {
        notes.push("the end".into());
    }
    if page.crlf {
        notes.push("lines end with CRLF".into());
    }
    let encoding = page.order.map_or("UTF-8", ByteOrder::encoding_name);
    if page.lossy {
        notes.push(format!("not valid {encoding}: broken bytes are shown as \u{fffd}"));
    } else if page.order.is_some() {
        notes.push(format!("stored as {encoding}, which changes keep"));
    }
    let lines = page.text.trim_end_matches('\n');
    Ok(match notes.is_empty() {
        true => lines.to_owned(),
        false => format!("{lines}\n[{}]", notes.join("; ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], offset: usize, limit: usize) -> NumberedPage {
        let mut reader = io::BufReader::with_capacity(7, text);
        read_page(&mut reader, offset, limit, &CancellationToken::new()).expect("bytes can be read")
    }

    #[test]
    fn pages_are_numbered_and_say_what_is_left() {
        let first = read(b"a\nb\r\nc", 1, 2);
        assert_eq!(first.text, "1\ta\n2\tb\n");
        assert_eq!((first.total, first.more, first.crlf), (Some(3), true, true));
        let last = read(b"a\nb\nc", 3, 2);
        assert_eq!((last.text.as_str(), last.total, last.more), ("3\tc\n", Some(3), false));
        let past = read(b"a\nb\nc", 5, 2);
        assert_eq!((past.first, past.total), (0, Some(3)));
    }

    #[test]
    fn t7_a_huge_line_is_cut_and_counted() {
        let text = "x".repeat(300_000) + "\nend\n";
        let page = read(text.as_bytes(), 1, 2_000);
        assert_eq!((page.first, page.last, page.total, page.more), (1, 1, Some(2), true));
        assert!(page.text.len() < PAGE_CHARACTERS + 200);
        assert!(page.text.contains("goes on for 250000 bytes"));
        assert_eq!(read(text.as_bytes(), 2, 2_000).text, "2\tend\n");
    }

    #[test]
    fn a_full_page_ends_between_lines() {
        let text = format!("{0}\n{0}\n{0}\n", "y".repeat(30_000));
        let page = read(text.as_bytes(), 1, 2_000);
        assert_eq!((page.last, page.more, page.total), (1, true, Some(3)));
    }

    #[test]
    fn broken_utf8_is_shown_and_said() {
        let page = read(b"caf\xe9\n", 1, 10);
        assert!(page.lossy && page.text == "1\tcaf\u{fffd}\n");
        assert!(!read("é".repeat(200_000).as_bytes(), 1, 10).lossy);
    }
}
