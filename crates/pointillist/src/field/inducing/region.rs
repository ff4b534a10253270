//! What the features of scattered inducing points integrate to over a window: ∫ a aᵀ, ∫ a and ∫ c.
//!
//! Two routes. By tables: Ψ and φ are products of small integrals over the distinct coordinates of the axes (closed forms on boxes; a
//! joint integral on the two axes of an outline or an exposure, contracted one axis at a time), then whitened. By points: Σ w a aᵀ over
//! quadrature nodes. A = L⁻¹ΨL⁻ᵀ by tables carries an error of about γ·ε/(smallest pivot of K), by points of γ·ε over its root; tables
//! cost far less. So tables are taken where their error does not matter and the points share their coordinates, else points.

use super::RegionFeatures;
use super::scattered::{BlockBar, ScatteredBasis};
use crate::data::points::Points;
use crate::kernel;
use crate::numerics::linalg::{self, Matrix};
use crate::window::{AxisRule, Nodes, PieceNodes, Span, Weights, Window, node_count};

/// Error of A by tables above which points take their place.
const TABLE_ERROR: f64 = 2e-5;
/// The smallest eigenvalue of K is about this part of its smallest pivot.
const PIVOT: f64 = 0.01;
/// Most points of quadrature: beyond, tables must do.
const MOST_NODES: usize = 20_000;
/// Most features of nodes that are held at a time.
const MOST_FEATURES: usize = 16_000_000;
/// A joint table over the distinct coordinates of two axes may have this many times the entries of Ψ, or be this small in any case.
const WASTE: usize = 8;
const SMALL: usize = 40;

/// How to integrate over a window.
enum Route {
    /// By the closed forms of its boxes.
    Boxes,
    /// By nodes on the axes.
    Tables(Vec<PieceNodes>),
    /// By the features at points.
    Points(Nodes),
}

impl ScatteredBasis {
    /// `fineness` multiplies the nodes of an axis where there are any; 1 is meant to suffice.
    pub(super) fn region(&self, window: &Window, fineness: f64) -> RegionFeatures {
        let measure = window.measure();
        let (square, linear) = match self.route(window, measure, fineness) {
            Route::Points(nodes) => self.by_points(&nodes),
            Route::Boxes => match self.sum() {
                Some(sum) => self.by_sum(&sum, window),
                None => self.by_tables(&boxes(window)),
            },
            Route::Tables(nodes) => self.by_tables(&nodes.iter().map(Source::Nodes).collect::<Vec<_>>()),
        };
        let residual = (self.prior_integral(window, measure) - square.trace()).max(0.0);
        RegionFeatures { square, linear, residual, measure }
    }

    /// Adjoint of [`Self::region`]; Ā (symmetric) is overwritten.
    pub(super) fn region_adjoint(
        &self,
        window: &Window,
        region: &RegionFeatures,
        region_bar: &mut RegionFeatures,
        bar: &mut BlockBar,
    ) {
        let RegionFeatures { square: a_bar, linear: p_bar, residual: c_bar, .. } = region_bar;
        a_bar.add_to_diagonal(-*c_bar); // ∫c = ∫k(x,x) − tr A
        self.prior_integral_adjoint(window, region.measure, *c_bar, bar);
        match self.route(window, region.measure, 1.0) {
            Route::Points(nodes) => bar.add(&self.by_points_adjoint(&nodes, a_bar, p_bar)),
            Route::Boxes => match self.sum() {
                Some(sum) => self.by_sum_adjoint(&sum, window, region, (a_bar, p_bar), bar),
                None => self.by_tables_adjoint(&boxes(window), region, a_bar, p_bar, bar),
            },
            Route::Tables(nodes) => {
                let sources: Vec<Source<'_>> = nodes.iter().map(Source::Nodes).collect();
                self.by_tables_adjoint(&sources, region, a_bar, p_bar, bar);
            }
        }
    }

    fn route(&self, window: &Window, measure: f64, fineness: f64) -> Route {
        let plain = window.exposure().is_none() && window.outlines().next().is_none();
        let error = self.times * self.kernel.variance() * measure * f64::EPSILON / self.least_eigenvalue();
        if plain && error <= TABLE_ERROR {
            return Route::Boxes;
        }
        let rules = self.rules(fineness);
        if plain && window.node_estimate(&rules) > MOST_NODES as f64 {
            return Route::Boxes;
        }
        let nodes = window.nodes(&rules);
        let count = node_count(&nodes);
        let tables = nodes.iter().all(|piece| self.has_tables(piece));
        if !tables || error > TABLE_ERROR && count <= MOST_NODES {
            Route::Points(Nodes::of_pieces(&nodes))
        } else if plain {
            Route::Boxes
        } else {
            Route::Tables(nodes)
        }
    }

