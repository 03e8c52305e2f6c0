//! What a person wants a summary to keep, in their own words. Not here: what a helper is asked
//! (`session::condense`).

use serde::{Deserialize, Serialize};

/// Most characters of such words.
pub const KEEP_CHARS_MAX: usize = 2_000;

/// What a person wants the summary to keep: not empty, and bounded. Their own words, so nothing
/// foreign; they choose what a summary tells and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct KeepRequest(String);

impl KeepRequest {
    /// What was written beside the wish to condense; `None`: nothing.
    ///
    /// # Errors
    /// It is too long: how long, and what to do.
    pub fn parse(text: &str) -> Result<Option<KeepRequest>, String> {
        let text = text.trim();
        let chars = text.chars().count();
        if chars > KEEP_CHARS_MAX {
            return Err(format!(
                "what the summary must keep has {chars} characters, and at most {KEEP_CHARS_MAX} \
                 are taken: name it in fewer words"
            ));
        }
        Ok((!text.is_empty()).then(|| KeepRequest(text.to_owned())))
    }

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
