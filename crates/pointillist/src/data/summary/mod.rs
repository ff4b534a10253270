//! The event summary: the events of a window by cell, so that the cost of a fit does not grow with their number.
//!
//! One pass over the events in bounded memory; after it they are not needed any more. Summaries of parts of the events add
//! up, whoever made them, and [`Summary::coarsened`] joins cells without loss, so that one summary with small cells serves
//! every grid and lattice coarser than it. How large its error is depends on the intensity: who fits knows, and says so.
//! What is in a cell: `cells.rs`.

mod cells;

pub(crate) use cells::{Cell, CellAxis, Cells};

use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::window::{Scaling, Window};

/// Nodes per axis in a cell.
const ORDER: usize = 4;
/// Cells on each axis unless others are asked for, in one, two and three dimensions. They have many divisors.
const CELLS: [usize; 3] = [110_880, 720, 60];

/// Up to so many events are looked at one by one, …
pub(crate) const MANY: usize = 5_000;
/// … and so are more, unless the nodes that would stand for them are fewer than this part of them.
const WORTHWHILE: f64 = 0.6;

/// Whether so many nodes are worth having in place of so many events.
pub(crate) fn is_worth(nodes: usize, events: usize) -> bool {
    (nodes as f64) < WORTHWHILE * events as f64
}

/// The events of a window by cell.
///
/// ```
/// use pointillist::{Points, Summary, Window};
///
/// let window = Window::interval(0.0, 10.0)?;
/// let mut week = Summary::new(&window, &[100])?;
/// week.add(&Points::line(&[0.3, 1.1, 1.4])?)?;
/// let mut next = Summary::new(&window, &[100])?;
/// next.add(&Points::line(&[7.9])?)?;
/// week.merge(&next)?;
/// assert_eq!(week.events(), 4);
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    window: Window,
    cells: Cells,
    /// Σ log exposure at the events.
    log_exposure: f64,
}

/// What is known of the events of one cell, for a file.
///
/// ```
/// use pointillist::{Points, Record, Summary, Window};
///
/// let window = Window::interval(0.0, 10.0)?;
/// let mut summary = Summary::new(&window, &[10])?;
/// summary.add(&Points::line(&[0.3, 7.9, 7.95])?)?;
/// let records: Vec<Record> = summary.records().collect();
/// assert_eq!((records[1].index, records[1].count), (7, 2));
/// assert_eq!(Summary::from_records(&window, &summary.cells(), summary.log_exposure(), records)?, summary);
/// # Ok::<(), pointillist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Which cell, the last axis varying fastest.
    pub index: usize,
    /// How many events it holds.
    pub count: u64,
    /// Their coordinates if they are no more than the nodes of a cell, else the weights of those nodes.
    pub values: Vec<f64>,
}

impl Summary {
    /// No events yet, `cells[r]` cells on axis r of the box around the window.
    pub fn new(window: &Window, cells: &[usize]) -> Result<Self> {
        let spans = window.bounding_box();
        if cells.len() != spans.len() {
            return Err(Error::Dimension { what: "cells", expected: spans.len(), found: cells.len() });
        }
        let axes = spans.iter().zip(cells).map(|(span, &cells)| CellAxis { lo: span.lo, hi: span.hi, cells });
        Ok(Self { window: window.clone(), cells: Cells::new(axes.collect(), ORDER)?, log_exposure: 0.0 })
    }

    /// The number of cells on each axis that serves most grids and lattices.
    pub fn usual_cells(dims: usize) -> Vec<usize> {
        vec![CELLS[dims.clamp(1, 3) - 1]; dims]
    }

    /// The window.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Number of cells on each axis.
    pub fn cells(&self) -> Vec<usize> {
        self.cells.axes().iter().map(|axis| axis.cells).collect()
    }

    /// Number of nodes per axis in a cell.
    pub fn order(&self) -> usize {
        self.cells.order()
    }

    /// Number of events so far.
    pub fn events(&self) -> u64 {
        self.cells.events()
    }

