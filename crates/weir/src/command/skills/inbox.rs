//! What an agent proposed as a skill, and a person's word about it. A proposal is shown whole before
//! it is accepted, with whose words went into it.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::view::plain::visible;
use weir_engine::ports::Proposal;
use weir_install::catalogue::skills::inbox::{one, settle, sound, trusted, what, whose};
use weir_install::catalogue::skills::{own, sha256};
use weir_install::cx::Cx;

use super::shown_text;
use crate::failure::exit;
use crate::options::{JsonFlag, SkillArgs, SkillsAcceptArgs};
use crate::terminal::{confirm, is_attended, out, out_json};

pub(super) fn as_json(proposal: &Proposal) -> Value {
    json!({
        "name": proposal.name,
        "action": if proposal.text.is_empty() { "remove" } else { "write" },
        "text": proposal.text,
        "sha256": sha256(proposal.text.as_bytes()),
        "untrusted": proposal.label.is_external(),
        "label": proposal.label,
        "source": proposal.source,
        "proposed": proposal.ts,
    })
}

pub(super) async fn inbox(cx: &Cx, flag: JsonFlag) -> anyhow::Result<ExitCode> {
    let proposals = cx.journal()?.proposals("skill").await?;
    if flag.json {
        out_json(&proposals.iter().map(as_json).collect::<Vec<_>>())?;
    } else if proposals.is_empty() {
        out("No skills wait for your decision.")?;
    } else {
        for proposal in &proposals {
            out(&described(cx, proposal))?;
        }
        out("Use `weir skills accept NAME` or `weir skills reject NAME`.")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn described(cx: &Cx, proposal: &Proposal) -> String {
    let mut text = format!("== {} ({})\n", visible(&proposal.name), what(proposal));
    let session = proposal.source.session.as_ref().map(ToString::to_string);
    let by = session.map(|id| format!(" in session {id}")).unwrap_or_default();
    let _ = writeln!(text, "Proposed {}{by}.", proposal.ts);
    let _ = writeln!(text, "The agent had read: {}.", visible(&whose(proposal)));
    if own::folder(cx, &proposal.name).is_dir() && !proposal.text.is_empty() {
        text.push_str("It replaces your skill of the same name.\n");
    }
    if !proposal.text.is_empty() {
        let _ = writeln!(text, "SHA-256: {}\n", sha256(proposal.text.as_bytes()));
        text.push_str(&shown_text(&proposal.text));
        text.push('\n');
    }
    text
}

pub(super) async fn accept(cx: &Cx, args: &SkillsAcceptArgs) -> anyhow::Result<ExitCode> {
    let proposal = one(cx, &args.name).await?;
    sound(&proposal)?;
    if !args.json.json {
        out(&described(cx, &proposal))?;
    }
    trusted(&proposal, args.untrusted)?;
    if is_attended() && !args.yes && !args.json.json && !confirm("Accept it?")? {
        out("Not accepted; it stays in the inbox.")?;
        return Ok(ExitCode::from(exit::FAILED));
    }
    let place = settle(cx, &proposal).await?;
    let place = place.display().to_string();
    if args.json.json {
        let mut value = as_json(&proposal);
        value["place"] = json!(place);
        out_json(&value)?;
    } else if proposal.text.is_empty() {
        out(&format!("Removed; it was moved to {place}."))?;
    } else {
        out(&format!("Accepted: {place}. It is used from the next run on."))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn reject(cx: &Cx, args: &SkillArgs) -> anyhow::Result<ExitCode> {
    let proposal = one(cx, &args.name).await?;
    cx.journal()?.withdraw_proposal("skill", &proposal.name).await?;
    if args.json.json {
        out_json(&as_json(&proposal))?;
    } else {
        out(&format!("Rejected {}; nothing was changed.", visible(&proposal.name)))?;
    }
    Ok(ExitCode::SUCCESS)
}
