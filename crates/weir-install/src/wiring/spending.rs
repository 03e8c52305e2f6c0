//! The caps of money under which a session is: its own, and those that it has in common with others (R11).
//! Not here: how they are held (`weir_engine::spending`).

use std::sync::Arc;

use weir_core::model::ModelInfo;
use weir_core::profile::{LimitName, Limits};
use weir_engine::ports::{Model, ServerSpending, SpendingCap, SpendingCaps};
use weir_engine::spending::{SharedSpending, capped_model};

use super::{SessionOverrides, SystemClock};
use crate::config::{SettingOrigin, WorkspaceConfig};
use crate::context::InstallationContext;
use crate::profiles::LoadedProfile;

/// The limits of a session of `profile`, also of one that switches to it: with the cap of the session, and
/// with bounds of a run where a schedule began it and nothing else bounds what it may cost: nobody sits
/// beside it.
///
/// # Errors
/// The settings cannot be read.
pub(super) fn limits_with_caps(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
    profile: &LoadedProfile,
    model: &ModelInfo,
) -> anyhow::Result<Limits> {
    let config = cx.config()?;
    let caps = &config.settings.spending;
    let limits = super::session_limits(config, wishes, profile);
    let mut limits = Limits { session_usd: caps.session_usd, ..limits };
    if wishes.schedule.is_none() {
        return Ok(limits);
    }
    let is_bounded = limits.budget_usd.is_some() || limits.budget_tokens.is_some();
    match model.price {
        Some(_) if limits.budget_usd.is_none() && caps.schedule_run_usd > 0.0 => {
            limits.budget_usd = Some(caps.schedule_run_usd);
        }
        None if !is_bounded && caps.schedule_run_tokens > 0 => {
            limits.budget_tokens = Some(caps.schedule_run_tokens);
        }
        Some(_) | None => (),
    }
    Ok(limits)
}

/// File and line of the budget that holds, where the workspace's file sets it: whoever did not set it learns
/// why a run ends.
pub(super) fn budget_place(
    config: &WorkspaceConfig,
    wishes: &SessionOverrides,
    limits: &Limits,
) -> Option<String> {
    let budget = limits.budget_usd.filter(|_| wishes.budget_usd.is_none())?;
    let is_of_settings = config.settings.limits.budget_usd.is_some_and(|set| set <= budget);
    match config.origin_of_key("limits.budget_usd") {
        SettingOrigin::Project(_, line) if is_of_settings => {
            Some(format!(".weir/config.toml:{line}"))
        }
        _ => None,
    }
}

/// The caps that a session has in common with others.
///
/// # Errors
/// The settings cannot be read.
pub(super) fn spending_caps(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
) -> anyhow::Result<SpendingCaps> {
    let caps = &cx.config()?.settings.spending;
    let cap =
        |limit, max_usd| SpendingCap { limit, max_usd, agent: None, lets_unpriced_pass: false };
    let mut own: Vec<SpendingCap> = Vec::new();
    own.extend(caps.day_usd.map(|max| cap(LimitName::DayUsd, max)));
    own.extend(caps.person_usd.map(|max| cap(LimitName::PersonUsd, max)));
    if let Some(schedule) = &wishes.schedule {
        let usual = (caps.schedule_usd > 0.0).then_some(caps.schedule_usd);
        let wanted = match (schedule.day_usd, usual) {
            // Of what an admin set for everybody a guest has no more.
            (Some(wanted), Some(most)) if cx.is_guest() => Some(wanted.min(most)),
            (wanted, usual) => wanted.or(usual),
        };
        own.extend(wanted.map(|max_usd| SpendingCap {
            limit: LimitName::ScheduleUsd,
            max_usd,
            agent: Some(schedule.agent.clone()),
            // The usual cap is for whoever thought of none: tokens bound what has no price.
            lets_unpriced_pass: schedule.day_usd.is_none(),
        }));
    }
    let server = match (caps.server_usd, cx.server_book()) {
        (Some(max_usd), Some(book)) => Some(ServerSpending { max_usd, book }),
        (Some(max), None) => {
            // Outside of a server everybody is whoever works here.
            own.push(cap(LimitName::ServerUsd, max));
            None
        }
        (None, _) => None,
    };
    Ok(SpendingCaps { own, server })
}

/// `model` under the caps of a session, for what asks it outside of the session's own work: what names
/// chats. `whose` names it.
///
/// # Errors
/// Settings or store cannot be read.
pub(super) fn model_under_caps(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
    model: Arc<dyn Model>,
    whose: &str,
) -> anyhow::Result<Arc<dyn Model>> {
    let caps = spending_caps(cx, wishes)?;
    if caps.is_empty() {
        return Ok(model);
    }
    let clock = Arc::new(SystemClock::default());
    let spending = SharedSpending::new(cx.session_store()?, clock, caps);
    Ok(capped_model(model, spending.as_ref(), whose))
}
