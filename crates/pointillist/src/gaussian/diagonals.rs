//! A symmetric matrix of which only some diagonals are not zero, or not asked for.
//!
//! A node of a lattice and its neighbour at a fixed offset are a fixed number of indices apart, so a stencil is a list
//! of diagonals. Pairs that are that far apart by index but not neighbours (at the end of a row of nodes) hold zero, or
//! what nobody multiplies by anything else.

use super::dissection::Plan;
use crate::numerics::linalg;
use std::sync::Arc;

/// Some diagonals of a symmetric matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagonals {
    size: usize,
    /// How far right of the main diagonal each lies, rising from 0.
    shifts: Vec<usize>,
    /// Entry (i, i + shift) at i. // (shifts, size)
    values: Vec<f64>,
    /// How it is factored, if by nested dissection.
    plan: Option<Arc<Plan>>,
}

impl Diagonals {
    /// Zeros on these diagonals and on the main one.
    pub fn zeros(size: usize, mut shifts: Vec<usize>) -> Self {
        shifts.push(0);
        shifts.sort_unstable();
        shifts.dedup();
        let values = vec![0.0; size * shifts.len()];
        Self { size, shifts, values, plan: None }
    }

    /// Zeros on the diagonals of a plan, by which it will be factored.
    pub(crate) fn planned(plan: Arc<Plan>) -> Self {
        Self { plan: Some(plan.clone()), ..Self::zeros(plan.size(), plan.shifts().to_vec()) }
    }

    /// How it is factored, if by nested dissection.
    pub(super) fn plan(&self) -> Option<&Arc<Plan>> {
        self.plan.as_ref()
    }

    /// From its diagonals one after another, if they are as many numbers as there must be.
    pub(crate) fn of_values(size: usize, shifts: Vec<usize>, values: Vec<f64>) -> Option<Self> {
        let empty = Self::zeros(size, shifts);
        (empty.values.len() == values.len()).then_some(Self { values, ..empty })
    }

    /// The same among `size` rows, with row i at `places[i]`; the pairs that are not zero lie on these diagonals there.
    pub(crate) fn moved(&self, size: usize, shifts: Vec<usize>, places: &[usize]) -> Self {
        let mut moved = Self::zeros(size, shifts);
        for (shift, values) in self.iter() {
            for i in (0..self.size.saturating_sub(shift)).filter(|&i| values[i] != 0.0) {
                let (a, b) = (places[i], places[i + shift]);
                if let Some(place) = moved.place(a.abs_diff(b)) {
                    moved.diagonal_mut(place)[a.min(b)] = values[i];
                }
            }
        }
        moved
    }

    /// The same on these diagonals only.
    pub(crate) fn on(&self, shifts: Vec<usize>) -> Self {
        let mut part = Self::zeros(self.size, shifts);
        part.add_scaled(1.0, self);
        part
    }

    /// All diagonals one after another.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    pub(crate) fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How far right of the main diagonal each diagonal lies, rising from 0.
    pub fn shifts(&self) -> &[usize] {
        &self.shifts
    }

    /// Which diagonal has this shift.
    pub(crate) fn place(&self, shift: usize) -> Option<usize> {
        self.shifts.binary_search(&shift).ok()
    }

    /// A diagonal: entry (i, i + shift) at i.
    pub fn diagonal(&self, place: usize) -> &[f64] {
        &self.values[place * self.size..][..self.size]
    }

    pub(crate) fn diagonal_mut(&mut self, place: usize) -> &mut [f64] {
        &mut self.values[place * self.size..][..self.size]
    }

    /// Replaces a diagonal.
    pub fn set_diagonal(&mut self, place: usize, values: &[f64]) {
        self.diagonal_mut(place).copy_from_slice(values);
    }

    /// The diagonals with their shifts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &[f64])> {
        self.shifts.iter().copied().zip(self.values.chunks_exact(self.size))
    }

    /// Entry (i, j); zero if its diagonal is not there.
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        self.place(i.abs_diff(j)).map_or(0.0, |place| self.diagonal(place)[i.min(j)])
    }

    /// Adds `factor` times another matrix, all of whose diagonals are here too.
    pub fn add_scaled(&mut self, factor: f64, other: &Diagonals) {
        for (shift, values) in other.iter() {
            if let Some(place) = self.place(shift) {
                linalg::add_scaled(self.diagonal_mut(place), factor, values);
            }
        }
    }

    /// Adds `factor` times the outer product of two vectors, on the diagonals that there are.
    pub(crate) fn add_outer(&mut self, factor: f64, a: &[f64], b: &[f64]) {
        for place in 0..self.shifts.len() {
            let shift = self.shifts[place];
            let pairs = a.iter().zip(&b[shift.min(b.len())..]);
            let diagonal = self.diagonal_mut(place).iter_mut();
            diagonal.zip(pairs).for_each(|(value, (a, b))| *value += factor * a * b);
        }
    }

    /// The same with the identity on the rows up to `size`.
    pub(super) fn filled_up(&self, size: usize) -> Self {
        let mut whole = Self::zeros(size, self.shifts.clone());
        for (place, (_, values)) in self.iter().enumerate() {
            let more = if place == 0 { 1.0 } else { 0.0 };
            whole.diagonal_mut(place)[self.size..].fill(more);
            whole.diagonal_mut(place)[..self.size].copy_from_slice(values);
        }
        whole
    }

    /// The first `size` rows and columns.
    pub(super) fn cut_off(&self, size: usize) -> Self {
        let mut part = Self::zeros(size, self.shifts.clone());
        for (place, (shift, values)) in self.iter().enumerate() {
            let count = size.saturating_sub(shift);
            part.diagonal_mut(place)[..count].copy_from_slice(&values[..count]);
        }
        part
    }

    /// With the last row and column first.
    pub(super) fn turned_around(&self) -> Self {
        let mut turned = Self::zeros(self.size, self.shifts.clone());
        for (place, (shift, values)) in self.iter().enumerate() {
            let count = self.size.saturating_sub(shift);
            let target = turned.diagonal_mut(place)[..count].iter_mut().rev();
            target.zip(values).for_each(|(target, value)| *target = *value);
        }
        turned
    }

    /// X v.
    pub fn times(&self, v: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.size];
        for (shift, values) in self.iter() {
            let count = self.size - shift.min(self.size);
            (0..count).for_each(|i| out[i] += values[i] * v[i + shift]);
            if shift > 0 {
                (0..count).for_each(|i| out[i + shift] += values[i] * v[i]);
            }
        }
        out
    }

    /// tr(X Y), summed over the diagonals of `other`, which are all here too.
    pub fn trace_of_product(&self, other: &Diagonals) -> f64 {
        let part = |(shift, values): (usize, &[f64])| {
            let mine = self.place(shift).map_or(0.0, |place| linalg::dot(self.diagonal(place), values));
            if shift == 0 { mine } else { 2.0 * mine }
        };
        other.iter().map(part).sum()
    }
}
