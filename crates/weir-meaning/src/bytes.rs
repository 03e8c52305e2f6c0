//! The index as bytes and back, to be kept on a disk. What is kept is derived: bytes that cannot be read
//! are no error but no index, and it is made anew.

use std::collections::{HashMap, HashSet};

use crate::index::{IndexedPassage, IndexedSource, MeaningIndex, SourceStamp};
use crate::language::TextLanguage;
use crate::similarity::SimilarityModel;
use crate::words::WeightedTerm;

/// Begins every kept index; the number grows with every change of what is kept, of how words are split and
/// of which texts are left out: what is known by then to be private is in no index that is older.
const MARK: &[u8; 8] = b"weirmi03";
/// Ends it: what was cut off is noticed.
const END: u32 = 0x5745_4952;
/// More dimensions than are ever computed: a damaged number must not take memory.
const DIMS_MAX: usize = 1_024;
/// Bytes that a source and a passage take at least: a damaged number of them is noticed.
const SOURCE_BYTES_MIN: usize = 45;
const PASSAGE_BYTES_MIN: usize = 24;

/// Terms by their numbers in the index, with their numbers among the bytes.
type TermNumbers = HashMap<u32, u32>;

impl MeaningIndex {
    /// The index as bytes, without vectors from outside. Nothing of a source that is gone is among them,
    /// its words neither.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = ByteWriter(MARK.to_vec());
        let here = || self.sources.iter().filter(|source| !source.is_gone);
        let passages = here().flat_map(|source| &self.passages[source.first..source.end]);
        let used: HashSet<u32> =
            passages.flat_map(|passage| passage.terms.iter().map(|held| held.term)).collect();
        let mut words: Vec<(u32, &str)> =
            self.vocabulary.iter().map(|(word, id)| (*id, word.as_str())).collect();
        words.retain(|(id, _)| used.contains(id));
        words.sort_unstable();
        out.write_number(words.len());
        words.iter().for_each(|(_, word)| out.write_text(word));
        let numbers: TermNumbers = words.iter().map(|(id, _)| *id).zip(0..).collect();
        out.write_number(here().count());
        for source in here() {
            out.write_source(source);
            out.write_number(source.end - source.first);
            for passage in &self.passages[source.first..source.end] {
                out.write_passage(passage, &numbers);
            }
        }
        out.write_number(self.changed);
        out.write_model(self.model.as_ref(), &numbers);
        out.0.extend(END.to_le_bytes());
        out.0
    }

    /// The index that [`MeaningIndex::to_bytes`] made these of; `None`: they are none, of another version,
    /// or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Option<MeaningIndex> {
        let mut from = ByteReader(bytes.strip_prefix(MARK)?);
        let mut index = MeaningIndex::new();
        let words = from.read_count(1)?;
        for id in 0..u32::try_from(words).ok()? {
            index.vocabulary.insert(from.read_text()?, id);
        }
        if index.vocabulary.len() != words {
            return None;
        }
        for at in 0..from.read_count(SOURCE_BYTES_MIN)? {
            let source = from.read_source(index.passages.len())?;
            for _ in 0..from.read_count(PASSAGE_BYTES_MIN)? {
                index.passages.push(from.read_passage(at, words)?);
            }
            index.sources.push(IndexedSource { end: index.passages.len(), ..source });
        }
        index.changed = from.read_number()?;
        index.model = from.read_model()?;
        if u32::from_le_bytes(from.take_bytes()?) != END || !from.0.is_empty() {
            return None;
        }
        index.fill_derived();
        Some(index)
    }
}

struct ByteWriter(Vec<u8>);

impl ByteWriter {
    fn write_number(&mut self, number: usize) {
        self.0.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    }

    fn write_text(&mut self, text: &str) {
        self.write_number(text.len());
        self.0.extend(text.as_bytes());
    }

    fn write_source(&mut self, source: &IndexedSource) {
        self.write_text(&source.name);
        let SourceStamp { bytes, modified, changed_ns, digest } = source.stamp;
        self.0.extend(bytes.to_le_bytes());
        self.0.extend(modified.to_le_bytes());
        self.0.extend(changed_ns.to_le_bytes());
        self.0.extend(digest.to_le_bytes());
        self.0.push(source.language.to_number());
        self.write_number(source.links.len());
        source.links.iter().for_each(|link| self.write_text(link));
    }

