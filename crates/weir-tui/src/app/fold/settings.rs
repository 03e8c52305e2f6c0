//! Settings of the session, as the footer and the commands have them.

use weir_core::session::SessionConfig;

use super::SessionFold;
use crate::words::{one_line, thinking_word};

impl SessionFold {
    /// What settings of `config` are new to the person who looks, in words; `None`: none of those that
    /// they see.
    pub(super) fn describe_changes(&self, config: &SessionConfig) -> Option<String> {
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
            words.push(format!("Thinking: {}", thinking_word(config.thinking)));
        }
        (!words.is_empty()).then(|| words.join(" · "))
    }

    /// The session has other settings.
    pub(super) fn adopt_settings(&mut self) {
        let settings = self.view.settings();
        self.settings.model.clone_from(&settings.model);
        self.settings.profile.clone_from(&settings.profile);
        if let (Some(permission), Some(thinking)) = (settings.permission, settings.thinking) {
            (self.settings.permission, self.settings.thinking) = (permission, thinking);
        }
    }
}
