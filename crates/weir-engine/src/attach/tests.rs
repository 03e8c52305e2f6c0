//! Attaching, with a reader that answers what it is told.

use async_trait::async_trait;
use weir_core::document::DocumentImage;

use super::*;
use crate::utf16::ByteOrder;
use crate::workspace::WorkspaceOptions;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";
const PDF: &[u8] = b"%PDF-1.7 rest";

struct Reader(Result<DocumentResult, DocumentError>);

#[async_trait]
impl DocumentReaders for Reader {
    async fn inspect_document(
        &self,
        _wish: DocumentRequest,
        _bytes: Arc<[u8]>,
    ) -> Result<DocumentResult, DocumentError> {
        self.0.clone()
    }
}

fn image(smaller: Option<DocumentImage>) -> Reader {
    let media_type = "image/png".to_owned();
    Reader(Ok(DocumentResult::Image { media_type, width: 4_000, height: 3_000, smaller }))
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(future)
}

fn of(reader: &Reader, name: &str, bytes: &[u8]) -> Result<Attachment, String> {
    let bytes = Arc::from(bytes);
    block_on(Attachment::of_bytes(reader, name, bytes)).map_err(|error| error.to_string())
}

fn folder() -> (tempfile::TempDir, Arc<Workspace>) {
    let folder = tempfile::tempdir().expect("a folder");
    let options = WorkspaceOptions {
        root: folder.path().to_path_buf(),
        extra_roots: Vec::new(),
        own_folders: Vec::new(),
    };
    let workspace = Arc::new(Workspace::open(options).expect("a workspace"));
    (folder, workspace)
}

#[test]
fn x5_the_content_says_what_a_file_is() {
    let pdf = Reader(Ok(DocumentResult::Pdf { pages: 2 }));
    for (reader, name, bytes, expected) in [
        (&image(None), "a/b.png", PNG, Ok(Some("image/png"))),
        (&image(None), "b", PNG, Ok(Some("image/png"))),
        (&image(None), "b.pdf", PNG, Ok(Some("image/png"))),
        (&pdf, "c.pdf", PDF, Ok(Some("application/pdf"))),
        (&pdf, "c.png", PDF, Ok(Some("application/pdf"))),
        (&pdf, "notes", b"text", Ok(None)),
        (&pdf, "notes.pdf", b"text", Err("its name says PDF, and its content is text")),
        (&pdf, "b.png", b"\x7fELF\0", Err("its name says PNG, and its content is an ELF")),
        (&pdf, "b.zip", b"PK\x03\x04\0", Err("neither text nor PNG")),
        (&pdf, "latin", b"caf\xe9", Err("another encoding than UTF-8")),
        (&pdf, "wide.txt", b"\xff\xfeh\0i\0", Ok(None)),
        (&pdf, "half.txt", b"\xff\xfeh\0\0\xd8", Err("half a character stands at byte 4")),
    ] {
        let found = of(reader, name, bytes);
        let block = |found: Attachment| found.media_block(|_| weir_core::ids::BlobId::new("b"));
        let found = found.map(|found| match block(found) {
            Some(MessageBlock::Image { media } | MessageBlock::Document { media }) => {
                Some(media.media_type)
            }
            _ => None,
        });
        match expected {
            Ok(media_type) => assert_eq!(found, Ok(media_type.map(String::from)), "{name}"),
            Err(why) => {
                let said = found.expect_err(name);
                assert!(said.contains(why) && said.starts_with(name), "{said}");
            }
        }
    }
}

#[test]
fn x5_a_file_in_utf_16_goes_along_as_its_text() {
    let pdf = Reader(Ok(DocumentResult::Pdf { pages: 2 }));
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let found = of(&pdf, "wide.txt", &order.encode("Wörter\r\n")).expect("a text");
        assert_eq!(found.content, AttachmentContent::Text("Wörter\r\n".to_owned()));
    }
    let found = of(&pdf, "marked.txt", b"\xef\xbb\xbfone\n").expect("a text");
    assert_eq!(
        found.content,
        AttachmentContent::Text("one\n".to_owned()),
        "the mark is none of it"
    );
}

#[test]
fn x5_what_cannot_be_read_is_refused_with_what_to_do() {
    let locked = Reader(Err(DocumentError::Encrypted));
    let why = of(&locked, "x/secret.pdf", PDF).expect_err("locked");
    assert!(why.starts_with("x/secret.pdf cannot be attached: it is encrypted"), "{why}");
    assert!(why.contains("save a copy without one"), "{why}");
    let long = vec![b'a'; 1 << 21];
    let why = of(&locked, "long.txt", &long).expect_err("long");
    assert!(why.contains("2.0 MB of text") && why.contains("at most 1.0 MB"), "{why}");
    let huge = vec![0; 33 << 20];
    let why = of(&locked, "huge.png", &huge).expect_err("huge");
    assert!(why.contains("34.6 MB") && why.contains("33.5 MB"), "{why}");
}

