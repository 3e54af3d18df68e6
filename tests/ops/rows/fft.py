"""Rows of fft.cc, stft.cc and complex.cc."""

import torch
from torch import fft

from case import Case, T

X = T("f32", 3, 6, N=0)
ODD = T("f32", 3, 7, N=0)
CUBE = T("f32", 2, 4, 5, N=0)
NORMS = ("backward", "ortho", "forward")
TOL = (1e-4, 1e-4)  # ONNX Runtime's DFT is good to some 1e-6
real = torch.view_as_real


ROWS = [
    *[Case(f"fft_{n}", lambda x, n=n: real(fft.fft(x, norm=n)), [X], tol=TOL) for n in NORMS],
    *[Case(f"ifft_{n}", lambda x, n=n: real(fft.ifft(torch.complex(x, x * 2), norm=n)), [ODD], tol=TOL) for n in NORMS],
    *[Case(f"rfft_{i}", lambda x: real(fft.rfft(x)), [x], since=11, tol=TOL) for i, x in enumerate((X, ODD, T("f64", 5)))],
    Case("fft_size", lambda x: real(fft.fft(x, 9, dim=0)), [T("f32", 4, 3)], dynamic_since=11, tol=TOL),
    Case("fft_cut", lambda x: real(fft.rfft(x, 4)), [X], since=11, tol=TOL),
    *[Case(f"irfft_{n}", lambda x, n=n: fft.irfft(fft.rfft(x), n), [X], since=11, tol=TOL) for n in (None, 7, 4)],
    *[Case(f"hfft_{n}", lambda x, n=n: fft.hfft(torch.complex(x, x.flip(1)), norm=n), [X], tol=TOL) for n in NORMS],
    Case("ihfft", lambda x: real(fft.ihfft(x).resolve_conj()), [X], since=11, tol=TOL),
    Case("fftn", lambda x: real(fft.fftn(x)), [CUBE], dynamic_since=11, tol=TOL),
    Case("fft2", lambda x: real(fft.fft2(x)), [CUBE], tol=TOL),
    Case("ifftn", lambda x: real(fft.ifftn(x, dim=(0, 2))), [T("f32", 2, 4, 5)], dynamic_since=11, tol=TOL),
    Case("rfftn", lambda x: real(fft.rfftn(x, (3, 6), dim=(0, 1))), [T("f32", 4, 5, 2)], since=11, tol=TOL),
    Case("irfftn", lambda x: fft.irfftn(fft.rfftn(x)), [CUBE], since=11, tol=TOL, modes=("export", "trace")),
    Case("irfft2", lambda x: fft.irfft2(fft.rfft2(x), s=(4, 6)), [CUBE], since=11, tol=TOL),
    Case("hfftn", lambda x: fft.hfftn(torch.complex(x, x * 0.5)), [T("f32", 2, 4, 5)], since=11, tol=TOL),
    Case("ihfftn", lambda x: real(fft.ihfftn(x)), [CUBE], since=11, tol=TOL, modes=("export", "trace")),
    Case("fftshift", lambda x: fft.fftshift(x), [ODD]),
    Case("ifftshift", lambda x: fft.ifftshift(x, dim=1), [ODD]),
    Case("arithmetic", lambda x, y: real(torch.complex(x, y) * torch.complex(y, x) + x - torch.complex(x, x) / (y.abs() + 1)),
         [X, T("f32", 3, 6, N=0)], tol=TOL),
    Case("divide", lambda x, y: real(torch.complex(x, y) / torch.complex(y, x + 9)), [X, T("f32", 3, 6, N=0)], tol=TOL),
    Case("divide_by_number", lambda x: (real(torch.complex(x, x + 1) / (2 + 1j)), real(x / (1 - 2j))), [X], tol=TOL),
    Case("times_number", lambda x: real(torch.complex(x, x + 1) * (2 + 1j) - 1j), [X], tol=TOL),
    Case("abs_angle", lambda x, y: (torch.complex(x, y).abs(), torch.complex(x, y).angle()), [X, T("f32", 3, 6, N=0)], tol=TOL),
    Case("conj", lambda x: real(torch.complex(x, x).conj().resolve_conj()), [X], tol=TOL),
    Case("real_imag", lambda x, y: torch.complex(x, y).real + torch.complex(x, y).imag, [X, T("f32", 3, 6, N=0)], tol=TOL),
    Case("polar", lambda x, y: real(torch.polar(x, y)), [X, T("f32", 3, 6, N=0)], tol=TOL),
    Case("exp", lambda x: real(torch.exp(torch.complex(x, x))), [X], tol=TOL),
    Case("moved", lambda x: real(torch.cat([fft.fft(x).t(), fft.fft(x).t()], 1)[1:].reshape(-1)), [T("f32", 3, 4)], dynamic_since=11, tol=TOL),
    Case("sum", lambda x: real(fft.fft(x).sum(1)), [X], tol=TOL),
    Case("matmul", lambda x: real(fft.fft(x) @ torch.complex(x.t(), x.t())), [X], tol=(1e-4, 1e-3)),
    Case("view_as_complex", lambda x: torch.view_as_complex(x).abs(), [T("f32", 3, 2, N=0)], tol=TOL),
    Case("filter", lambda x: fft.irfft(fft.rfft(x) * fft.rfft(x.flip(1)), x.shape[1]), [X], since=11, tol=(1e-4, 1e-3)),
    Case("stft", lambda x, w: real(torch.stft(x, 8, 3, window=w, return_complex=True)),
         [T("f32", 2, 20, N=0), T("f32", 8, low=0.1, high=1)], tol=TOL),
    Case("stft_ten", lambda x: real(torch.stft(x, 10, return_complex=True)), [T("f32", 100)], tol=(1e-4, 1e-5)),
    Case("stft_window", lambda x, w: torch.stft(x, 8, win_length=5, window=w, center=False, normalized=True,
                                                onesided=False, return_complex=True).abs(),
         [T("f32", 24), T("f32", 5, low=0.1, high=1)], dynamic_since=11, tol=TOL),
]
