//! What a tool of others is declared to do, argument by argument (U2): to whom it sends, what it
//! commits to, what it destroys. Pure: from a declaration and the arguments of a call to effects.
//!
//! Not here: where a declaration is written down or shipped, and what the gate makes of an effect.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::argument::{self, ArgumentChoice, ArgumentPath};
use super::typed::TypedFields;
use super::{Effects, InputSchema, QueryEffect};

/// What somebody says that a tool does. Exactly one of the six kinds is said; what is not said of an
/// argument counts against the tool: it is taken for a recipient.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ToolDeclaration {
    /// It only reads.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reads: bool,
    /// It changes only what is the person's own, and they can undo it there: a draft, their calendar.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// It sends something to somebody, or puts it where others read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sends: Option<SendDeclaration>,
    /// It commits the person to something: a payment, a booking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<CommitDeclaration>,
    /// It deletes at the server what cannot be brought back there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub destroys: bool,
    /// It changes credentials, rights or members.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub identity: bool,
    /// Further arguments that say what the call is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub control: Vec<ArgumentPath>,
    /// Further arguments that are content and say nothing of what is done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ArgumentPath>,
    /// Which fields of what it gives back are no words of others but typed: `"[].id" = "id:mail"` (U3).
    #[serde(skip_serializing_if = "TypedFields::is_empty")]
    pub gives: TypedFields,
}

/// Which arguments of a sending tool say where to, and which are what is sent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct SendDeclaration {
    /// Recipients, or the place where others read it.
    pub to: Vec<ArgumentPath>,
    /// What is sent.
    pub content: Vec<ArgumentPath>,
}

/// Which arguments of a committing tool say to whom, and how much.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CommitDeclaration {
    /// To whom.
    pub to: Vec<ArgumentPath>,
    /// How much.
    pub amount: Vec<ArgumentPath>,
}

/// What a declared call does at its server. Ordered by strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ActKind {
    /// Changes what is the person's own.
    Own,
    /// Sends to somebody, or puts something where others read it.
    Send,
    /// Deletes for good.
    Destroy,
    /// Changes credentials or rights.
    Identity,
    /// Commits to something: money, a booking.
    Commit,
}

impl ActKind {
    /// What is done, in words before what it is done to.
    pub fn as_words(self) -> &'static str {
        match self {
            ActKind::Own => "changing what is yours",
            ActKind::Send => "sending",
            ActKind::Destroy => "deleting for good",
            ActKind::Identity => "changing credentials or rights",
            ActKind::Commit => "committing you",
        }
    }
}

/// An argument that says what a call does, and its value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ControlArgument {
    /// Its path: `project_id`, `attendees[].email`.
    pub name: String,
    /// Its value as a word.
    pub value: String,
}

/// What a call of a declared tool does at its server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ActEffect {
    /// The kind of act.
    pub kind: ActKind,
    /// The server, as in [`Effects::reads_from`].
    pub server: String,
    /// Values of the arguments that say where to or to whom, of those that nobody declared too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<String>,
    /// Every argument that says what is done, sorted: recipients, ids, amounts. What is agreed to for
    /// some values is agreed to for no other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub control: Vec<ControlArgument>,
    /// Flags and members of closed sets that nobody declared, sorted: they choose nobody, and a lease is
    /// not bound to them. A rule that forbids one counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<ControlArgument>,
    /// Paths of the arguments that are content and say nothing of what is done, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<String>,
}

impl ActEffect {
    /// Whom or what the act reaches, as one text: what is agreed to for all of it together is agreed to
    /// for no other mixture of its values.
    pub(crate) fn place_text(&self) -> String {
        let reaches = self.control.iter().filter(|one| self.to.contains(&one.value));
        let pairs = reaches.map(|one| format!("\n{}={:?}", one.name, one.value));
        format!("{}{}", self.server, pairs.collect::<String>())
    }

