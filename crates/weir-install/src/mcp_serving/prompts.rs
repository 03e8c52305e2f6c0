//! Prompts for the people of a client: the commands, workflows and skills that can be typed as `/name`
//! here. Looked for each time, since files come and go. Not here: what becomes of their labels (`driver`).

use std::sync::Arc;

use serde_json::{Value, json};
use weir_core::governance::label::Label;
use weir_core::skill::fill_arguments;
use weir_core::sorting::sort_stably;
use weir_core::view::told::one_line;
use weir_engine::blocking::run_blocking;
use weir_engine::marks::marks_in;
use weir_engine::ports::Store;
use weir_engine::scene::SceneOptions;
use weir_engine::skills;
use weir_engine::slash::{self, ListedCommand};
use weir_engine::workspace::Workspace;
use weir_mcp_server::{
    OtherAnswerers, PersonQuestion, PersonReach, PromptReply, PromptRequest, PromptText,
    ResultPart, ServedArgument, ServedPrompt, ServingError,
};

/// The one argument: everything that is typed behind the name.
const ARGUMENTS: &str = "arguments";
/// What is typed behind the name of a skill.
const SKILL_HINT: &str = "What the skill is to do.";
/// Longest text of a prompt, in characters.
const TEXT_CHARS_MAX: usize = 100_000;

/// Where prompts are looked for.
pub(super) struct PromptSource {
    pub(super) scene: SceneOptions,
    pub(super) workspace: Arc<Workspace>,
    pub(super) store: Arc<dyn Store>,
}

impl PromptSource {
    /// All that can be used, by name; of two of one name the first counts.
    pub(super) async fn list_prompts(self) -> Result<Vec<ServedPrompt>, ServingError> {
        self.look_up(|source| {
            let commands = slash::list_slash_commands(&source.scene, &source.workspace);
            let skills = skills::skill_catalogue(&source.scene.skills, &source.workspace);
            let of_skills = skills.iter().map(|skill| ServedPrompt {
                name: skill.name.clone(),
                description: one_line(&skill.description),
                arguments: vec![typed_argument(SKILL_HINT.into())],
            });
            let is_skill = |name: &str| skills.iter().any(|skill| skill.name == name);
            let used = commands.into_iter().filter(|one| !one.shadowed && !is_skill(&one.name));
            let mut all: Vec<ServedPrompt> = used.filter_map(command_prompt).collect();
            all.extend(of_skills);
            sort_stably(&mut all, |a, b| a.name.cmp(&b.name));
            Ok(all)
        })
        .await
    }

    /// The text of one, or the question for what its text has a place for and nobody typed; and whose words
    /// that is.
    pub(super) async fn read_prompt(
        self,
        request: &PromptRequest,
    ) -> Result<ReadPrompt, ServingError> {
        let typed = match request.arguments.get(ARGUMENTS) {
            None => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => return Err(ServingError::Invalid(format!("{ARGUMENTS} is no text"))),
        };
        let (name, person) = (request.name.clone(), request.person);
        self.look_up(move |source| {
            let (found, hint) = source.find_prompt(&name)?;
            let asks = typed.is_none() && person == PersonReach::Reachable;
            if asks && has_place(&found.text) {
                let reply = PromptReply::Asked(argument_question(&name, &hint));
                return Ok(ReadPrompt { reply, label: found.label });
            }
            fill_prompt(found, typed.as_deref().unwrap_or_default())
        })
        .await
    }

    /// A prompt by its name, and what is to be typed behind it.
    fn find_prompt(&self, name: &str) -> Result<(FoundPrompt, String), ServingError> {
        if let Some(found) = self.find_skill(name) {
            let (description, text, label) = found?;
            return Ok((FoundPrompt { description, text, label }, SKILL_HINT.into()));
        }
        let found = slash::find_slash_command(&self.scene, &self.workspace, name);
        let found = found.map_err(ServingError::Failed)?.ok_or_else(|| {
            ServingError::NotFound(format!("there is no prompt {:?}", one_line(name)))
        })?;
        let hint = hint_or_default(found.head.argument_hint);
        let description = found.head.description;
        Ok((FoundPrompt { description, text: found.text, label: found.label }, hint))
    }