    /// About the smallest eigenvalue of K, relative to its diagonal.
    fn least_eigenvalue(&self) -> f64 {
        let variance = self.kernel.variance();
        let least = (0..self.l.rows()).map(|i| self.l[(i, i)].powi(2)).fold(f64::INFINITY, f64::min);
        (PIVOT * least / variance).max(self.jitter).max(f64::EPSILON)
    }

    /// What the kernel asks of nodes on each axis.
    pub(super) fn rules(&self, fineness: f64) -> Vec<AxisRule<'_>> {
        let rule = |r: usize| AxisRule {
            length: self.kernel.length(r) / fineness,
            kinks: if self.kernel.has_kinks(r) { self.values(r) } else { &[] },
        };
        (0..self.dims()).map(rule).collect()
    }

    /// Whether tables over the distinct coordinates are small enough.
    fn has_tables(&self, piece: &PieceNodes) -> bool {
        match piece.weights {
            Weights::Product => true,
            Weights::Single(_) => false,
            Weights::Pair(_) => {
                let size = self.set.size();
                size <= SMALL || self.values(0).len() * self.values(1).len() <= WASTE * size
            }
        }
    }

    /// ∫ k(x, x).
    fn prior_integral(&self, window: &Window, measure: f64) -> f64 {
        if self.kernel.has_unit_diagonal() {
            return self.kernel.variance() * measure;
        }
        let nodes = Nodes::of_pieces(&window.nodes(&self.rules(1.0)));
        nodes.points.rows().zip(&nodes.weights).map(|(x, w)| w * self.kernel.diagonal(x)).sum()
    }

    fn prior_integral_adjoint(&self, window: &Window, measure: f64, bar: f64, sum: &mut BlockBar) {
        if self.kernel.has_unit_diagonal() {
            self.kernel.variance_places().into_iter().for_each(|at| sum.parameters[at] += bar * measure);
            return;
        }
        let nodes = Nodes::of_pieces(&window.nodes(&self.rules(1.0)));
        for (x, w) in nodes.points.rows().zip(&nodes.weights) {
            self.kernel.diagonal_adjoint(x, bar * w, &mut sum.parameters);
        }
    }

    /// ∫ a aᵀ and ∫ a from the features at points, block by block.
    fn by_points(&self, nodes: &Nodes) -> (Matrix, Vec<f64>) {
        use super::Basis;
        let size = self.set.size();
        let (mut square, mut linear) = (Matrix::zeros(size, size), vec![0.0; size]);
        for (points, weights) in self.node_blocks(nodes) {
            let a = self.at(&points).a;
            let mut scaled = a.clone();
            for (column, w) in scaled.data_mut().chunks_exact_mut(size).zip(weights) {
                column.iter_mut().for_each(|v| *v *= w);
            }
            linalg::add_outer_lower(&mut square, 1.0, scaled.data(), a.data());
            linalg::add_scaled(&mut linear, 1.0, &linalg::columns_times(a.data(), size, weights));
        }
        square.mirror_lower();
        (square, linear)
    }

    /// Adjoint of [`Self::by_points`].
    fn by_points_adjoint(&self, nodes: &Nodes, square_bar: &Matrix, linear_bar: &[f64]) -> BlockBar {
        use super::Basis;
        let size = self.set.size();
        let mut sum = BlockBar::new(self);
        for (points, weights) in self.node_blocks(nodes) {
            let a = self.at(&points).a;
            let mut a_bar = linalg::product(square_bar, &a);
            for (column, w) in a_bar.data_mut().chunks_exact_mut(size).zip(weights) {
                column.iter_mut().zip(linear_bar).for_each(|(v, p)| *v = w * (2.0 * *v + p));
            }
            sum.add(&self.points_adjoint(&points, &a, &mut a_bar, &vec![0.0; weights.len()]));
        }
        sum
    }

    /// The nodes in blocks whose features can be held.
    fn node_blocks<'n>(&self, nodes: &'n Nodes) -> impl Iterator<Item = (Points, &'n [f64])> {
        let (length, dims) = ((MOST_FEATURES / self.set.size()).max(1), self.dims());
        let rows = nodes.points.coordinates().chunks(length * dims);
        rows.map(move |rows| Points::of_rows(dims, rows.to_vec())).zip(nodes.weights.chunks(length))
    }

    /// ∫ a aᵀ and ∫ a from Ψ and φ.
    fn by_tables(&self, sources: &[Source<'_>]) -> (Matrix, Vec<f64>) {
        let size = self.set.size();
        let (mut square, mut linear) = (Matrix::zeros(size, size), vec![0.0; size]);
        let mut column = vec![0.0; size];
        for source in sources {
            for t in 0..self.kernel.terms.len() {
                let phi = self.phi(source, t);
                self.phi_product(&phi, &mut column);
                linalg::add_scaled(&mut linear, 1.0, &column);
                // Ψ has each cross term and its mirror image; whitening and `symmetrise` below make one of both.
                for u in t..self.kernel.terms.len() {
                    self.add_psi(&self.psi(source, t, u), &mut square);
                }
            }
        }
        square.symmetrise();
        self.whitened(square, linear)
    }

    /// A = L⁻¹ΨL⁻ᵀ and L⁻¹φ.
    fn whitened(&self, mut square: Matrix, mut linear: Vec<f64>) -> (Matrix, Vec<f64>) {
        linalg::whiten(&mut square, &self.l);
        square.symmetrise();
        linalg::solve_lower(&self.l, &mut linear);
        (square, linear)
    }

    /// Adjoint of [`Self::whitened`]: Ā becomes Ψ̄ and p̄ becomes φ̄.
    fn whitened_adjoint(&self, region: &RegionFeatures, a_bar: &mut Matrix, p_bar: &mut [f64], bar: &mut BlockBar) {
        let product = linalg::product(a_bar, &region.square);
        for j in 0..product.cols() {
            linalg::add_scaled(&mut bar.w.col_mut(j)[j..], -2.0, &product.col(j)[j..]);
        }
        linalg::add_outer_lower(&mut bar.w, -1.0, p_bar, &region.linear);
        linalg::whiten_adjoint(a_bar, &self.l);
        a_bar.symmetrise();
        linalg::solve_lower_transposed(&self.l, p_bar);
    }

    /// The kernel as a sum on the line, where its integrals are best found all together.
    fn sum(&self) -> Option<kernel::Sum<'_>> {
        let sum = self.kernel.sum_on_the_line()?;
        (self.set.axes[0].in_order && sum.is_worth_it(self.set.size())).then_some(sum)
    }

    /// ∫ a aᵀ and ∫ a over intervals from Ψ and φ of a whole sum.
    fn by_sum(&self, sum: &kernel::Sum<'_>, window: &Window) -> (Matrix, Vec<f64>) {
        let size = self.set.size();
        let (mut square, mut linear) = (Matrix::zeros(size, size), vec![0.0; size]);
        for piece in window.pieces() {
            sum.add_integrals(self.values(0), piece.spans[0], piece.repeats, &mut square, &mut linear);
        }
        square.mirror_lower();
        self.whitened(square, linear)
    }

    /// Adjoint of [`Self::by_sum`]; Ā and p̄ are overwritten.
    fn by_sum_adjoint(
        &self,
        sum: &kernel::Sum<'_>,
        window: &Window,
        region: &RegionFeatures,
        (a_bar, p_bar): (&mut Matrix, &mut [f64]),
        bar: &mut BlockBar,
    ) {
        self.whitened_adjoint(region, a_bar, p_bar, bar);
        for piece in window.pieces() {
            let bars = (&*a_bar, &*p_bar);
            let variances_bar = sum.integrals_adjoint(self.values(0), piece.spans[0], piece.repeats, bars, bar.axis(0));
            for (at, variance_bar) in self.kernel.variance_places().into_iter().zip(variances_bar) {
                bar.parameters[at] += variance_bar;
            }
        }
    }

    /// Adjoint of [`Self::by_tables`]; Ā and p̄ are overwritten.
    fn by_tables_adjoint(
        &self,
        sources: &[Source<'_>],
        region: &RegionFeatures,
        a_bar: &mut Matrix,
        p_bar: &mut [f64],
        bar: &mut BlockBar,
    ) {
        self.whitened_adjoint(region, a_bar, p_bar, bar);
        let places = self.kernel.variance_places();
        for source in sources {
            for (t, term) in self.kernel.terms.iter().enumerate() {
                let phi = self.phi(source, t);
                let scale_bar = self.phi_adjoint(source, t, &phi, p_bar, bar);
                bar.parameters[places[t]] += source.repeats() * scale_bar;
                for (u, other) in self.kernel.terms.iter().enumerate().skip(t) {
                    let psi = self.psi(source, t, u);
                    let scale_bar = source.repeats_of(t, u) * self.psi_adjoint(source, (t, u), &psi, a_bar, bar);
                    bar.parameters[places[t]] += scale_bar * other.variance;
                    bar.parameters[places[u]] += scale_bar * term.variance;
                }
            }
        }
    }

    /// φ of term t over a piece, as tables.
    fn phi(&self, source: &Source<'_>, t: usize) -> Integrals {
        let axis = |r: usize| match source {
            Source::Box { spans, .. } => {
                let mut list = vec![0.0; self.values(r).len()];
                kernel::phi_list(&self.kernel.parts(t, r), self.values(r), spans[r], &mut list);
                list
            }
            Source::Nodes(nodes) => {
                let gram = self.node_table(nodes, t, r);
                linalg::columns_times(gram.data(), gram.rows(), &nodes.axes[r].weights)
            }
        };
        let scale = source.repeats() * self.kernel.terms[t].variance;
        match source.joint() {
            None => Integrals { scale, joint: None, axes: (0..self.dims()).map(axis).collect() },
            Some((nodes, weights)) => {
                let (x, y) = (self.node_table(nodes, t, 0), self.node_table(nodes, t, 1));
                let joint = linalg::product_transposed(&linalg::product(&x, weights), &y);
                Integrals { scale, joint: Some(joint), axes: (2..self.dims()).map(axis).collect() }
            }
        }
    }

    /// out_m = φ(z_m).
    fn phi_product(&self, phi: &Integrals, out: &mut [f64]) {
        let lists: Vec<&[f64]> = phi.axes.iter().map(Vec::as_slice).collect();
        self.column_product(phi.scale, phi.first(), &lists, out);
        if let Some(joint) = &phi.joint {
            out.iter_mut().zip(self.pairs()).for_each(|(out, at)| *out *= joint[at]);
        }
    }

    /// Adjoint of [`Self::phi`] and [`Self::phi_product`]; returns the cotangent of its scale.
    fn phi_adjoint(&self, source: &Source<'_>, t: usize, phi: &Integrals, phi_bar: &[f64], bar: &mut BlockBar) -> f64 {
        let first = phi.first();
        let columns: Vec<&[f64]> = phi.axes.iter().map(Vec::as_slice).collect();
        let mut outer = phi_bar.to_vec();
        if let (Some(joint), Some((nodes, weights))) = (&phi.joint, source.joint()) {
            let mut rest = vec![0.0; outer.len()];
            self.column_product(phi.scale, first, &columns, &mut rest);
            let mut joint_bar = Matrix::zeros(joint.rows(), joint.cols());
            for ((outer, at), rest) in outer.iter_mut().zip(self.pairs()).zip(rest) {
                joint_bar[at] += *outer * rest;
                *outer *= joint[at];
            }
            let (x, y) = (self.node_table(nodes, t, 0), self.node_table(nodes, t, 1));
            let x_bar = linalg::product(&joint_bar, &linalg::product_transposed(&y, weights));
            let y_bar = linalg::transposed_product(&joint_bar, &linalg::product(&x, weights));
            self.node_table_adjoint(nodes, (t, 0), &x, x_bar.data(), bar);
            self.node_table_adjoint(nodes, (t, 1), &y, y_bar.data(), bar);
        }
        let mut lists_bar: Vec<Vec<f64>> = phi.axes.iter().map(|l| vec![0.0; l.len()]).collect();
        let mut columns_bar: Vec<&mut [f64]> = lists_bar.iter_mut().map(Vec::as_mut_slice).collect();
        let scale_bar = self.column_product_adjoint(phi.scale, first, &columns, &outer, &mut columns_bar);
        for (i, list_bar) in lists_bar.iter().enumerate() {
            let r = first + i;
            match source {
                Source::Box { spans, .. } => {
                    let parts = self.kernel.parts(t, r);
                    kernel::phi_list_adjoint(&parts, self.values(r), spans[r], list_bar, bar.axis(r));
                }
                Source::Nodes(nodes) => {
                    let weights = &nodes.axes[r].weights;
                    let k_bar: Vec<f64> = weights.iter().flat_map(|w| list_bar.iter().map(move |b| w * b)).collect();
                    self.node_table_adjoint(nodes, (t, r), &self.node_table(nodes, t, r), &k_bar, bar);
                }
            }
        }
        scale_bar
    }

    /// Ψ of terms t and u over a piece, as tables.
    fn psi(&self, source: &Source<'_>, t: usize, u: usize) -> Integrals {
        let axis = |r: usize| {
            let size = self.values(r).len();
            let mut table = vec![0.0; size * size];
            match source {
                Source::Box { spans, .. } => {
                    let (left, right) = (self.kernel.parts(t, r), self.kernel.parts(u, r));
                    kernel::psi_table(&left, &right, self.values(r), spans[r], &mut table);
                }
                Source::Nodes(nodes) => {
                    let (left, right) = (self.node_table(nodes, t, r), self.node_table(nodes, u, r));
                    linalg::weighted_outer(left.data(), &nodes.axes[r].weights, right.data(), size, &mut table);
                }
            }
            table
        };
        let scale = source.repeats_of(t, u) * self.kernel.terms[t].variance * self.kernel.terms[u].variance;
        match source.joint() {
            None => Integrals { scale, joint: None, axes: (0..self.dims()).map(axis).collect() },
            Some((nodes, weights)) => {
                let [x, y] = self.pair_tables(nodes, t, u);
                let joint = linalg::product_transposed(&linalg::product(&x, weights), &y);
                Integrals { scale, joint: Some(joint), axes: (2..self.dims()).map(axis).collect() }
            }
        }
    }

    /// Adds Ψ(z_m, z_m').
    fn add_psi(&self, psi: &Integrals, out: &mut Matrix) {
        let Some(joint) = &psi.joint else { return self.add_square(psi.scale, 0, &psi.axes, out) };
        let mut rest = Matrix::zeros(out.rows(), out.cols());
        self.add_square(psi.scale, psi.first(), &psi.axes, &mut rest);
        for j in 0..out.cols() {
            let sums = out.col_mut(j).iter_mut().zip(rest.col(j));
            sums.zip(self.pairs_of_pairs(j)).for_each(|((out, rest), at)| *out += rest * joint[at]);
        }
    }

    /// Adjoint of [`Self::psi`] and [`Self::add_psi`] for a symmetric cotangent; returns the cotangent of its scale.
    fn psi_adjoint(
        &self,
        source: &Source<'_>,
        (t, u): (usize, usize),
        psi: &Integrals,
        psi_bar: &Matrix,
        bar: &mut BlockBar,
    ) -> f64 {
        let first = psi.first();
        let with_joint = psi.joint.as_ref().zip(source.joint()).map(|(joint, (nodes, weights))| {
            let mut outer = psi_bar.clone();
            let mut rest = Matrix::zeros(outer.rows(), outer.cols());
            self.add_square(psi.scale, first, &psi.axes, &mut rest);
            let mut joint_bar = Matrix::zeros(joint.rows(), joint.cols());
            for j in 0..outer.cols() {
                let entries = outer.col_mut(j).iter_mut().zip(rest.col(j)).zip(self.pairs_of_pairs(j));
                for ((outer, rest), at) in entries {
                    joint_bar[at] += *outer * rest;
                    *outer *= joint[at];
                }
            }
            self.joint_psi_adjoint(nodes, weights, (t, u), &joint_bar, bar);
            outer
        });
        let outer = with_joint.as_ref().unwrap_or(psi_bar);
        let (tables_bar, scale_bar) = self.square_adjoint(psi.scale, first, &psi.axes, outer);
        for (i, table_bar) in tables_bar.iter().enumerate() {
            let r = first + i;
            match source {
                Source::Box { spans, .. } => {
                    let (left, right) = (self.kernel.parts(t, r), self.kernel.parts(u, r));
                    kernel::psi_table_adjoint(&left, &right, self.values(r), spans[r], table_bar, bar.axis(r));
                }
                Source::Nodes(nodes) => {
                    let (left, right) = (self.node_table(nodes, t, r), self.node_table(nodes, u, r));
                    let (weights, size) = (&nodes.axes[r].weights, left.rows());
                    let (left_bar, right_bar) =
                        linalg::weighted_outer_adjoint(left.data(), weights, right.data(), size, table_bar);
                    self.node_table_adjoint(nodes, (t, r), &left, &left_bar, bar);
                    self.node_table_adjoint(nodes, (u, r), &right, &right_bar, bar);
                }
            }
        }
        scale_bar
    }

    /// Adjoint of the joint table of Ψ, P_x W P_yᵀ.
    fn joint_psi_adjoint(
        &self,
        nodes: &PieceNodes,
        weights: &Matrix,
        (t, u): (usize, usize),
        joint_bar: &Matrix,
        bar: &mut BlockBar,
    ) {
        let [x, y] = self.pair_tables(nodes, t, u);
        let x_bar = linalg::product_transposed(&linalg::product(joint_bar, &y), weights);
        let y_bar = linalg::transposed_product(joint_bar, &linalg::product(&x, weights));
        for (r, pairs_bar) in [x_bar, y_bar].iter().enumerate() {
            let (left, right) = (self.node_table(nodes, t, r), self.node_table(nodes, u, r));
            let (left_bar, right_bar) = outer_columns_adjoint(&left, &right, pairs_bar);
            self.node_table_adjoint(nodes, (t, r), &left, left_bar.data(), bar);
            self.node_table_adjoint(nodes, (u, r), &right, right_bar.data(), bar);
        }
    }

    /// Term t over the distinct coordinates of axis r and its nodes. // (U_r, Q_r)
    fn node_table(&self, nodes: &PieceNodes, t: usize, r: usize) -> Matrix {
        let values = self.values(r);
        Matrix::from_columns(values.len(), kernel::gram(&self.kernel.parts(t, r), values, &nodes.axes[r].x))
    }

    fn node_table_adjoint(
        &self,
        nodes: &PieceNodes,
        (t, r): (usize, usize),
        table: &Matrix,
        table_bar: &[f64],
        bar: &mut BlockBar,
    ) {
        let (parts, x) = (self.kernel.parts(t, r), &nodes.axes[r].x);
        kernel::gram_adjoint(&parts, self.values(r), x, table.data(), table_bar, bar.axis(r));
    }

    /// On axes 0 and 1, for all pairs of distinct coordinates: term t seen from the one times term u from the other. // (U_r², Q_r)
    fn pair_tables(&self, nodes: &PieceNodes, t: usize, u: usize) -> [Matrix; 2] {
        [0, 1].map(|r| outer_columns(&self.node_table(nodes, t, r), &self.node_table(nodes, u, r)))
    }

    /// Where each inducing point stands in a table over the distinct coordinates of axes 0 and 1.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let [x, y] = [0, 1].map(|r| self.set.axes[r].index.iter().map(|&i| i as usize));
        x.zip(y)
    }

    /// The same for each inducing point with point `j`, in a table over pairs of coordinates.
    fn pairs_of_pairs(&self, j: usize) -> impl Iterator<Item = (usize, usize)> {
        let [x, y] = [0, 1].map(|r| self.set.axes[r].index[j] as usize * self.values(r).len());
        self.pairs().map(move |(i, k)| (i + x, k + y))
    }
}

