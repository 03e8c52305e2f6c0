//! Lists put in order by code that is compiled once, whatever stands in them: a sort of the standard library is
//! some 9 kB for each kind of element and of order (Q23). For lists that are shown, and others of some hundreds.
//! Not here: what is long or sorted often; `slice::sort_by` is faster.

use std::cmp::Ordering;

/// Sorts as [`slice::sort_by`] does: what is equal stays in its order.
pub fn sort_stably<T>(items: &mut [T], mut order: impl FnMut(&T, &T) -> Ordering) {
    let swaps = swaps_to_order(items.len(), &mut |a, b| order(&items[a], &items[b]));
    for (at, from) in swaps {
        items.swap(at, from);
    }
}

/// Sorts as [`slice::sort_by_key`] does: what is equal stays in its order.
pub fn sort_stably_by_key<T, K: Ord>(items: &mut [T], mut key: impl FnMut(&T) -> K) {
    sort_stably(items, |a, b| key(a).cmp(&key(b)));
}

/// Which places are to be swapped, one pair after the other, until all is in order.
fn swaps_to_order(
    len: usize,
    order: &mut dyn FnMut(usize, usize) -> Ordering,
) -> Vec<(usize, usize)> {
    let mut sorted: Vec<usize> = (0..len).collect();
    sorted.sort_by(|a, b| order(*a, *b));
    // Which item stands at each place, and at which place each item stands, while they are swapped.
    let mut held: Vec<usize> = (0..len).collect();
    let mut places: Vec<usize> = (0..len).collect();
    let mut swaps = Vec::new();
    for (at, item) in sorted.into_iter().enumerate() {
        let from = places[item];
        if from != at {
            let other = held[at];
            (held[from], places[other]) = (other, from);
            (held[at], places[item]) = (item, at);
            swaps.push((at, from));
        }
    }
    swaps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn q23_a_list_is_put_in_the_order_of_the_standard_library(
            numbers in proptest::collection::vec(0_u8..12, 0..200)
        ) {
            // Each with its place, so that it shows which of two equal ones comes first.
            let placed: Vec<(u8, usize)> = numbers.into_iter().zip(0..).collect();
            let (mut ours, mut theirs) = (placed.clone(), placed);
            sort_stably(&mut ours, |a, b| b.0.cmp(&a.0));
            theirs.sort_by_key(|one| std::cmp::Reverse(one.0));
            prop_assert_eq!(&ours, &theirs);
            sort_stably_by_key(&mut ours, |one| one.0 % 5);
            theirs.sort_by_key(|one| one.0 % 5);
            prop_assert_eq!(ours, theirs);
        }
    }
}
