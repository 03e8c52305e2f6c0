//! People at the door (S1, S2): the first account, passwords, sign-ins, tokens, second factors, and
//! whoever tries to get in without.

use std::time::{Duration, Instant};

use futures::StreamExt;
use serde_json::{Value, json};
use weir_test_kit::{Browser, PASSWORD, ServerSetup, TestInstallation, TestServer};

mod passkeys;
mod provider;

async fn served() -> TestServer {
    TestServer::start(ServerSetup::default()).await
}

const OTHER: &str = "another horse battery staple";

#[tokio::test(flavor = "multi_thread")]
async fn s1_the_first_account_needs_the_printed_code_and_the_code_works_once() {
    let mut served = served().await;
    let stranger = served.stranger();
    let (status, headers, _) = stranger.get_whole("/chats").await;
    assert_eq!(
        (status, &headers["location"]),
        (303, &"/signin?next=%2Fchats".parse().expect("ok"))
    );
    let (status, headers, _) = stranger.get_whole("/signin").await;
    assert_eq!((status, &headers["location"]), (303, &"/setup".parse().expect("ok")));
    let claim = async |code: &str, name: &str| {
        let fields = [("code", code), ("name", name), ("password", PASSWORD), ("again", PASSWORD)];
        served.stranger().form("/setup", &fields).await
    };
    for wrong in ["", "AAAA-AAAA", "' OR 1=1 --"] {
        let (status, _, body) = claim(wrong, "thief").await;
        assert_eq!(status, 403, "{wrong}");
        assert!(body.contains("not the setup code"), "{body}");
    }
    let code = served.setup_code();
    let claim = async |code: &str, name: &str| {
        let fields = [("code", code), ("name", name), ("password", PASSWORD), ("again", PASSWORD)];
        served.stranger().form("/setup", &fields).await
    };
    let (status, _, body) = claim(&code, "Thief!").await;
    assert_eq!(status, 400, "a name that cannot be does not use the code up: {body}");
    let (status, to, body) = claim(&code.to_lowercase().replace('-', " "), "admin").await;
    assert_eq!((status, to.as_str()), (303, "/"), "{body}");
    let (status, to, _) = claim(&code, "thief").await;
    assert_eq!((status, to.as_str()), (303, "/signin"), "it was used");
    assert_eq!(
        served
            .stranger()
            .api(
                "POST",
                "/api/v1/login",
                Some(json!({
        "name": "thief", "password": PASSWORD }))
            )
            .await
            .0,
        401
    );
    for file in walk(&served.house.at("state")) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let holds = bytes.windows(code.len()).any(|part| part == code.as_bytes());
        assert!(!holds, "{} has the code", file.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_of_many_who_have_the_code_one_makes_the_first_account() {
    let mut served = served().await;
    let code = served.setup_code();
    let tries = (0..6).map(|number| {
        let (browser, code) = (served.stranger(), code.clone());
        async move {
            let name = format!("one{number}");
            let fields = [
                ("code", code.as_str()),
                ("name", &name),
                ("password", PASSWORD),
                ("again", PASSWORD),
            ];
            browser.form("/setup", &fields).await.1 == "/"
        }
    });
    let made = futures::future::join_all(tries).await.into_iter().filter(|made| *made).count();
    assert_eq!(made, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_guessing_the_code_is_slowed_down() {
    let served = served().await;
    let mut slowed = false;
    for _ in 0..12 {
        let fields =
            [("code", "AAAA-BBBB"), ("name", "thief"), ("password", PASSWORD), ("again", PASSWORD)];
        slowed |= served.stranger().form("/setup", &fields).await.0 == 429;
    }
    assert!(slowed, "guesses go on and on");
}

#[test]
fn s1_it_does_not_listen_beyond_this_machine_without_tls_and_a_password() {
    let house = TestInstallation::new();
    let said = house.usage_error(&["serve", "--bind", "0.0.0.0:0"]);
    assert!(said.contains("does not speak TLS") && said.contains("server.certificate"), "{said}");
    house.write(
        &house.user_config(),
        "[server]\npublic_url = \"https://weir.example.org\"\nproxies = [\"10.0.0.1\"]\n",
    );
    let said = house.usage_error(&["serve", "--bind", "0.0.0.0:0"]);
    assert!(said.contains("no account with a password"), "{said}");
    house.write(&house.user_config(), "[server]\nproxies = [\"10.0.0.1\"]\n");
    let said = house.usage_error(&["serve", "--bind", "0.0.0.0:0"]);
    assert!(said.contains("does not speak TLS"), "a proxy without https is none: {said}");
    house.write(&house.at("weak"), "short\n");
    let weak = house.at("weak").display().to_string();
    let args =
        ["serve", "--bind", "127.0.0.1:0", "--first-admin", "root", "--password-file", &weak];
    assert!(house.usage_error(&args).contains("it needs 12"));
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_a_page_elsewhere_whose_name_leads_here_gets_nothing() {
    let mut served = served().await;
    let admin = served.admin().await;
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""] {
        let response = admin.send(admin.request("GET", "/api/v1/me").header("host", host)).await;
        let status = response.status().as_u16();
        assert!(matches!(status, 421 | 400), "{host:?}: {status}");
    }
    for host in ["localhost:1", "LOCALHOST", "[::1]:7717"] {
        let response = admin.send(admin.request("GET", "/api/v1/me").header("host", host)).await;
        assert_eq!(response.status(), 200, "{host}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_whoever_guesses_waits_longer_and_longer_and_learns_nothing() {
    let mut served = served().await;
    let ann = served.person("ann").await;
    let guess = async |name: &str, password: &str| {
        let body = json!({ "name": name, "password": password });
        served.stranger().api("POST", "/api/v1/login", Some(body)).await
    };
    let (known, unknown) = (guess("ann", "wrong").await, guess("nobody", "wrong").await);
    assert_eq!(known, unknown, "the same words");
    assert_eq!(known.0, 401);
    let begun = Instant::now();
    let all = futures::future::join_all((0..12).map(|_| guess("ann", "wrong"))).await;
    let waits = all.iter().filter(|(status, _)| *status == 429).count();
    // One more may pass when a wait of 1 s is over, another after 2 s more, and so on.
    let passed = (begun.elapsed().as_secs() + 1).ilog2() as usize;
    assert!(waits + passed >= 7, "guesses at the same moment do not slip through: {all:?}");
    // Waits grow; one is chosen that is long enough for what follows.
    loop {
        let (status, said) = guess("ann", "wrong").await;
        let detail = said["detail"].as_str().expect("words").to_owned();
        let seconds = detail.split("possible in ").nth(1).and_then(|rest| rest.split(' ').next());
        if status == 429 && seconds.is_some_and(|n| n.parse::<u32>().expect("a number") >= 6) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (status, said) = guess("ann", PASSWORD).await;
    assert_eq!(
        (status, said["code"].as_str()),
        (429, Some("too_many")),
        "also a right guess waits"
    );
    // Ann is not locked out: the browser that she used before counts by itself.
    ann.set_cookie("weir", None);
    ann.sign_in("ann", PASSWORD).await;
    // Others are not slowed down by it.
    assert_eq!(guess("nobody", "wrong").await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_a_name_that_does_not_exist_takes_as_long() {
    let mut served = served().await;
    // Guesses at one name are soon slowed down, so there are several.
    let names = ["ann", "bea", "cem"];
    for name in names {
        served.person(name).await;
    }
    let time = async |name: &str| {
        let begun = Instant::now();
        let body = json!({ "name": name, "password": "wrong" });
        assert_eq!(served.stranger().api("POST", "/api/v1/login", Some(body)).await.0, 401);
        begun.elapsed()
    };
    time("warm").await;
    // Other work on the machine makes a guess slower and never faster: the best of several counts.
    let (mut known, mut unknown) = (Duration::MAX, Duration::MAX);
    for (round, name) in names.iter().cycle().take(names.len() * 3).enumerate() {
        known = known.min(time(name).await);
        unknown = unknown.min(time(&format!("nobody{round}")).await);
        if round >= 2 && unknown * 3 > known && known * 3 > unknown {
            return;
        }
    }
    panic!("it takes {known:?} with a name that exists and {unknown:?} with another");
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_a_sign_in_is_new_each_time_and_what_was_before_ends() {
    let mut served = served().await;
    served.admin().await;
    let thief = served.stranger();
    thief.set_cookie("weir", Some("chosen-by-a-thief"));
    thief.sign_in("admin", PASSWORD).await;
    assert!(!thief.cookie().contains("chosen-by-a-thief"), "fixation");
    let old = thief.cookie();
    thief.sign_in("admin", PASSWORD).await;
    let stale = served.stranger();
    let request = stale.request("GET", "/api/v1/me").header("cookie", old);
    assert_eq!(stale.send(request).await.status(), 401, "the one before has ended");
    let response = thief.send(thief.request("GET", "/signin")).await;
    assert_eq!(response.status(), 303, "whoever is in goes on");
    let body = "name=admin&password=correct+horse+battery+staple";
    let request = served
        .stranger()
        .request("POST", "/signin")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body);
    let response = request.send().await.expect("an answer");
    let cookie = response.headers()["set-cookie"].to_str().expect("text");
    for part in ["HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(cookie.contains(part), "{part}: {cookie}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_sign_ins_are_listed_and_ended_and_sign_out_ends_one() {
    let mut served = served().await;
    let ann = served.person("ann").await;
    let other = served.signed_in("ann").await;
    let (_, list) = ann.api("GET", "/api/v1/account/logins", None).await;
    let all = list["items"].as_array().expect("a list");
    assert_eq!(all.len(), 2, "{list}");
    let id = all.iter().find(|line| line["current"] == false).expect("the other")["id"].clone();
    let path = format!("/api/v1/account/logins/{}", id.as_str().expect("text"));
    assert_eq!(ann.api("DELETE", &path, None).await.0, 204);
    assert_eq!(other.api("GET", "/api/v1/me", None).await.0, 401);
    let cookie = ann.cookie();
    assert_eq!(ann.form("/signout", &[]).await.1, "/signin");
    let request = served.stranger().request("GET", "/api/v1/me").header("cookie", cookie);
    assert_eq!(
        request.send().await.expect("an answer").status(),
        401,
        "the cookie is worth nothing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_a_new_password_needs_the_old_one_and_ends_every_other_sign_in() {
    let mut served = served().await;
    let ann = served.person("ann").await;
    let other = served.signed_in("ann").await;
    let set = async |old: &str, new: &str, again: &str| {
        ann.form("/account/password", &[("old", old), ("password", new), ("again", again)]).await
    };
    assert_eq!(set("wrong", OTHER, OTHER).await.0, 403);
    assert_eq!(set(PASSWORD, OTHER, PASSWORD).await.0, 400, "they differ");
    assert_eq!(set(PASSWORD, "short", "short").await.0, 400);
    assert_eq!(set(PASSWORD, "password1234", "password1234").await.0, 400, "a common one");
    assert_eq!(set(PASSWORD, OTHER, OTHER).await.0, 303);
    assert_eq!(ann.api("GET", "/api/v1/me", None).await.0, 200, "this one goes on, anew");
    assert_eq!(other.api("GET", "/api/v1/me", None).await.0, 401);
    let body = |password: &str| Some(json!({ "name": "ann", "password": password }));
    let stranger = served.stranger();
    assert_eq!(stranger.api("POST", "/api/v1/login", body(PASSWORD)).await.0, 401);
    assert_eq!(stranger.api("POST", "/api/v1/login", body(OTHER)).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_a_disabled_person_is_out_everywhere_at_once() {
    let mut served = served().await;
    let ann = served.person("ann").await;
    let program = ann.program("all").await;
    let mut socket = ann.socket().await;
    let admin = served.admin().await;
    let id = ann.api("GET", "/api/v1/me", None).await.1["id"].as_str().expect("id").to_owned();
    let path = format!("/api/v1/users/{id}");
    assert_eq!(admin.api("PATCH", &path, Some(json!({ "disabled": true }))).await.0, 200);
    assert_eq!(ann.api("GET", "/api/v1/me", None).await.0, 401);
    assert_eq!(program.api("GET", "/api/v1/me", None).await.0, 401);
    let ended = tokio::time::timeout(Duration::from_secs(60), async {
        while let Some(Ok(message)) = socket.next().await {
            if message.is_close() {
                break;
            }
        }
    });
    ended.await.expect("the socket ends too");
    let body = Some(json!({ "name": "ann", "password": PASSWORD }));
    assert_eq!(served.stranger().api("POST", "/api/v1/login", body.clone()).await.0, 401);
    assert_eq!(admin.api("PATCH", &path, Some(json!({ "disabled": false }))).await.0, 200);
    assert_eq!(served.stranger().api("POST", "/api/v1/login", body).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_another_site_cannot_make_a_browser_change_anything() {
    let mut served = served().await;
    let ann = served.person("ann").await;
    let form = "display=owned";
    let send = async |headers: &[(&str, &str)], body: &str| {
        let cookie = ann.cookie();
        let mut request = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .expect("a client")
            .post(format!("{}/account/profile", ann.origin()))
            .header("cookie", cookie)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body.to_owned());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.expect("an answer").status().as_u16()
    };
    let token = format!("csrf={}&{form}", ann.token());
    let own = ann.origin();
    let other_port = "http://127.0.0.1:1";
    assert_eq!(send(&[("origin", "https://evil.example")], &token).await, 403, "another origin");
    assert_eq!(send(&[("origin", other_port)], &token).await, 403, "another port");
    assert_eq!(send(&[("origin", "null")], &token).await, 403, "a sandboxed frame");
    assert_eq!(send(&[("sec-fetch-site", "cross-site")], &token).await, 403, "cross-site");
    assert_eq!(send(&[("sec-fetch-site", "same-site")], &token).await, 403, "same-site");
    assert_eq!(send(&[("origin", &own)], form).await, 403, "no token");
    assert_eq!(send(&[("origin", &own)], &format!("csrf=00&{form}")).await, 403, "a wrong token");
    let (_, me) = ann.api("GET", "/api/v1/me", None).await;
    assert_eq!(me["called"], "ann", "nothing was changed");
    assert_eq!(send(&[("origin", &own)], &token).await, 303, "our own page");
    // A script elsewhere that sends JSON as text needs no leave of ours: it has no token.
    let request = ann
        .request("POST", "/api/v1/account/tokens")
        .header("content-type", "text/plain")
        .body("{\"name\":\"stolen\"}");
    assert_eq!(ann.send(request).await.status(), 403);
    // Another's token does not do.
    let bob = served.person("bob").await;
    let request = ann
        .request("POST", "/api/v1/account/tokens")
        .header("x-csrf-token", bob.token())
        .header("content-type", "application/json")
        .body("{\"name\":\"stolen\"}");
    assert_eq!(ann.send(request).await.status(), 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_another_site_cannot_sign_a_browser_in_or_open_its_socket() {
    let mut served = served().await;
    let ann = served.person("ann").await;
    for origin in ["https://evil.example", "null", "http://localhost:1"] {
        let request = reqwest::Client::new()
            .post(served.url("/api/v1/login"))
            .header("origin", origin)
            .header("content-type", "application/json")
            .body(json!({ "name": "ann", "password": PASSWORD }).to_string());
        assert_eq!(request.send().await.expect("an answer").status(), 403, "{origin}");
    }
    let upgrade = async |origin: Option<&str>| {
        let client = reqwest::Client::new();
        let mut request = client
            .get(format!("{}/api/v1/ws", ann.origin()))
            .header("cookie", ann.cookie())
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        request.send().await.expect("an answer").status().as_u16()
    };
    assert_eq!(upgrade(Some("https://evil.example")).await, 403);
    assert_eq!(upgrade(Some("null")).await, 403);
    assert_eq!(upgrade(None).await, 403, "a browser says its origin");
    assert_eq!(upgrade(Some(&ann.origin())).await, 101);
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_tokens_are_shown_once_kept_hashed_and_reach_as_far_as_they_say() {
    let mut served = served().await;
    let ann = served.person("ann").await;
    let wanted = json!({ "name": "ci", "scope": "all", "days": 7 });
    let (status, made) = ann.api("POST", "/api/v1/account/tokens", Some(wanted)).await;
    assert_eq!(status, 201, "{made}");
    let secret = made["token"].as_str().expect("shown").to_owned();
    let (_, list) = ann.api("GET", "/api/v1/account/tokens", None).await;
    assert_eq!(list["items"][0]["name"], "ci");
    assert!(
        !list.to_string().contains(&secret) && list["items"][0]["expires"].is_string(),
        "{list}"
    );
    let (reader, writer) = (ann.program("read").await, ann.program("all").await);
    assert_eq!(reader.api("GET", "/api/v1/me", None).await.1["name"], "ann");
    let (status, said) = reader.api("POST", "/api/v1/pause", Some(json!({}))).await;
    assert_eq!(status, 403, "{said}");
    assert!(said["detail"].as_str().expect("text").contains("may only look"), "{said}");
    // A lost token does not keep its finder in for good.
    let change = json!({ "old": PASSWORD, "new": OTHER });
    assert_eq!(writer.api("POST", "/api/v1/account/password", Some(change)).await.0, 403);
    let more = json!({ "name": "more" });
    assert_eq!(writer.api("POST", "/api/v1/account/tokens", Some(more)).await.0, 403);
    // In an address it is not read, and said so.
    let (status, said) =
        served.stranger().api("GET", &format!("/api/v1/me?token={secret}"), None).await;
    assert_eq!(status, 400, "{said}");
    assert!(said["detail"].as_str().expect("text").contains("revoke it"), "{said}");
    let id = made["id"].as_str().expect("an id");
    assert_eq!(ann.api("DELETE", &format!("/api/v1/account/tokens/{id}"), None).await.0, 204);
    let request = served.stranger().request("GET", "/api/v1/me").bearer_auth(&secret);
    assert_eq!(request.send().await.expect("an answer").status(), 401, "revoked");
    // A token that does not hold is not made good by a cookie.
    let request = ann.request("GET", "/api/v1/me").bearer_auth("weir_nonsense");
    assert_eq!(ann.send(request).await.status(), 401);
    served.stop().await;
    for entry in walk(&served.house.at("state")) {
        let bytes = std::fs::read(&entry).unwrap_or_default();
        let holds = |word: &str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
        assert!(!holds(&secret) && !holds(PASSWORD), "{} has a secret", entry.display());
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type().expect("known").is_dir() {
            true => all.extend(walk(&entry.path())),
            false => all.push(entry.path()),
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_only_a_declared_proxy_says_who_asks() {
    let mut served = served().await;
    served.admin().await;
    let guess = async |served: &TestServer, number: usize| {
        let request = served
            .stranger()
            .request("POST", "/api/v1/login")
            .header("x-forwarded-for", format!("203.0.113.{number}"))
            .header("content-type", "application/json")
            .body(json!({ "name": format!("nobody{number}"), "password": "wrong" }).to_string());
        request.send().await.expect("an answer").status().as_u16()
    };
    let mut slowed = 0;
    for number in 0..26 {
        slowed += usize::from(guess(&served, number).await == 429);
    }
    assert!(slowed > 0, "26 guesses from one address, each said to be from another");
    let config = "[server]\nproxies = [\"127.0.0.1\"]\n";
    let mut proxied = TestServer::start(ServerSetup { config, ..ServerSetup::default() }).await;
    proxied.admin().await;
    for number in 0..26 {
        assert_eq!(guess(&proxied, number).await, 401, "each is another's, says a declared proxy");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_names_that_look_alike_are_nobodys() {
    let mut served = served().await;
    let admin = served.admin().await;
    for name in ["аdmin", "ａdmin", "admin\u{200b}", "Admin2", "admin/../x", "", "ad min"] {
        let body = json!({ "name": name, "password": PASSWORD });
        let (status, said) = admin.api("POST", "/api/v1/users", Some(body)).await;
        assert_eq!(status, 400, "{name:?}: {said}");
        let body = json!({ "name": name, "password": PASSWORD });
        let (status, _) = served.stranger().api("POST", "/api/v1/login", Some(body)).await;
        assert_eq!(status, 401, "{name:?}");
    }
    let body = json!({ "name": " ADMIN ", "password": PASSWORD });
    assert_eq!(served.stranger().api("POST", "/api/v1/login", Some(body)).await.0, 200);
    let body = json!({ "name": "admin", "password": PASSWORD });
    assert_eq!(admin.api("POST", "/api/v1/users", Some(body)).await.0, 409, "there is one");
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_signing_in_leads_to_our_own_pages_only_and_takes_no_large_body() {
    let mut served = served().await;
    served.admin().await;
    for (next, expected) in [
        ("/approvals?x=1", "/approvals?x=1"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("/%0d%0aset-cookie:x=1", "/%0d%0aset-cookie:x=1"),
    ] {
        let fields = [("name", "admin"), ("password", PASSWORD), ("next", next)];
        let (status, to, _) = served.stranger().form("/signin", &fields).await;
        assert_eq!((status, to.as_str()), (303, expected), "{next}");
    }
    let large = "x".repeat(200 * 1024);
    let (status, _, _) = served.stranger().form("/signin", &[("name", &large)]).await;
    assert_eq!(status, 413);
    let body = json!({ "name": "admin", "password": large });
    assert_eq!(served.stranger().api("POST", "/api/v1/login", Some(body)).await.0, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_the_last_admin_stays_one() {
    let mut served = served().await;
    let admin = served.admin().await;
    let (_, me) = admin.api("GET", "/api/v1/me", None).await;
    let path = format!("/api/v1/users/{}", me["id"].as_str().expect("an id"));
    for change in [json!({ "role": "user" }), json!({ "disabled": true })] {
        let (status, said) = admin.api("PATCH", &path, Some(change)).await;
        assert_eq!(status, 409, "{said}");
    }
    assert_eq!(admin.api("DELETE", &path, None).await.0, 409);
    let ann = served.person("ann").await;
    let (_, who) = ann.api("GET", "/api/v1/me", None).await;
    let anns = format!("/api/v1/users/{}", who["id"].as_str().expect("an id"));
    assert_eq!(ann.api("GET", "/api/v1/users", None).await.0, 403, "a user");
    assert_eq!(admin.api("PATCH", &anns, Some(json!({ "role": "admin" }))).await.0, 200);
    assert_eq!(ann.api("GET", "/api/v1/me", None).await.0, 401, "what she may do is decided anew");
    let ann = served.signed_in("ann").await;
    assert_eq!(ann.api("GET", "/api/v1/users", None).await.0, 200);
    // Each takes the other's place at the same moment: one of them stays.
    let demote = json!({ "role": "user" });
    let (one, other) = tokio::join!(
        admin.api("PATCH", &anns, Some(demote.clone())),
        ann.api("PATCH", &path, Some(demote)),
    );
    let admins = [&admin, &ann, &served.signed_in("admin").await, &served.signed_in("ann").await];
    let mut left = 0;
    for browser in admins {
        left += usize::from(browser.api("GET", "/api/v1/users", None).await.0 == 200);
    }
    assert!(left > 0, "nobody is an admin: {one:?} {other:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_an_invitation_sets_a_password_once() {
    let mut served = served().await;
    let admin = served.admin().await;
    let (status, made) = admin.api("POST", "/api/v1/users", Some(json!({ "name": "cy" }))).await;
    assert_eq!(status, 201, "{made}");
    let link = made["invitation"].as_str().expect("a link").to_owned();
    let cy = served.stranger();
    assert!(cy.get(&link).await.1.contains("cy"));
    let fields = [("password", PASSWORD), ("again", PASSWORD)];
    assert_eq!(cy.form(&link, &[("password", "short"), ("again", "short")]).await.0, 400);
    let (status, to, body) = cy.form(&link, &fields).await;
    assert_eq!((status, to.as_str()), (303, "/"), "{body}");
    assert_eq!(cy.api("GET", "/api/v1/me", None).await.1["name"], "cy");
    assert_eq!(served.stranger().form(&link, &fields).await.0, 404, "it was used");
    let id = made["id"].as_str().expect("an id");
    let path = format!("/api/v1/users/{id}/invitation");
    let first = admin.api("POST", &path, None).await.1;
    let second = admin.api("POST", &path, None).await.1;
    let link = |made: &Value| made["invitation"].as_str().expect("a link").to_owned();
    assert_eq!(served.stranger().get(&link(&first)).await.0, 404, "a new one ends the old");
    assert_eq!(served.stranger().get(&link(&second)).await.0, 200);
    // Whoever has an account is told when another sets its password, and not when it begins.
    let told = async |browser: &Browser| -> Vec<String> {
        let (_, notices) = browser.api("GET", "/api/v1/notices", None).await;
        let titles = notices.as_array().expect("a list").iter();
        titles.map(|notice| notice["title"].as_str().expect("words").to_owned()).collect()
    };
    let set = "A password of your account was set by a link of an admin";
    assert!(!told(&cy).await.iter().any(|title| title == set));
    let again = served.stranger();
    assert_eq!(again.form(&link(&second), &fields).await.0, 303);
    assert!(told(&again).await.iter().any(|title| title == set), "{:?}", told(&again).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_a_removed_account_leaves_nothing_and_its_name_is_free() {
    let mut served = served().await;
    let ann = served.person("ann").await;
    let program = ann.program("all").await;
    let admin = served.admin().await;
    let (_, me) = ann.api("GET", "/api/v1/me", None).await;
    let id = me["id"].as_str().expect("an id").to_owned();
    ann.get("/api/v1/sessions").await;
    let kept = |served: &TestServer| {
        let all = walk(&served.house.at("state"));
        all.iter().filter(|path| path.display().to_string().contains(&id)).count()
    };
    assert!(kept(&served) > 0, "their home is there");
    assert_eq!(admin.api("DELETE", &format!("/api/v1/users/{id}"), None).await.0, 204);
    assert_eq!(ann.api("GET", "/api/v1/me", None).await.0, 401);
    assert_eq!(program.api("GET", "/api/v1/me", None).await.0, 401);
    assert_eq!(kept(&served), 0, "and gone");
    let again = served.person("ann").await;
    let (_, me) = again.api("GET", "/api/v1/me", None).await;
    assert_ne!(me["id"].as_str(), Some(id.as_str()), "an id is never used again");
    let (_, tokens) = again.api("GET", "/api/v1/account/tokens", None).await;
    assert_eq!(tokens["items"], json!([]), "nothing of the one before");
}

/// The secret of an app, from the key on the page that adds it.
fn secret_of(page: &str) -> Vec<u8> {
    let key = page.split("secret-once\">").nth(1).expect("a key").split('<').next().expect("ends");
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut bits = String::new();
    for letter in key.chars().filter(|c| !c.is_whitespace()) {
        bits.push_str(&format!("{:05b}", letters.find(letter).expect("base 32")));
    }
    (0..bits.len() / 8)
        .map(|at| u8::from_str_radix(&bits[at * 8..at * 8 + 8], 2).expect("bits"))
        .collect()
}

/// The code of an app with that secret.
fn code_of(page: &str, ahead_s: u64) -> String {
    let bytes = secret_of(page);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("now");
    let step = (now.as_secs() + ahead_s) / 30;
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &bytes);
    let tag = ring::hmac::sign(&key, &step.to_be_bytes());
    let at = usize::from(tag.as_ref()[19] & 15);
    let four: [u8; 4] = tag.as_ref()[at..at + 4].try_into().expect("four");
    format!("{:06}", (u32::from_be_bytes(four) & 0x7fff_ffff) % 1_000_000)
}

/// An app that was added.
struct AddedApp {
    /// The page that showed its secret.
    page: String,
    /// The code with which it was added.
    used: String,
    /// Codes for when it is lost.
    codes: Vec<String>,
}

async fn add_app(browser: &Browser) -> AddedApp {
    let (status, page) = browser.get("/account/security/app").await;
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("<svg"), "a picture");
    let code = code_of(&page, 0);
    let fields = [("code", code.as_str()), ("password", PASSWORD)];
    let (status, _, body) = browser.form("/account/security/app", &fields).await;
    assert_eq!(status, 200, "{body}");
    let list = body.split("<ul class=\"codes mono\">").nth(1).expect("a list");
    let codes = list.split("<li>").skip(1).map(|rest| rest.split('<').next().expect("text").into());
    AddedApp { page, used: code, codes: codes.collect() }
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_an_app_is_asked_for_beside_the_password_and_each_code_works_once() {
    let mut served = served().await;
    let ann = served.person("ann").await;
    let before = ann.cookie();
    let AddedApp { page: key, used, codes } = add_app(&ann).await;
    assert_eq!(codes.len(), 10, "{codes:?}");
    assert_ne!(ann.cookie(), before, "the sign-in is made anew");
    let login = async |code: Option<&str>| {
        let body = json!({ "name": "ann", "password": PASSWORD, "code": code });
        served.stranger().api("POST", "/api/v1/login", Some(body)).await
    };
    let (status, said) = login(None).await;
    assert_eq!((status, said["code"].as_str()), (401, Some("second_factor")));
    assert_eq!(login(Some("000000")).await.0, 401);
    assert_eq!(login(Some(&used)).await.0, 401, "the code that added the app was used");
    let next = code_of(&key, 30);
    assert_eq!(login(Some(&next)).await.0, 200, "a clock half a minute ahead");
    assert_eq!(login(Some(&next)).await.0, 401, "once");
    assert_eq!(login(Some(&codes[0].to_lowercase())).await.0, 200, "a recovery code");
    assert_eq!(login(Some(&codes[0])).await.0, 401, "once");
    // By the pages.
    let browser = served.stranger();
    let (status, _, page) =
        browser.form("/signin", &[("name", "ann"), ("password", PASSWORD)]).await;
    assert_eq!(status, 200);
    assert!(!browser.cookie().contains("weir="), "nobody is in yet");
    let pending = page.split("name=\"pending\" value=\"").nth(1).expect("it is there");
    let pending = pending.split('"').next().expect("ends").to_owned();
    let second = async |code: &str| {
        let fields = [("pending", pending.as_str()), ("code", code), ("next", "/chats")];
        browser.form("/signin/second", &fields).await
    };
    assert_eq!(second("123456").await.0, 401);
    let (status, to, _) = second(&codes[1]).await;
    assert_eq!((status, to.as_str()), (303, "/chats"));
    let (status, _, _) = second(&codes[2]).await;
    assert_eq!(status, 401, "a second step works once");
    let remove = async |password: &str| {
        ann.api("GET", "/api/v1/me", None).await;
        let (_, page) = ann.get("/account/security").await;
        let csrf =
            page.split("data-csrf=\"").nth(1).expect("there").split('"').next().expect("ends");
        ann.form("/account/security/app/remove", &[("password", password), ("csrf", csrf)]).await.0
    };
    assert_eq!(remove("wrong").await, 403);
}

/// Whether any file below `folder` has these bytes.
fn is_in(folder: &std::path::Path, wanted: &[u8]) -> bool {
    std::fs::read_dir(folder).expect("a folder").any(|entry| {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            return is_in(&path, wanted);
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        bytes.windows(wanted.len()).any(|at| at == wanted)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn z7_the_secret_of_an_app_stands_in_no_file_of_the_house() {
    let mut served = served().await;
    let ann = served.person("ann").await;
    let secret = secret_of(&add_app(&ann).await.page);
    let state = served.house.at("state");
    let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &secret);
    assert!(is_in(&state, b"ann"), "this is where accounts are kept");
    assert!(!is_in(&state, text.as_bytes()) && !is_in(&state, &secret));
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_an_admin_may_ask_for_a_second_factor_and_helps_who_lost_it() {
    let mut served = served().await;
    let admin = served.admin().await;
    let ann = served.person("ann").await;
    let (_, me) = ann.api("GET", "/api/v1/me", None).await;
    let (status, _, _) = admin.form("/users/door/policy", &[("second_factor", "on")]).await;
    assert_eq!(status, 303);
    assert_eq!(ann.api("GET", "/api/v1/me", None).await.0, 401, "sign-ins without one ended");
    let ann = served.stranger();
    let (status, _, _) = ann.form("/signin", &[("name", "ann"), ("password", PASSWORD)]).await;
    assert_eq!(status, 303);
    let (status, said) = ann.api("GET", "/api/v1/sessions", None).await;
    assert_eq!((status, said["code"].as_str()), (403, Some("second_factor_required")));
    let (status, headers, _) = ann.get_whole("/chats").await;
    assert_eq!((status, headers["location"].to_str().ok()), (303, Some("/account/security")));
    let (_, page) = ann.get("/account/security/app").await;
    let csrf = page.split("data-csrf=\"").nth(1).expect("there").split('"').next().expect("ends");
    let code = code_of(&page, 0);
    let fields = [("code", code.as_str()), ("password", PASSWORD), ("csrf", csrf)];
    assert_eq!(ann.form("/account/security/app", &fields).await.0, 200);
    assert_eq!(ann.api("GET", "/api/v1/sessions", None).await.0, 200, "everything is open now");
    let id = me["id"].as_str().expect("an id");
    let path = format!("/api/v1/users/{id}/factors");
    assert_eq!(admin.api("DELETE", &path, None).await.0, 204);
    assert_eq!(ann.api("GET", "/api/v1/me", None).await.0, 401);
    let (_, events) = admin.get("/audit/accounts").await;
    for what in ["account_made", "app_added", "second_factor_reset", "policy_set"] {
        let words = what.replace('_', " ");
        assert!(events.contains(what) || events.contains(&words), "{what}: {events}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_what_is_kept_of_accounts_outlives_a_kill() {
    let mut served = served().await;
    let ann = served.person("ann").await;
    let program = ann.program("read").await;
    served.kill_and_restart().await;
    assert_eq!(ann.api("GET", "/api/v1/me", None).await.1["name"], "ann");
    assert_eq!(program.api("GET", "/api/v1/me", None).await.1["name"], "ann");
    assert!(!served.error_text().contains("setup code"), "it is set up");
}
