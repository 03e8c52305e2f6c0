//! What a client's commands do, and what it is answered.

use serde_json::{Value, json};

use super::frame::{self, ClientCommand};
use crate::api::approvals;
use crate::api::sessions::new_input_from_blocks;
use crate::app::App;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;

/// Does it. The answer comes once it is durable.
pub(super) async fn run_client_command(app: App, caller: Caller, command: ClientCommand) -> Value {
    let client_id = command.client_id();
    match dispatch_command(&app, &caller, command).await {
        Ok(mut answer) => {
            answer["client_id"] = json!(client_id);
            answer
        }
        Err(problem) => frame::error_frame(&problem, client_id.as_deref()),
    }
}

async fn dispatch_command(
    app: &App,
    caller: &Caller,
    command: ClientCommand,
) -> HandlerResult<Value> {
    if !caller.may_write() {
        return Err(ProblemDetails::not_permitted("this token may only look"));
    }
    let owner = &CallerSpace::open_space(app, caller).await?;
    match command {
        ClientCommand::Say { session, client_id, content } => {
            let id = owner.find_session(&session).await?.id;
            let saying = new_input_from_blocks(content, Some(client_id), caller.journal_name());
            let said = app.sessions.submit_input(owner.session_request(&id), saying).await?;
            let (input, run, seq) = (said.input, said.run, said.seq);
            Ok(json!({ "type": "said", "session": id, "input": input, "run": run, "seq": seq }))
        }
        ClientCommand::Decide { answer, .. } => {
            let approval = answer.approval.clone();
            let decided = approvals::decide_approval(owner, answer).await?;
            let (decision, by) = (decided.decision, decided.by);
            let mut told =
                json!({ "type": "decided", "approval": approval, "decision": decision, "by": by });
            if let Some(why) = decided.unkept {
                told["unkept"] = why.into();
            }
            Ok(told)
        }
        ClientCommand::Answer { question, answer, .. } => {
            approvals::answer_question(owner, &question, answer).await?;
            Ok(json!({ "type": "answered", "question": question }))
        }
        ClientCommand::Cancel { session, .. } => {
            let id = owner.find_session(&session).await?.id;
            let cancelled =
                app.sessions.cancel_run(owner.session_request(&id), caller.journal_name()).await?;
            Ok(json!({ "type": "cancelled", "session": id, "cancelled": cancelled }))
        }
        ClientCommand::Withdraw { session, input, .. } => {
            let id = owner.find_session(&session).await?.id;
            app.sessions
                .withdraw_input(owner.session_request(&id), input, caller.journal_name())
                .await?;
            Ok(json!({ "type": "withdrawn", "session": id, "input": input }))
        }
    }
}
