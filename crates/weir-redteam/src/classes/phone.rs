//! Answers from notices, by others than the telephone that was asked, and telephones that nobody at the
//! terminal paired (R5). Whoever attacks reads every notice, owns an account of their own and the person's
//! other browsers, and may write into the database; they have neither a paired telephone nor the server's key.
//! The goal is reached when what waits does not wait any more. Beside that a paired telephone that will be lost
//! wants what outlives it (`lasting`).

use std::collections::BTreeSet;

use anyhow::ensure;
use futures::future::join_all;
use serde_json::{Value, json};
use weir_engine::ports::RecordEntry;

use super::outcome;
use crate::Bench;
use crate::campaign::Outcome;

mod house;
mod lasting;

use house::{Caller, PhoneHouse, Waiting};

/// What an answer may be; anything else is none.
const ONCE: [(&str, &str); 1] = [("decision", "once")];
/// The kind of the entries of answers.
const ACT: &str = "phone_act";
/// Tries at once.
const AT_ONCE: usize = 8;
/// Codes that are guessed from one address.
const GUESSES: usize = 40;

/// Everything.
pub(super) async fn answered_by_others(_bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let mut house = PhoneHouse::open().await?;
    let phone = house.telephone("Pixel").await?;
    let eve = house.person("eve").await?;
    let mut outcomes = by_hand(&mut house, &phone, &eve).await?;
    outcomes.extend(forged(&mut house, &phone).await?);
    outcomes.extend(changed_in_the_database(&mut house, &phone, &eve).await?);
    outcomes.extend(other_decisions(&mut house, &phone).await?);
    outcomes.extend(repeated(&mut house, &phone).await?);
    outcomes.extend(after_the_end(&mut house).await?);
    outcomes.extend(other_telephones(&mut house).await?);
    house.close().await;
    Ok(outcomes)
}

/// Notes an attempt at something that must wait on.
async fn note(
    house: &mut PhoneHouse,
    outcomes: &mut Vec<Outcome>,
    name: &str,
    waiting: &Waiting,
) -> anyhow::Result<()> {
    let reached = house.reached(waiting).await?;
    outcomes.push(outcome(name, reached, "the server"));
    Ok(())
}

/// Whoever has the address of the answer, and no telephone; and what only looks.
async fn by_hand(
    house: &mut PhoneHouse,
    phone: &Caller,
    eve: &Caller,
) -> anyhow::Result<Vec<Outcome>> {
    let waiting = house.waiting().await?;
    let mut outcomes = Vec::new();
    for (who, mut caller) in
        [("a stranger", house.stranger()), ("a messenger that knows the cookie", phone.clone())]
    {
        for method in ["GET", "HEAD", "OPTIONS"] {
            for path in [waiting.page.clone(), format!("{}?decision=once", waiting.page)] {
                caller.send(&format!("{method} {path}"), &[], "").await?;
                let prefetch = ["sec-purpose: prefetch;prerender".to_owned()];
                caller.send(&format!("{method} {path}"), &prefetch, "").await?;
            }
            note(house, &mut outcomes, &format!("{method} by {who}"), &waiting).await?;
        }
    }
    for method in ["PUT", "PATCH", "DELETE"] {
        let mut caller = phone.clone();
        caller.api(method, &waiting.page, &json!({ "decision": "once" })).await?;
        note(house, &mut outcomes, &format!("{method} by the telephone"), &waiting).await?;
    }
    let desktop = house.sign_in("ann").await?;
    for (who, mut caller) in [
        ("a stranger", house.stranger()),
        ("another person", eve.clone()),
        ("another browser of the person", desktop),
    ] {
        caller.form(&waiting.page, &ONCE).await?;
        note(house, &mut outcomes, &format!("an answer by {who}"), &waiting).await?;
    }
    from_other_sites(house, phone, &waiting, &mut outcomes).await?;
    Ok(outcomes)
}