    fn write_passage(&mut self, passage: &IndexedPassage, numbers: &TermNumbers) {
        self.write_number(passage.line);
        self.write_number(passage.last_line);
        self.0.extend(passage.digest.to_le_bytes());
        self.write_number(passage.headings.len());
        passage.headings.iter().for_each(|heading| self.write_text(heading));
        self.write_number(passage.terms.len());
        for WeightedTerm { term, weight } in &passage.terms {
            self.0.extend(numbers.get(term).copied().unwrap_or_default().to_le_bytes());
            self.0.extend(weight.to_le_bytes());
        }
    }

    /// The vectors of the terms that still stand in a passage.
    fn write_model(&mut self, model: Option<&SimilarityModel>, numbers: &TermNumbers) {
        let Some(model) = model else { return self.write_number(0) };
        self.write_number(model.dims);
        let known = model.rows.iter().filter_map(|(term, row)| Some((*row, *numbers.get(term)?)));
        let mut rows: Vec<(u32, u32)> = known.collect();
        rows.sort_unstable();
        self.write_number(rows.len());
        for (_, term) in &rows {
            self.0.extend(term.to_le_bytes());
        }
        let rows = || rows.iter().map(|(row, _)| *row as usize);
        for row in rows() {
            self.0.extend(model.rarities.get(row).copied().unwrap_or_default().to_le_bytes());
        }
        for row in rows() {
            let vector = model.vectors.get(row * model.dims..(row + 1) * model.dims);
            for number in vector.unwrap_or_default() {
                self.0.extend(number.to_le_bytes());
            }
        }
    }
}

struct ByteReader<'a>(&'a [u8]);

impl ByteReader<'_> {
    fn take_bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn read_number(&mut self) -> Option<usize> {
        Some(u32::from_le_bytes(self.take_bytes()?) as usize)
    }

    /// A number of things of at least so many bytes each: never more than the rest holds.
    fn read_count(&mut self, least_bytes: usize) -> Option<usize> {
        let count = self.read_number()?;
        (count.checked_mul(least_bytes)? <= self.0.len()).then_some(count)
    }

    fn read_text(&mut self) -> Option<String> {
        let length = self.read_count(1)?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn read_float(&mut self) -> Option<f32> {
        Some(f32::from_le_bytes(self.take_bytes()?)).filter(|number| number.is_finite())
    }

    /// A source whose passages follow.
    fn read_source(&mut self, first: usize) -> Option<IndexedSource> {
        let name = self.read_text()?;
        let stamp = SourceStamp {
            bytes: u64::from_le_bytes(self.take_bytes()?),
            modified: i64::from_le_bytes(self.take_bytes()?),
            changed_ns: i64::from_le_bytes(self.take_bytes()?),
            digest: u64::from_le_bytes(self.take_bytes()?),
        };
        let [language] = self.take_bytes::<1>()?;
        let language = TextLanguage::from_number(language)?;
        let links =
            (0..self.read_count(4)?).map(|_| self.read_text()).collect::<Option<Vec<_>>>()?;
        Some(IndexedSource { name, stamp, language, links, first, end: first, is_gone: false })
    }

    fn read_passage(&mut self, source: usize, words: usize) -> Option<IndexedPassage> {
        let (line, last_line) = (self.read_number()?, self.read_number()?);
        let digest = u64::from_le_bytes(self.take_bytes()?);
        let headings =
            (0..self.read_count(4)?).map(|_| self.read_text()).collect::<Option<Vec<_>>>()?;
        let mut terms = Vec::new();
        for _ in 0..self.read_count(8)? {
            let term = u32::from_le_bytes(self.take_bytes()?);
            let weight = self.read_float()?;
            if term as usize >= words {
                return None;
            }
            terms.push(WeightedTerm { term, weight });
        }
        Some(IndexedPassage { source, line, last_line, digest, headings, terms })
    }

    /// `Some(None)`: none was kept.
    fn read_model(&mut self) -> Option<Option<SimilarityModel>> {
        let dims = self.read_number()?;
        if dims == 0 {
            return Some(None);
        }
        if dims > DIMS_MAX {
            return None;
        }
        let rows = self.read_count(dims.checked_mul(4)?.checked_add(8)?)?;
        let mut model = SimilarityModel { dims, ..SimilarityModel::default() };
        for row in 0..u32::try_from(rows).ok()? {
            model.rows.insert(u32::from_le_bytes(self.take_bytes()?), row);
        }
        for _ in 0..rows {
            model.rarities.push(self.read_float()?);
        }
        for _ in 0..rows * dims {
            model.vectors.push(self.read_float()?);
        }
        Some(Some(model))
    }
}
