//! Signing in from a face: by password, with a one-time code, over https (S1, S2). The terminal is
//! the one that `script` makes.

use ring::hmac;
use weir_test_kit::{PASSWORD, TestInstallation};

use super::*;

/// How long a one-time code holds, seconds.
const STEP_S: u64 = 30;

async fn logins(browser: &Browser) -> usize {
    let (status, list) = browser.api("GET", "/api/v1/account/logins", None).await;
    assert_eq!(status, 200, "{list}");
    list["items"].as_array().expect("items").len()
}

#[tokio::test]
async fn s2_attach_a_password_lets_one_in_and_leaving_ends_the_sign_in() {
    let script = "name: test\n\nsays: Hello to you.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let before = logins(&admin).await;
    let url = served.url("");
    let mut face = served.house.start_face_at_terminal(&[], &["--attach", &url]);
    face.until("Name: ", 1).await;
    face.type_line("admin");
    face.until("Password (not shown): ", 1).await;
    face.type_line("a wrong guess of it");
    // It says why, and asks again.
    face.until("Name: ", 2).await;
    face.type_line("admin");
    face.until("Password (not shown): ", 2).await;
    face.type_line(PASSWORD);
    face.until("you are admin on", 1).await;
    assert_eq!(logins(&admin).await, before + 1);
    face.type_line("Hello.");
    face.until("Hello to you.", 1).await;
    face.type_line("/quit");
    let (status, said) = face.close_input_until_end().await.status_and_text();
    assert_eq!(status, 0, "{said}");
    assert!(!said.contains(PASSWORD) && !said.contains("a wrong guess"), "{said}");
    assert_eq!(logins(&admin).await, before, "nothing of it is left");
}

#[tokio::test]
async fn s2_attach_who_is_let_in_by_nothing_is_told_after_three_times() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    served.admin().await;
    let url = served.url("");
    let mut face = served.house.start_face_at_terminal(&[], &["--attach", &url]);
    for time in 1..=3 {
        face.until("Name: ", time).await;
        face.type_line("admin");
        face.until("Password (not shown): ", time).await;
        face.type_line("not it at all");
    }
    let (status, said) = face.close_input_until_end().await.status_and_text();
    assert_eq!(status, 2, "{said}");
    assert_eq!(said.matches("Name: ").count(), 3, "{said}");
}

/// What an authenticator app shows so many steps from now.
fn code(secret: &[u8], ahead: u64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let step = now.expect("after 1970").as_secs() / STEP_S + ahead;
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let bytes = tag.as_ref();
    let at = usize::from(bytes[bytes.len() - 1] & 0x0f);
    let number = u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    format!("{:06}", (number & 0x7fff_ffff) % 1_000_000)
}

/// The secret that the page shows for an app, in base 32.
fn secret(page: &str) -> Vec<u8> {
    let shown = page.split("secret-once\">").nth(1).expect("a secret");
    let shown = shown.split('<').next().expect("a secret");
    let (mut bytes, mut buffer, mut bits) = (Vec::new(), 0_u32, 0);
    for letter in shown.bytes().filter(u8::is_ascii_alphanumeric) {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            other => other - b'2' + 26,
        };
        buffer = (buffer << 5) | u32::from(value);
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((buffer >> bits) as u8);
            buffer &= (1 << bits) - 1;
        }
    }
    bytes
}

#[tokio::test]
async fn s2_attach_a_one_time_code_is_asked_for_where_the_account_has_one() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let (status, page) = admin.get("/account/security/app").await;
    assert_eq!(status, 200, "{page}");
    let secret = secret(&page);
    let fields = [("code", code(&secret, 0)), ("password", PASSWORD.to_owned())];
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    let (status, _, page) = admin.form("/account/security/app", &fields).await;
    assert_eq!(status, 200, "{page}");
    let url = served.url("");
    let mut face = served.house.start_face_at_terminal(&[], &["--attach", &url]);
    for (time, code) in [(1, "000000".to_owned()), (2, code(&secret, 1))] {
        face.until("Name: ", time).await;
        face.type_line("admin");
        face.until("Password (not shown): ", time).await;
        face.type_line(PASSWORD);
        face.until("Code of your authenticator app, or a recovery code: ", time).await;
        face.type_line(&code);
    }
    face.until("you are admin on", 1).await;
    face.type_line("/quit");
    let (status, said) = face.close_input_until_end().await.status_and_text();
    assert_eq!(status, 0, "{said}");
}

