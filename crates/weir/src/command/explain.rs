//! `weir permissions explain`: a call is looked at and judged as the engine would, and not made.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_core::governance::{CallFacts, GateContext, Judgement, Verdict, judge};
use weir_core::ids::{CallId, SessionId};
use weir_core::message::{Block, CallBlock};
use weir_core::model::parse_arguments;
use weir_core::profile::{Limits, PermissionMode};
use weir_core::session::Call;
use weir_core::tool::{Access, Inspection};
use weir_engine::blobs::StagedBlobs;
use weir_engine::ports::{ProgressSink, ToolContext};
use weir_engine::workspace::Workspace;
use weir_store::MemoryStore;

use crate::cx::Cx;
use crate::failure::usage;
use crate::options::ExplainArgs;
use crate::terminal::{out, out_json};
use crate::wiring::{self, Wishes};

/// Explains a call, or a path.
pub(crate) async fn explain(cx: &Cx, args: ExplainArgs) -> anyhow::Result<ExitCode> {
    let workspace = cx.workspace()?;
    let input = args.input.as_deref();
    match (args.tool.as_str(), input) {
        ("read", Some(path)) => path_explained(&workspace, path, Access::Read, args.json.json)?,
        ("write", Some(path)) => path_explained(&workspace, path, Access::Write, args.json.json)?,
        ("read" | "write", None) => {
            return Err(usage(format!(
                "name the path: weir permissions explain {} PATH",
                args.tool
            )));
        }
        (_, input) => call_explained(cx, workspace, &args, input.unwrap_or("{}")).await?,
    }
    Ok(ExitCode::SUCCESS)
}

fn path_explained(
    workspace: &Workspace,
    path: &str,
    access: Access,
    as_json: bool,
) -> anyhow::Result<()> {
    let effect = workspace.resolve(path, access);
    let text = workspace.explain(path, access);
    if as_json { out_json(&json!({ "explanation": text, "effect": effect })) } else { out(&text) }
}

/// Everything that was found out.
struct Explained {
    tool: String,
    profile: String,
    mode: PermissionMode,
    inspection: Inspection,
    judgement: Judgement,
}

async fn call_explained(
    cx: &Cx,
    workspace: Arc<Workspace>,
    args: &ExplainArgs,
    input: &str,
) -> anyhow::Result<()> {
    let wishes = Wishes {
        profile: args.profile.clone(),
        permission: args.permission.map(PermissionMode::from),
        attended: true,
        ..Wishes::default()
    };
    let toolbox = wiring::toolbox()?;
    let profile = wiring::profile(cx, &wishes, None)?;
    let mode = wiring::permission(cx.config()?, &wishes, None, &profile);
    let rules = wiring::rules(cx, &workspace, &wishes, None)?;
    let known: Vec<&str> = toolbox.all().iter().map(|tool| tool.spec().name.as_str()).collect();
    if let Some(error) = rules.check_tools(&known).first() {
        return Err(usage(error.to_string()));
    }
    let parsed = parse_arguments(input);
    let broken = parsed.as_ref().err().cloned();
    let block = Block::Call(CallBlock {
        call: CallId(1),
        wire_id: "explained".into(),
        tool: args.tool.clone(),
        input: parsed.unwrap_or_else(|_| json!({})),
        broken,
        seal: None,
    });
    let call = Call::proposed(&block).ok_or_else(|| usage("this is no call"))?;
    let (inspection, _) = toolbox.inspect(&call, &context(cx, workspace)?).await;
    let writes = mode != PermissionMode::Plan;
    let visible: Vec<String> =
        toolbox.visible(&profile.profile, writes).into_iter().map(|spec| spec.name).collect();
    let judgement = judge(
        &CallFacts {
            call: call.id,
            tool: &call.tool,
            input: &call.input,
            broken: call.broken.as_deref(),
            inspection: &inspection,
        },
        &GateContext {
            visible: &visible,
            mode,
            rules: &rules,
            limits: &Limits::default(),
            tool_calls: 0,
            changes: 0,
            recent: &VecDeque::new(),
            unknown: &[],
        },
    );
    let name = profile.profile.name;
    let explained =
        Explained { tool: args.tool.clone(), profile: name, mode, inspection, judgement };
    if args.json.json { out_json(&explained.json()) } else { out(&explained.text()) }
}

