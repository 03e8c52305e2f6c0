//! Which type is shown how, which secret is for whom, and what a page that a script makes says.

use super::*;

fn fetched(media_type: &str, charset: Option<&str>, body: &[u8]) -> FetchedPage {
    FetchedPage {
        url: "https://e.org/x".into(),
        status: 200,
        media_type: media_type.into(),
        charset: charset.map(Into::into),
        body: body.to_vec(),
        truncated: false,
    }
}

#[test]
fn z7_a_secret_is_named_for_its_hosts() {
    let hosts = |hosts: &[&str]| hosts.iter().map(ToString::to_string).collect();
    let secrets = [
        ("github".to_owned(), hosts(&["api.github.com", "nas.example:8443"])),
        ("six".to_owned(), hosts(&["[::1]:80"])),
    ];
    for (name, host) in [("github", "api.github.com"), ("github", "nas.example"), ("six", "::1")] {
        assert_eq!(undeclared_secret(&secrets, name, host), None, "{name} {host}");
    }
    for host in ["github.com", "x.api.github.com", "api.github.com.evil.example", "nas"] {
        let why = undeclared_secret(&secrets, "github", host);
        let said = "it is declared for api.github.com, nas.example:8443";
        assert!(why.as_ref().is_some_and(|why| why.ends_with(said)), "{host}: {why:?}");
    }
    assert_eq!(
        undeclared_secret(&secrets, "gitlab", "api.github.com").as_deref(),
        Some(
            "there is no secret \"gitlab\"; there are: github (for api.github.com, \
             nas.example:8443); six (for [::1]:80)"
        )
    );
    assert!(undeclared_secret(&[], "x", "a.b").is_some_and(|why| why.contains("[secrets.NAME]")));
}

fn text_of(fetched: &FetchedPage) -> Result<String, String> {
    to_readable(fetched).map(|readable| readable.text)
}

#[test]
fn types_decide_what_is_shown() {
    assert_eq!(text_of(&fetched("application/json", None, b"{}")).as_deref(), Ok("{}"));
    assert_eq!(text_of(&fetched("", None, b"plain")).as_deref(), Ok("plain"));
    let html = text_of(&fetched("", None, b"<!DOCTYPE html><p>hello"));
    assert_eq!(html.as_deref(), Ok("hello"));
    let png = text_of(&fetched("image/png", None, b"\x89PNG"));
    assert_eq!(
        png.err().as_deref(),
        Some(
            "https://e.org/x is image/png of 4 bytes: only pages, documents, pictures and text can be \
             shown"
        )
    );
    assert!(text_of(&fetched("text/plain", None, b"a\0b")).is_err());
}

#[test]
fn k10_a_page_that_a_script_makes_says_so() {
    let text = |html: &str| text_of(&fetched("text/html", None, html.as_bytes()));
    let empty = text("<html><body><div id=root></div><script src=a.js></script></body></html>");
    assert!(empty.is_ok_and(|text| text.starts_with("[what this page shows is made by a script")));
    let still = text("<html><body><p>Nothing here.</p></body></html>");
    assert_eq!(still.as_deref(), Ok("Nothing here."));
    let link = text("<p>More: <a href=\"b.html\">there</a>");
    assert_eq!(link.as_deref(), Ok("More: [there](https://e.org/b.html)"));
}

#[test]
fn charsets_are_decoded() {
    let latin = fetched("text/plain", Some("ISO-8859-1"), b"caf\xe9 \x80");
    assert_eq!(text_of(&latin).as_deref(), Ok("café €"));
    let meta = fetched("text/html", None, b"<meta charset=\"windows-1252\"><p>\xfc</p>");
    assert_eq!(text_of(&meta).as_deref(), Ok("ü"));
    let broken = to_readable(&fetched("text/plain", None, b"\xff")).map(|readable| readable.how);
    assert_eq!(broken.as_deref(), Ok("text/plain, some characters could not be decoded"));
}
