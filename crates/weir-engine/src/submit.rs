//! What is looked at before an input is accepted: the command that it names (M3), and what
//! `UserPromptSubmit` hooks say to it (G11). The same for what faces say here and what letters bring.

use std::sync::Arc;

use futures::future::BoxFuture;
use weir_core::event::InputAddition;
use weir_core::governance::label::Label;
use weir_core::ids::SessionId;
use weir_core::message::{MessageBlock, plain_text};
use weir_core::profile::PermissionMode;

use crate::error::EngineError;
use crate::ports::{HookAnswer, HookCall, HookDecision, HookMoment, Hooks, Store};
use crate::scene::SceneOptions;
use crate::slash;
use crate::workspace::Workspace;

/// Where commands and hooks of a session are found.
#[derive(Clone)]
pub(crate) struct InputSubmission {
    pub(crate) session: SessionId,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) scene: Arc<SceneOptions>,
    pub(crate) hooks: Arc<dyn Hooks>,
    pub(crate) cwd: String,
    pub(crate) mode: PermissionMode,
}

impl InputSubmission {
    /// What goes with an input beside the person's words.
    ///
    /// # Errors
    /// The command that it names cannot be used; a hook refused the input, with its words.
    pub(crate) fn collect_added_text<'a>(
        &'a self,
        content: &'a [MessageBlock],
    ) -> BoxFuture<'a, Result<Vec<InputAddition>, EngineError>> {
        Box::pin(self.gather_added_texts(content))
    }

    async fn gather_added_texts(
        &self,
        content: &[MessageBlock],
    ) -> Result<Vec<InputAddition>, EngineError> {
        let (scene, workspace) = (self.scene.clone(), self.workspace.clone());
        let command = slash::expand_slash_command(self.store.as_ref(), scene, workspace, content);
        let mut added: Vec<InputAddition> =
            command.await.map_err(EngineError::Refused)?.into_iter().collect();
        let moment = HookMoment::UserPromptSubmit;
        if !self.hooks.has_listener(moment) {
            return Ok(added);
        }
        let asked = HookCall {
            moment,
            session: self.session.clone(),
            cwd: self.cwd.clone(),
            mode: self.mode,
            tool: None,
            fields: serde_json::json!({ "prompt": plain_text(content) }),
        };
        for answer in self.hooks.run_hooks(asked).await {
            if answer.decision != HookDecision::Pass {
                let HookAnswer { hook, reason, .. } = answer;
                return Err(EngineError::Refused(format!("{reason} (said by {hook})")));
            }
            let source = answer.hook;
            added.extend(answer.context.map(|text| InputAddition {
                source,
                text,
                label: Label::default(),
            }));
        }
        Ok(added)
    }
}
