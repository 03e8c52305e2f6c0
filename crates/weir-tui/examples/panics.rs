//! The face with a bug behind it, for `tests/tui`: whatever is said, the program panics. The terminal
//! must be as it was, and the words of the panic must be readable.
//!
//! `here` panics in the face's own thread, `elsewhere` in another one that nobody waits for. Not here:
//! an engine.

use tokio::runtime::Builder;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_tui::link::{BackendChannel, OpenSessionInfo, UiCommand, UiUpdate, ui_channel_pair};
use weir_tui::run::{FaceError, FaceOptions, run};

fn main() -> Result<(), FaceError> {
    let elsewhere = std::env::args().nth(1).is_some_and(|word| word == "elsewhere");
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let (near, far) = ui_channel_pair();
        let face = run(near, FaceOptions::default());
        if elsewhere {
            let behind = tokio::spawn(far_end(far));
            face.await?;
            behind.abort();
        } else {
            // One task: the panic unwinds through the face.
            let (_, left) = tokio::join!(far_end(far), face);
            left?;
        }
        Ok(())
    })
}

/// A new session, until something is said.
async fn far_end(mut far: BackendChannel) {
    let about = OpenSessionInfo {
        folder: "~/code".into(),
        resume: "weir --resume 0197f3".into(),
        local: true,
        ..OpenSessionInfo::default()
    };
    let opened =
        UiUpdate::Opened { session: None, known: 0, about: Box::new(about), named: Vec::new() };
    let settings = UiUpdate::Settings {
        model: "script/model".into(),
        profile: "agent".into(),
        permission: PermissionMode::Ask,
        thinking: Thinking::default(),
    };
    for news in [opened, settings] {
        // A face that has gone needs no news.
        let _gone = far.news.send(news).await;
    }
    while let Some(wish) = far.wishes.recv().await {
        match wish {
            UiCommand::Leave => return,
            UiCommand::Say { text, .. } => panic!("a bug that was asked for: {text}"),
            _ => (),
        }
    }
}
