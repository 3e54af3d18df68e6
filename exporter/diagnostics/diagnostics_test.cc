#include "exporter/diagnostics/diagnostics.h"

#include "gtest/gtest.h"

namespace rules_onnx::diagnostics {
namespace {

Diagnostics MakeSample() {
  Diagnostics diagnostics;
  const Diagnostic unsupported = {.id = "unsupported-operator",
                                  .message = "has no lowering",
                                  .op = "aten::foo.bar",
                                  .scope = "AlexNet/Linear[fc]",
                                  .location = "alexnet.py:12",
                                  .hint = "--operator-export-type aten_fallback"};
  diagnostics.Add(unsupported);
  diagnostics.Add({.severity = Severity::kWarning,
                   .id = "dropped-output",
                   .message = "output 'name' is a str and was dropped"});
  Diagnostic again = unsupported;
  again.location = "alexnet.py:30";
  again.scope = "";
  diagnostics.Add(again);
  diagnostics.Add(again);
  diagnostics.Add({.id = "frozen-size", .message = "axis N is fixed", .location = "alexnet.py:3"});
  return diagnostics;
}

TEST(DiagnosticsTest, TextShowsErrorsLast) {
  EXPECT_EQ(MakeSample().ToText(/*colour=*/false),
            "warning: output 'name' is a str and was dropped\n"
            "error: aten::foo.bar: has no lowering (3×, first at alexnet.py:12, in "
            "AlexNet/Linear[fc])\n"
            "  hint: --operator-export-type aten_fallback\n"
            "error: axis N is fixed (at alexnet.py:3)\n");
  EXPECT_EQ(Diagnostics().ToText(false), "");
}

TEST(DiagnosticsTest, ColourOnlyAddsEscapes) {
  Diagnostics diagnostics;
  diagnostics.Add({.id = "x", .message = "bad", .op = "aten::foo", .hint = "do"});
  EXPECT_EQ(diagnostics.ToText(/*colour=*/true),
            "\x1b[1;31merror:\x1b[0m \x1b[1maten::foo\x1b[0m: bad\n  \x1b[36mhint:\x1b[0m do\n");
}

TEST(DiagnosticsTest, JsonHasAllFields) {
  EXPECT_EQ(MakeSample().ToJson(),
            R"({"diagnostics": [
  {"severity": "error", "id": "unsupported-operator", "message": "has no lowering", "op": "aten::foo.bar", "scope": "AlexNet/Linear[fc]", "location": "alexnet.py:12", "hint": "--operator-export-type aten_fallback", "count": 3},
  {"severity": "warning", "id": "dropped-output", "message": "output 'name' is a str and was dropped", "op": "", "scope": "", "location": "", "hint": "", "count": 1},
  {"severity": "error", "id": "frozen-size", "message": "axis N is fixed", "op": "", "scope": "", "location": "alexnet.py:3", "hint": "", "count": 1}
]}
)");
  EXPECT_EQ(Diagnostics().ToJson(), "{\"diagnostics\": []}\n");
}

TEST(DiagnosticsTest, CountsOnlyEqualProblems) {
  Diagnostics diagnostics;
  diagnostics.Add({.id = "a", .message = "m"});
  diagnostics.Add({.severity = Severity::kWarning, .id = "a", .message = "m"});
  diagnostics.Add({.id = "b", .message = "m"});
  diagnostics.Add({.id = "a", .message = "n"});
  diagnostics.Add({.id = "a", .message = "m", .op = "aten::foo"});
  diagnostics.Add({.id = "a", .message = "m", .hint = "other", .count = 4});
  ASSERT_EQ(diagnostics.all().size(), 5);
  EXPECT_EQ(diagnostics.all()[0].count, 5);
  EXPECT_EQ(diagnostics.all()[0].hint, "");
}

TEST(DiagnosticsTest, TellsErrorsFromWarnings) {
  Diagnostics diagnostics;
  diagnostics.AddStatus(absl::OkStatus());
  EXPECT_TRUE(diagnostics.all().empty());
  diagnostics.Add({.severity = Severity::kWarning, .id = "w", .message = "m"});
  EXPECT_FALSE(diagnostics.has_errors());
  diagnostics.AddStatus(absl::NotFoundError("x.pt: no such file"));
  EXPECT_TRUE(diagnostics.has_errors());
  EXPECT_EQ(diagnostics.all()[1].message, "x.pt: no such file");
}

}  // namespace
}  // namespace rules_onnx::diagnostics