/// A page elsewhere has the telephone's browser send the answer.
async fn from_other_sites(
    house: &mut PhoneHouse,
    phone: &Caller,
    waiting: &Waiting,
    outcomes: &mut Vec<Outcome>,
) -> anyhow::Result<()> {
    let form = "content-type: application/x-www-form-urlencoded".to_owned();
    let own = format!("origin: {}", phone.origin());
    let evil = "origin: https://evil.example".to_owned();
    let body = format!("decision=once&csrf={}", phone.csrf);
    let cases: [(&str, Vec<String>, &str); 5] = [
        ("from another site", vec![form.clone(), evil.clone()], body.as_str()),
        (
            "from another port of this machine",
            vec![form.clone(), own.clone(), "sec-fetch-site: same-site".to_owned()],
            body.as_str(),
        ),
        ("from nowhere", vec![form.clone(), "origin: null".to_owned()], body.as_str()),
        ("without the page's word", vec![form.clone(), own.clone()], "decision=once"),
        ("with a wrong word", vec![form, own], "decision=once&csrf=AAAA"),
    ];
    for (name, lines, body) in cases {
        phone.clone().send(&format!("POST {}", waiting.page), &lines, body).await?;
        note(house, outcomes, &format!("an answer of the telephone {name}"), waiting).await?;
    }
    Ok(())
}

/// Addresses that were never given.
async fn forged(house: &mut PhoneHouse, phone: &Caller) -> anyhow::Result<Vec<Outcome>> {
    let waiting = house.waiting().await?;
    let other = house.waiting().await?;
    let token = waiting.page.trim_start_matches("/act/").to_owned();
    let (random, mac) = token.split_once('.').unwrap_or((&token, ""));
    let (other_random, other_mac) =
        other.page.trim_start_matches("/act/").split_once('.').unwrap_or_default();
    let flipped = |text: &str| {
        let first = if text.starts_with('A') { 'B' } else { 'A' };
        text.chars().enumerate().map(|(at, c)| if at == 0 { first } else { c }).collect::<String>()
    };
    let cases = [
        ("nothing", String::new()),
        ("a word", "x".to_owned()),
        ("the random half alone", random.to_owned()),
        ("an empty signature", format!("{random}.")),
        ("another signature", format!("{random}.{}", flipped(mac))),
        ("a shorter signature", format!("{random}.{}", &mac[..mac.len().saturating_sub(4)])),
        ("the signature of another answer", format!("{random}.{other_mac}")),
        ("the random half of another answer", format!("{other_random}.{mac}")),
        ("another random half", format!("{}.{mac}", flipped(random))),
        ("the approval by its name", waiting.approval.clone()),
        ("a path", format!("../act/{random}")),
        ("a random half of signs", format!("%00.{mac}")),
        ("a long one", format!("{}.{mac}", "A".repeat(8_000))),
    ];
    let mut outcomes = Vec::new();
    for (name, token) in cases {
        phone.clone().form(&format!("/act/{token}"), &ONCE).await?;
        let reached = match house.reached(&waiting).await? {
            None => house.reached(&other).await?,
            reached => reached,
        };
        outcomes.push(outcome(&format!("forged: {name}"), reached, "the server"));
    }
    Ok(outcomes)
}

/// The entry of an answer that is open now: the only one there is.
async fn only_entry(house: &PhoneHouse) -> anyhow::Result<RecordEntry> {
    let now = house.app.clock.now();
    let mut found = house.app.records.list(ACT, None, now).await?;
    ensure!(found.len() == 1, "{} answers are kept", found.len());
    Ok(found.remove(0))
}

async fn forget_entries(house: &PhoneHouse) -> anyhow::Result<()> {
    for entry in house.app.records.list(ACT, None, house.app.clock.now()).await? {
        house.app.records.remove(ACT, &entry.name).await?;
    }
    Ok(())
}

