//! Degrees on the globe, in and out; and results as layers of a map.

use crate::common::{Folder, Run};
use serde_json::{Value, json};
use std::io::Read;

/// Mainland Chile, roughly. Its area is that of GeographicLib's geodesic polygon with 200 corners on each edge, so that edges are straight in degrees.
const CHILE: [[f64; 2]; 26] = [
    [-70.4, -18.35],
    [-69.5, -17.5],
    [-68.2, -21.5],
    [-67.0, -23.0],
    [-68.4, -24.5],
    [-69.6, -28.5],
    [-70.3, -31.5],
    [-69.8, -33.4],
    [-70.6, -36.2],
    [-71.2, -38.8],
    [-71.9, -40.7],
    [-71.7, -44.0],
    [-71.6, -46.7],
    [-73.4, -49.5],
    [-72.3, -51.8],
    [-68.6, -52.6],
    [-68.6, -54.9],
    [-72.0, -54.5],
    [-75.3, -51.5],
    [-75.6, -46.7],
    [-73.7, -41.7],
    [-73.6, -37.2],
    [-71.6, -33.0],
    [-71.6, -30.0],
    [-70.5, -25.4],
    [-70.2, -20.0],
];
const CHILE_KM2: f64 = 838_316.418;
/// The same of the bundled border.
const KENYA_KM2: f64 = 585_756.007;

/// Places in a box of degrees, more of them in its south-west.
fn places(count: usize, [west, east, south, north]: [f64; 4]) -> Vec<[f64; 2]> {
    let part = |i: usize, step: f64| (i as f64 * step).fract().powf(1.5);
    (1..=count)
        .map(|i| [west + (east - west) * part(i, 0.754_877), south + (north - south) * part(i, 0.569_840)])
        .collect()
}

fn table(header: &str, rows: impl IntoIterator<Item = [f64; 2]>) -> String {
    rows.into_iter().fold(format!("{header}\n"), |text, [a, b]| text + &format!("{a:.5},{b:.5}\n"))
}

fn column(run: &Run, name: &str) -> Vec<f64> {
    let (header, rows) = run.csv();
    let place = header.iter().position(|found| found == name).unwrap_or_else(|| panic!("no {name} in {header:?}"));
    rows.iter().map(|row| row[place].parse().unwrap()).collect()
}