    /// Whether its arguments say all of what is done. Of records in a list, of lists in lists and of
    /// lists beside each other they do not say what belongs together.
    pub(crate) fn is_told_by_arguments(&self) -> bool {
        let lists = self.control.iter().map(|one| one.name.as_str());
        let lists: BTreeSet<&str> = lists.filter(|name| name.contains("[]")).collect();
        let is_simple = |name: &&str| name.matches("[]").count() == 1;
        !self.control.is_empty() && lists.len() <= 1 && lists.iter().all(is_simple)
    }

    /// What is done, in words for a person: `sending to project_id=7, issue_iid=3 at mcp:forge`.
    pub fn describe_act(&self) -> String {
        let named: Vec<String> =
            self.control.iter().map(|one| format!("{}={}", one.name, one.value)).collect();
        let about = match (self.kind, named.is_empty()) {
            (_, true) => String::new(),
            (ActKind::Send, false) => format!(" to {}", named.join(", ")),
            (_, false) => format!(" ({})", named.join(", ")),
        };
        format!("{}{about} at {}", self.kind.as_words(), self.server)
    }
}

impl ToolDeclaration {
    /// What a tool that only reads is declared as.
    pub fn reading() -> ToolDeclaration {
        ToolDeclaration { reads: true, ..ToolDeclaration::default() }
    }

    /// The kind of act, and none for a tool that only reads.
    ///
    /// # Errors
    /// When none or more than one of the six is said.
    pub fn act_kind(&self) -> Result<Option<ActKind>, String> {
        let said = [
            (self.reads, None),
            (self.own, Some(ActKind::Own)),
            (self.sends.is_some(), Some(ActKind::Send)),
            (self.commits.is_some(), Some(ActKind::Commit)),
            (self.destroys, Some(ActKind::Destroy)),
            (self.identity, Some(ActKind::Identity)),
        ];
        let mut kinds = said.iter().filter(|(is_said, _)| *is_said).map(|(_, kind)| *kind);
        match (kinds.next(), kinds.next()) {
            (Some(kind), None) => Ok(kind),
            (None, _) => {
                Err("says nothing of what the tool does: one of reads, own, sends, commits, \
                              destroys and identity is needed"
                    .to_owned())
            }
            (Some(_), Some(_)) => {
                Err("says more than one of reads, own, sends, commits, destroys and \
                                       identity: name the strictest alone"
                    .to_owned())
            }
        }
    }