/// What is kept of an answer is exchanged for something else, by whoever writes into the database: another
/// session, call, content, decision, telephone, person or end.
async fn changed_in_the_database(
    house: &mut PhoneHouse,
    phone: &Caller,
    eve: &Caller,
) -> anyhow::Result<Vec<Outcome>> {
    forget_entries(house).await?;
    let seen = house.waiting().await?;
    let entry = only_entry(house).await?;
    house.app.records.remove(ACT, &entry.name).await?;
    let wanted = house.waiting().await?;
    let target = only_entry(house).await?;
    let me = eve.clone().api("GET", "/api/v1/me", &Value::Null).await?.json()?;
    let eve_id = me["id"].as_str().unwrap_or_default().to_owned();
    let text: Value = serde_json::from_str(&entry.text)?;
    let with = |key: &str, value: Value| {
        let mut changed = text.clone();
        changed[key] = value;
        RecordEntry { text: changed.to_string(), ..entry.clone() }
    };
    let target_text: Value = serde_json::from_str(&target.text)?;
    let hour = house.app.clock.now().plus_ms(3_600_000 * 24);
    let cases = [
        ("all of another answer", RecordEntry { text: target.text.clone(), ..entry.clone() }),
        ("another session", with("session", target_text["session"].clone())),
        ("another call", with("approval", target_text["approval"].clone())),
        ("other content", with("digest", target_text["digest"].clone())),
        ("another decision", with("decisions", json!(["once", "deny", "session", "always"]))),
        ("another telephone", with("source", json!({ "phone": "x" }))),
        ("another channel", with("source", json!({ "channel": "x" }))),
        ("another person", RecordEntry { owner: eve_id, ..entry.clone() }),
        ("a later end", RecordEntry { expires: Some(hour), ..entry.clone() }),
        ("no end", RecordEntry { expires: None, ..entry.clone() }),
        ("an end that is past", RecordEntry { expires: Some(entry.ts), ..entry.clone() }),
    ];
    let mut outcomes = Vec::new();
    for (name, changed) in cases {
        house.app.records.put(&changed, None).await?;
        for decision in ["once", "always"] {
            phone.clone().form(&seen.page, &[("decision", decision)]).await?;
            eve.clone().form(&seen.page, &[("decision", decision)]).await?;
        }
        let reached = match house.reached(&seen).await? {
            None => house.reached(&wanted).await?,
            reached => reached,
        };
        outcomes.push(outcome(&format!("exchanged: {name}"), reached, "the server"));
    }
    // As it was it counts: what was refused was refused for what was changed.
    house.app.records.put(&entry, None).await?;
    let given = phone.clone().form(&seen.page, &ONCE).await?;
    ensure!(given.status == 200, "the honest answer was refused: {}", given.body);
    house.rest(&seen).await?;
    Ok(outcomes)
}

/// What was offered is once or no; nothing that lasts.
async fn other_decisions(house: &mut PhoneHouse, phone: &Caller) -> anyhow::Result<Vec<Outcome>> {
    let waiting = house.waiting().await?;
    let mut outcomes = Vec::new();
    for decision in ["session", "always", "cancelled", "Once", "", "once,always", "timeout"] {
        phone.clone().form(&waiting.page, &[("decision", decision)]).await?;
        let name = format!("the decision {decision:?}");
        note(house, &mut outcomes, &name, &waiting).await?;
    }
    phone.clone().form(&waiting.page, &[]).await?;
    note(house, &mut outcomes, "no decision", &waiting).await?;
    Ok(outcomes)
}

/// The same answer more than once, one after the other and at once.
async fn repeated(house: &mut PhoneHouse, phone: &Caller) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    let waiting = house.waiting().await?;
    let given = phone.clone().form(&waiting.page, &[("decision", "deny")]).await?;
    ensure!(given.status == 200, "the honest no was refused: {}", given.body);
    house.rest(&waiting).await?;
    let again = phone.clone().form(&waiting.page, &ONCE).await?;
    let reached = (again.status < 400).then(|| "a second answer counted".to_owned());
    outcomes.push(outcome("a yes after the no", reached, "the server"));
    let waiting = house.waiting().await?;
    let all = (0..AT_ONCE).map(|at| {
        let (mut phone, page) = (phone.clone(), waiting.page.clone());
        let decision = if at % 2 == 0 { "deny" } else { "once" };
        async move { phone.form(&page, &[("decision", decision)]).await }
    });
    let mut counted = 0;
    for answer in join_all(all).await {
        counted += usize::from(answer?.status == 200);
    }
    house.rest(&waiting).await?;
    let reached = (counted != 1).then(|| format!("{counted} of {AT_ONCE} counted"));
    outcomes.push(outcome("many at once", reached, "the server"));
    // Answered elsewhere, what the notice carries answers nothing.
    let waiting = house.waiting().await?;
    let path = format!("/api/v1/approvals/{}", waiting.approval);
    house.ann.api("POST", &path, &json!({ "decision": "deny" })).await?;
    house.rest(&waiting).await?;
    let late = phone.clone().form(&waiting.page, &ONCE).await?;
    let reached = (late.status < 400).then(|| "it counted".to_owned());
    outcomes.push(outcome("after somebody else answered", reached, "the server"));
    Ok(outcomes)
}

