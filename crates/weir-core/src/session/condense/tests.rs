//! Reading what a helper answers.

use super::read_summary;

#[test]
fn x2_a_summary_is_read_from_its_tags() {
    let answer = "Sure.\n<summary>\nDecisions: use tokio.\n</summary>\n<memories>\n{}\n</memories>";
    assert_eq!(read_summary(answer).as_deref(), Ok("Decisions: use tokio."));
}

#[test]
fn x2_prose_without_tags_is_a_summary_and_nothing_is_none() {
    assert_eq!(read_summary("We decided to use tokio.").as_deref(), Ok("We decided to use tokio."));
    for nothing in ["", "  \n", "<summary></summary>", "<summary>ok</summary>", "<memories>x"] {
        assert!(read_summary(nothing).is_err(), "{nothing:?}");
    }
}
