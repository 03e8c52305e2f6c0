//! Vectors computed from the texts themselves, without any model from elsewhere: words that stand in the
//! same passages get like vectors (latent semantic analysis), and a passage has the sum of its words'.
//!
//! The directions are those of the largest singular values of the passages × terms matrix, found by a
//! randomised method: a few passes over the passages, memory that follows the number of terms. What is
//! random comes from a fixed seed, so the same texts give the same vectors.

use std::collections::HashMap;

use crate::vectors::{dot_product, normalize_vector};
use crate::words::WeightedTerm;

/// Directions that are carried along beside those that are wanted, so that these are found well.
const SPARE_DIMS: usize = 16;
/// A term in more than this share of the passages says nothing.
const COMMON_SHARE: f32 = 0.3;
/// Least passages that a term stands in: a word that stands once is like nothing.
const HOLDERS_MIN: usize = 2;
const JACOBI_SWEEPS_MAX: usize = 30;

/// How a model is made of texts. The defaults are what was best and cheap (docs/meaning.md).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrainingSettings {
    /// Dimensions of its vectors.
    pub dims: usize,
    /// Passes over the passages.
    pub rounds: usize,
    /// Most terms that get a vector: those in most passages.
    pub terms_max: usize,
    /// Most passages that are looked at: an even choice of them.
    pub passages_max: usize,
    /// How much the strongest directions are held back: 0 not at all, 1 all are alike.
    pub evenness: f32,
}

impl Default for TrainingSettings {
    fn default() -> TrainingSettings {
        TrainingSettings {
            dims: 128,
            rounds: 1,
            terms_max: 30_000,
            passages_max: 20_000,
            evenness: 0.5,
        }
    }
}

/// Vectors of terms.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SimilarityModel {
    pub(crate) dims: usize,
    /// Term and its row.
    pub(crate) rows: HashMap<u32, u32>,
    /// What a term counts.
    pub(crate) rarities: Vec<f32>,
    pub(crate) vectors: Vec<f32>,
}

impl SimilarityModel {
    /// The model of these passages; `None`: they are too few to learn from.
    pub(crate) fn train_model(
        passages: &[&[WeightedTerm]],
        settings: &TrainingSettings,
    ) -> Option<SimilarityModel> {
        let step = passages.len().div_ceil(settings.passages_max.max(1)).max(1);
        let sample: Vec<&[WeightedTerm]> = passages.iter().copied().step_by(step).collect();
        let mut model = choose_terms(&sample, settings);
        let dims = settings.dims.min(model.rarities.len().saturating_sub(1)).min(sample.len());
        if dims < 2 {
            return None;
        }
        let matrix: Vec<Vec<WeightedTerm>> =
            sample.iter().map(|terms| model.weigh_terms(terms)).collect();
        let width = (dims + SPARE_DIMS).min(model.rarities.len());
        let mut base = random_matrix(model.rarities.len(), width);
        orthonormalize_columns(&mut base, width);
        for _ in 0..settings.rounds.max(1) {
            base = pass_over(&matrix, &base, width);
            orthonormalize_columns(&mut base, width);
        }
        let (values, turns) = strongest_directions(&matrix, &base, width);
        model.dims = dims;
        model.vectors = vec![0.0; model.rarities.len() * dims];
        let held_back: Vec<f32> = values
            .iter()
            .take(dims)
            .map(|value| value.max(1e-9).sqrt().powf(-settings.evenness))
            .collect();
        let rows = model.vectors.chunks_exact_mut(dims).zip(base.chunks_exact(width));
        for (vector, row) in rows {
            for (at, value) in vector.iter_mut().enumerate() {
                *value = dot_product(row, &turns[at * width..(at + 1) * width]) * held_back[at];
            }
        }
        Some(model)
    }

    /// The vector of a text with these terms; zeros where none of them is known.
    pub(crate) fn embed_terms(&self, terms: &[WeightedTerm]) -> Vec<f32> {
        let mut vector = vec![0.0; self.dims];
        for WeightedTerm { term: row, weight } in self.weigh_terms(terms) {
            let row = row as usize * self.dims;
            let Some(of_term) = self.vectors.get(row..row + self.dims) else { continue };
            for (value, of_term) in vector.iter_mut().zip(of_term) {
                *value += weight * of_term;
            }
        }
        normalize_vector(&mut vector);
        vector
    }

    /// Rows of the known terms with what each counts; together of length 1.
    fn weigh_terms(&self, terms: &[WeightedTerm]) -> Vec<WeightedTerm> {
        let mut weighed: Vec<WeightedTerm> = terms
            .iter()
            .filter_map(|held| {
                let row = *self.rows.get(&held.term)?;
                let count = (1.0 + held.weight.max(0.1).ln()).max(0.1);
                Some(WeightedTerm { term: row, weight: count * self.rarities[row as usize] })
            })
            .collect();
        let length = weighed.iter().map(|one| one.weight * one.weight).sum::<f32>().sqrt();
        if length > 0.0 {
            weighed.iter_mut().for_each(|one| one.weight /= length);
        }
        weighed
    }
}

