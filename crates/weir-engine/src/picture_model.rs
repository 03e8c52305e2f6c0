//! The model that makes pictures for the agent (K13): one question, one picture, counted for the run.
//! Not here: what becomes of the picture, which the tool says, and how a vendor is asked.

use std::sync::Arc;
use std::time::Duration;

use weir_core::governance::filter::redact_text;
use weir_core::governance::label::Label;
use weir_core::ids::CallId;
use weir_core::model::Usage;

use crate::ports::{
    ModelUse, NO_PICTURE_MODEL, PictureAnswer, PictureError, PictureModel, PictureReply,
    PictureRequest,
};
use crate::worker_context::WorkerContext;

/// How long one picture may take: vendors speak of two minutes for the best.
const WAIT: Duration = Duration::from_secs(280);

/// What one picture costs at most, in US dollars, as far as anybody can say before: so much is set aside
/// under a cap, and counts there where the vendor does not say what it cost.
const PICTURE_USD_MAX: f64 = 1.0;

/// Asks for `call` for a picture with words that were made from what has the label `label`.
///
/// # Errors
/// No model is named, or it made none: a sentence for the model that asked.
pub(crate) async fn ask_for_picture(
    context: &WorkerContext,
    call: CallId,
    label: &Label,
    request: PictureRequest,
) -> Result<PictureAnswer, PictureError> {
    let Some(model) = &context.resources.pictures else {
        return Err(PictureError { why: NO_PICTURE_MODEL.into(), used: None });
    };
    let held = context.reserve_for_tool(call, PICTURE_USD_MAX).await;
    let held = held.map_err(|why| PictureError { why, used: None })?;
    let asked = ask_within_time(context, model, label, request);
    let mut answer = held.hold_during(asked).await;
    let used = match &mut answer {
        Ok(answer) => Some(&mut answer.reply.used),
        Err(error) => error.used.as_mut(),
    };
    let tokens = used.as_ref().map_or(0, |used| used.usage.total_tokens());
    held.settle_cost(used.map(|used| &mut used.cost_usd), tokens).await;
    answer
}

async fn ask_within_time(
    context: &WorkerContext,
    model: &Arc<dyn PictureModel>,
    label: &Label,
    request: PictureRequest,
) -> Result<PictureAnswer, PictureError> {
    let secrets = &context.parts.secrets;
    // It may be another vendor's: nothing goes there that may not go to the session's model.
    let prompt = redact_text(&request.prompt, secrets).into_owned();
    let request = PictureRequest { prompt, ..request };
    let name = model.model_name();
    match tokio::time::timeout(WAIT, model.make_picture(&request)).await {
        Ok(Ok(reply)) => {
            let said = redact_text(&reply.said, secrets).into_owned();
            let label = label.clone().told_by_model();
            Ok(PictureAnswer { model: name, reply: PictureReply { said, ..reply }, label })
        }
        Ok(Err(error)) => {
            Err(PictureError { why: redact_text(&error.why, secrets).into_owned(), ..error })
        }
        Err(_) => {
            let seconds = WAIT.as_secs();
            let why = format!(
                "{name} sent no picture within {seconds} s. It may have made one and charge for it; \
                 ask the person before you try again"
            );
            // It was asked, and nobody knows what that cost.
            let used = ModelUse { usage: Usage::default(), cost_usd: None };
            Err(PictureError { why, used: Some(used) })
        }
    }
}
