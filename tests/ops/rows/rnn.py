"""Rows of rnn.cc, packed.cc."""

import itertools

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from case import Case, T

# torch.export ties the number of steps to the example.
STEPS = T("f32", 5, 2, 4, N=1)
FIRST = T("f32", 2, 5, 4, N=0)
MOVING = T("f32", 5, 2, 4, S=0, N=1)


def build(kind, *args, **kwargs):
    torch.manual_seed(11)
    return kind(*args, **kwargs).eval()


class Packed(nn.Module):
    """Padded sequences of the given lengths, packed, run and padded again, to the longest or to the input's length."""

    def __init__(self, kind, is_sorted=True, whole=False, **kwargs):
        super().__init__()
        self.net = build(kind, 4, 3, batch_first=True, **kwargs)
        self.is_sorted, self.whole = is_sorted, whole

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=self.is_sorted)
        output, state = self.net(packed)
        padded, sizes = pad_packed_sequence(output, batch_first=True, total_length=x.shape[1] if self.whole else None)
        return padded, sizes, state


ROWS = [
    *[Case(f"{kind.__name__.lower()}_{layers}{'_both' if both else ''}",
           build(kind, 4, 3, num_layers=layers, bidirectional=both), [STEPS], tol=(1e-4, 1e-5))
      for kind, layers, both in itertools.product((nn.LSTM, nn.GRU, nn.RNN), (1, 2), (False, True))],
    *[Case(f"{kind.__name__.lower()}_steps", build(kind, 4, 3, bidirectional=True), [MOVING], tol=(1e-4, 1e-5), modes=("trace",))
      for kind in (nn.LSTM, nn.GRU, nn.RNN)],
    Case("rnn_relu", build(nn.RNN, 4, 3, nonlinearity="relu"), [STEPS], tol=(1e-4, 1e-5)),
    *[Case(f"{kind.__name__.lower()}_batch_first", build(kind, 4, 3, batch_first=True, bias=False), [FIRST], tol=(1e-4, 1e-5))
      for kind in (nn.LSTM, nn.GRU, nn.RNN)],
    Case("lstm_state", build(nn.LSTM, 4, 3), [STEPS, (T("f32", 1, 2, 3, N=1), T("f32", 1, 2, 3, N=1))], tol=(1e-4, 1e-5)),
    Case("gru_state", build(nn.GRU, 4, 3), [STEPS, T("f32", 1, 2, 3, N=1)], tol=(1e-4, 1e-5)),
    Case("lstm_unbatched", build(nn.LSTM, 4, 3), [T("f32", 5, 4)], tol=(1e-4, 1e-5)),
    *[Case(f"lstm_projected_{layers}{'_both' if both else ''}", build(nn.LSTM, 4, 5, layers, proj_size=3, bidirectional=both),
           [MOVING], tol=(1e-4, 1e-5), modes=("export", "trace")) for layers, both in ((1, False), (2, True))],
    Case("lstm_projected_state", build(nn.LSTM, 4, 5, proj_size=2, bias=False),
         [STEPS, (T("f32", 1, 2, 2, N=1), T("f32", 1, 2, 5, N=1))], tol=(1e-4, 1e-5)),
    Case("lstm_cell", build(nn.LSTMCell, 4, 3), [T("f32", 2, 4, N=0)], tol=(1e-4, 1e-5)),
    Case("gru_cell", build(nn.GRUCell, 4, 3), [T("f32", 2, 4, N=0), T("f32", 2, 3, N=0)], tol=(1e-4, 1e-5)),
    Case("rnn_cell", build(nn.RNNCell, 4, 3), [T("f32", 2, 4, N=0)], tol=(1e-4, 1e-5)),
    *[Case(f"packed_{kind.__name__.lower()}", Packed(kind, bidirectional=both),
           [T("f32", 3, 5, 4), torch.tensor([5, 3, 2])], since=11, tol=(1e-4, 1e-5), modes=("trace",))
      for kind, both in ((nn.LSTM, True), (nn.GRU, False))],
    *[Case(f"packed_unsorted{'_whole' if whole else ''}", Packed(nn.LSTM, is_sorted=False, whole=whole),
           [T("f32", 3, 5, 4, N=0, M=1), T("i64", 3, low=1, high=5, N=0)], since=11, tol=(1e-4, 1e-5), modes=("trace",))
      for whole in (False, True)],
    Case("packed_lstm_projected", Packed(nn.LSTM, bidirectional=True, proj_size=2),
         [T("f32", 3, 5, 4), torch.tensor([5, 3, 2])], since=11, tol=(1e-4, 1e-5), modes=("trace",)),
]
