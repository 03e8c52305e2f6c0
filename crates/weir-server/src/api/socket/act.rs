//! What a client's commands do, and what it is answered.

use serde_json::{Value, json};

use super::frame::{self, ClientCommand};
use crate::api::approvals;
use crate::api::sessions::{find_own_session, new_input_from_blocks};
use crate::app::App;
use crate::caller::Caller;
use crate::live::SessionRequest;
use crate::problem::{HandlerResult, ProblemDetails};

/// Does it. The answer comes once it is durable.
pub(super) async fn run_client_command(app: App, caller: Caller, command: ClientCommand) -> Value {
    let client_id = command.client_id();
    let done = match caller.may_write() {
        true => dispatch_command(&app, &caller, command).await,
        false => Err(ProblemDetails::not_permitted("this token may only look")),
    };
    match done {
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
    let home = app.home(&caller.person).await?;
    match command {
        ClientCommand::Say { session, client_id, content } => {
            let id = find_own_session(app, caller, session.as_str()).await?;
            let saying = new_input_from_blocks(content, Some(client_id), caller.journal_name());
            let said = app.rooms.submit_input(SessionRequest::new(app, &home, &id), saying).await?;
            let (input, run, seq) = (said.input, said.run, said.seq);
            Ok(json!({ "type": "said", "session": id, "input": input, "run": run, "seq": seq }))
        }
        ClientCommand::Decide { answer, .. } => {
            let approval = answer.approval.clone();
            let decided = approvals::decide_approval(app, caller, answer).await?;
            let (decision, by) = (decided.decision, decided.by);
            let mut told =
                json!({ "type": "decided", "approval": approval, "decision": decision, "by": by });
            if let Some(why) = decided.unkept {
                told["unkept"] = why.into();
            }
            Ok(told)
        }
        ClientCommand::Answer { question, answer, .. } => {
            approvals::answer_question(app, caller, &question, answer).await?;
            Ok(json!({ "type": "answered", "question": question }))
        }
        ClientCommand::Cancel { session, .. } => {
            let id = find_own_session(app, caller, session.as_str()).await?;
            let cancelled = app
                .rooms
                .cancel_run(SessionRequest::new(app, &home, &id), caller.journal_name())
                .await?;
            Ok(json!({ "type": "cancelled", "session": id, "cancelled": cancelled }))
        }
        ClientCommand::Withdraw { session, input, .. } => {
            let id = find_own_session(app, caller, session.as_str()).await?;
            app.rooms
                .withdraw_input(SessionRequest::new(app, &home, &id), input, caller.journal_name())
                .await?;
            Ok(json!({ "type": "withdrawn", "session": id, "input": input }))
        }
    }
}
