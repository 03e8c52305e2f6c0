//! Files that scenarios and tests make themselves: PDFs and PNGs, written by hand so that they are
//! the same on every machine.

use std::fmt::Write as _;

/// A ZIP archive with these files: documents are such archives. All of the same day.
///
/// # Errors
/// A name that no archive can hold.
pub fn zip(entries: &[(String, String)]) -> anyhow::Result<Vec<u8>> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options =
        zip::write::SimpleFileOptions::default().last_modified_time(zip::DateTime::default());
    for (name, text) in entries {
        writer.start_file(name.as_str(), options)?;
        std::io::Write::write_all(&mut writer, text.as_bytes())?;
    }
    Ok(writer.finish()?.into_inner())
}

/// A PDF with one page for each line of text, in Helvetica. An empty line gives a page with a black
/// square and no text, as a scan has; `blank` gives one with nothing on it.
#[must_use]
pub fn pdf(lines: &[&str]) -> Vec<u8> {
    let kids: Vec<String> = (0..lines.len()).map(|at| format!("{} 0 R", 4 + 2 * at)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), lines.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    for (at, line) in lines.iter().enumerate() {
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents {} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>",
            5 + 2 * at
        ));
        let drawn = match *line {
            "" => "100 50 80 80 re f".to_owned(),
            "blank" => String::new(),
            line => format!("BT /F1 9 Tf 20 100 Td ({line}) Tj ET"),
        };
        let length = drawn.len();
        objects.push(format!("<< /Length {length} >>\nstream\n{drawn}\nendstream"));
    }
    let objects: Vec<Vec<u8>> = objects.into_iter().map(String::into_bytes).collect();
    pdf_of(&objects, "")
}

/// The same, encrypted in a way that no empty password opens.
#[must_use]
pub fn locked_pdf() -> Vec<u8> {
    let (key, id) = ("00".repeat(32), "ab".repeat(16));
    let trailer = format!(
        "/ID [<{id}> <{id}>] /Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -44 \
         /O <{key}> /U <{key}> >>"
    );
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] >>".to_owned(),
    ];
    pdf_of(&objects.map(String::into_bytes), &trailer)
}

/// A PDF of one page whose content is 2 GB of zeros in 13 MB.
#[must_use]
pub fn pdf_bomb() -> Vec<u8> {
    // A deflate block with the fixed code: one zero, then "the last byte 258 times" for ever. Eight
    // of those are thirteen bytes.
    let mut bits = vec![1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0];
    for _ in 0..24 {
        bits.extend([1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0]);
    }
    let whole = bits.chunks_exact(8);
    let bytes: Vec<u8> =
        whole.map(|byte| byte.iter().rev().fold(0, |sum, bit| sum << 1 | bit)).collect();
    let mut data = vec![0x78, 0x01];
    data.extend(&bytes[..2]);
    for _ in 0..1_040_000 {
        data.extend(&bytes[2..15]);
    }
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R >>".to_vec(),
        [
            format!("<< /Filter /FlateDecode /Length {} >>\nstream\n", data.len()).into_bytes(),
            data,
            b"\nendstream".to_vec(),
        ]
        .concat(),
    ];
    pdf_of(&objects, "")
}

fn pdf_of(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(out.len());
        out.extend(format!("{} 0 obj\n", at + 1).bytes());
        out.extend(object);
        out.extend(b"\nendobj\n");
    }
    let (start, count) = (out.len(), objects.len() + 1);
    let mut end = format!("xref\n0 {count}\n0000000000 65535 f \n");
    for place in places {
        let _ = writeln!(end, "{place:010} 00000 n ");
    }
    let _ = write!(
        end,
        "trailer\n<< /Size {count} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n"
    );
    out.extend(end.bytes());
    out
}

/// A grey PNG of this size, not compressed.
#[must_use]
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let mut pixels = Vec::new();
    for row in 0..height {
        pixels.push(0);
        let shade = u8::try_from(row % 256).unwrap_or_default();
        pixels.extend(std::iter::repeat_n(shade, width as usize));
    }
    png_of((width, height), &pixels)
}

/// A PNG whose head promises `width` times `height` pixels and that has none of them.
#[must_use]
pub fn png_bomb(width: u32, height: u32) -> Vec<u8> {
    png_of((width, height), &[])
}

fn png_of((width, height): (u32, u32), pixels: &[u8]) -> Vec<u8> {
    let mut head = Vec::new();
    head.extend(width.to_be_bytes());
    head.extend(height.to_be_bytes());
    head.extend([8, 0, 0, 0, 0]);
    let mut data = vec![0x78, 0x01];
    let blocks: Vec<&[u8]> = pixels.chunks(0xffff).collect();
    for (at, block) in blocks.iter().enumerate() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        data.push(u8::from(at + 1 == blocks.len()));
        data.extend(length.to_le_bytes());
        data.extend((!length).to_le_bytes());
        data.extend(*block);
    }
    data.extend(adler(pixels).to_be_bytes());
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, body) in [(b"IHDR", head), (b"IDAT", data), (b"IEND", Vec::new())] {
        out.extend(u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes());
        let from = out.len();
        out.extend(name);
        out.extend(body);
        let sum = crc(&out[from..]);
        out.extend(sum.to_be_bytes());
    }
    out
}

fn adler(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    b << 16 | a
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}
