//! Server-sent events: bytes in, data of events out.
//!
//! Sans I/O and total: any chunking of the same bytes gives the same events, lines end in LF, CRLF
//! or CR, comments and unknown fields are passed over, and a last event without its blank line still
//! counts (local servers forget it). It does not reconnect and does not look into the data.

use std::io::BufRead;

/// Longest event that is taken, in bytes. Generated images come as one event, so it is generous.
pub const EVENT_BYTES_MAX: usize = 16 << 20;

/// How much of what is no event at all is kept, to be shown in an error.
const STRAY_BYTES_MAX: usize = 4096;

/// An event grew beyond its bound. Nothing more is taken from this stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {max} bytes")]
pub struct EventTooLarge {
    /// Most bytes of a line or an event.
    pub max: usize,
}

/// Splits a stream into events.
#[derive(Debug, Default)]
pub struct SseDecoder {
    /// A line whose end has not come yet.
    line: Vec<u8>,
    /// Data lines of the event that has not ended yet, joined with LF.
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a CR that ended a line: an LF right after it belongs to it.
    skip_lf: bool,
    too_large: bool,
    events: u64,
    stray: Vec<u8>,
}

impl SseDecoder {
    /// A decoder before the first byte.
    pub fn new() -> SseDecoder {
        SseDecoder::default()
    }

    /// How many events were passed on.
    pub fn event_count(&self) -> u64 {
        self.events
    }

    /// The beginning of what was not server-sent events at all.
    pub fn stray_text(&self) -> String {
        String::from_utf8_lossy(&self.stray).into_owned()
    }

    /// Takes some bytes and calls `on_data` with the data of each event that is complete.
    ///
    /// # Errors
    /// [`EventTooLarge`]; then nothing more is ever passed on.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        on_data: &mut dyn FnMut(&[u8]),
    ) -> Result<(), EventTooLarge> {
        let mut rest = bytes;
        // Most streams have none, and then no line is searched for one.
        let has_cr = byte_position(bytes, b'\r').is_some();
        while !rest.is_empty() && !self.too_large {
            if std::mem::take(&mut self.skip_lf) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some((line, after)) = self.split_line(rest, has_cr) else {
                self.keep_partial(rest);
                break;
            };
            rest = after;
            if self.line.is_empty() {
                rest = self.whole_line(line, rest, on_data);
            } else {
                self.keep_partial(line);
                let held = std::mem::take(&mut self.line);
                self.take_line(&held, on_data);
                self.line = held;
                self.line.clear();
            }
        }
        self.check_size()
    }

    /// The stream is over: what is left becomes the last event.
    ///
    /// # Errors
    /// [`EventTooLarge`] when the stream had gone beyond the bound.
    pub fn finish(&mut self, on_data: &mut dyn FnMut(&[u8])) -> Result<(), EventTooLarge> {
        self.check_size()?;
        let held = std::mem::take(&mut self.line);
        if !held.is_empty() {
            self.take_line(&held, on_data);
        }
        self.dispatch(on_data);
        self.check_size()
    }

    fn check_size(&self) -> Result<(), EventTooLarge> {
        if self.too_large { Err(EventTooLarge { max: EVENT_BYTES_MAX }) } else { Ok(()) }
    }

    /// First line of `rest` without its end, and what follows.
    fn split_line<'a>(&mut self, rest: &'a [u8], has_cr: bool) -> Option<(&'a [u8], &'a [u8])> {
        let Some(end) = byte_position(rest, b'\n') else {
            let end = byte_position(rest, b'\r')?;
            self.skip_lf = end + 1 == rest.len();
            return Some((&rest[..end], &rest[end + 1..]));
        };
        if !has_cr {
            return Some((&rest[..end], &rest[end + 1..]));
        }
        match byte_position(&rest[..end], b'\r') {
            None => Some((&rest[..end], &rest[end + 1..])),
            Some(cr) if cr + 1 == end => Some((&rest[..cr], &rest[end + 1..])),
            Some(cr) => Some((&rest[..cr], &rest[cr + 1..])),
        }
    }

    /// A line that lies whole in the caller's bytes. The common event, one data line and a blank
    /// one, is passed on without a copy. Returns what is left to read.
    fn whole_line<'a>(
        &mut self,
        line: &[u8],
        rest: &'a [u8],
        on_data: &mut dyn FnMut(&[u8]),
    ) -> &'a [u8] {
        if !self.has_data
            && let Some(data) = data_of(line)
        {
            let after_blank = match rest {
                [b'\n', after @ ..] | [b'\r', b'\n', after @ ..] => Some(after),
                _ => None,
            };
            if let Some(after) = after_blank {
                if data.len() > EVENT_BYTES_MAX {
                    self.too_large = true;
                } else {
                    self.events += 1;
                    on_data(data);
                }
                return after;
            }
        }
        self.take_line(line, on_data);
        rest
    }

    fn take_line(&mut self, line: &[u8], on_data: &mut dyn FnMut(&[u8])) {
        let line = if self.events == 0 {
            line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
        } else {
            line
        };
        if line.is_empty() {
            self.dispatch(on_data);
        } else if let Some(data) = data_of(line) {
            if self.data.len() + data.len() >= EVENT_BYTES_MAX {
                self.too_large = true;
                return;
            }
            if self.has_data {
                self.data.push(b'\n');
            }
            self.has_data = true;
            self.data.extend_from_slice(data);
        } else if !is_known_field(line) {
            let room = STRAY_BYTES_MAX.saturating_sub(self.stray.len());
            self.stray.extend_from_slice(&line[..line.len().min(room)]);
        }
    }

    fn dispatch(&mut self, on_data: &mut dyn FnMut(&[u8])) {
        if !std::mem::take(&mut self.has_data) {
            return;
        }
        let data = std::mem::take(&mut self.data);
        self.events += 1;
        on_data(&data);
        self.data = data;
        self.data.clear();
        // A rare huge event must not keep its memory for the rest of the stream.
        self.data.shrink_to(1 << 16);
    }

    fn keep_partial(&mut self, bytes: &[u8]) {
        if self.line.len() + bytes.len() > EVENT_BYTES_MAX {
            self.too_large = true;
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }
}

