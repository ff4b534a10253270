//! The numbers by which the search goes: one struct, with its values for each family. None of them changes what the answer means, only how
//! surely and how fast it is found.

/// The numbers of a search. Lengths are in sides of the window, gains in nats.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuning {
    /// The first starting length; the next ones are each half as long …
    pub(super) longest_start: f64,
    /// … down to this, or to what a grid resolves.
    pub(super) shortest_start: f64,
    /// Spacings of a grid in the shortest length that it resolves.
    pub(super) resolved: f64,
    /// Starts are compared after natural steps that gain less than this each, at most so many of them.
    pub(super) quick_gain: f64,
    pub(super) quick_steps: usize,
    /// Natural steps at one Θ.
    pub(super) most_steps: usize,
    /// Natural steps by which a fit is begun afresh from a flat intensity, to see whether that leads higher.
    pub(super) afresh_steps: usize,
    /// Whether that is done on the first grid too, where nothing came from a coarser one.
    pub(super) afresh_first: bool,
    /// A start this far below a fit already made is not followed: learning Θ from it gains less; …
    pub(super) hopeless: f64,
    /// … nor one this far below the best start, …
    pub(super) followed: f64,
    /// … and after one this far below no shorter one is tried. All three grow by so much per event.
    pub(super) given_up: f64,
    pub(super) per_event: f64,
    /// Starts that are followed, if a step costs less than `cheap` (entries touched, or seconds); else only the first.
    pub(super) most_runs: usize,
    pub(super) cheap: f64,
    /// Cost of a step from which on a finer grid does not try further starting lengths.
    pub(super) scan_below: f64,
    /// Sizes (on a line, in a plane, in space) up to which a grid that is asked for is fitted at once; larger ones by way of coarser ones.
    pub(super) direct: [usize; 3],
    /// `auto` stops growing where that gained less than this.
    pub(super) auto_gain: f64,
    /// First step of the optimiser, in the largest component.
    pub(super) first_step: f64,
    /// On a large field (from so many unknowns on) Θ has converged at this gain, in proportion on smaller ones: down to what is asked for.
    pub(super) large: f64,
    pub(super) large_gain: f64,
    /// Before the last grid it is also this part of what the refinement before gained; at first, so much per event.
    pub(super) loose: f64,
    pub(super) loose_per_event: f64,
    /// q is brought nearer its optimum than this part of what another Θ may gain, which on a large field is at first so much per event.
    pub(super) nearer: f64,
    pub(super) promised_per_event: f64,
    /// A family that is behind on the way to a grid that is asked for goes on all the same, if a step there costs less than this.
    pub(super) worth_leaving: f64,
    /// Where Θ is only corrected because steps are dear, it has converged at this gain, or after so many looks, the first at the Θ of the coarser field. What a look
    /// may gain is so much per event.
    pub(super) dear_gain: f64,
    pub(super) dear_looks: usize,
    /// Where a step costs as much as this, so many looks.
    pub(super) dearest: f64,
    pub(super) dearest_looks: usize,
    pub(super) promised_if_dear: f64,
}

/// With inducing points: lengths are length-scales, and the cost of a step is N·M².
pub(super) const INDUCING: Tuning = Tuning {
    longest_start: 0.5,
    shortest_start: 1e-3,
    resolved: 0.7,
    quick_gain: 0.3,
    quick_steps: 8,
    most_steps: 60,
    afresh_steps: 8,
    afresh_first: false,
    hopeless: 8.0,
    followed: 15.0,
    given_up: 15.0,
    per_event: 0.02,
    most_runs: 3,
    cheap: 1e8,
    scan_below: f64::INFINITY,
    direct: [24, 64, 64],
    auto_gain: 0.01,
    first_step: 0.4,
    large: f64::INFINITY,
    large_gain: 0.0,
    loose: 0.0,
    loose_per_event: 0.0,
    nearer: 0.0,
    promised_per_event: 0.0,
    worth_leaving: f64::INFINITY,
    dear_gain: 0.0,
    dear_looks: usize::MAX,
    dearest: f64::INFINITY,
    dearest_looks: usize::MAX,
    promised_if_dear: 0.0,
};

/// The same with priors of length-scales, under which short ones can be tried without finding a comb: a cycle that is short against the window has a peak of
/// its own, far below long lengths until the rest of Θ follows.
pub(super) const INDUCING_WITH_PRIORS: Tuning = Tuning { followed: 40.0, given_up: f64::INFINITY, ..INDUCING };

/// On a lattice: lengths are ranges, and the cost of a step is in seconds of a machine of two cores (from numbers alone: the same on every
/// machine).
pub(super) const LATTICE: Tuning = Tuning {
    longest_start: 1.0,
    shortest_start: 0.0,
    resolved: 2.0,
    quick_gain: 0.3,
    quick_steps: 8,
    most_steps: 60,
    afresh_steps: 60,
    afresh_first: true,
    hopeless: 10.0,
    followed: 10.0,
    given_up: f64::INFINITY,
    per_event: 0.02,
    most_runs: 3,
    cheap: 0.01,
    scan_below: 0.01,
    direct: [400, 600, 1000],
    auto_gain: 0.1,
    first_step: 0.4,
    large: 20_000.0,
    large_gain: 0.02,
    loose: 1e-6,
    loose_per_event: 1e-7,
    nearer: 3e-3,
    promised_per_event: 2e-3,
    worth_leaving: 0.02,
    dear_gain: 0.2,
    dear_looks: 3,
    dearest: 50.0,
    dearest_looks: 2,
    promised_if_dear: 1e-4,
};
