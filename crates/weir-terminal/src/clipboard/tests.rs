//! Stand-ins for the programs that read a clipboard, in a folder of their own that is all of PATH.

use std::process::Command as Program;

use async_trait::async_trait;
use weir_core::document::{DocumentError, DocumentResult};

use super::*;

/// Begins as a PNG does.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR and so on";

/// Who looks at pictures: everything is one, or nothing.
struct Looks(bool);

#[async_trait]
impl DocumentReaders for Looks {
    async fn inspect_document(
        &self,
        wish: DocumentRequest,
        _: Arc<[u8]>,
    ) -> Result<DocumentResult, DocumentError> {
        assert!(
            matches!(wish, DocumentRequest::Image { side_max: 1, .. }),
            "all of it is decoded: {wish:?}"
        );
        let (width, height) = (4, 3);
        let media_type = "image/png".to_owned();
        match self.0 {
            true => Ok(DocumentResult::Image { media_type, width, height, smaller: None }),
            false => Err(DocumentError::Broken { why: "its end is missing".into() }),
        }
    }
}

/// A machine with these programs.
struct Machine {
    folder: tempfile::TempDir,
    is_mac: bool,
    time: Duration,
}

impl Machine {
    fn new(programs: &[(&str, &str)]) -> Machine {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let machine = Machine { folder, is_mac: false, time: Duration::from_secs(120) };
        machine.write("picture", PNG);
        for (name, script) in programs {
            // A program that this process has open for writing cannot be started by another of its
            // threads: a child makes it.
            let text = format!("#!/bin/sh\ncd {} || exit 9\n{script}\n", machine.at("").display());
            machine.write("script", text.as_bytes());
            let line = "/bin/cp script \"$1\" && /bin/chmod 755 \"$1\"";
            let mut made = Program::new("/bin/sh");
            made.args(["-c", line, "sh", name]).current_dir(machine.folder.path());
            assert!(made.status().expect("a shell").success(), "{name}");
        }
        machine
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.at(name), bytes).expect("writable");
    }

    async fn read(&self, variables: &[&str]) -> Result<ClipboardContent, String> {
        self.read_by(variables, &Looks(true), &self.at("").display().to_string()).await
    }

    async fn read_by(
        &self,
        variables: &[&str],
        looks: &Looks,
        path: &str,
    ) -> Result<ClipboardContent, String> {
        let mut all = vec![("PATH", path), ("KEPT", "as it is")];
        all.extend(variables.iter().map(|name| (*name, ":7")));
        let environment = Arc::new(ProcessEnvironment::of(&all));
        let clipboard = SystemClipboard { environment, is_mac: self.is_mac, time: self.time };
        clipboard.read_checked(looks).await
    }
}

/// A stand-in that lists `kinds` and gives the picture, or words.
fn xclip(kinds: &str) -> String {
    format!(
        "case \"$DISPLAY $KEPT ${{HOME-none}} $*\" in
          ':7 as it is none -selection clipboard -t TARGETS -o') printf '{kinds}' ;;
          ':7 as it is none -selection clipboard -t image/png -o') /bin/cat picture ;;
          ':7 as it is none -selection clipboard -t UTF8_STRING -o') printf 'some words' ;;
          *) echo \"not so: $*\" >&2; exit 3 ;;
        esac"
    )
}

fn wl_paste(kinds: &str) -> String {
    format!(
        "case \"$*\" in
          '--list-types') printf '{kinds}' ;;
          '--no-newline --type image/png') /bin/cat picture ;;
          '--no-newline --type text') printf 'words of wayland' ;;
          *) echo \"not so: $*\" >&2; exit 3 ;;
        esac"
    )
}

const EMPTY: &str = "echo 'Error: target TARGETS not available' >&2; exit 1";
const BOTH: [&str; 2] = ["WAYLAND_DISPLAY", "DISPLAY"];

fn png() -> Result<ClipboardContent, String> {
    Ok(ClipboardContent::Image { ending: "png".into(), bytes: PNG.into() })
}

