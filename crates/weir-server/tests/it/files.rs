//! Files of a person by browser and API (S10): hostile names, large uploads, races, downloads, and
//! what was saved before changes.

use serde_json::{Value, json};
use weir_test_kit::{Browser, ServerSetup, TestServer};

/// One more byte than an upload may have.
const TOO_LARGE: usize = (64 << 20) + 1;

fn query(path: &str) -> String {
    url::form_urlencoded::Serializer::new(String::new()).append_pair("path", path).finish()
}

/// Uploads by the API: status and answer.
async fn put(browser: &Browser, path: &str, more: &str, bytes: Vec<u8>) -> (u16, Value) {
    let request = browser
        .request("PUT", &format!("/api/v1/files/content?{}{more}", query(path)))
        .header("content-type", "application/octet-stream")
        .header("x-csrf-token", browser.token())
        .body(bytes);
    let response = browser.send(request).await;
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.expect("a body")).expect("JSON"))
}

/// Uploads as a page without scripts does: status and where it leads.
async fn upload(
    browser: &Browser,
    folder: &str,
    conflict: &str,
    (name, text): (&str, &str),
) -> (u16, String) {
    let border = "----------------a-border-that-nobody-writes";
    let body = format!(
        "--{border}\r\ncontent-disposition: form-data; name=\"conflict\"\r\n\r\n{conflict}\r\n\
         --{border}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
         content-type: text/plain\r\n\r\n{text}\r\n--{border}--\r\n"
    );
    let path = format!("/files/upload?{}&csrf={}", query(folder), browser.token());
    let request = browser
        .request("POST", &path)
        .header("content-type", format!("multipart/form-data; boundary={border}"))
        .header("accept", "text/html")
        .body(body);
    let response = browser.send(request).await;
    let status = response.status().as_u16();
    let to = response.headers().get("location").map(|to| to.to_str().expect("text").to_owned());
    (status, to.unwrap_or_default())
}

