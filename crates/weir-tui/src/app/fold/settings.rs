//! Settings of the session, and what is done to the context.

use weir_core::event::Event;
use weir_core::model::Thinking;
use weir_core::session::SessionConfig;

use super::super::status::Doing;
use super::super::words::one_line;
use super::{Fold, Placed};

impl Fold {
    pub(super) fn configure(&mut self, at: &Placed) {
        match at.event.as_ref() {
            Event::SessionOpened(f) => self.configured(&f.config),
            Event::SessionConfigured(f) => self.configured(&f.config),
            Event::ProfileSwitched(f) => self.configured(&f.config),
            // Jobs end with the program that had started them.
            Event::SessionResumed(_) => self.jobs.clear(),
            Event::ContextCondensing(f) => {
                self.meters.context = f.tokens;
                self.doing_now(Doing::Condensing);
            }
            Event::ContextSummarised(f) => self.meters.used(&f.usage, f.cost_usd),
            Event::ContextCondensed(f) => {
                self.meters.context = f.tokens_after;
                self.doing = self.running().then_some(Doing::Working);
            }
            Event::RunRemembered(f) => self.meters.used(&f.usage, f.cost_usd),
            Event::RecipePlanned(f) => self.meters.used(&f.usage, f.cost_usd),
            Event::CancelRequested(_) if self.running() => self.doing = Some(Doing::Stopping),
            _ => (),
        }
    }

    /// What settings of `config` are new to the person who looks, in words; `None`: none of those that
    /// they see.
    pub(super) fn changed(&self, config: &SessionConfig) -> Option<String> {
        let (old, mut words) = (&self.settings, Vec::new());
        let model = config.model.model.to_string();
        if old.model != model {
            words.push(format!("Model: {}", one_line(&model)));
        }
        if old.profile != config.profile.name {
            words.push(format!("Profile: {}", one_line(&config.profile.name)));
        }
        if old.permission != config.permission {
            words.push(format!("Permission mode: {}", config.permission));
        }
        if old.thinking != config.thinking {
            let thinking = match config.thinking {
                Thinking::Off => "off",
                Thinking::Low => "low",
                Thinking::Medium => "medium",
                Thinking::High => "high",
            };
            words.push(format!("Thinking: {thinking}"));
        }
        (!words.is_empty()).then(|| words.join(" · "))
    }

    fn configured(&mut self, config: &SessionConfig) {
        self.meters.window = config.model.window;
        self.settings.model = config.model.model.to_string();
        self.settings.profile = config.profile.name.clone();
        self.settings.permission = config.permission;
        self.settings.thinking = config.thinking;
    }
}
