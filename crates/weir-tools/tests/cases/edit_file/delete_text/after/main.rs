fn main() {
    println!("{x}");
}
