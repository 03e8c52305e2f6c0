//! Q27: the exact nearest of 100,000 passages, by vectors of the sizes that are in use, and the whole
//! question over an index of so many.

use weir_meaning::{
    FlatVectors, MeaningIndex, MeaningQuery, RankWeights, SourceParts, SourceStamp, TextPassage,
    TrainingSettings,
};

const PASSAGES: usize = 100_000;
/// Words that the made texts are made of.
const WORDS: u64 = 20_000;

fn main() {
    divan::main();
}

/// The same numbers every time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// A word: few of them often, as in any text.
    fn word(&mut self) -> String {
        let (a, b) = (self.next() % WORDS, self.next() % WORDS);
        format!("w{}", a * b / WORDS)
    }

    fn vector(&mut self, dims: usize) -> Vec<f32> {
        (0..dims).map(|_| self.next() as f32 / (1_u64 << 30) as f32 - 1.0).collect()
    }
}

#[divan::bench(args = [128, 384, 768], sample_count = 20, sample_size = 1)]
fn nearest_of_100_000(bencher: divan::Bencher<'_, '_>, dims: usize) {
    let mut numbers = Numbers(7);
    let mut list = FlatVectors::new(dims);
    for _ in 0..PASSAGES {
        list.push(&numbers.vector(dims));
    }
    let question = numbers.vector(dims);
    bencher.bench_local(|| list.find_nearest(divan::black_box(&question), 10, &|_| true));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn question_over_100_000_passages(bencher: divan::Bencher<'_, '_>) {
    let mut numbers = Numbers(11);
    let mut index = MeaningIndex::new();
    for at in 0..PASSAGES / 5 {
        let passages: Vec<TextPassage> = (0..5)
            .map(|line| TextPassage {
                headings: vec![numbers.word()],
                line,
                column: 1,
                last_line: line,
                text: (0..60).map(|_| numbers.word()).collect::<Vec<_>>().join(" "),
            })
            .collect();
        let parts = SourceParts { passages, links: Vec::new() };
        index.put_source(&format!("note{at}.md"), SourceStamp::default(), &parts);
    }
    index.train_vectors(&TrainingSettings::default());
    let all = |_: &str| true;
    bencher.bench_local(|| {
        index.find_passages(&MeaningQuery {
            words: divan::black_box("w17 w400 w9001 w33"),
            limit: 10,
            weights: RankWeights::MEASURED,
            vector: None,
            keep: &all,
        })
    });
}
