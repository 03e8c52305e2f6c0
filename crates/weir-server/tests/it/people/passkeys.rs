//! Passkeys, by an authenticator made of software: what real ones send, byte by byte, and what a thief
//! would change in it (S2).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use weir_test_kit::{Browser, PASSWORD, ServerSetup, TestServer};

/// The user was there and verified, and a new key comes along.
const ADDS: u8 = 0x45;
/// The user was there and verified.
const SIGNS: u8 = 0x05;

struct Authenticator {
    key: EcdsaKeyPair,
    id: [u8; 16],
    /// What differs from what a browser at the right site would send.
    host: String,
    origin: String,
}

fn b64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Authenticator {
    fn new(origin: &str) -> Authenticator {
        let random = SystemRandom::new();
        let pkcs8 =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).expect("a key");
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random)
                .expect("it can be read");
        Authenticator { key, id: [7; 16], host: "localhost".into(), origin: origin.into() }
    }

    fn client_data(&self, kind: &str, challenge: &str) -> Vec<u8> {
        json!({ "type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": false })
            .to_string()
            .into_bytes()
    }

    fn data(&self, flags: u8, count: u32) -> Vec<u8> {
        let mut data = Sha256::digest(self.host.as_bytes()).to_vec();
        data.push(flags);
        data.extend(count.to_be_bytes());
        data
    }

    fn added(&self, challenge: &str, flags: u8) -> Value {
        let mut data = self.data(flags, 0);
        data.extend([0; 16]);
        data.extend([0, 16]);
        data.extend(self.id);
        let point = self.key.public_key().as_ref();
        data.extend([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]);
        data.extend(&point[1..33]);
        data.extend([0x22, 0x58, 0x20]);
        data.extend(&point[33..]);
        let mut attestation = vec![0xa3, 0x63];
        attestation.extend(b"fmt\x64none\x67attStmt\xa0\x68authData\x58");
        attestation.push(u8::try_from(data.len()).expect("short"));
        attestation.extend(data);
        json!({
            "called": "software",
            "client_data": b64(&self.client_data("webauthn.create", challenge)),
            "attestation": b64(&attestation),
        })
    }

    fn asserted(&self, challenge: &str, flags: u8, count: u32) -> Value {
        let client = self.client_data("webauthn.get", challenge);
        let data = self.data(flags, count);
        let mut signed = data.clone();
        signed.extend(Sha256::digest(&client));
        let signature = self.key.sign(&SystemRandom::new(), &signed).expect("signed");
        json!({
            "id": b64(&self.id), "client_data": b64(&client), "authenticator_data": b64(&data),
            "signature": b64(signature.as_ref()),
        })
    }
}

/// A call of a script on a page of `http://localhost`.
async fn call(browser: &Browser, path: &str, body: Value) -> (u16, Value) {
    let host = browser.address().replace("127.0.0.1", "localhost");
    let request = reqwest::Client::new()
        .post(format!("{}{path}", browser.origin()))
        .header("host", &host)
        .header("origin", format!("http://{host}"))
        .header("cookie", browser.cookie())
        .header("x-csrf-token", browser.token())
        .header("content-type", "application/json")
        .body(body.to_string());
    let response = browser.send(request).await;
    let status = response.status().as_u16();
    let text = response.text().await.expect("a body");
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

async fn question(browser: &Browser, path: &str) -> String {
    let (status, asked) = call(browser, path, json!({ "password": PASSWORD })).await;
    assert_eq!(status, 200, "{asked}");
    assert_eq!(asked["host"], "localhost");
    asked["challenge"].as_str().expect("a challenge").to_owned()
}

const ADD: &str = "/api/v1/account/passkeys";
const ASK_TO_ADD: &str = "/api/v1/account/passkeys/question";
const SIGN_IN: &str = "/api/v1/passkey/login";
const ASK: &str = "/api/v1/passkey/question";

#[tokio::test(flavor = "multi_thread")]
async fn s2_a_passkey_signs_in_alone_and_is_asked_for_beside_the_password() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let ann = served.person("ann").await;
    let site = ann.origin().replace("127.0.0.1", "localhost");
    let mut key = Authenticator::new(&site);
    let (status, _) = call(&ann, ASK_TO_ADD, json!({ "password": "wrong" })).await;
    assert_eq!(status, 403, "a thief at the open browser adds none");
    let challenge = question(&ann, ASK_TO_ADD).await;
    assert_eq!(call(&ann, ADD, key.added(&challenge, 0x41)).await.0, 401, "nobody was verified");
    let challenge = question(&ann, ASK_TO_ADD).await;
    key.origin = "https://evil.example".into();
    assert_eq!(call(&ann, ADD, key.added(&challenge, ADDS)).await.0, 401, "made elsewhere");
    key.origin = site;
    let challenge = question(&ann, ASK_TO_ADD).await;
    let (status, said) = call(&ann, ADD, key.added(&challenge, ADDS)).await;
    assert_eq!(status, 204, "{said}");
    assert_eq!(call(&ann, ADD, key.added(&challenge, ADDS)).await.0, 401, "asked once");
    // In by it, without a name.
    let browser = served.stranger();
    let challenge = question(&browser, ASK).await;
    let (status, me) = call(&browser, SIGN_IN, key.asserted(&challenge, SIGNS, 1)).await;
    assert_eq!((status, me["name"].as_str()), (200, Some("ann")), "{me}");
    assert_eq!(browser.api("GET", "/api/v1/me", None).await.0, 200);
    let body = json!({ "name": "ann", "password": PASSWORD });
    let (status, said) = served.stranger().api("POST", "/api/v1/login", Some(body)).await;
    assert_eq!(
        (status, said["code"].as_str()),
        (401, Some("second_factor")),
        "not by password alone"
    );
    // What a thief would change.
    let thief = served.stranger();
    let refused = async |said: Value, why: &str| {
        assert_eq!(call(&thief, SIGN_IN, said).await.0, 401, "{why}");
    };
    refused(key.asserted(&challenge, SIGNS, 2), "an answer that was heard before").await;
    refused(key.asserted("made-up", SIGNS, 2), "a question that nobody asked").await;
    refused(key.asserted(&question(&thief, ASK).await, SIGNS, 1), "it counts backwards").await;
    refused(key.asserted(&question(&thief, ASK).await, 0x01, 2), "nobody was verified").await;
    let other = Authenticator::new(&key.origin);
    refused(other.asserted(&question(&thief, ASK).await, SIGNS, 2), "another's signature").await;
    let mut elsewhere = key.asserted(&question(&thief, ASK).await, SIGNS, 2);
    elsewhere["user"] = json!(b64(b"somebody else"));
    refused(elsewhere, "another's handle").await;
    key.host = "evil.example".into();
    refused(key.asserted(&question(&thief, ASK).await, SIGNS, 2), "for another site").await;
    key.host = "localhost".into();
    let adds = question(&ann, ASK_TO_ADD).await;
    refused(key.asserted(&adds, SIGNS, 2), "a question for something else").await;
    let challenge = question(&thief, ASK).await;
    let (status, _) = call(&thief, SIGN_IN, key.asserted(&challenge, SIGNS, 2)).await;
    assert_eq!(status, 200, "the key itself goes on");
}
