"""Rows of loss.cc, class_loss.cc and ctc.cc."""

import torch
import torch.nn.functional as F
from torch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions

from case import Case, T

X = T("f32", 4, 5, N=0)
Y = T("f32", 4, 5, N=0)
P = T("f32", 4, 5, low=0, high=1, N=0)
C = T("i64", 4, low=0, high=5, N=0)
REDUCTIONS = ("none", "mean", "sum")
CHUNKS = LinearCrossEntropyOptions(batch_chunk_size=2)


def signs(x):
    return torch.where(x > 0, 1.0, -1.0)


def log_probabilities(x):
    return x.log_softmax(-1)


def ctc(reduction, zero_infinity=False, blank=0, inputs=(7, 5, 3), targets=(3, 1, 3)):
    """Losses of one sample that ends early and of one that is too short for its target."""
    return lambda x, y: F.ctc_loss(log_probabilities(x), y, inputs, targets, blank, reduction, zero_infinity)


def ctc_forward(x: torch.Tensor, labels: torch.Tensor, inputs: torch.Tensor, targets: torch.Tensor):
    """What cannot be aligned has an infinite loss here, whatever zero_infinity is."""
    return torch._ctc_loss(x.log_softmax(-1), labels, inputs, targets, 0, True)[0]


CTC = ("trace",)  # torch.export asks eager PyTorch for a size and fails
LABELS = torch.tensor([[1, 1, 2], [3, -1, 9], [2, 3, 2]])

