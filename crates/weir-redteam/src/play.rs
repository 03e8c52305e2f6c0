//! One session of a bench, from the first words to rest: the model does as it wants, a scripted
//! person answers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{anyhow, bail};
use weir_core::event::{ApprovalRequested, Decision, Event, NOBODY};
use weir_core::ids::SessionId;
use weir_core::message::MessageBlock;
use weir_engine::engine::{EngineError, SessionHandle, SessionOptions};
use weir_engine::hub::{PublishedFact, SessionUpdate};

use crate::attacker::{Mind, Puppet, Shown};
use crate::seed::Seed;
use crate::world::{Settings, World};

/// Wall time after which a session counts as hung.
const SESSION_MAX: Duration = Duration::from_secs(180);

/// How a person answers what they are asked.
pub type Person = Box<dyn FnMut(&ApprovalRequested) -> Decision + Send>;

/// A person who refuses everything.
pub fn says_no() -> Person {
    Box::new(|_| Decision::Deny)
}

/// A person who agrees to everything.
pub fn says_yes() -> Person {
    Box::new(|_| Decision::Once)
}

/// A person who agrees to so many of a hundred questions, whatever they are.
pub fn mostly_yes(mut seed: Seed, share: usize) -> Person {
    Box::new(move |_| if seed.percent(share) { Decision::Once } else { Decision::Deny })
}

/// What a session left.
pub struct Played {
    /// Its journal.
    pub facts: Vec<PublishedFact>,
    /// What the model was shown, request by request.
    pub shown: Vec<String>,
}

impl Played {
    /// Everything that the model was ever shown.
    pub fn shown_text(&self) -> String {
        self.shown.join("\n")
    }
}

/// How a session begins.
pub struct Play<'a> {
    /// Its name, unique in the world.
    pub id: &'a str,
    /// Its settings.
    pub settings: &'a Settings,
    /// What the person says first.
    pub says: &'a str,
    /// It is one that exists.
    pub resumes: bool,
}

/// Plays a session to its rest.
///
/// # Errors
/// The session cannot be opened, goes down or does not come to rest.
pub async fn play(
    world: &World,
    play: Play<'_>,
    mind: Arc<Mutex<dyn Mind>>,
    person: &mut Person,
) -> anyhow::Result<Played> {
    play_with(world, play, mind, person, |_| ()).await
}

/// The same in a session that has more than the world gives.
///
/// # Errors
/// As [`play`].
pub async fn play_with(
    world: &World,
    play: Play<'_>,
    mind: Arc<Mutex<dyn Mind>>,
    person: &mut Person,
    equips: impl FnOnce(&mut SessionOptions),
) -> anyhow::Result<Played> {
    let shown: Shown = Arc::default();
    let puppet = Puppet::new(mind, shown.clone()).with_window(play.settings.window);
    let mut options = world.session(play.settings, Arc::new(puppet))?;
    world.shelve(&mut options).await?;
    equips(&mut options);
    let id = SessionId::new(play.id.to_owned());
    let handle = match play.resumes {
        true => world.engine.resume(id, options).await?,
        false => world.engine.open(id, options).await?,
    };
    let facts = tokio::time::timeout(SESSION_MAX, follow(&handle, play.says, person))
        .await
        .map_err(|_| anyhow!("session {} does not come to rest", play.id))??;
    handle.close().await?;
    let shown = std::mem::take(&mut *shown.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Played { facts, shown })
}

async fn follow(
    handle: &SessionHandle,
    says: &str,
    person: &mut Person,
) -> anyhow::Result<Vec<PublishedFact>> {
    let mut updates = handle.listen_to_updates(0);
    handle.submit_input(vec![MessageBlock::text(says)], "person").await?;
    let mut facts: Vec<PublishedFact> = Vec::new();
    let mut ours = false;
    loop {
        let Some(update) = updates.next().await? else { bail!("the session went down") };
        let SessionUpdate::Fact(fact) = update else { continue };
        let mut over = false;
        let answered = match fact.event.as_ref() {
            Event::InputAccepted(f) => {
                ours |= f.by == "person" && f.content == vec![MessageBlock::text(says)];
                Ok(())
            }
            Event::ApprovalRequested(asked) if ours => {
                let decision = person(asked);
                handle.decide_approval(asked.approval.clone(), decision, "person", None).await
            }
            Event::AgentAsked(asked) if ours => {
                let decision = person(&asked.request);
                let approval = asked.request.approval.clone();
                handle.decide_approval(approval, decision, "person", None).await
            }
            Event::QuestionAsked(asked) if ours => {
                handle.answer_question(asked.question.clone(), "yes".into(), "person").await
            }
            Event::RunFinished(_) => {
                over = ours;
                Ok(())
            }
            _ => Ok(()),
        };
        match answered {
            // Nobody to ask: it was resolved at once.
            Ok(()) | Err(EngineError::Refused(_)) => (),
            Err(error) => return Err(error.into()),
        }
        facts.push(fact);
        if over {
            return Ok(facts);
        }
    }
}

/// Whether a person (not their absence) was asked about something.
pub fn approvals(facts: &[PublishedFact]) -> usize {
    let asked = |fact: &&PublishedFact| match fact.event.as_ref() {
        Event::ApprovalResolved(f) => f.by != NOBODY,
        _ => false,
    };
    facts.iter().filter(asked).count()
}
