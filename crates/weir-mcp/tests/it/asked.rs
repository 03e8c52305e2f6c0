//! What a server may ask of us: folders, the person, the model. What nobody allowed is declined.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use weir_core::model::Usage;
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

struct Model(Mutex<Vec<SamplingRequest>>);

#[async_trait]
impl Sampler for Model {
    async fn sample(
        &self,
        question: SamplingRequest,
        _bounds: Option<Arc<dyn CallBounds>>,
    ) -> Result<SamplingResult, SamplingFailure> {
        self.0.lock().expect("no test panics with it").push(question);
        Ok(SamplingResult {
            model: "m".into(),
            text: "4".into(),
            usage: Usage::default(),
            cost_usd: None,
        })
    }
}

#[tokio::test(start_paused = true)]
async fn f4_the_model_is_asked_where_a_person_allowed_it_and_within_bounds() {
    let fake = Fake::new(Era::Old);
    let model = Arc::new(Model(Mutex::default()));
    let hub = approved_with(&[("a", &fake)], |options, spec| {
        options.sampler = Some(model.clone());
        spec.sampling = true;
    })
    .await;
    let said = answer(&fake, &hub, "sampling/createMessage", question()).await;
    assert_eq!(said["result"]["content"]["text"], "4");
    let asked = model.0.lock().expect("no test panics with it")[0].clone();
    assert_eq!(asked.messages, [(true, "2+2?".to_owned())]);
    assert_eq!(asked.tokens_max, 4_096, "not as many as it wishes for");
    let image = json!({ "messages": [{ "role": "user", "content": {
        "type": "image", "data": "", "mimeType": "image/png" } }], "maxTokens": 1 });
    let said = answer(&fake, &hub, "sampling/createMessage", image).await;
    assert!(said["error"]["message"].as_str().is_some_and(|why| why.contains("only text")));
    for _ in 0..30 {
        answer(&fake, &hub, "sampling/createMessage", question()).await;
    }
    assert_eq!(
        model.0.lock().expect("no test panics with it").len(),
        19,
        "one was refused for its picture, 20 are asked"
    );
}

#[tokio::test(start_paused = true)]
async fn f4_sampling_stays_off_for_a_server_that_may_not() {
    let fake = Fake::new(Era::Old);
    let model = Arc::new(Model(Mutex::default()));
    let hub =
        approved_with(&[("a", &fake)], |options, _| options.sampler = Some(model.clone())).await;
    let said = answer(&fake, &hub, "sampling/createMessage", question()).await;
    assert!(said["error"].is_object());
    assert!(model.0.lock().expect("no test panics with it").is_empty());
}
