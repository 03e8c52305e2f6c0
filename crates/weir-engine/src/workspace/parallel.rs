//! Work that finds more work, as a walk over folders does, by several threads. Not here: what the work is.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;

/// So many entries are worth another thread: starting one costs as much as looking at a hundred.
const ENTRIES_PER_THREAD: usize = 2_000;
/// Most threads: a command must not take the whole machine for itself.
const THREADS_MAX: usize = 8;

/// What waits, and how many threads may still add to it.
struct WorkHeap<T> {
    open: Vec<T>,
    busy: usize,
}

/// How many threads pay for about so many entries.
pub(super) fn threads_for(entries: usize) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (entries / ENTRIES_PER_THREAD).clamp(1, processors.min(THREADS_MAX))
}

/// Does `each` for everything in `first` and everything that it returns, in no order; what it returns
/// last comes first. Each thread has a result of its own; a panic of one is a panic of the caller.
pub(super) fn spread_work<T: Send, R: Default + Send>(
    threads: usize,
    first: Vec<T>,
    each: impl Fn(T, &mut R) -> Vec<T> + Sync,
) -> Vec<R> {
    let heap = Mutex::new(WorkHeap { open: first, busy: 0 });
    let more = Condvar::new();
    let locked = || heap.lock().unwrap_or_else(PoisonError::into_inner);
    let take = || {
        let mut heap = locked();
        loop {
            if let Some(open) = heap.open.pop() {
                heap.busy += 1;
                return Some(open);
            }
            if heap.busy == 0 {
                return None;
            }
            heap = more.wait(heap).unwrap_or_else(PoisonError::into_inner);
        }
    };
    // Others do not wait for what a thread that panicked would have added.
    struct FinishGuard<F: Fn()>(F);
    impl<F: Fn()> Drop for FinishGuard<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let work = || {
        let mut result = R::default();
        while let Some(open) = take() {
            let _done = FinishGuard(|| {
                locked().busy -= 1;
                more.notify_all();
            });
            let found = each(open, &mut result);
            locked().open.extend(found);
        }
        result
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        let joined = |other: ScopedJoinHandle<'_, R>| {
            other.join().unwrap_or_else(|why| std::panic::resume_unwind(why))
        };
        std::iter::once(own).chain(others.into_iter().map(joined)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d4_everything_that_is_found_is_done_once_by_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let results = spread_work(threads, vec![0_u32], |depth, seen: &mut Vec<u32>| {
                seen.push(depth);
                if depth < 12 { vec![depth + 1; 2] } else { Vec::new() }
            });
            let all: usize = results.iter().map(Vec::len).sum();
            assert_eq!((results.len(), all), (threads, (1 << 13) - 1));
        }
        assert_eq!(spread_work(3, Vec::<u32>::new(), |_, _: &mut ()| Vec::new()).len(), 3);
    }

    #[test]
    fn d4_small_folders_need_no_thread() {
        assert_eq!(threads_for(0), 1);
        assert_eq!(threads_for(ENTRIES_PER_THREAD), 1);
        assert!(threads_for(usize::MAX) <= THREADS_MAX);
    }
}
