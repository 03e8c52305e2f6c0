//! Makes the sample documents of `tests/outside/documents` and reads them back: a folder with
//! descriptions, and one for what becomes of them. Not part of the program.

use std::path::Path;

use weir_core::document::{DocumentRequest, DocumentResult};
use weir_core::office::{OfficeDocument, OfficePart};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("make_samples FOLDER-OF-DESCRIPTIONS FOLDER".into());
    };
    for entry in std::fs::read_dir(&from)? {
        let path = entry?.path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let document: OfficeDocument = serde_json::from_slice(&std::fs::read(&path)?)?;
        let ending = match &document {
            OfficeDocument::Text(_) => "docx",
            OfficeDocument::Slides(_) => "pptx",
            OfficeDocument::Workbook(_) => "xlsx",
        };
        let (mut parts, mut bytes) = (Vec::new(), Vec::new());
        for name in document.named_files() {
            // A template is a sample that was made before.
            let file = std::fs::read(Path::new(&from).join(&name))
                .or_else(|_| std::fs::read(Path::new(&to).join(&name)))?;
            parts.push(OfficePart { name, length: file.len() as u64 });
            bytes.extend(file);
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let wish = DocumentRequest::Make { document, parts };
        let made = weir_documents::answer_question(&wish, &bytes)
            .map_err(|error| format!("{stem}: {error}"))?;
        let DocumentResult::Made { bytes, .. } = made else { return Err("nothing made".into()) };
        let name = format!("{stem}.{ending}");
        std::fs::write(Path::new(&to).join(&name), &bytes)?;
        let wish = DocumentRequest::Markdown { name, sheet: None, range: None, bytes_max: 1 << 20 };
        let read = weir_documents::answer_question(&wish, &bytes)?;
        let DocumentResult::Markdown { pages, .. } = read else { return Err("not read".into()) };
        let text: Vec<String> = pages.into_iter().map(|page| page.text).collect();
        std::fs::write(Path::new(&to).join(format!("{stem}.md")), text.join("\n\n"))?;
    }
    Ok(())
}
