//! JSON objects, one a line: bytes in, whole lines out.
//!
//! Sans I/O and total, as [`crate::sse`] is: any chunking of the same bytes gives the same lines, lines end in
//! LF, CRLF or CR, empty ones are passed over, and a last line without its end still counts. What begins neither
//! an object nor a list is no event. It does not look into the objects.

use crate::sse::{EVENT_BYTES_MAX, EventTooLarge};

/// How much of what is no event at all is kept, to be shown in an error.
const STRAY_BYTES_MAX: usize = 4096;
/// Some gateways put the lines of one format into the events of another.
const EVENT_PREFIX: &[u8] = b"data:";

/// Splits a stream into lines that hold JSON.
#[derive(Debug, Default)]
pub struct LineDecoder {
    /// A line whose end has not come yet.
    line: Vec<u8>,
    too_large: bool,
    stray: Vec<u8>,
}

impl LineDecoder {
    /// A decoder before the first byte.
    pub fn new() -> LineDecoder {
        LineDecoder::default()
    }

    /// The beginning of what was no JSON at all.
    pub fn stray_text(&self) -> String {
        String::from_utf8_lossy(&self.stray).into_owned()
    }

    /// Takes some bytes and calls `on_data` with each line that is complete.
    ///
    /// # Errors
    /// [`EventTooLarge`]; then nothing more is ever passed on.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        on_data: &mut dyn FnMut(&[u8]),
    ) -> Result<(), EventTooLarge> {
        let mut rest = bytes;
        while !self.too_large {
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.keep_partial(rest);
                break;
            };
            self.keep_partial(&rest[..end]);
            let mut held = std::mem::take(&mut self.line);
            self.take_line(&held, on_data);
            held.clear();
            self.line = held;
            rest = &rest[end + 1..];
        }
        self.check_size()
    }

    /// The stream is over: what is left becomes the last line.
    ///
    /// # Errors
    /// [`EventTooLarge`] when the stream had gone beyond the bound.
    pub fn finish(&mut self, on_data: &mut dyn FnMut(&[u8])) -> Result<(), EventTooLarge> {
        self.check_size()?;
        let held = std::mem::take(&mut self.line);
        self.take_line(&held, on_data);
        Ok(())
    }

    fn check_size(&self) -> Result<(), EventTooLarge> {
        if self.too_large { Err(EventTooLarge { max: EVENT_BYTES_MAX }) } else { Ok(()) }
    }

    fn keep_partial(&mut self, bytes: &[u8]) {
        if self.line.len() + bytes.len() > EVENT_BYTES_MAX {
            self.too_large = true;
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn take_line(&mut self, line: &[u8], on_data: &mut dyn FnMut(&[u8])) {
        if self.too_large {
            return;
        }
        let line = line.trim_ascii();
        let data = line.strip_prefix(EVENT_PREFIX).map_or(line, <[u8]>::trim_ascii_start);
        match data.first() {
            None => (),
            Some(b'{' | b'[') => on_data(data),
            Some(_) => {
                let room = STRAY_BYTES_MAX.saturating_sub(self.stray.len());
                self.stray.extend_from_slice(&line[..line.len().min(room)]);
                if room > line.len() {
                    self.stray.push(b'\n');
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> (Vec<String>, String) {
        let mut decoder = LineDecoder::new();
        let mut out = Vec::new();
        let mut take = |line: &[u8]| out.push(String::from_utf8_lossy(line).into_owned());
        for chunk in chunks {
            decoder.feed(chunk, &mut take).expect("within its bound");
        }
        decoder.finish(&mut take).expect("within its bound");
        (out, decoder.stray_text())
    }

    #[test]
    fn v3_lines_are_the_same_however_they_come() {
        let text = b"{\"a\":1}\r\n\n <html>\n{\"b\":2}\rdata: {\"c\":3}\n[4]";
        let expected: Vec<String> =
            ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}", "[4]"].map(String::from).to_vec();
        assert_eq!(lines(&[text]), (expected.clone(), "<html>\n".to_owned()));
        assert_eq!(lines(&text.chunks(1).collect::<Vec<_>>()), (expected, "<html>\n".to_owned()));
        assert_eq!(lines(&[b"", b"\n"]), (Vec::new(), String::new()));
        let long = vec![b'{'; EVENT_BYTES_MAX + 1];
        assert!(LineDecoder::new().feed(&long, &mut |_| ()).is_err());
    }
}