fn words(text: &str) -> Result<ClipboardContent, String> {
    Ok(ClipboardContent::Text(text.into()))
}

#[tokio::test]
async fn f1_a_picture_of_the_clipboard_comes_from_the_first_reader_that_has_one() {
    let (picture, text) = (r"TARGETS\nUTF8_STRING\nimage/png\n", r"TARGETS\nUTF8_STRING\n");
    for (x11, wayland, set, expected) in [
        (Some(xclip(picture)), None, &BOTH[1..], png()),
        (Some(xclip(picture)), None, &BOTH[..], png()),
        (None, Some(wl_paste("image/png\\n")), &BOTH[..1], png()),
        (Some(EMPTY.into()), Some(wl_paste("image/png\\n")), &BOTH[..], png()),
        (Some(xclip(picture)), Some(wl_paste("text/plain\\n")), &BOTH[..], png()),
        (Some(xclip(picture)), Some(EMPTY.into()), &BOTH[..], png()),
        (Some(xclip(text)), None, &BOTH[1..], words("some words")),
        (Some(xclip(text)), Some(EMPTY.into()), &BOTH[..], words("some words")),
        (None, Some(wl_paste("text/plain;charset=utf-8\\n")), &BOTH[..], words("words of wayland")),
        (Some(xclip(text)), Some(wl_paste("text/plain\\n")), &BOTH[..], words("words of wayland")),
    ] {
        let mut programs = Vec::new();
        programs.extend(x11.as_ref().map(|script| ("xclip", script.as_str())));
        programs.extend(wayland.as_ref().map(|script| ("wl-paste", script.as_str())));
        let machine = Machine::new(&programs);
        assert_eq!(machine.read(set).await, expected, "{programs:?} {set:?}");
    }
}

#[tokio::test]
async fn f1_a_mac_is_asked_for_its_picture_and_then_for_its_words() {
    let digits: String = PNG.iter().map(|byte| format!("{byte:02X}")).collect();
    let script = format!(
        "[ \"$1 $2\" = '-e the clipboard as «class PNGf»' ] && printf '«data PNGf{digits}»\\n'"
    );
    let none = "echo 'no picture' >&2; exit 1";
    for (programs, expected) in [
        (vec![("pngpaste", "[ \"$*\" = - ] && /bin/cat picture")], png()),
        (vec![("pngpaste", none), ("osascript", &script)], png()),
        (vec![("osascript", script.as_str())], png()),
        (vec![("osascript", none), ("pbpaste", "printf 'words'")], words("words")),
    ] {
        let machine = Machine { is_mac: true, ..Machine::new(&programs) };
        assert_eq!(machine.read(&[]).await, expected, "{programs:?}");
    }
}

