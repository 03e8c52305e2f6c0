//! How a session opens: what must be known before the editor is answered, and what it is told then.

use std::future;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use weir_core::view::told::FactTone;
use weir_tui::link::{UiCommand, UiUpdate};

use super::{EditorSession, LinkState, MODELS_TICKET, PROFILES_TICKET, SessionOpening};
use crate::face_commands::offered_commands;
use crate::options::{config_options, mode_state};
use crate::rpc::{RequestId, RpcError};
use crate::wire::{OpenResult, SessionUpdate};

/// How long an open session may wait for the lists of models and profiles.
const LISTS_WAIT: Duration = Duration::from_secs(3);

impl EditorSession {
    /// Takes news in until the session is open and everything that its answer says is known.
    pub(super) async fn wait_until_open(
        &mut self,
        news: &mut mpsc::Receiver<UiUpdate>,
    ) -> Result<(), RpcError> {
        let mut lists_until = None;
        loop {
            let has_all = self.heard.has_models && self.heard.has_profiles;
            if self.is_known() && has_all {
                return Ok(());
            }
            let lists_late = async {
                match lists_until {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => future::pending().await,
                }
            };
            let update = tokio::select! {
                biased;
                update = news.recv() => update,
                () = lists_late, if self.is_known() => return Ok(()),
            };
            let is_first = !self.heard.is_opened;
            let state = match update {
                Some(update) => self.take_update(update).await,
                None => LinkState::Over(None),
            };
            if let LinkState::Over(why) = state {
                let why = why.or_else(|| self.trouble.take());
                return Err(RpcError::internal_error(
                    why.unwrap_or_else(|| "it was given back".into()),
                ));
            }
            if self.heard.is_opened && is_first {
                lists_until = Some(Instant::now() + LISTS_WAIT);
                self.send_wish(UiCommand::Models(MODELS_TICKET))?;
                self.send_wish(UiCommand::Profiles(PROFILES_TICKET))?;
            }
            if self.heard.is_opened && self.opening != SessionOpening::New && self.known == 0 {
                let why = self.trouble.take();
                let why = why.unwrap_or_else(|| "the session cannot be opened".into());
                return Err(RpcError::internal_error(why));
            }
        }
    }

    /// Whether everything from before was told.
    fn is_known(&self) -> bool {
        self.heard.is_opened && self.heard.has_settings && self.seq >= self.known
    }

    /// Answers the request to open it, and tells what stands beside the answer.
    pub(super) async fn announce_opening(&mut self, request: &RequestId) {
        let result = self.describe_settings();
        self.peer.send_answer(request, Ok(result)).await;
        self.is_open = true;
        self.tell_commands().await;
        for remark in std::mem::take(&mut self.remarks) {
            self.tell_remark(FactTone::Quiet, &remark).await;
        }
        for warning in std::mem::take(&mut self.warnings) {
            self.tell_remark(FactTone::Warn, &warning).await;
        }
        if self.opening != SessionOpening::New {
            let open = self.render.open_call_updates();
            let info = self.render.info_update();
            for update in open.into_iter().chain(self.render.take_changed_usage()).chain(info) {
                self.send_update(update).await;
            }
        }
        for ask in self.render.transcript().asks().to_vec() {
            self.open_ask(ask).await;
        }
    }

    /// The answer to who opens it.
    pub(super) fn describe_settings(&self) -> OpenResult {
        OpenResult {
            session_id: self.opening.names_session().then(|| self.id.to_string()),
            modes: mode_state(self.held.permission),
            config_options: config_options(&self.held, &self.choices),
        }
    }

    /// Tells what can be typed as `/name`.
    pub(super) async fn tell_commands(&self) {
        let available_commands = offered_commands(&self.commands);
        self.send_update(SessionUpdate::AvailableCommandsUpdate { available_commands }).await;
    }
}
