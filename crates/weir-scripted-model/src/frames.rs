//! The bytes of a streamed reply, one server-sent event (or a few) at a time, with what goes wrong
//! half-way.

use std::time::Duration;

use super::pieces::Pieces;
use super::wire::Writer;

/// What stands in a stream that turned to garbage.
pub(super) const GARBAGE: &[u8] = b"data: {\"type\": \"oops\n\n\xff\xfe\x00 <html>502</html>\n\n";

/// Pieces that are looked at to find the middle of a reply.
const MIDDLE_PIECES_MAX: usize = 10_000;

/// How a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Whole,
    /// Half-way, the body over.
    Cut,
    /// Half-way, the connection broken.
    Reset,
    /// Half-way, but open for ever.
    Stall,
    /// Half-way, with the vendor's error event.
    Midstream,
    /// Half-way, with garbage.
    Garbage,
}

/// One reply as bytes.
pub(super) struct Frames {
    writer: Box<dyn Writer>,
    pieces: Pieces,
    /// Between two frames.
    pub(super) pace: Duration,
    pub(super) ending: Ending,
    /// Pieces until the fault.
    left: Option<usize>,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    Begin,
    Middle,
    Over,
}

impl Frames {
    pub(super) fn new(
        writer: Box<dyn Writer>,
        pieces: Pieces,
        pace: Duration,
        ending: Ending,
    ) -> Frames {
        let middle = || pieces.clone().take(MIDDLE_PIECES_MAX).count() / 2;
        let left = if ending == Ending::Whole { None } else { Some(middle()) };
        Frames { writer, pieces, pace, ending, left, state: State::Begin }
    }

    /// Appends the next frame to `out`. False when nothing more comes; what then happens to the
    /// connection, [`Frames::ending`] says.
    pub(super) fn next(&mut self, out: &mut Vec<u8>) -> bool {
        match self.state {
            State::Over => return false,
            State::Begin => {
                self.writer.begin(out);
                self.state = State::Middle;
                return true;
            }
            State::Middle => {}
        }
        if self.left == Some(0) {
            self.state = State::Over;
            match self.ending {
                Ending::Midstream => self.writer.broken(out),
                Ending::Garbage => out.extend_from_slice(GARBAGE),
                Ending::Whole | Ending::Cut | Ending::Reset | Ending::Stall => return false,
            }
            return true;
        }
        self.left = self.left.map(|left| left - 1);
        if let Some(piece) = self.pieces.next() {
            self.writer.piece(piece, out);
        } else {
            self.writer.finish(out);
            self.state = State::Over;
        }
        true
    }

    /// Appends frames until `out` holds `bytes` or, with a pace, one frame that holds something.
    /// False when nothing more comes.
    pub(super) fn fill(&mut self, bytes: usize, out: &mut Vec<u8>) -> bool {
        loop {
            if !self.next(out) {
                return false;
            }
            let enough = if self.pace.is_zero() { out.len() >= bytes } else { !out.is_empty() };
            if enough {
                return true;
            }
        }
    }
}