#[track_caller]
fn near(found: f64, wanted: f64, relative: f64) {
    assert!((found - wanted).abs() <= relative * wanted.abs(), "{found} is not {wanted}");
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// A band of a GeoTIFF, by its number, and its width and height.
fn band(bytes: &[u8], wanted: usize) -> (Vec<f32>, usize, usize) {
    let at =
        |place: usize, width: usize| bytes[place..place + width].iter().rev().fold(0, |n, &b| 256 * n + usize::from(b));
    let start = at(4, 4);
    let tag = |number: usize| {
        let entry = (0..at(start, 2)).map(|i| start + 2 + 12 * i).find(|&entry| at(entry, 2) == number).unwrap();
        let (width, count) = (if at(entry + 2, 2) == 3 { 2 } else { 4 }, at(entry + 4, 4));
        let place = if width * count <= 4 { entry + 8 } else { at(entry + 8, 4) };
        (0..count).map(|i| at(place + width * i, width)).collect::<Vec<_>>()
    };
    let (width, height, rows) = (tag(256)[0], tag(257)[0], tag(278)[0]);
    let each = height.div_ceil(rows);
    let mut values = Vec::new();
    for (from, length) in tag(273).into_iter().zip(tag(279)).skip(wanted * each).take(each) {
        let mut plain = Vec::new();
        flate2::read::ZlibDecoder::new(&bytes[from..from + length]).read_to_end(&mut plain).unwrap();
        values.extend(plain.chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
    }
    assert_eq!(values.len(), width * height);
    (values, width, height)
}

#[test]
fn areas_are_those_of_the_ellipsoid() {
    let folder = Folder::new();
    let area = |arguments: &str| {
        let fit = folder
            .run(&format!("fit {arguments} --clip --nodes 6x6 --smoothness 2 --link log --average off --json -q"));
        number(&fit.json()["window"]["volume"])
    };
    near(area("kenya --window kenya"), KENYA_KM2, 1e-5);
    folder.write("chile.geojson", json!({ "type": "Polygon", "coordinates": [CHILE] }).to_string());
    folder.write("chile.csv", table("Longitude,Latitude", places(200, [-71.5, -70.5, -40.0, -20.0])));
    near(area("chile.csv --window chile.geojson"), CHILE_KM2, 1e-5);
    // A degree each way at the equator, and one that ends at 60° N, by GeographicLib with many corners on the parallels.
    folder.write("places.csv", table("lng,lat", places(50, [10.0, 11.0, 0.0, 1.0])));
    near(area("places.csv --window 10,11,0,1"), 12_308.463_894, 1e-8);
    folder.write("north.csv", table("lat,long", places(50, [59.0, 60.0, 10.0, 11.0])));
    near(area("north.csv --window 59,60,10,11"), 6_309.805_669, 1e-8);
}

#[test]
fn rates_are_per_square_km_and_parts_add_up() {
    let folder = Folder::new();
    let run =
        folder.run("fit kenya --window kenya --clip --nodes 24x24 --smoothness 2 --link log -o k.json --json").good();
    let fit = run.json();
    assert_eq!(fit["mean_rate"]["unit"], "events per km²");
    near(number(&fit["mean_rate"]["value"]), 1222.0 / KENYA_KM2, 1e-5);
    near(number(&fit["elbo_parts"]["integral"]), 1222.0, 0.03);
    assert_eq!(fit["window"]["box"], json!([[33.888939, 41.884619], [-4.676802, 5.030829]]), "in degrees");
    let whole = number(&folder.run("count k.json --json").good().json()["mean"]);
    let quarters = "--in 33,38,-5,0 --in 38,42,-5,0 --in 33,38,0,5.1 --in 38,42,0,5.1";
    let parts = folder.run(&format!("count k.json {quarters} --json -q")).good().json();
    let regions = parts["regions"].as_array().unwrap();
    near(regions.iter().map(|region| number(&region["mean"])).sum(), whole, 1e-4);
    assert_eq!(regions.iter().map(|region| region["seen"].as_u64().unwrap()).sum::<u64>(), 1222);
    assert_eq!(regions[0]["region"][1][1], json!(0.0), "the ends of regions are degrees");
    // Points come out as they went in.
    folder.write("at.csv", "lat,lon\n-1.2864,36.8172\n0.5,39.25\n");
    let run = folder.run("predict k.json --at at.csv").good();
    assert_eq!((column(&run, "lon"), column(&run, "lat")), (vec![36.8172, 39.25], vec![-1.2864, 0.5]));
    // Nairobi's rate, from a small box about it.
    let near_it = folder.run("count k.json --in 36.8122,36.8222,-1.2914,-1.2814 --json").good().json();
    let km2 = 1.11195 * 1.10575;
    near(column(&run, "mean")[0] * km2, number(&near_it["mean"]), 0.01);
    // Drawn events lie in Kenya, and can be scored.
    let drawn = folder.run("sample k.json --events --seed 3 -q").good();
    let (lon, lat) = (column(&drawn, "lon"), column(&drawn, "lat"));
    assert!(
        lon.len() > 900 && lon.iter().all(|x| (33.8..42.0).contains(x)) && lat.iter().all(|y| (-4.8..5.1).contains(y))
    );
    folder.write("drawn.csv", table("lon,lat", lon.into_iter().zip(lat).map(|(x, y)| [x, y])));
    folder.run("score k.json drawn.csv --clip --draws 10").good();
    folder.run("contrast k.json --in 34,35,-1,0 --in 38,39,-1,0 --draws 100").good();
    let figure = folder.run("plot k.json -o k.svg").good();
    assert!(figure.err.contains("k.svg"));
    let drawing = String::from_utf8(folder.read("k.svg")).unwrap();
    assert!(drawing.contains("km east of 37.89° E") && drawing.contains("km north of 0.18° N"));
}

#[test]
fn the_order_of_columns_changes_nothing() {
    let folder = Folder::new();
    let rows = places(150, [8.0, 9.0, 47.0, 47.8]);
    folder.write("xy.csv", table("lon,lat", rows.clone()));
    folder.write("yx.csv", table("lat,lon", rows.into_iter().map(|[x, y]| [y, x])));
    let border = json!({ "type": "Polygon", "coordinates": [[[7.9, 46.9], [9.1, 46.9], [9.0, 47.9], [7.9, 47.9]]] });
    folder.write("border.geojson", border.to_string()).write("at.csv", "lon,lat\n8.25,47.25\n8.5,47.5\n");
    let how = "--window border.geojson --nodes 12x12 --smoothness 2 --link log --average off";
    let answers = ["xy", "yx"].map(|name| {
        folder.run(&format!("fit {name}.csv {how} -o {name}.json")).good();
        let count = folder.run(&format!("count {name}.json --in border.geojson --json")).good().json();
        folder.run(&format!("predict {name}.json --grid 9x9 -o {name}.tif")).good();
        let (values, ..) = band(&folder.read(&format!("{name}.tif")), 0);
        (
            number(&count["mean"]),
            column(&folder.run(&format!("predict {name}.json --at at.csv")).good(), "mean"),
            values,
        )
    });
    let [one, other] = answers;
    near(other.0, one.0, 1e-3);
    one.1.iter().zip(&other.1).for_each(|(a, b)| near(*b, *a, 1e-2));
    // Both maps have north at the top.
    let pairs: Vec<(f32, f32)> = one.2.into_iter().zip(other.2).filter(|(a, _)| !a.is_nan()).collect();
    assert!(pairs.len() > 60);
    pairs.iter().for_each(|(a, b)| near(f64::from(*b), f64::from(*a), 2e-2));
}

#[test]
fn a_plane_is_a_plane_and_a_third_axis_stays() {
    let folder = Folder::new();
    folder.write("places.csv", table("lon,lat", places(100, [8.0, 9.0, 47.0, 47.8])));
    let how = "--window 8,9,47,48 --nodes 8x8 --smoothness 2 --link log --average off --json -q";
    let fit = folder.run(&format!("fit places.csv {how} --geography plane -o plane.json")).good().json();
    near(number(&fit["window"]["volume"]), 1.0, 1e-12);
    assert!(fit["window"]["axes"][0].get("globe").is_none());
    folder.run("predict plane.json --grid 5x5 -o plane.tif").good();
    let three: String = places(100, [8.0, 9.0, 47.0, 47.8])
        .iter()
        .enumerate()
        .fold("lon,lat,t\n".into(), |text, (i, [x, y])| text + &format!("{x:.4},{y:.4},{}\n", i % 10));
    folder.write("three.csv", three);
    let how = "--window 8,9,47,48,0,10 --unit t=h --nodes 5x5x5 --smoothness 2 --link log --average off --json -q";
    let fit = folder.run(&format!("fit three.csv {how} -o three.json")).json();
    assert_eq!(fit["mean_rate"]["unit"], "events per (km² · h)");
    folder.run("predict three.json -o x.tif").refused(&["x.tif", "3 axes"]);
    folder.run("count three.json --in 8,8.5,47,48,0,5 -o part.geojson").good();
    // Under another name they are taken for degrees when that is said.
    folder.write("xy.csv", table("x,y", places(100, [8.0, 9.0, 47.0, 47.8])));
    let fit = folder.run("fit xy.csv --window 8,9,47,48 --geography sphere --nodes 6x6 --link log --json -q").json();
    assert_eq!(fit["mean_rate"]["unit"], "events per km²");
    folder
        .run("fit xy.csv --window 8,9,47,48 --geography plane")
        .refused(&["lon and lat", "--geography has no effect"]);
    folder.run("fit coal --geography sphere").refused(&["--geography sphere", "--columns lon,lat"]);
}

#[test]
fn summaries_know_the_globe() {
    let folder = Folder::new();
    folder.write("places.csv", table("lon,lat", places(3000, [8.0, 9.0, 47.0, 47.8])));
    folder.run("summarize places.csv --window 8,9,47,48 -o a.summary").good();
    folder.run("summarize places.csv --window 8,10,47,48 -o b.summary").good();
    folder.run("summarize places.csv --window 8,9,47,48 --geography plane -o c.summary").good();
    folder.run("fit a.summary b.summary").refused(&["8,9,47,48 and 8,10,47,48"]);
    folder.run("fit a.summary c.summary").refused(&["lon (km), lat (km) and lon, lat"]);
    let how = "--nodes 10x10 --smoothness 2 --link log --average off --json -q";
    let summed = folder.run(&format!("fit a.summary {how}")).json();
    let direct = folder.run(&format!("fit places.csv --window 8,9,47,48 {how}")).json();
    assert_eq!(summed["window"]["volume"], direct["window"]["volume"]);
    near(number(&summed["elbo_parts"]["integral"]), 3000.0, 1e-3);
}

#[test]
fn what_is_not_on_the_globe_is_refused() {
    let folder = Folder::new();
    folder.write("high.csv", table("lon,lat", [[10.0, 20.0], [11.0, 95.0], [12.0, 30.0]]));
    folder.run("fit high.csv").refused(&["`lat` reaches 95", "swapped", "--geography plane"]);
    folder.run("fit high.csv --window 5,15,10,40").refused(&["1 of 3 events", "lat 95", "--clip"]);
    folder.write("far.csv", table("lon,lat", [[10.0, 20.0], [400.0, 25.0], [12.0, 30.0]]));
    folder.run("fit far.csv").refused(&["`lon` reaches 400", "--geography plane"]);
    folder.write("fiji.csv", table("lon,lat", [[179.5, -17.0], [-179.5, -18.0], [178.0, -16.0]]));
    folder.run("fit fiji.csv").refused(&["359 degrees", "antimeridian", "0 to 360"]);
    // With a window that says how longitudes are counted, places keep their own way of counting.
    let fiji =
        folder.run("fit fiji.csv --window 177,182,-20,-15 --nodes 8x8 --average off -o fiji.json --json").good().json();
    assert_eq!(fiji["events"], 3);
    folder.write("at.csv", table("lon,lat", [[-179.5, -18.0], [180.5, -18.0]]));
    let rates = folder.run("predict fiji.json --at at.csv --json").good().json();
    assert_eq!(rates["mean"][0], rates["mean"][1]);
    folder.write("pole.csv", table("lon,lat", [[10.0, 89.5], [20.0, 88.0], [15.0, 87.0]]));
    folder.run("fit pole.csv").refused(&["latitude 89.5", "--geography plane"]);
    folder.write("nan.csv", "lon,lat\n10,20\nNaN,21\n").run("fit nan.csv").refused(&["nan.csv", "line 3"]);
    folder.run("fit kenya --window kenya --clip --unit m").refused(&["--unit lon=m", "degrees", "--geography plane"]);
    folder.run("fit quakes --geography sphere").refused(&["latitude -90", "--window", "--clip", "--geography plane"]);
    folder.run("fit fiji.csv --window -200,200,-20,-10").refused(&["400 degrees", "more than once round"]);
    let swapped = places(60, [-4.0, 4.0, 35.0, 40.0]);
    folder.write("swapped.csv", table("lon,lat", swapped));
    folder.run("fit swapped.csv --window kenya").refused(&["`lon` and `lat` seem to be swapped"]);
    let shifted = table("lon,lat", places(60, [178.0, 182.0, -19.0, -16.0]));
    folder.write("shifted.csv", shifted).run("fit shifted.csv --nodes 6x6 --smoothness 2 --link log").good();
}

#[test]
fn a_tall_window_is_warned_of() {
    let folder = Folder::new();
    folder.write("chile.csv", table("lon,lat", places(60, [-72.0, -70.0, -55.0, -18.0])));
    let run =
        folder.run("fit chile.csv --window -76,-66,-56,-17 --nodes 6x6 --smoothness 2 --link log --average off").good();
    assert!(run.err.contains("areas and rates are right") && run.err.contains("31 %"), "{}", run.err);
}

#[test]
fn a_geotiff_adds_up_to_the_count() {
    let folder = Folder::new();
    folder
        .run("fit kenya --window kenya --clip --nodes 24x24 --smoothness 2 --link log --average off -o border.json -q")
        .good();
    folder.write("places.csv", table("lon,lat", places(200, [8.0, 9.0, 47.0, 47.8])));
    folder
        .run("fit places.csv --window 8,9,47,48 --nodes 12x12 --smoothness 2 --link log --average off -o box.json -q")
        .good();
    for name in ["border", "box"] {
        let count = folder.run(&format!("count {name}.json --json")).good().json();
        // A coastline and peaks are more than the usual cells can follow, which is said.
        let usual = folder.run(&format!("predict {name}.json -o usual.tif")).good().err;
        assert_eq!(usual.contains("the cells add up to"), name == "border", "{usual}");
        let fine = folder.run(&format!("predict {name}.json --grid 300x310 --exceed 0.01 -o {name}.tif")).good().err;
        assert!(!fine.contains("the cells add up to"), "{fine}");
        let bytes = folder.read(&format!("{name}.tif"));
        let (mean, width, height) = band(&bytes, 0);
        assert_eq!((width, height), (300, 310));
        // The cells tile the box around the window: their area is its share, whose own is that of the zone.
        let ends = folder.run(&format!("count {name}.json --json")).json()["region"].clone();
        let ends: Vec<f64> =
            ends.as_array().unwrap().iter().flat_map(|e| e.as_array().unwrap().iter().map(number)).collect();
        let cell = zone(ends[2], ends[3], ends[1] - ends[0]) / (300.0 * 310.0);
        let sum: f64 = mean.iter().filter(|value| !value.is_nan()).map(|&value| f64::from(value) * cell).sum();
        near(sum, number(&count["mean"]), 0.005);
        let (chance, ..) = band(&bytes, 5);
        assert!(chance.iter().filter(|p| !p.is_nan()).all(|p| (0.0..=1.0).contains(p)));
        assert_eq!(mean.iter().any(|value| value.is_nan()), name == "border");
    }
    folder.run("predict box.json --at places.csv -o x.tif").refused(&["GeoTIFF", "--at"]);
    folder.run("predict box.json -o x.shp").refused(&["x.shp", ".csv, .tif or .geojson"]);
    folder.run("predict box.json -o x.tif --json").refused(&["--json", "x.tif"]);
    folder.run("count box.json -o x.tif").refused(&["x.tif", ".csv or .geojson"]);
}

/// The area of a zone of the ellipsoid, by logarithms.
fn zone(south: f64, north: f64, degrees: f64) -> f64 {
    let (equator, e) = (6378.137, 0.006_694_379_990_141_316_f64.sqrt());
    let cap = |latitude: f64| {
        let s = latitude.to_radians().sin();
        equator * equator * (1.0 - e * e) / 2.0
            * (s / (1.0 - e * e * s * s) + ((1.0 + e * s) / (1.0 - e * s)).ln() / (2.0 * e))
    };
    degrees.to_radians() * (cap(north) - cap(south))
}

#[test]
fn regions_and_cells_become_features() {
    let folder = Folder::new();
    folder.write("places.csv", table("lon,lat", places(200, [8.0, 9.0, 47.0, 47.8])));
    folder
        .run("fit places.csv --window 8,9,47,48 --nodes 12x12 --smoothness 2 --link log --average off -o m.json -q")
        .good();
    let square = |x: f64| json!([[[x, 47.0], [x + 0.5, 47.0], [x + 0.5, 48.0], [x, 48.0], [x, 47.0]]]);
    let feature = |x: f64, properties: Value| json!({ "type": "Feature", "properties": properties, "geometry": { "type": "Polygon", "coordinates": square(x) } });
    let halves = [
        feature(8.0, json!({ "name": "west", "area": 7, "people": 5 })),
        feature(8.5, json!({ "name": "east", "people": 6 })),
    ];
    folder.write("halves.geojson", json!({ "type": "FeatureCollection", "features": halves }).to_string());
    folder.run("count m.json --in halves.geojson -o counts.geojson").good();
    let found: Value = serde_json::from_slice(&folder.read("counts.geojson")).unwrap();
    let features = found["features"].as_array().unwrap();
    assert_eq!(features[0]["geometry"]["coordinates"], square(8.0), "as it was given");
    assert_eq!(
        (&features[1]["properties"]["name"], &features[1]["properties"]["people"]),
        (&json!("east"), &json!(6.0))
    );
    assert_eq!(features[0]["properties"]["property_area"], json!("7"), "what is there already keeps another name");
    let total = |name: &str| features.iter().map(|feature| number(&feature["properties"][name])).sum::<f64>();
    near(total("area"), zone(47.0, 48.0, 1.0), 1e-9);
    near(total("seen"), 200.0, 0.0);
    near(total("mean"), number(&folder.run("count m.json --json").json()["mean"]), 1e-6);
    for name in ["sd", "q0.05", "q0.5", "q0.95", "new_mean", "new_sd"] {
        assert!(total(name) > 0.0, "{name}");
    }
    folder.run("predict m.json --grid 4x5 -o cells.geojson").good();
    let cells: Value = serde_json::from_slice(&folder.read("cells.geojson")).unwrap();
    let first = &cells["features"][0]["geometry"]["coordinates"][0];
    assert_eq!(cells["features"].as_array().unwrap().len(), 20);
    assert_eq!(
        (&first[2], &first[0], &first[4]),
        (&json!([8.25, 48.0]), &first[4], &first[0]),
        "north-west first, closed"
    );
    folder.run("predict m.json --at places.csv -o at.geojson").good();
    let at: Value = serde_json::from_slice(&folder.read("at.geojson")).unwrap();
    assert_eq!(at["features"].as_array().unwrap().len(), 200);
    folder.run("fit coal --inducing 8 -o line.json").good();
    folder.run("count line.json -o x.geojson").refused(&["x.geojson", "1 axis"]);
}

#[test]
fn events_may_be_points_of_geojson() {
    let folder = Folder::new();
    let rows = places(120, [8.0, 9.0, 47.0, 47.8]);
    folder.write("places.csv", table("lon,lat", rows.clone()));
    let rounded = |v: f64| (1e5 * v).round() / 1e5;
    let point = |(i, [x, y]): (usize, &[f64; 2])| {
        let kind = if i % 2 == 0 { "even" } else { "odd" };
        json!({ "type": "Feature", "properties": { "kind": kind, "mag": i }, "geometry":
            { "type": "Point", "coordinates": [rounded(*x), rounded(*y), 12.0] } })
    };
    let features: Vec<Value> = rows.iter().enumerate().map(point).collect();
    let collection = |features: &[Value]| json!({ "type": "FeatureCollection", "features": features }).to_string();
    folder.write("places.geojson", collection(&features));
    let how = "--window 8,9,47,48 --nodes 8x8 --smoothness 2 --link log --average off --json -q";
    let of = |file: &str| {
        let mut fit = folder.run(&format!("fit {file} {how}")).good().json();
        fit["seconds"] = Value::Null;
        fit
    };
    assert_eq!(of("places.geojson"), of("places.csv"));
    assert_eq!(of("places.geojson --where 'kind == \"odd\" and mag > 9'")["events"], json!(55));
    folder.run(&format!("fit places.csv {how} -o m.json")).good();
    let run = folder.run("predict m.json --at places.geojson").good();
    assert_eq!(column(&run, "lon").len(), 120);
    let mut wrong = features.clone();
    wrong[2]["geometry"] = json!({ "type": "LineString", "coordinates": [[8, 47], [9, 48]] });
    folder
        .write("line.geojson", collection(&wrong))
        .run("fit line.geojson")
        .refused(&["line.geojson, feature 3 is a LineString"]);
    wrong[2]["geometry"] = json!({ "type": "Point", "coordinates": [20, 47] });
    folder.write("far.geojson", collection(&wrong));
    folder.run("fit far.geojson --window 8,9,47,48").refused(&["far.geojson", "feature 3", "lon 20"]);
}

/// Every verb that takes events takes them as points of GeoJSON, and says the same of them as of a table.
#[test]
fn every_verb_takes_points_of_geojson() {
    let folder = Folder::new();
    let rows: Vec<[f64; 2]> =
        places(150, [8.0, 9.0, 47.0, 47.8]).into_iter().map(|row| row.map(|v| (1e5 * v).round() / 1e5)).collect();
    folder.write("a.csv", table("lon,lat", rows.clone()));
    let point = |(i, at): (usize, &[f64; 2])| json!({ "type": "Feature", "properties": { "mag": i }, "geometry": { "type": "Point", "coordinates": at } });
    let features: Vec<Value> = rows.iter().enumerate().map(point).collect();
    folder.write("a.geojson", json!({ "type": "FeatureCollection", "features": features }).to_string());
    let how = "--window 8,9,47,48 --nodes 6x6 --smoothness 2 --link log --average off";
    folder.run(&format!("fit a.csv {how} -o m.json -q")).good();
    let verbs = [
        format!("fit EVENTS {how} --json -q"),
        "smooth EVENTS --window 8,9,47,48 --json -q".into(),
        "compare EVENTS --window 8,9,47,48 --methods homogeneous,ks+ec --json -q".into(),
        "score m.json EVENTS --json -q".into(),
        "check m.json EVENTS --draws 400 --json -q".into(),
        "predict m.json --at EVENTS".into(),
        format!("plot EVENTS {how} --terminal -q"),
        "summarize EVENTS --window 8,9,47,48 --json -q -o x.summary".into(),
    ];
    for verb in verbs {
        let of = |file: &str| {
            let out = folder.run(&verb.replace("EVENTS", file)).good().out.replace("a.geojson", "a.csv");
            let Ok(mut said) = serde_json::from_str::<Value>(&out) else { return out };
            without_times(&mut said);
            said.to_string()
        };
        assert_eq!(of("a.geojson"), of("a.csv"), "{verb}");
    }
    // By way of a summary, or of two of its parts, it is what a summary of the table is.
    folder.run("summarize a.geojson --window 8,9,47,48 -o whole.summary").good();
    folder.run("summarize a.geojson --window 8,9,47,48 --where 'mag < 70' -o low.summary").good();
    folder.run("summarize a.geojson --window 8,9,47,48 --where 'mag >= 70' -o high.summary").good();
    folder.run("summarize a.csv --window 8,9,47,48 -o table.summary").good();
    let fitted = |summaries: &str| {
        let run = folder.run(&format!("fit {summaries} {} --json", how.replace("--window 8,9,47,48 ", ""))).good();
        assert!(!run.err.contains("count twice"), "{}", run.err);
        number(&run.json()["elbo"])
    };
    near(fitted("whole.summary"), fitted("table.summary"), 0.0);
    near(fitted("low.summary high.summary"), fitted("table.summary"), 1e-9);
    let direct = folder.run(&format!("fit a.csv {how} --json -q")).json();
    let summed = folder.run("fit whole.summary --nodes 6x6 --smoothness 2 --link log --average off --json -q").json();
    near(number(&summed["elbo_parts"]["integral"]), number(&direct["elbo_parts"]["integral"]), 1e-3);
    assert_eq!(summed["window"]["volume"], direct["window"]["volume"]);
    let twice = folder.run("fit low.summary low.summary --nodes 6x6 --smoothness 2 --link log --average off").good();
    assert!(twice.err.contains("called a.geojson where mag < 70"), "{}", twice.err);
    folder.run("summarize a.geojson --window 8,8.5,47,48 -o x.summary").refused(&[
        "a.geojson",
        "the first on feature",
        "--clip",
    ]);
    folder.run("plot a.geojson --window 8,9,47,48 -o events.png").good();
    // A feature on each line, and compressed, are the same.
    let lines: String = features.iter().map(|feature| format!("{feature}\n")).collect();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, lines.as_bytes()).unwrap();
    folder.write("lines.geojsonl", &lines).write("packed.geojson.gz", packed.finish().unwrap());
    for name in ["lines.geojsonl", "packed.geojson.gz"] {
        folder.run(&format!("summarize {name} --window 8,9,47,48 -o other.summary")).good();
        near(fitted("other.summary"), fitted("whole.summary"), 0.0);
        near(number(&folder.run(&format!("fit {name} {how} --json -q")).json()["elbo"]), number(&direct["elbo"]), 0.0);
        folder.run(&format!("plot {name} {how} --terminal -q")).good();
    }
    folder.write("other.json", "{\"a\": 1}").run("summarize other.json -o x.summary").refused(&["other.json is JSON"]);
    folder.run("plot other.json -o x.png").refused(&["other.json", "not a model file"]);
}

/// What a clock says is never the same twice.
fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.contains("second") && name != "bytes");
            fields.values_mut().for_each(without_times);
        }
        Value::Array(values) => values.iter_mut().for_each(without_times),
        _ => {}
    }
}

