//! Results as layers of a map, for geographic information systems: GeoTIFF and GeoJSON.

use super::summary::brief;
use super::{Context, Failure, spec};
use crate::io::geography::{self, outward, rings_outward};
use crate::io::geotiff::{Crs, Raster, WGS84, geotiff};
use crate::io::{self, Column, Given, ModelFile, OutputError, Region, Setting, Written};
use pointillist::window::{Piece, Ring, Span};
use pointillist::{Axis, Points, Window};
use serde_json::{Value, json};
use std::path::Path;

/// Cells along each side, if nothing is said.
const USUAL_CELLS: usize = 50;
/// By which part the sum over the cells may differ from what is expected without a word.
const COARSE: f64 = 0.005;

/// What a file of results is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table as CSV, or with `--json` an object.
    Table,
    /// A raster.
    GeoTiff,
    /// Features.
    GeoJson,
}

impl Format {
    /// By the end of the name; refuses what a verb does not write.
    pub fn of(output: Option<&Path>, written: Written, context: &Context) -> Result<Self, Failure> {
        let Some(path) = output.filter(|path| *path != Path::new("-")) else { return Ok(Self::Table) };
        let format = match io::ending(path).as_deref() {
            Some("tif" | "tiff") if written == Written::Rates => Self::GeoTiff,
            Some("geojson") => Self::GeoJson,
            _ => Self::Table,
        };
        if format == Self::Table {
            io::check_name(path, if context.json() { Written::Json } else { written })?;
        } else if context.json() {
            let path = path.display();
            return Err(format!(
                "--json writes one object, and {path} is to hold a layer of a map; leave one of them out"
            )
            .into());
        }
        io::check_target(path)?;
        Ok(format)
    }
}

/// Refuses a window of too few or too many axes for the layer at a path.
pub fn check_axes(window: &Window, path: &Path, most: usize) -> Result<(), Failure> {
    let path = path.display();
    let is_behind = |axis: &Axis| axis.globe.is_some();
    if window.axes().iter().skip(2).any(is_behind) {
        return Err(format!("{path} would be a map, and longitude and latitude are not the first two axes of this model; write a table as CSV, to a name in .csv").into());
    }
    match window.dims() {
        dims if (2..=most).contains(&dims) => Ok(()),
        dims => {
            let axes = spec::plural(dims, "axis", "axes");
            Err(format!("{path} would be a map, which has two axes, and this model has {axes}; write a table as CSV, to a name in .csv").into())
        }
    }
}

/// What the coordinates of a model are, as they are written: on the globe in degrees, or in the km of its map.
fn crs(model: &ModelFile, in_degrees: bool, context: &Context) -> Crs {
    let window = model.posterior.window();
    let axes = window.axes();
    if let Some(globe) = axes.iter().find_map(|axis| axis.globe) {
        return if in_degrees { Crs::Epsg(WGS84) } else { Crs::Globe(globe) };
    }
    // What the axes say holds wherever the model has been since.
    if let Some(name) = axes.iter().find_map(|axis| axis.crs.as_ref()).or(model.reference.crs.as_ref()) {
        return Crs::named(name).unwrap_or_else(|| {
            context.warn("the model's reference system has no number in the register of EPSG, so the file says nothing of it: set it where the file is opened");
            Crs::Unknown
        });
    }
    let reaches = |r: usize, most: f64| {
        let Span { lo, hi } = window.bounding_box()[r];
        lo.abs().max(hi.abs()) <= most
    };
    match geography::called(axes) {
        Some(pair) if reaches(pair.east, 360.0) && reaches(pair.north, 90.0) => Crs::Epsg(WGS84),
        _ => Crs::Unknown,
    }
}

/// Cells that tile the box around a window of the plane, from north to south and from west to east.
pub struct Cells<'a> {
    model: &'a ModelFile,
    /// The axes that go east and north.
    axes: [usize; 2],
    /// How many cells go east and north.
    counts: [usize; 2],
    /// The box in both directions.
    spans: [Span; 2],
    /// The centres of the cells that lie inside the window, ...
    pub points: Points,
    /// ... and the numbers of these cells.
    inside: Vec<usize>,
}

