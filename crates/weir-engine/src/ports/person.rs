//! The person, for a foreign server that wants to know something while its call runs (R3). Questions
//! of the agent do not go this way: each is a call of its own.

use async_trait::async_trait;
use weir_core::event::QuestionField;

/// A person who can be asked while a call runs.
#[async_trait]
pub trait PersonPrompter: Send + Sync {
    /// Puts a question of `server` to the person and waits for the answer: journaled, shown by every
    /// face, answered from any. `None`: nobody attends, the run is being ended, or the answer holds
    /// a secret that is in use. The time that it takes does not count as the call's.
    async fn ask_person(&self, server: &str, text: &str, options: &[String]) -> Option<String>;

    /// The same, and what the answer is for: a face may offer more than words then. The answer is words all the
    /// same, as [`PersonPrompter::ask_person`] gives them back.
    async fn ask_for_field(
        &self,
        server: &str,
        text: &str,
        options: &[String],
        _field: &QuestionField,
    ) -> Option<String> {
        self.ask_person(server, text, options).await
    }
}

/// Nobody can be asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPerson;

#[async_trait]
impl PersonPrompter for NoPerson {
    async fn ask_person(&self, _: &str, _: &str, _: &[String]) -> Option<String> {
        None
    }
}