/// Where `byte` first stands. The standard library's own search is the fast one, and it is reached
/// through `BufRead`.
fn byte_position(mut bytes: &[u8], byte: u8) -> Option<usize> {
    let whole = bytes;
    let skipped = bytes.skip_until(byte).unwrap_or(0);
    (skipped > 0 && whole[skipped - 1] == byte).then(|| skipped - 1)
}

/// The value of a `data` line.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    let value = line.strip_prefix(b"data")?;
    match value {
        [] => Some(value),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

fn is_known_field(line: &[u8]) -> bool {
    let name = line.split(|byte| *byte == b':').next().unwrap_or(line);
    matches!(name, b"" | b"event" | b"id" | b"retry")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(chunks: &[&[u8]]) -> Vec<String> {
        let mut seen = Vec::new();
        let mut decoder = SseDecoder::new();
        let mut on_data = |data: &[u8]| seen.push(String::from_utf8_lossy(data).into_owned());
        for chunk in chunks {
            decoder.feed(chunk, &mut on_data).expect("within the bound");
        }
        decoder.finish(&mut on_data).expect("within the bound");
        seen
    }

    #[test]
    fn v3_every_line_end_and_every_chunking_gives_the_same_events() {
        let text = ": hello\nevent: a\ndata: one\n\ndata:two\ndata: lines\n\nnonsense\nid: 7\n\ndata\n\ndata: last";
        let expected = ["one", "two\nlines", "", "last"];
        for ends in ["\n", "\r\n", "\r"] {
            let bytes = text.replace('\n', ends).into_bytes();
            assert_eq!(events(&[&bytes]), expected, "{ends:?}");
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(events(&single), expected, "{ends:?} byte by byte");
            for at in 0..bytes.len() {
                assert_eq!(events(&[&bytes[..at], &bytes[at..]]), expected, "{ends:?} cut at {at}");
            }
        }
    }

    #[test]
    fn v3_a_huge_line_is_refused_with_bounded_memory() {
        let mut decoder = SseDecoder::new();
        let chunk = vec![b'x'; 1 << 20];
        let mut error = None;
        for _ in 0..40 {
            error = error.or(decoder.feed(&chunk, &mut |_| ()).err());
        }
        assert_eq!(error, Some(EventTooLarge { max: EVENT_BYTES_MAX }));
        assert_eq!(decoder.line.capacity(), 0);
    }

    #[test]
    fn v3_many_data_lines_of_one_event_are_bounded_too() {
        let mut decoder = SseDecoder::new();
        let line = [b"data: ".as_slice(), &vec![b'x'; 1 << 20], b"\n"].concat();
        let failed = (0..40).any(|_| decoder.feed(&line, &mut |_| ()).is_err());
        assert!(failed);
    }

    #[test]
    fn what_is_no_event_is_kept_for_the_error() {
        let mut decoder = SseDecoder::new();
        decoder.feed(b"<html>\n<body>no</body>\n", &mut |_| ()).expect("small");
        assert_eq!(
            (decoder.event_count(), decoder.stray_text().as_str()),
            (0, "<html><body>no</body>")
        );
    }
}
