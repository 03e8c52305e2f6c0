//! Settings that agents proposed, and a person's word about each. A proposal is shown whole before it is
//! accepted, with whose words went into it and what holds now; without somebody to ask, the value that was
//! read is named, so that none is accepted that took its place meanwhile.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::proposal::SettingProposal;
use weir_core::view::plain::visible_text;
use weir_engine::ports::Proposal;
use weir_install::catalogue::proposed_settings as proposed;
use weir_install::config::setting_entries;
use weir_install::context::InstallationContext;

use super::setting_value_text;
use crate::failure::{exit, usage};
use crate::options::{ConfigAcceptArgs, ConfigRejectArgs, JsonFlag};
use crate::review::{ReviewOutcome, ReviewSubject, settle_review};
use crate::terminal::{confirm_by_person, err_message, is_attended, out_json, out_line};

fn as_json(proposal: &Proposal) -> Value {
    let read = proposed::read_proposal(proposal).ok();
    json!({
        "key": proposal.name,
        "value": read.as_ref().map(|read| &read.value),
        "reason": read.as_ref().map(|read| &read.reason),
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
    let waiting = proposed::list_waiting(cx).await?;
    if flag.json {
        out_json(&waiting.iter().map(as_json).collect::<Vec<_>>())?;
    } else if waiting.is_empty() {
        out_line("No settings wait for your decision.")?;
    } else {
        for proposal in &waiting {
            out_line(&describe_proposal(cx, proposal)?)?;
        }
        out_line("Use `weir config accept KEY` or `weir config reject KEY`.")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn describe_proposal(cx: &InstallationContext, proposal: &Proposal) -> anyhow::Result<String> {
    let read = match proposed::read_proposal(proposal) {
        Ok(read) => read,
        Err(error) => return Ok(format!("== {}\n{error}\n", visible_text(&proposal.name))),
    };
    let value = setting_value_text(&read.value);
    let mut text = format!("== {} = {}\n", visible_text(&read.key), visible_text(&value));
    let entries = setting_entries(cx.config()?);
    if let Some(entry) = entries.iter().find(|entry| entry.key == read.key) {
        let now = setting_value_text(&entry.value);
        let _ = writeln!(text, "Now: {} ({})", visible_text(&now), visible_text(&entry.origin));
        let _ = writeln!(text, "{}", entry.description);
    }
    let _ = writeln!(text, "The agent's reason: {}", visible_text(&read.reason));
    let session = proposal.source.session.as_ref().map(ToString::to_string);
    let by = session.map(|id| format!(" in session {id}")).unwrap_or_default();
    let _ = writeln!(text, "Proposed {}{by}.", proposal.ts);
    let whose = proposed::describe_label(proposal);
    let _ = writeln!(text, "The agent had read: {}.", visible_text(&whose));
    Ok(text)
}

pub(super) async fn accept_setting(
    cx: &InstallationContext,
    args: &ConfigAcceptArgs,
) -> anyhow::Result<ExitCode> {
    let proposal = proposed::find_waiting(cx, &args.key).await?;
    let read = proposed::check_acceptable(cx, &proposal, args.untrusted)?;
    let text = describe_proposal(cx, &proposal)?;
    let identity = as_json(&proposal).to_string();
    let (deed, question) = ("config accept", "Accept it?");
    let reviewed =
        ReviewSubject { deed, text: &text, question, identity: &identity, editable: None };
    let agreed = match settle_review(&args.review, &reviewed, args.json.json)? {
        ReviewOutcome::Previewed => return Ok(ExitCode::SUCCESS),
        ReviewOutcome::Agreed => true,
        ReviewOutcome::Unsaid => false,
    };
    match &args.value {
        Some(value) => check_named_value(&read, value)?,
        None if agreed => {}
        None if args.json.json || !is_attended() => {
            return Err(usage(format!(
                "nobody can be asked here: name the value that you read: `weir config accept {} VALUE`",
                read.key
            )));
        }
        None => {}
    }
    if !args.json.json && !agreed {
        out_line(&text)?;
    }
    if args.value.is_none() && !agreed && !confirm_by_person("Accept it?")? {
        out_line("Not accepted; it stays in the inbox.")?;
        return Ok(ExitCode::from(exit::FAILED));
    }
    proposed::set_in_file(cx, &proposal, &read).await?;
    let ours = cx.config_files().user.display().to_string();
    // Read as it will be, so that what has no effect here is said now and not later.
    let again = cx.reloaded_in_folder(&cx.folder)?;
    let origin = again.config()?.origin_of_key(&read.key);
    if !origin.to_string().starts_with(&ours) {
        err_message(&format!(
            "warning: {} is set in {ours}, but {origin} takes precedence here",
            read.key
        ));
    }
    match args.json.json {
        true => out_json(&as_json(&proposal))?,
        false => out_line(&format!("{} is set in {ours}.", read.key))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What waits is what the person named.
fn check_named_value(read: &SettingProposal, named: &str) -> anyhow::Result<()> {
    let is_text = read.value.as_str().is_some_and(|text| text == named);
    match is_text || setting_value_text(&read.value) == named {
        true => Ok(()),
        false => Err(usage(format!(
            "another value is proposed: {}; read it again with `weir config inbox`",
            visible_text(&read.describe_change())
        ))),
    }
}

pub(super) async fn reject_setting(
    cx: &InstallationContext,
    args: &ConfigRejectArgs,
) -> anyhow::Result<ExitCode> {
    let proposal = proposed::find_waiting(cx, &args.key).await?;
    let (text, identity) = (describe_proposal(cx, &proposal)?, as_json(&proposal).to_string());
    let (deed, question) = ("config reject", "Reject it?");
    let reviewed =
        ReviewSubject { deed, text: &text, question, identity: &identity, editable: None };
    if settle_review(&args.review, &reviewed, args.json.json)? == ReviewOutcome::Previewed {
        return Ok(ExitCode::SUCCESS);
    }
    proposed::withdraw(cx, &proposal).await?;
    match args.json.json {
        true => out_json(&as_json(&proposal))?,
        false => {
            out_line(&format!("Rejected {}; nothing was changed.", visible_text(&proposal.name)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
