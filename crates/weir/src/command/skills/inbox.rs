//! What an agent proposed as a skill, and a person's word about it. A proposal is shown whole before
//! it is accepted, with whose words went into it.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::view::plain::visible_text;
use weir_engine::ports::Proposal;
use weir_install::catalogue::own_words::OwnWords;
use weir_install::catalogue::skills::inbox::{
    check_proposal, describe_proposal_kind, describe_proposal_label, edited_proposal, one, settle,
    trusted,
};
use weir_install::catalogue::skills::{own, sha256_hex};
use weir_install::context::InstallationContext;
use weir_install::wiring::principal_name;

use super::shown_text;
use crate::failure::exit;
use crate::options::{JsonFlag, SkillsAcceptArgs, SkillsRejectArgs};
use crate::review::{ReviewOutcome, ReviewSubject, read_own_words, settle_review};
use crate::terminal::{confirm_by_person, is_attended, out_json, out_line};

pub(super) fn as_json(proposal: &Proposal) -> Value {
    json!({
        "name": proposal.name,
        "action": if proposal.text.is_empty() { "remove" } else { "write" },
        "text": proposal.text,
        "sha256": sha256_hex(proposal.text.as_bytes()),
        "untrusted": proposal.label.is_external(),
        "label": proposal.label,
        "source": proposal.source,
        "proposed": proposal.ts,
    })
}

pub(super) async fn show_inbox(
    cx: &InstallationContext,
    flag: JsonFlag,
) -> anyhow::Result<ExitCode> {
    let proposals = cx.session_store()?.proposals("skill").await?;
    if flag.json {
        out_json(&proposals.iter().map(as_json).collect::<Vec<_>>())?;
    } else if proposals.is_empty() {
        out_line("No skills wait for your decision.")?;
    } else {
        for proposal in &proposals {
            out_line(&describe_proposal(cx, proposal))?;
        }
        out_line("Use `weir skills accept NAME` or `weir skills reject NAME`.")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn describe_proposal(cx: &InstallationContext, proposal: &Proposal) -> String {
    let mut text =
        format!("== {} ({})\n", visible_text(&proposal.name), describe_proposal_kind(proposal));
    let session = proposal.source.session.as_ref().map(ToString::to_string);
    let by = session.map(|id| format!(" in session {id}")).unwrap_or_default();
    let _ = writeln!(text, "Proposed {}{by}.", proposal.ts);
    let _ =
        writeln!(text, "The agent had read: {}.", visible_text(&describe_proposal_label(proposal)));
    if let Some(by) = &proposal.source.edited_by {
        let _ = writeln!(text, "In words of {}, in place of those of the agent.", visible_text(by));
    }
    if own::folder(cx, &proposal.name).is_dir() && !proposal.text.is_empty() {
        text.push_str("It replaces your skill of the same name.\n");
    }
    if !proposal.text.is_empty() {
        let _ = writeln!(text, "SHA-256: {}\n", sha256_hex(proposal.text.as_bytes()));
        text.push_str(&shown_text(&proposal.text));
        text.push('\n');
    }
    text
}

pub(super) async fn accept_skill(
    cx: &InstallationContext,
    args: &SkillsAcceptArgs,
) -> anyhow::Result<ExitCode> {
    let proposal = one(cx, &args.name).await?;
    let edited = edited_skill(cx, args, &proposal)?;
    let kept = edited.as_ref().unwrap_or(&proposal);
    check_proposal(kept)?;
    let text = describe_proposal(cx, kept);
    if !args.json.json && !args.review.is_given() {
        out_line(&text)?;
    }
    trusted(&proposal, args.untrusted)?;
    let identity = json!([as_json(&proposal), kept.text]).to_string();
    let (deed, question) = ("skills accept", "Accept it?");
    let editable = Some(kept.text.as_str()).filter(|text| !text.is_empty());
    let reviewed = ReviewSubject { deed, text: &text, question, identity: &identity, editable };
    let agreed = match settle_review(&args.review, &reviewed, args.json.json)? {
        ReviewOutcome::Previewed => return Ok(ExitCode::SUCCESS),
        ReviewOutcome::Agreed => true,
        ReviewOutcome::Unsaid => false,
    };
    if !agreed && is_attended() && !args.yes && !args.json.json && !confirm_by_person("Accept it?")?
    {
        out_line("Not accepted; it stays in the inbox.")?;
        return Ok(ExitCode::from(exit::FAILED));
    }
    let place = settle(cx, &proposal, edited.as_ref()).await?;
    let place = place.display().to_string();
    if args.json.json {
        let mut value = as_json(kept);
        value["place"] = json!(place);
        out_json(&value)?;
    } else if proposal.text.is_empty() {
        out_line(&format!("Removed; it was moved to {place}."))?;
    } else {
        let how = if edited.is_some() { " in your words" } else { "" };
        out_line(&format!("Accepted{how}: {place}. It is used from the next run on."))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The proposal in the person's words, where they wrote some.
fn edited_skill(
    cx: &InstallationContext,
    args: &SkillsAcceptArgs,
    proposal: &Proposal,
) -> anyhow::Result<Option<Proposal>> {
    let Some(text) = read_own_words(&args.words, &proposal.text)? else { return Ok(None) };
    let by = principal_name(cx);
    edited_proposal(cx, proposal, &OwnWords { text: &text, by: &by }).map(Some)
}

pub(super) async fn reject_skill(
    cx: &InstallationContext,
    args: &SkillsRejectArgs,
) -> anyhow::Result<ExitCode> {
    let proposal = one(cx, &args.name).await?;
    let (text, identity) = (describe_proposal(cx, &proposal), as_json(&proposal).to_string());
    let (deed, question) = ("skills reject", "Reject it?");
    let reviewed =
        ReviewSubject { deed, text: &text, question, identity: &identity, editable: None };
    if settle_review(&args.review, &reviewed, args.json.json)? == ReviewOutcome::Previewed {
        return Ok(ExitCode::SUCCESS);
    }
    cx.session_store()?.withdraw_proposal("skill", &proposal.name).await?;
    if args.json.json {
        out_json(&as_json(&proposal))?;
    } else {
        out_line(&format!("Rejected {}; nothing was changed.", visible_text(&proposal.name)))?;
    }
    Ok(ExitCode::SUCCESS)
}
