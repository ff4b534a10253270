//! Exposure in: a table of coordinates with one value each, as a full grid or, where the value is called `weight`, as weights at places.
//!
//! Rows may come in any order. What the library could only call wrong is found here, where the lines are known: values below zero, cells
//! that are missing or given twice.

use super::columns::number;
use super::table::Table;
use super::window::{column_of, show_point};
use pointillist::Axis;
use std::collections::HashMap;

/// The name of the value column that makes the rows weights at places.
pub const WEIGHT: &str = "weight";
/// The column of a prediction that is taken as the exposure.
const MEAN: &str = "mean";
/// A grid may have this many times the cells that were given before it is taken for none at all.
const HARDLY_A_GRID: usize = 4;

/// What the table says.
#[derive(Clone, Debug, PartialEq)]
pub enum ExposureTable {
    /// Values on a grid.
    Grid {
        /// The coordinates on each of the axes, rising.
        lines: Vec<Vec<f64>>,
        /// The last axis varies fastest.
        values: Vec<f64>,
    },
    /// Weights at places.
    Weights {
        /// The coordinates, row after row.
        rows: Vec<f64>,
        /// The weights.
        weights: Vec<f64>,
    },
}

/// Which columns to read: the axes (by number) that the table has, and its one column of values.
pub fn choose_columns(file: &str, header: &[(String, bool)], axes: &[Axis]) -> Result<(Vec<usize>, String), String> {
    let is = |name: &str, axis: &Axis| name.to_lowercase() == axis.name.to_lowercase();
    let there: Vec<usize> = (0..axes.len()).filter(|&r| header.iter().any(|(name, _)| is(name, &axes[r]))).collect();
    let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    let found: Vec<&str> = header.iter().map(|(name, _)| name.as_str()).collect();
    if there.is_empty() {
        let (names, found) = (names.join(", "), found.join(", "));
        return Err(format!(
            "{file} has no column called as an axis of the events ({names}), only {found}; give it a header with such a name"
        ));
    }
    let is_place = |name: &str| axes.iter().any(|axis| is(name, axis) || column_of(header, axis) == Some(name));
    let values: Vec<&str> =
        header.iter().filter(|(name, numeric)| *numeric && !is_place(name)).map(|(name, _)| name.as_str()).collect();
    let value = match values[..] {
        [value] => value,
        _ if is_prediction(&values) => MEAN,
        [] => {
            return Err(format!(
                "{file} has no column of values beside {}; add one with the exposure",
                found.join(", ")
            ));
        }
        _ => {
            return Err(format!(
                "{file} has several columns of values ({}); keep one of them, or give a table that `predict` wrote",
                values.join(", ")
            ));
        }
    };
    if value.eq_ignore_ascii_case(WEIGHT) && there.len() < axes.len() {
        let missing: Vec<&str> = (0..axes.len()).filter(|r| !there.contains(r)).map(|r| names[r]).collect();
        return Err(format!(
            "{file}: weights need all axes, and there is no column {}; add it, or give a grid of values",
            missing.join(", ")
        ));
    }
    Ok((there, value.to_string()))
}

/// Whether these are the columns that `predict` writes after the coordinates.
fn is_prediction(values: &[&str]) -> bool {
    let is_own = |name: &str| {
        let quantile = name.strip_prefix('q').and_then(|p| p.parse::<f64>().ok());
        matches!(name, MEAN | "sd" | "inside") || quantile.is_some()
    };
    values.contains(&MEAN) && values.iter().all(|name| is_own(name))
}

/// The exposure in a table whose last column is the value and whose others are coordinates on `axes`, in their order.
pub fn exposure_table(table: &Table, axes: &[&Axis]) -> Result<ExposureTable, String> {
    let dims = table.dims - 1;
    let file = &table.source;
    for (row, line) in table.rows.chunks_exact(table.dims).zip(&table.lines) {
        if row[dims] < 0.0 {
            let value = number(row[dims]);
            return Err(format!("{file}, line {line}: the exposure {value} is negative; it must be zero or more"));
        }
    }
    if table.names[dims].eq_ignore_ascii_case(WEIGHT) {
        let rows = || table.rows.chunks_exact(table.dims);
        let coordinates = rows().flat_map(|row| row[..dims].to_vec()).collect();
        return Ok(ExposureTable::Weights { rows: coordinates, weights: rows().map(|row| row[dims]).collect() });
    }
    grid(table, axes)
}

