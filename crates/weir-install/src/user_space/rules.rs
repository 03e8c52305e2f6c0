//! Permission rules and trust of folders, as an admin looks at them and decides on pages: the same that
//! `weir permissions` and `weir trust` show and change. Everything is decided as it was shown, by its
//! hash. Not here: the pages.

use std::path::{Path, PathBuf};

use serde_json::json;
use weir_core::governance::rules::{Rule, RuleAction, RuleOrigin};
use weir_core::view::plain::visible_text;

use super::UserSpace;
use crate::catalogue::rules::{describe_rule_action, parse_checked_rule};
use crate::catalogue::skills::sha256_hex;
use crate::catalogue::trust_review::{TrustReview, review_workspace, save_trust_record};
use crate::config;
use crate::context::InstallationContext;
use crate::failure::{InstallationError, refused, stale, usage};
use crate::trust::{TrustStore, judge_record, offer_row};
use crate::wiring::{self, SessionOverrides};

/// A rule that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleLine {
    /// The set that it is in.
    pub action: RuleAction,
    /// The rule.
    pub rule: String,
    /// Where it came from.
    pub origin: String,
    /// It stands in the file that pages change.
    pub removable: bool,
}

/// What is done with a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleChange {
    /// It is added to this set.
    Add(RuleAction),
    /// It is taken out of every set.
    Remove,
}

/// What a person is to agree to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownDecision {
    /// All of it, in lines; hidden characters are written out.
    pub text: String,
    /// Names exactly this: a word about another one is refused.
    pub hash: String,
}

/// A folder that somebody trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustLine {
    /// It.
    pub folder: PathBuf,
    /// How it stands: `trusted since …`, `changed …`.
    pub state: String,
}

/// A folder as it was looked at once.
struct ReviewedFolder {
    cx: InstallationContext,
    review: TrustReview,
    shown: ShownDecision,
}

const ADMINS_ONLY: &str =
    "only an admin changes rules and trusts folders: they hold on this machine";

fn check_seen(seen: &str, hash: &str) -> anyhow::Result<()> {
    match seen == hash {
        true => Ok(()),
        false => Err(stale("it changed meanwhile, and nothing was done; look at it again")),
    }
}

impl UserSpace {
    /// The program in the person's own folder, for an admin alone.
    fn at_as_admin(&self) -> anyhow::Result<InstallationContext> {
        match self.person.is_admin() {
            true => self.at(None),
            false => Err(usage(ADMINS_ONLY)),
        }
    }

    /// The rules that hold in the person's own folder.
    ///
    /// # Errors
    /// The files of settings cannot be understood.
    pub async fn list_rules(&self) -> Result<Vec<RuleLine>, InstallationError> {
        self.look_up_made().await?;
        self.read_rules().map_err(|error| refused(&error))
    }

    fn read_rules(&self) -> anyhow::Result<Vec<RuleLine>> {
        let cx = self.at(None)?;
        let workspace = cx.open_workspace()?;
        let rules = wiring::session_rules(&cx, &workspace, &SessionOverrides::default(), None)?;
        let is_admin = self.person.is_admin();
        let own = cx.config_files().user.display().to_string();
        let line = |rule: &Rule| {
            let origin = rule.origin().to_string();
            let is_path = origin.starts_with('/');
            RuleLine {
                action: rule.action(),
                rule: rule.text().to_owned(),
                removable: is_admin && origin.starts_with(&own),
                // Paths of the machine are its admins' business.
                origin: if is_path && !is_admin { "a file of the server".into() } else { origin },
            }
        };
        Ok(rules.iter().map(line).collect())
    }

    /// What a change of the rules would be.
    ///
    /// # Errors
    /// The person is no admin, the rule cannot be understood, or is not there.
    pub async fn review_rule(
        &self,
        deed: RuleChange,
        rule: &str,
    ) -> Result<ShownDecision, InstallationError> {
        self.look_up_made().await?;
        self.read_rule_change(deed, rule.trim()).map_err(|error| refused(&error))
    }

    fn read_rule_change(&self, deed: RuleChange, typed: &str) -> anyhow::Result<ShownDecision> {
        let cx = self.at_as_admin()?;
        let place = cx.config_files().user.clone();
        let shown_place = visible_text(&place.display().to_string());
        let text = match deed {
            RuleChange::Add(action) => {
                let origin = RuleOrigin::new(place.display().to_string());
                let rule = parse_checked_rule(&cx, action, typed, origin)?;
                let (rule, does) = (visible_text(rule.text()), describe_rule_action(action));
                format!(
                    "Add: {action} {rule}\n{does}, for everybody on this machine, from their next run on.\n\
                     In: {shown_place}\n"
                )
            }
            RuleChange::Remove => {
                let found = config::find_rules(&place, typed)?;
                if found.is_empty() {
                    return Err(usage(format!("there is no rule {typed} in {shown_place}")));
                }
                let lines = found.iter().map(|rule| {
                    format!(
                        "Remove: {} {}, in {}\n",
                        rule.action,
                        visible_text(&rule.text),
                        rule.origin
                    )
                });
                let mut shown: String = lines.collect();
                if found.iter().any(|rule| rule.action != RuleAction::Allow) {
                    shown.push_str("Without it, calls may run that it kept from running.\n");
                }
                shown
            }
        };
        // What is shown has hidden characters written out, and what is done has not.
        let hash = sha256_hex(json!([text, typed]).to_string().as_bytes());
        Ok(ShownDecision { text, hash })
    }

