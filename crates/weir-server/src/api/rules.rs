//! Permission rules, and folders whose own files are trusted: listed for everybody who works here, and
//! changed by admins as they were shown (R10). The page of them decides by the same. Not here: what
//! rules and trust are.

use axum::Json;
use serde::{Deserialize, Serialize};
use weir_core::governance::rules::RuleAction;
use weir_install::user_space::{RuleChange, RuleLine, ShownDecision, TrustLine, UserSpace};

use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::route::{Route, RouteAccess};

/// The routes of this file.
pub(crate) fn rule_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/rules", list_rules)
            .summary(
                "The rules that hold in your own folder; for an admin, the trusted folders too",
            )
            .gives_json::<RuleSheet>(200),
        Route::post("/api/v1/rules/look", look_at_change)
            .access(RouteAccess::Admin)
            .summary("What a change of a rule or of trust would be; nothing is changed")
            .body::<RuleChangeBody>()
            .gives_json::<ShownChange>(200),
        Route::post("/api/v1/rules", make_change)
            .access(RouteAccess::Admin)
            .summary("Change a rule, or trust of a folder, as it was shown")
            .body::<SeenChangeBody>()
            .gives_json::<ChangeResult>(200),
    ]
}

/// What is done with a rule, or with trust of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum RuleDeed {
    /// Calls that match it run without a question.
    Allow,
    /// Calls that match it ask.
    Ask,
    /// Calls that match it do not run.
    Deny,
    /// The rule is taken out of every set.
    Remove,
    /// The folder's own files may define hooks, servers, scripts and allow rules.
    Trust,
    /// They may no longer.
    Distrust,
}

impl RuleDeed {
    /// The deed of a word.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn from_word(word: &str) -> HandlerResult<RuleDeed> {
        Ok(match word {
            "allow" => RuleDeed::Allow,
            "ask" => RuleDeed::Ask,
            "deny" => RuleDeed::Deny,
            "remove" => RuleDeed::Remove,
            "trust" => RuleDeed::Trust,
            "distrust" => RuleDeed::Distrust,
            other => return Err(ProblemDetails::not_found(format!("the change {other:?}"))),
        })
    }

    fn rule_change(self) -> Option<RuleChange> {
        match self {
            RuleDeed::Allow => Some(RuleChange::Add(RuleAction::Allow)),
            RuleDeed::Ask => Some(RuleChange::Add(RuleAction::Ask)),
            RuleDeed::Deny => Some(RuleChange::Add(RuleAction::Deny)),
            RuleDeed::Remove => Some(RuleChange::Remove),
            RuleDeed::Trust | RuleDeed::Distrust => None,
        }
    }
}

/// All of a change, for whoever is to agree to it.
///
/// # Errors
/// Who asks is no admin, or it cannot be done: why.
pub(crate) async fn review_deed(
    space: &UserSpace,
    deed: RuleDeed,
    what: &str,
) -> HandlerResult<ShownDecision> {
    Ok(match (deed.rule_change(), deed) {
        (Some(change), _) => space.review_rule(change, what).await?,
        (None, RuleDeed::Distrust) => space.review_distrust(what)?,
        (None, _) => space.review_trust(what)?,
    })
}

/// A change, and what was shown of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeenDeed<'a> {
    /// What is done.
    pub(crate) deed: RuleDeed,
    /// The rule, or the path of the folder.
    pub(crate) what: &'a str,
    /// The hash of what was shown.
    pub(crate) hash: &'a str,
}

/// Makes a change as it was shown: what was done, in words.
///
/// # Errors
/// As [`review_deed`]; or it is not what was shown. Nothing was changed then.
pub(crate) async fn make_deed(
    space: &UserSpace,
    SeenDeed { deed, what, hash }: SeenDeed<'_>,
) -> HandlerResult<String> {
    if review_deed(space, deed, what).await?.hash != hash {
        return Err(ProblemDetails::conflict(
            "this is not what was shown under this hash, so nothing was changed; look at it again",
        ));
    }
    Ok(match (deed.rule_change(), deed) {
        (Some(change), _) => space.change_rule(change, what, hash).await?,
        (None, RuleDeed::Distrust) => space.distrust_folder(what)?,
        (None, _) => space.trust_folder(what, hash)?,
    })
}

/// A rule that holds.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ListedRule {
    /// The set that it is in: `allow`, `ask`, `deny`.
    set: String,
    /// The rule.
    rule: String,
    /// Where it came from.
    origin: String,
    /// You can take it out from here.
    removable: bool,
}

/// A folder whose own files somebody trusted.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ListedFolder {
    /// Its path.
    folder: String,
    /// How it stands: `trusted since …`, `changed …`.
    state: String,
}

/// Rules and trust.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RuleSheet {
    /// The rules that hold.
    rules: Vec<ListedRule>,
    /// Trusted folders; `null`: only admins see them.
    trusted: Option<Vec<ListedFolder>>,
}

/// A change that is to be shown.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct RuleChangeBody {
    /// What is done.
    deed: RuleDeed,
    /// The rule, or the path of the folder.
    what: String,
}

/// A change that was shown.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct SeenChangeBody {
    /// What is done.
    deed: RuleDeed,
    /// The rule, or the path of the folder.
    what: String,
    /// The `hash` of what was shown.
    hash: String,
}

/// What somebody is to agree to.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ShownChange {
    /// All of it, in lines; hidden characters are written out.
    text: String,
    /// Names exactly this.
    hash: String,
}

/// What was done.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ChangeResult {
    /// In words.
    done: String,
}

async fn list_rules(
    CallerSpace { caller, space, .. }: CallerSpace,
) -> HandlerResult<Json<RuleSheet>> {
    let rule = |line: RuleLine| ListedRule {
        set: line.action.to_string(),
        rule: line.rule,
        origin: line.origin,
        // A paired telephone takes none away.
        removable: line.removable && caller.is_admin(),
    };
    let folder = |line: TrustLine| ListedFolder {
        folder: line.folder.display().to_string(),
        state: line.state,
    };
    let rules = space.list_rules().await?.into_iter().map(rule).collect();
    let trusted = match caller.is_admin() {
        true => Some(space.list_trusted_folders()?.into_iter().map(folder).collect()),
        false => None,
    };
    Ok(Json(RuleSheet { rules, trusted }))
}

async fn look_at_change(
    CallerSpace { space, .. }: CallerSpace,
    Json(wanted): Json<RuleChangeBody>,
) -> HandlerResult<Json<ShownChange>> {
    let ShownDecision { text, hash } = review_deed(&space, wanted.deed, &wanted.what).await?;
    Ok(Json(ShownChange { text, hash }))
}

async fn make_change(
    CallerSpace { space, .. }: CallerSpace,
    Json(wanted): Json<SeenChangeBody>,
) -> HandlerResult<Json<ChangeResult>> {
    let SeenChangeBody { deed, what, hash } = wanted;
    let done = make_deed(&space, SeenDeed { deed, what: &what, hash: &hash }).await?;
    Ok(Json(ChangeResult { done }))
}