impl<'a> Cells<'a> {
    /// As many as the text says, if there is one.
    pub fn new(model: &'a ModelFile, grid: Option<&str>, most: usize) -> Result<Self, Failure> {
        let window = model.posterior.window();
        let own = match grid {
            Some(text) => io::spec::counts(Given { setting: Setting::Grid, text }, window.axes())?,
            None => vec![USUAL_CELLS; 2],
        };
        let axes = geography::directions(window.axes());
        let (counts, spans) = (axes.map(|r| own[r]), axes.map(|r| window.bounding_box()[r]));
        let total = counts[0].saturating_mul(counts[1]);
        if total > most {
            let text = grid.unwrap_or_default();
            return Err(format!("--grid {text} has {total} cells; ask for at most {most}").into());
        }
        let mut cells = Self { model, axes, counts, spans, points: Points::new(2, vec![])?, inside: Vec::new() };
        let mut coordinates = Vec::new();
        for cell in 0..total {
            let centre = cells.centre(cell);
            if window.contains(&centre) {
                coordinates.extend(centre);
                cells.inside.push(cell);
            }
        }
        if cells.inside.is_empty() {
            return Err("no cell of the grid has its middle inside the window; ask for more with --grid"
                .to_string()
                .into());
        }
        cells.points = Points::new(2, coordinates)?;
        Ok(cells)
    }

    /// How far a cell reaches in both directions.
    fn size(&self) -> [f64; 2] {
        [0, 1].map(|d| self.spans[d].length() / self.counts[d] as f64)
    }

    /// The western, the southern, the eastern and the northern end of a cell.
    fn ends(&self, cell: usize) -> [f64; 4] {
        let (column, row) = (cell % self.counts[0], self.counts[1] - 1 - cell / self.counts[0]);
        let line = |d: usize, i: usize| self.spans[d].lo + self.size()[d] * i as f64;
        [line(0, column), line(1, row), line(0, column + 1), line(1, row + 1)]
    }

    /// On the axes of the model.
    fn centre(&self, cell: usize) -> [f64; 2] {
        let [west, south, east, north] = self.ends(cell);
        let mut centre = [0.0; 2];
        centre[self.axes[0]] = 0.5 * (west + east);
        centre[self.axes[1]] = 0.5 * (south + north);
        centre
    }

    /// Says so where the mean rates, the first of the columns, do not add up over the cells to what is expected in the window.
    pub fn warn_if_coarse(&self, columns: &[Column], context: &Context) -> Result<(), Failure> {
        let window = self.model.posterior.window();
        let is_by_area = window.exposure().is_none() && window.pieces().iter().all(|piece| piece.repeats == 1.0);
        let (Some(Column::Numbers(_, rates)), true) = (columns.first(), is_by_area) else { return Ok(()) };
        let sum = rates.iter().sum::<f64>() * self.size()[0] * self.size()[1];
        let expected = self.model.posterior.expected(window)?;
        if (sum - expected).abs() > COARSE * expected {
            context.warn(&format!(
                "the cells add up to {} events, and {} are expected: they are too coarse for the border or the peaks; ask for more with --grid",
                brief(sum),
                brief(expected)
            ));
        }
        Ok(())
    }

    /// A GeoTIFF of columns that have a row for each of the points: as many as there are units are in these, and the others have none.
    pub fn geotiff(&self, columns: &[Column], units: &[String], context: &Context) -> Result<Vec<u8>, Failure> {
        let units = (0..columns.len()).map(|band| units.get(band).cloned().unwrap_or_default());
        let bands = columns.iter().map(|column| Ok((column.name().to_string(), self.band(column)?)));
        let raster = Raster {
            width: self.counts[0],
            height: self.counts[1],
            corner: [self.spans[0].lo, self.spans[1].hi],
            cell: self.size(),
            bands: bands.collect::<Result<_, OutputError>>()?,
            units: units.collect(),
            crs: crs(self.model, false, context),
        };
        Ok(geotiff(&raster)?)
    }

