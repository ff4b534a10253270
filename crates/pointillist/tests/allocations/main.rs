//! What natural steps on a lattice ask of the allocator. In a program of its own: it counts for all threads.
//!
//! Lists of numbers at points are used again from step to step. What is left is made anew: P, its inverse between neighbours, and moments at points (some 20 numbers per
//! unknown on a line); the factor by a band, as wide as that is; and where dissection works on two threads, what one of them had not kept for itself.

use pointillist::field::lattice::{Elimination, Lattice, Start, Theta};
use pointillist::settings::Smoothness;
use pointillist::{Points, Window};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that were asked for so far, and how often.
static BYTES: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

struct Counting;

fn count(bytes: usize) {
    BYTES.fetch_add(bytes, Ordering::Relaxed);
    CALLS.fetch_add(1, Ordering::Relaxed);
}

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as above.
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes and calls of a natural step that is not the first, in numbers per unknown, and in calls.
fn of_a_step(nodes: &[usize], elimination: Elimination, events: usize) -> (f64, f64) {
    let dims = nodes.len();
    let window = Window::new(&vec![(0.0, 1.0); dims]).unwrap();
    let places =
        |n: usize| (0..dims).map(move |r| (0.5 + [0.754878, 0.569840, 0.430160][r] * n as f64).fract().powi(2));
    let events = Points::new(dims, (0..events).flat_map(places).collect()).unwrap();
    let lattice =
        Lattice::new(&window, nodes, &vec![0.1; dims], Smoothness::Two).unwrap().with_elimination(elimination);
    let theta = Theta::of_ranges(&vec![0.3; dims], 20.0, (events.len() as f64).sqrt());
    let spent = |steps: usize| {
        let before = [&BYTES, &CALLS].map(|counter| counter.load(Ordering::Relaxed));
        let start = Start::Flat(theta.mean);
        // Nothing is gained that is too little: all steps are made.
        let found = lattice.maximise(&events, &vec![1.0; events.len()], &theta, start, (0.0, steps)).unwrap();
        assert_eq!(found.evaluations, steps);
        let after = [&BYTES, &CALLS].map(|counter| counter.load(Ordering::Relaxed));
        [after[0] - before[0], after[1] - before[1]]
    };
    spent(4); // what is made once and kept
    let ([few, few_calls], [many, many_calls]) = (spent(2), spent(6));
    let unknowns = nodes.iter().product::<usize>() as f64;
    ((many - few) as f64 / 4.0 / 8.0 / unknowns, (many_calls - few_calls) as f64 / 4.0)
}

#[test]
fn a_step_asks_for_as_much_memory_as_is_known() {
    let shapes: [(&[usize], Elimination, usize, f64); 4] = [
        (&[1000], Elimination::Band, 500, 25.0),
        (&[60, 60], Elimination::Band, 1000, 400.0),
        (&[60, 60], Elimination::Dissection, 1000, 150.0),
        (&[14, 14, 14], Elimination::Dissection, 1000, 1200.0),
    ];
    let told: Vec<(f64, f64, String)> = shapes
        .into_iter()
        .map(|(nodes, elimination, events, most)| {
            let (numbers, calls) = of_a_step(nodes, elimination, events);
            let told = format!("{nodes:?} {elimination:?}: {numbers:.1} numbers per unknown in {calls:.0} calls");
            println!("{told}");
            (numbers, most, told)
        })
        .collect();
    told.into_iter().for_each(|(numbers, most, told)| assert!(numbers < most, "{told}"));
}