#[tokio::test]
async fn f1_a_clipboard_without_a_picture_says_what_to_install_or_do() {
    let odd = xclip(r"TARGETS\nimage/bmp\nimage/tiff\n");
    let lies = "case \"$*\" in *TARGETS*) printf 'image/png' ;; *) printf 'no picture' ;; esac";
    let fails = "case \"$*\" in *TARGETS*) printf 'image/png' ;; *) echo gone >&2; exit 1 ;; esac";
    let latin = "case \"$*\" in *TARGETS*) printf 'STRING' ;; *) printf 'gr\\374n' ;; esac";
    for (programs, set, said) in [
        (vec![], &[][..], "neither WAYLAND_DISPLAY nor DISPLAY is set"),
        (vec![], &BOTH[..], "install wl-paste (package wl-clipboard) or xclip, or save"),
        (vec![("xclip", EMPTY)], &BOTH[..1], "install wl-paste (package wl-clipboard), or save"),
        (vec![], &BOTH[1..], "install xclip, or save the picture as a file and name it with @"),
        (
            vec![("xclip", EMPTY)],
            &BOTH[1..],
            "no picture in the clipboard (xclip: Error: target TARGETS not available). Copy one",
        ),
        (vec![("xclip", "exit 4")], &BOTH[1..], "(xclip: exit status: 4)"),
        (vec![("xclip", "exit 0")], &BOTH[1..], "There is no picture in the clipboard. Copy one"),
        (vec![("xclip", &odd)], &BOTH[1..], "is image/bmp, which no model takes; save it as PNG"),
        (vec![("xclip", lies)], &BOTH[1..], "is broken: it is no PNG, JPEG, GIF or WebP"),
        (vec![("xclip", fails)], &BOTH[1..], "(xclip: gone)"),
        (vec![("xclip", latin)], &BOTH[1..], "its text is not UTF-8"),
    ] {
        let machine = Machine::new(&programs);
        let why = machine.read(set).await.expect_err(said);
        assert!(why.contains(said), "{programs:?}: {why}");
    }
    let machine = Machine::new(&[("xclip", &xclip("image/png\\n"))]);
    let path = machine.at("").display().to_string();
    let why = machine.read_by(&BOTH, &Looks(false), &path).await.expect_err("broken");
    assert!(why.contains("cannot be used") && why.contains("its end is missing"), "{why}");
    // A folder of PATH that is relative may be anybody's.
    let here = std::env::current_dir().expect("a folder");
    let up = "../".repeat(here.components().count());
    let path = format!("{up}{path}");
    assert!(Path::new(&path).join("xclip").is_file(), "{path}");
    let why = machine.read_by(&BOTH, &Looks(true), &path).await.expect_err("not run");
    assert!(why.contains("install"), "{why}");
}

#[tokio::test]
async fn f1_a_reader_of_the_clipboard_has_bounds_in_time_and_size() {
    let large = format!("exec /usr/bin/head -c {} /dev/zero", FILE_BYTES_MAX + 1);
    let large = format!("case \"$*\" in *TARGETS*) printf 'image/png' ;; *) {large} ;; esac");
    let machine = Machine::new(&[("xclip", &large)]);
    let why = machine.read(&BOTH).await.expect_err("too large");
    assert!(why.contains("more than 32 MB"), "{why}");

    let mut machine =
        Machine::new(&[("xclip", "echo $$ >pid.new; /bin/mv pid.new pid; exec /bin/sleep 9999")]);
    // As long as it takes to begin on a busy machine, and then no longer.
    let mut time = Duration::from_millis(250);
    let pid = loop {
        machine.time = time;
        let why = machine.read(&BOTH).await.expect_err("it does not end by itself");
        assert!(why.contains("was ended"), "{why}");
        match std::fs::read_to_string(machine.at("pid")) {
            Ok(pid) => break pid.trim().to_owned(),
            Err(_) => time *= 2,
        }
        assert!(time < Duration::from_secs(300), "it never began");
    };
    let gone = async {
        // One that has ended and was not waited for yet is a zombie.
        while std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.contains(") Z "))
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), gone).await.expect("it was ended");
}

#[tokio::test]
async fn f1_what_the_clipboard_holds_comes_as_news() {
    let environment = ProcessEnvironment::of(&[]);
    let news = SystemClipboard::from_environment(&environment).clipboard_update(7).await;
    assert!(matches!(&news, UiUpdate::Failed { ticket: 7, .. }), "{news:?}");
    let machine = Machine::new(&[("xclip", &xclip("UTF8_STRING\\n"))]);
    let path = machine.at("").display().to_string();
    let environment =
        ProcessEnvironment::of(&[("PATH", &path), ("KEPT", "as it is"), ("DISPLAY", ":7")]);
    let time = Duration::from_secs(120);
    let news = SystemClipboard { time, ..SystemClipboard::from_environment(&environment) }
        .clipboard_update(8)
        .await;
    if !cfg!(target_os = "macos") {
        assert_eq!(
            news,
            UiUpdate::Clipboard { ticket: 8, clip: ClipboardContent::Text("some words".into()) }
        );
    }
}
