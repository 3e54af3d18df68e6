"""Public rules and providers of rules_onnx."""

load("//rules/private:onnx_export.bzl", _onnx_export = "onnx_export")
load("//rules/private:onnx_export_test.bzl", _onnx_export_test = "onnx_export_test")
load("//rules/private:onnx_lowering_library.bzl", _onnx_lowering_library = "onnx_lowering_library")
load("//rules/private:onnx_test_data.bzl", _onnx_test_data = "onnx_test_data")
load("//rules/private:providers.bzl", _OnnxInfo = "OnnxInfo", _TorchModelInfo = "TorchModelInfo")
load("//rules/private:toolchains.bzl", _onnx_exporter_toolchain = "onnx_exporter_toolchain", _onnx_python_toolchain = "onnx_python_toolchain")
load("//rules/private:torch_model.bzl", _torch_model = "torch_model")

OnnxInfo = _OnnxInfo
TorchModelInfo = _TorchModelInfo
onnx_export = _onnx_export
onnx_export_test = _onnx_export_test
onnx_lowering_library = _onnx_lowering_library
onnx_test_data = _onnx_test_data
onnx_exporter_toolchain = _onnx_exporter_toolchain
onnx_python_toolchain = _onnx_python_toolchain
torch_model = _torch_model