/// The full grid that the rows make.
fn grid(table: &Table, axes: &[&Axis]) -> Result<ExposureTable, String> {
    let (dims, file) = (table.dims - 1, &table.source);
    let lines: Vec<Vec<f64>> = (0..dims).map(|r| distinct(table, r)).collect();
    if let Some(r) = lines.iter().position(|line| line.len() < 2) {
        let name = &axes[r].name;
        return Err(format!("{file}: the grid has one place on `{name}`; give two or more, or leave that column out"));
    }
    let sizes: Vec<String> = lines.iter().map(|line| line.len().to_string()).collect();
    let (sizes, given) = (sizes.join(" × "), table.lines.len());
    let cells = lines.iter().try_fold(1usize, |cells, line| cells.checked_mul(line.len()));
    let Some(cells) = cells.filter(|&cells| cells / HARDLY_A_GRID <= given) else {
        return Err(format!(
            "{file} is not a full grid: {given} rows, but {sizes} places; give every combination, or weights in a column `{WEIGHT}`"
        ));
    };
    // A number finds its place by its bits; the two zeros are one place.
    let key = |x: f64| (x + 0.0).to_bits();
    let places: Vec<HashMap<u64, usize>> =
        lines.iter().map(|line| line.iter().enumerate().map(|(i, &x)| (key(x), i)).collect()).collect();
    let mut values = vec![f64::NAN; cells];
    let mut seen = vec![0u64; cells];
    for (row, &line) in table.rows.chunks_exact(table.dims).zip(&table.lines) {
        let cell = (0..dims).fold(0, |cell, r| cell * lines[r].len() + places[r][&key(row[r])]);
        if seen[cell] > 0 {
            let (first, at) = (seen[cell], show_point(&row[..dims], axes.iter().copied()));
            return Err(format!("{file}, line {line}: {at} was given on line {first} already; keep one of the two"));
        }
        (values[cell], seen[cell]) = (row[dims], line);
    }
    match seen.iter().position(|&line| line == 0) {
        None => Ok(ExposureTable::Grid { lines, values }),
        Some(cell) => {
            let (mut rest, mut at) = (cell, vec![0.0; dims]);
            for r in (0..dims).rev() {
                at[r] = lines[r][rest % lines[r].len()];
                rest /= lines[r].len();
            }
            let (missing, at) = (seen.iter().filter(|&&line| line == 0).count(), show_point(&at, axes.iter().copied()));
            Err(format!(
                "{file} is not a full grid: of {sizes} = {cells} cells {missing} {} missing, the first at {at}; \
                 add a row for each, with 0 where nobody looked",
                if missing == 1 { "is" } else { "are" }
            ))
        }
    }
}

/// The places that occur on an axis, rising.
fn distinct(table: &Table, axis: usize) -> Vec<f64> {
    let mut places: Vec<f64> = table.rows.iter().skip(axis).step_by(table.dims).map(|x| x + 0.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::super::table::{ReadOptions, read_bytes, read_header};
    use super::*;

    fn axes() -> [Axis; 2] {
        ["lon", "lat"].map(|name| Axis { name: name.into(), ..Axis::default() })
    }

    fn read(text: &str) -> Result<(Vec<usize>, ExposureTable), String> {
        let axes = axes();
        let header = read_header("e.csv", text.as_bytes(), &Default::default()).unwrap();
        let (there, value) = choose_columns("e.csv", &header, &axes)?;
        let columns = there.iter().map(|&r| axes[r].name.clone()).chain([value]).collect();
        let options = ReadOptions { columns: Some(columns), ..ReadOptions::default() };
        let table = read_bytes("e.csv", text.as_bytes(), &options).unwrap();
        let chosen: Vec<&Axis> = there.iter().map(|&r| &axes[r]).collect();
        Ok((there, exposure_table(&table, &chosen)?))
    }

    fn refused(text: &str, words: &[&str]) {
        let sentence = read(text).unwrap_err();
        assert!(sentence.contains("e.csv") && !sentence.contains('\n'), "{sentence}");
        assert!(words.iter().all(|word| sentence.contains(word)), "{words:?}: {sentence}");
    }

    #[test]
    fn grids_come_in_any_order() {
        let grid =
            ExposureTable::Grid { lines: vec![vec![0.0, 1.0], vec![-2.0, 5.0]], values: vec![1.0, 2.0, 3.0, 4.0] };
        assert_eq!(read("lon,lat,people\n0,-2,1\n0,5,2\n1,-2,3\n1,5,4\n"), Ok((vec![0, 1], grid.clone())));
        assert_eq!(read("people,note,LAT,lon\n4,a,5,1\n2,b,5,-0\n3,c,-2,1\n1,d,-2,0\n"), Ok((vec![0, 1], grid)));
        let line = ExposureTable::Grid { lines: vec![vec![0.0, 1.0, 3.0]], values: vec![1.0, 0.5, 0.0] };
        assert_eq!(read("lat,e\n3,0\n0,1\n1,.5\n"), Ok((vec![1], line)));
        let nodes = ExposureTable::Weights { rows: vec![1.0, 2.0, 3.0, 4.0], weights: vec![0.5, 0.25] };
        assert_eq!(read("lat,lon,Weight\n2,1,.5\n4,3,.25\n"), Ok((vec![0, 1], nodes)));
    }

    #[test]
    fn faults_are_named_with_their_place() {
        refused("x,y,e\n1,2,3\n", &["lon, lat", "x, y, e"]);
        refused("lon,lat\n1,2\n", &["no column of values"]);
        refused("lon,lat,a,b\n1,2,3,4\n", &["several columns of values (a, b)"]);
        refused("lon,weight\n1,2\n", &["all axes", "lat"]);
        refused("lon,e\n1,2\n2,-1e-9\n", &["line 3", "negative", "-1e-9"]);
        refused("lon,lat,e\n0,0,1\n0,1,1\n1,0,1\n", &["2 × 2 = 4", "1 is missing", "lon 1, lat 1"]);
        refused("lon,lat,e\n0,0,1\n0,1,1\n0,0,2\n1,0,1\n1,1,1\n", &["line 4", "lon 0, lat 0", "line 2"]);
        refused("lon,lat,e\n0,0,1\n0,1,1\n", &["one place on `lon`"]);
        let scattered: String = (0..30).map(|i| format!("{i},{},1\n", i * i)).collect();
        refused(&format!("lon,lat,e\n{scattered}"), &["not a full grid", "30 rows", "30 × 30", "`weight`"]);
    }
}