/// A window that is given may go all round the globe.
#[test]
fn all_round_the_globe_parts_add_up() {
    let folder = Folder::new();
    let how = "--nodes 8x8 --smoothness 2 --link log --average off";
    let run =
        folder.run(&format!("fit quakes --geography sphere --window -180,180,-80,80 --clip {how} -o m.json")).good();
    for words in ["cut at longitude -180 and 180", "areas and rates are right", "2 of 5945 events"] {
        assert!(run.err.contains(words), "no {words} in {}", run.err);
    }
    let counted = |region: &str| folder.run(&format!("count m.json --in {region} --json -q")).json();
    let whole = counted("-180,180,-80,80");
    near(number(&whole["mean"]), 5943.0, 0.02);
    let halves: f64 = ["-180,0,-80,80", "0,180,-80,80"].iter().map(|half| number(&counted(half)["mean"])).sum();
    near(halves, number(&whole["mean"]), 1e-6);
    let said =
        folder.run(&format!("fit quakes --geography sphere --window -180,180,-80,80 --clip {how} --json -q")).json();
    near(number(&said["window"]["volume"]), zone(-80.0, 80.0, 360.0), 1e-9);
    // The box around events is not taken for that: most likely they lie on both sides of the antimeridian.
    folder.write("round.csv", table("lon,lat", places(50, [-179.0, 179.0, -20.0, 20.0])));
    folder.run("fit round.csv").refused(&["degrees of `lon`", "antimeridian", "--window, as in -180,180,-60,60"]);
}

