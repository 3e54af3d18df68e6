// Reading of input files; those in testdata are written by numpy and onnx (testdata/make.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "exporter/files/atomic_file.h"
#include "exporter/files/test_folder.h"
#include "exporter/inputs/npy.h"
#include "exporter/inputs/read_inputs.h"

namespace rules_onnx::inputs {
namespace {

using ir::DType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Data(absl::string_view name) { return absl::StrCat("exporter/inputs/testdata/", name); }

Inputs Read(const std::vector<std::string>& items) {
  absl::StatusOr<Inputs> inputs = ReadInputs(items, nullptr);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  return inputs.ok() ? *std::move(inputs) : Inputs();
}

Tensor ReadOne(absl::string_view name) {
  const Inputs inputs = Read({Data(name)});
  EXPECT_EQ(inputs.arguments.size(), 1);
  return inputs.arguments.size() == 1 ? inputs.arguments[0].value.tensor : Tensor();
}

std::string Message(const std::vector<std::string>& items) {
  return std::string(ReadInputs(items, nullptr).status().message());
}

template <typename T>
std::vector<T> Elements(const Tensor& tensor) {
  std::vector<T> elements(tensor.bytes.size() / sizeof(T));
  std::memcpy(elements.data(), tensor.bytes.data(), tensor.bytes.size());
  return elements;
}

TEST(Npz, PositionsComeFirstAndNamesAreKeywords) {
  const Inputs inputs = Read({Data("mixed.npz")});
  ASSERT_EQ(inputs.arguments.size(), 4);
  EXPECT_FALSE(inputs.arguments[0].by_name);
  EXPECT_THAT(inputs.arguments[0].value.tensor.shape(), ElementsAre(2, 3));
  EXPECT_THAT(Elements<float>(inputs.arguments[0].value.tensor), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(inputs.arguments[1].value.tensor.shape(), ElementsAre());
  EXPECT_THAT(Elements<int64_t>(inputs.arguments[1].value.tensor), ElementsAre(7));
  EXPECT_EQ(inputs.arguments[2].name, "flag");
  EXPECT_TRUE(inputs.arguments[2].by_name);
  EXPECT_EQ(inputs.arguments[2].value.tensor.dtype, DType::kBool);
  EXPECT_EQ(inputs.arguments[2].value.tensor.bytes, std::string({1, 0}));
  EXPECT_EQ(inputs.arguments[3].value.tensor.dtype, DType::kFloat16);
}

TEST(Npz, Compressed) {
  const Tensor tensor = ReadOne("compressed.npz");
  EXPECT_THAT(tensor.shape(), ElementsAre(2, 300));
  EXPECT_EQ(Elements<int64_t>(tensor), std::vector<int64_t>(600, 1));
}

TEST(Npy, FortranOrderBecomesRowMajor) {
  const Tensor tensor = ReadOne("fortran.npy");
  EXPECT_THAT(tensor.shape(), ElementsAre(2, 3, 4));
  std::vector<int32_t> expected(24);
  for (int i = 0; i < 24; ++i) expected[i] = i;
  EXPECT_EQ(Elements<int32_t>(tensor), expected);
}

TEST(Npy, Empty) { EXPECT_THAT(ReadOne("empty.npy").shape(), ElementsAre(2, 0, 3)); }

TEST(Npy, RefusesOtherTypes) {
  EXPECT_THAT(Message({Data("big_endian.npy")}),
              HasSubstr("big_endian.npy holds elements of type '>f4'"));
  EXPECT_THAT(Message({Data("structured.npy")}), HasSubstr("'structured'"));
  EXPECT_THAT(Message({Data("text.npy")}), HasSubstr("'<U2'"));
}

TEST(Npy, RefusesDamage) {
  const std::string bytes = *files::ReadFile(Data("fortran.npy"));
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THAT(std::string(ParseNpy(bytes.substr(0, length), "x.npy").status().message()),
                HasSubstr("x.npy "));
  }
  EXPECT_THAT(std::string(ParseNpy(bytes + "x", "x.npy").status().message()),
              HasSubstr("holds 97 bytes of data where its shape needs 96"));
  EXPECT_FALSE(ParseNpy(absl::StrCat(bytes.substr(0, 10), std::string(118, ' ')), "x.npy").ok());
}

TEST(TensorPb, RawAndTypedFields) {
  EXPECT_THAT(Elements<float>(ReadOne("raw.pb")), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Elements<float>(ReadOne("float_data.pb")), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(ReadOne("float_data.pb").shape(), ElementsAre(2, 3));
  EXPECT_THAT(Elements<int8_t>(ReadOne("int8_data.pb")), ElementsAre(-1, 0, 127));
  EXPECT_THAT(Elements<uint16_t>(ReadOne("half_data.pb")), ElementsAre(0x3c00, 0xc100));
  EXPECT_THAT(Elements<uint32_t>(ReadOne("uint32_data.pb")), ElementsAre(1, UINT32_MAX));
  EXPECT_THAT(Elements<double>(ReadOne("double_data.pb")), ElementsAre(0.1));
  EXPECT_THAT(Elements<float>(ReadOne("complex_data.pb")), ElementsAre(1, 2));
}

TEST(TensorPb, IsNamedAsTheTensor) {
  const Inputs inputs = Read({Data("raw.pb")});
  EXPECT_EQ(inputs.arguments[0].name, "x");
  EXPECT_FALSE(inputs.arguments[0].by_name);
}

TEST(TensorPb, Refusals) {
  EXPECT_THAT(Message({Data("string.pb")}), HasSubstr("string.pb holds elements of ONNX type 8"));
  EXPECT_THAT(Message({Data("short.pb")}),
              HasSubstr("holds 24 bytes of data where its shape needs 36"));
  EXPECT_THAT(Message({Data("external.pb")}), HasSubstr("in another file"));
  files::TestFolder folder;
  ASSERT_TRUE(files::WriteFile(folder.File("text.pb"), "no protobuf").ok());
  ASSERT_TRUE(files::WriteFile(folder.File("empty.pb"), "").ok());
  EXPECT_EQ(Message({folder.File("text.pb")}),
            folder.File("text.pb") + " is not an ONNX TensorProto");
  ASSERT_TRUE(files::WriteFile(folder.File("name.pb"), "\x42\x01\xff").ok());
  EXPECT_THAT(Message({folder.File("name.pb")}), HasSubstr("is not an ONNX TensorProto"));
  EXPECT_EQ(Message({folder.File("empty.pb")}),
            folder.File("empty.pb") + " is not an ONNX TensorProto");
}

TEST(ReadInputs, JoinsItemsWithKeywordsLast) {
  const Inputs inputs = Read({Data("mixed.npz"), "n:int=3", Data("raw.pb")});
  ASSERT_EQ(inputs.arguments.size(), 6);
  EXPECT_EQ(inputs.arguments[2].name, "n");
  EXPECT_EQ(inputs.arguments[3].name, "x");
  EXPECT_EQ(inputs.arguments[4].name, "flag");
}

TEST(ReadInputs, PicklesGoToTheirReader) {
  const PickleReader reader = [](const std::string& path) {
    return FromArguments(Value::String(path));
  };
  const absl::StatusOr<Inputs> inputs = ReadInputs({"some/in.pt"}, reader);
  ASSERT_TRUE(inputs.ok());
  EXPECT_EQ(inputs->arguments[0].value.text, "some/in.pt");
  EXPECT_THAT(Message({"some/in.pt"}), HasSubstr("cannot read some/in.pt"));
}

TEST(ReadInputs, AStringMayLookLikeAFile) {
  EXPECT_EQ(Read({"s:str=x.npy"}).arguments[0].value.text, "x.npy");
}

TEST(ReadInputs, Errors) {
  EXPECT_EQ(Message({"no/file.npz"}), "cannot read no/file.npz: no such file");
  EXPECT_EQ(Message({"no/file.npy"}), "cannot read no/file.npy: no such file");
  EXPECT_THAT(Message({Data("make.py")}), HasSubstr("neither a spec"));
  EXPECT_THAT(Message({Data("mixed.npz"), Data("mixed.npz")}),
              HasSubstr("input flag is given twice"));
  EXPECT_THAT(Message({"x:float32[N=2]", "y:float32[N=3]"}),
              HasSubstr("axis N has size 3 in input y"));
}

}  // namespace
}  // namespace rules_onnx::inputs