/// Which terms get a vector, and what each counts.
fn choose_terms(passages: &[&[WeightedTerm]], settings: &TrainingSettings) -> SimilarityModel {
    let mut holders: HashMap<u32, usize> = HashMap::new();
    for held in passages.iter().flat_map(|terms| terms.iter()) {
        *holders.entry(held.term).or_default() += 1;
    }
    let count = passages.len() as f32;
    let most = (count * COMMON_SHARE) as usize;
    let mut chosen: Vec<(usize, u32)> = holders
        .into_iter()
        .filter(|(_, held)| *held >= HOLDERS_MIN && *held <= most.max(HOLDERS_MIN))
        .map(|(term, held)| (held, term))
        .collect();
    chosen.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    chosen.truncate(settings.terms_max);
    let rarities = chosen.iter().map(|(held, _)| (count / *held as f32).ln().max(0.05)).collect();
    let rows = chosen.iter().zip(0_u32..).map(|((_, term), row)| (*term, row)).collect();
    SimilarityModel { rows, rarities, ..SimilarityModel::default() }
}

/// `terms × width` numbers around zero from a fixed seed.
fn random_matrix(rows: usize, width: usize) -> Vec<f32> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    (0..rows * width).map(|_| next()).collect()
}

/// What a passage is in the directions of `base`.
fn project_terms(terms: &[WeightedTerm], base: &[f32], seen: &mut [f32]) {
    let width = seen.len();
    seen.fill(0.0);
    for WeightedTerm { term: row, weight } in terms {
        let row = *row as usize * width;
        for (value, of_term) in seen.iter_mut().zip(&base[row..row + width]) {
            *value += weight * of_term;
        }
    }
}

/// One pass: what every term is, seen from the passages that it stands in.
fn pass_over(matrix: &[Vec<WeightedTerm>], base: &[f32], width: usize) -> Vec<f32> {
    let mut next = vec![0.0; base.len()];
    let mut seen = vec![0.0; width];
    for terms in matrix {
        project_terms(terms, base, &mut seen);
        for WeightedTerm { term: row, weight } in terms {
            let row = *row as usize * width;
            for (value, of_passage) in next[row..row + width].iter_mut().zip(&seen) {
                *value += weight * of_passage;
            }
        }
    }
    next
}

/// Makes the columns of a matrix stand upright on each other (Cholesky of their products).
fn orthonormalize_columns(base: &mut [f32], width: usize) {
    let mut products = vec![0.0_f64; width * width];
    for row in base.chunks_exact(width) {
        add_products(&mut products, row);
    }
    let ridge = (0..width).map(|at| products[at * width + at]).sum::<f64>() * 1e-10 + 1e-30;
    let mut lower = vec![0.0_f64; width * width];
    for i in 0..width {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| lower[i * width + k] * lower[j * width + k]).sum();
            let left = products[j * width + i] - known;
            lower[i * width + j] = match i == j {
                true => (left + ridge).max(1e-30).sqrt(),
                false => left / lower[j * width + j],
            };
        }
    }
    for row in base.chunks_exact_mut(width) {
        for i in 0..width {
            let known: f64 = (0..i).map(|k| lower[i * width + k] * f64::from(row[k])).sum();
            row[i] = ((f64::from(row[i]) - known) / lower[i * width + i]) as f32;
        }
    }
}

/// Adds the products of all pairs of a row: the upper half.
fn add_products(products: &mut [f64], row: &[f32]) {
    let width = row.len();
    for (i, a) in row.iter().enumerate() {
        if *a == 0.0 {
            continue;
        }
        let a = f64::from(*a);
        for (product, b) in products[i * width + i..(i + 1) * width].iter_mut().zip(&row[i..]) {
            *product += a * f64::from(*b);
        }
    }
}

/// The directions in which passages differ most, strongest first: their values, and each as a turn of
/// the columns of `base`.
fn strongest_directions(
    matrix: &[Vec<WeightedTerm>],
    base: &[f32],
    width: usize,
) -> (Vec<f32>, Vec<f32>) {
    let mut products = vec![0.0_f64; width * width];
    let mut seen = vec![0.0; width];
    for terms in matrix {
        project_terms(terms, base, &mut seen);
        add_products(&mut products, &seen);
    }
    for i in 0..width {
        for j in 0..i {
            products[i * width + j] = products[j * width + i];
        }
    }
    let turns = diagonalize_matrix(&mut products, width);
    let mut order: Vec<usize> = (0..width).collect();
    let value = |at: usize| products[at * width + at];
    order.sort_by(|a, b| value(*b).total_cmp(&value(*a)));
    let values = order.iter().map(|at| value(*at) as f32).collect();
    let columns = order
        .iter()
        .flat_map(|at| (0..width).map(|row| turns[row * width + at] as f32).collect::<Vec<_>>());
    (values, columns.collect())
}

