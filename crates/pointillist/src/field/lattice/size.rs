//! What a lattice costs, and which one to try next. Estimates from numbers of nodes alone: the same on every machine.

use super::Smoothness;
use crate::gaussian::dissection::{self, Cost};

/// How the precision of a lattice's coefficients is factored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elimination {
    /// Node after node along the longest axis: a band matrix, in blocks where the band is wide.
    Band,
    /// By nested dissection: separators last.
    Dissection,
}

/// Products and sums per second that the block factor reaches on two threads.
const SPEED: f64 = 4e10;
/// The same of nested dissection, whose fronts are smaller …
const DISSECTION_SPEED: f64 = 1.8e10;
/// … and what each front takes beside its products.
const FRONT_SECONDS: f64 = 1.2e-5;
/// Where a step by the band takes less than this, draws are made by the band whatever dissection would gain: they depend on the order of nodes, and
/// small lattices keep theirs.
const SHORT: f64 = 0.05;
/// Where it takes less than this, fits take the band too: the time is spent elsewhere.
const SHORTEST: f64 = 0.025;
/// Paths from the root to a leaf that are worked on at the same time.
const PATHS: f64 = 4.0;
/// Numbers beside L for each number of P: its place there and in L, and the inverse in the order of L.
const PLACES: f64 = 2.0;
/// Most numbers that a place can count.
const MOST_PLACES: f64 = u32::MAX as f64;
/// The same of `gaussian/band.rs`, which has no blocks.
const BAND_SPEED: f64 = 4e8;
/// Copies of Q's diagonals in a natural step: Q; P, also turned around and filled up; S in parts; the best so far.
const COPIES: f64 = 12.0;
/// Blocks beside the factor: those that the inverse works in, on two chains.
const SPARE_BLOCKS: f64 = 14.0;
/// Numbers at a place of the integral beside where it is: its weight, sites (those in use, those of the next step, those that were best), what it says at q
/// (twice), and what these are made of.
const PLACE_NUMBERS: f64 = 22.0;
/// An axis is not made coarser than this on the way to a fine one.
const COARSEST: usize = 7;
/// Most times as many nodes on one axis of the next lattice.
const FASTEST: f64 = 4.0;

/// M, as a number that cannot overflow.
fn total(nodes: &[usize]) -> f64 {
    nodes.iter().map(|n| *n as f64).product()
}

/// How wide the band of Q is: α rows of nodes across the longest axis.
fn width(nodes: &[usize], smoothness: Smoothness) -> f64 {
    let longest = nodes.iter().max().copied().unwrap_or(1) as f64;
    smoothness.alpha() as f64 * total(nodes) / longest
}

/// Diagonals of Q on and above its main one: offsets whose lengths sum to at most α.
fn diagonals(dims: usize, smoothness: Smoothness) -> f64 {
    let alpha = smoothness.alpha() as f64;
    let ball = match dims {
        1 => 2.0 * alpha + 1.0,
        2 => 2.0 * alpha * (alpha + 1.0) + 1.0,
        _ => (2.0 * alpha + 1.0) * (2.0 * alpha * (alpha + 1.0) + 3.0) / 3.0,
    };
    0.5 * (ball + 1.0)
}

/// What nested dissection of a lattice costs.
pub(super) fn by_dissection(nodes: &[usize], smoothness: Smoothness) -> Cost {
    let mut inside = [1; 3];
    inside[..nodes.len()].copy_from_slice(nodes);
    inside[..nodes.len()].sort_unstable_by(|a, b| b.cmp(a));
    inside.rotate_right(3 - nodes.len());
    dissection::cost(inside, smoothness.alpha())
}

/// The seconds that a natural step of a fit takes, in the way that a fit takes; its events not counted.
pub(crate) fn seconds(nodes: &[usize], smoothness: Smoothness) -> f64 {
    match fastest(nodes, smoothness) {
        Elimination::Band => band_seconds(nodes, smoothness),
        Elimination::Dissection => dissection_seconds(&by_dissection(nodes, smoothness)),
    }
}

fn band_seconds(nodes: &[usize], smoothness: Smoothness) -> f64 {
    let (size, width) = (total(nodes), width(nodes, smoothness));
    if nodes.len() == 1 { size * width * width / BAND_SPEED } else { 10.0 * size * width * width / SPEED }
}

