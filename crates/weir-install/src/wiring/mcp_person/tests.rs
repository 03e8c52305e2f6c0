//! What a server's question becomes for the person, and the answer for the server. Not here: the
//! journal and the faces (`tests/it/approvals`).

use std::collections::VecDeque;
use std::sync::Mutex;

use serde_json::json;

use super::*;

/// Answers in this order, and keeps what it was asked.
#[derive(Default)]
struct Answers {
    left: Mutex<VecDeque<Option<&'static str>>>,
    asked: Mutex<Vec<(String, Vec<String>)>>,
    /// What the answers were for.
    fields: Mutex<Vec<QuestionField>>,
}

#[async_trait]
impl PersonPrompter for Answers {
    async fn ask_person(&self, server: &str, text: &str, options: &[String]) -> Option<String> {
        assert_eq!(server, "hub");
        self.asked.lock().expect("one test").push((text.to_owned(), options.to_vec()));
        self.left.lock().expect("one test").pop_front().flatten().map(str::to_owned)
    }

    async fn ask_for_field(
        &self,
        server: &str,
        text: &str,
        options: &[String],
        field: &QuestionField,
    ) -> Option<String> {
        self.fields.lock().expect("one test").push(field.clone());
        self.ask_person(server, text, options).await
    }
}

async fn asked(
    question: Elicitation,
    answers: &[Option<&'static str>],
) -> (ElicitationOutcome, Vec<(String, Vec<String>)>) {
    let person = Arc::new(Answers::default());
    person.left.lock().expect("one test").extend(answers);
    let elicited = ByQuestions.ask_person(question, Some(person.clone())).await;
    let asked = person.asked.lock().expect("one test").clone();
    (elicited, asked)
}

fn form(schema: Value) -> Elicitation {
    let message = "Who\u{202e} are you?".to_owned();
    Elicitation { server: "hub".into(), message, form: Some(schema), url: None }
}

fn person() -> Elicitation {
    form(json!({"type": "object", "required": ["name", "age"], "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2},
        "age": {"type": "integer", "minimum": 18},
        "plan": {"type": "string", "enum": ["free", "paid"], "enumNames": ["Free", "Paid"]},
        "news": {"type": "boolean"},
    }}))
}

#[tokio::test]
async fn r3_a_form_is_asked_field_by_field_and_shown_whole_before_it_is_sent() {
    let said = [Some("Ada"), Some("17"), Some("forty"), Some("40"), Some("Paid"), Some("yes")];
    let (elicited, asked) = asked(person(), &[&said[..], &[Some("Send")]].concat()).await;
    let sent = json!({"name": "Ada", "age": 40, "plan": "paid", "news": true});
    assert_eq!(elicited, ElicitationOutcome::Accepted(sent), "{asked:?}");
    assert!(asked.iter().all(|(text, _)| text.starts_with("The server hub asks you:\n> Who")));
    assert!(asked.iter().all(|(text, _)| !text.contains('\u{202e}')), "what hides is named");
    assert!(asked[2].0.contains("out of the bounds") && asked[3].0.contains("a whole number"));
    assert_eq!(asked[4].1, ["Free", "Paid", "Leave it out", "Decline", "Cancel"]);
    let (last, options) = asked.last().expect("it was shown");
    assert!(last.contains("sent to the server hub") && last.contains("\"plan\": \"paid\""));
    assert_eq!(options, &["Send", "Decline", "Cancel"]);
}

#[tokio::test]
async fn r3_what_the_server_proposes_is_offered_first_and_taken_by_a_word_of_the_persons() {
    let proposing = form(json!({"type": "object", "required": ["name"], "properties": {
        "age": {"type": "integer", "minimum": 18, "default": 17},
        "big": {"type": "string", "default": "x".repeat(300)},
        "mark": {"type": "number", "default": 95.5},
        "name": {"type": "string", "default": "John\u{202e} Doe"},
        "news": {"type": "boolean", "default": false},
        "none": {"type": "string", "default": ""},
        "plan": {"type": "string", "enum": ["free", "paid"], "enumNames": ["Free", "Paid"], "default": "paid"},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "default": ["b", "a"]},
        "word": {"type": "string", "enum": ["x"], "default": "y"},
    }}));
    let left = "Leave it out";
    let given = ["20", "short", "Use 95.5"].into_iter();
    let given = given.chain([
        "Use John<U+202E> Doe",
        "Use no",
        "Use nothing at all",
        "Use Paid",
        "Use b, a",
    ]);
    let said: Vec<_> = given.chain([left, "Send"]).map(Some).collect();
    let (elicited, asked) = asked(proposing, &said).await;
    let options = |at: usize| asked[at].1.iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(options(0), [left, "Decline", "Cancel"], "what does not fit is not offered");
    assert_eq!(options(1), [left, "Decline", "Cancel"], "nor what one cannot look over");
    assert_eq!(options(4), ["Use no", "yes", "no", left, "Decline", "Cancel"]);
    assert_eq!(options(8), ["x", left, "Decline", "Cancel"]);
    let sent = json!({"age": 20, "big": "short", "mark": 95.5, "name": "John\u{202e} Doe", "news": false,
        "none": "", "plan": "paid", "tags": ["b", "a"]});
    assert_eq!(elicited, ElicitationOutcome::Accepted(sent), "{asked:?}");
}

