//! GeoTIFFs as covariates: the same answer as from a table with the same numbers, whoever wrote them, and every refusal.

use crate::common::Folder;
use serde_json::Value;
use std::fmt::Write;

/// A folder with events in a square of side 10, a model of them, the layers of its rate as a GeoTIFF, and the same numbers in a table.
fn folder() -> Folder {
    let mut events = "x,y\n".to_string();
    for i in 0..150 {
        let (u, v) = ((i as f64 * 0.618_034).fract(), (i as f64 * 0.414_214).fract());
        writeln!(events, "{},{}", 10.0 * u * u, 10.0 * v).unwrap();
    }
    let mut middles = "x,y\n".to_string();
    for x in 0..10 {
        for y in 0..5 {
            writeln!(middles, "{}.5,{}", x, 2 * y + 1).unwrap();
        }
    }
    let folder = Folder::new();
    folder.write("events.csv", events).write("middles.csv", middles);
    folder
        .run("fit events.csv --window 0,10,0,10 --nodes 8x8 --smoothness 2 --link log --average off -o rate.json")
        .good();
    folder.run("predict rate.json --grid 10x5 --quantiles 0.9 -o rate.tif").good();
    folder.run("predict rate.json --at middles.csv --quantiles 0.9 -o rate.csv").good();
    folder
}

const FIT: &str =
    "fit events.csv --window 0,10,0,10 --nodes 8x8 --smoothness 2 --link log --average off --json --covariate";

/// Name and effect of each covariate of a fit.
fn effects(folder: &Folder, file: &str) -> Vec<(String, f64)> {
    let fitted = folder.run(&format!("{FIT} {file}")).good().json();
    let one = |effect: &Value| (effect["name"].as_str().unwrap().to_string(), effect["effect"].as_f64().unwrap());
    fitted["effects"].as_array().unwrap().iter().map(one).collect()
}

#[track_caller]
fn are_near(one: &[(String, f64)], other: &[(String, f64)], tolerance: f64) {
    assert_eq!(one.len(), other.len());
    for ((name, effect), (_, expected)) in one.iter().zip(other) {
        assert!((effect - expected).abs() <= tolerance * (1.0 + expected.abs()), "{name}: {effect} and {expected}");
    }
}

/// One column of the table of layers.
fn only_the_mean(folder: &Folder) {
    let text = String::from_utf8(folder.read("rate.csv")).unwrap();
    let rows: Vec<String> = text.lines().map(|line| line.split(',').take(3).collect::<Vec<_>>().join(",")).collect();
    folder.write("mean.csv", rows.join("\n"));
}

#[test]
fn what_predict_writes_reads_back_as_the_same_numbers() {
    let folder = folder();
    let bands = effects(&folder, "rate.tif");
    let names: Vec<&str> = bands.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["mean", "sd", "q0.9"]);
    // Numbers of single precision, of which the layers are nearly functions of each other.
    are_near(&bands, &effects(&folder, "rate.csv"), 1e-2);
}

/// Integers with scale and offset, tiles, compression, another order of bands and a value for nothing, as GDAL writes them.
#[test]
fn what_gdal_writes_is_read() {
    let folder = folder();
    only_the_mean(&folder);
    let expected = effects(&folder, "mean.csv");
    let plain: &[&str] = &["-b", "1"];
    let ways: [(&str, &[&str], f64); 4] = [
        ("plain", &[], 1e-5),
        ("double", &["-ot", "Float64", "-co", "COMPRESS=LZW", "-co", "PREDICTOR=3"], 1e-5),
        (
            "tiled",
            &["-co", "TILED=YES", "-co", "BLOCKXSIZE=16", "-co", "BLOCKYSIZE=16", "-co", "COMPRESS=DEFLATE"],
            1e-5,
        ),
        ("integers", &["-ot", "UInt16", "-scale", "0", "10", "0", "60000", "-a_scale", "0.00016666666666666666"], 1e-3),
    ];
    for (name, how, tolerance) in ways {
        let file = format!("{name}.tif");
        let all: Vec<&str> = [plain, how, &["rate.tif", &file]].concat();
        if folder.gdal("gdal_translate", &all).is_none() {
            return;
        }
        are_near(&effects(&folder, &file), &expected, tolerance);
    }
    // The same cells in bands one after the other.
    let apart = ["-co", "INTERLEAVE=BAND", "-co", "COMPRESS=DEFLATE", "-b", "1", "-b", "2", "rate.tif", "apart.tif"];
    folder.gdal("gdal_translate", &apart).unwrap();
    let together = ["-co", "INTERLEAVE=PIXEL", "-b", "1", "-b", "2", "rate.tif", "together.tif"];
    folder.gdal("gdal_translate", &together).unwrap();
    are_near(&effects(&folder, "apart.tif"), &effects(&folder, "together.tif"), 1e-9);
    // A value that says that there is nothing is a missing cell, which a window needs.
    let value = String::from_utf8(folder.read("mean.csv")).unwrap().lines().nth(1).unwrap().to_string();
    let value: f32 = value.split(',').next_back().unwrap().parse().unwrap();
    let empty = ["-b", "1", "-a_nodata", &f64::from(value).to_string(), "rate.tif", "holes.tif"];
    folder.gdal("gdal_translate", &empty).unwrap();
    folder.run(&format!("{FIT} holes.tif")).refused(&["mean is missing in 1 of the 50 cells"]);
}