/// A certificate for this address, and the file of the authority that signed it.
fn certificates(house: &TestInstallation) -> std::path::PathBuf {
    let authority_key = rcgen::KeyPair::generate().expect("a key");
    let mut authority = rcgen::CertificateParams::new(Vec::<String>::new()).expect("a name");
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    authority.distinguished_name.push(rcgen::DnType::CommonName, "an authority of one's own");
    let made = authority.self_signed(&authority_key).expect("a certificate");
    let key = rcgen::KeyPair::generate().expect("a key");
    let leaf = rcgen::CertificateParams::new(vec!["127.0.0.1".into()]).expect("an address");
    let issuer = rcgen::Issuer::from_params(&authority, &authority_key);
    let leaf = leaf.signed_by(&key, &issuer).expect("a certificate");
    house.write(&house.at("key.pem"), &key.serialize_pem());
    house.write(&house.at("chain.pem"), &leaf.pem());
    let trusted = house.at("authority.pem");
    house.write(&trusted, &made.pem());
    trusted
}

#[tokio::test]
async fn s1_attach_speaks_https_with_whom_the_system_or_the_person_trusts() {
    let script = "name: test\n\nsays: Hello over TLS.\n\nsays: And again.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let token = token(&served.admin().await).await;
    // No certificate is needed where none is shown.
    let nothing = served.house.at("nothing.pem");
    served.house.write(&nothing, "");
    let nothing = nothing.display().to_string();
    let env = [("WEIR_TOKEN", token.as_str()), ("SSL_CERT_FILE", nothing.as_str())];
    let url = served.url("");
    let mut face = served.house.start_face(&env, &["--attach", &url]);
    face.until("you are admin on", 1).await;
    drop(face);

    assert_eq!(served.stop().await, 0);
    let trusted = certificates(&served.house).display().to_string();
    let config = std::fs::read_to_string(served.house.user_config()).expect("there");
    let at = |name: &str| served.house.at(name).display().to_string();
    let tls = format!("[server]\ncertificate = {:?}\nkey = {:?}\n", at("chain.pem"), at("key.pem"));
    served.house.write(&served.house.user_config(), &(config + &tls));
    served.restart().await;
    let url = format!("https://{}", served.address());

    let strange = served.house.start_face(&[("WEIR_TOKEN", &token)], &["--attach", &url]);
    let (status, said) = strange.close_input_until_end().await.status_and_text();
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("does not hold here"), "{said}");
    assert!(said.contains("SSL_CERT_FILE"), "what to do: {said}");
    let env = [("WEIR_TOKEN", token.as_str()), ("SSL_CERT_FILE", trusted.as_str())];
    // The certificate is that of the address, not of every name that leads there.
    let other = url.replace("127.0.0.1", "localhost");
    let (status, said) = served
        .house
        .start_face(&env, &["--attach", &other])
        .close_input_until_end()
        .await
        .status_and_text();
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("does not hold here"), "{said}");
    let mut face = served.house.start_face(&env, &["--attach", &url]);
    face.type_line("Hello.");
    face.until("Hello over TLS.", 1).await;
    face.type_line("/quit");
    let (status, said) = face.close_input_until_end().await.status_and_text();
    assert_eq!(status, 0, "{said}");
    assert!(said.contains(&format!("weir --attach {url} --resume ")), "the way back: {said}");

    // By password, too: the cookie is one for https alone.
    let env = [("SSL_CERT_FILE", trusted.as_str())];
    let mut face = served.house.start_face_at_terminal(&env, &["--attach", &url]);
    face.until("Name: ", 1).await;
    face.type_line("admin");
    face.until("Password (not shown): ", 1).await;
    face.type_line(PASSWORD);
    face.until("you are admin on", 1).await;
    face.type_line("Hello again.");
    face.until("Hello over TLS.", 1).await;
    face.type_line("/quit");
    assert_eq!(face.close_input_until_end().await.status, 0);
}

#[tokio::test]
async fn f1_attach_nobody_is_asked_for_a_password_of_a_server_that_is_not_there() {
    let served = TestServer::start(ServerSetup::default()).await;
    let face = served.house.start_face_at_terminal(&[], &["--attach", "http://127.0.0.1:1"]);
    let (status, said) = face.close_input_until_end().await.status_and_text();
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("cannot be reached") && !said.contains("Name:"), "{said}");
    // Something answers there that is no server of weir.
    let url = served.url("/nowhere");
    let face = served.house.start_face_at_terminal(&[], &["--attach", &url]);
    let (status, said) = face.close_input_until_end().await.status_and_text();
    assert!(status != 0 && !said.contains("Name:"), "{status}: {said}");
}
