//! tests/outside/fleet.rs: examples/fleet: its dashboard shows what its program measures; its service file is valid.

use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::needs;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/fleet")
}

fn dashboard() -> Json {
    serde_json::from_str(&std::fs::read_to_string(folder().join("dashboard.json")).unwrap()).unwrap()
}

/// The queries of all panels.
fn queries() -> Vec<String> {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// The words of a string that begin with a prefix.
fn words<'a>(text: &'a str, prefix: &str) -> BTreeSet<&'a str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '@'));
    words.filter_map(|word| word.strip_prefix(prefix)).filter(|word| !word.is_empty()).collect()
}

#[test]
fn the_dashboard_shows_each_metric_of_the_program_and_no_other() {
    let program = std::fs::read_to_string(folder().join("fleet.d")).unwrap();
    let mut expected = words(&program, "@");
    assert!(expected.len() >= 4, "{expected:?}");
    expected.extend(["drops", "faults"]);
    let queries = queries().join("\n");
    let shown = words(&queries, "kinst_").into_iter().map(|name| {
        let suffix = ["_total", "_bucket"].into_iter().find_map(|suffix| name.strip_suffix(suffix));
        suffix.unwrap_or_else(|| panic!("kinst_{name} is neither a counter nor a histogram"))
    });
    assert_eq!(shown.collect::<BTreeSet<_>>(), expected);
}

#[test]
fn the_dashboard_has_the_form_that_grafana_reads() {
    let dashboard = dashboard();
    assert!(dashboard["schemaVersion"].as_u64().is_some_and(|version| version >= 36));
    assert!(dashboard["title"].is_string() && dashboard["uid"].is_string() && dashboard["id"].is_null());
    let variables: Vec<&str> = dashboard["templating"]["list"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v["name"].as_str().unwrap())
        .collect();
    let mut ids = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    let mut places = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "an id is there twice");
        kinds.insert(panel["type"].as_str().unwrap());
        let place = |field: &str| panel["gridPos"][field].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "the grid has 24 columns");
        assert!(places.insert((place("x"), place("y"))), "a place is taken twice");
        assert_eq!(panel["datasource"]["uid"], "${datasource}");
        let targets = panel["targets"].as_array().unwrap();
        let letters: BTreeSet<&str> =
            targets.iter().map(|target| target["refId"].as_str().unwrap()).collect();
        assert_eq!(letters.len(), targets.len(), "each query has its letter");
    }
    assert_eq!(kinds, ["heatmap", "timeseries"].into());
    for used in queries().join("\n").split('$').skip(1) {
        let name = used.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap();
        assert!(name == "__rate_interval" || variables.contains(&name), "${name}");
    }
}

#[test]
fn its_queries_are_promql() {
    let Some(monitoring) = needs::monitoring() else { return };
    let mut rules = "groups:\n- name: fleet\n  rules:\n".to_owned();
    for (index, query) in queries().iter().enumerate() {
        let query = query.replace("$__rate_interval", "5m").replace("$instance", ".*");
        rules +=
            &format!("  - record: query:{index}\n    expr: {}\n", serde_json::to_string(&query).unwrap());
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.yml");
    std::fs::write(&file, rules).unwrap();
    let promtool = monitoring.join("usr/bin/promtool");
    let checked = Command::new(promtool).args(["check", "rules"]).arg(&file).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[test]
fn its_service_is_one_that_systemd_reads() {
    if !needs::program("systemd-analyze") {
        return;
    }
    let folder_of_test = tempfile::tempdir().unwrap();
    let file = folder_of_test.path().join("kinst-fleet.service");
    let text = std::fs::read_to_string(folder().join("kinst-fleet.service")).unwrap();
    // kinst need not be installed here.
    std::fs::write(&file, text.replace("/usr/bin/kinst", "/bin/true")).unwrap();
    let verified = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&verified.stderr);
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("kinst-fleet.service")).collect();
    assert!(ours.is_empty(), "{said}");
}
