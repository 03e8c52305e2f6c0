//! How what was found out is printed: for people and as JSON. Names of fields stay.

use serde_json::{Value, json};
use weir_core::governance::{GateName, Judgement, Verdict, canonical_json};
use weir_core::view::plain::visible_text;
use weir_install::explanation::GateRemedy;

use super::touches::{describe_effects, lookalike_remarks};
use super::{CallExplanation, GateSaid, InContext};
use crate::terminal::format_table;

/// Characters of the arguments that are repeated.
const INPUT_CHARS_MAX: usize = 400;

impl CallExplanation {
    pub(super) fn json(&self) -> Value {
        let (asked, session) = (&self.asked, self.case.session.as_ref());
        let inspection = &asked.inspection;
        json!({
            "tool": self.case.call.tool,
            "profile": asked.profile.name,
            "permission": asked.mode,
            "session": session.map(|session| session.id()),
            "label": { "context": asked.label.taint().as_str(), "label": asked.label },
            "judgement": self.judgement,
            "gates": self.gates.iter().map(GateSaid::json).collect::<Vec<_>>(),
            "contexts": self.contexts.iter().map(InContext::json).collect::<Vec<_>>(),
            "would_fail": inspection.fails,
            "summary": inspection.summary,
            "effects": inspection.effects,
            "touches": describe_effects(&inspection.effects),
            "remarks": lookalike_remarks(&inspection.effects),
            "class": inspection.class,
            "checkpoint": inspection.needs_checkpoint(),
            "advice": self.advice_lines(),
        })
    }

    pub(super) fn explanation_text(&self) -> String {
        let mut lines = self.head_lines();
        lines.push("Gates:".to_owned());
        let rows: Vec<Vec<String>> = self.gates.iter().map(GateSaid::row).collect();
        lines.extend(indented_table(&rows));
        if !self.contexts.is_empty() {
            lines.push("By what the context contains:".to_owned());
            let rows: Vec<Vec<String>> = self.contexts.iter().map(InContext::row).collect();
            lines.extend(indented_table(&rows));
        }
        let advice = self.advice_lines();
        if !advice.is_empty() {
            lines.push("To change it:".to_owned());
            lines.extend(advice.into_iter().map(|line| format!("  {line}")));
        }
        let lines: Vec<String> = lines.iter().map(|line| visible_text(line)).collect();
        lines.join("\n") + "\n"
    }

    /// The verdict, the circumstances, and what the call would touch.
    fn head_lines(&self) -> Vec<String> {
        let (asked, inspection) = (&self.asked, &self.asked.inspection);
        let (profile, mode, label) = (&asked.profile.name, asked.mode, &asked.label);
        let session = self.case.session.as_ref();
        let session = session.map_or(String::new(), |s| format!(", session {}", s.id()));
        let mut input: String = canonical_json(&self.case.call.input);
        if input.chars().count() > INPUT_CHARS_MAX {
            input = input.chars().take(INPUT_CHARS_MAX).collect::<String>() + "…";
        }
        if self.case.call.broken.is_some() {
            input = "with arguments that are not a JSON object".to_owned();
        }
        let mut lines = vec![
            format!("{}: {}", verdict_word(self.judgement.verdict), inspection.summary),
            format!("  {} {input}", self.case.call.tool),
            format!("  profile {profile}, permission {mode}, context {label}{session}"),
            "It would:".to_owned(),
        ];
        let touched = describe_effects(&inspection.effects);
        if touched.is_empty() {
            lines.push("  affect nothing outside the session".to_owned());
        }
        lines.extend(touched.into_iter().map(|line| format!("  {line}")));
        let class = json!(inspection.class);
        let saved = match (inspection.needs_checkpoint(), inspection.changes_unknown()) {
            (false, _) => "nothing needs to be saved first",
            (true, true) => "the workspace is saved first and compared afterwards",
            (true, false) => "the files are saved first",
        };
        let class = class.as_str().unwrap_or_default();
        lines.push(format!("  (effects of class {class}; {saved})"));
        if let Some(fails) = &inspection.fails {
            lines.push(format!("It would fail anyway: {fails}"));
        }
        let remarks = lookalike_remarks(&inspection.effects);
        lines.extend(remarks.into_iter().map(|remark| format!("Caution: {remark}")));
        lines
    }

