// SPDX-License-Identifier: GPL-2.0

//! Takes the places of fields in commands and contexts from the kernel's own
//! header, `include/linux/mlx5/mlx5_ifc.h`, which `MLX5_IFC` names.
//!
//! There, a structure is a list of bit fields, written as arrays of a type of
//! one bit: `u8 log_cq_size[0x5];`. Each of [`WANTED`] becomes a module with a
//! constant for each of its fields.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::path::Path;

const WANTED: &[&str] = &[
    "access_register_in",
    "ads",
    "alloc_pd_out",
    "alloc_transport_domain_out",
    "alloc_uar_out",
    "alloc_xrcd_out",
    "arm_rq_in",
    "arm_xrc_srq_in",
    "atomic_caps",
    "attach_to_mcg_in",
    "cmd_hca_cap",
    "cqc",
    "create_cq_in",
    "create_cq_out",
    "create_eq_in",
    "create_eq_out",
    "create_mkey_in",
    "create_mkey_out",
    "create_qp_in",
    "create_qp_out",
    "create_rmp_in",
    "create_rmp_out",
    "create_uctx_out",
    "create_xrc_srq_in",
    "create_xrc_srq_out",
    "dealloc_pd_in",
    "dealloc_transport_domain_in",
    "dealloc_uar_in",
    "dealloc_xrcd_in",
    "destroy_cq_in",
    "destroy_eq_in",
    "destroy_mkey_in",
    "destroy_qp_in",
    "destroy_rmp_in",
    "destroy_uctx_in",
    "destroy_xrc_srq_in",
    "eqc",
    "hca_vport_context",
    "init2rtr_qp_in",
    "manage_pages_in",
    "manage_pages_out",
    "mkc",
    "modify_cq_in",
    "modify_rmp_in",
    "ptys_reg",
    "pvlc_reg",
    "qpc",
    "query_adapter_out",
    "query_adapter_param_block",
    "query_hca_vport_context_out",
    "query_hca_vport_gid_out",
    "query_hca_vport_pkey_in",
    "query_hca_vport_pkey_out",
    "query_issi_out",
    "query_pages_out",
    "query_qp_in",
    "query_qp_out",
    "query_rmp_in",
    "query_rmp_out",
    "query_special_contexts_out",
    "query_vport_state_out",
    "query_xrc_srq_in",
    "query_xrc_srq_out",
    "rmpc",
    "wq",
    "xrc_srqc",
];

/// A field: where it starts and how long one element of it is, in bits.
#[derive(Clone)]
struct Field {
    name: String,
    at: usize,
    bits: usize,
}

#[derive(Clone, Default)]
struct Layout {
    bits: usize,
    fields: Vec<Field>,
}

/// Words and punctuation, without comments and what is the preprocessor's.
fn tokens(text: &str) -> Vec<String> {
    let mut code = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    code.push_str(rest);
    let mut tokens = Vec::new();
    for line in code
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
    {
        let mut word = String::new();
        for c in line.chars().chain([' ']) {
            if c.is_alphanumeric() || c == '_' {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                tokens.push(std::mem::take(&mut word));
            }
            if !c.is_whitespace() {
                tokens.push(c.to_string());
            }
        }
    }
    tokens
}

fn number(word: &str) -> Option<usize> {
    match word.strip_prefix("0x") {
        Some(hex) => usize::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    }
}

/// The name in `mlx5_ifc_NAME_bits`.
fn structure_name(word: &str) -> Option<&str> {
    word.strip_prefix("mlx5_ifc_")?.strip_suffix("_bits")
}