fn dissection_seconds(cost: &Cost) -> f64 {
    cost.work / DISSECTION_SPEED + cost.fronts * FRONT_SECONDS
}

/// The way in which a posterior is asked, and by which memory is foreseen: that which should take less time, but for small lattices.
pub(crate) fn elimination(nodes: &[usize], smoothness: Smoothness) -> Elimination {
    faster_from(SHORT, nodes, smoothness)
}

/// The way that should take less time, for a fit, whose answers do not depend on it.
pub(crate) fn fastest(nodes: &[usize], smoothness: Smoothness) -> Elimination {
    faster_from(SHORTEST, nodes, smoothness)
}

/// The way that should take less time where a step by the band takes at least so long; on a line nothing is better than the band.
fn faster_from(least: f64, nodes: &[usize], smoothness: Smoothness) -> Elimination {
    let band = band_seconds(nodes, smoothness);
    let can_be_placed = diagonals(nodes.len(), smoothness) * total(nodes) < MOST_PLACES;
    if nodes.len() == 1 || band < least || !can_be_placed {
        return Elimination::Band;
    }
    let cost = by_dissection(nodes, smoothness);
    let is_better = cost.largest < MOST_PLACES && dissection_seconds(&cost) < band;
    if is_better { Elimination::Dissection } else { Elimination::Band }
}

/// The bytes that a fit holds at once, its events not counted.
pub(crate) fn bytes(nodes: &[usize], smoothness: Smoothness) -> f64 {
    let (size, width) = (total(nodes), width(nodes, smoothness));
    let own = diagonals(nodes.len(), smoothness) * size;
    let factor = match elimination(nodes, smoothness) {
        Elimination::Dissection => {
            let cost = by_dissection(nodes, smoothness);
            cost.entries + PATHS * cost.path + PLACES * own
        }
        Elimination::Band if nodes.len() == 1 => 2.0 * size * (width + 1.0),
        Elimination::Band => 2.0 * size * width + SPARE_BLOCKS * width * width,
    };
    8.0 * (factor + COPIES * own)
}

/// The bytes of the places of an integral with sites, with so many panels in a cell along each axis; of a whole box, which has most of them.
pub(crate) fn bytes_of_places(nodes: &[usize], panels: usize) -> f64 {
    let places: f64 = nodes.iter().map(|n| 2.0 * panels as f64 * (*n as f64 - 1.0) + 1.0).product();
    // Where they are, their first corner and hats.
    let own = nodes.len() + 1 + (1 << nodes.len());
    8.0 * places * (own as f64 + PLACE_NUMBERS)
}

/// This lattice, or one of its shape that is as large as `fits` allows.
pub(crate) fn largest(nodes: &[usize], fits: impl Fn(&[usize]) -> bool) -> Vec<usize> {
    let scaled = |share: f64| -> Vec<usize> { nodes.iter().map(|n| ((*n as f64 * share) as usize).max(2)).collect() };
    if fits(nodes) {
        return nodes.to_vec();
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if fits(&scaled(middle)) { low = middle } else { high = middle }
    }
    scaled(low)
}

/// Lattices from one with at most `direct` nodes up to this one, each with about half as many nodes per axis (a quarter on
/// a line, where nodes are cheap) as the next.
pub(crate) fn ladder(nodes: &[usize], direct: usize) -> Vec<Vec<usize>> {
    let share = if nodes.len() == 1 { 4 } else { 2 };
    let mut ladder = vec![nodes.to_vec()];
    while let Some(last) = ladder.last()
        && last.iter().product::<usize>() > direct
    {
        let coarser: Vec<usize> = last.iter().map(|n| n.div_ceil(share).max(COARSEST.min(*n))).collect();
        if coarser == *last {
            break;
        }
        ladder.push(coarser);
    }
    ladder.reverse();
    ladder
}

/// A lattice with about `times` as many nodes that are, if they can be, equally far apart in units of the range; `lengths`
/// are those of its axes in those units. No axis loses nodes.
pub(crate) fn grown(nodes: &[usize], lengths: &[f64], times: f64) -> Vec<usize> {
    let wanted = times * total(nodes);
    let counts = |density: f64| -> Vec<usize> {
        let count = |(n, length): (&usize, &f64)| (density * length).clamp(*n as f64, FASTEST * *n as f64) as usize;
        nodes.iter().zip(lengths).map(count).collect()
    };
    let (mut low, mut high): (f64, f64) = (-20.0, 40.0); // logarithms of nodes a range
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if total(&counts(middle.exp())) < wanted { low = middle } else { high = middle }
    }
    counts(high.exp())
}