/// An integral over a piece, by axes: a joint table on axes 0 and 1 if there is one, and a table for each other axis. It is the product
/// of all with the scale.
struct Integrals {
    scale: f64,
    joint: Option<Matrix>,
    axes: Vec<Vec<f64>>,
}

impl Integrals {
    /// The first axis with a table of its own.
    fn first(&self) -> usize {
        if self.joint.is_some() { 2 } else { 0 }
    }
}

/// Where the integrals over a piece come from.
enum Source<'a> {
    /// Closed forms over a box.
    Box { spans: &'a [Span], repeats: f64 },
    /// Sums over nodes.
    Nodes(&'a PieceNodes),
}

impl Source<'_> {
    fn repeats(&self) -> f64 {
        match self {
            Source::Box { repeats, .. } => *repeats,
            Source::Nodes(nodes) => nodes.repeats,
        }
    }

    /// How often the integral of term t with term u counts: cross terms come twice.
    fn repeats_of(&self, t: usize, u: usize) -> f64 {
        if t == u { self.repeats() } else { 2.0 * self.repeats() }
    }

    /// The nodes and weights of axes 0 and 1, where these cannot be told apart.
    fn joint(&self) -> Option<(&PieceNodes, &Matrix)> {
        match self {
            Source::Nodes(nodes) => match &nodes.weights {
                Weights::Pair(weights) => Some((nodes, weights)),
                _ => None,
            },
            Source::Box { .. } => None,
        }
    }
}