/// The telephone was revoked, the channel taken away, its person sent off.
async fn after_the_end(house: &mut PhoneHouse) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    let lost = house.telephone("Lost").await?;
    let waiting = house.waiting().await?;
    let phones = house.app.list_phones().await.map_err(anyhow::Error::msg)?;
    let Some(phone) = phones.iter().find(|phone| phone.name == "Lost") else {
        anyhow::bail!("the telephone is not listed")
    };
    let gone = house.app.revoke_phone(&phone.id).await.map_err(anyhow::Error::msg)?;
    ensure!(gone, "it was not there");
    lost.clone().form(&waiting.page, &ONCE).await?;
    note(house, &mut outcomes, "an answer after the telephone was revoked", &waiting).await?;
    let path = format!("/api/v1/approvals/{}", waiting.approval);
    lost.clone().api("POST", &path, &json!({ "decision": "once" })).await?;
    note(house, &mut outcomes, "the page of approvals after the revoking", &waiting).await?;
    let looked = lost.clone().api("GET", "/api/v1/sessions", &Value::Null).await?;
    let reached = (looked.status != 401).then(|| "sessions are shown".to_owned());
    outcomes.push(outcome("looking after the revoking", reached, "the server"));
    let left = house.telephone("Left").await?;
    let all = house.ann.api("GET", "/api/v1/notifications", &Value::Null).await?.json()?;
    let channel = all["channels"][0]["id"].as_str().unwrap_or_default().to_owned();
    let path = format!("/api/v1/notifications/{channel}");
    let removed = house.ann.api("DELETE", &path, &Value::Null).await?;
    ensure!(removed.status == 204, "the channel is still there: {}", removed.body);
    left.clone().form(&waiting.page, &ONCE).await?;
    note(house, &mut outcomes, "an answer of a channel that was taken away", &waiting).await?;
    outcomes.extend(lasting::want_what_stays(house, &left, &waiting.session).await?);
    Ok(outcomes)
}

/// Telephones that nobody at the terminal meant.
async fn other_telephones(house: &mut PhoneHouse) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    let code = house.code().await?;
    let mut looking = house.stranger();
    for path in ["/phone".to_owned(), format!("/phone?code={code}")] {
        looking.send(&format!("GET {path}"), &[], "").await?;
        looking.send(&format!("HEAD {path}"), &[], "").await?;
    }
    let signed_in = looking.api("GET", "/api/v1/me", &Value::Null).await?;
    let reached = (signed_in.status == 200).then(|| "looking paired it".to_owned());
    outcomes.push(outcome("a code in an address that is fetched", reached, "the server"));
    let elsewhere = [
        "origin: https://evil.example".to_owned(),
        "content-type: application/x-www-form-urlencoded".to_owned(),
    ];
    looking.send("POST /phone", &elsewhere, &format!("code={code}&name=x")).await?;
    let signed_in = looking.api("GET", "/api/v1/me", &Value::Null).await?;
    let reached = (signed_in.status == 200).then(|| "it was paired".to_owned());
    outcomes.push(outcome("a code sent by a page elsewhere", reached, "the server"));
    let all = (0..AT_ONCE).map(|_| {
        let (mut caller, code) = (house.stranger(), code.clone());
        async move { caller.form("/phone", &[("code", code.as_str()), ("name", "x")]).await }
    });
    let mut paired = 0;
    for answer in join_all(all).await {
        paired += usize::from(answer?.status == 303);
    }
    let reached = (paired != 1).then(|| format!("{paired} of {AT_ONCE} were paired"));
    outcomes.push(outcome("many telephones with one code", reached, "the server"));
    let old = house.code().await?;
    house.code().await?;
    let withdrawn = house.code().await?;
    house.app.withdraw_pairing(&withdrawn).await.map_err(anyhow::Error::msg)?;
    for (name, code) in [
        ("a code that was used", code),
        ("a code that another one followed", old),
        ("a code that was withdrawn", withdrawn),
        ("an empty code", String::new()),
    ] {
        let answer =
            house.stranger().form("/phone", &[("code", code.as_str()), ("name", "x")]).await?;
        let reached = (answer.status == 303).then(|| "it was paired".to_owned());
        outcomes.push(outcome(name, reached, "the server"));
    }
    let mut seen = BTreeSet::new();
    for at in 0..GUESSES {
        let guess = format!("AAAA-AAAA-AAAA-{at:04}");
        let fields = [("code", guess.as_str()), ("name", "x")];
        seen.insert(house.stranger().form("/phone", &fields).await?.status);
    }
    let reached = (!seen.contains(&429) || seen.contains(&303))
        .then(|| format!("guessing goes on: {seen:?}"));
    outcomes.push(outcome("guessing codes", reached, "the server"));
    Ok(outcomes)
}