#[test]
fn rows_of_counts_need_no_quotes() {
    let folder = Folder::new();
    folder.write("places.csv", table("lon,lat", places(60, [8.0, 9.0, 47.0, 47.8])));
    folder
        .run("fit places.csv --window 8,9,47,48 --nodes 6x6 --smoothness 2 --link log --average off -o m.json -q")
        .good();
    folder.run("count m.json --in 8,8.5,47,48 --in 8.5,9,47,47.5 -o c.csv").good();
    let text = String::from_utf8(folder.read("c.csv")).unwrap();
    let names: Vec<&str> = text.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(names, ["8 to 8.5 by 47 to 48", "8.5 to 9 by 47 to 47.5"]);
    assert!(!text.contains('"'), "{text}");
}

#[test]
fn gdal_reads_the_layers() {
    let folder = Folder::new();
    folder.write("places.csv", table("lon,lat", places(200, [8.0, 9.0, 47.0, 47.8])));
    let how = "--window 8,9,47,48 --nodes 8x8 --smoothness 2 --link log --average off -q";
    for (name, geography) in [("sphere", ""), ("plane", "--geography plane")] {
        folder.run(&format!("fit places.csv {how} {geography} -o {name}.json")).good();
        folder.run(&format!("predict {name}.json --grid 20x30 --exceed 0.01 -o {name}.tif")).good();
        let Some(said) = folder.gdal("gdalinfo", &["-json", &format!("{name}.tif")]) else { return };
        let info: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(info["size"], json!([20, 30]));
        let names: Vec<&str> =
            info["bands"].as_array().unwrap().iter().map(|b| b["description"].as_str().unwrap()).collect();
        assert_eq!(names, ["mean", "sd", "q0.05", "q0.5", "q0.95", "p>0.01"]);
        assert!(info["bands"].as_array().unwrap().iter().all(|b| b["type"] == "Float32" && b["noDataValue"] == "NaN"));
        let wkt = info["coordinateSystem"]["wkt"].as_str().unwrap();
        assert!(
            wkt.contains(if name == "sphere" { "Lambert Cylindrical Equal Area" } else { "ID[\"EPSG\",4326]]" }),
            "{wkt}"
        );
        // PROJ's own arithmetic brings the corners back to the degrees of the window.
        let corners = &info["wgs84Extent"]["coordinates"][0];
        for corner in corners.as_array().unwrap() {
            let [x, y] = [number(&corner[0]), number(&corner[1])];
            let is_end = |v: f64, ends: [f64; 2]| ends.iter().any(|end| (v - end).abs() < 1e-6);
            assert!(is_end(x, [8.0, 9.0]) && is_end(y, [47.0, 48.0]), "{corners}");
        }
    }
    folder.run("predict sphere.json --grid 3x3 -o cells.geojson").good();
    if let Some(said) = folder.gdal("ogrinfo", &["-al", "-so", "cells.geojson"]) {
        for word in [
            "Feature Count: 9",
            "Geometry: Polygon",
            "mean: Real",
            "WGS 84",
            "(8.000000, 47.000000) - (9.000000, 48.000000)",
        ] {
            assert!(said.contains(word), "no {word} in {said}");
        }
    }
}

