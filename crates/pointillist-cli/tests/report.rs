//! The page to share, as text; `python/tests/test_report.py` looks at it in a browser.

use crate::common::Folder;

fn text(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.read(name)).unwrap()
}

#[test]
fn a_page_is_one_file_with_everything_in_it() {
    let folder = Folder::new();
    folder.run("fit coal --where year<1900 --window 1851,1900 -q -o m.json").good();
    let said = folder.run("report m.json -o page.html --json").good().json();
    let page = text(&folder, "page.html");
    assert_eq!(said["bytes"], page.len());
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("{{"), "{page}");
    // The command as one would type it again, without where the model went.
    let command = "pointillist fit coal --where 'year&lt;1900' --window 1851,1900";
    assert!(page.contains(command), "{page}");
    assert!(!page.contains("m.json"));
    let shown = folder.run("show m.json").good().out;
    let fit = shown.lines().find_map(|line| line.strip_prefix("  fit ")).unwrap().trim();
    assert!(page.contains(&format!("<th scope=\"row\">fit</th><td>{fit}</td>")), "{page}");
    // The same model gives the same bytes.
    folder.run("report m.json -o again.html -q --threads 1").good();
    assert_eq!(page, text(&folder, "again.html"));
}

/// Values that were parted at commas are put together again, and what a shell would part is quoted.
#[test]
fn the_command_of_a_page_can_be_pasted() {
    let folder = Folder::new();
    let row = |i: u32| format!("{},{}\n", f64::from(i * 7 % 30) / 30.0, f64::from(i * 11 % 30) / 30.0);
    folder.write("a.csv", "a,b\n".to_string() + &(0..30).map(row).collect::<String>());
    folder.run("fit a.csv --columns b,a --window 0,1,0,1 --nodes 8x8 --average off -q -o m.json").good();
    folder.run("report m.json -q -o m.html").good();
    let page = text(&folder, "m.html");
    let command = page.split("Made with</h2>\n<pre><code>").nth(1).unwrap().split('<').next().unwrap();
    assert!(command.starts_with("pointillist fit a.csv ") && command.contains(" --columns b,a "), "{command}");
    folder.run(&format!("{} -q -o again.json", command.trim_start_matches("pointillist "))).good();
    folder.run("report again.json -q -o again.html").good();
    let again = text(&folder, "again.html");
    assert!(again.contains(command));
}

/// A line has 16 places in each period, as in `plot` and `predict`; where it cannot have so many, page and command say so.
#[test]
fn a_line_of_a_page_does_not_take_a_cycle_for_a_slower_one() {
    let folder = Folder::new();
    let places = |period: f64| {
        let kernel = format!("--kernel 'se(year, lengthscale=30!)*periodic(year, period={period}!, lengthscale=1!)'");
        assert_ne!(folder.run(&format!("fit coal --average off --inducing 20 {kernel} -q -o m.json")).code, 2);
        let said = folder.run("report m.json -o p.html").good().err;
        let page = text(&folder, "p.html");
        let places = page.split("\"stretches\":[[").nth(1).unwrap().split(']').next().unwrap();
        let places: usize = places.split(',').nth(2).unwrap().parse().unwrap();
        (places, said.contains("too few for its period"), page.contains("too few for its period"))
    };
    // The window has 111.02 years.
    assert_eq!(places(1.0), (1777, false, false));
    assert_eq!(places(50.0), (601, false, false));
    assert_eq!(places(0.05), (20_000, true, true));
}

#[test]
fn names_and_titles_are_text() {
    let folder = Folder::new();
    let hostile = "x</script><script>alert(1)</script>";
    folder.write("e.csv", format!("\"{hostile}\"\n{}", (0..30).map(|i| format!("{i}.5\n")).collect::<String>()));
    folder.run("fit e.csv --average off -q -o m.json").good();
    folder.run("report m.json -o p.html --title a<b>&\"c\"").good();
    let page = text(&folder, "p.html");
    assert!(page.contains("<h1>a&lt;b&gt;&amp;&quot;c&quot;</h1>"));
    assert!(!page.contains("<script>alert") && page.matches("</script>").count() == 2);
}