/// Eigenvectors of a symmetric matrix by Jacobi's rotations, as columns; its diagonal becomes the
/// eigenvalues.
fn diagonalize_matrix(matrix: &mut [f64], width: usize) -> Vec<f64> {
    let mut turns = vec![0.0; width * width];
    (0..width).for_each(|at| turns[at * width + at] = 1.0);
    let scale: f64 = (0..width).map(|at| matrix[at * width + at].abs()).sum::<f64>().max(1e-30);
    for _ in 0..JACOBI_SWEEPS_MAX {
        let mut largest = 0.0_f64;
        for p in 0..width {
            for q in p + 1..width {
                let off = matrix[p * width + q];
                largest = largest.max(off.abs());
                if off.abs() > scale * 1e-12 {
                    rotate_axes(matrix, &mut turns, width, [p, q]);
                }
            }
        }
        if largest <= scale * 1e-9 {
            break;
        }
    }
    turns
}

/// The rotation that makes one element of a symmetric matrix zero.
fn rotate_axes(matrix: &mut [f64], turns: &mut [f64], width: usize, [p, q]: [usize; 2]) {
    let off = matrix[p * width + q];
    let theta = (matrix[q * width + q] - matrix[p * width + p]) / (2.0 * off);
    let tangent = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
    let sine = tangent * cosine;
    for k in 0..width {
        let (a, b) = (matrix[k * width + p], matrix[k * width + q]);
        matrix[k * width + p] = cosine * a - sine * b;
        matrix[k * width + q] = sine * a + cosine * b;
    }
    for k in 0..width {
        let (a, b) = (matrix[p * width + k], matrix[q * width + k]);
        matrix[p * width + k] = cosine * a - sine * b;
        matrix[q * width + k] = sine * a + cosine * b;
        let (a, b) = (turns[k * width + p], turns[k * width + q]);
        turns[k * width + p] = cosine * a - sine * b;
        turns[k * width + q] = sine * a + cosine * b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(term: u32) -> WeightedTerm {
        WeightedTerm { term, weight: 1.0 }
    }

    /// Passages about two things, each told with words of its own of which no passage has all.
    fn two_topics() -> Vec<Vec<WeightedTerm>> {
        let mut passages = Vec::new();
        for at in 0..60_u32 {
            let topic = (at % 2) * 10;
            let words = [topic + at / 2 % 7, topic + (at / 2 + 1) % 7, topic + (at / 2 + 3) % 7];
            passages.push(words.map(of).to_vec());
        }
        passages
    }

    #[test]
    fn k6_words_of_one_topic_are_alike_though_they_never_meet() {
        let passages = two_topics();
        let rows: Vec<&[WeightedTerm]> = passages.iter().map(Vec::as_slice).collect();
        let settings = TrainingSettings { dims: 2, ..TrainingSettings::default() };
        let model = SimilarityModel::train_model(&rows, &settings).expect("enough to learn from");
        // 0 and 2 stand in no passage together; 0 and 12 neither.
        let vector = |term: u32| model.embed_terms(&[of(term)]);
        assert!(
            dot_product(&vector(0), &vector(2)) > 0.9,
            "{:?}",
            dot_product(&vector(0), &vector(2))
        );
        assert!(
            dot_product(&vector(0), &vector(12)) < 0.3,
            "{:?}",
            dot_product(&vector(0), &vector(12))
        );
        assert_eq!(model, SimilarityModel::train_model(&rows, &settings).expect("the same"));
        assert!(model.embed_terms(&[of(99)]).iter().all(|value| *value == 0.0));
    }

    #[test]
    fn k6_too_little_text_gives_no_model() {
        let settings = TrainingSettings::default();
        assert_eq!(SimilarityModel::train_model(&[], &settings), None);
        assert_eq!(SimilarityModel::train_model(&[&[of(1)]], &settings), None);
    }

    #[test]
    fn k6_eigenvectors_are_those_of_the_matrix() {
        let matrix = [4.0, 1.0, 0.5, 1.0, 3.0, 0.2, 0.5, 0.2, 1.0];
        let mut diagonal = matrix.to_vec();
        let turns = diagonalize_matrix(&mut diagonal, 3);
        for column in 0..3 {
            for row in 0..3 {
                let times: f64 = (0..3).map(|k| matrix[row * 3 + k] * turns[k * 3 + column]).sum();
                let value = diagonal[column * 3 + column] * turns[row * 3 + column];
                assert!((times - value).abs() < 1e-9, "{times} {value}");
            }
        }
    }
}