ROWS = [
    *[Case(f"{f.__name__}_{r}", lambda x, y, f=f, r=r: f(x, y, reduction=r), [X, Y])
      for f in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss) for r in REDUCTIONS],
    Case("smooth_l1_beta", lambda x, y: F.smooth_l1_loss(x, y, beta=0.3), [X, Y]),
    Case("smooth_l1_beta_0", lambda x, y: F.smooth_l1_loss(x, y, beta=0.0), [X, Y]),
    Case("huber_delta", lambda x, y: F.huber_loss(x, y, delta=2.0), [X, Y]),
    *[Case(f"linear_cross_entropy_{r}", lambda x, w, t, r=r: F.linear_cross_entropy(x, w, t, reduction=r, options=CHUNKS),
           [T("f32", 8, 3), T("f32", 4, 3), T("i64", 8, low=0, high=4)], modes=("export",), tol=(1e-4, 1e-5)) for r in ("none", "mean", "sum")],
    Case("linear_cross_entropy_smoothed", lambda x, w, t, c: F.linear_cross_entropy(x, w, t, weight=c, ignore_index=1, label_smoothing=0.2, options=CHUNKS),
         [T("f32", 8, 3), T("f32", 4, 3), T("i64", 8, low=0, high=4), T("f32", 4, low=0.5, high=2)], modes=("export",), tol=(1e-4, 1e-5)),
    *[Case(f"binary_cross_entropy_{r}", lambda x, y, r=r: F.binary_cross_entropy(x, y, reduction=r), [P, P])
      for r in REDUCTIONS],
    Case("binary_cross_entropy_weight", lambda x, y, w: F.binary_cross_entropy(x, y, w), [P, P, T("f32", 5)]),
    Case("binary_cross_entropy_edges", lambda x, y: F.binary_cross_entropy(x, y, reduction="none"),
         [torch.tensor([0.0, 1.0, 0.0, 1.0]), torch.tensor([0.0, 1.0, 1.0, 0.0])]),
    Case("bce_logits", lambda x, y: F.binary_cross_entropy_with_logits(x, y), [X, P]),
    Case("bce_logits_weights", lambda x, y, w, p: F.binary_cross_entropy_with_logits(x, y, w, pos_weight=p),
         [X, P, T("f32", 5), T("f32", 5, low=0, high=3)]),
    Case("kl_div", lambda x, y: F.kl_div(F.log_softmax(x, 1), y, reduction="batchmean"), [X, P]),
    Case("kl_div_zero", lambda x: F.kl_div(x, torch.zeros(3), reduction="none"), [T("f32", 3)]),
    Case("kl_div_log", lambda x, y: F.kl_div(x, y, reduction="sum", log_target=True), [X, Y]),
    Case("poisson_nll", lambda x, y: F.poisson_nll_loss(x, y, full=True), [X, T("f32", 4, 5, low=0, high=6, N=0)]),
    Case("poisson_nll_plain", lambda x, y: F.poisson_nll_loss(x, y, log_input=False), [P, Y]),
    Case("soft_margin", lambda x, y: F.soft_margin_loss(x, signs(y)), [X, Y]),
    Case("hinge_embedding", lambda x, y: F.hinge_embedding_loss(x, signs(y), margin=2.0), [X, Y]),
    Case("margin_ranking", lambda x, y, t: F.margin_ranking_loss(x, y, signs(t), margin=0.5), [X, Y, T("f32", 4, 5, N=0)]),
    Case("cosine_embedding", lambda x, y, t: F.cosine_embedding_loss(x, y, signs(t), margin=0.2), [X, Y, T("f32", 4, N=0)]),
    Case("triplet", lambda a, p, n: F.triplet_margin_loss(a, p, n), [X, Y, T("f32", 4, 5, N=0)]),
    Case("triplet_swap", lambda a, p, n: F.triplet_margin_loss(a, p, n, p=1.0, swap=True), [X, Y, T("f32", 4, 5, N=0)]),
    Case("soft_margin_infinite", lambda x, y: F.soft_margin_loss(x * 100, signs(y), reduction="none"), [X, Y]),
    # unsigned integers wrap round before they become floats
    *[Case(f"margin_ranking_{dtype}", lambda x, y, t: F.margin_ranking_loss(x, y, t, margin=0.5, reduction="none"),
           [T(dtype, 4, 5, high=200, N=0), T(dtype, 4, 5, high=200, N=0), T(dtype, 4, 5, high=9, N=0)]) for dtype in ("u8", "i32")],
    *[Case(f"cosine_embedding_{t}_{u}", lambda x, y: F.cosine_embedding_loss(x, y, torch.tensor([1, -1, 1, -1]), reduction="none"),
           [T(t, 4, 5, low=1, high=100), T(u, 4, 5, low=1, high=9)], tol=(1e-3, 1e-3) if "f16" in (t, u) else None)
      for t, u in (("u8", "i64"), ("i16", "f64"), ("f16", "f32"), ("u8", "f16"))],
    Case("cosine_embedding_u8", lambda x, y, t: F.cosine_embedding_loss(x, y, t, reduction="none"),
         [T("u8", 4, 5, high=90, N=0), T("u8", 4, 5, high=90, N=0), T("u8", 4, high=2, N=0)]),
    Case("triplet_u8", lambda a, p, n: F.triplet_margin_loss(a, p, n, swap=True, reduction="none"),
         [T("u8", 4, 5, high=200, N=0)] * 3, tol=(1e-5, 1e-3)),
    Case("pairwise_distance_u8", lambda x, y: F.pairwise_distance(x, y), [T("u8", 4, 5, high=200, N=0), T("u8", 4, 5, high=200, N=0)]),
    Case("pairwise_distance", lambda x, y: F.pairwise_distance(x, y, p=3.0, keepdim=True), [X, Y]),
    *[Case(f"nll_{r}", lambda x, y, r=r: F.nll_loss(x, y, reduction=r), [X, C]) for r in REDUCTIONS],
    Case("nll_weight_ignore", lambda x, y, w: F.nll_loss(x, y, w, ignore_index=1), [X, C, T("f32", 5, low=0.1, high=2)]),
    Case("nll_2d", lambda x, y: F.nll_loss(x, y), [T("f32", 2, 3, 4, 5, N=0), T("i64", 2, 4, 5, low=0, high=3, N=0)]),
    Case("nll_single", lambda x, y: F.nll_loss(x, y), [T("f32", 5), torch.tensor(2)]),
    *[Case(f"cross_entropy_{r}", lambda x, y, r=r: F.cross_entropy(x, y, reduction=r), [X, C]) for r in REDUCTIONS],
    Case("cross_entropy_smoothing", lambda x, y: F.cross_entropy(x, y, label_smoothing=0.2), [X, C]),
    Case("cross_entropy_all", lambda x, y, w: F.cross_entropy(x, y, w, ignore_index=0, label_smoothing=0.3),
         [X, C, T("f32", 5, low=0.1, high=2)]),
    Case("cross_entropy_probabilities", lambda x, y, w: F.cross_entropy(x, y, w, label_smoothing=0.3),
         [X, P, T("f32", 5, low=0.1, high=2)]),
    Case("cross_entropy_image", lambda x, y: F.cross_entropy(x, y, reduction="none"),
         [T("f32", 2, 3, 4, N=0), T("i64", 2, 4, low=0, high=3, N=0)]),
    *[Case(f"multi_margin_{p}", lambda x, y, p=p: F.multi_margin_loss(x, y, p=p), [X, C]) for p in (1, 2)],
    Case("multi_margin_weight", lambda x, y, w: F.multi_margin_loss(x, y, margin=0.5, weight=w, reduction="none"),
         [X, C, T("f32", 5, low=0.1, high=2)]),
    Case("multilabel_margin", lambda x, y: F.multilabel_margin_loss(x, y),
         [T("f32", 2, 4), torch.tensor([[3, 0, -1, 1], [1, -1, 0, 2]])], since=11,
         modes=("export", "trace")),
    Case("multilabel_margin_single", lambda x, y: F.multilabel_margin_loss(x, y, reduction="none"),
         [T("f32", 4), torch.tensor([3, 0, -1, 1])], since=11, modes=("trace",)),
    *[Case(f"ctc_{r}", ctc(r), [T("f32", 7, 3, 5), LABELS], modes=CTC) for r in REDUCTIONS],
    Case("ctc_zero_infinity", ctc("none", True), [T("f32", 7, 3, 5, T=0), LABELS], modes=CTC),
    Case("ctc_blank_f64", ctc("none", blank=4), [T("f64", 7, 3, 5), LABELS.clamp(0, 3)], modes=CTC),
    Case("ctc_concatenated", ctc("none", inputs=(7, 7, 0), targets=(3, 0, 1)), [T("f32", 7, 3, 5), torch.tensor([1, 2, 2, 3])], since=11, modes=CTC),
    Case("ctc_without_targets", ctc("none", inputs=(7, 7, 0), targets=(0, 0, 0)), [T("f32", 7, 3, 5), torch.zeros(3, 0, dtype=torch.int64)], modes=CTC),
    Case("ctc_forward", ctc_forward, [T("f32", 4, 2, 5), LABELS[[0, 2]], torch.tensor([2, 4]), torch.tensor([3, 3])], modes=("trace", "script")),
    Case("ctc_zero_infinity_mean", ctc("mean", True), [T("f32", 7, 3, 5), LABELS], modes=CTC),
    Case("ctc_single", lambda x, y: F.ctc_loss(log_probabilities(x), y, (6,), (3,), reduction="none"),
         [T("f32", 7, 5), torch.tensor([1, 1, 2])], since=11, modes=CTC),
    Case("ctc_tensor", lambda x, y, n, m: F.ctc_loss(log_probabilities(x), y, n, m), [T("f32", 7, 3, 5), LABELS, torch.tensor([7, 5, 6]), torch.tensor([3, 1, 2])],
         modes=CTC),
    Case("ctc_tensor_concatenated", lambda x, y, n, m: F.ctc_loss(log_probabilities(x), y, n, m, reduction="sum"),
         [T("f32", 7, 3, 5), torch.tensor([1, 2, 2, 3, 4, 1]), torch.tensor([7, 5, 6]), torch.tensor([3, 1, 2])], since=11, modes=CTC),
]
