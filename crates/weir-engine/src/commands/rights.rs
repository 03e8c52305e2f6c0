//! Jobs whose rights are older than the foreign words in the context (A8): they are stopped before the
//! model reads those words, so nothing that they lead to can use these rights. Not here: what a job
//! changed, and what feeding one asks.

use weir_core::governance::label::Label;

use super::CommandWatch;

/// Characters of a command line that are told.
const COMMAND_CHARS_MAX: usize = 80;

impl CommandWatch {
    /// Stops the jobs that were started while no foreign words stood in the context, where `label`
    /// brings some; what is to be said of it. What a job of the session said of itself stops none:
    /// writing for one that has network is asked about.
    pub(crate) async fn stop_older_jobs(&self, label: &Label) -> Option<String> {
        if !brings_foreign_words(label) {
            return None;
        }
        let started = self.with_state(|state, _| Ok(state.foreign_jobs.clone())).await;
        let started = started.unwrap_or_default();
        let jobs = self.context.parts.processes.jobs(&self.context.session).await;
        let mut said = Vec::new();
        for job in jobs.into_iter().filter(|job| job.end.is_none() && !started.contains(&job.job)) {
            let command: String =
                job.command.chars().filter(|c| !c.is_control()).take(COMMAND_CHARS_MAX).collect();
            let failed =
                self.context.parts.processes.kill_job(&self.context.session, &job.job).await.err();
            let failed = failed.map(|why| format!(", which could not be ended: {why}"));
            said.push(format!("{} ({command}){}", job.job, failed.unwrap_or_default()));
        }
        if said.is_empty() {
            return None;
        }
        if let Err(why) = self.settle_jobs().await {
            tracing::warn!(%why, "what stopped jobs changed is compared before the next call");
        }
        Some(format!(
            "[Stopped: {}. It was started before words from outside were read, with rights that are \
             not given any more. Start it again if it is needed: it then has those of a command now.]",
            said.join(", ")
        ))
    }

    /// Takes note of the jobs that a call started while foreign words stood in the context.
    pub(super) async fn note_foreign_jobs(&self) -> Result<(), String> {
        let jobs = self.context.parts.processes.jobs(&self.context.session).await;
        let running = jobs.into_iter().filter(|job| job.end.is_none()).map(|job| job.job);
        let running: Vec<String> = running.collect();
        // Those that were there before were stopped when the words came.
        self.with_state(move |state, _| {
            state.foreign_jobs.extend(running);
            Ok(())
        })
        .await
    }

    /// Says something with the result of the next call that looks after jobs.
    pub(crate) async fn say_later(&self, text: String) {
        let kept = self.with_state(move |state, _| {
            state.said.push(text);
            Ok(())
        });
        if let Err(why) = kept.await {
            tracing::warn!(%why, "that a job was stopped is not told the model");
        }
    }
}

fn brings_foreign_words(label: &Label) -> bool {
    let is_job = |origin: &String| {
        let number = origin.strip_prefix("job j").unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    label.is_external() && !label.origins.iter().all(is_job)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a8_what_a_job_says_is_told_from_what_comes_from_outside() {
        assert!(!brings_foreign_words(&Label::default()));
        assert!(!brings_foreign_words(&Label::external("job j12")));
        for origin in ["docs.example", "job", "job j", "job jx", "job j1.txt", "…"] {
            let label = Label::external("job j1").joined_with(&Label::external(origin));
            assert!(brings_foreign_words(&label), "{origin}");
        }
    }
}
