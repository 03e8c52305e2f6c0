//! `weir permissions explain`: a call is looked at and judged as the engine would, and not made.
//!
//! What is found out is the installation's (`weir_install::explanation`); here it is asked for and
//! shown.

use std::process::ExitCode;

use serde_json::json;
use weir_core::governance::label::{Label, Taint};
use weir_core::governance::{GateName, GateOpinion, Judgement};
use weir_core::profile::PermissionMode;
use weir_core::tool::PathAccess;
use weir_core::view::plain::visible_text;
use weir_engine::workspace::Workspace;
use weir_install::context::InstallationContext;
use weir_install::explanation::{
    self, CallConditions, CallQuestion, ExplanationCase, GateAdvice, label_of_taint,
};

use crate::failure::usage;
use crate::options::{ExplainArgs, LabelWord};
use crate::terminal::{out_json, out_line};

mod print;
mod touches;

/// Explains a call, or a path.
pub(crate) async fn explain_call(
    cx: &InstallationContext,
    args: ExplainArgs,
) -> anyhow::Result<ExitCode> {
    let input = args.input.as_deref();
    match (args.tool.as_str(), input) {
        ("read", Some(path)) => path_explained(cx, &args, path, PathAccess::Read)?,
        ("write", Some(path)) => path_explained(cx, &args, path, PathAccess::Write)?,
        ("read" | "write", None) => {
            return Err(usage(format!(
                "name the path: weir permissions explain {} PATH",
                args.tool
            )));
        }
        (_, input) => call_explained(cx, &args, input.unwrap_or("{}")).await?,
    }
    Ok(ExitCode::SUCCESS)
}

fn path_explained(
    cx: &InstallationContext,
    args: &ExplainArgs,
    path: &str,
    access: PathAccess,
) -> anyhow::Result<()> {
    let about_a_call = !args.label.is_empty()
        || args.all_labels
        || !args.said.is_empty()
        || args.session.is_some()
        || args.profile.is_some()
        || args.permission.is_some();
    if about_a_call {
        return Err(usage(format!(
            "`explain {} PATH` shows which list decides about a path; profile, mode, label, words \
             and session apply to calls only: weir permissions explain read_file '{{\"path\": …}}'",
            args.tool
        )));
    }
    let workspace: &Workspace = &*cx.open_workspace()?;
    let effect = workspace.resolve(path, access);
    let text = workspace.explain(path, access);
    if args.json.json {
        return out_json(&json!({ "explanation": text, "effect": effect }));
    }
    let lines: Vec<String> = text.lines().map(visible_text).collect();
    out_line(&lines.join("\n"))
}

/// What one gate says.
struct GateSaid {
    gate: GateName,
    opinion: Option<GateOpinion>,
    /// It would ask somebody who is not asked here: whom.
    not_asked: Option<String>,
    /// Why it has nothing against the call, where there is more to say than that.
    passes: Option<String>,
    advice: GateAdvice,
}

/// The verdict in one of the four contexts.
struct InContext {
    label: &'static str,
    judgement: Judgement,
    exact: bool,
}

/// Everything that was found out.
struct CallExplanation {
    case: ExplanationCase,
    asked: CallConditions,
    judgement: Judgement,
    gates: Vec<GateSaid>,
    contexts: Vec<InContext>,
}

async fn call_explained(
    cx: &InstallationContext,
    args: &ExplainArgs,
    input: &str,
) -> anyhow::Result<()> {
    let supposed = CallQuestion {
        tool: args.tool.clone(),
        input: input.to_owned(),
        profile: args.profile.clone(),
        permission: args.permission.map(PermissionMode::from),
        said: args.said.clone(),
        session: args.session.clone(),
    };
    let (case, mut asked) = ExplanationCase::prepare_case(cx, &supposed).await?;
    // With several labels the first is looked at in full; the table has them all.
    if let Some(first) = args.label.first() {
        asked.label = label_of_taint(Taint::from(*first));
    }
    let mut gates = Vec::new();
    for (gate, opinion) in case.gate_opinions(&asked) {
        let advice = match &opinion {
            Some(opinion) => explanation::find_gate_advice(&case, &asked, opinion).await,
            None => GateAdvice::default(),
        };
        gates.push(GateSaid {
            not_asked: opinion.is_none().then(|| case.not_asked(&gate, &asked)).flatten(),
            passes: opinion.is_none().then(|| case.passing_reason(&gate, &asked)).flatten(),
            gate,
            opinion,
            advice,
        });
    }
    let judgement = Judgement::from_opinions(gates.iter().filter_map(|said| said.opinion.clone()));
    let words: &[LabelWord] = match (args.all_labels, args.label.len()) {
        (true, _) => &LabelWord::ALL,
        (false, 0 | 1) => &[],
        (false, _) => &args.label,
    };
    let contexts = words
        .iter()
        .map(|word| in_context(&case, &asked, label_of_taint(Taint::from(*word))))
        .collect();
    let explained = CallExplanation { case, asked, judgement, gates, contexts };
    if args.json.json {
        out_json(&explained.json())
    } else {
        out_line(&explained.explanation_text())
    }
}

fn in_context(case: &ExplanationCase, asked: &CallConditions, label: Label) -> InContext {
    let name = label.taint().as_str();
    let judgement = case.judge_call(&CallConditions { label, ..asked.clone() });
    let exact = judgement.gates.iter().any(|opinion| opinion.exact);
    InContext { label: name, judgement, exact }
}
