#!/usr/bin/env python3
"""Writes docs/rules.md from the Starlark files of rules/; with --check compares.

Starlark files are Python enough to be run with stand-ins for rule, attr and
provider that keep what they are given.
"""

import json
import pathlib
import re
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/rules.md"
PRIVATE = ROOT / "rules/private"


class Loaded:
    """Runs .bzl files, each once, and resolves their loads."""

    def __init__(self):
        self.scopes = {}

    def scope(self, path):
        if path not in self.scopes:
            self.scopes[path] = scope = stand_ins()
            scope["load"] = lambda source, *names, **renamed: self.load(path, scope, source, names, renamed)
            text = path.read_text()
            exec(compile(text, str(path), "exec"), scope)
            scope["__doc__"] = re.match(r'"""(.*?)"""', text, re.DOTALL)[1]
        return self.scopes[path]

    def load(self, path, scope, source, names, renamed):
        folder, _, file = source.rpartition(":")
        if folder.startswith("@"):  # only functions, which nothing here calls
            return
        base = path.parent if not folder else ROOT / folder.lstrip("/")
        other = self.scope(base / file)
        for name in names:
            scope[name] = other[name]
        for name, original in renamed.items():
            scope[name] = other[original]


def stand_ins():
    def attribute(kind):
        return lambda **fields: types.SimpleNamespace(kind=kind, **fields)

    kinds = ("bool", "int", "int_list", "label", "label_list", "string", "string_dict", "string_list", "string_list_dict")
    return {
        "attr": types.SimpleNamespace(**{kind: attribute(kind) for kind in kinds}),
        "provider": lambda **fields: types.SimpleNamespace(what="provider", **fields),
        "aspect": lambda **fields: types.SimpleNamespace(what="aspect", **fields),
        "rule": lambda **fields: types.SimpleNamespace(what="rule", **fields),
        "struct": lambda **fields: types.SimpleNamespace(**fields),
        "Label": str,
        "config_common": types.SimpleNamespace(),
        "platform_common": types.SimpleNamespace(ToolchainInfo=None),
        "DefaultInfo": None,
        "json": json,
        "type": lambda value: {str: "string"}.get(type(value), type(value).__name__),  # as Starlark names them
    }


def default_text(attribute):
    if getattr(attribute, "mandatory", False):
        return "required"
    value = getattr(attribute, "default", None)
    if value is None or value == "":
        return ""
    return "`" + json.dumps(value) + "`" if not isinstance(value, bool) else f"`{value}`"


def rule_section(name, rule):
    lines = [f"## {name}", "", rule.doc, "", "| attribute | type | default | |", "| --- | --- | --- | --- |"]
    for attribute_name, attribute in sorted(rule.attrs.items()):
        if attribute_name.startswith("_"):
            continue
        doc = attribute.doc
        if getattr(attribute, "values", None):
            doc += " One of " + ", ".join(f"`{value}`" for value in attribute.values) + "."
        lines.append(f"| {attribute_name} | {attribute.kind} | {default_text(attribute)} | {doc} |")
    return "\n".join(lines)


def provider_section(name, provider):
    lines = [f"## {name}", "", provider.doc, "", "| field | |", "| --- | --- |"]
    lines += [f"| {field} | {doc} |" for field, doc in sorted(provider.fields.items())]
    return "\n".join(lines)


def aspect_section(name, aspect):
    return f"## {name}\n\n{aspect.doc}"


def page():
    public = Loaded().scope(ROOT / "rules/defs.bzl")
    sections = ["# Bazel rules\n\n`load(\"@rules_onnx//rules:defs.bzl\", …)`. "
                "Written by tools/generate_rule_docs.py from the Starlark files."]
    for what, section in (("rule", rule_section), ("aspect", aspect_section), ("provider", provider_section)):
        for name, value in sorted(public.items()):
            if not name.startswith("_") and getattr(value, "what", None) == what:
                sections.append(section(name, value))
    return "\n\n".join(sections) + "\n"


def main():
    text = page()
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != text:
            sys.exit("docs/rules.md is stale: run tools/generate_rule_docs.py")
    else:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
