// The program of ffi_caller.c in Rust.
use std::ffi::{c_char, c_void, CStr};

#[repr(C)]
struct Any {
    kind: i32,
    length: u32,
    value: u64,
}
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: i32,
    device_id: i32,
    rank: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    offset: u64,
}
extern "C" {
    fn __tvm_ffi_scale(this: *const c_void, arguments: *const Any, count: i32, result: *mut Any) -> i32;
}

#[no_mangle]
pub extern "C" fn TVMFFIErrorSetRaisedFromCStr(kind: *const c_char, text: *const c_char) {
    let read = |text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    println!("{}: {}", read(kind), read(text));
}

fn call(x: &[f32], out: &mut [f32], bits: u8, n: i64) -> i32 {
    let shape = x.len() as i64;
    let tensor = |data: *mut f32, bits| Tensor {
        data: data as *mut c_void, device: 1, device_id: 0, rank: 1, code: 2, bits, lanes: 1, shape: &shape, strides: std::ptr::null(), offset: 0,
    };
    let (from, to) = (tensor(x.as_ptr() as *mut f32, bits), tensor(out.as_mut_ptr(), 32));
    let given = [
        Any { kind: 7, length: 0, value: &from as *const Tensor as u64 },
        Any { kind: 7, length: 0, value: &to as *const Tensor as u64 },
        Any { kind: 3, length: 0, value: 2.5f64.to_bits() },
        Any { kind: 1, length: 0, value: n as u64 },
    ];
    let mut result = Any { kind: 0, length: 0, value: 0 };
    unsafe { __tvm_ffi_scale(std::ptr::null(), given.as_ptr(), 4, &mut result) }
}

fn main() {
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let mut out = vec![0f32; 1000];
    assert_eq!(call(&x, &mut out, 32, 1000), 0);
    println!("{} wrong", x.iter().zip(&out).filter(|(x, out)| **out != 2.5 * **x).count());
    assert!(call(&x, &mut out, 64, 1000) != 0 && call(&x, &mut out, 32, 5_000_000_000) != 0);
}
