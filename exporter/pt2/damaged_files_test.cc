#include <minizip/zip.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "exporter/files/test_folder.h"
#include "exporter/ir/verify.h"
#include "exporter/pt2/exported_program.h"
#include "exporter/pt2/program_files_test_util.h"
#include "exporter/zip/zip_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rules_onnx::pt2 {
namespace {

using ::testing::HasSubstr;

absl::Status Read(const std::string& path, const ReadOptions& options = {}) {
  diagnostics::Diagnostics diagnostics;
  return ReadExportedProgram(path, options, &diagnostics).status();
}

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void Write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// Each refusal is one line that begins with the file.
void ExpectRefused(const std::string& name, const std::string& reason) {
  const absl::Status status = Read(ProgramFile(name));
  ASSERT_FALSE(status.ok()) << name;
  EXPECT_THAT(std::string(status.message()), HasSubstr(reason)) << name;
  EXPECT_THAT(std::string(status.message()), HasSubstr(ProgramFile(name))) << name;
  EXPECT_THAT(std::string(status.message()), testing::Not(HasSubstr("\n"))) << name;
}

TEST(DamagedFilesTest, Version) {
  ExpectRefused("newer", "the file was written with schema 9.1 (torch 2.");
  ExpectRefused("newer", "newer than the schema 8.x that this exporter reads");
}

TEST(DamagedFilesTest, Weights) {
  ExpectRefused("no_config", "model_weights_config.json");
  ExpectRefused("no_data",
                "tensor 'features.0.weight' lacks its data, entry convnet/data/weights/weight_0");
  ExpectRefused("short_data", "tensor 'features.0.weight' reaches beyond its data");
  ExpectRefused("no_tensor", "tensor 'classifier.bias' is not in the file");
  ExpectRefused("wrong_type",
                "'classifier.bias' is float32[2] in the graph, and its data has another type");
  ExpectRefused("pickled", "'classifier.bias' is no plain tensor");
  ExpectRefused("compressed", "is compressed");
  ExpectRefused("big_endian", "byte order 'big'");
}

TEST(DamagedFilesTest, Json) {
  ExpectRefused("not_json", "models/model.json: not JSON");
  ExpectRefused("deep", "models/model.json: not JSON");
  ExpectRefused("wrong_json", "graph_module.graph.nodes: expected a list, found an object");
}

TEST(DamagedFilesTest, Graph) {
  ExpectRefused("unknown_value", "make_programs.py:");
  ExpectRefused("unknown_value",
                "torch.ops.aten.batch_norm.default: uses 'conv2d' before it is defined");
  ExpectRefused("bad_argument", "argument 'weight' is missing");
}

TEST(DamagedFilesTest, WritesThatTheFileDoesNotTell) {
  ExpectRefused("custom_write", "torch.ops.test.increase.default: an operator without results");
  ExpectRefused("custom_write_core", "a custom operator that writes to its arguments");
}

TEST(DamagedFilesTest, OtherFiles) {
  ExpectRefused("missing", "no such file");
  ExpectRefused("state_dict", "it was written by torch.save and holds no program");
  ExpectRefused("torchscript", "it is a TorchScript program");
  ExpectRefused("old", "has no member 'schema_version'");
  ExpectRefused("zip", "it is a zip file without an exported program");
  const files::TestFolder folder;
  Write(folder.File("text.pt2"), "import torch\n");
  EXPECT_THAT(std::string(Read(folder.File("text.pt2")).message()), HasSubstr("plain text"));
  EXPECT_FALSE(Read(folder.path()).ok());
}

TEST(DamagedFilesTest, SeveralModels) {
  ExpectRefused("two_models", "holds several models; choose one of model, other");
  EXPECT_TRUE(Read(ProgramFile("two_models"), {.model = "model"}).ok());
  EXPECT_THAT(std::string(Read(ProgramFile("two_models"), {.model = "third"}).message()),
              HasSubstr("holds no model 'third'"));
}

TEST(DamagedFilesTest, Truncation) {
  const files::TestFolder folder;
  const std::string content = Content(ProgramFile("cond"));
  for (size_t size = 0; size < content.size(); size += 97) {
    Write(folder.File("cut.pt2"), content.substr(0, size));
    const absl::Status status = Read(folder.File("cut.pt2"));
    ASSERT_FALSE(status.ok()) << size;
    EXPECT_THAT(std::string(status.message()), HasSubstr("cut.pt2")) << size;
  }
}

// A copy of an archive with other content in one entry, and right checksums.
class Copy {
 public:
  explicit Copy(const std::string& path) : zip_(zip::ZipReader::Open(path).value()) {}

