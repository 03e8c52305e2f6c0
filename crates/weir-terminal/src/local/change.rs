//! Other settings: at once where that is safe, else as soon as no run is on. The permission modes
//! that ask, edit and do everything change while a run is on; everything else between runs.

use std::mem::discriminant;
use std::sync::Arc;

use weir_core::event::NOBODY;
use weir_core::input::PersonCommand;
use weir_core::profile::PermissionMode;
use weir_core::session::SessionConfig;
use weir_core::session::condense::KeepRequest;
use weir_engine::engine::EngineError;
use weir_install::models;
use weir_install::profiles;
use weir_install::wiring::SessionOverrides;
use weir_tui::link::{NoticeTone, UiCommand, UiUpdate};

use super::controller::{GOES_DOWN, SessionController, TakeUpError};
use super::{PERSON, about};

impl SessionController {
    /// Changes what `wish` says.
    pub(super) async fn change_settings(&mut self, wish: UiCommand) {
        let shown = self.context.shown_session();
        let wishes = apply_to_overrides(shown.session_overrides(), &wish);
        if let Err(error) = self.check_choice_exists(&wish).await {
            return self
                .report_unchanged(NoticeTone::Bad, format!("nothing was changed: {error:#}"))
                .await;
        }
        if shown.id.is_none() {
            shown.set_wishes(wishes);
            self.context
                .send_update(
                    about::new_session_settings(&shown.cx, &shown.session_overrides()).await,
                )
                .await;
            return;
        }
        if let Err(why) = shown.until_known().await {
            return self
                .report_unchanged(NoticeTone::Bad, format!("nothing was changed: {why}"))
                .await;
        }
        let (run, config) = shown.read_state(|state| (state.run, state.config.clone()));
        let Some(kept) = config else {
            let text = "nothing was changed: the session was never opened";
            return self.report_unchanged(NoticeTone::Bad, text).await;
        };
        // The last choice of a kind counts.
        self.pending.retain(|waits| discriminant(waits) != discriminant(&wish));
        if let UiCommand::Mode(mode) = wish
            && shown.running_session().is_some()
            && mode != PermissionMode::Plan
            && kept.permission != PermissionMode::Plan
        {
            return self.mode_now(mode, &kept).await;
        }
        if run.is_some() {
            self.pending.push(wish);
            return self
                .report_unchanged(NoticeTone::Quiet, "that counts from the next run on: one is on")
                .await;
        }
        self.reopen_session(wishes).await;
    }

    /// Changes what waited for the end of a run.
    pub(super) async fn change_pending(&mut self) {
        let shown = self.context.shown_session();
        if self.pending.is_empty() || shown.read_state(|state| state.run.is_some()) {
            return;
        }
        let waiting = std::mem::take(&mut self.pending);
        let wishes = waiting.iter().fold(shown.session_overrides(), apply_to_overrides);
        self.reopen_session(wishes).await;
    }

    /// Takes the session up anew where it runs here: at once, or when the run that is on has ended. One that
    /// does not run is made of what there is when it does.
    pub(super) async fn reload_session(&mut self) {
        let shown = self.context.shown_session();
        if shown.running_session().is_none() {
            return;
        }
        if shown.read_state(|state| state.run.is_some()) {
            self.pending.retain(|waits| *waits != UiCommand::Reload);
            return self.pending.push(UiCommand::Reload);
        }
        self.reopen_session(shown.session_overrides()).await;
    }

    /// The model or profile that is wished for is there.
    async fn check_choice_exists(&self, wish: &UiCommand) -> anyhow::Result<()> {
        let shown = self.context.shown_session();
        match wish {
            UiCommand::Model(name) => {
                models::chosen_model_name(&shown.cx, Some(name)).await.map(drop)
            }
            UiCommand::Profile(name) => profiles::find_profile(&shown.cx, name).map(drop),
            _ => Ok(()),
        }
    }

    /// Another mode in the session that runs here, also while a run is on.
    async fn mode_now(&mut self, mode: PermissionMode, kept: &SessionConfig) {
        let shown = self.context.shown_session();
        let Some(live) = shown.running_session() else { return self.tell_settings().await };
        if kept.permission == mode {
            return self.tell_settings().await;
        }
        let mut config = kept.clone();
        config.permission = mode;
        let reason = format!("permission mode {mode}");
        let configure = PersonCommand::Configure { reason, config: Arc::new(config) };
        match live.handle().tell_session(PERSON, configure).await {
            Ok(()) => shown.set_wishes(SessionOverrides {
                permission: Some(mode),
                ..shown.session_overrides()
            }),
            Err(EngineError::Refused(_)) => {
                self.report_unchanged(
                    NoticeTone::Bad,
                    "the permission mode cannot change just now",
                )
                .await;
            }
            Err(error) => self.report_unchanged(NoticeTone::Bad, error.to_string()).await,
        }
    }

