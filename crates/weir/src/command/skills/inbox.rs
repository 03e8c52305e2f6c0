//! What an agent proposed as a skill, and a person's word about it. A proposal is shown whole before
//! it is accepted, with whose words went into it.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::skill::name_problem;
use weir_core::view::plain::visible;
use weir_engine::ports::Proposal;
use weir_engine::skills;
use weir_install::cx::Cx;

use super::{own, sha256, shown_text};
use crate::failure::{exit, usage};
use crate::options::{JsonFlag, SkillArgs, SkillsAcceptArgs};
use crate::terminal::{confirm, is_attended, out, out_json};

/// What is proposed, in a few words.
pub(crate) fn what(proposal: &Proposal) -> String {
    let to = if proposal.text.is_empty() { "to be removed" } else { "to be saved" };
    match proposal.label.is_external() {
        true => format!("{to}, based on outside content"),
        false => to.to_owned(),
    }
}

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

/// Whose words went into it.
pub(crate) fn whose(proposal: &Proposal) -> String {
    match proposal.label.is_clean() {
        true => "only your own words".into(),
        false => proposal.label.to_string(),
    }
}

pub(crate) async fn one(cx: &Cx, name: &str) -> anyhow::Result<Proposal> {
    let proposals = cx.journal()?.proposals("skill").await?;
    let found = proposals.into_iter().find(|proposal| proposal.name == name);
    found.ok_or_else(|| {
        let name = visible(name);
        usage(format!("there is no proposal named {name}; `weir skills inbox` lists the proposals"))
    })
}

/// Checks a proposal that a person read, and does what it says; where the skill is now.
///
/// # Errors
/// A usage error: it cannot be used, it has words from outside and nobody said that they were read,
/// or it is another one meanwhile.
pub(crate) async fn accepted(
    cx: &Cx,
    proposal: &Proposal,
    untrusted: bool,
) -> anyhow::Result<PathBuf> {
    sound(proposal)?;
    trusted(proposal, untrusted)?;
    settle(cx, proposal).await
}

/// It was checked when it was proposed; the name is a path now, so it is checked again.
fn sound(proposal: &Proposal) -> anyhow::Result<()> {
    if let Some(problem) = name_problem(&proposal.name) {
        return Err(usage(format!("the name {problem}; reject this proposal")));
    }
    let parsed = skills::parse(proposal.text.as_bytes(), &proposal.name);
    if !proposal.text.is_empty() && parsed.head.is_none() {
        let why: Vec<String> = parsed.findings.iter().map(ToString::to_string).collect();
        return Err(usage(format!(
            "it is not a valid skill ({}); reject it",
            visible(&why.join("; "))
        )));
    }
    Ok(())
}

fn trusted(proposal: &Proposal, untrusted: bool) -> anyhow::Result<()> {
    if !proposal.label.is_external() || untrusted {
        return Ok(());
    }
    Err(usage(format!(
        "{} was proposed after the agent had read outside content ({}). Whoever wrote that content \
         may have influenced this skill, which later sessions would follow. Read it; if it says \
         what you want, accept it with `weir skills accept {} --untrusted`",
        proposal.name,
        visible(&whose(proposal)),
        proposal.name
    )))
}

async fn settle(cx: &Cx, proposal: &Proposal) -> anyhow::Result<PathBuf> {
    // Between reading and accepting it may have become another one.
    if one(cx, &proposal.name).await? != *proposal {
        return Err(usage("the proposal has changed meanwhile; review it again"));
    }
    let place = match proposal.text.is_empty() {
        true => own::put_away(cx, &proposal.name)?,
        false => own::write(cx, &proposal.name, &proposal.text)?,
    };
    cx.journal()?.withdraw_proposal("skill", &proposal.name).await?;
    Ok(place)
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