#[test]
fn x5_smaller_copies_are_told_and_both_are_kept() {
    let (media_type, bytes) = ("image/jpeg".to_owned(), b"small".to_vec());
    let smaller = DocumentImage { page: 0, media_type, width: 2_000, height: 1_500, bytes };
    let found = of(&image(Some(smaller)), "p.png", PNG).expect("attached");
    let note = found.note().expect("a note");
    assert!(note.contains("4000 × 3000") && note.contains("scaled down to 2000 × 1500"), "{note}");
    let mut put = Vec::new();
    let block = found.media_block(|bytes| {
        put.push(bytes.to_vec());
        weir_core::ids::BlobId::new(put.len().to_string())
    });
    assert_eq!(put, [PNG.to_vec(), b"small".to_vec()]);
    let Some(MessageBlock::Image { media }) = block else { panic!("no image") };
    assert_eq!((media.media_type.as_str(), media.bytes), ("image/jpeg", 5));
    assert_eq!(
        (media.blob, media.name.as_deref()),
        (weir_core::ids::BlobId::new("2"), Some("p.png"))
    );
}

#[test]
fn x5_labels_follow_where_words_come_from() {
    let (folder, workspace) = folder();
    std::fs::write(folder.path().join("a.txt"), "inside").expect("written");
    let reader = Reader(Ok(DocumentResult::Pdf { pages: 1 }));
    let uploaded = of(&reader, "a.txt", b"uploaded").expect("attached");
    assert!(uploaded.label.is_external() && uploaded.label.is_private());
    let of_file = |workspace: &Arc<Workspace>| {
        let at = workspace.resolve("a.txt", PathAccess::Read);
        block_on(Attachment::of_file(&reader, workspace, at, "a.txt")).expect("attached")
    };
    let own = of_file(&workspace);
    assert!(!own.label.is_external() && own.label.is_private());
    workspace.mark(&["a.txt".into()], "example.org");
    let marked = of_file(&workspace);
    assert!(marked.label.is_external());
    let words = marked.added_text().expect("text");
    assert_eq!(words.text, "Attached file a.txt:\ninside");
    assert_eq!(words.label, marked.label);
}

#[test]
fn x5_prompts_attach_what_they_name() {
    let (folder, workspace) = folder();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("written");
    };
    write("a.txt", "a");
    write("dir/my notes.md", "b");
    write("hidden.txt", "c");
    write(".env", "KEY=1");
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKB";
    write("key.txt", &format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"));
    write(".weirignore", "hidden.txt\nnothing-there\n");
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::write(outside.path().join("o.txt"), "o").expect("written");
    let reader = Reader(Ok(DocumentResult::Pdf { pages: 1 }));
    let names = |paths: &[PathBuf], prompt: &str| -> Result<Vec<String>, String> {
        let found = block_on(gather_attachments(&reader, &workspace, paths, prompt));
        let names = |found: Vec<Attachment>| found.iter().map(|it| it.name().to_owned()).collect();
        found.map(names).map_err(|error| error.to_string())
    };
    let all = names(&[], "See @a.txt, @dir, @missing, @\"dir/my notes.md\" and (@a.txt).");
    assert_eq!(all.as_deref(), Ok(&["a.txt".to_owned(), "my notes.md".to_owned()][..]));
    assert_eq!(names(&[], "@nothing-there me@a.txt"), Ok(Vec::new()));
    for (prompt, why) in [
        ("@hidden.txt".to_owned(), "invisible"),
        ("@.env".to_owned(), "--attach"),
        ("@key.txt".to_owned(), "it holds a private key; if you mean it"),
        (format!("@{}", outside.path().join("o.txt").display()), "outside the workspace"),
    ] {
        let said = names(&[], &prompt).expect_err(&prompt);
        assert!(said.contains(why), "{said}");
    }
    let path = outside.path().join("o.txt");
    assert_eq!(names(&[path], ""), Ok(vec!["o.txt".to_owned()]));
    let missing = names(&["missing.txt".into()], "").expect_err("missing");
    assert!(missing.contains("missing.txt"), "{missing}");
    for number in 0..=FILES_MAX {
        write(&format!("many/{number}.txt"), "x");
    }
    let prompt: Vec<String> = (0..=FILES_MAX).map(|n| format!("@many/{n}.txt")).collect();
    assert!(names(&[], &prompt.join(" ")).expect_err("many").contains("at most 50 files"));
}