    /// The values of a column, and NaN outside the window, which nothing inside may be.
    fn band(&self, column: &Column) -> Result<Vec<f32>, OutputError> {
        let Column::Numbers(name, values) = column else { return Ok(Vec::new()) };
        if !values.iter().all(|value| value.is_finite()) {
            return Err(OutputError::NotFinite { name: name.clone() });
        }
        let mut band = vec![f32::NAN; self.counts[0] * self.counts[1]];
        self.inside.iter().zip(values).for_each(|(&cell, &value)| band[cell] = value as f32);
        Ok(band)
    }

    /// GeoJSON of the same, with a polygon for each cell inside the window.
    pub fn geojson(&self, columns: &[Column], context: &Context) -> Result<String, Failure> {
        let axes = self.axes.map(|r| &self.model.posterior.window().axes()[r]);
        let polygon = |&cell: &usize| {
            let [west, south, east, north] = self.ends(cell);
            let at = |x: f64, y: f64| [outward(axes[0], x), outward(axes[1], y)];
            polygons(&[vec![vec![at(west, south), at(east, south), at(east, north), at(west, north)]]])
        };
        let geometries: Vec<Value> = self.inside.iter().map(polygon).collect();
        features(self.model, &geometries, columns, context)
    }
}

/// GeoJSON of columns that have a row for each of some points.
pub fn points(model: &ModelFile, points: &Points, columns: &[Column], context: &Context) -> Result<String, Failure> {
    let axes = model.posterior.window().axes();
    let directions = geography::directions(axes);
    let point = |row: &[f64]| {
        let at = directions.map(|r| outward(&axes[r], row[r]));
        json!({ "type": "Point", "coordinates": at })
    };
    let geometries: Vec<Value> = points.rows().map(point).collect();
    features(model, &geometries, columns, context)
}

/// GeoJSON of columns that have a row for each region.
pub fn regions(
    model: &ModelFile,
    regions: &[Region],
    columns: &[Column],
    context: &Context,
) -> Result<String, Failure> {
    let window = model.posterior.window();
    let geometries: Vec<Value> = regions.iter().map(|region| polygons(&rings(region, window.axes()))).collect();
    features(model, &geometries, columns, context)
}

/// The rings of a region: as its file has them, else those of its window.
fn rings(region: &Region, axes: &[Axis]) -> Vec<Vec<Ring>> {
    if !region.polygons.is_empty() {
        return region.polygons.clone();
    }
    let own: Vec<Vec<Ring>> = region.window.pieces().iter().flat_map(Piece::polygons).collect();
    let directions = geography::directions(axes);
    let turned = |ring: Ring| ring.into_iter().map(|at| directions.map(|r| at[r])).collect();
    let rings = rings_outward(&own, axes);
    rings.into_iter().map(|rings| rings.into_iter().map(turned).collect()).collect()
}

/// A geometry of polygons, whose rings end where they begin.
fn polygons(polygons: &[Vec<Ring>]) -> Value {
    let closed = |ring: &Ring| {
        let end = ring.first().filter(|first| ring.last() != Some(first));
        ring.iter().chain(end).copied().collect::<Ring>()
    };
    let all: Vec<Vec<Ring>> = polygons.iter().map(|rings| rings.iter().map(closed).collect()).collect();
    match &all[..] {
        [only] => json!({ "type": "Polygon", "coordinates": only }),
        all => json!({ "type": "MultiPolygon", "coordinates": all }),
    }
}

fn features(model: &ModelFile, geometries: &[Value], columns: &[Column], context: &Context) -> Result<String, Failure> {
    let code = match crs(model, true, context) {
        Crs::Epsg(code) => Some(code),
        _ => {
            context.warn("GeoJSON is read as longitude and latitude, and what the coordinates of this model are is not known: set it where the file is opened");
            None
        }
    };
    Ok(io::geojson_text(geometries, columns, code.filter(|&code| code != WGS84))?)
}
