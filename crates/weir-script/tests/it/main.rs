//! Scripts in real children: honest ones, and those that do whatever they can to harm or to stay.

mod ends;
mod hostile;
mod programs;
mod values;
mod world;
