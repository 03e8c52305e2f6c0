//! Marks of the frames in which foreign words stand (U12): what the model or a helper is shown says at its
//! beginning by which sign it ends, and no text inside can know that sign. Pure and the same each time, so
//! that a session that is played again is told the same. Not here: what stands in a frame, and whether it
//! may be shown.

use crate::ids::SessionId;
use crate::record::sha256_hex;

/// Characters of a mark.
const MARK_CHARS: usize = 8;

/// The mark of a frame of this session: `of` is the call or the text that it is about. Ids of sessions are
/// made by chance and told to nobody outside, so who writes a page or an answer cannot make it.
pub fn frame_mark(session: &SessionId, of: &str) -> String {
    let mut mark = sha256_hex(format!("frame\n{session}\n{of}").as_bytes());
    mark.truncate(MARK_CHARS);
    mark
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u12_a_mark_is_of_its_session_and_of_what_is_framed() {
        let mark = |session: &str, of| frame_mark(&SessionId::new(session), of);
        assert_eq!(mark("a", "c1"), mark("a", "c1"), "told again, it is the same");
        assert_ne!(mark("a", "c1"), mark("b", "c1"));
        assert_ne!(mark("a", "c1"), mark("a", "c2"));
        assert_eq!(mark("a", "c1").len(), MARK_CHARS);
    }
}
