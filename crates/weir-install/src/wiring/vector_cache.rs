//! Vectors that a model made, kept by the digest of their text in a file of the state folder: a text is
//! sent once. Derived and disposable: what cannot be read is made anew.

use std::collections::HashMap;
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Begins every file; the number grows with every change of what digests are made of.
const MARK: &[u8; 8] = b"weirvc01";

/// Vectors of one model.
#[derive(Debug, Default)]
pub(crate) struct VectorCache {
    path: PathBuf,
    dims: usize,
    kept: HashMap<u64, Vec<f32>>,
}

impl VectorCache {
    /// What is kept below `folder` of the model of this name.
    pub(crate) fn read_cache(folder: &Path, model: &str) -> VectorCache {
        let digest = Sha256::digest(model.as_bytes());
        let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        VectorCache::read_file(folder.join(format!("{name}.vectors")))
    }

    fn read_file(path: PathBuf) -> VectorCache {
        let mut cache = VectorCache { path, ..VectorCache::default() };
        let bytes = std::fs::read(&cache.path).unwrap_or_default();
        let Some((dims, records)) = bytes
            .strip_prefix(MARK)
            .and_then(|rest| rest.split_first_chunk::<4>())
            .map(|(dims, records)| (u32::from_le_bytes(*dims) as usize, records))
            .filter(|(dims, _)| *dims > 0)
        else {
            return cache;
        };
        cache.dims = dims;
        let size = 8 + dims * 4;
        let cut = records.len() % size;
        if cut > 0 {
            // A last record that was cut off goes from the file too: what is appended would begin
            // within it. Where that fails, the vectors are made anew.
            let whole = &bytes[..bytes.len() - cut];
            if crate::files::replace_file(&cache.path, whole, 0o600).is_err() {
                return VectorCache { path: cache.path, ..VectorCache::default() };
            }
        }
        for record in records.chunks_exact(size) {
            let Some((digest, numbers)) = record.split_first_chunk::<8>() else { continue };
            let numbers = numbers.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four));
            cache.kept.insert(u64::from_le_bytes(*digest), numbers.collect());
        }
        cache
    }

    /// Dimensions of its vectors; 0: there is none.
    pub(crate) fn dimension_count(&self) -> usize {
        self.dims
    }

    /// The vector of a text.
    pub(crate) fn text_vector(&self, digest: u64) -> Option<&[f32]> {
        self.kept.get(&digest).map(Vec::as_slice)
    }

    /// Keeps vectors, all of one length. A model that makes longer or shorter ones than before is
    /// another model: what was kept goes.
    ///
    /// # Errors
    /// They are not on the disk, and are known all the same.
    pub(crate) fn keep_vectors(
        &mut self,
        digests: &[u64],
        vectors: &[Vec<f32>],
    ) -> std::io::Result<()> {
        let Some(dims) = vectors.first().map(Vec::len).filter(|dims| *dims > 0) else {
            return Ok(());
        };
        if self.dims == 0 {
            // Another session may have begun the file since this one looked for it.
            *self = VectorCache::read_file(std::mem::take(&mut self.path));
        }
        let is_new = self.dims != dims;
        let mut out = Vec::new();
        if is_new {
            self.kept.clear();
            self.dims = dims;
            out.extend(MARK);
            out.extend(u32::try_from(dims).unwrap_or(u32::MAX).to_le_bytes());
        }
        for (digest, vector) in digests.iter().zip(vectors) {
            out.extend(digest.to_le_bytes());
            vector.iter().for_each(|number| out.extend(number.to_le_bytes()));
            self.kept.insert(*digest, vector.clone());
        }
        let folder = self.path.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut options = OpenOptions::new();
        options.create(true).mode(0o600);
        let mut file = match is_new {
            true => options.write(true).truncate(true).open(&self.path)?,
            false => options.append(true).open(&self.path)?,
        };
        file.write_all(&out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k6_vectors_are_kept_by_model_and_text() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = folder.path().join("meaning");
        let mut cache = VectorCache::read_cache(&at, "a/one");
        assert_eq!((cache.dimension_count(), cache.text_vector(1)), (0, None));
        cache.keep_vectors(&[1, 2], &[vec![1.0, 0.5], vec![0.0, 2.0]]).expect("kept");
        cache.keep_vectors(&[3], &[vec![3.0, 3.0]]).expect("kept");
        let back = VectorCache::read_cache(&at, "a/one");
        assert_eq!(back.text_vector(2), Some(&[0.0, 2.0][..]));
        assert_eq!(back.text_vector(3), Some(&[3.0, 3.0][..]));
        assert_eq!(VectorCache::read_cache(&at, "a/two").text_vector(2), None);
        // Two sessions that both find no file keep both their vectors.
        let mut first = VectorCache::read_cache(&at, "a/two");
        let mut second = VectorCache::read_cache(&at, "a/two");
        first.keep_vectors(&[1], &[vec![1.0, 0.0]]).expect("kept");
        second.keep_vectors(&[2], &[vec![0.0, 1.0]]).expect("kept");
        let both = VectorCache::read_cache(&at, "a/two");
        assert!(both.text_vector(1).is_some() && both.text_vector(2).is_some());
        // A file that was cut off loses its last record, and another length begins anew.
        let bytes = std::fs::read(&back.path).expect("readable");
        std::fs::write(&back.path, &bytes[..bytes.len() - 1]).expect("writable");
        let mut cut = VectorCache::read_cache(&at, "a/one");
        assert_eq!((cut.text_vector(3), cut.text_vector(1).is_some()), (None, true));
        cut.keep_vectors(&[5], &[vec![4.0, 4.0]]).expect("kept");
        let back = VectorCache::read_cache(&at, "a/one");
        assert_eq!(back.text_vector(5), Some(&[4.0, 4.0][..]), "behind a whole record");
        cut.keep_vectors(&[4], &[vec![1.0]]).expect("kept");
        let back = VectorCache::read_cache(&at, "a/one");
        assert_eq!(
            (back.dimension_count(), back.text_vector(1), back.text_vector(4)),
            (1, None, Some(&[1.0][..]))
        );
    }
}
