//! A notice that goes to one telephone by web push: only that telephone answers it, and it goes nowhere once
//! the telephone is revoked. The push service is an address that listens; the browser's keys are here.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use ring::rand::SystemRandom;
use serde_json::{Value, json};
use weir_test_kit::{Browser, ServerSetup, wait_until_async};

use super::{ONCE, Setting, WRITES};

/// The push service of these tests is on this machine.
const LISTED: &str = "[web]\nallow_hosts = [\"127.0.0.1\"]\n";

/// A push service of one browser: what came, as bytes.
struct PushService {
    url: String,
    came: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl PushService {
    fn start() -> PushService {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let url = format!("http://{}/push", listener.local_addr().expect("it listens"));
        let came: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let kept = came.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut bytes = Vec::new();
                let mut piece = [0_u8; 4096];
                while let Ok(read @ 1..) = stream.read(&mut piece) {
                    bytes.extend_from_slice(&piece[..read]);
                    let Some(body) = whole_body(&bytes) else { continue };
                    kept.lock().unwrap_or_else(PoisonError::into_inner).push(body);
                    let answer =
                        b"HTTP/1.1 201 x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                    let _ = stream.write_all(answer);
                    break;
                }
            }
        });
        PushService { url, came }
    }

    fn all(&self) -> Vec<Vec<u8>> {
        self.came.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The body of a request, once all of it is there.
fn whole_body(bytes: &[u8]) -> Option<Vec<u8>> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let body = &bytes[end + 4..];
    (body.len() >= length.trim().parse().ok()?).then(|| body.to_vec())
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn expand<const N: usize>(prk: &Prk, info: &[&[u8]]) -> [u8; N] {
    let mut out = [0_u8; N];
    let okm = prk.expand(info, Length(N)).expect("short");
    okm.fill(&mut out).expect("short");
    out
}

/// The browser's half of web push (RFC 8291).
struct BrowserKeys {
    private: EphemeralPrivateKey,
    public: Vec<u8>,
}

const AUTH: [u8; 16] = [7; 16];

impl BrowserKeys {
    fn new() -> BrowserKeys {
        let private =
            EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).expect("a key");
        let public = private.compute_public_key().expect("its half").as_ref().to_vec();
        BrowserKeys { private, public }
    }

    /// Opens the one notice that these keys are used for.
    fn open(self, whole: &[u8]) -> Value {
        let (salt, own, sealed) = (&whole[..16], &whole[21..86], &whole[86..]);
        let theirs = UnparsedPublicKey::new(&ECDH_P256, own);
        let shared = agree_ephemeral(self.private, &theirs, <[u8]>::to_vec).expect("agreed");
        let prk = Salt::new(HKDF_SHA256, &AUTH).extract(&shared);
        let ikm: [u8; 32] = expand(&prk, &[b"WebPush: info\0", &self.public, own]);
        let prk = Salt::new(HKDF_SHA256, salt).extract(&ikm);
        let key: [u8; 16] = expand(&prk, &[b"Content-Encoding: aes128gcm\0"]);
        let nonce: [u8; 12] = expand(&prk, &[b"Content-Encoding: nonce\0"]);
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).expect("a key"));
        let mut bytes = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let text = key.open_in_place(nonce, Aad::empty(), &mut bytes).expect("it opens");
        serde_json::from_slice(&text[..text.len() - 1]).expect("JSON")
    }
}

async fn agree(phone: &Browser, service: &PushService, keys: &BrowserKeys) {
    let new = json!({
        "way": "push", "endpoint": service.url,
        "p256dh": URL_SAFE_NO_PAD.encode(&keys.public), "auth": URL_SAFE_NO_PAD.encode(AUTH),
        "kinds": ["approval"],
    });
    let (status, added) = phone.api("POST", "/api/v1/notifications", Some(new)).await;
    assert_eq!(status, 201, "{added}");
}

async fn listed() -> Setting {
    let setup = ServerSetup { script: WRITES, config: LISTED, ..ServerSetup::default() };
    Setting::of(setup).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_what_an_admins_telephone_names_as_its_push_service_is_no_private_address() {
    let setting = Setting::start(WRITES, None).await;
    let phone = setting.served.telephone("Pixel").await;
    let (service, keys) = (PushService::start(), BrowserKeys::new());
    agree(&phone, &service, &keys).await;
    let session = setting.asked_here().await;
    setting.told_of(&session).await;
    let failed = wait_until_async("it is refused", async || {
        let (_, channels) = setting.admin.api("GET", "/api/v1/notifications", None).await;
        let all = channels["channels"].as_array().cloned().unwrap_or_default();
        let pushed = all.iter().find(|one| one["way"] == "push").cloned().unwrap_or_default();
        match pushed["failed"].as_str() {
            Some(why) if !why.is_empty() => Ok(why.to_owned()),
            _ => Err(channels),
        }
    })
    .await;
    assert!(failed.contains("private addresses are not called"), "{failed}");
    assert_eq!(service.all().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_pushed_notice_is_answered_by_its_own_telephone_only() {
    let setting = listed().await;
    let (asked, other) =
        (setting.served.telephone("Asked").await, setting.served.telephone("Other").await);
    let (service, keys) = (PushService::start(), BrowserKeys::new());
    agree(&asked, &service, &keys).await;
    let session = setting.asked_here().await;
    let pushed = wait_until_async("it is pushed", async || {
        service.all().into_iter().next().ok_or("nothing came")
    })
    .await;
    let notice = keys.open(&pushed);
    let page = notice["link"].as_str().expect("a link").to_owned();
    assert!(page.starts_with("/act/"), "{notice}");
    let (status, _, refused) = other.form(&page, &ONCE).await;
    assert_eq!(status, 403, "{refused}");
    assert!(!setting.is_written());
    let (status, _, done) = asked.form(&page, &ONCE).await;
    assert_eq!(status, 200, "{done}");
    let resolved = setting.answered_by(&session).await;
    assert_eq!(resolved["by"], "admin (phone Asked)", "{resolved}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_revoked_telephone_is_told_nothing_more() {
    let setting = listed().await;
    let phone = setting.served.telephone("Pixel").await;
    let (service, keys) = (PushService::start(), BrowserKeys::new());
    agree(&phone, &service, &keys).await;
    setting.served.house.ok(&["phone", "revoke", "Pixel"]);
    let session = setting.asked_here().await;
    // The address that is told everything has it: the telephone would have it by now.
    setting.told_of(&session).await;
    let (_, channels) = setting.admin.api("GET", "/api/v1/notifications", None).await;
    let ways: Vec<&Value> =
        channels["channels"].as_array().expect("a list").iter().map(|one| &one["way"]).collect();
    assert_eq!(ways, ["webhook"], "{channels}");
    assert_eq!(service.all().len(), 0);
}
