//! Vectors in one flat list and the exact nearest ones of it. A small copy of each vector (a byte a
//! dimension) is looked at first; it says how wrong it can be, so nothing that belongs to the nearest is
//! left out. Not here: where vectors come from.

/// The nearest vectors of a list, by the angle between them.
#[derive(Debug, Clone, Default)]
pub struct FlatVectors {
    dims: usize,
    /// Length 1 each, or all zeros.
    exact: Vec<f32>,
    coarse: Vec<i8>,
    /// What a step of the coarse vector is worth.
    steps: Vec<f32>,
    /// How far the coarse vector is from the exact one.
    errors: Vec<f32>,
}

/// A vector that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VectorHit {
    /// Its place in the list.
    pub at: usize,
    /// Cosine of the angle to the question: 1 is the same direction.
    pub score: f32,
}

/// A vector with a byte a dimension.
struct CoarseVector {
    bytes: Vec<i8>,
    step: f32,
    error: f32,
}

impl FlatVectors {
    /// An empty list of vectors with so many dimensions.
    pub fn new(dims: usize) -> FlatVectors {
        FlatVectors { dims, ..FlatVectors::default() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Dimensions of each.
    pub fn dimension_count(&self) -> usize {
        self.dims
    }

    /// Adds a vector at the end; one of another length is taken for one that says nothing.
    pub fn push(&mut self, vector: &[f32]) {
        let mut unit =
            if vector.len() == self.dims { vector.to_vec() } else { vec![0.0; self.dims] };
        normalize_vector(&mut unit);
        let CoarseVector { bytes, step, error } = coarsen_vector(&unit);
        self.exact.extend_from_slice(&unit);
        self.coarse.extend_from_slice(&bytes);
        self.steps.push(step);
        self.errors.push(error);
    }

    /// The vector at this place.
    pub fn vector_at(&self, at: usize) -> Option<&[f32]> {
        self.exact.get(at * self.dims..(at + 1) * self.dims)
    }

    /// The `limit` nearest to `question` among those that `keep` lets through, best first. Exact: what
    /// comes back is what comparing with every vector would give.
    pub fn find_nearest(
        &self,
        question: &[f32],
        limit: usize,
        keep: &dyn Fn(usize) -> bool,
    ) -> Vec<VectorHit> {
        if question.len() != self.dims || self.dims == 0 || limit == 0 {
            return Vec::new();
        }
        let mut unit = question.to_vec();
        if !normalize_vector(&mut unit) {
            return Vec::new();
        }
        let asked = coarsen_vector(&unit);
        // What each score is at least; what it is at most lies twice the error above.
        let mut least: Vec<f32> = Vec::with_capacity(self.len());
        let mut rough: Vec<(usize, f32)> = Vec::with_capacity(self.len());
        for (at, bytes) in self.coarse.chunks_exact(self.dims).enumerate() {
            if self.steps[at] == 0.0 || !keep(at) {
                continue;
            }
            let score = dot_bytes(bytes, &asked.bytes) as f32 * self.steps[at] * asked.step;
            let wrong = self.errors[at] + (1.0 + self.errors[at]) * asked.error + 1e-5;
            least.push(score - wrong);
            rough.push((at, score + wrong));
        }
        let floor = match least.len() > limit {
            true => *least.select_nth_unstable_by(limit - 1, |a, b| b.total_cmp(a)).1,
            false => f32::MIN,
        };
        let mut hits: Vec<VectorHit> = rough
            .into_iter()
            .filter(|(_, most)| *most >= floor)
            .filter_map(|(at, _)| {
                Some(VectorHit { at, score: dot_product(self.vector_at(at)?, &unit) })
            })
            .collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.at.cmp(&b.at)));
        hits.truncate(limit);
        hits
    }
}

/// Makes a vector one of length 1; whether it has a direction.
pub(crate) fn normalize_vector(vector: &mut [f32]) -> bool {
    let length = dot_product(vector, vector).sqrt();
    if !length.is_finite() || length < 1e-12 {
        vector.fill(0.0);
        return false;
    }
    vector.iter_mut().for_each(|value| *value /= length);
    true
}

fn coarsen_vector(unit: &[f32]) -> CoarseVector {
    let largest = unit.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    if largest == 0.0 {
        return CoarseVector { bytes: vec![0; unit.len()], step: 0.0, error: 0.0 };
    }
    let step = largest / 127.0;
    let bytes: Vec<i8> = unit.iter().map(|value| (value / step).round() as i8).collect();
    let off = unit.iter().zip(&bytes).map(|(value, byte)| value - f32::from(*byte) * step);
    let error = off.map(|off| off * off).sum::<f32>().sqrt();
    CoarseVector { bytes, step, error }
}

fn dot_bytes(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

/// Eight sums side by side: the compiler may not reorder one sum of floats.
pub(crate) fn dot_product(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    let (parts_a, parts_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = parts_a.remainder().iter().zip(parts_b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in parts_a.zip(parts_b) {
        for at in 0..8 {
            sums[at] += a[at] * b[at];
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(seed: u64, count: usize) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) as f32 / (1_u64 << 30) as f32) - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    proptest::proptest! {
        #[test]
        fn k6_the_nearest_are_those_of_a_full_comparison(
            seed in 0_u64..1_000, count in 0_usize..400, dims in 1_usize..70, limit in 0_usize..20,
        ) {
            let mut list = FlatVectors::new(dims);
            for at in 0..count {
                list.push(&numbers(seed * 1_000 + at as u64, dims));
            }
            let question = numbers(seed + 7, dims);
            let keep = |at: usize| at % 3 != 1;
            let found = list.find_nearest(&question, limit, &keep);
            let mut unit = question.clone();
            normalize_vector(&mut unit);
            let mut all: Vec<VectorHit> = (0..count)
                .filter(|at| keep(*at))
                .map(|at| VectorHit { at, score: dot_product(list.vector_at(at).expect("there"), &unit) })
                .collect();
            all.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.at.cmp(&b.at)));
            all.truncate(limit);
            proptest::prop_assert_eq!(found, all);
        }
    }

    #[test]
    fn k6_what_has_no_direction_is_never_near() {
        let mut list = FlatVectors::new(2);
        list.push(&[0.0, 0.0]);
        list.push(&[f32::NAN, 1.0]);
        list.push(&[1.0, 0.0, 0.0]);
        list.push(&[3.0, 0.0]);
        let found = list.find_nearest(&[1.0, 0.0], 9, &|_| true);
        assert_eq!(found, [VectorHit { at: 3, score: 1.0 }]);
        assert!(list.find_nearest(&[0.0, 0.0], 9, &|_| true).is_empty());
        assert!(list.find_nearest(&[1.0], 9, &|_| true).is_empty());
    }
}
