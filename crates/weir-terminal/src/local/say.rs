//! Saying something with what goes along, in a session that runs here or elsewhere.

use std::path::PathBuf;
use std::sync::Arc;

use weir_engine::attach::{self, Attachment, PromptInput};
use weir_engine::engine::EngineError;
use weir_engine::host::TAKE_UP_ATTEMPTS;
use weir_engine::ports::DocumentReaders;
use weir_engine::workspace::Workspace;
use weir_install::context::InstallationContext;
use weir_install::wiring;
use weir_tui::link::{MessageAttachment, NoticeTone};

use super::controller::{SessionController, TakeUpError};
use super::{about, letters};

impl SessionController {
    /// Says it. Durable when it returns, unless another process has the session.
    ///
    /// # Errors
    /// Why it did not arrive: a sentence.
    pub(super) async fn say_message(
        &mut self,
        text: String,
        attached: Vec<MessageAttachment>,
        client_id: &str,
    ) -> Result<(), String> {
        let shown = self.context.shown_session();
        if let Some(pause) = about::describe_pause(&shown.cx).await? {
            return Err(format!("{pause}; `/release` lets runs start again"));
        }
        let cx = &shown.cx;
        let documents = wiring::document_readers().map_err(|error| format!("{error:#}"))?;
        let workspace = cx.open_workspace().map_err(|error| format!("{error:#}"))?;
        // Looked at before anything is opened: what cannot be attached begins no session.
        let saying = gather_attachments(documents.as_ref(), cx, &workspace, text, attached).await?;
        let by = wiring::principal_name(cx);
        for _ in 0..TAKE_UP_ATTEMPTS {
            let live = match self.take_up(None).await {
                Ok(live) => live,
                Err(TakeUpError::Failed(why)) => return Err(why),
                Err(TakeUpError::Held(holder)) => {
                    let text = format!("it is handed to {holder}, which has this session now");
                    self.context.send_notice(NoticeTone::Quiet, text).await;
                    let command = saying.command(client_id.to_owned());
                    return letters::say_remotely(&self.context, command, client_id, holder).await;
                }
            };
            let name = Some(client_id.to_owned());
            match live.handle().say_as(saying.clone(), &by, name).await {
                Ok(()) => return Ok(()),
                Err(EngineError::Stopped) => (),
                Err(error) => return Err(error.to_string()),
            }
            // It went down in this moment: what was written comes first.
            let _ = live.handle().wait_until_ended().await;
            self.context.shown_session().clear_ended_session(&live);
        }
        Err("the session went down each time that it was taken up".into())
    }
}

/// What is said, with the files that go along and those that its words name with `@`.
async fn gather_attachments(
    documents: &dyn DocumentReaders,
    cx: &InstallationContext,
    workspace: &Arc<Workspace>,
    text: String,
    attached: Vec<MessageAttachment>,
) -> Result<PromptInput, String> {
    let pasted_bytes = |one: &MessageAttachment| match one {
        MessageAttachment::Path(_) => 0,
        MessageAttachment::Bytes { bytes, .. } => bytes.len() as u64,
    };
    if attached.iter().map(pasted_bytes).sum::<u64>() > attach::TOTAL_BYTES_MAX {
        let most = attach::TOTAL_BYTES_MAX >> 20;
        return Err(format!(
            "all pictures of a message together may have {most} MB; leave some out"
        ));
    }
    let mut paths = Vec::new();
    let mut attachments = Vec::new();
    for one in attached {
        match one {
            MessageAttachment::Path(path) => paths.push(path_of(cx, &path)),
            MessageAttachment::Bytes { name, bytes } => {
                let found = Attachment::of_bytes(documents, &name, bytes).await;
                attachments.push(found.map_err(|error| error.to_string())?);
            }
        }
    }
    let named = attach::gather_attachments(documents, workspace, &paths, &text).await;
    let mut named = named.map_err(|error| error.to_string())?;
    named.extend(attachments);
    if named.len() > attach::FILES_MAX {
        return Err(format!("at most {} files go with one message", attach::FILES_MAX));
    }
    Ok(PromptInput { text, attachments: named })
}

/// The file that a person named: relative to the folder, absolute, or below their home.
pub(super) fn path_of(cx: &InstallationContext, written: &str) -> PathBuf {
    match (written.strip_prefix("~/"), &cx.dirs.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cx.folder.join(written),
    }
}