/// A GeoJSON document of points on a map, which names its system so, if it does.
fn on_map(points: &[[f64; 2]], crs: Option<&str>) -> String {
    let features: Vec<Value> = points
        .iter()
        .map(|at| json!({ "type": "Feature", "properties": {}, "geometry": { "type": "Point", "coordinates": at } }))
        .collect();
    let mut document = json!({ "type": "FeatureCollection", "features": features });
    if let Some(name) = crs {
        document["crs"] = json!({ "type": "name", "properties": { "name": name } });
    }
    document.to_string()
}

#[test]
fn a_map_has_a_reference_system_that_stays_with_it() {
    let folder = Folder::new();
    const BRITAIN: &str = "urn:ogc:def:crs:EPSG::27700";
    let at = places(200, [400_000.0, 410_000.0, 300_000.0, 308_000.0]);
    folder.write("sites.csv", table("easting,northing", at.clone()));
    folder.write("sites.geojson", on_map(&at, Some(BRITAIN))).write("paris.geojson", on_map(&at, Some("EPSG:2154")));
    folder
        .write("degrees.geojson", on_map(&[[-1.9, 52.6]], None))
        .write("other.geojson", on_map(&at, Some("EPSG:4277")));
    let border = |crs: &str| {
        let ring =
            json!([[[400_000.0, 300_000.0], [410_000.0, 300_000.0], [405_000.0, 308_000.0], [400_000.0, 300_000.0]]]);
        json!({ "type": "Polygon", "coordinates": ring, "crs": { "properties": { "name": crs } } }).to_string()
    };
    folder.write("own.geojson", border(BRITAIN)).write("french.geojson", border("EPSG:2154"));
    let how = "--nodes 8x8 --smoothness 2 --link log --average off";
    let window = "--window 400000,410000,300000,308000";
    for (name, events) in [("csv", "sites.csv --crs EPSG:27700"), ("json", "sites.geojson")] {
        folder.run(&format!("fit {events} {window} --unit m {how} -q -o {name}.json")).good();
        let model: Value = serde_json::from_slice(&folder.read(&format!("{name}.json"))).unwrap();
        assert_eq!(model["crs"], "EPSG:27700");
        assert_eq!(model["posterior"]["window"]["axes"][1]["crs"], "EPSG:27700");
        folder.run(&format!("predict {name}.json --grid 20x16 -o {name}.tif")).good();
        folder.run(&format!("predict {name}.json --grid 4x4 -o cells.geojson")).good();
        folder.run(&format!("count {name}.json --in own.geojson -o counts.geojson")).good();
        for features in ["cells.geojson", "counts.geojson"] {
            let features: Value = serde_json::from_slice(&folder.read(features)).unwrap();
            assert_eq!(features["crs"]["properties"]["name"], BRITAIN);
        }
        folder.run(&format!("report {name}.json --cells 20 -o page.html")).good();
        assert!(String::from_utf8(folder.read("page.html")).unwrap().contains("<td>EPSG:27700</td>"));
        folder.run(&format!("predict {name}.json --at sites.geojson")).good();
        let Some(said) = folder.gdal("gdalinfo", &["-json", &format!("{name}.tif")]) else { continue };
        let info: Value = serde_json::from_str(&said).unwrap();
        let wkt = info["coordinateSystem"]["wkt"].as_str().unwrap();
        assert!(wkt.contains("British National Grid") && wkt.contains("ID[\"EPSG\",27700]]"), "{wkt}");
        assert_eq!(info["cornerCoordinates"]["upperLeft"], json!([400_000.0, 308_000.0]));
        let Some(said) = folder.gdal("ogrinfo", &["-al", "-so", "cells.geojson"]) else { continue };
        assert!(said.contains("British National Grid"), "{said}");
    }
    // The system changes no number, and a summary keeps it.
    let elbo = |fit: &str| number(&folder.run(&format!("fit {fit} {how} --json -q")).good().json()["elbo"]);
    near(elbo(&format!("sites.csv --crs EPSG:27700 {window}")), elbo(&format!("sites.csv {window}")), 0.0);
    folder.run(&format!("summarize sites.geojson {window} --cells 20x16 -o sites.summary")).good();
    folder.run(&format!("summarize paris.geojson {window} --cells 20x16 -o paris.summary")).good();
    folder.run(&format!("fit sites.summary {how} -q -o summary.json")).good();
    assert_eq!(serde_json::from_slice::<Value>(&folder.read("summary.json")).unwrap()["crs"], "EPSG:27700");
    folder.run("fit sites.summary paris.summary").refused(&["EPSG:27700", "EPSG:2154"]);
    let both = folder.run(&format!("fit sites.geojson paris.geojson {window}"));
    assert!(both.code == 2 && both.err.contains("paris.geojson is in EPSG:2154"), "{}", both.err);

    // What lies in another system is refused.
    let refuse = |line: String, words: &[&str]| {
        folder.run(&line).refused(words);
    };
    refuse(format!("fit paris.geojson {window} --crs EPSG:27700"), &["paris.geojson is in EPSG:2154", "ogr2ogr"]);
    folder.write("degrees-border.geojson", border("urn:ogc:def:crs:OGC:1.3:CRS84"));
    refuse(
        "fit sites.csv --window degrees-border.geojson --crs EPSG:27700".into(),
        &["CRS84", "EPSG:27700", "ogr2ogr"],
    );
    folder.write("lonlat.csv", "lon,lat\n-1.9,52.6\n-1.8,52.5\n-1.7,52.4\n");
    refuse(
        "fit lonlat.csv --crs EPSG:27700".into(),
        &["`lon` and `lat` are degrees", "--crs EPSG:27700", "leave it out"],
    );
    refuse("fit kenya --window kenya --clip --crs EPSG:32637".into(), &["are degrees", "--crs EPSG:32637"]);
    refuse(format!("fit degrees.geojson {window} --crs EPSG:27700"), &["longitude and latitude", "EPSG:27700"]);
    refuse(format!("fit other.geojson {window}"), &["other.geojson is in EPSG:4277", "EPSG:4326"]);
    refuse(
        "fit sites.csv --crs EPSG:27700 --window french.geojson --clip".into(),
        &["french.geojson", "EPSG:2154", "EPSG:27700"],
    );
    refuse("count csv.json --in french.geojson".into(), &["french.geojson", "EPSG:2154", "EPSG:27700"]);
    refuse("predict csv.json --at paris.geojson".into(), &["paris.geojson is in EPSG:2154", "EPSG:27700"]);
    refuse("predict csv.json --at degrees.geojson".into(), &["longitude and latitude", "EPSG:27700"]);
    refuse("score csv.json paris.geojson".into(), &["EPSG:2154", "EPSG:27700"]);
    refuse(
        format!("fit sites.csv {window} --crs EPSG:2154 --covariate csv.tif {how}"),
        &["csv.tif is in EPSG:27700", "gdalwarp"],
    );
    // In its own it is read: its bands are all of one rate, which is another matter.
    let own = folder.run(&format!("fit sites.csv {window} --crs EPSG:27700 --covariate csv.tif {how} -q"));
    assert!(!own.err.contains("gdalwarp") && own.err.contains("their effects cannot be told apart"), "{}", own.err);
    folder.run(&format!("fit sites.csv {window} --crs EPSG:2154 {how} -q -o paris.json")).good();
    refuse("contrast csv.json paris.json --in 400000,405000,300000,308000".into(), &["EPSG:27700", "EPSG:2154"]);
    refuse(format!("fit sites.csv {window} --crs EPSG:4326"), &["--crs EPSG:4326", "--geography sphere"]);
    refuse(format!("fit sites.csv {window} --crs british"), &["--crs british", "EPSG:27700"]);
    assert_eq!(folder.run(&format!("fit sites.csv {window} --crs EPSG:27700 --geography sphere")).code, 2);
    refuse("fit coal --crs EPSG:27700".into(), &["--crs EPSG:27700", "two coordinates"]);
    refuse("fit sites.geojson --geography sphere".into(), &["--geography sphere", "EPSG:27700"]);
}

