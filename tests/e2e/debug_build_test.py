"""A debug build of the exporter gives the bytes of the release build.

Only where RULES_ONNX_DEBUG_BIN names the folder of the debug build's programs: `tools/test debug` makes one, which takes
some ten minutes of two cores.
"""

import os
import pathlib
import tempfile
import unittest

from tests.e2e.projects import BIN, NETWORK, checked, digest, run, save_exported_program

DEBUG_BIN = os.environ.get("RULES_ONNX_DEBUG_BIN")
OPSETS = (9, 13, 18, 23)

# Operators whose lowerings compute constants, choose forms by opset and name many values.
MIXED = '''\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(50, 16)
        self.attention = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.lstm = torch.nn.LSTM(16, 8, bidirectional=True, batch_first=True)

    def forward(self, x):
        ids = (x.flatten(1)[:, :12].abs() * 49).long()
        h = self.attention(self.embed(ids))
        h, _ = self.lstm(torch.nn.functional.gelu(h))
        pooled = torch.cat([h.mean(1), h.amax(1), h.std(1)], 1)
        return pooled.softmax(1), torch.where(pooled > 0, pooled.log1p(), pooled).sum(1, keepdim=True)


def build():
    return Net(), (torch.rand(2, 3, 8, 8),)
'''


@unittest.skipUnless(DEBUG_BIN, "no debug build in RULES_ONNX_DEBUG_BIN")
class DebugBuildTest(unittest.TestCase):
    def export(self, programs, folder, layout):
        """file name -> digest of what the exporter of a build wrote."""
        out = folder / "out"
        out.mkdir()
        checked(run([pathlib.Path(programs).absolute() / "onnx-export", "export", "--model", folder / "net.pt2", "--external-data", layout,
                     "--opsets", ",".join(map(str, OPSETS)), "--strip-doc-string", "false", "--output", out / "net.opset{opset}.onnx"], folder))
        digests = {str(path.relative_to(out)): digest(path) for path in sorted(out.rglob("*")) if path.is_file()}
        out.rename(folder / f"out.{len(list(folder.iterdir()))}")
        return digests

    def test_same_bytes(self):
        for name, network in (("network", NETWORK), ("mixed", MIXED)):
            for layout in ("none", "single", "per_tensor", "shared"):
                with self.subTest(name=name, layout=layout), tempfile.TemporaryDirectory() as scratch:
                    folder = pathlib.Path(scratch)
                    (folder / "net.py").write_text(network)
                    save_exported_program(folder)
                    release = self.export(BIN, folder, layout)
                    self.assertGreaterEqual(len(release), len(OPSETS))
                    self.assertEqual(release, self.export(DEBUG_BIN, folder, layout))


if __name__ == "__main__":
    unittest.main()