#[test]
fn what_is_no_page_is_refused() {
    let folder = Folder::new();
    folder.run("fit coal --average off -q -o m.json").good();
    folder.run("report m.json -o page.pdf").refused(&["page.pdf", "must end in .html"]);
    folder.run("report nothing.json -o page.html").refused(&["nothing.json"]);
    folder.run("report coal -o page.html").refused(&["coal"]);
    folder.run("report m.json -o nowhere/page.html").refused(&["nowhere"]);
    assert_eq!(folder.run("report m.json -o page.html --cells 5").code, 2);
    assert!(!folder.names().contains(&"page.html".to_string()));
}

/// The numbers in a page's data after a name, up to the end of their list.
fn listed(page: &str, name: &str) -> Vec<f64> {
    let list = page.split(&format!("\"{name}\":[")).nth(1).unwrap().split(']').next().unwrap();
    list.split(',').map(|number| number.parse().unwrap()).collect()
}

#[test]
fn the_times_of_a_slider_can_be_chosen() {
    let folder = Folder::new();
    let row = |i: u32| {
        format!("{},{},{}\n", (i * 7 % 30) as f64 / 3.0, (i * 11 % 30) as f64 / 3.0, (i * 13 % 60) as f64 / 2.0)
    };
    folder.write("e.csv", "x,y,day\n".to_string() + &(0..60).map(row).collect::<String>());
    let how = "--nodes 6x6x6 --link log --smoothness 2 --average off";
    folder.run(&format!("fit e.csv --window 0,10,0,10,0,30 {how} -q -o m.json")).good();
    let page = |options: &str| {
        folder.run(&format!("report m.json --cells 10 {options} -q -o p.html")).good();
        let page = text(&folder, "p.html");
        (listed(&page, "times"), listed(&page, "cells")[2])
    };
    let (usual, count) = page("");
    assert_eq!((usual.len(), count, usual[0], usual[15]), (16, 16.0, 0.9375, 29.0625));
    assert_eq!(page("--times 3"), (vec![5.0, 15.0, 25.0], 3.0));
    assert_eq!(page("--at-times 20,1.5,29"), (vec![1.5, 20.0, 29.0], 3.0));
    let refuse = |options: &str, words: &[&str]| {
        folder.run(&format!("report m.json {options} -o no.html")).refused(words);
    };
    refuse("--times 1", &["--times 1", "2 to 200"]);
    refuse("--times 201", &["--times 201", "2 to 200"]);
    refuse("--times x", &["--times x", "2 to 200"]);
    refuse("--at-times 31,5", &["--at-times 31,5", "outside the figure", "0 to 30"]);
    refuse("--at-times 5", &["--at-times 5", "at least 2"]);
    refuse("--at-times 5,5", &["given twice"]);
    assert_eq!(folder.run("report m.json --times 3 --at-times 5,6 -o no.html").code, 2);
    folder.run("fit coal --average off -q -o line.json").good();
    folder.run("report line.json --times 5 -o no.html").refused(&["--times 5", "has 1 axis"]);
    assert!(!folder.names().contains(&"no.html".to_string()));
}

#[test]
fn a_map_has_layers_within_its_border() {
    let folder = Folder::new();
    folder
        .run("fit kenya --window kenya --clip --nodes 24x24 --average off --link log --smoothness 2 -q -o k.json")
        .good();
    let small = folder.run("report k.json -o k.html --cells 20 --json").good().json()["bytes"].as_u64().unwrap();
    let large = folder.run("report k.json -o k.html --cells 200 --json").good().json()["bytes"].as_u64().unwrap();
    assert!(small < large && large < 2_000_000, "{small} {large}");
    let page = text(&folder, "k.html");
    for name in ["\"mean\":", "\"sd\":", "\"q05\":", "\"q95\":", "\"thresholds\":[", "\"border\":[["] {
        assert!(page.contains(name), "{name}");
    }
}
