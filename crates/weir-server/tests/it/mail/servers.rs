//! Mail servers on this machine: Dovecot for fetching, and a small one that takes mail.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use weir_test_kit::{free_port, skip_test, wait_until};

/// A mail as it is delivered. `headers`: more of them.
pub(crate) fn mail(from: &str, subject: &str, headers: &str, text: &str) -> String {
    format!(
        "{headers}\r\nFrom: {from}\r\nTo: ann@home.example\r\nSubject: {subject}\r\nDate: Fri, 20 \
         Nov 2026 10:00:00 +0000\r\nMessage-ID: <{subject}@good.example>\r\n\r\n{text}\r\n"
    )
}

/// An IMAP server with one account: `ann`, `secret`.
pub(crate) struct Imap {
    pub(crate) port: u16,
    folder: tempfile::TempDir,
    child: std::process::Child,
    delivered: AtomicU32,
}

impl Drop for Imap {
    fn drop(&mut self) {
        // Its children end with it.
        let stopped = Command::new("doveadm")
            .args(["-c", &self.at("dovecot.conf").display().to_string(), "stop"])
            .stderr(Stdio::null())
            .status();
        if !stopped.is_ok_and(|status| status.success()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

impl Imap {
    /// Starts it; `None`, with a word about it, where it is not installed (in CI that fails).
    pub(crate) fn start() -> Option<Imap> {
        let there = Command::new("dovecot").arg("--version").stdout(Stdio::null()).status();
        let uid = Command::new("id").arg("-u").output().expect("id").stdout;
        let root = String::from_utf8_lossy(&uid).trim() == "0";
        if there.is_err() || !root {
            skip_test("Dovecot is missing (package dovecot-imapd), or this is not root");
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))
            .expect("readable");
        for part in ["new", "cur", "tmp"] {
            std::fs::create_dir_all(folder.path().join("mail/ann").join(part)).expect("a folder");
        }
        let at = folder.path().display().to_string();
        let given = Command::new("chown").args(["-R", "nobody", &format!("{at}/mail")]).status();
        assert!(given.is_ok_and(|status| status.success()), "the folder is given to nobody");
        std::fs::write(folder.path().join("users"), "ann:{plain}secret\n").expect("written");
        let port = free_port();
        std::fs::write(folder.path().join("dovecot.conf"), config(&at, port)).expect("written");
        let child = Command::new("dovecot")
            .args(["-F", "-c", &format!("{at}/dovecot.conf")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let imap = Imap { port, folder, child, delivered: AtomicU32::new(0) };
        wait_until("Dovecot answers", || {
            let answers = TcpStream::connect(("127.0.0.1", port)).is_ok();
            let log = || std::fs::read_to_string(imap.at("log")).unwrap_or_default();
            answers.then_some(()).ok_or_else(log)
        });
        Some(imap)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Puts a mail into the folder, as a delivery agent does.
    pub(crate) fn deliver(&self, mail: &str) {
        let n = self.delivered.fetch_add(1, Ordering::Relaxed);
        let name = format!("{n}.weir");
        let (there, new) =
            (self.at("mail/ann/tmp").join(&name), self.at("mail/ann/new").join(&name));
        std::fs::write(&there, mail).expect("written");
        std::fs::set_permissions(&there, std::fs::Permissions::from_mode(0o666)).expect("readable");
        std::fs::rename(there, new).expect("delivered");
    }
}

fn config(at: &str, port: u16) -> String {
    format!(
        "base_dir = {at}/run\nstate_dir = {at}/state\nlog_path = {at}/log\nssl = no\n\
         disable_plaintext_auth = no\nprotocols = imap\nlisten = 127.0.0.1\n\
         default_internal_user = nobody\ndefault_internal_group = nogroup\n\
         default_login_user = nobody\nfirst_valid_uid = 1\nmail_location = maildir:{at}/mail/%u\n\
         mailbox_idle_check_interval = 1 s\n\
         service anvil {{\n  chroot =\n}}\nservice stats {{\n  chroot =\n}}\n\
         service imap-login {{\n  chroot =\n  inet_listener imap {{\n    port = {port}\n  }}\n  \
         inet_listener imaps {{\n    port = 0\n  }}\n}}\n\
         passdb {{\n  driver = passwd-file\n  args = scheme=plain username_format=%u {at}/users\n}}\n\
         userdb {{\n  driver = static\n  args = uid=nobody gid=nogroup home={at}/mail/%u\n}}\n"
    )
}

/// A mail that was taken.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub(crate) to: Vec<String>,
    pub(crate) text: String,
}

/// Takes every mail.
pub(crate) struct Smtp {
    pub(crate) port: u16,
    taken: Arc<Mutex<Vec<Taken>>>,
}

impl Smtp {
    pub(crate) fn start() -> Smtp {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let taken: Arc<Mutex<Vec<Taken>>> = Arc::default();
        let kept = taken.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let kept = kept.clone();
                std::thread::spawn(move || speak(&stream, &kept));
            }
        });
        Smtp { port, taken }
    }

    pub(crate) fn taken(&self) -> Vec<Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One connection. Whoever speaks may go at any time.
fn speak(mut stream: &TcpStream, taken: &Mutex<Vec<Taken>>) {
    let mut lines = BufReader::new(stream.try_clone().expect("a second handle")).lines();
    let mut to = Vec::new();
    let _ = stream.write_all(b"220 here\r\n");
    while let Some(Ok(line)) = lines.next() {
        let word = line.to_uppercase();
        let answer = if word.starts_with("EHLO") {
            "250-here\r\n250 AUTH PLAIN\r\n".to_owned()
        } else if word.starts_with("AUTH") {
            "235 welcome\r\n".to_owned()
        } else if word.starts_with("RCPT TO:") {
            to.push(line[8..].trim_matches(['<', '>', ' ']).to_owned());
            "250 fine\r\n".to_owned()
        } else if word == "DATA" {
            let _ = stream.write_all(b"354 go on\r\n");
            let mut text = String::new();
            for line in lines.by_ref().map_while(Result::ok).take_while(|line| line != ".") {
                text.push_str(&line);
                text.push_str("\r\n");
            }
            let to = std::mem::take(&mut to);
            taken.lock().unwrap_or_else(PoisonError::into_inner).push(Taken { to, text });
            "250 taken\r\n".to_owned()
        } else if word == "QUIT" {
            let _ = stream.write_all(b"221 bye\r\n");
            return;
        } else {
            "250 fine\r\n".to_owned()
        };
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