/// A region is the same place however its longitudes are counted.
#[test]
fn regions_are_turned_onto_the_map() {
    let folder = Folder::new();
    folder.write("fiji.csv", table("lon,lat", places(150, [170.0, 190.0, -20.0, -10.0])));
    folder.run("fit fiji.csv --window 170,190,-20,-10 --nodes 16x12 --average off -q -o m.json").good();
    // Drawn from 178 to -176 a district is meant the short way, which must be written so; a box says how.
    let ring = |east: f64| {
        let corners = [[178.0, -18.0], [east, -18.0], [east, -12.0], [178.0, -12.0], [178.0, -18.0]];
        format!("{{\"type\": \"Polygon\", \"coordinates\": [{corners:?}]}}")
    };
    folder.write("long.geojson", ring(-176.0)).write("short.geojson", ring(184.0));
    folder.run("count m.json --in long.geojson").refused(&["long.geojson", "position 1", "long way", "184 for -176"]);
    folder.run("fit fiji.csv --window long.geojson --clip").refused(&[
        "border",
        "position",
        "long way",
        "184 for -176",
    ]);
    folder.run("count m.json --in short.geojson").good();
    folder.run("count m.json --in 178,-176,-18,-12").refused(&["178", "write 184 for -176"]);
    let count =
        |text: &str| number(&folder.run(&format!("count m.json --draws 20 --json {text}")).good().json()["mean"]);
    let [west, east] = [count("--in 170,180,-20,-10"), count("--in 180,190,-20,-10")];
    near(count("--in -180,-170,-20,-10"), east, 1e-9);
    near(west + count("--in -180,-170,-20,-10"), count(""), 1e-6);
    // A border with an island on each side, and a table.
    let square = |x: f64| json!([[[x, -19], [x + 5.0, -19], [x + 5.0, -11], [x, -19]]]);
    let island = |x: f64| json!({"type": "Polygon", "coordinates": square(x)}).to_string();
    folder.write("west.geojson", island(174.0));
    folder.write("east.geojson", island(180.0));
    let border = |first: f64, second: f64| {
        json!({"type": "Feature", "properties": {"name": "both"}, "geometry":
            {"type": "MultiPolygon", "coordinates": [square(first), square(second)]}})
        .to_string()
    };
    folder.write("split.geojson", border(-180.0, 174.0));
    near(count("--in split.geojson"), count("--in west.geojson") + count("--in east.geojson"), 1e-9);
    folder.write("rows.csv", "lon_lo,lon_hi,lat_lo,lat_hi\n170,180,-20,-10\n-180,-170,-20,-10\n");
    let rows = column(&folder.run("count m.json --draws 20 --in rows.csv -o -").good(), "mean");
    near(rows[0], west, 1e-9);
    near(rows[1], east, 1e-9);
    let ends = column(&folder.run("count m.json --draws 20 --in rows.csv -o -").good(), "lon_lo");
    near(ends[1], 180.0, 1e-9);
    let same = folder.run("contrast m.json --in -180,-170,-20,-10 --in 180,190,-20,-10 --json").good().json();
    assert!(number(&same["difference"]["sd"]) < 1e-6, "{same}");
    // What cannot be placed.
    folder.run("count m.json --in -200,170,-20,-10").refused(&["-200,170", "370 degrees", "at most 360"]);
    folder.write("twice.geojson", border(-180.0, 182.0));
    folder.run("count m.json --in twice.geojson").refused(&["twice.geojson", "twice", "once"]);
}