/// What a tool may look at while it plans: the real folder, network and checkpoints, and a store
/// that forgets.
fn context(cx: &Cx, workspace: Arc<Workspace>) -> anyhow::Result<ToolContext> {
    Ok(ToolContext {
        session: SessionId::new("explain"),
        call: CallId(1),
        workspace,
        processes: Arc::new(wiring::processes(cx)?),
        web: Arc::new(wiring::web(cx)?),
        blobs: Arc::new(StagedBlobs::new(Arc::new(MemoryStore::new()))),
        checkpoints: wiring::checkpoints(cx),
        cancel: CancellationToken::new(),
        timeout_ms: Limits::default().tool_timeout_ms,
        progress: ProgressSink::none(),
        about: Arc::new(Value::Null),
        contents: Arc::new(BTreeMap::new()),
    })
}

impl Explained {
    fn json(&self) -> Value {
        json!({
            "tool": self.tool,
            "profile": self.profile,
            "permission": self.mode,
            "judgement": self.judgement,
            "would_fail": self.inspection.fails,
            "summary": self.inspection.summary,
            "effects": self.inspection.effects,
            "advice": self.advice(),
        })
    }

    fn text(&self) -> String {
        let judgement = &self.judgement;
        let word = match judgement.verdict {
            Verdict::Allow => "allowed",
            Verdict::Ask => "asked",
            Verdict::Deny => "denied",
        };
        let mut text = format!(
            "{word}: {} (profile {}, permission {})\n",
            self.inspection.summary, self.profile, self.mode
        );
        if judgement.gates.is_empty() {
            text.push_str("  no gate has anything against it\n");
        }
        for opinion in &judgement.gates {
            let verdict = json!(opinion.verdict);
            let verdict = verdict.as_str().unwrap_or_default();
            let _ = writeln!(text, "  {verdict} by gate {}: {}", opinion.gate, opinion.reason);
            if let Some(rule) = &opinion.rule {
                let _ = writeln!(text, "    rests on: {rule}");
            }
        }
        if let Some(fails) = &self.inspection.fails {
            let _ = writeln!(text, "  it would fail anyway: {fails}");
        }
        for line in self.advice() {
            let _ = writeln!(text, "To change it: {line}");
        }
        text
    }

    /// What a person could do about the verdict; nothing when it is an allow.
    fn advice(&self) -> Vec<String> {
        let judgement = &self.judgement;
        let gate = judgement.gate.as_deref().unwrap_or_default();
        let rule = judgement.rule.as_deref().unwrap_or_default();
        let line = match (judgement.verdict, gate) {
            (Verdict::Allow, _) => return Vec::new(),
            (_, "known") => "`weir tools list` shows the tools there are",
            (_, "arguments") => "`weir tools show NAME` shows the arguments that a tool takes",
            (_, "visible") => {
                "choose a profile or permission mode that has this tool (`weir profiles list`)"
            }
            (_, "floor") => "nothing: the hard floor holds in every mode; do it yourself",
            (_, "paths") => {
                "`weir permissions explain read PATH` (or write) names the list that decides; \
                 Weir's own folders and repositories' internals are never opened"
            }
            (Verdict::Deny, "rules") if rule.starts_with("deny ") => {
                "remove or narrow that deny rule (`weir permissions remove RULE`); no allow rule \
                 beats it"
            }
            (Verdict::Ask, "rules") if rule.starts_with("ask ") => {
                "a person answers each time; remove that ask rule to change it"
            }
            (Verdict::Deny, "rules") => "choose a wider permission mode (--permission)",
            (Verdict::Ask, "rules") => {
                "a person answers each time; `weir permissions add allow RULE` or a wider \
                 --permission lets it pass"
            }
            (Verdict::Ask, "confirm") => {
                "nothing: the tool wants a person to confirm these arguments"
            }
            _ => "the reason above says what to do",
        };
        vec![line.to_owned()]
    }
}
