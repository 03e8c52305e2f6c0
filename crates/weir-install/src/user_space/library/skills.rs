//! Skills: found, shown, accepted, put away.

use weir_core::sorting::sort_stably;
use weir_engine::skills::{FoundSkill, SkillSource, read_skill_for_people};

use super::{
    LibraryAction, LibraryDecision, LibraryItem, LibraryLine, LibraryListing, PendingLibraryChange,
    TextKind, check_unchanged, check_unchanged_if_seen, unsupported_action,
};
use crate::catalogue::skills::{inbox, own, place, sha256_hex, survey};
use crate::context::InstallationContext;
use crate::failure::usage;

fn skill_line(skill: &FoundSkill) -> LibraryLine {
    let state = match (&skill.shadowed_by, skill.why_not()) {
        (_, Some(_)) => "left out",
        (Some(_), None) => "shadowed",
        (None, None) => "used",
    };
    LibraryLine {
        name: skill.name.clone(),
        about: skill.head.as_ref().map_or_else(String::new, |head| head.description.clone()),
        origin: place(skill),
        state: state.into(),
        waits: false,
        untrusted: skill.label.is_external(),
    }
}

/// Every skill and every proposal.
pub(super) async fn list_skills(cx: &InstallationContext) -> anyhow::Result<LibraryListing> {
    let (_, survey) = survey(cx).await?;
    let mut lines: Vec<LibraryLine> = Vec::new();
    for skill in &survey.skills {
        // Of one name the skill that is used stands for the others.
        match lines.iter_mut().find(|line| line.name == skill.name) {
            Some(there) if skill.is_used() => *there = skill_line(skill),
            Some(_) => (),
            None => lines.push(skill_line(skill)),
        }
    }
    for proposal in cx.session_store()?.proposals("skill").await? {
        let waits = LibraryLine {
            name: proposal.name.clone(),
            about: inbox::describe_proposal_kind(&proposal),
            origin: "proposed by your agent".into(),
            state: "waits".into(),
            waits: true,
            untrusted: proposal.label.is_external(),
        };
        match lines.iter_mut().find(|line| line.name == proposal.name) {
            Some(there) => there.waits = true,
            None => lines.push(waits),
        }
    }
    sort_stably(&mut lines, |a, b| (!a.waits, &a.name).cmp(&(!b.waits, &b.name)));
    Ok(LibraryListing { lines, notes: survey.notices })
}

/// One skill, with what waits of it.
pub(super) async fn skill_item(
    cx: &InstallationContext,
    name: &str,
) -> anyhow::Result<LibraryItem> {
    let (workspace, survey) = survey(cx).await?;
    let named = || survey.skills.iter().filter(|skill| skill.name == name);
    let skill = named().find(|skill| skill.is_used()).or_else(|| named().next());
    let proposal = cx
        .session_store()?
        .proposals("skill")
        .await?
        .into_iter()
        .find(|proposal| proposal.name == name);
    let all = list_skills(cx).await?;
    let line = all.lines.into_iter().find(|line| line.name == name);
    let line = line.ok_or_else(|| usage(format!("there is no skill {name}")))?;
    let (mut facts, mut text) = (Vec::new(), String::new());
    let mut deeds = Vec::new();
    if let Some(skill) = skill {
        facts = facts_of(skill);
        match read_skill_for_people(&workspace, skill) {
            Ok((bytes, files)) => {
                facts.push(("Files".into(), files.join(", ")));
                let edit = inbox::describe_edit(cx, name, &bytes).await?;
                facts.extend(edit.map(|edit| ("Edited".to_owned(), edit)));
                text = String::from_utf8_lossy(&bytes).into_owned();
            }
            Err(why) => facts.push(("Unreadable".into(), why)),
        }
        if skill.source == SkillSource::Yours && own::folder(cx, name).is_dir() {
            deeds.push(LibraryAction::Remove);
        }
    }
    let waiting = proposal.map(|proposal| {
        deeds.extend([LibraryAction::Accept, LibraryAction::Reject]);
        let old = std::fs::read(own::folder(cx, name).join("SKILL.md")).unwrap_or_default();
        let diff = match old.is_empty() {
            true => String::new(),
            false => {
                weir_tools::outside::unified_difference("SKILL.md", &old, proposal.text.as_bytes())
            }
        };
        PendingLibraryChange {
            what: inbox::describe_proposal_kind(&proposal),
            diff,
            whose: inbox::describe_proposal_label(&proposal),
            untrusted: proposal.label.is_external(),
            hash: sha256_hex(proposal.text.as_bytes()),
            editable: Some(proposal.text.clone()).filter(|text| !text.is_empty()),
            text: proposal.text,
        }
    });
    let (hash, text_kind) = (String::new(), TextKind::Markdown);
    Ok(LibraryItem { line, facts, text, text_kind, hash, waiting, deeds })
}

fn facts_of(skill: &FoundSkill) -> Vec<(String, String)> {
    let mut facts: Vec<(&str, String)> = vec![("Place", place(skill))];
    if let Some(head) = &skill.head {
        facts.push(("Trigger", head.trigger.to_string()));
        facts.push(("License", head.license.clone().unwrap_or_default()));
        facts.push(("Needs", head.compatibility.clone().unwrap_or_default()));
        facts.push(("Wants allowed", head.allowed_tools.join(" ")));
    }
    if let Some(why) = skill.trigger_problem() {
        facts.push(("Trigger never matches", format!("it {why}")));
    }
    facts.push(("Shadowed by", skill.shadowed_by.clone().unwrap_or_default()));
    facts.push(("Left out", skill.why_not().unwrap_or_default()));
    facts.extend(skill.findings.iter().map(|finding| ("Finding", finding.to_string())));
    facts.retain(|(_, value)| !value.is_empty());
    facts.into_iter().map(|(what, value)| (what.to_owned(), value)).collect()
}

/// Accepts, rejects or puts away.
pub(super) async fn act_on_skill(
    cx: &InstallationContext,
    name: &str,
    word: &LibraryDecision<'_>,
) -> anyhow::Result<String> {
    match word.deed {
        LibraryAction::Accept => {
            let proposal = inbox::one(cx, name).await?;
            check_unchanged(word.hash, &sha256_hex(proposal.text.as_bytes()))?;
            let edited = word.own_words().map(|own| inbox::edited_proposal(cx, &proposal, &own));
            let edited = edited.transpose()?;
            inbox::accepted(cx, &proposal, edited.as_ref(), word.untrusted).await?;
            let how = if edited.is_some() { " in your words" } else { "" };
            Ok(format!("{name} is accepted{how}. It holds from the next run on."))
        }
        LibraryAction::Reject => {
            let proposal = inbox::one(cx, name).await?;
            check_unchanged_if_seen(word.hash, &sha256_hex(proposal.text.as_bytes()))?;
            cx.session_store()?.withdraw_proposal("skill", name).await?;
            Ok(format!("{name} is rejected; nothing was changed."))
        }
        LibraryAction::Remove => {
            if let Some(problem) = weir_core::skill::name_problem(name) {
                return Err(usage(format!("{name:?} is no name of a skill: it {problem}")));
            }
            own::put_away(cx, name)?;
            Ok(format!("{name} is removed."))
        }
        deed @ (LibraryAction::Enable | LibraryAction::Disable | LibraryAction::Approve) => {
            Err(unsupported_action(deed))
        }
    }
}
