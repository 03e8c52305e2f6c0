//! Places of a note in which links and tags mean nothing: code, comments, math, HTML. Not here: what
//! is found in the rest.

use crate::span::ByteSpan;

/// Why a place is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CoverKind {
    /// Code: nothing that begins outside ends behind it.
    Code,
    /// Math, HTML, addresses.
    Other,
}

/// One covered place.
#[derive(Debug, Clone, Copy)]
struct CoveredPlace {
    at: ByteSpan,
    kind: CoverKind,
}

/// All covered places of a note, in order.
#[derive(Debug, Default)]
pub(super) struct CoveredPlaces(Vec<CoveredPlace>);

impl CoveredPlaces {
    pub(super) fn add_place(&mut self, at: ByteSpan, kind: CoverKind) {
        if at.start < at.end {
            self.0.push(CoveredPlace { at, kind });
        }
    }
    /// Puts them in order and makes overlapping ones one. Whoever asks comes after.
    pub(super) fn merge_overlaps(&mut self) {
        self.0.sort_by_key(|place| (place.at.start, place.at.end));
        let mut settled: Vec<CoveredPlace> = Vec::with_capacity(self.0.len());
        for place in self.0.drain(..) {
            match settled.last_mut() {
                Some(last) if place.at.start < last.at.end => {
                    last.at.end = last.at.end.max(place.at.end);
                    if place.kind == CoverKind::Code {
                        last.kind = CoverKind::Code;
                    }
                }
                _ => settled.push(place),
            }
        }
        self.0 = settled;
    }
    /// The end of the covered place in which `at` lies.
    pub(super) fn end_around(&self, at: usize) -> Option<usize> {
        let next = self.0.partition_point(|place| place.at.end <= at);
        self.0.get(next).filter(|place| place.at.start <= at).map(|place| place.at.end)
    }
    /// Whether code begins within a place.
    pub(super) fn has_code_in(&self, at: ByteSpan) -> bool {
        self.code_in(at).next().is_some()
    }
    /// Whether code stands within a place that does not lie whole in a part of it.
    pub(super) fn has_code_outside(&self, at: ByteSpan, part: ByteSpan) -> bool {
        self.code_in(at).any(|code| code.start < part.start || code.end > part.end)
    }
    fn code_in(&self, at: ByteSpan) -> impl Iterator<Item = ByteSpan> {
        let next = self.0.partition_point(|place| place.at.end <= at.start);
        let within = self.0[next..].iter().take_while(move |place| place.at.start < at.end);
        within.filter(|place| place.kind == CoverKind::Code).map(|place| place.at)
    }
}
