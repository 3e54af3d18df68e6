"""Repositories and toolchains that rules_onnx needs.

Each repository is declared only if the workspace has not declared one of that
name before, so that a monorepo can put its own abseil, protobuf, LibTorch, …
in place. Such a repository offers the target that third_party/BUILD.bazel names.

These functions are for WORKSPACE; extensions.bzl does the same for MODULE.bazel.
"""

load("@bazel_tools//tools/build_defs/repo:utils.bzl", "maybe")
load("//rules/private/repositories:bazel_rules.bzl", "coverage_stub_repository", "rules_cc_repository")
load("//rules/private/repositories:onnx.bzl", "onnx_sources_repository")
load("//rules/private/repositories:python.bzl", "python_repository")
load("//rules/private/repositories:system.bzl", "system_library_repository", "system_tool_repository")
load("//rules/private/repositories:torch.bzl", "torch_repository")

# Static: at start-up the dynamic linker needs longer for abseil's 60 shared
# libraries than onnx-export needs for its work.
_ABSL_LIBRARIES = [
    "absl_bad_optional_access",
    "absl_bad_variant_access",
    "absl_base",
    "absl_city",
    "absl_civil_time",
    "absl_cord",
    "absl_cord_internal",
    "absl_cordz_functions",
    "absl_cordz_handle",
    "absl_cordz_info",
    "absl_debugging_internal",
    "absl_demangle_internal",
    "absl_exponential_biased",
    "absl_graphcycles_internal",
    "absl_hash",
    "absl_hashtablez_sampler",
    "absl_int128",
    "absl_log_severity",
    "absl_low_level_hash",
    "absl_malloc_internal",
    "absl_raw_hash_set",
    "absl_raw_logging_internal",
    "absl_spinlock_wait",
    "absl_stacktrace",
    "absl_status",
    "absl_statusor",
    "absl_str_format_internal",
    "absl_strerror",
    "absl_strings",
    "absl_strings_internal",
    "absl_symbolize",
    "absl_synchronization",
    "absl_throw_delegate",
    "absl_time",
    "absl_time_zone",
]

def rules_onnx_bazel_repositories():
    """Bazel's own rule sets, from where Debian installs them."""
    maybe(rules_cc_repository, name = "rules_cc", path = "/usr/share/bazel/rules/cc")
    maybe(native.local_repository, name = "rules_java", path = "/usr/share/bazel/rules/java")
    maybe(native.local_repository, name = "rules_proto", path = "/usr/share/bazel/rules/proto")
    maybe(native.local_repository, name = "bazel_skylib", path = "/usr/share/bazel/tools/skylib")
    maybe(coverage_stub_repository, name = "remote_coverage_tools")

def rules_onnx_own_repositories(declare = maybe):
    """What is not a rule set: the C++ libraries that the exporter is built with, and a Python.

    Args:
      declare: called with a repository rule, a name and attributes.
    """
    declare(
        system_library_repository,
        name = "rules_onnx_absl",
        header = "absl/status/statusor.h",
        package = "libabsl-dev",
        static_libraries = _ABSL_LIBRARIES,
        linkopts = ["-lpthread"],
    )
    declare(
        system_library_repository,
        name = "rules_onnx_protobuf",
        header = "google/protobuf/message.h",
        package = "libprotobuf-dev",
        static_libraries = ["protobuf"],
        linkopts = ["-lpthread"],
    )
    declare(
        system_tool_repository,
        name = "rules_onnx_protoc",
        package = "protobuf-compiler",
        tool = "protoc",
    )
    declare(
        system_library_repository,
        name = "rules_onnx_xxhash",
        header = "xxhash.h",
        package = "libxxhash-dev",
        static_libraries = ["xxhash"],
    )
    declare(
        system_library_repository,
        name = "rules_onnx_simdjson",
        header = "simdjson.h",
        linkopts = ["-lsimdjson"],
        package = "libsimdjson-dev",
    )
    declare(
        system_library_repository,
        name = "rules_onnx_cli11",
        header = "CLI/CLI.hpp",
        package = "libcli11-dev",
    )
    declare(
        system_library_repository,
        name = "rules_onnx_minizip",
        header = "minizip/unzip.h",
        package = "libminizip-dev",
        static_libraries = ["minizip", "z"],
    )
    declare(
        system_library_repository,
        name = "rules_onnx_gtest",
        header = "gmock/gmock.h",
        linkopts = ["-lpthread"],
        package = "libgmock-dev",
        static_libraries = ["gmock", "gtest", "gtest_main"],
    )
    declare(onnx_sources_repository, name = "rules_onnx_onnx")
    declare(torch_repository, name = "rules_onnx_torch")
    declare(python_repository, name = "rules_onnx_python")

def rules_onnx_repositories():
    """Everything that rules_onnx needs and the workspace has not declared."""
    rules_onnx_bazel_repositories()
    rules_onnx_own_repositories()

def rules_onnx_toolchains():
    """Registers the toolchains of this repository; those registered before win."""
    native.register_toolchains("@rules_onnx//rules/toolchains:all")
