//! What an agent proposed as a skill, and a person's word about it: it is checked once more before
//! it counts. Not here: how it is shown.

use std::path::PathBuf;

use weir_core::skill::name_problem;
use weir_core::view::plain::visible_text;
use weir_engine::ports::Proposal;
use weir_engine::skills;

use super::own;
use crate::context::InstallationContext;
use crate::failure::usage;

/// What is proposed, in a few words.
pub fn describe_proposal_kind(proposal: &Proposal) -> String {
    let to = if proposal.text.is_empty() { "to be removed" } else { "to be saved" };
    match proposal.label.is_external() {
        true => format!("{to}, based on outside content"),
        false => to.to_owned(),
    }
}

/// Whose words went into it.
pub fn describe_proposal_label(proposal: &Proposal) -> String {
    match proposal.label.is_clean() {
        true => "only your own words".into(),
        false => proposal.label.to_string(),
    }
}

pub async fn one(cx: &InstallationContext, name: &str) -> anyhow::Result<Proposal> {
    let proposals = cx.session_store()?.proposals("skill").await?;
    let found = proposals.into_iter().find(|proposal| proposal.name == name);
    found.ok_or_else(|| {
        let name = visible_text(name);
        usage(format!("there is no proposal named {name}; `weir skills inbox` lists the proposals"))
    })
}

/// Checks a proposal that a person read, and does what it says; where the skill is now.
///
/// # Errors
/// A usage error: it cannot be used, it has words from outside and nobody said that they were read,
/// or it is another one meanwhile.
pub async fn accepted(
    cx: &InstallationContext,
    proposal: &Proposal,
    untrusted: bool,
) -> anyhow::Result<PathBuf> {
    check_proposal(proposal)?;
    trusted(proposal, untrusted)?;
    settle(cx, proposal).await
}

/// It was checked when it was proposed; the name is a path now, so it is checked again.
pub fn check_proposal(proposal: &Proposal) -> anyhow::Result<()> {
    if let Some(problem) = name_problem(&proposal.name) {
        return Err(usage(format!("the name {problem}; reject this proposal")));
    }
    let parsed = skills::parse_skill(proposal.text.as_bytes(), &proposal.name);
    if !proposal.text.is_empty() && parsed.head.is_none() {
        let why: Vec<String> = parsed.findings.iter().map(ToString::to_string).collect();
        return Err(usage(format!(
            "it is not a valid skill ({}); reject it",
            visible_text(&why.join("; "))
        )));
    }
    Ok(())
}

pub fn trusted(proposal: &Proposal, untrusted: bool) -> anyhow::Result<()> {
    if !proposal.label.is_external() || untrusted {
        return Ok(());
    }
    Err(usage(format!(
        "{} was proposed after the agent had read outside content ({}). Whoever wrote that content \
         may have influenced this skill, which later sessions would follow. Read it; if it says \
         what you want, accept it with `weir skills accept {} --untrusted`",
        proposal.name,
        visible_text(&describe_proposal_label(proposal)),
        proposal.name
    )))
}

pub async fn settle(cx: &InstallationContext, proposal: &Proposal) -> anyhow::Result<PathBuf> {
    // Between reading and accepting it may have become another one.
    if one(cx, &proposal.name).await? != *proposal {
        return Err(usage("the proposal has changed meanwhile; review it again"));
    }
    let place = match proposal.text.is_empty() {
        true => own::put_away(cx, &proposal.name)?,
        false => own::write(cx, &proposal.name, &proposal.text)?,
    };
    cx.session_store()?.withdraw_proposal("skill", &proposal.name).await?;
    Ok(place)
}