    /// What a person could do about each gate that is against it.
    fn advice_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for said in &self.gates {
            let changes = said.advice.changes.iter().map(|change| {
                let then = describe_change_result(change.gate, &change.call);
                format!("{}: {}: {then}", said.gate, change.what)
            });
            lines.extend(changes);
            lines.extend(said.advice.note.iter().map(|note| format!("{}: {note}", said.gate)));
        }
        lines
    }
}

/// What a change comes to.
fn describe_change_result(gate: Verdict, call: &Judgement) -> String {
    let call_word = verdict_word(call.verdict);
    match (gate, call.verdict) {
        (Verdict::Allow, Verdict::Allow) => "then it is allowed".to_owned(),
        (now, verdict) if now == verdict => format!("then it is {call_word}"),
        (_, _) => {
            let by = call.gate.as_ref().map_or("", GateName::as_str);
            format!("then this gate is less strict, but the call is still {call_word} by {by}")
        }
    }
}

fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allowed",
        Verdict::Ask => "asked",
        Verdict::Deny => "denied",
    }
}

/// A table two blanks in; nothing in a cell begins a line of its own.
fn indented_table(rows: &[Vec<String>]) -> Vec<String> {
    let cell = |cell: &String| visible_text(cell);
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    format_table(&rows).lines().map(|line| format!("  {line}")).collect()
}

impl GateSaid {
    fn verdict_word(&self) -> &'static str {
        match (&self.opinion, &self.not_asked) {
            (Some(opinion), _) => match opinion.verdict {
                Verdict::Allow => "allow",
                Verdict::Ask => "ask",
                Verdict::Deny => "deny",
            },
            (None, Some(_)) => "not_asked",
            (None, None) => "allow",
        }
    }

    fn reason(&self) -> String {
        match (&self.opinion, &self.not_asked, &self.passes) {
            (Some(opinion), _, _) => opinion.reason.clone(),
            (None, Some(who), _) => format!("not asked here: {who}"),
            (None, None, Some(why)) => why.clone(),
            (None, None, None) => "nothing against it".to_owned(),
        }
    }

    fn row(&self) -> Vec<String> {
        let rule = self.opinion.as_ref().and_then(|opinion| opinion.rule.as_deref());
        let reason = match rule {
            Some(rule) => format!("{rule}: {}", self.reason()),
            None => self.reason(),
        };
        let verdict = if self.verdict_word() == "not_asked" { "-" } else { self.verdict_word() };
        vec![self.gate.to_string(), verdict.to_owned(), reason]
    }

    fn json(&self) -> Value {
        let change = |change: &GateRemedy| {
            json!({
                "do": change.what,
                "gate": change.gate,
                "call": change.call.verdict,
                "by": change.call.gate,
            })
        };
        json!({
            "gate": self.gate,
            "verdict": self.verdict_word(),
            "rule": self.opinion.as_ref().and_then(|opinion| opinion.rule.clone()),
            "reason": self.reason(),
            "exact": self.opinion.as_ref().is_some_and(|opinion| opinion.exact),
            "changes": self.advice.changes.iter().map(change).collect::<Vec<_>>(),
            "note": self.advice.note,
        })
    }
}

impl InContext {
    fn row(&self) -> Vec<String> {
        let judgement = &self.judgement;
        let by = match (&judgement.gate, &judgement.rule) {
            (Some(gate), Some(rule)) => format!("by {gate}: {rule}"),
            (Some(gate), None) => format!("by {gate}"),
            (None, _) => String::new(),
        };
        let exact = if self.exact { " (this very call)" } else { "" };
        let verdict = format!("{}{exact}", verdict_word(judgement.verdict));
        vec![self.label.to_owned(), verdict, by]
    }

    fn json(&self) -> Value {
        json!({
            "context": self.label,
            "verdict": self.judgement.verdict,
            "gate": self.judgement.gate,
            "rule": self.judgement.rule,
            "exact": self.exact,
        })
    }
}