/// All round the globe a region may lie across the cut of the map: it is counted on both sides.
#[test]
fn regions_across_the_cut_come_in_two_parts() {
    let folder = Folder::new();
    folder.write("e.csv", table("lon,lat", places(200, [-180.0, 180.0, -40.0, 40.0])));
    folder.run("fit e.csv --window -180,180,-40,40 --nodes 24x10 --average off -q -o m.json").good();
    let count = |text: &str| folder.run(&format!("count m.json --draws 20 --json {text}")).good().json();
    let mean = |text: &str| number(&count(text)["mean"]);
    near(mean("--in 170,190,-10,10"), mean("--in 170,180,-10,10") + mean("--in -180,-170,-10,10"), 1e-9);
    let seen = |text: &str| count(text)["seen"].as_u64().unwrap();
    assert_eq!(seen("--in 150,210,-40,40"), seen("--in 150,180,-40,40") + seen("--in -180,-150,-40,40"));
    let slanted = |shift: f64| {
        let ring: Vec<[f64; 2]> = [[160.0, -30.0], [200.0, -20.0], [190.0, 25.0]].map(|[x, y]| [x + shift, y]).to_vec();
        json!({"type": "Polygon", "coordinates": [[ring[0], ring[1], ring[2], ring[0]]]}).to_string()
    };
    folder.write("east.geojson", slanted(0.0));
    folder.write("west.geojson", slanted(-360.0));
    near(mean("--in east.geojson"), mean("--in west.geojson"), 1e-9);
    let (whole, middle) = (mean("--in 150,210,-40,40"), mean("--in east.geojson"));
    assert!(middle > 0.05 * whole && middle < 0.6 * whole, "{middle} of {whole}");
}

