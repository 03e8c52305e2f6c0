//! What the loop prints by itself.

use super::*;

#[test]
fn z10_the_way_back_cannot_steer_the_terminal() {
    for (resume, expected) in [
        ("", None),
        ("weir --resume 'a  b'", Some("weir --resume 'a  b'")),
        ("weir\u{1b}[2J\n\u{202e}x", Some("weir<U+001B>[2J <U+202E>x")),
    ] {
        let about = OpenSessionInfo { resume: resume.into(), ..OpenSessionInfo::default() };
        assert_eq!(way_back(&about).as_deref(), expected, "{resume:?}");
    }
}