struct Parser<'a> {
    tokens: &'a [String],
    at: usize,
    layouts: HashMap<String, Layout>,
    opcodes: Vec<(String, usize)>,
}

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        let token = self.peek(0).to_owned();
        self.at += 1;
        token
    }

    fn skip_past(&mut self, end: &str) {
        while self.at < self.tokens.len() && self.next() != end {}
    }

    fn file(&mut self) {
        while self.at < self.tokens.len() {
            let kind = self.next();
            if let Some(name) = kind.strip_prefix("MLX5_CMD_OP_") {
                if let (true, Some(value)) = (self.peek(0) == "=", number(self.peek(1))) {
                    self.opcodes.push((name.to_owned(), value));
                }
            }
            let name = structure_name(self.peek(0)).map(str::to_owned);
            if let (Some(name), "{", true) = (name, self.peek(1), is_aggregate(&kind)) {
                self.at += 2;
                let layout = self.body(kind == "union");
                self.layouts.insert(name, layout);
            }
        }
    }

    /// The fields up to the closing brace.
    fn body(&mut self, is_union: bool) -> Layout {
        let mut layout = Layout::default();
        let mut end = 0;
        while self.at < self.tokens.len() && self.peek(0) != "}" {
            let at = if is_union { 0 } else { end };
            end = end.max(at + self.member(at, &mut layout.fields));
        }
        self.at += 1;
        layout.bits = end;
        layout
    }

    /// One declaration, which starts at bit `at`; how many bits it takes.
    fn member(&mut self, at: usize, fields: &mut Vec<Field>) -> usize {
        let kind = self.next();
        if is_aggregate(&kind) && self.peek(0) == "{" {
            self.at += 1;
            let inner = self.body(kind == "union");
            let moved = inner
                .fields
                .into_iter()
                .map(|f| Field { at: at + f.at, ..f });
            fields.extend(moved);
            self.skip_past(";");
            return inner.bits;
        }
        let element = match kind.as_str() {
            "u8" => None,
            _ if is_aggregate(&kind) => {
                let name = self.next();
                let layout = structure_name(&name).and_then(|name| self.layouts.get(name));
                Some(layout.map_or(0, |layout| layout.bits))
            }
            // A flexible array in a union, which takes no bits.
            _ => {
                self.skip_past(";");
                return 0;
            }
        };
        let name = self.next();
        let mut lengths = Vec::new();
        while self.peek(0) == "[" {
            self.at += 1;
            // None is written for a flexible array.
            lengths.push(number(self.peek(0)).unwrap_or(0));
            self.skip_past("]");
        }
        self.skip_past(";");
        let bits = element.or_else(|| lengths.pop()).unwrap_or(0);
        fields.push(Field { name, at, bits });
        bits * lengths.iter().product::<usize>()
    }
}

fn is_aggregate(word: &str) -> bool {
    word == "struct" || word == "union"
}

fn main() {
    println!("cargo:rerun-if-env-changed=MLX5_IFC");
    let path = std::env::var("MLX5_IFC").expect("MLX5_IFC must name mlx5_ifc.h of a kernel tree");
    println!("cargo:rerun-if-changed={path}");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let tokens = tokens(&text);
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        layouts: HashMap::new(),
        opcodes: Vec::new(),
    };
    parser.file();

    let mut code = String::new();
    for name in WANTED {
        let layout = parser.layouts.get(*name);
        let layout = layout.unwrap_or_else(|| panic!("{path} has no {name}"));
        writeln!(code, "pub mod {name} {{ use super::Field;").unwrap();
        writeln!(code, "pub const BYTES: usize = {};", layout.bits / 8).unwrap();
        let named = layout
            .fields
            .iter()
            .filter(|f| !f.name.starts_with("reserved_at"));
        for Field { name, at, bits } in named {
            let name = name.to_uppercase();
            writeln!(code, "pub const {name}: Field = Field::new({at}, {bits});").unwrap();
        }
        code.push_str("}\n");
    }
    code.push_str("pub mod op {\n");
    let mut names = String::new();
    let mut named = HashSet::new();
    for (name, value) in &parser.opcodes {
        // An identifier does not start with a digit: 2RST_QP.
        let digit = name.starts_with(|c: char| c.is_ascii_digit());
        let constant = if digit {
            format!("TO_{name}")
        } else {
            name.clone()
        };
        writeln!(code, "pub const {constant}: u16 = {value};").unwrap();
        // Where commands end and others start, a number has two names.
        if named.insert(value) {
            writeln!(names, "{value} => \"{name}\",").unwrap();
        }
    }
    writeln!(
        code,
        "pub fn name(opcode: u16) -> &'static str {{ match opcode {{ {names} _ => \"unknown\" }} }} }}"
    )
    .unwrap();
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(Path::new(&out).join("ifc.rs"), code).expect("OUT_DIR is writable");
}