    fn find_skill(&self, name: &str) -> Option<Result<(String, String, Label), ServingError>> {
        let skills = skills::skill_catalogue(&self.scene.skills, &self.workspace);
        let line = skills.into_iter().find(|skill| skill.name == name)?;
        let read = skills::read_skill(&self.scene.skills, &self.workspace, name);
        Some(match read {
            Ok(skill) => Ok((line.description, skill.note.text, skill.note.label)),
            Err(why) => Err(ServingError::Failed(why)),
        })
    }

    /// Looks beside the async tasks, with the marks as they are now.
    async fn look_up<T: Send + 'static>(
        self,
        look: impl FnOnce(&PromptSource) -> Result<T, ServingError> + Send + 'static,
    ) -> Result<T, ServingError> {
        let folder = self.workspace.root().display().to_string();
        let marks = marks_in(self.store.as_ref(), &folder).await;
        let marks = marks.map_err(|error| ServingError::Failed(error.to_string()))?;
        // Beside those that a run under way knows of and may not have stored yet.
        for mark in marks {
            self.workspace.mark(&[mark.path], &mark.origin);
        }
        if let Some(plugins) = &self.scene.skills.plugins {
            plugins.refresh().await;
        }
        let looked = run_blocking(move || look(&self)).await;
        looked.unwrap_or_else(|_| Err(ServingError::Failed("looking for prompts failed".into())))
    }
}

/// What is told of a prompt, with whose words it is.
pub(super) struct ReadPrompt {
    pub(super) reply: PromptReply,
    pub(super) label: Label,
}

struct FoundPrompt {
    description: String,
    text: String,
    label: Label,
}

/// Whether the text itself says where typed words go: without them it has a hole.
fn has_place(text: &str) -> bool {
    let (empty, filled) = (fill_arguments(text, ""), fill_arguments(text, "x"));
    filled != format!("{empty}\n\nArguments: x")
}

fn fill_prompt(found: FoundPrompt, typed: &str) -> Result<ReadPrompt, ServingError> {
    // Where the text has no place for what was typed, it follows.
    let text = fill_arguments(&found.text, typed);
    if text.chars().count() > TEXT_CHARS_MAX {
        let why = format!("the prompt has more than {TEXT_CHARS_MAX} characters");
        return Err(ServingError::Invalid(why));
    }
    let parts = vec![ResultPart::Text(text)];
    let prompt = PromptText { description: one_line(&found.description), parts };
    Ok(ReadPrompt { reply: PromptReply::Text(prompt), label: found.label })
}

/// Longest hint in a form, in characters.
const HINT_CHARS_MAX: usize = 200;

/// The form for what is typed behind a name. A hint is its file's, which may be a repository's: it never
/// speaks in our voice.
fn argument_question(name: &str, hint: &str) -> PersonQuestion {
    let hint: String = one_line(hint).chars().take(HINT_CHARS_MAX).collect();
    let schema = json!({
        "type": "object",
        "properties": {
            ARGUMENTS: {"type": "string", "title": "Arguments", "description": hint}
        },
        "required": [ARGUMENTS]
    });
    let message = format!(
        "What is typed behind /{}? Its own file says: \"{hint}\". It becomes part of a prompt for a model: no \
         passwords or keys.",
        one_line(name)
    );
    let others = OtherAnswerers::Nobody;
    PersonQuestion { name: ARGUMENTS.into(), message, schema, others }
}

fn hint_or_default(hint: String) -> String {
    match hint.is_empty() {
        true => "What is typed behind the name.".to_owned(),
        false => hint,
    }
}

fn command_prompt(listed: ListedCommand) -> Option<ServedPrompt> {
    let head = listed.command.ok()?.head;
    let hint = hint_or_default(head.argument_hint);
    Some(ServedPrompt {
        name: listed.name,
        description: head.description,
        arguments: vec![typed_argument(hint)],
    })
}

fn typed_argument(description: String) -> ServedArgument {
    ServedArgument { name: ARGUMENTS.into(), description, required: false }
}
