//! What an agent proposed as a skill, and a person's word about it: it is checked once more before
//! it counts. Not here: how it is shown.

use std::path::PathBuf;

use weir_core::skill::name_problem;
use weir_core::view::plain::visible_text;
use weir_engine::ports::{Clock as _, Proposal, StoredItem};
use weir_engine::skills::{self, SKILL_BYTES_MAX};

use super::{own, sha256_hex};
use crate::catalogue::own_words::OwnWords;
use crate::context::InstallationContext;
use crate::failure::{stale, usage};
use crate::wiring::{self, SystemClock};

/// The kind of what is kept of an edit.
const SKILL_EDIT: &str = "skill-edit";

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
        // Whoever looked at one is told so: it was decided about meanwhile.
        stale(format!("there is no proposal named {name}; `weir skills inbox` lists the proposals"))
    })
}

/// The proposal in other words, checked as it was when it was proposed. It is from where it is from, and
/// as foreign: a changed word makes a stranger's skill nobody's own.
///
/// # Errors
/// A usage error: there is no text to change, a secret stands in it, or it is no skill.
pub fn edited_proposal(
    cx: &InstallationContext,
    proposal: &Proposal,
    own: &OwnWords<'_>,
) -> anyhow::Result<Proposal> {
    if proposal.text.is_empty() {
        return Err(usage("it is proposed to remove this skill: there are no words to change"));
    }
    own.check_length(SKILL_BYTES_MAX)?;
    own.check_secrets(&wiring::secret_texts(cx)?)?;
    let edited = own.in_place_of(proposal, own.text.to_owned());
    match find_fault(&edited) {
        None => Ok(edited),
        Some(why) => {
            Err(usage(format!("these words are no valid skill ({why}); nothing was accepted")))
        }
    }
}

/// Why a text is no skill; `None`: it is one.
fn find_fault(proposal: &Proposal) -> Option<String> {
    let parsed = skills::parse_skill(proposal.text.as_bytes(), &proposal.name);
    if parsed.head.is_some() {
        return None;
    }
    let why: Vec<String> = parsed.findings.iter().map(ToString::to_string).collect();
    Some(visible_text(&why.join("; ")))
}

/// Checks a proposal that a person read, and does what it says, or what `edited` makes of it; where the
/// skill is now.
///
/// # Errors
/// A usage error: it cannot be used, it has words from outside and nobody said that they were read,
/// or it is another one meanwhile.
pub async fn accepted(
    cx: &InstallationContext,
    proposal: &Proposal,
    edited: Option<&Proposal>,
    untrusted: bool,
) -> anyhow::Result<PathBuf> {
    check_proposal(edited.unwrap_or(proposal))?;
    trusted(proposal, untrusted)?;
    settle(cx, proposal, edited).await
}

/// It was checked when it was proposed; the name is a path now, so it is checked again.
pub fn check_proposal(proposal: &Proposal) -> anyhow::Result<()> {
    if let Some(problem) = name_problem(&proposal.name) {
        return Err(usage(format!("the name {problem}; reject this proposal")));
    }
    if !proposal.text.is_empty()
        && let Some(why) = find_fault(proposal)
    {
        return Err(usage(format!("it is not a valid skill ({why}); reject it")));
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

/// Does what a proposal says, or what `edited` makes of it: where the skill is now. Who wrote other words
/// is kept beside it.
///
/// # Errors
/// It is another one meanwhile, or it cannot be written.
pub async fn settle(
    cx: &InstallationContext,
    proposal: &Proposal,
    edited: Option<&Proposal>,
) -> anyhow::Result<PathBuf> {
    // Between reading and accepting it may have become another one.
    if one(cx, &proposal.name).await? != *proposal {
        return Err(stale("the proposal has changed meanwhile; review it again"));
    }
    let kept = edited.unwrap_or(proposal);
    let place = match kept.text.is_empty() {
        true => own::put_away(cx, &kept.name)?,
        false => own::write(cx, &kept.name, &kept.text)?,
    };
    if let Some(by) = &kept.source.edited_by {
        save_skill_edit(cx, kept, by).await?;
    }
    cx.session_store()?.withdraw_proposal("skill", &proposal.name).await?;
    Ok(place)
}

/// Keeps who put other words in place of those that were proposed, by the hash of what they wrote.
async fn save_skill_edit(
    cx: &InstallationContext,
    edited: &Proposal,
    by: &str,
) -> anyhow::Result<()> {
    let kept = StoredItem {
        what: SKILL_EDIT.into(),
        name: edited.name.clone(),
        text: String::new(),
        state: "accepted".into(),
        hash: sha256_hex(edited.text.as_bytes()),
        version: 1,
        label: edited.label.clone(),
        by: by.to_owned(),
        ts: SystemClock::default().now(),
    };
    cx.session_store()?.store_item(&kept).await?;
    Ok(())
}

/// Who wrote other words in place of those of a proposal, if the skill still has exactly those, in a
/// sentence.
///
/// # Errors
/// The store cannot be read.
pub async fn describe_edit(
    cx: &InstallationContext,
    name: &str,
    text: &[u8],
) -> anyhow::Result<Option<String>> {
    let kept = cx.session_store()?.stored_item(SKILL_EDIT, name).await?;
    let kept = kept.filter(|kept| kept.hash == sha256_hex(text));
    Ok(kept.map(|kept| {
        format!("{} put these words in place of those that an agent proposed, {}", kept.by, kept.ts)
    }))
}
