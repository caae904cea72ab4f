//! lalrpop only: grammar/d.lalrpop → $OUT_DIR/d.rs.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=grammar/d.lalrpop");
    lalrpop::Configuration::new().set_in_dir("grammar").process()
}
