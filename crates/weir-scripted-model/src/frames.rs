//! The bytes of a streamed reply, one server-sent event (or a few) at a time, with what goes wrong
//! half-way.

use std::time::Duration;

use super::pieces::ReplyPieces;
use super::wire::ReplyWriter;

/// What stands in a stream that turned to garbage.
pub(super) const GARBAGE: &[u8] = b"data: {\"type\": \"oops\n\n\xff\xfe\x00 <html>502</html>\n\n";

/// Pieces that are looked at to find the middle of a reply.
const MIDDLE_PIECES_MAX: usize = 10_000;

/// How a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamEnding {
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
pub(super) struct ReplyFrames {
    writer: Box<dyn ReplyWriter>,
    pieces: ReplyPieces,
    /// Between two frames.
    pub(super) pace: Duration,
    pub(super) ending: StreamEnding,
    /// Pieces until the fault.
    left: Option<usize>,
    state: FrameState,
}

#[derive(Clone, Copy)]
enum FrameState {
    Begin,
    Middle,
    Over,
}

impl ReplyFrames {
    pub(super) fn new(
        writer: Box<dyn ReplyWriter>,
        pieces: ReplyPieces,
        pace: Duration,
        ending: StreamEnding,
    ) -> ReplyFrames {
        let middle = || pieces.clone().take(MIDDLE_PIECES_MAX).count() / 2;
        let left = if ending == StreamEnding::Whole { None } else { Some(middle()) };
        ReplyFrames { writer, pieces, pace, ending, left, state: FrameState::Begin }
    }

    /// Appends the next frame to `out`. False when nothing more comes; what then happens to the
    /// connection, [`ReplyFrames::ending`] says.
    pub(super) fn next(&mut self, out: &mut Vec<u8>) -> bool {
        match self.state {
            FrameState::Over => return false,
            FrameState::Begin => {
                self.writer.begin(out);
                self.state = FrameState::Middle;
                return true;
            }
            FrameState::Middle => {}
        }
        if self.left == Some(0) {
            self.state = FrameState::Over;
            match self.ending {
                StreamEnding::Midstream => self.writer.write_stream_error(out),
                StreamEnding::Garbage => out.extend_from_slice(GARBAGE),
                StreamEnding::Whole
                | StreamEnding::Cut
                | StreamEnding::Reset
                | StreamEnding::Stall => return false,
            }
            return true;
        }
        self.left = self.left.map(|left| left - 1);
        if let Some(piece) = self.pieces.next() {
            self.writer.write_piece(piece, out);
        } else {
            self.writer.finish(out);
            self.state = FrameState::Over;
        }
        true
    }

    /// Appends frames until `out` holds `bytes` or, with a pace, one frame that holds something.
    /// False when nothing more comes.
    pub(super) fn fill_buffer(&mut self, bytes: usize, out: &mut Vec<u8>) -> bool {
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
