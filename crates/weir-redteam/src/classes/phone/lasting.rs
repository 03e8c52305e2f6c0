//! A telephone that will be revoked wants what stays behind, what holds for everybody, or a program that is
//! started from then on. The goal is reached when any of it is there.

use anyhow::ensure;
use serde_json::{Value, json};

use super::house::{self, Caller, PhoneHouse};
use super::outcome;
use crate::campaign::Outcome;

const RULES: &str = "/settings/rules";
/// A rule that would allow every command.
const RULE: &str = "Shell(*)";

/// Everything. `session`: one of the person's.
pub(super) async fn want_what_stays(
    house: &PhoneHouse,
    phone: &Caller,
    session: &str,
) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = of_the_account(phone).await?;
    outcomes.extend(for_everybody(phone, session).await?);
    outcomes.extend(rules_and_trust(house, phone).await?);
    let started = house.work.join(house::BAIT_STARTED).exists();
    let reached = started.then(|| "the program ran".to_owned());
    outcomes.push(outcome("a foreign server, started by a telephone", reached, "the server"));
    let before = house.app.list_phones().await.map_err(anyhow::Error::msg)?.len();
    ensure!(before > 0, "no telephone is paired");
    Ok(outcomes)
}

/// Other ways into the account.
async fn of_the_account(phone: &Caller) -> anyhow::Result<Vec<Outcome>> {
    let cases = [
        ("a token", "/api/v1/account/tokens", json!({ "name": "x", "scope": "all" })),
        ("an account", "/api/v1/users", json!({ "name": "mallory", "password": house::PASSWORD })),
        ("a password", "/api/v1/account/password", json!({ "old": "", "new": house::PASSWORD })),
        ("a passkey", "/api/v1/account/passkeys/question", json!({ "password": "" })),
    ];
    let mut outcomes = Vec::new();
    for (name, path, wish) in cases {
        let answer = phone.clone().api("POST", path, &wish).await?;
        let reached = (answer.status < 400).then(|| format!("{name} was made"));
        outcomes.push(outcome(&format!("{name}, made by a telephone"), reached, "the server"));
    }
    Ok(outcomes)
}

/// What holds for everybody or starts programs. It must be refused for who asks: that something is missing,
/// or wrong, would say nothing.
async fn for_everybody(phone: &Caller, session: &str) -> anyhow::Result<Vec<Outcome>> {
    let host = json!({ "value": "evil.example", "for_all": true });
    let recipient = json!({ "value": "@evil.example", "for_all": true });
    let setting = json!({ "for_all": true, "version": null, "values": { "permission": "full" } });
    let link = json!({ "session": session, "follow": true });
    let bait = format!("/api/v1/library/servers/{}", house::BAIT);
    let (look, approve) = (format!("{bait}/look"), format!("{bait}/approve"));
    let cases = [
        ("a host on the list of everybody", "PUT", "/api/v1/settings/lists/hosts", host),
        ("a recipient of everybody", "PUT", "/api/v1/settings/lists/recipients", recipient),
        ("a setting for everybody", "PATCH", "/api/v1/settings", setting),
        ("a public link to a chat", "POST", "/api/v1/shares", link),
        ("a look at a foreign server", "POST", look.as_str(), json!({})),
        ("the approval of a foreign server", "POST", approve.as_str(), json!({})),
        ("a plugin that is enabled", "POST", "/api/v1/library/plugins/x/enable", json!({})),
        ("a made tool that is accepted", "POST", "/api/v1/library/made/x/accept", json!({})),
        ("a proposed setting", "POST", "/api/v1/library/settings/model/accept", json!({})),
    ];
    let mut outcomes = Vec::new();
    for (name, method, path, wish) in cases {
        let answer = phone.clone().api(method, path, &wish).await?;
        let reached = (answer.status != 403).then(|| format!("answered {}", answer.status));
        outcomes.push(outcome(&format!("{name}, by a telephone"), reached, "the server"));
    }
    Ok(outcomes)
}

/// Rules and trusted folders, in the two steps of their page.
async fn rules_and_trust(house: &PhoneHouse, phone: &Caller) -> anyhow::Result<Vec<Outcome>> {
    let folder = house.work.display().to_string();
    let cases =
        [("a rule for everybody", "allow", RULE), ("trust in a folder", "trust", folder.as_str())];
    for (_, deed, what) in cases {
        let first = phone.clone().form(RULES, &[("deed", deed), ("what", what)]).await?;
        let hash = first.body.split("name=\"hash\" value=\"").nth(1);
        let hash = hash.and_then(|rest| rest.split('"').next()).unwrap_or_default();
        let fields = [("deed", deed), ("what", what), ("hash", hash)];
        phone.clone().form(RULES, &fields).await?;
    }
    let shown = house.ann.clone().api("GET", RULES, &Value::Null).await?;
    ensure!(shown.status == 200, "the rules are not shown: {}", shown.body);
    let outcomes = cases.map(|(name, _, what)| {
        let stands = shown.body.contains(&format!("<code>{what}</code>"));
        let reached = stands.then(|| "it stands there".to_owned());
        outcome(&format!("{name}, by a telephone"), reached, "the server")
    });
    Ok(outcomes.into())
}
