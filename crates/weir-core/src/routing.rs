//! Which of the models that a session may speak with answers: those that stand in where one has failed, in
//! their order, and rules by the size and kind of the work (V8, R6). Pure. Not here: making a model ready,
//! and when the session asks for another one (`session/models`).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The models of a session by their names, as a person writes them: `provider/name`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ModelRouting {
    /// The model that was chosen: every run begins with it, unless a rule names another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// The one that the session speaks with instead; absent: with the chosen one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away: Option<String>,
    /// Models that go on where another one has failed for good, the first one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<String>,
    /// Which model a run is for; the first rule that fits. None where a person chose the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RouteRule>,
}

/// Who began a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum WorkKind {
    /// A person said something.
    Person,
    /// A schedule.
    Schedule,
    /// Another agent, whose sub-agent does it.
    Agent,
}

/// Work of this size and kind is for this model. All of what it says must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RouteRule {
    /// The model, as provider/name.
    pub model: String,
    /// Who began the run: person, schedule or agent (a sub-agent).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<WorkKind>,
    /// Name of the profile that does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The first request of the run has fewer tokens, as Weir estimates them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_below: Option<u64>,
    /// It has at least so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_above: Option<u64>,
    /// Pictures stand in it, or none do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
}

/// The work of a run, as rules look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoutedWork<'a> {
    /// Who began it.
    pub kind: WorkKind,
    /// Name of the profile.
    pub profile: &'a str,
    /// Estimated tokens of its first request.
    pub tokens: u64,
    /// Whether pictures stand in that.
    pub images: bool,
}

impl RouteRule {
    fn fits(&self, work: RoutedWork<'_>) -> bool {
        self.kind.is_none_or(|kind| kind == work.kind)
            && self.profile.as_deref().is_none_or(|profile| profile == work.profile)
            && self.input_below.is_none_or(|bound| work.tokens < bound)
            && self.input_above.is_none_or(|bound| work.tokens >= bound)
            && self.images.is_none_or(|images| images == work.images)
    }

    /// What it says of the work, in words.
    fn in_words(&self) -> String {
        let kind = self.kind.map(|kind| match kind {
            WorkKind::Person => "what a person begins".to_owned(),
            WorkKind::Schedule => "what a schedule begins".to_owned(),
            WorkKind::Agent => "sub-agents".to_owned(),
        });
        let parts = [
            kind,
            self.profile.as_ref().map(|profile| format!("the profile {profile}")),
            self.input_below.map(|bound| format!("fewer than {bound} tokens")),
            self.input_above.map(|bound| format!("{bound} tokens or more")),
            self.images.map(|images| if images { "pictures" } else { "no pictures" }.to_owned()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        match parts.is_empty() {
            true => "a rule for all work".to_owned(),
            false => format!("a rule for {}", parts.join(", ")),
        }
    }
}

impl ModelRouting {
    /// Whether it says nothing: there is one model, and no other.
    pub fn is_off(&self) -> bool {
        *self == ModelRouting::default()
    }

    /// The model that the session speaks with, as it is named; `None`: nobody named it here.
    pub fn present(&self) -> Option<&str> {
        self.away.as_deref().or(self.home.as_deref())
    }

    /// The model that goes on where the present one has failed: the chosen one, where a rule led away from
    /// it, then the others in their order. None of those that failed in this run.
    pub fn next_fallback(&self, failed: &BTreeSet<String>) -> Option<&str> {
        let present = self.present();
        let mut order = self.home.iter().chain(&self.fallback).map(String::as_str);
        order.find(|name| Some(*name) != present && !failed.contains(*name))
    }

    /// The model that a run of such work is to begin with, where that is another than the present one, and
    /// why. What failed in this run is not tried again.
    pub fn wanted_for(
        &self,
        work: RoutedWork<'_>,
        failed: &BTreeSet<String>,
    ) -> Option<(&str, Option<String>)> {
        let home = self.home.as_deref()?;
        let usable = |rule: &&RouteRule| rule.fits(work) && !failed.contains(&rule.model);
        let (wanted, why) = match self.rules.iter().find(usable) {
            Some(rule) => (rule.model.as_str(), Some(rule.in_words())),
            None => (home, None),
        };
        (Some(wanted) != self.present() && !failed.contains(wanted)).then_some((wanted, why))
    }

    /// Every model but the chosen one that it lets the session speak with.
    pub fn other_models(&self) -> impl Iterator<Item = &str> {
        let rules = self.rules.iter().map(|rule| rule.model.as_str());
        self.fallback.iter().map(String::as_str).chain(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routing(away: Option<&str>) -> ModelRouting {
        ModelRouting {
            home: Some("a/home".into()),
            away: away.map(String::from),
            fallback: vec!["b/second".into(), "c/third".into()],
            rules: vec![
                RouteRule {
                    model: "d/small".into(),
                    input_below: Some(1_000),
                    images: Some(false),
                    ..RouteRule::default()
                },
                RouteRule {
                    model: "e/night".into(),
                    kind: Some(WorkKind::Schedule),
                    ..RouteRule::default()
                },
            ],
        }
    }

    fn work(kind: WorkKind, tokens: u64, images: bool) -> RoutedWork<'static> {
        RoutedWork { kind, profile: "agent", tokens, images }
    }

    #[test]
    fn v8_fallbacks_come_in_their_order_and_none_twice() {
        let failed = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let next =
            |away, names: &[&str]| routing(away).next_fallback(&failed(names)).map(String::from);
        assert_eq!(next(None, &["a/home"]).as_deref(), Some("b/second"));
        assert_eq!(next(Some("b/second"), &["a/home", "b/second"]).as_deref(), Some("c/third"));
        let all = ["a/home", "b/second", "c/third"];
        assert_eq!(next(Some("c/third"), &all), None);
        // Whom a rule led away goes home first.
        assert_eq!(next(Some("d/small"), &["d/small"]).as_deref(), Some("a/home"));
        assert_eq!(ModelRouting::default().next_fallback(&BTreeSet::new()), None);
    }

    #[test]
    fn v8_rules_look_at_the_size_and_the_kind_of_the_work() {
        let wanted = |away: Option<&str>, work, failed: &[&str]| {
            let failed = failed.iter().map(ToString::to_string).collect();
            routing(away).wanted_for(work, &failed).map(|(name, _)| name.to_owned())
        };
        let person = |tokens, images| work(WorkKind::Person, tokens, images);
        assert_eq!(wanted(None, person(999, false), &[]).as_deref(), Some("d/small"));
        assert_eq!(wanted(None, person(999, true), &[]), None);
        assert_eq!(wanted(None, person(1_000, false), &[]), None);
        let night = work(WorkKind::Schedule, 5_000, true);
        assert_eq!(wanted(None, night, &[]).as_deref(), Some("e/night"));
        assert_eq!(wanted(Some("e/night"), night, &[]), None, "it is there already");
        // Back home where no rule fits, and never to what failed.
        assert_eq!(wanted(Some("b/second"), person(5_000, false), &[]).as_deref(), Some("a/home"));
        assert_eq!(wanted(Some("b/second"), person(5_000, false), &["a/home"]), None);
        assert_eq!(wanted(None, person(1, false), &["d/small"]), None);
        assert_eq!(ModelRouting::default().wanted_for(night, &BTreeSet::new()), None);
    }
}