  std::string Entry(const std::string& name) const { return zip_.Read(name).value(); }

  void Save(const std::string& path, const std::string& changed, const std::string& content) const {
    const zipFile archive = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
    ASSERT_NE(archive, nullptr);
    for (const zip::Entry& entry : zip_.entries()) {
      const std::string bytes = entry.name == changed ? content : Entry(entry.name);
      ASSERT_EQ(zipOpenNewFileInZip(archive, entry.name.c_str(), nullptr, nullptr, 0, nullptr, 0,
                                    nullptr, 0, 0),
                ZIP_OK);
      ASSERT_EQ(zipWriteInFileInZip(archive, bytes.data(), bytes.size()), ZIP_OK);
      ASSERT_EQ(zipCloseFileInZip(archive), ZIP_OK);
    }
    ASSERT_EQ(zipClose(archive, nullptr), ZIP_OK);
  }

 private:
  zip::ZipReader zip_;
};

// Whatever a model's text says, the answer is a program or a message with the file's name.
void ExpectAnswer(const std::string& path) {
  diagnostics::Diagnostics diagnostics;
  const auto program = ReadExportedProgram(path, {}, &diagnostics);
  if (program.ok()) {
    const absl::Status verified = ir::VerifyGraph(program->graph);
    EXPECT_TRUE(verified.ok()) << verified;
  } else {
    EXPECT_THAT(std::string(program.status().message()), HasSubstr(path));
  }
}

TEST(DamagedFilesTest, ChangedBytesOfTheFile) {
  const files::TestFolder folder;
  const std::string path = folder.File("changed.pt2");
  const std::string good = Content(ProgramFile("cond"));
  for (size_t i = 0; i < good.size(); i += 131) {
    std::string content = good;
    content[i] ^= 0x20;
    Write(path, content);
    ExpectAnswer(path);
  }
}

TEST(DamagedFilesTest, ChangedBytesOfTheJson) {
  const files::TestFolder folder;
  const std::string path = folder.File("changed.pt2");
  for (const std::string program : {"while_loop", "sizes", "lists"}) {
    const Copy copy(ProgramFile(program));
    const std::string entry = absl::StrCat(program, "/models/model.json");
    const std::string good = copy.Entry(entry);
    for (size_t i = 0; i < good.size(); i += 23) {
      std::string text = good;
      text[i] ^= 1 << (i % 6);
      copy.Save(path, entry, text);
      ExpectAnswer(path);
    }
  }
}

// Every string of the text in turn replaced by another one of it.
TEST(DamagedFilesTest, SwappedStringsOfTheJson) {
  const files::TestFolder folder;
  const std::string path = folder.File("changed.pt2");
  const Copy copy(ProgramFile("while_loop"));
  const std::string good = copy.Entry("while_loop/models/model.json");
  const std::vector<std::string> parts = absl::StrSplit(good, '"');
  for (size_t i = 1; i + 14 < parts.size(); i += 2) {
    std::vector<std::string> changed = parts;
    std::swap(changed[i], changed[i + 14]);
    copy.Save(path, "while_loop/models/model.json", absl::StrJoin(changed, "\""));
    ExpectAnswer(path);
  }
}

TEST(DamagedFilesTest, ChangedBytesOfThePayloads) {
  const files::TestFolder folder;
  const std::string path = folder.File("changed.pt2");
  const Copy copy(ProgramFile("tied"));
  for (const std::string entry : {"tied/data/weights/model_weights_config.json",
                                  "tied/data/constants/model_constants_config.json"}) {
    const std::string good = copy.Entry(entry);
    for (size_t i = 0; i < good.size(); ++i) {
      std::string text = good;
      text[i] ^= 1 << (i % 6);
      copy.Save(path, entry, text);
      ExpectAnswer(path);
    }
  }
}

}  // namespace
}  // namespace rules_onnx::pt2