    /// Number of weighted nodes, and of events kept as they are, that stand for them.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there are no events so far.
    pub fn is_empty(&self) -> bool {
        self.events() == 0
    }

    /// Σ log exposure at the events, 0 without one.
    pub fn log_exposure(&self) -> f64 {
        self.log_exposure
    }

    /// Adds events; nothing is added if one of them lies outside the window or where it was not looked at.
    pub fn add(&mut self, points: &Points) -> Result<()> {
        if !self.window.is_one_box() {
            self.window.check_inside(points)?;
        }
        let log_exposure = self.log_exposure_at(points)?;
        self.cells.add(points)?;
        self.log_exposure += log_exposure;
        Ok(())
    }

    fn log_exposure_at(&self, points: &Points) -> Result<f64> {
        if self.window.exposure().is_none() {
            return Ok(0.0);
        }
        let exposure: Vec<f64> = points.rows().map(|row| self.window.exposure_at(row)).collect();
        match exposure.iter().position(|e| *e <= 0.0) {
            Some(index) => Err(Error::Unexposed { index, point: points.row(index).to_vec() }),
            None => Ok(exposure.iter().map(|e| e.ln()).sum()),
        }
    }

    /// Adds what another summary stands for; it must be of the same window and cells.
    pub fn merge(&mut self, other: &Summary) -> Result<()> {
        let refuse = |what: &str| Err(Error::setting("summary", "another", format!("must have the same {what}")));
        if other.window != self.window {
            return refuse("window");
        }
        if other.cells() != self.cells() || other.order() != self.order() {
            return refuse("cells");
        }
        self.cells.merge(&other.cells);
        self.log_exposure += other.log_exposure;
        Ok(())
    }

    /// The same events in fewer cells, whose numbers must divide those of this one.
    pub fn coarsened(&self, cells: &[usize]) -> Result<Self> {
        let own = self.cells();
        let divides = |(own, wanted): (&usize, &usize)| *wanted > 0 && own % wanted == 0;
        if cells.len() != own.len() || !own.iter().zip(cells).all(divides) {
            return Err(Error::setting("cells", format!("{cells:?}"), format!("must divide {own:?}")));
        }
        if cells == own {
            return Ok(self.clone());
        }
        let times: Vec<usize> = own.iter().zip(cells).map(|(own, wanted)| own / wanted).collect();
        let cells = self.cells.coarsened(&times);
        Ok(Self { window: self.window.clone(), cells, log_exposure: self.log_exposure })
    }

    /// The weighted nodes that stand for the events; where there are few they are the events.
    pub fn nodes(&self) -> (Points, Vec<f64>) {
        self.cells.nodes()
    }

    /// The coordinates of the nodes on each axis, and the weights of their tensor product, the last axis fastest.
    pub(crate) fn tensor(&self) -> (Vec<Vec<f64>>, Vec<f64>) {
        self.cells.tensor()
    }

    /// The cells in the coordinates of the unit box.
    pub(crate) fn unit_cells(&self, scaling: &Scaling) -> Cells {
        self.cells.on_unit_box(|r, x| scaling.inward(r, x))
    }

    /// The cells that are not empty, by rising index.
    pub fn records(&self) -> impl Iterator<Item = Record> + '_ {
        self.cells.list().map(|(index, cell)| Record { index, count: cell.count, values: cell.values.clone() })
    }

    /// From its parts, as [`Summary::records`] and the rest gave them.
    pub fn from_records(
        window: &Window,
        cells: &[usize],
        log_exposure: f64,
        records: impl IntoIterator<Item = Record>,
    ) -> Result<Self> {
        let mut summary = Self { log_exposure, ..Self::new(window, cells)? };
        for Record { index, count, values } in records {
            if !summary.cells.put(index, Cell { count, values }) {
                return Err(Error::setting("cell", index, "does not make sense: the summary is damaged"));
            }
        }
        if !log_exposure.is_finite() {
            return Err(Error::setting("log exposure", log_exposure, "must be finite"));
        }
        Ok(summary)
    }
}
