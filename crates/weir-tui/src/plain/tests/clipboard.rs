//! Pictures of the clipboard in line mode.

use super::*;
use crate::link::{ClipboardContent, MessageAttachment};

#[tokio::test]
async fn f1_a_picture_of_the_clipboard_goes_with_the_next_line() {
    let mut t = Table::opened(options(false)).await;
    t.line("/paste").await;
    assert_eq!(t.wished(), [UiCommand::Clipboard(1)]);
    t.taken();
    let bytes: std::sync::Arc<[u8]> = vec![1; 1_500].into();
    let clip = ClipboardContent::Image { ending: "png".into(), bytes: bytes.clone() };
    t.tell(UiUpdate::Clipboard { ticket: 1, clip: clip.clone() }).await;
    assert!(t.taken().starts_with("pasted-1.png, 1 kB, goes with your next message."));
    t.tell(UiUpdate::Clipboard { ticket: 1, clip }).await;
    let sent = vec![MessageAttachment::Bytes { name: "pasted-1.png".into(), bytes }];
    // Refused it goes with the next one, and with no other.
    for expected in [sent.clone(), sent, Vec::new()] {
        t.line("what is it").await;
        let wished = t.wished();
        let [UiCommand::Say { attached, client_id, .. }] = &wished[..] else {
            panic!("{wished:?}")
        };
        assert_eq!(*attached, expected);
        let first = client_id == "test-2";
        if first {
            let (client_id, why) = (client_id.clone(), "paused".into());
            t.tell(UiUpdate::Refused { client_id, why }).await;
        }
    }
    t.line("/paste").await;
    let wished = t.wished();
    let [UiCommand::Clipboard(ticket)] = wished[..] else { panic!("{wished:?}") };
    t.taken();
    t.tell(UiUpdate::Clipboard { ticket, clip: ClipboardContent::Text("words".into()) }).await;
    assert!(t.taken().starts_with("error: the clipboard holds text and no picture"));
    t.line("/paste").await;
    let wished = t.wished();
    let [UiCommand::Clipboard(ticket)] = wished[..] else { panic!("{wished:?}") };
    t.tell(UiUpdate::Failed { ticket, why: "nobody can read it".into() }).await;
    assert!(t.taken().contains("error: nobody can read it"));
}
