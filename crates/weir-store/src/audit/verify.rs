//! `weir audit verify`: the chain in the store, the chain in the files, and that they agree.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use weir_core::record::GENESIS;
use weir_engine::ports::StoreError;

use super::{FileLine, StoredLine, file, line_hash};
use crate::filesystem::io_error;
use crate::sqlite::AuditReader;

/// Most lines that are held in memory at a time.
const PAGE_LINES: u64 = 1000;

/// What the check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditReport {
    /// Lines in the store.
    pub lines: u64,
    /// Lines in the files.
    pub file_lines: u64,
    /// The first fault; `None`: both chains are whole and agree.
    pub fault: Option<AuditFault>,
}

/// The first line that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFault {
    /// Number of the line.
    pub n: u64,
    /// Where: the store, or a file with its line.
    pub place: String,
    /// The reason, as a sentence for people.
    pub why: String,
}

impl std::fmt::Display for AuditFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "audit line {} ({}): {}", self.n, self.place, self.why)
    }
}

/// Follows one chain line by line.
pub(crate) struct ChainVerifier {
    pub(crate) n: u64,
    hash: String,
}

impl ChainVerifier {
    pub(crate) fn new() -> ChainVerifier {
        ChainVerifier { n: 0, hash: GENESIS.to_string() }
    }

    /// Takes the next line, or says what is wrong with it.
    pub(crate) fn check_next_line(
        &mut self,
        n: u64,
        entry: &str,
        hash: &str,
    ) -> Result<(), String> {
        let expected = self.n + 1;
        if n > expected {
            return Err(format!("missing: line {n} follows line {}", self.n));
        }
        if n < expected {
            return Err(format!("reordered: line {n} stands where line {expected} should be"));
        }
        if line_hash(&self.hash, n, entry) != hash {
            return Err("changed: its hash does not follow from the line before".to_string());
        }
        self.n = n;
        self.hash = hash.to_string();
        Ok(())
    }
}

/// Checks the audit of the store in `state_dir` and its files, and names the first line that was
/// changed, is missing or was moved. Reads only.
///
/// Lines at the end that a crash kept from the file are no fault: the next append writes them.
///
/// # Errors
/// When the store or a file cannot be read at all.
pub fn verify_audit(state_dir: &Path) -> Result<AuditReport, StoreError> {
    let mut store = AuditReader::open(state_dir)?;
    let (lines, table_fault) = verify_table(&mut store)?;
    let mut report = AuditReport { lines, file_lines: 0, fault: table_fault };
    let exported = store.last_exported()?;
    let file_fault = verify_files(state_dir, &mut store, exported, &mut report)?;
    report.fault = match (report.fault, file_fault) {
        (Some(table), Some(file)) if file.n < table.n => Some(file),
        (Some(table), _) => Some(table),
        (None, file) => file,
    };
    Ok(report)
}

fn verify_table(store: &mut AuditReader) -> Result<(u64, Option<AuditFault>), StoreError> {
    let mut chain = ChainVerifier::new();
    loop {
        let page = store.audit_lines(chain.n + 1, PAGE_LINES)?;
        if page.is_empty() {
            break;
        }
        for line in page {
            let expected = chain.n + 1;
            if let Err(why) = chain.check_next_line(line.n, &line.entry, &line.hash) {
                let fault = AuditFault { n: expected, place: "store".to_string(), why };
                return Ok((store.count_lines()?, Some(fault)));
            }
        }
    }
    Ok((chain.n, None))
}

fn verify_files(
    state_dir: &Path,
    store: &mut AuditReader,
    exported: u64,
    report: &mut AuditReport,
) -> Result<Option<AuditFault>, StoreError> {
    let mut chain = ChainVerifier::new();
    let mut page: std::vec::IntoIter<StoredLine> = Vec::new().into_iter();
    let folder = state_dir.join("audit");
    let failed = |e: &std::io::Error| io_error(format!("reading {}", folder.display()), e);
    let all = file::daily_files(&folder).map_err(|e| failed(&e))?;
    for (place, (day, path)) in all.iter().enumerate() {
        let mut reader = BufReader::new(File::open(path).map_err(|e| failed(&e))?);
        let mut line = Vec::new();
        for at in 1_usize.. {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(|e| failed(&e))? == 0 {
                break;
            }
            if line.last() != Some(&b'\n') && place + 1 == all.len() && chain.n >= exported {
                // A crash tore it; the next append cuts it off and writes it again.
                break;
            }
            let fault = |n: u64, why: String| {
                Some(AuditFault { n, place: format!("{day}.jsonl:{at}"), why })
            };
            let expected = chain.n + 1;
            let Ok(found) = serde_json::from_slice::<FileLine<'_>>(&line) else {
                return Ok(fault(expected, "changed: it is no audit line".to_string()));
            };
            if let Err(why) = chain.check_next_line(found.n, found.entry.get(), &found.hash) {
                return Ok(fault(expected, why));
            }
            report.file_lines += 1;
            if page.len() == 0 {
                page = store.audit_lines(expected, PAGE_LINES)?.into_iter();
            }
            match page.next() {
                Some(stored) if stored.n == found.n && stored.hash == found.hash => {
                    let whole = found.prev == stored.prev;
                    if !whole {
                        return Ok(fault(
                            expected,
                            "changed: wrong hash of the line before".into(),
                        ));
                    }
                }
                Some(_) => return Ok(fault(expected, "the store has another line here".into())),
                None => return Ok(fault(expected, "the store does not have this line".into())),
            }
        }
    }
    if chain.n < exported {
        return Ok(Some(AuditFault {
            n: chain.n + 1,
            place: "files".to_string(),
            why: "missing: it was written to its file and is not there any more".to_string(),
        }));
    }
    Ok(None)
}