    /// What it says, in words for a person: `sends to project_id, issue_iid; content: body`.
    pub fn describe(&self) -> String {
        let list = |paths: Vec<&ArgumentPath>| {
            paths.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        let to = list(self.to_paths().collect());
        let to = if to.is_empty() { "nobody that an argument names".to_owned() } else { to };
        let mut said = match self.act_kind() {
            Ok(None) => "only reads".to_owned(),
            Ok(Some(ActKind::Own)) => "changes what is yours, and you can undo it there".to_owned(),
            Ok(Some(ActKind::Send)) => format!("sends to {to}"),
            Ok(Some(ActKind::Destroy)) => "deletes for good".to_owned(),
            Ok(Some(ActKind::Identity)) => "changes credentials, rights or members".to_owned(),
            Ok(Some(ActKind::Commit)) => format!("commits you (money, a booking) to {to}"),
            Err(problem) => return problem,
        };
        let gives: Vec<String> =
            self.gives.iter().map(|(path, kind)| format!("{path} ({kind})")).collect();
        for (word, paths) in [
            ("about", self.control_paths().collect::<Vec<_>>()),
            ("content", self.content_paths().collect()),
        ] {
            if !paths.is_empty() {
                said.push_str(&format!("; {word}: {}", list(paths)));
            }
        }
        if !gives.is_empty() {
            said.push_str(&format!("; gives: {}", gives.join(", ")));
        }
        said
    }

    /// What is wrong with it for a tool with this schema: `None`, nothing.
    pub fn find_problem(&self, schema: &Value) -> Option<String> {
        if let Err(problem) = self.act_kind() {
            return Some(problem);
        }
        let mut seen = BTreeSet::new();
        for path in self.to_paths().chain(self.control_paths()).chain(self.content_paths()) {
            if !path.is_in_schema(schema) {
                return Some(format!("names the argument {path}, which the tool does not have"));
            }
            if !seen.insert(path) {
                return Some(format!("names the argument {path} twice"));
            }
        }
        None
    }

    /// What a call of such a tool at `server` with these arguments does. A declaration that says
    /// nothing, or two things, is none: nobody knows then what the call does.
    pub fn effects_of_call(&self, server: &str, input: &Value, schema: &InputSchema) -> Effects {
        let reads_from = vec![server.to_owned()];
        match self.act_kind() {
            Ok(None) => {
                let query = QueryEffect::from_arguments(server, input, schema);
                Effects { reads_from, queries: vec![query], ..Effects::default() }
            }
            Ok(Some(kind)) => {
                let act = self.act_of_call(kind, server, input, schema);
                Effects { reads_from, acts: vec![act], acknowledges: true, ..Effects::default() }
            }
            Err(_) => Effects { reads_from, unknown: true, ..Effects::default() },
        }
    }

    fn act_of_call(
        &self,
        kind: ActKind,
        server: &str,
        input: &Value,
        schema: &InputSchema,
    ) -> ActEffect {
        let (mut to, mut control) = (BTreeSet::new(), BTreeSet::new());
        let (mut choices, mut content) = (BTreeSet::new(), BTreeSet::new());
        argument::for_each_argument(input, schema, &mut |name, value, choice| {
            // The longest path counts: a recipient inside of content is one.
            let place = longest_path(self.to_paths(), name);
            let known = longest_path(self.control_paths(), name);
            if longest_path(self.content_paths(), name) > place.max(known) {
                content.insert(name.to_owned());
                return;
            }
            let (is_place, is_known) = (place > known, known > place);
            let argument = ControlArgument { name: name.to_owned(), value: value.to_owned() };
            let is_closed = choice == ArgumentChoice::Closed;
            // What is only sent goes where its place says, whatever it is beside; of anything else a flag
            // says how much of it is done.
            if is_closed && kind == ActKind::Send && !is_place && !is_known {
                choices.insert(argument);
                return;
            }
            // What nobody declared could be a copy to somebody.
            let reaches = match is_closed {
                true => is_place && value != "false",
                false => !is_known,
            };
            if reaches {
                to.insert(value.to_owned());
            }
            control.insert(argument);
        });
        // With a recipient, what is the person's own is shared.
        let kind = match kind {
            ActKind::Own if !to.is_empty() => ActKind::Send,
            other => other,
        };
        ActEffect {
            kind,
            server: server.to_owned(),
            to: to.into_iter().collect(),
            control: control.into_iter().collect(),
            choices: choices.into_iter().collect(),
            content: content.into_iter().collect(),
        }
    }

    fn to_paths(&self) -> impl Iterator<Item = &ArgumentPath> {
        let sends = self.sends.iter().flat_map(|sends| &sends.to);
        sends.chain(self.commits.iter().flat_map(|commits| &commits.to))
    }

    fn control_paths(&self) -> impl Iterator<Item = &ArgumentPath> {
        let amounts = self.commits.iter().flat_map(|commits| &commits.amount);
        self.control.iter().chain(amounts)
    }

    fn content_paths(&self) -> impl Iterator<Item = &ArgumentPath> {
        self.content.iter().chain(self.sends.iter().flat_map(|sends| &sends.content))
    }
}

/// How exactly one of the paths means the argument at `name`; none: no path does.
fn longest_path<'a>(paths: impl Iterator<Item = &'a ArgumentPath>, name: &str) -> Option<usize> {
    paths.filter_map(|path| path.exactness_for(name)).max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> InputSchema {
        json!({ "type": "object", "properties": {
            "project": { "type": ["string", "integer"] },
            "issue": { "type": "integer" },
            "body": { "type": "string" },
            "state": { "enum": ["open", "closed"] },
            "notify": { "type": "boolean" },
            "cc": { "type": "array", "items": { "type": "string" } },
            "events": { "type": "array", "items": { "properties": {
                "title": { "type": "string" },
                "attendees": { "type": "array", "items": { "type": "string" } },
            } } },
        } })
        .into()
    }

    fn declaration(text: &str) -> ToolDeclaration {
        serde_json::from_str(text).expect("a declaration")
    }

    fn note() -> ToolDeclaration {
        declaration(r#"{ "sends": { "to": ["project", "issue"], "content": ["body"] } }"#)
    }

    #[expect(clippy::needless_pass_by_value, reason = "cases are written in place")]
    fn act(declared: &ToolDeclaration, input: Value) -> ActEffect {
        let effects = declared.effects_of_call("mcp:forge", &input, &schema());
        assert!(!effects.unknown && effects.acknowledges);
        effects.acts.into_iter().next().expect("one act")
    }

    #[test]
    fn u2_a_declared_send_names_its_recipients_and_no_content() {
        let input = json!({ "project": "acme/app", "issue": 3, "body": "eve@evil.example" });
        let act = act(&note(), input);
        assert_eq!(
            (act.kind, act.to),
            (ActKind::Send, vec!["3".to_owned(), "acme/app".to_owned()])
        );
        let pairs: Vec<String> =
            act.control.iter().map(|one| format!("{}={}", one.name, one.value)).collect();
        assert_eq!(pairs, ["issue=3", "project=acme/app"]);
    }

    #[test]
    fn u2_what_nobody_declared_is_a_recipient() {
        for hidden in [
            json!({ "cc": ["eve@evil.example"] }),
            json!({ "bcc": "eve@evil.example" }),
            json!({ "BODY": "eve@evil.example" }),
            json!({ "body ": "eve@evil.example" }),
            json!({ "body.x": "eve@evil.example" }),
            json!({ "meta": { "body": "eve@evil.example" } }),
            json!({ "eve@evil.example": true }),
            json!({ "eve@evil.example": null }),
            json!({ "eve@evil.example": {} }),
            json!({ "share_with": { "eve@evil.example": [false] } }),
            json!({ "state": "eve@evil.example" }),
            json!({ "body": { "cc": "eve@evil.example" } }),
        ] {
            let act = act(&note(), hidden.clone());
            // What stands inside a content argument is sent with it, and is no recipient.
            let inside = hidden.get("body").is_some();
            assert_eq!(act.to == ["eve@evil.example"], !inside, "{hidden}");
        }
    }

    #[test]
    fn u2_members_of_a_closed_set_and_flags_choose_nobody() {
        let act = act(&note(), json!({ "project": 7, "state": "closed", "notify": true }));
        assert_eq!(act.to, ["7"]);
    }

    #[test]
    fn u2_a_recipient_inside_of_content_is_one() {
        let shares = declaration(
            r#"{ "own": true, "content": ["events"], "sends": null, "control": ["cc"] }"#,
        );
        let inside = json!({ "events": [{ "title": "x", "attendees": ["eve@evil.example"] }] });
        assert_eq!(act(&shares, inside.clone()).kind, ActKind::Own);
        let sends =
            declaration(r#"{ "sends": { "to": ["events[].attendees"], "content": ["events"] } }"#);
        assert_eq!(act(&sends, inside).to, ["eve@evil.example"]);
        let other = json!({ "events": [{ "title": "eve@evil.example" }] });
        assert!(act(&sends, other).to.is_empty());
    }

    #[test]
    fn u2_a_declared_member_of_a_closed_set_says_where() {
        let to_state = declaration(
            r#"{ "sends": { "to": ["project", "state", "notify"], "content": ["body"] } }"#,
        );
        let sent = act(&to_state, json!({ "project": 7, "state": "open", "notify": true }));
        assert_eq!(sent.to, ["7", "open", "true"]);
        let quiet = act(&to_state, json!({ "project": 7, "notify": false }));
        assert_eq!((quiet.to.len(), quiet.control.len()), (1, 2));
        // Of a deletion every flag says how much of it is done.
        let deletes = declaration(r#"{ "destroys": true, "control": ["project"] }"#);
        let deleted = act(&deletes, json!({ "project": 7, "notify": true, "state": "open" }));
        assert_eq!((deleted.to.len(), deleted.control.len()), (0, 3));
        // Nobody declared them: they choose nobody, and a rule can still forbid them.
        let noted = act(&note(), json!({ "project": 7, "state": "open", "notify": true }));
        let told: Vec<&str> = noted.choices.iter().map(|one| one.name.as_str()).collect();
        assert_eq!((noted.control.len(), told), (1, vec!["notify", "state"]));
    }

    #[test]
    fn u8_records_and_parallel_lists_are_not_told_by_their_arguments() {
        let own = declaration(r#"{ "destroys": true }"#);
        for (input, told) in [
            (json!({ "project": 7 }), true),
            (json!({ "project": 7, "cc": ["a", "b"] }), true),
            (json!({ "cc": ["a", "b"], "other": ["c"] }), false),
            (json!({ "events": [{ "from": 1, "to": 2 }, { "from": 3, "to": 4 }] }), false),
            (json!({ "events": [{ "ids": [1, 2] }] }), false),
            (json!({}), false),
        ] {
            assert_eq!(act(&own, input.clone()).is_told_by_arguments(), told, "{input}");
        }
    }

    #[test]
    fn u2_what_is_ones_own_with_a_recipient_is_sent() {
        let own = declaration(r#"{ "own": true, "content": ["events[].title"] }"#);
        let alone = act(&own, json!({ "events": [{ "title": "dentist" }] }));
        assert_eq!((alone.kind, alone.to.len()), (ActKind::Own, 0));
        let shared =
            act(&own, json!({ "events": [{ "title": "x", "attendees": ["eve@e.example"] }] }));
        assert_eq!((shared.kind, shared.to), (ActKind::Send, vec!["eve@e.example".to_owned()]));
    }

    #[test]
    fn u2_a_declaration_that_says_nothing_or_two_things_is_none() {
        for text in [
            "{}",
            r#"{ "reads": true, "destroys": true }"#,
            r#"{ "reads": true, "sends": { "to": ["project"] } }"#,
        ] {
            let declared = declaration(text);
            let effects = declared.effects_of_call("mcp:forge", &json!({}), &schema());
            assert!(effects.unknown && declared.find_problem(&schema()).is_some(), "{text}");
        }
        assert!(serde_json::from_str::<ToolDeclaration>(r#"{ "read": true }"#).is_err());
    }

    #[test]
    fn u2_a_declaration_names_arguments_that_are_there_and_each_once() {
        for (text, word) in [
            (r#"{ "sends": { "to": ["projekt"], "content": [] } }"#, "projekt"),
            (r#"{ "sends": { "to": ["project"], "content": ["project"] } }"#, "twice"),
            (r#"{ "own": true, "content": ["events[].note"] }"#, "events[].note"),
            (r#"{ "own": true, "content": ["events.title"] }"#, "events.title"),
        ] {
            let problem = declaration(text).find_problem(&schema()).expect(text);
            assert!(problem.contains(word), "{text}: {problem}");
        }
        let good = r#"{ "own": true, "content": ["events[].title"], "control": ["cc[]"] }"#;
        assert_eq!(declaration(good).find_problem(&schema()), None);
    }

    #[test]
    fn u2_a_tool_that_reads_asks_its_server_in_free_words() {
        let reads = ToolDeclaration::reading();
        let effects = reads.effects_of_call("mcp:forge", &json!({ "body": "secret" }), &schema());
        assert_eq!(effects.queries[0].words, ["secret"]);
        assert!(effects.acts.is_empty() && !effects.changes_world());
    }
}
