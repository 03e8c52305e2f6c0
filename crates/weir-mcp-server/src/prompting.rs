//! A prompt whose person may be asked for the words that it lacks, in both revisions. Nothing is kept for a
//! client that is asked to come back: what it brings is worth what an argument is, and no more, so there is no
//! state that anybody could forge. Not here: what a prompt lacks, and calls (`following`).

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, ElicitRequest, ErrorData, GetPromptRequestParams, GetPromptResponse,
    InputRequest, InputRequiredResult,
};
use rmcp::service::RequestContext;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::agent::{
    CallQuestion, PersonAnswer, PersonQuestion, PersonReach, PromptReply, PromptRequest,
    ServedAgent,
};
use crate::asking::{
    AskingWay, ClientAbilities, QuestionKind, cannot_ask, send_question, withdraw_question,
};
use crate::translate::{answer_of, error_of, form_of, prompt_result};

/// Prompts at once that have a form open; one more is given without asking.
pub(crate) const QUESTIONS_MAX: usize = 16;
/// How often the same prompt asks: a form that is filled in wrongly is shown again, not for ever.
const ROUNDS_MAX: usize = 3;
/// How long a form stands open.
const FORM_WAIT: Duration = Duration::from_secs(15 * 60);

/// The prompt, or what its client has to come back with.
pub(crate) async fn answer_prompt(
    agent: &dyn ServedAgent,
    params: GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
    asking: &Semaphore,
) -> Result<GetPromptResponse, ErrorData> {
    // Only by a request of ours a form stands open here meanwhile.
    let able = ClientAbilities::of_request(context);
    let (way, _place) = match able.way {
        _ if !able.can_be_asked(QuestionKind::Person) => (None, None),
        AskingWay::ByComingBack => (Some(AskingWay::ByComingBack), None),
        AskingWay::ByRequest => match asking.try_acquire() {
            Ok(place) => (Some(AskingWay::ByRequest), Some(place)),
            Err(_) => (None, None),
        },
    };
    let person = match way {
        None => PersonReach::OutOfReach,
        Some(_) => PersonReach::Reachable,
    };
    let arguments = params.arguments.unwrap_or_default();
    let mut request = PromptRequest { name: params.name, arguments, person };
    let mut brought = params.input_responses.unwrap_or_default();
    for _ in 0..ROUNDS_MAX {
        let question = match agent.read_prompt(&request).await.map_err(error_of)? {
            PromptReply::Text(text) => {
                return Ok(GetPromptResponse::Complete(prompt_result(text)));
            }
            PromptReply::Asked(question) => question,
        };
        // What is no answer is none: it is asked again.
        let given = brought.remove(&question.name);
        let given = given.and_then(|value| serde_json::from_value(value).ok()).map(answer_of);
        let answer = match (given, way) {
            (Some(answer), _) => answer,
            (None, Some(AskingWay::ByComingBack)) => return come_back(question),
            (None, Some(AskingWay::ByRequest)) => ask_now(&question, context).await?,
            (None, None) => return Err(cannot_ask(QuestionKind::Person)),
        };
        take_answer(&mut request, &question, answer)?;
    }
    Err(ErrorData::invalid_params("the form was filled in wrongly again and again", None))
}

fn come_back(question: PersonQuestion) -> Result<GetPromptResponse, ErrorData> {
    let Some(form) = form_of(&question) else {
        return Err(ErrorData::internal_error("the prompt asks what no form can ask", None));
    };
    let asked = InputRequest::Elicitation(ElicitRequest::new(form));
    let asked = BTreeMap::from([(question.name, asked)]);
    Ok(GetPromptResponse::InputRequired(InputRequiredResult::new(Some(asked), None)))
}

/// Shows the form and waits for it.
async fn ask_now(
    question: &PersonQuestion,
    context: &RequestContext<RoleServer>,
) -> Result<PersonAnswer, ErrorData> {
    // A client that cannot ask after all: the prompt does with what it has.
    let question = CallQuestion::Person(question.clone());
    let Some(mut form) = send_question(&context.peer, &question).await else {
        return Ok(PersonAnswer::Declined);
    };
    tokio::select! {
        biased;
        () = context.ct.cancelled() => {
            withdraw_question(form, "the prompt is no longer wanted").await;
            Err(ErrorData::internal_error("the request was cancelled", None))
        }
        answer = &mut form.handle.rx => Ok(match answer {
            Ok(Ok(ClientResult::ElicitResult(result))) => answer_of(result),
            Ok(Ok(_) | Err(_)) | Err(_) => PersonAnswer::Declined,
        }),
        () = tokio::time::sleep(FORM_WAIT) => {
            withdraw_question(form, "nobody filled it in").await;
            Ok(PersonAnswer::Dismissed)
        }
    }
}

/// Makes arguments of what was filled in: of the form's own fields, and of none that the client gave itself.
fn take_answer(
    request: &mut PromptRequest,
    question: &PersonQuestion,
    answer: PersonAnswer,
) -> Result<(), ErrorData> {
    match answer {
        PersonAnswer::Accepted(fields) => {
            let asked = question.schema.get("properties").and_then(Value::as_object);
            for (name, value) in fields {
                if asked.is_some_and(|asked| asked.contains_key(&name)) {
                    request.arguments.entry(name).or_insert(value);
                }
            }
            Ok(())
        }
        PersonAnswer::Declined => {
            request.person = PersonReach::OutOfReach;
            Ok(())
        }
        PersonAnswer::Dismissed => Err(ErrorData::invalid_params(
            "the prompt lacks words, and its form was closed: ask for it again, with its arguments",
            None,
        )),
    }
}