#[test]
fn rasters_in_degrees_are_for_events_in_degrees() {
    let folder = Folder::new();
    let mut events = "lon,lat\n".to_string();
    for i in 0..120 {
        let (u, v) = ((i as f64 * 0.618_034).fract(), (i as f64 * 0.414_214).fract());
        writeln!(events, "{},{}", 8.0 + u * u, 47.0 + v).unwrap();
    }
    folder.write("places.csv", events);
    let how = "places.csv --window 8,9,47,48 --nodes 8x8 --smoothness 2 --link log --average off";
    folder.run(&format!("fit {how} -o sphere.json")).good();
    // In km on the map of the window, which is the program's own.
    folder.run("predict sphere.json --grid 12x12 --quantiles 0.9 -o own.tif").good();
    folder.run(&format!("fit {how} --covariate own.tif --json")).good();
    folder
        .run("fit places.csv --window 8,9,46,48 --nodes 8x8 --smoothness 2 --link log --covariate own.tif")
        .refused(&["own.tif is in km on the map of another window", "degrees", "gdalwarp -t_srs EPSG:4326"]);
    let warp = ["-q", "-t_srs", "EPSG:4326", "-te", "8", "47", "9", "48", "-ts", "12", "12", "own.tif", "degrees.tif"];
    if folder.gdal("gdalwarp", &warp).is_none() {
        return;
    }
    folder.run(&format!("fit {how} --covariate degrees.tif --json")).good();
    folder.gdal("gdalwarp", &["-q", "-t_srs", "EPSG:32632", "own.tif", "utm.tif"]).unwrap();
    folder.run(&format!("fit {how} --covariate utm.tif")).refused(&["utm.tif is in the map EPSG:32632", "gdalwarp"]);
}

#[test]
fn what_is_no_map_of_numbers_is_refused_in_a_sentence() {
    let folder = folder();
    let bytes = folder.read("rate.tif");
    folder.write("text.tif", "x,y,elevation\n1,1,3\n").write("empty.tif", "");
    // The number of a tag that says where cells lie becomes one that says nothing.
    let mut nowhere = bytes.clone();
    for tag in [33550_u16, 33922, 34264] {
        for at in 0..nowhere.len() - 1 {
            if nowhere[at..at + 2] == tag.to_le_bytes() {
                nowhere[at..at + 2].copy_from_slice(&65000_u16.to_le_bytes());
            }
        }
    }
    folder.write("nowhere.tif", nowhere);
    // More cells than any file has: the entries of the width (256), the height (257) and the rows of a strip (278)
    // each have a tag, a kind, a count and a value.
    let mut huge = bytes.clone();
    for at in 8..huge.len() - 12 {
        let is_size = [256_u16, 257, 278].iter().any(|tag| huge[at..at + 2] == tag.to_le_bytes());
        if is_size && matches!(huge[at + 2..at + 8], [3 | 4, 0, 1, 0, 0, 0]) {
            huge[at + 2] = 4;
            huge[at + 8..at + 12].copy_from_slice(&2_000_000_000_u32.to_le_bytes());
        }
    }
    folder.write("huge.tif", huge);
    let refused: [(&str, &[&str]); 5] = [
        ("huge.tif", &["huge.tif says that it is 2000000000×2000000000 cells"]),
        ("text.tif", &["text.tif is no TIFF, or a damaged one"]),
        ("empty.tif", &["empty.tif"]),
        ("nowhere.tif", &["nowhere.tif does not say where its cells lie", "gdal_translate -a_ullr"]),
        ("missing.tif", &["missing.tif does not exist"]),
    ];
    for (file, words) in refused {
        folder.run(&format!("{FIT} {file}")).refused(words);
    }
    // Wherever it ends, it is one sentence.
    for part in 1..20 {
        folder.write("part.tif", &bytes[..bytes.len() * part / 20]);
        folder.run(&format!("{FIT} part.tif")).refused(&["part.tif"]);
    }
    folder.run("fit events.csv --window 0,20,0,10 --nodes 8x8 --covariate rate.tif").refused(&["rate.tif"]);
    folder.run("fit coal --covariate rate.tif").refused(&["rate.tif is a map, and the events have one axis", "table"]);
}
