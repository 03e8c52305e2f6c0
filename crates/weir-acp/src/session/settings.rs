//! Settings of a session as the editor changes and sees them. When a change takes effect is the link's
//! matter: it tells what holds, and that is told on.

use std::time::Duration;

use tokio::time::Instant;
use weir_core::view::told::FactTone;
use weir_install::wording::inline_code;
use weir_tui::link::{CommandTicket, ListResult};

use super::commands::line_words;
use super::{ChangeReply, EditorSession, MODELS_TICKET, PROFILES_TICKET};
use crate::options::{HeldSettings, SettingWish, config_options};
use crate::rpc::{RequestId, RpcError};
use crate::wire::{EmptyResult, SessionUpdate, SetOptionResult};

/// How long a change may take before the editor is told that what held still holds.
const CHANGE_WAIT: Duration = Duration::from_secs(30);
/// Changes that may be under way at once.
const CHANGES_MAX: usize = 16;

/// A change that is not answered yet.
#[derive(Debug)]
pub(super) struct PendingChange {
    request: RequestId,
    wish: SettingWish,
    reply: ChangeReply,
    /// So many commands were ordered before it.
    after: u64,
    until: Instant,
}

impl EditorSession {
    /// Changes a setting.
    pub(super) async fn wish_change(
        &mut self,
        request: RequestId,
        wish: SettingWish,
        reply: ChangeReply,
    ) {
        if wish.is_held(&self.held) {
            return self.answer_change(&request, reply, Ok(())).await;
        }
        let sent = match self.changes.len() < CHANGES_MAX {
            true => self.send_wish(wish.clone().into_command()),
            false => Err(RpcError::internal_error("too many changes are under way")),
        };
        if let Err(error) = sent {
            return self.answer_change(&request, reply, Err(error)).await;
        }
        self.trouble = None;
        let until = Instant::now() + CHANGE_WAIT;
        let after = self.running.ordered_count();
        self.changes.push(PendingChange { request, wish, reply, after, until });
    }

    /// Where a model that was typed as a command is under way, how many others were ordered before it. What comes
    /// of it is that command's answer.
    pub(super) fn first_model_typed(&self) -> Option<u64> {
        let typed = self.changes.iter().filter(|change| change.reply == ChangeReply::Turn);
        typed.map(|change| change.after).min()
    }

    /// Nobody waits for models that were typed any more: for all, or for this one.
    pub(super) fn take_typed_models(&mut self, one: Option<&RequestId>) -> Vec<RequestId> {
        let is_dropped = |change: &mut PendingChange| {
            change.reply == ChangeReply::Turn
                && one.is_none_or(|request| change.request == *request)
        };
        self.changes.extract_if(.., is_dropped).map(|change| change.request).collect()
    }

    /// When the first change is late; `None`: none is under way.
    pub(super) fn first_deadline(&self) -> Option<Instant> {
        self.changes.iter().map(|change| change.until).min()
    }

    /// Changes that nothing was heard of in time.
    pub(super) async fn settle_late_changes(&mut self) {
        let now = Instant::now();
        let (late, on): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.changes).into_iter().partition(|change| change.until <= now);
        self.changes = on;
        for change in late {
            let told = self.trouble.take_if(|_| change.reply == ChangeReply::Turn);
            let why = told.unwrap_or_else(|| "the setting was not changed in time".into());
            let why = RpcError::internal_error(why);
            self.answer_change(&change.request, change.reply, Err(why)).await;
        }
    }

    /// These settings hold now.
    pub(super) async fn hear_settings(&mut self, held: HeldSettings) {
        let before = std::mem::replace(&mut self.held, held);
        self.heard.has_settings = true;
        if !self.is_open {
            return;
        }
        for change in std::mem::take(&mut self.changes) {
            // What counts from the next run on is no failure, and is told again when it holds.
            let outcome = match (change.wish.is_held(&self.held), self.trouble.take()) {
                (false, Some(why)) => Err(RpcError::internal_error(why)),
                (true, Some(why)) if change.reply == ChangeReply::Turn => {
                    // It was about something else, and waited for this.
                    self.tell_remark(FactTone::Bad, &why).await;
                    Ok(())
                }
                _ => Ok(()),
            };
            self.answer_change(&change.request, change.reply, outcome).await;
        }
        if self.held.permission != before.permission {
            let current_mode_id = self.held.permission.as_str().to_owned();
            self.send_update(SessionUpdate::CurrentModeUpdate { current_mode_id }).await;
        }
        if self.held != before {
            self.tell_options().await;
        }
    }

    /// A list that was asked for.
    pub(super) async fn hear_list(&mut self, ticket: CommandTicket, items: ListResult) {
        let ListResult::Choices(choices) = items else { return };
        match ticket {
            MODELS_TICKET => (self.choices.models, self.heard.has_models) = (choices, true),
            PROFILES_TICKET => (self.choices.profiles, self.heard.has_profiles) = (choices, true),
            _ => return,
        }
        if self.is_open {
            self.tell_options().await;
        }
    }

    async fn tell_options(&self) {
        let config_options = config_options(&self.held, &self.choices);
        self.send_update(SessionUpdate::ConfigOptionUpdate { config_options }).await;
    }

    async fn answer_change(
        &self,
        request: &RequestId,
        reply: ChangeReply,
        outcome: Result<(), RpcError>,
    ) {
        match reply {
            ChangeReply::Nothing => {
                self.peer.send_answer(request, outcome.map(|()| EmptyResult::new())).await;
            }
            ChangeReply::Options => {
                let config_options = config_options(&self.held, &self.choices);
                let result = outcome.map(|()| SetOptionResult { config_options });
                self.peer.send_answer(request, result).await;
            }
            ChangeReply::Turn => {
                let held = inline_code(&self.held.model);
                let words = match outcome {
                    Ok(()) if self.render.transcript().is_running() => {
                        format!("The model is {held} until the run that is on has ended.")
                    }
                    Ok(()) => format!("The model is {held}."),
                    Err(error) => line_words(&error.message),
                };
                self.end_command(request, Some(words)).await;
            }
        }
    }
}
