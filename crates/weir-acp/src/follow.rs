//! `weir __tail FILE`: prints what is written to a file until nobody writes it any more. A terminal of an
//! editor runs it to show a command that runs elsewhere: in Weir's sandbox, under its gate. Not here: what is
//! written there (`crate::session::terminals`).

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// The hidden subcommand.
pub const FOLLOW: &str = "__tail";
/// Ends the name of what stands beside the file of a command that failed.
pub(crate) const FAILED: &str = "failed";

/// How often it is looked for more.
const GLANCE: Duration = Duration::from_millis(50);
/// Bytes that are read at once.
const PIECE_BYTES: usize = 16 << 10;

/// The program of that subcommand. It ends as the command did: well or not.
pub fn follow_main() -> ExitCode {
    const UNUSABLE: u8 = 2;
    let Some(path) = std::env::args_os().nth(2) else { return ExitCode::from(UNUSABLE) };
    match follow_file(Path::new(&path), &mut io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(_) => ExitCode::from(UNUSABLE),
    }
}

/// Copies the file to `out` until whoever writes it has let go of its lock: by ending too. Whether the command
/// ended well.
fn follow_file(path: &Path, out: &mut impl Write) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        // Asked before what is there is read: whoever has let go has written all of it.
        let is_over = !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                break;
            }
            out.write_all(&piece[..read])?;
        }
        out.flush()?;
        if is_over {
            return Ok(!path.with_extension(FAILED).exists());
        }
        std::thread::sleep(GLANCE);
    }
}

#[cfg(test)]
mod tests {
    use weir_test_kit::TestFolder;

    use super::*;

    #[test]
    fn r1_a_file_is_followed_until_its_writer_lets_go() {
        let folder = TestFolder::with_files(&[("c1.out", "")]);
        let path = folder.at("c1.out");
        let mut file = File::options().append(true).open(&path).expect("it is there");
        file.lock().expect("nobody has it");
        let followed = std::thread::spawn({
            let path = path.clone();
            move || {
                let mut out = Vec::new();
                let ended = follow_file(&path, &mut out).expect("it can be read");
                (ended, String::from_utf8(out).expect("text"))
            }
        });
        for word in ["one\n", "two\n"] {
            file.write_all(word.as_bytes()).expect("there is room");
            std::thread::sleep(GLANCE * 2);
        }
        assert!(!followed.is_finished(), "there may be more");
        file.write_all(b"three\n").expect("there is room");
        drop(file);
        assert_eq!(followed.join().expect("it ends"), (true, "one\ntwo\nthree\n".into()));
        std::fs::write(path.with_extension(FAILED), "").expect("there is room");
        assert!(
            !follow_file(&path, &mut Vec::new()).expect("it can be read"),
            "the command failed"
        );
        assert!(follow_file(&folder.at("nothing"), &mut Vec::new()).is_err());
    }
}