    /// Changes the rules, as it was shown.
    ///
    /// # Errors
    /// As [`UserSpace::review_rule`]; or it is not what was shown. Nothing was changed then.
    pub async fn change_rule(
        &self,
        deed: RuleChange,
        rule: &str,
        seen: &str,
    ) -> Result<String, InstallationError> {
        let now = self.review_rule(deed, rule).await?;
        let change = || {
            check_seen(seen, &now.hash)?;
            let files = self.at_as_admin()?.config_files();
            let place = files.file_at(&files.user);
            let rule = rule.trim();
            match deed {
                RuleChange::Add(action) => config::add_rule(&place, action, rule).map(drop)?,
                RuleChange::Remove => config::remove_rule(&place, rule).map(drop)?,
            }
            Ok(match deed {
                RuleChange::Add(action) => format!("{action} {rule} is added."),
                RuleChange::Remove => format!("{rule} is removed."),
            })
        };
        let done = change().map_err(|error: anyhow::Error| refused(&error))?;
        self.renew();
        Ok(done)
    }

    /// Folders that somebody trusted on this machine.
    ///
    /// # Errors
    /// The person is no admin, or what is kept of it is damaged.
    pub fn list_trusted_folders(&self) -> Result<Vec<TrustLine>, InstallationError> {
        let read = || {
            let cx = self.at_as_admin()?;
            let store = TrustStore::read_from_state(&cx.dirs.state).map_err(usage)?;
            let all = store.all_records().map(|(folder, record)| TrustLine {
                folder: folder.to_owned(),
                state: match folder.is_dir() {
                    true => judge_record(record, folder).to_string(),
                    false => "the folder no longer exists".into(),
                },
            });
            Ok(all.collect())
        };
        read().map_err(|error: anyhow::Error| refused(&error))
    }

    /// What trust of a folder would let its files do.
    ///
    /// # Errors
    /// The person is no admin, or the folder cannot be trusted: why.
    pub fn review_trust(&self, folder: &str) -> Result<ShownDecision, InstallationError> {
        let reviewed = self.review_folder(folder).map_err(|error| refused(&error))?;
        Ok(reviewed.shown)
    }

    /// One look at a folder: what is shown and what is saved then are of the same files.
    fn review_folder(&self, folder: &str) -> anyhow::Result<ReviewedFolder> {
        let cx = self.at_as_admin()?.in_folder(Path::new(folder.trim()))?;
        if cx.project != cx.folder {
            return Err(usage(format!(
                "{} is a worktree of a session, which is trusted as its project is: {}",
                cx.folder.display(),
                cx.project.display()
            )));
        }
        let review = review_workspace(&cx)?;
        let mut text = format!("Trust: {}\n", visible_text(&cx.folder.display().to_string()));
        for offer in &review.offers {
            let row: Vec<String> = offer_row(offer).iter().map(|cell| visible_text(cell)).collect();
            text.push_str(&format!("{}\n", row.join("  ")));
        }
        if review.offers.is_empty() {
            text.push_str("Its files contain nothing that requires trust.\n");
        }
        for (path, hash) in &review.files {
            text.push_str(&format!("watched: {} {hash}\n", visible_text(path)));
        }
        let hash = sha256_hex(json!([text, review.hash(&cx)]).to_string().as_bytes());
        Ok(ReviewedFolder { cx, review, shown: ShownDecision { text, hash } })
    }

    /// Trusts a folder, as it was shown.
    ///
    /// # Errors
    /// As [`UserSpace::review_trust`]; or it is not what was shown. Nothing is trusted then.
    pub fn trust_folder(&self, folder: &str, seen: &str) -> Result<String, InstallationError> {
        let save = || {
            let ReviewedFolder { cx, review, shown } = self.review_folder(folder)?;
            check_seen(seen, &shown.hash)?;
            save_trust_record(&cx, review.files)?;
            Ok(format!("{} is trusted, as it is now.", cx.folder.display()))
        };
        let done = save().map_err(|error: anyhow::Error| refused(&error))?;
        self.renew();
        Ok(done)
    }

    /// What would be trusted no longer.
    ///
    /// # Errors
    /// The person is no admin, or it was not trusted.
    pub fn review_distrust(&self, folder: &str) -> Result<ShownDecision, InstallationError> {
        let trusted = self.list_trusted_folders()?;
        let line =
            trusted.iter().find(|line| line.folder == Path::new(folder)).ok_or_else(|| {
                InstallationError::Refused(format!("{} was not trusted", visible_text(folder)))
            })?;
        let text = format!("Trust no longer: {}\n{}\n", visible_text(folder), line.state);
        let hash = sha256_hex(json!([text, folder]).to_string().as_bytes());
        Ok(ShownDecision { text, hash })
    }

    /// Trusts a folder no longer.
    ///
    /// # Errors
    /// The person is no admin, or it was not trusted.
    pub fn distrust_folder(&self, folder: &str) -> Result<String, InstallationError> {
        let remove = || {
            let cx = self.at_as_admin()?;
            match TrustStore::remove(&cx.dirs.state, Path::new(folder))? {
                true => Ok(format!("{folder} is trusted no longer.")),
                false => Err(usage(format!("{folder} was not trusted"))),
            }
        };
        let done = remove().map_err(|error: anyhow::Error| refused(&error))?;
        self.renew();
        Ok(done)
    }
}