#[tokio::test]
async fn r3_what_each_answer_is_for_is_told_with_its_type_bounds_and_default() {
    let choices = json!([{"const": "a,b", "title": "A\u{202e}"}, {"const": "c", "title": "C"}]);
    let schema = json!({"type": "object", "required": ["age"], "properties": {
        "age": {"type": "integer", "minimum": 17.5, "maximum": 99, "default": 40},
        "mail": {"type": "string", "format": "email", "title": "Mail", "description": "Yours."},
        "news": {"type": "boolean", "default": true},
        "part": {"type": "number", "minimum": 0.5},
        "tags": {"type": "array", "items": {"anyOf": choices}, "default": ["c"]},
    }});
    let said = ["40", "a@b.example", "yes", "0.7", r#"["a,b", "c"]"#, "Send"].map(Some);
    let person = Arc::new(Answers::default());
    person.left.lock().expect("one test").extend(said);
    let elicited = ByQuestions.ask_person(form(schema), Some(person.clone())).await;
    let sent =
        json!({"age": 40, "mail": "a@b.example", "news": true, "part": 0.7, "tags": ["a,b", "c"]});
    assert_eq!(elicited, ElicitationOutcome::Accepted(sent));
    let fields = person.fields.lock().expect("one test").clone();
    let fields = serde_json::to_value(fields).expect("plain data");
    let value = |required: bool, schema: Value| json!({"kind": "value", "required": required, "schema": schema});
    let shown = json!([{"const": "a,b", "title": "A<U+202E>"}, {"const": "c", "title": "C"}]);
    let age =
        json!({"type": "integer", "minimum": 18, "maximum": 99, "title": "age", "default": 40});
    let mail = json!({
        "type": "string", "minLength": 0, "maxLength": 10_000, "format": "email",
        "title": "Mail [mail]", "description": "Yours.",
    });
    let news = json!({"type": "boolean", "title": "news", "default": true});
    let part = json!({"type": "number", "minimum": 0.5, "title": "part"});
    let tags =
        json!({"type": "array", "items": {"anyOf": shown}, "title": "tags", "default": ["c"]});
    let expected = json!([
        value(true, age),
        value(false, mail),
        value(false, news),
        value(false, part),
        value(false, tags),
    ]);
    assert_eq!(fields, expected);
}

#[tokio::test]
async fn r3_nothing_is_sent_without_the_last_yes() {
    let given = [Some("Ada"), Some("40"), Some("Leave it out"), Some("Leave it out")];
    for (last, expected) in [
        (Some("Decline"), ElicitationOutcome::Declined),
        (Some("cancel"), ElicitationOutcome::Cancelled),
        (Some("hm"), ElicitationOutcome::Declined),
        (None, ElicitationOutcome::Declined),
        (Some("send"), ElicitationOutcome::Accepted(json!({"age": 40, "name": "Ada"}))),
    ] {
        let (elicited, asked) = asked(person(), &[&given[..], &[last]].concat()).await;
        assert_eq!(elicited, expected, "{last:?} {asked:?}");
    }
    assert_eq!(asked(person(), &[None]).await.0, ElicitationOutcome::Declined, "nobody attends");
    assert_eq!(
        asked(person(), &[Some("x"); 9]).await.0,
        ElicitationOutcome::Declined,
        "it never fits"
    );
    assert_eq!(
        ByQuestions.ask_person(person(), None).await,
        ElicitationOutcome::Declined,
        "of no call"
    );
}

#[tokio::test]
async fn r3_a_secret_is_never_asked() {
    for (name, field) in [
        ("api_key", json!({"type": "string"})),
        ("x", json!({"type": "string", "title": "Your password"})),
        ("y", json!({"type": "string", "format": "password"})),
        ("z", json!({"type": "string", "description": "The access token of your account"})),
    ] {
        let question = form(json!({"type": "object", "properties": {name: field}}));
        let (elicited, asked) = asked(question, &[Some("hunter2"), Some("Send")]).await;
        assert_eq!(elicited, ElicitationOutcome::Declined, "{name}");
        assert_eq!(asked.len(), 1, "it is told and nothing is asked: {asked:?}");
        assert_eq!(asked[0].1, ["Decline"]);
    }
}

#[tokio::test]
async fn r3_what_is_no_form_is_declined() {
    for schema in [
        json!({"properties": {"a": {"type": "object"}}}),
        json!({"properties": {"a": {"type": "array", "items": {"type": "string"}}}}),
        json!({"properties": {"a": {"type": "string", "enum": [1, 2]}}}),
        json!({"properties": 7}),
    ] {
        let (elicited, asked) = asked(form(schema.clone()), &[Some("x"), Some("Send")]).await;
        assert_eq!((elicited, asked.len()), (ElicitationOutcome::Declined, 0), "{schema}");
    }
    let (elicited, asked) = asked(form(json!({})), &[Some("Send")]).await;
    assert_eq!(elicited, ElicitationOutcome::Accepted(json!({})), "a plain yes: {asked:?}");
}

#[tokio::test]
async fn r3_a_page_is_named_and_opened_by_the_person_alone() {
    let page = |url: &str| Elicitation { form: None, url: Some(url.into()), ..person() };
    let (elicited, shown) = asked(page("https://a.example/x"), &[Some("I opened it")]).await;
    assert_eq!(elicited, ElicitationOutcome::Accepted(json!({})));
    assert!(shown[0].0.contains("a page at a.example"), "{shown:?}");
    let (elicited, _) = asked(page("https://a.example/x"), &[Some("no")]).await;
    assert_eq!(elicited, ElicitationOutcome::Declined);
    let (elicited, shown) = asked(page("file:///etc/passwd"), &[Some("I opened it")]).await;
    assert_eq!((elicited, shown.len()), (ElicitationOutcome::Declined, 0));
}