fn boxes(window: &Window) -> Vec<Source<'_>> {
    window.pieces().iter().map(|piece| Source::Box { spans: &piece.spans, repeats: piece.repeats }).collect()
}

/// Column by column, all products of an entry of `a` with one of `b`. // (U·V, Q)
fn outer_columns(a: &Matrix, b: &Matrix) -> Matrix {
    let columns = (0..a.cols()).flat_map(|q| {
        let (a, b) = (a.col(q), b.col(q));
        b.iter().flat_map(move |y| a.iter().map(move |x| x * y))
    });
    Matrix::from_columns(a.rows() * b.rows(), columns.collect())
}

/// Adjoint of [`outer_columns`].
fn outer_columns_adjoint(a: &Matrix, b: &Matrix, bar: &Matrix) -> (Matrix, Matrix) {
    let (mut a_bar, mut b_bar) = (Matrix::zeros(a.rows(), a.cols()), Matrix::zeros(b.rows(), b.cols()));
    for q in 0..a.cols() {
        for (j, bar) in bar.col(q).chunks_exact(a.rows()).enumerate() {
            linalg::add_scaled(a_bar.col_mut(q), b[(j, q)], bar);
            b_bar[(j, q)] = linalg::dot(bar, a.col(q));
        }
    }
    (a_bar, b_bar)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::inducing::{Hyper, PriorMean, Scattered};
    use crate::kernel::{Expression, Kernel, Part, Term};
    use crate::window::{Exposure, Polygons};

    /// A kernel in two dimensions with every parameter at its start, or the value given.
    fn kernel(text: &str) -> Kernel {
        let expression = Expression::parse(text, &["x", "y"]).unwrap();
        let terms = expression.terms.iter().enumerate().map(|(t, term)| {
            let parts = term.parts.iter().map(|part| {
                let known = part.parameters.iter().zip(part.factor.parameters());
                let parameters = known.map(|(said, parameter)| said.value.unwrap_or(parameter.start)).collect();
                Part { axis: part.axis, factor: part.factor, parameters }
            });
            Term { variance: 1.3 - 0.4 * t as f64, parts: parts.collect() }
        });
        Kernel::new(2, terms.collect()).unwrap()
    }

    fn windows() -> Vec<Window> {
        let hexagon = vec![vec![[0.1, 0.0], [0.9, 0.1], [1.0, 0.6], [0.7, 1.0], [0.2, 0.9], [0.0, 0.4]]];
        let exposure =
            Exposure::grid(vec![0, 1], vec![vec![0.0, 0.4, 1.0], vec![-0.5, 1.5]], (0..6).map(f64::from).collect());
        let whole = Window::new(&[(0.0, 1.0), (-0.5, 1.5)]).unwrap();
        let halves =
            [Window::new(&[(0.0, 0.3), (-0.5, 1.0)]).unwrap(), Window::new(&[(0.5, 1.0), (0.0, 1.5)]).unwrap()];
        vec![
            whole.clone(),
            Window::union(&halves).unwrap().with_repeats(3).unwrap(),
            Window::inside(Polygons::new(vec![hexagon]).unwrap()),
            whole.with_exposure(exposure.unwrap()).unwrap(),
        ]
    }

    #[test]
    fn every_route_gives_the_same_region_and_the_same_gradient() {
        let z = Points::from_rows(&[[0.1, 0.2], [0.6, 1.1], [0.9, -0.3], [0.3, 0.9]]).unwrap();
        let kernels = [
            "se(x, lengthscale=0.3)*se(y, lengthscale=0.45)",
            "matern32(x)*se(y) + periodic(x, period=0.7)",
            "(se(x)+constant)*matern12(y, lengthscale=0.6)*cosine(y, period=0.9)",
            "polynomial(x, degree=2)*rational_quadratic(y, lengthscale=0.5)",
        ];
        for (text, window) in kernels.iter().flat_map(|text| windows().into_iter().map(move |window| (text, window))) {
            let hyper = Hyper { kernel: kernel(text), mean: 0.7 };
            let basis = ScatteredBasis::new(Scattered::moving(z.clone()), &hyper, PriorMean::Constant, 1e-3).unwrap();
            let nodes = window.nodes(&basis.rules(1.0));
            let points = Nodes::of_pieces(&nodes);
            let mut ways = vec![nodes.iter().map(Source::Nodes).collect::<Vec<_>>()];
            if window.outlines().next().is_none() && window.exposure().is_none() {
                ways.push(boxes(&window));
            }
            let want = basis.by_points(&points);
            let square_bar = Matrix::from_fn(4, 4, |i, j| ((i + j) as f64 + 0.3).sin());
            let linear_bar = [0.3, -0.8, 0.2, 0.5];
            let mut want_bar = basis.by_points_adjoint(&points, &square_bar, &linear_bar);
            basis.cholesky_adjoint(&mut want_bar);
            let all = |bar: &BlockBar| [bar.parameters.clone(), bar.coordinates.concat()].concat();
            for sources in ways {
                let got = basis.by_tables(&sources);
                for (a, b) in got.0.data().iter().chain(&got.1).zip(want.0.data().iter().chain(&want.1)) {
                    assert!((a - b).abs() < 1e-10, "{text} on {window:?}: {a} {b}");
                }
                let region = RegionFeatures { square: got.0, linear: got.1, residual: 0.0, measure: 0.0 };
                let (mut a_bar, mut p_bar, mut bar) = (square_bar.clone(), linear_bar, BlockBar::new(&basis));
                basis.by_tables_adjoint(&sources, &region, &mut a_bar, &mut p_bar, &mut bar);
                basis.cholesky_adjoint(&mut bar);
                let scale = all(&want_bar).iter().fold(1.0, |m: f64, v| m.max(v.abs()));
                for (a, b) in all(&bar).iter().zip(all(&want_bar)) {
                    assert!((a - b).abs() < 1e-8 * scale, "{text}: {a} {b}");
                }
            }
        }
    }
    /// On a line the integrals of a whole sum are those of its pairs, and so are the gradients, with few periods and with many.
    #[test]
    fn a_sum_on_a_line_is_the_sum_of_its_pairs() {
        let kernels = [
            "se(x, lengthscale=0.3) + se(x, lengthscale=0.2)*periodic(x, period=0.07)",
            "se(x, lengthscale=0.3) + se(x, lengthscale=0.9)*periodic(x, period=0.01) + se(x, lengthscale=0.8)*periodic(x, period=0.07)",
            "matern32(x, lengthscale=0.4) + periodic(x, period=0.3) + constant",
        ];
        let whole = Window::interval(0.0, 1.0).unwrap();
        let halves = [Window::interval(0.0, 0.33).unwrap(), Window::interval(0.4, 1.0).unwrap()];
        let halves = Window::union(&halves).unwrap().with_repeats(3).unwrap();
        let z = Points::line(&[0.05, 0.11, 0.3, 0.34, 0.62, 0.97]).unwrap();
        for (text, window) in kernels.iter().flat_map(|text| [&whole, &halves].map(|window| (text, window))) {
            let expression = Expression::parse(text, &["x"]).unwrap();
            let terms = expression.terms.iter().enumerate().map(|(t, term)| {
                let parts = term.parts.iter().map(|part| {
                    let known = part.parameters.iter().zip(part.factor.parameters());
                    let parameters = known.map(|(said, parameter)| said.value.unwrap_or(parameter.start)).collect();
                    Part { axis: part.axis, factor: part.factor, parameters }
                });
                Term { variance: 1.3 - 0.4 * t as f64, parts: parts.collect() }
            });
            let hyper = Hyper { kernel: Kernel::new(1, terms.collect()).unwrap(), mean: 0.7 };
            let basis = ScatteredBasis::new(Scattered::moving(z.clone()), &hyper, PriorMean::Constant, 1e-3).unwrap();
            let sum = basis.sum().expect("pairs without a closed form");
            let (got, want) = (basis.by_sum(&sum, window), basis.by_tables(&boxes(window)));
            for (a, b) in got.0.data().iter().chain(&got.1).zip(want.0.data().iter().chain(&want.1)) {
                assert!((a - b).abs() < 1e-10, "{text} on {window:?}: {a} {b}");
            }
            let region = RegionFeatures { square: want.0, linear: want.1, residual: 0.0, measure: 0.0 };
            let mut square_bar = Matrix::from_fn(6, 6, |i, j| ((i + j) as f64 + 0.3).sin());
            let mut linear_bar = [0.3, -0.8, 0.2, 0.5, -0.1, 0.4];
            let (mut other_bar, mut other_linear_bar) = (square_bar.clone(), linear_bar);
            let [mut bar, mut want_bar] = [BlockBar::new(&basis), BlockBar::new(&basis)];
            basis.by_sum_adjoint(&sum, window, &region, (&mut square_bar, &mut linear_bar), &mut bar);
            basis.by_tables_adjoint(&boxes(window), &region, &mut other_bar, &mut other_linear_bar, &mut want_bar);
            let all =
                |bar: &BlockBar| [bar.parameters.clone(), bar.coordinates.concat(), bar.w.data().to_vec()].concat();
            let scale = all(&want_bar).iter().fold(1.0, |m: f64, v| m.max(v.abs()));
            for (a, b) in all(&bar).iter().zip(all(&want_bar)) {
                assert!((a - b).abs() < 1e-9 * scale, "{text} on {window:?}: {a} {b}");
            }
        }
    }
}