    /// Nobody can be asked any more: what asks in the run that is on is denied by nobody, and a question
    /// ends it and stays open (C2). As `weir run` does it where its standard input ends.
    pub(super) async fn tell_nobody_can_be_asked(&mut self) {
        let live = match self.take_up(None).await {
            Ok(live) => live,
            Err(TakeUpError::Held(holder)) => {
                let text = format!("{holder} has this session now: what it asks is answered there");
                return self.context.send_notice(NoticeTone::Bad, text).await;
            }
            Err(TakeUpError::Failed(why)) => {
                return self.context.send_notice(NoticeTone::Bad, why).await;
            }
        };
        let kept = self.context.shown_session().read_state(|state| state.config.clone());
        let Some(kept) = kept else {
            let text = "the session was never opened: nobody can be asked in it";
            return self.context.send_notice(NoticeTone::Bad, text).await;
        };
        let mut config = kept.as_ref().clone();
        config.attended = false;
        let reason = format!("{NOBODY} can be asked from now on");
        let configure = PersonCommand::Configure { reason, config: Arc::new(config) };
        match live.handle().tell_session(NOBODY, configure).await {
            // Refused: it knows that already.
            Ok(()) | Err(EngineError::Refused(_)) => (),
            Err(error) => self.context.send_notice(NoticeTone::Bad, error.to_string()).await,
        }
    }

    /// Says why nothing changes now, and what holds: a face that showed the choice at once is set
    /// right.
    async fn report_unchanged(&self, tone: NoticeTone, text: impl Into<String>) {
        self.context.send_notice(tone, text).await;
        self.tell_settings().await;
    }

    /// Tells the settings that hold.
    async fn tell_settings(&self) {
        let shown = self.context.shown_session();
        let settings = match shown.read_state(|state| state.config.clone()) {
            Some(config) => UiUpdate::Settings {
                model: config.model.model.to_string(),
                profile: config.profile.name.clone(),
                permission: config.permission,
                thinking: config.thinking,
            },
            None => about::new_session_settings(&shown.cx, &shown.session_overrides()).await,
        };
        self.context.send_update(settings).await;
    }

    /// Takes the session up anew with these settings. What cannot be leaves everything as it was.
    async fn reopen_session(&mut self, wishes: SessionOverrides) {
        let shown = self.context.shown_session();
        if let Some(live) = shown.running_session()
            && !self.down_for_now(&shown, &live).await
        {
            return self
                .report_unchanged(NoticeTone::Bad, format!("nothing was changed: {GOES_DOWN}"))
                .await;
        }
        match self.take_up(Some(wishes)).await {
            Ok(_) => (),
            Err(TakeUpError::Held(holder)) => {
                let text = format!(
                    "nothing was changed: {holder} has this session now, and settings change \
                     where it runs"
                );
                self.report_unchanged(NoticeTone::Bad, text).await;
            }
            Err(TakeUpError::Failed(why)) => {
                self.report_unchanged(NoticeTone::Bad, format!("nothing was changed: {why}")).await;
            }
        }
    }

    /// Makes the context shorter. `words`: what the summary must keep.
    pub(super) async fn condense_context(&mut self, words: &str) {
        let shown = self.context.shown_session();
        if shown.id.is_none() {
            let text = "nothing was said yet: there is nothing to make shorter";
            return self.context.send_notice(NoticeTone::Bad, text).await;
        }
        let keep = match KeepRequest::parse(words) {
            Ok(keep) => keep,
            Err(why) => return self.context.send_notice(NoticeTone::Bad, why).await,
        };
        let live = match self.take_up(None).await {
            Ok(live) => live,
            Err(TakeUpError::Held(holder)) => {
                let text = format!("{holder} has this session now: it is made shorter there");
                return self.context.send_notice(NoticeTone::Bad, text).await;
            }
            Err(TakeUpError::Failed(why)) => {
                return self.context.send_notice(NoticeTone::Bad, why).await;
            }
        };
        match live.handle().tell_session(PERSON, PersonCommand::Condense { keep }).await {
            Ok(()) => (),
            Err(EngineError::Refused(_)) => {
                let text = "there is nothing to make shorter now, or a run is on";
                self.context.send_notice(NoticeTone::Bad, text).await;
            }
            Err(error) => self.context.send_notice(NoticeTone::Bad, error.to_string()).await,
        }
    }
}

/// What is wished for from now on.
fn apply_to_overrides(wishes: SessionOverrides, wish: &UiCommand) -> SessionOverrides {
    match wish {
        UiCommand::Mode(mode) => SessionOverrides { permission: Some(*mode), ..wishes },
        UiCommand::Thinking(thinking) => SessionOverrides { thinking: Some(*thinking), ..wishes },
        UiCommand::Model(name) => SessionOverrides { model: Some(name.clone()), ..wishes },
        UiCommand::Profile(name) => SessionOverrides { profile: Some(name.clone()), ..wishes },
        _ => wishes,
    }
}
