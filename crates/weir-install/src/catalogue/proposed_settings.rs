//! What an agent proposed as a setting, and a person's word about it (K14): it is held against the
//! settings once more before it counts. Not here: how it is shown, and where a page keeps settings.

use weir_core::governance::label::Taint;
use weir_core::proposal::SettingProposal;
use weir_core::view::plain::visible_text;
use weir_engine::ports::Proposal;

use crate::config;
use crate::context::InstallationContext;
use crate::failure::{stale, usage};

/// The kind of these proposals.
const KIND: &str = "setting";

/// What waits, oldest first.
///
/// # Errors
/// The store cannot be read.
pub async fn list_waiting(cx: &InstallationContext) -> anyhow::Result<Vec<Proposal>> {
    Ok(cx.session_store()?.proposals(KIND).await?)
}

/// What waits for a setting.
///
/// # Errors
/// A usage error: nothing waits for it.
pub async fn find_waiting(cx: &InstallationContext, key: &str) -> anyhow::Result<Proposal> {
    let found = list_waiting(cx).await?.into_iter().find(|proposal| proposal.name == key);
    found.ok_or_else(|| {
        let key = visible_text(key);
        usage(format!("nothing is proposed for {key}; `weir config inbox` lists what is proposed"))
    })
}

/// The value and the reason of a proposal.
///
/// # Errors
/// A usage error: it is damaged, or speaks of another setting than its name says.
pub fn read_proposal(proposal: &Proposal) -> anyhow::Result<SettingProposal> {
    let read = SettingProposal::from_text(&proposal.text).map_err(usage)?;
    match read.key == proposal.name {
        true => Ok(read),
        false => Err(usage("the proposal is damaged: reject it")),
    }
}

/// Checks that a person can accept a proposal that they read.
///
/// # Errors
/// A usage error: it cannot be proposed, it allows more than what holds, or it has words from outside
/// and nobody said that they were read.
pub fn check_acceptable(
    cx: &InstallationContext,
    proposal: &Proposal,
    untrusted_is_fine: bool,
) -> anyhow::Result<SettingProposal> {
    let read = read_proposal(proposal)?;
    let (files, made) = (cx.config_files(), cx.browser_settings());
    let bounds = config::AcceptanceBounds::read_bounds(cx.config()?, &files, &made)?;
    config::check_proposed_setting(&bounds, &read).map_err(usage)?;
    if proposal.label.is_external() && !untrusted_is_fine {
        return Err(usage(format!(
            "{} was proposed after the agent had read outside content ({}). Whoever wrote that \
             content may have influenced it. If you want it all the same, accept it with `weir \
             config accept {} --untrusted`",
            visible_text(&read.describe_change()),
            visible_text(&proposal.label.to_string()),
            read.key
        )));
    }
    Ok(read)
}

/// Sets an accepted value in the person's own file and takes the proposal away.
///
/// # Errors
/// It is another one meanwhile, or the file cannot be written.
pub async fn set_in_file(
    cx: &InstallationContext,
    proposal: &Proposal,
    read: &SettingProposal,
) -> anyhow::Result<()> {
    check_unchanged(cx, proposal).await?;
    let value = toml::Value::try_from(&read.value)
        .map_err(|error| usage(format!("the value cannot be written: {error}")))?;
    let files = cx.config_files();
    config::set_value(&files.file_at(&files.user), &read.key, &value.to_string())?;
    withdraw(cx, proposal).await
}

/// Checks that what was read is what waits.
///
/// # Errors
/// A usage error: it has changed.
pub async fn check_unchanged(cx: &InstallationContext, proposal: &Proposal) -> anyhow::Result<()> {
    match find_waiting(cx, &proposal.name).await? == *proposal {
        true => Ok(()),
        false => Err(stale("the proposal has changed meanwhile; review it again")),
    }
}

/// Takes a proposal away.
///
/// # Errors
/// The store cannot be written.
pub async fn withdraw(cx: &InstallationContext, proposal: &Proposal) -> anyhow::Result<()> {
    cx.session_store()?.withdraw_proposal(KIND, &proposal.name).await?;
    Ok(())
}

/// Whose words went into it.
pub fn describe_label(proposal: &Proposal) -> String {
    match proposal.label.taint() == Taint::Clean {
        true => "only your own words".into(),
        false => proposal.label.to_string(),
    }
}
