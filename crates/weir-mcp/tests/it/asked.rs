//! What a server may ask of us: folders, the person, the model. What nobody allowed is declined.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use weir_engine::ports::CallBounds;
use weir_mcp::{
    Elicitation, ElicitationHandler, ElicitationOutcome, Sampler, SamplingFailure, SamplingRequest,
    SamplingResult,
};

use crate::world::*;

async fn answer(fake: &Arc<Fake>, hub: &weir_mcp::McpHub, method: &'static str, p: Value) -> Value {
    fake.does(Do::Ask(method, p));
    let result = call(hub, "a", "echo").await.expect("it answers");
    serde_json::from_str(&text_of(&result)).expect("our answer is JSON")
}

fn form() -> Value {
    json!({ "message": "Your \u{202e}name?", "requestedSchema": {
        "type": "object", "properties": { "name": { "type": "string" } } } })
}

fn question() -> Value {
    json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "2+2?" } }],
        "maxTokens": 1_000_000 })
}

#[tokio::test(start_paused = true)]
async fn f4_the_workspace_is_the_only_root() {
    let fake = Fake::new(Era::Old);
    let hub = approved(&[("a", &fake)]).await;
    let said = answer(&fake, &hub, "roots/list", json!({})).await;
    assert_eq!(said["result"]["roots"], json!([{ "uri": "file:///work%20space/a" }]));
}

#[tokio::test(start_paused = true)]
async fn f4_what_nobody_allowed_is_declined() {
    let fake = Fake::new(Era::Old);
    let hub = approved(&[("a", &fake)]).await;
    let said = answer(&fake, &hub, "elicitation/create", form()).await;
    assert_eq!(said["result"]["action"], "decline");
    let said = answer(&fake, &hub, "sampling/createMessage", question()).await;
    assert!(said["error"]["message"].as_str().is_some_and(|why| why.contains("no server may ask")));
    // It was not even told that it could.
    let heard = fake.heard.lock().expect("no test panics with it").clone();
    let able = &heard[0]["params"]["capabilities"];
    assert!(able["sampling"].is_null() && able["elicitation"].is_null(), "{able}");
}

struct Person(Mutex<Vec<Elicitation>>);

#[async_trait]
impl ElicitationHandler for Person {
    async fn ask_person(
        &self,
        question: Elicitation,
        _: Option<Arc<dyn weir_engine::ports::PersonPrompter>>,
    ) -> ElicitationOutcome {
        let wants_page = question.url.is_some();
        self.0.lock().expect("no test panics with it").push(question);
        match wants_page {
            true => ElicitationOutcome::Declined,
            false => ElicitationOutcome::Accepted(json!({ "name": "Ada" })),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn f4_a_person_who_attends_is_asked() {
    let fake = Fake::new(Era::Old);
    let person = Arc::new(Person(Mutex::default()));
    let hub = approved_with(&[("a", &fake)], |options, _| {
        options.elicit = Some(person.clone());
    })
    .await;
    let said = answer(&fake, &hub, "elicitation/create", form()).await;
    assert_eq!(said["result"], json!({ "action": "accept", "content": { "name": "Ada" } }));
    let page = json!({ "mode": "url", "message": "Look", "url": "https://a.example/x",
        "elicitationId": "1" });
    let said = answer(&fake, &hub, "elicitation/create", page).await;
    assert_eq!(said["result"]["action"], "decline");
    let asked = person.0.lock().expect("no test panics with it").clone();
    assert_eq!(asked[0].server, "a", "it is asked under the name that the person gave it");
    assert_eq!(asked[0].message, "Your name?", "what hides is not shown");
    assert_eq!(asked[1].url.as_deref(), Some("https://a.example/x"));
}

/// A model that nobody may reach past the session.
struct Model;

#[async_trait]
impl Sampler for Model {
    fn model_name(&self) -> String {
        "m".into()
    }
    async fn sample(
        &self,
        _: &str,
        _: SamplingRequest,
        _: Arc<dyn CallBounds>,
    ) -> Result<SamplingResult, SamplingFailure> {
        panic!("no session let it pass")
    }
}

#[tokio::test(start_paused = true)]
async fn r3_for_a_persons_own_call_no_session_judges_so_no_model_is_asked() {
    for sampling in [true, false] {
        let fake = Fake::new(Era::Old);
        let hub = approved_with(&[("a", &fake)], |options, spec| {
            options.sampler = Some(Arc::new(Model));
            spec.sampling = sampling;
        })
        .await;
        let said = answer(&fake, &hub, "sampling/createMessage", question()).await;
        assert!(said["error"].is_object(), "{said}");
        let heard = fake.heard.lock().expect("no test panics with it").clone();
        let able = &heard[0]["params"]["capabilities"]["sampling"];
        assert_eq!(able.is_object(), sampling, "it is told what it may ask");
    }
}

#[tokio::test(start_paused = true)]
async fn r3_what_stands_for_a_servers_questions_is_offered_to_nobody() {
    let fake = Fake::new(Era::Old);
    let of = async |sampling: bool| {
        let hub = approved_with(&[("a", &fake)], |options, spec| {
            options.sampler = Some(Arc::new(Model));
            spec.sampling = sampling;
        })
        .await;
        let tools = hub.tools();
        let named = tools.iter().map(|tool| (tool.spec().name.clone(), tool.is_offered()));
        named.filter(|(_, offered)| !offered).collect::<Vec<_>>()
    };
    assert_eq!(of(true).await, [("mcp__a__sampling".to_owned(), false)]);
    assert!(of(false).await.is_empty());
}
