// Launches relu(A @ B + bias) of matmul_bias.py from Rust, with the standard library alone. The declarations are those of matmul_bias.h and
// tilewright/error.h.
use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr::{null, null_mut};

extern "C" {
    fn matmul_bias(options: *const c_void, a: *const f32, b: *const f32, bias: *const f32, c: *mut f32, m: i32, n: i32, k: i32,
                   error: *mut *mut c_void) -> c_int;
    fn twErrorText(error: *const c_void) -> *const c_char;
    fn twErrorFree(error: *mut c_void);
}

/// Returns relu(a @ b + bias) for rows of k and n elements, or the text of the error.
fn matmul(a: &[f32], b: &[f32], bias: &[f32], m: usize, n: usize, k: usize) -> Result<Vec<f32>, String> {
    assert!(a.len() == m * k && b.len() == k * n && bias.len() == n);
    let mut c = vec![0.0; m * n];
    let mut error = null_mut();
    let done = unsafe {
        matmul_bias(null(), a.as_ptr(), b.as_ptr(), bias.as_ptr(), c.as_mut_ptr(), m as i32, n as i32, k as i32, &mut error)
    };
    if done != 0 {
        return Ok(c);
    }
    let text = unsafe { CStr::from_ptr(twErrorText(error)) }.to_string_lossy().into_owned();
    unsafe { twErrorFree(error) };
    Err(text)
}

fn main() {
    let (m, n, k) = (97, 53, 31);
    let a: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32 - 3.0).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32 - 2.0).collect();
    let bias: Vec<f32> = (0..n).map(|i| (i % 3) as f32).collect();
    let c = matmul(&a, &b, &bias, m, n, k).unwrap_or_else(|text| panic!("{text}"));
    for i in 0..m {
        for j in 0..n {
            let sum: f32 = bias[j] + (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum::<f32>();
            assert!((c[i * n + j] - sum.max(0.0)).abs() < 1e-3);
        }
    }
    println!("{m} x {n} x {k}: right");
}
