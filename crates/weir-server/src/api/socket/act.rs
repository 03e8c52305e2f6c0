//! What a client's commands do, and what it is answered.

use serde_json::{Value, json};

use super::frame::{self, Command};
use crate::api::approvals;
use crate::api::sessions::{own, saying};
use crate::app::App;
use crate::guard::Caller;
use crate::problem::{Answer, Problem};

/// Does it. The answer comes once it is durable.
pub(super) async fn act(app: App, caller: Caller, command: Command) -> Value {
    let client_id = command.client_id();
    let done = match caller.may_write() {
        true => done(&app, &caller, command).await,
        false => Err(Problem::forbidden("this token may only look")),
    };
    match done {
        Ok(mut answer) => {
            answer["client_id"] = json!(client_id);
            answer
        }
        Err(problem) => frame::error(&problem, client_id.as_deref()),
    }
}

async fn done(app: &App, caller: &Caller, command: Command) -> Answer<Value> {
    let home = app.home(&caller.person).await?;
    match command {
        Command::Say { session, client_id, content } => {
            let id = own(app, caller, session.as_str()).await?;
            let saying = saying(content, Some(client_id), caller.by());
            let said = app.rooms.say(app, &home, &id, saying).await?;
            let (input, run, seq) = (said.input, said.run, said.seq);
            Ok(json!({ "type": "said", "session": id, "input": input, "run": run, "seq": seq }))
        }
        Command::Decide { answer, .. } => {
            let approval = answer.approval.clone();
            let decided = approvals::decided(app, caller, answer).await?;
            let (decision, by) = (decided.decision, decided.by);
            let mut told =
                json!({ "type": "decided", "approval": approval, "decision": decision, "by": by });
            if let Some(why) = decided.unkept {
                told["unkept"] = why.into();
            }
            Ok(told)
        }
        Command::Answer { question, answer, .. } => {
            approvals::answered(app, caller, (&question, answer)).await?;
            Ok(json!({ "type": "answered", "question": question }))
        }
        Command::Cancel { session, .. } => {
            let id = own(app, caller, session.as_str()).await?;
            let cancelled = app.rooms.cancel(app, &home, &id, caller.by()).await?;
            Ok(json!({ "type": "cancelled", "session": id, "cancelled": cancelled }))
        }
        Command::Withdraw { session, input, .. } => {
            let id = own(app, caller, session.as_str()).await?;
            app.rooms.withdraw(app, &home, &id, (input, caller.by())).await?;
            Ok(json!({ "type": "withdrawn", "session": id, "input": input }))
        }
    }
}
