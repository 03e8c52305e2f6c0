//! What a foreign server asks the model while its call runs (R3): each question becomes a step of that call, so
//! it is judged, asked about and journaled as any call is, and the server hears what came of it. Not here: what
//! may be asked (the session and its gates), and asking the model, which is the step's tool.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::mpsc;
use weir_core::governance::filter::mask_text;
use weir_core::ids::CallId;
use weir_core::session::program::StepEnd;
use weir_core::session::{CallState, Session};

use crate::asking::PersonWaitClock;
use crate::ports::{ModelPrompter, ProgramStep};
use crate::programs::ProgramLine;
use crate::worker_context::WorkerContext;

/// What a server hears of a question without an answer: neither a rule nor a person's words are for it.
const UNANSWERED: &str = "the question was refused, or could not be answered";

/// The model, as the server of one call that runs can ask it.
pub(crate) struct CallModelPrompter {
    of: CallId,
    context: Arc<WorkerContext>,
    /// One question after the other.
    questions: tokio::sync::Mutex<OpenQuestions>,
    pub(crate) clock: Arc<PersonWaitClock>,
}

/// How many questions were asked, and the ends of those that the server did not hear of.
struct OpenQuestions {
    asked: u32,
    ends: mpsc::UnboundedReceiver<StepEnd>,
}

impl CallModelPrompter {
    /// Both ends of the way to the server whose tool `call` is.
    pub(crate) fn of_call(
        session: &Session,
        call: &CallState,
        context: &Arc<WorkerContext>,
    ) -> (CallModelPrompter, ProgramLine) {
        let (sender, ends) = mpsc::unbounded_channel();
        let clock = Arc::new(PersonWaitClock::default());
        // A call that is made again after a crash goes on where its journal ends.
        let asked = u32::try_from(session.program_steps(call.id).count()).unwrap_or(u32::MAX);
        let prompter = CallModelPrompter {
            of: call.id,
            context: context.clone(),
            questions: tokio::sync::Mutex::new(OpenQuestions { asked, ends }),
            clock: clock.clone(),
        };
        (prompter, ProgramLine::new(sender, clock))
    }
}

#[async_trait]
impl ModelPrompter for CallModelPrompter {
    async fn ask_model(&self, tool: &str, mut input: Value) -> Result<String, String> {
        mask_texts(&mut input, &self.context.parts.secrets);
        let mut open = self.questions.lock().await;
        let before = open.asked;
        let number = before.saturating_add(1);
        // Before it is asked: who stops waiting in between must not ask under this number again.
        open.asked = number;
        let step = ProgramStep { number, tool: tool.to_owned(), input };
        if let Err(why) = self.context.sender.propose_steps(self.of, vec![step]).await {
            tracing::debug!(why, tool, "a server's question was not taken on");
            open.asked = before;
            return Err(UNANSWERED.into());
        }
        loop {
            let end = open.ends.recv().await.ok_or(UNANSWERED)?;
            // An older one was given up.
            if end.number == number {
                return if end.ok { Ok(end.text) } else { Err(UNANSWERED.into()) };
            }
        }
    }
}

/// Takes the secrets that are in use out of every text of `value`.
fn mask_texts(value: &mut Value, secrets: &[String]) {
    match value {
        Value::String(text) => mask_text(text, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_texts(item, secrets)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| mask_texts(field, secrets));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => (),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r3_no_secret_in_use_stands_in_what_a_server_asks() {
        let mut asked = json!({ "system": "Be s3cr3t-value-1.", "messages": [
            { "role": "user", "text": "Repeat s3cr3t-value-1" }], "max_tokens": 5 });
        mask_texts(&mut asked, &["s3cr3t-value-1".to_owned()]);
        let text = asked.to_string();
        assert!(!text.contains("s3cr3t-value-1") && text.contains("Repeat"), "{text}");
    }
}