#[test]
fn what_are_no_degrees_is_refused_with_its_line() {
    let folder = Folder::new();
    folder.write("e.csv", table("lon,lat", places(60, [5.0, 15.0, 45.0, 55.0])));
    folder.run("fit e.csv --window 5,15,45,55 --nodes 10x10 --average off -q -o m.json").good();
    folder.write("at.csv", "lon,lat\n7,50\n8,95\n");
    folder.run("predict m.json --at at.csv").refused(&["at.csv, line 3", "`lat` is 95", "no latitude", "correct it"]);
    folder.run("score m.json at.csv").refused(&["at.csv, line 3", "no latitude"]);
    folder.write("far.csv", "lon,lat\n700,50\n");
    folder.run("predict m.json --at far.csv").refused(&["far.csv, line 2", "no longitude"]);
    folder.run("count m.json --in 5,8,50,95").refused(&["--in 5,8,50,95", "95 is no latitude", "degrees"]);
    folder.write("rows.csv", "lon_lo,lon_hi,lat_lo,lat_hi\n5,8,46,50\n5,8,50,91\n");
    folder.run("count m.json --in rows.csv").refused(&["rows.csv, line 3", "`lat_hi` is 91", "no latitude"]);
    let ring = json!([[[5, 46], [8, 46], [8, 91], [5, 46]]]);
    folder.write("border.geojson", json!({"type": "Polygon", "coordinates": ring}).to_string());
    folder.run("count m.json --in border.geojson").refused(&["border.geojson", "position 3", "91 is no latitude"]);
}

/// Older GeoJSON names its reference system: metres are no degrees, and a plane is taken as it is.
#[test]
fn a_border_in_another_system_is_refused_on_the_globe() {
    let folder = Folder::new();
    let border = |crs: &str, ring: &str| {
        let crs = format!(r#""crs":{{"type":"name","properties":{{"name":"{crs}"}}}}"#);
        format!(r#"{{"type":"Polygon",{crs},"coordinates":[{ring}]}}"#)
    };
    let degrees = "[[7,46],[9,46],[9,48],[7,48],[7,46]]";
    let metres = "[[0,0],[9000,0],[9000,8000],[0,8000],[0,0]]";
    let rows = |across: f64, up: f64| {
        let row = |i: usize| format!("{},{}\n", across + 0.03 * i as f64, up + 0.03 * ((i * 7) % 30) as f64);
        (0..30).map(row).collect::<String>()
    };
    folder.write("globe.csv", "lon,lat\n".to_string() + &rows(7.1, 46.1));
    folder.write("plane.csv", "x,y\n".to_string() + &rows(4000.0, 4000.0));
    folder.write("metres.geojson", border("urn:ogc:def:crs:EPSG::3857", metres));
    // Small numbers could be degrees, so that nothing else would tell.
    folder.write("small.geojson", border("urn:ogc:def:crs:EPSG::2056", degrees));
    folder.write("same.geojson", border("urn:ogc:def:crs:OGC:1.3:CRS84", degrees));
    let fit = |table: &str, window: &str| {
        folder.run(&format!(
            "fit {table} --window {window} --nodes 8x8 --smoothness 2 --link log --average off -q -o m.json"
        ))
    };
    fit("globe.csv", "small.geojson").refused(&["small.geojson is in urn:ogc:def:crs:EPSG::2056", "ogr2ogr"]);
    fit("globe.csv", "metres.geojson").refused(&["metres.geojson"]);
    fit("plane.csv", "metres.geojson").good();
    fit("globe.csv", "same.geojson").good();
    folder.run("count m.json --in small.geojson").refused(&["small.geojson is in urn:ogc:def:crs:EPSG::2056"]);
    folder.run("count m.json --in same.geojson").good();
}
