//! Other settings: at once where that is safe, else as soon as no run is on. The permission modes
//! that ask, edit and do everything change while a run is on; everything else between runs.

use std::mem::discriminant;
use std::sync::Arc;

use weir_core::input::PersonCommand;
use weir_core::profile::PermissionMode;
use weir_core::session::SessionConfig;
use weir_core::session::condense::Keep;
use weir_engine::engine::EngineError;
use weir_install::models;
use weir_install::profiles;
use weir_install::wiring::Wishes;
use weir_tui::link::{News, Tone, Wish};

use super::keeper::{Away, GOES_DOWN, Keeper};
use super::{PERSON, about};

impl Keeper {
    /// Changes what `wish` says.
    pub(super) async fn change(&mut self, wish: Wish) {
        let room = self.desk.room();
        let wishes = with(room.wishes(), &wish);
        if let Err(error) = self.usable(&wish).await {
            return self.unchanged(Tone::Bad, format!("nothing was changed: {error:#}")).await;
        }
        if room.id.is_none() {
            room.set_wishes(wishes);
            self.desk.tell(about::settings(&room.cx, &room.wishes()).await).await;
            return;
        }
        if let Err(why) = room.until_known().await {
            return self.unchanged(Tone::Bad, format!("nothing was changed: {why}")).await;
        }
        let (run, config) = room.read_state(|state| (state.run, state.config.clone()));
        let Some(kept) = config else {
            let text = "nothing was changed: the session was never opened";
            return self.unchanged(Tone::Bad, text).await;
        };
        // The last choice of a kind counts.
        self.pending.retain(|waits| discriminant(waits) != discriminant(&wish));
        if let Wish::Mode(mode) = wish
            && room.live().is_some()
            && mode != PermissionMode::Plan
            && kept.permission != PermissionMode::Plan
        {
            return self.mode_now(mode, &kept).await;
        }
        if run.is_some() {
            self.pending.push(wish);
            return self
                .unchanged(Tone::Quiet, "that counts from the next run on: one is on")
                .await;
        }
        self.reopen(wishes).await;
    }

    /// Changes what waited for the end of a run.
    pub(super) async fn change_pending(&mut self) {
        let room = self.desk.room();
        if self.pending.is_empty() || room.read_state(|state| state.run.is_some()) {
            return;
        }
        let waiting = std::mem::take(&mut self.pending);
        let wishes = waiting.iter().fold(room.wishes(), with);
        self.reopen(wishes).await;
    }

    /// The model or profile that is wished for is there.
    async fn usable(&self, wish: &Wish) -> anyhow::Result<()> {
        let room = self.desk.room();
        match wish {
            Wish::Model(name) => models::known(&room.cx, Some(name)).await.map(drop),
            Wish::Profile(name) => profiles::find(&room.cx, name).map(drop),
            _ => Ok(()),
        }
    }

    /// Another mode in the session that runs here, also while a run is on.
    async fn mode_now(&mut self, mode: PermissionMode, kept: &SessionConfig) {
        let room = self.desk.room();
        let Some(live) = room.live() else { return self.tell_settings().await };
        if kept.permission == mode {
            return self.tell_settings().await;
        }
        let mut config = kept.clone();
        config.permission = mode;
        let reason = format!("permission mode {mode}");
        let configure = PersonCommand::Configure { reason, config: Arc::new(config) };
        match live.handle.tell_session(PERSON, configure).await {
            Ok(()) => room.set_wishes(Wishes { permission: Some(mode), ..room.wishes() }),
            Err(EngineError::Refused(_)) => {
                self.unchanged(Tone::Bad, "the permission mode cannot change just now").await;
            }
            Err(error) => self.unchanged(Tone::Bad, error.to_string()).await,
        }
    }

    /// Says why nothing changes now, and what holds: a face that showed the choice at once is set
    /// right.
    async fn unchanged(&self, tone: Tone, text: impl Into<String>) {
        self.desk.notice(tone, text).await;
        self.tell_settings().await;
    }

    /// Tells the settings that hold.
    async fn tell_settings(&self) {
        let room = self.desk.room();
        let settings = match room.read_state(|state| state.config.clone()) {
            Some(config) => News::Settings {
                model: config.model.model.to_string(),
                profile: config.profile.name.clone(),
                permission: config.permission,
                thinking: config.thinking,
            },
            None => about::settings(&room.cx, &room.wishes()).await,
        };
        self.desk.tell(settings).await;
    }

    /// Takes the session up anew with these settings. What cannot be leaves everything as it was.
    async fn reopen(&mut self, wishes: Wishes) {
        let room = self.desk.room();
        if let Some(live) = room.live()
            && !self.down_for_now(&room, &live).await
        {
            return self.unchanged(Tone::Bad, format!("nothing was changed: {GOES_DOWN}")).await;
        }
        match self.take_up(Some(wishes)).await {
            Ok(_) => (),
            Err(Away::Held(holder)) => {
                let text = format!(
                    "nothing was changed: {holder} has this session now, and settings change \
                     where it runs"
                );
                self.unchanged(Tone::Bad, text).await;
            }
            Err(Away::Failed(why)) => {
                self.unchanged(Tone::Bad, format!("nothing was changed: {why}")).await;
            }
        }
    }

    /// Makes the context shorter. `words`: what the summary must keep.
    pub(super) async fn condense(&mut self, words: &str) {
        let room = self.desk.room();
        if room.id.is_none() {
            let text = "nothing was said yet: there is nothing to make shorter";
            return self.desk.notice(Tone::Bad, text).await;
        }
        let keep = match Keep::parse(words) {
            Ok(keep) => keep,
            Err(why) => return self.desk.notice(Tone::Bad, why).await,
        };
        let live = match self.take_up(None).await {
            Ok(live) => live,
            Err(Away::Held(holder)) => {
                let text = format!("{holder} has this session now: it is made shorter there");
                return self.desk.notice(Tone::Bad, text).await;
            }
            Err(Away::Failed(why)) => return self.desk.notice(Tone::Bad, why).await,
        };
        match live.handle.tell_session(PERSON, PersonCommand::Condense { keep }).await {
            Ok(()) => (),
            Err(EngineError::Refused(_)) => {
                let text = "there is nothing to make shorter now, or a run is on";
                self.desk.notice(Tone::Bad, text).await;
            }
            Err(error) => self.desk.notice(Tone::Bad, error.to_string()).await,
        }
    }
}

/// What is wished for from now on.
fn with(wishes: Wishes, wish: &Wish) -> Wishes {
    match wish {
        Wish::Mode(mode) => Wishes { permission: Some(*mode), ..wishes },
        Wish::Thinking(thinking) => Wishes { thinking: Some(*thinking), ..wishes },
        Wish::Model(name) => Wishes { model: Some(name.clone()), ..wishes },
        Wish::Profile(name) => Wishes { profile: Some(name.clone()), ..wishes },
        _ => wishes,
    }
}