async fn names(browser: &Browser, path: &str) -> Vec<String> {
    let (status, listing) =
        browser.api("GET", &format!("/api/v1/files?{}", query(path)), None).await;
    assert_eq!(status, 200, "{listing}");
    let items = listing["items"].as_array().expect("items").iter();
    items.map(|item| item["name"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn s10_files_are_uploaded_looked_at_moved_and_deleted() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let (status, done) = put(&admin, "notes/größe.md", "", b"# One".to_vec()).await;
    assert_eq!((status, done["path"].as_str()), (200, Some("notes/größe.md")), "{done}");
    assert_eq!(names(&admin, "notes").await, ["größe.md"]);
    let (status, refused) = put(&admin, "notes/größe.md", "", b"two".to_vec()).await;
    assert_eq!((status, refused["code"].as_str()), (409, Some("conflict")));
    let (_, both) = put(&admin, "notes/größe.md", "&conflict=keep_both", b"two".to_vec()).await;
    assert_eq!(both["path"], "notes/größe (2).md");
    let (status, page) = admin.get(&format!("/files?{}", query("notes/größe.md"))).await;
    assert_eq!(status, 200);
    assert!(page.contains(">One</h2>") && page.contains("größe.md"), "{page}");
    let wanted = json!({ "from": "notes", "to": "papers" });
    let (status, moved) = admin.api("POST", "/api/v1/files/move", Some(wanted)).await;
    assert_eq!(status, 200, "{moved}");
    assert!(served.house.work().join("papers/größe.md").is_file());
    let path = format!("/api/v1/files?{}", query("papers"));
    let (status, gone) = admin.api("DELETE", &path, None).await;
    assert_eq!((status, gone["paths"].as_u64()), (200, Some(3)), "{gone}");
    assert!(!served.house.work().join("papers").exists());
    // What was deleted lies in the trash, and who did what is on record.
    let trash = served.house.at("state");
    assert!(walk(&trash).iter().any(|file| file.ends_with("papers/größe.md")), "not in the trash");
    let events = journal_of_accounts(&admin).await;
    for what in ["file_uploaded", "file_moved", "file_deleted"] {
        assert!(events.contains(what), "{what} is not on record: {events}");
    }
}

/// What the audit tells of accounts.
async fn journal_of_accounts(admin: &Browser) -> String {
    let (status, page) = admin.get("/api/v1/audit/accounts").await;
    assert_eq!(status, 200);
    page
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let (mut found, mut waiting) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder { waiting.push(entry.path()) } else { found.push(entry.path()) }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn k3_a_note_is_shown_with_what_links_to_it() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    for (path, text) in [
        (".obsidian/app.json", "{}"),
        ("Garden.md", "---\ntags: [flowers]\nstatus: open\n---\n# Garden\n\nRoses.\n"),
        ("plan.canvas", r#"{"nodes":[{"id":"a","type":"file","file":"Garden.md"}]}"#),
        ("days/Monday.md", "Rain.\n\nWorked in the [[Garden|green <b>place</b>]].\n"),
        ("days/Tuesday.md", "Nothing.\n"),
        (".weirignore", "hidden/\n"),
        ("hidden/Secret.md", "[[Garden]]\n"),
    ] {
        let place = served.house.work().join(path);
        std::fs::create_dir_all(place.parent().expect("a folder")).expect("made");
        std::fs::write(place, text).expect("written");
    }
    let (status, page) = admin.get(&format!("/files?{}", query("Garden.md"))).await;
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("Linked from") && page.contains("days/Monday.md"), "{page}");
    assert!(page.contains("green &lt;b&gt;place"), "what the line says is text: {page}");
    assert!(!page.contains("Secret") && !page.contains("Tuesday"), "{page}");
    assert!(!page.contains("nodes"), "a canvas is told in words: {page}");
    let prose = page.split("class=\"prose\"").nth(1).and_then(|rest| rest.split("<details").next());
    let prose = prose.expect("the note as it reads");
    assert!(
        prose.contains("Roses.") && !prose.contains("status"),
        "properties stand apart: {page}"
    );
    let path = format!("/api/v1/files/view?{}", query("Garden.md"));
    let (status, view) = admin.api("GET", &path, None).await;
    assert_eq!((status, view["preview"]["kind"].as_str()), (200, Some("text")), "{view}");
    assert_eq!(view["backlinks"][0]["line"], 3, "{view}");
    assert_eq!(view["backlinks"][1]["line"], json!(null), "a canvas has no lines: {view}");
    assert_eq!(view["backlinks"].as_array().map(Vec::len), Some(2), "{view}");
    let (status, gone) =
        admin.api("GET", &format!("/api/v1/files/view?{}", query("hidden/Secret.md")), None).await;
    assert_eq!(status, 404, "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn k2_links_of_a_note_are_followed() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    for (path, text) in [
        (".obsidian/app.json", "{}"),
        (
            "Home.md",
            "# Home\n\n[[Garden#Beds]] [[Garden|<script>x</script>]] ![[dot.png|20]] ![[Garden]]\n\n\
             [[Secret]] [[Nobody]] [s](hidden/Secret.md) [beds](deep/Garden.md#Beds) `[[Garden]]`\n",
        ),
        ("deep/Garden.md", "# Garden\n\n## Beds\n\nRoses.\n"),
        ("deep/dot.png", "no image"),
        (".weirignore", "hidden/\n"),
        ("hidden/Secret.md", "# Secret\n"),
    ] {
        served.house.write(&served.house.work().join(path), text);
    }
    let (status, page) = admin.get(&format!("/files?{}", query("Home.md"))).await;
    assert_eq!(status, 200, "{page}");
    let prose = page.split("class=\"prose\"").nth(1).and_then(|rest| rest.split("<details").next());
    let prose = prose.expect("the note as it reads");
    let beds =
        "href=\"/files?path=deep%2FGarden.md#section-2\" rel=\"noopener noreferrer nofollow\"";
    assert_eq!(prose.matches(beds).count(), 2, "by wiki link and by Markdown link: {prose}");
    for within in [
        ">Garden &gt; Beds</a>",
        ">beds</a>",
        "&lt;script&gt;x&lt;/script&gt;</a>",
        "src=\"/api/v1/files/content?path=deep%2Fdot.png&amp;inline=true\" alt=\"dot.png\"",
        "Garden</a> <span class=\"host\">(embedded)</span>",
        "<span class=\"nowhere\">Nobody <span class=\"host\">(leads nowhere)</span></span>",
        // What is hidden is told as what is not there.
        "<span class=\"nowhere\">Secret <span class=\"host\">(leads nowhere)</span></span>",
        "<span class=\"nowhere\">s <span class=\"host\">(leads nowhere: hidden/Secret.md)</span></span>",
        "<code>[[Garden]]</code>",
    ] {
        assert!(prose.contains(within), "{within} is not in {prose}");
    }
    assert!(!prose.contains("<script"), "{prose}");
    let (status, page) = admin.get(&format!("/files?{}", query("deep/Garden.md"))).await;
    assert!(status == 200 && page.contains("id=\"section-2\">Beds</h3>"), "{page}");
    let path = format!("/api/v1/files/view?{}", query("Home.md"));
    let (_, view) = admin.api("GET", &path, None).await;
    let target = |at: usize| view["links"][at]["target"].clone();
    assert_eq!(target(0), json!({ "kind": "file", "path": "deep/Garden.md", "heading": 2 }));
    let nowhere = json!({ "kind": "nowhere" });
    assert_eq!([target(4), target(5), target(6)], [nowhere.clone(), nowhere.clone(), nowhere]);
    assert_eq!(view["links"].as_array().map(Vec::len), Some(8), "code holds no links: {view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn k7_documents_canvases_and_images_are_shown() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let canvas = json!({
        "nodes": [
            { "id": "a", "type": "text", "text": "<script>x</script>", "x": 0, "y": 0, "width": 99, "height": 99 },
            { "id": "b", "type": "file", "file": "Garden.md", "x": 200, "y": 0, "width": 99, "height": 99 },
        ],
        "edges": [{ "id": "e", "fromNode": "a", "toNode": "b", "label": "grows" }],
    });
    let rtf = br"{\rtf1 Hello {\b there}. <img src=x onerror=x()>}".to_vec();
    // One black pixel.
    let gif = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b";
    for (path, bytes) in [
        ("plan.canvas", canvas.to_string().into_bytes()),
        ("letter.rtf", rtf),
        ("dot.gif", gif.to_vec()),
        ("broken.docx", b"PK\x03\x04 no more".to_vec()),
    ] {
        assert_eq!(put(&admin, path, "", bytes).await.0, 200, "{path}");
    }
    for (path, shown) in [
        ("plan.canvas", "&lt;script&gt;x"),
        ("plan.canvas", "Garden.md: grows"),
        ("letter.rtf", "Hello"),
        ("letter.rtf", "RTF, as text"),
        ("dot.gif", "width=\"1\" height=\"1\""),
        ("broken.docx", "cannot be shown"),
    ] {
        let (status, page) = admin.get(&format!("/files?{}", query(path))).await;
        assert_eq!(status, 200, "{page}");
        assert!(page.contains(shown), "{path} lacks {shown}: {page}");
        assert!(!page.contains("<script>x") && !page.contains("<img src=x"), "{page}");
    }
    let path = format!("/api/v1/files/view?{}&columns=20", query("dot.gif"));
    let (_, view) = admin.api("GET", &path, None).await;
    assert_eq!(view["preview"]["mosaic"], json!([" "]), "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn s10_pages_of_files_work_without_scripts() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let (status, to, body) = admin.form("/files/folder", &[("within", ""), ("name", "docs")]).await;
    assert_eq!((status, to.as_str()), (303, "/files?path=docs"), "{body}");
    assert_eq!(
        upload(&admin, "docs", "refuse", ("a.txt", "one")).await,
        (303, "/files?path=docs".into())
    );
    assert_eq!(upload(&admin, "docs", "refuse", ("a.txt", "two")).await.0, 409);
    assert_eq!(upload(&admin, "docs", "replace", ("C:\\tmp\\a.txt", "two")).await.0, 303);
    let file = served.house.work().join("docs/a.txt");
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "two");
    let (status, page) = admin.get("/files/edit?path=docs%2Fa.txt").await;
    assert!(status == 200 && page.contains("Delete this file"), "{page}");
    let fields = [("from", "docs/a.txt"), ("to", "docs/b.txt")];
    assert_eq!(admin.form("/files/move", &fields).await.0, 303);
    assert_eq!(names(&admin, "docs").await, ["b.txt"]);
    assert_eq!(admin.form("/files/delete", &[("path", "docs/b.txt")]).await.0, 303);
    let (_, page) = admin.get("/files?path=docs").await;
    assert!(page.contains("This folder is empty"), "{page}");
    // Without the token of our own pages nothing is changed.
    let request = admin
        .request("POST", "/files/delete")
        .header("content-type", "application/x-www-form-urlencoded")
        .body("path=docs");
    assert_eq!(admin.send(request).await.status().as_u16(), 403);
    assert!(served.house.work().join("docs").is_dir());
}

#[tokio::test(flavor = "multi_thread")]
async fn s10_hostile_paths_reach_nothing() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let work = served.house.work();
    served.house.write(&served.house.at("outside.txt"), "outside");
    served.house.write(&work.join(".weirignore"), "closed/\n");
    served.house.write(&work.join("closed/secret.txt"), "closed");
    std::os::unix::fs::symlink(served.house.at("outside.txt"), work.join("link")).expect("a link");
    std::os::unix::fs::symlink(served.house.at(""), work.join("up")).expect("a link");
    for path in [
        "../outside.txt",
        "..",
        "a/../../outside.txt",
        "/etc/passwd",
        "~/x",
        "link",
        "up/outside.txt",
        "closed/secret.txt",
        "closed",
        "..%2foutside.txt/..",
        "a\u{0}b",
        "a\nb",
        "..\\outside.txt",
        "\u{202e}x",
        &"n".repeat(300),
        &"a/".repeat(3000),
        "con\u{200b}fig",
    ] {
        let asked = query(path);
        for address in [
            format!("/api/v1/files/content?{asked}"),
            format!("/files?{asked}"),
            format!("/files/edit?{asked}"),
        ] {
            let (status, body) = admin.get(&address).await;
            assert!((400..500).contains(&status), "{path:?}: {status} {body}");
            assert!(!body.contains("outside\n") && !body.contains("root:"), "{path:?}: {body}");
        }
        if path == "link" {
            continue;
        }
        let (status, _) = admin.api("DELETE", &format!("/api/v1/files?{asked}"), None).await;
        assert!((400..500).contains(&status), "{path:?} is deleted: {status}");
        let body = json!({ "from": path, "to": "mine" });
        let (status, _) = admin.api("POST", "/api/v1/files/move", Some(body)).await;
        assert!((400..500).contains(&status), "{path:?} is moved: {status}");
    }
    for path in ["../new", "up/new", "closed/new", "/tmp/weir-new", "link", "a\u{202e}b", "", "."] {
        let (status, answer) = put(&admin, path, "&conflict=replace", b"new".to_vec()).await;
        assert!((400..500).contains(&status), "{path:?} is written: {answer}");
        assert_ne!(upload(&admin, "up", "replace", ("new", "x")).await.0, 303);
    }
    // A link may go; what it leads to stays.
    let (status, _) = admin.api("DELETE", &format!("/api/v1/files?{}", query("link")), None).await;
    assert_eq!(status, 200);
    assert!(!served.house.at("new").exists() && !std::path::Path::new("/tmp/weir-new").exists());
    assert_eq!(std::fs::read_to_string(served.house.at("outside.txt")).expect("there"), "outside");
    assert!(
        !names(&admin, "").await.contains(&"closed".to_owned()),
        "an ignore list is not honoured"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_files_of_one_person_are_nobody_elses() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let ann = served.person("ann").await;
    put(&admin, "mine.txt", "", b"the admin's words".to_vec()).await;
    let (status, body) = ann.get(&format!("/api/v1/files/content?{}", query("mine.txt"))).await;
    assert_eq!(status, 404, "{body}");
    put(&ann, "hers.txt", "", b"ann's words".to_vec()).await;
    assert_eq!(names(&ann, "").await, ["hers.txt"]);
    assert!(!names(&admin, "").await.contains(&"hers.txt".to_owned()));
    let nobody = served.stranger();
    assert_eq!(nobody.get("/api/v1/files").await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn s10_what_is_downloaded_is_never_run() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let png = b"\x89PNG\r\n\x1a\nnot quite a picture".to_vec();
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>".to_vec();
    for (name, bytes, inline, kind) in [
        ("a.png", png.clone(), true, "image/png"),
        ("a.html", b"<script>alert(1)</script>".to_vec(), false, "application/octet-stream"),
        ("a.svg", svg, false, "application/octet-stream"),
        (
            "page.png",
            b"<!doctype html><script>1</script>".to_vec(),
            false,
            "application/octet-stream",
        ),
        ("picture.html", png, true, "image/png"),
        ("a.pdf", b"%PDF-1.7".to_vec(), false, "application/octet-stream"),
    ] {
        assert_eq!(put(&admin, name, "", bytes.clone()).await.0, 200, "{name}");
        let path = format!("/api/v1/files/content?{}&inline=true", query(name));
        let (status, headers, body) = admin.get_whole(&path).await;
        let header = |name: &str| headers[name].to_str().expect("text").to_owned();
        assert_eq!((status, body), (200, bytes), "{name}");
        assert_eq!(header("content-type"), kind, "{name}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(header("content-security-policy").contains("sandbox"), "{name}");
        assert_eq!(header("content-disposition").starts_with("inline"), inline, "{name}");
        let (_, headers, _) =
            admin.get_whole(&format!("/api/v1/files/content?{}", query(name))).await;
        assert!(headers["content-disposition"].to_str().expect("text").starts_with("attachment"));
    }
    // An archive is named, never opened.
    put(&admin, "bomb.zip", "", b"PK\x03\x04\xff\xff\xff\xff".to_vec()).await;
    let (status, page) = admin.get(&format!("/files?{}", query("bomb.zip"))).await;
    assert!(status == 200 && page.contains("a ZIP archive"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn s10_an_upload_that_is_too_large_changes_nothing() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let request = admin
        .request("PUT", "/api/v1/files/content?path=large.bin")
        .header("x-csrf-token", admin.token())
        .body(vec![0; TOO_LARGE]);
    // It may close the line before everything was sent: then there is no answer to be read.
    if let Ok(response) = request.send().await {
        assert_eq!(response.status().as_u16(), 413);
    }
    assert!(!served.house.work().join("large.bin").exists());
    // Nothing is left beside it, and the server goes on.
    assert_eq!(names(&admin, "").await, Vec::<String>::new());
    assert_eq!(put(&admin, "small.bin", "", vec![0; 100_000]).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn s10_of_many_uploads_of_one_name_one_wins() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let one = |n: u8| {
        let admin = admin.clone();
        async move { put(&admin, "same.txt", "", vec![b'0' + n; 20_000]).await.0 }
    };
    let mut statuses = futures::future::join_all((0..8).map(one)).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
    let written = std::fs::read(served.house.work().join("same.txt")).expect("it is there");
    assert!(
        written.len() == 20_000 && written.iter().all(|byte| *byte == written[0]),
        "it is mixed"
    );
}

/// Lets a run change a file and waits until it is over.
async fn run(browser: &Browser) -> String {
    let (status, made) = browser.api("POST", "/api/v1/sessions", Some(json!({}))).await;
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().expect("an id").to_owned();
    let path = format!("/api/v1/sessions/{id}");
    let said = json!({ "content": [{ "type": "text", "text": "go" }] });
    assert_eq!(browser.api("POST", &format!("{path}/input"), Some(said)).await.0, 202);
    browser.until_status(&id, "completed").await;
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn g7_a_checkpoint_is_looked_at_and_put_back_in_the_browser() {
    let script = "name: test\n\nsays: I write.\ncalls: write_file {\"path\": \"a.txt\", \
                  \"content\": \"of the agent\\n\"}\ncalls: write_file {\"path\": \"b.txt\", \
                  \"content\": \"of the agent\\n\"}\n\nsays: Written.\n";
    let setup =
        ServerSetup { script, config: "permission = \"auto-edit\"\n", ..ServerSetup::default() };
    let mut served = TestServer::start(setup).await;
    let admin = served.admin().await;
    served.house.write(&served.house.work().join("a.txt"), "of the person\n");
    let chat = run(&admin).await;
    let (status, page) = admin.get("/files/checkpoints?path=a.txt").await;
    assert_eq!(status, 200);
    assert!(page.contains(&format!("/chats/{chat}")) && !page.contains("b.txt"), "{page}");
    let link = page.split("href=\"/files/checkpoints/").nth(1).expect("one of them");
    let id = link.split('"').next().expect("its name").to_owned();
    let (_, page) = admin.get(&format!("/files/checkpoints/{id}")).await;
    assert!(page.contains("of the person") && page.contains("of the agent"), "{page}");
    let path = format!("/files/checkpoints/{id}/restore");
    let (status, _, body) = admin.form(&path, &[("path", "")]).await;
    assert_eq!(status, 303, "{body}");
    let file = served.house.work().join("a.txt");
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "of the person\n");
    assert!(served.house.work().join("b.txt").exists(), "only this checkpoint is put back");
    // What somebody changed since is left alone, and said.
    std::fs::write(&file, "changed since\n").expect("writable");
    let (_, page) = admin.get(&format!("/files/checkpoints/{id}")).await;
    assert!(page.contains("were changed since"), "{page}");
    assert_eq!(admin.form(&path, &[("path", "")]).await.0, 303);
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "changed since\n");
    // Another's checkpoints are not there.
    let ann = served.person("ann").await;
    assert_eq!(ann.get(&format!("/files/checkpoints/{id}")).await.0, 404);
    assert_eq!(ann.form(&path, &[("path", "")]).await.0, 404);
}
