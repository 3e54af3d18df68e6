"""Providers of rules_onnx."""

OnnxInfo = provider(
    doc = "The ONNX artifacts of an onnx_export target.",
    fields = {
        "artifacts": "List of structs, one for each opset and layout: opset (int), external_data (its layout), " +
                     "model (the .onnx File), data (list of Files and directories that it refers to).",
        "debug": "File: module scope and source line of each node of graph.",
        "graph": "File: the captured graph, the same for every artifact.",
        "program": "File: the program that was captured (.pt or .pt2).",
        "verify_files": "List of structs (flag, file): what `onnx-export verify` is to be given, after verify_flags.",
        "verify_flags": "List of strings: flags that tell `onnx-export verify` how the artifacts were made.",
        "weights": "File: every tensor of the program, once.",
    },
)

TorchModelInfo = provider(
    doc = "A PyTorch program that was made at build time.",
    fields = {
        "inputs": "File: the example inputs, a tuple written by torch.save.",
        "program": "File: the saved program (.pt or .pt2).",
    },
)