/// `3.2 GB`, or what is shorter.
pub(crate) fn describe_bytes(bytes: f64) -> String {
    if bytes < 1e9 { format!("{:.0} MB", (1e-6 * bytes).max(1.0)) } else { format!("{:.1} GB", 1e-9 * bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ladder_ends_at_what_was_asked_for_and_starts_small() {
        assert_eq!(ladder(&[110, 55], 600), [vec![28, 14], vec![55, 28], vec![110, 55]]);
        assert_eq!(
            ladder(&[2000, 5], 600),
            [vec![63, 5], vec![125, 5], vec![250, 5], vec![500, 5], vec![1000, 5], vec![2000, 5]]
        );
        assert_eq!(ladder(&[5, 5], 600), [vec![5, 5]]);
    }

    #[test]
    fn nodes_go_where_the_range_is_short() {
        assert_eq!(grown(&[20, 20], &[10.0, 10.0], 4.0), [40, 40]);
        assert_eq!(grown(&[20, 20], &[50.0, 5.0], 4.0), [80, 20]);
        assert_eq!(grown(&[20], &[5.0], 4.0), [80]);
    }

    #[test]
    fn the_largest_lattice_that_fits_keeps_its_shape() {
        let fits = |nodes: &[usize]| bytes(nodes, Smoothness::Two) < 1e9;
        let found = largest(&[100_000, 50_000], fits);
        // Where boxes are cut changes from one size to the next, and with it the memory a little.
        let larger = found.iter().map(|n| n + n / 20).collect::<Vec<_>>();
        assert!(fits(&found) && !fits(&larger), "{found:?}");
        assert!(found[0].abs_diff(2 * found[1]) <= 1);
    }

    #[test]
    fn wide_bands_are_dissected_and_narrow_ones_are_not() {
        for (nodes, want) in [
            (&[100_000][..], Elimination::Band),
            (&[2000, 4], Elimination::Band),
            (&[10, 10], Elimination::Band),
            (&[110, 55], Elimination::Band),
            (&[316, 316], Elimination::Dissection),
            (&[1000, 500], Elimination::Dissection),
            (&[30, 30, 30], Elimination::Dissection),
        ] {
            assert_eq!(elimination(nodes, Smoothness::Two), want, "{nodes:?}");
        }
        // For steps alone smaller ones are dissected too.
        for (nodes, want) in [
            (&[500][..], Elimination::Band),
            (&[110, 55], Elimination::Band),
            (&[75, 88], Elimination::Dissection),
            (&[316, 316], Elimination::Dissection),
        ] {
            assert_eq!(fastest(nodes, Smoothness::Two), want, "{nodes:?}");
            // A fit is foreseen to take what this way takes.
            let is_less = seconds(nodes, Smoothness::Two) < band_seconds(nodes, Smoothness::Two);
            assert_eq!(is_less, want == Elimination::Dissection, "{nodes:?}");
        }
        // The order of the axes does not matter.
        assert_eq!(bytes(&[300, 200], Smoothness::Two), bytes(&[200, 300], Smoothness::Two));
    }

    /// What was asked for: a million nodes in a plane, and 50×50×50, each in less than 12 GB.
    #[test]
    fn a_million_nodes_fit() {
        assert!(bytes(&[1000, 1000], Smoothness::Two) < 4e9);
        assert!(bytes(&[50, 50, 50], Smoothness::Two) < 12e9);
        // What nobody has room for is a large number, and not an overflow.
        assert!(bytes(&[20_000, 20_000], Smoothness::Two) > 5e11 && bytes(&[1 << 40; 3], Smoothness::Four) > 1e50);
    }

    #[test]
    fn the_diagonals_are_those_of_q() {
        assert_eq!([1, 2, 3].map(|dims| diagonals(dims, Smoothness::Two)), [3.0, 7.0, 13.0]);
        assert_eq!([1, 2, 3].map(|dims| diagonals(dims, Smoothness::Four)), [5.0, 21.0, 65.0]);
    }
}
