#include "exporter/pt2/state_dict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rules_onnx::pt2 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Text(const std::string& text) {
  return std::string("X") + static_cast<char>(text.size()) + std::string(3, '\0') + text;
}

std::string Number(char value) { return std::string("K") + value; }

// ("storage", class, "7", "cpu", 6) as a persistent id.
std::string Storage(const std::string& storage_class) {
  return "(" + Text("storage") + "ctorch\n" + storage_class + "\n" + Text("7") + Text("cpu") +
         Number(6) + "tQ";
}

// _rebuild_tensor_v2(storage, 2, (1, 3), (3, 1), False, OrderedDict())
std::string Tensor(const std::string& storage_class = "FloatStorage") {
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + Storage(storage_class) + Number(2) + Number(1) +
         Number(3) + "\x86" + Number(3) + Number(1) + "\x86\x89" "ccollections\nOrderedDict\n)RtR";
}

std::string Pickle(const std::string& body) { return "\x80\x02" + body + "."; }

std::string Problem(const std::string& pickle) {
  return std::string(DecodeStateDict("x.pt2: weights", pickle).status().message());
}

TEST(StateDictTest, TensorsByName) {
  const auto payloads = DecodeStateDict(
      "x", Pickle("}(" + Text("w") + Tensor() + Text("count") + Number(3) + "u"));
  ASSERT_TRUE(payloads.ok()) << payloads.status();
  ASSERT_EQ(payloads->size(), 1);
  const Payload& payload = payloads->at("w");
  EXPECT_EQ(payload.dtype, ir::DType::kFloat32);
  EXPECT_EQ(payload.path_name, "data/7");
  EXPECT_EQ(payload.storage_offset, 2);
  EXPECT_THAT(payload.sizes, ElementsAre(1, 3));
  EXPECT_THAT(payload.strides, ElementsAre(3, 1));
  EXPECT_TRUE(payload.has_tensor);
}

TEST(StateDictTest, OrderedDictOfParametersAndSharedTensors) {
  const std::string parameter =
      "ctorch._utils\n_rebuild_parameter\n(" + Tensor("BFloat16Storage") + "\x88)tR";
  const auto payloads = DecodeStateDict(
      "x", Pickle("ccollections\nOrderedDict\n)R(" + Text("a") + parameter + "q\x05" + Text("b") +
                  "h\x05u}" + Text("_metadata") + "}sb"));
  ASSERT_TRUE(payloads.ok()) << payloads.status();
  EXPECT_EQ(payloads->at("a").dtype, ir::DType::kBFloat16);
  EXPECT_EQ(payloads->at("b").path_name, "data/7");
}

TEST(StateDictTest, CallsNothingElse) {
  EXPECT_THAT(Problem(Pickle("cposix\nsystem\n(" + Text("true") + "tR")),
              HasSubstr("x.pt2: weights is no dictionary of tensors: it calls posix system"));
  EXPECT_THAT(Problem(Pickle("}" + Text("w") + "i")), HasSubstr("it holds more than tensors"));
  EXPECT_THAT(Problem(Pickle("}" + Text("w") + Storage("QUInt8Storage") + "s")),
              HasSubstr("a storage of an unknown kind, torch QUInt8Storage"));
  EXPECT_THAT(Problem(Pickle("N")), HasSubstr("is no dictionary of tensors"));
}

TEST(StateDictTest, DamagedBytes) {
  const std::string whole = Pickle("}(" + Text("w") + Tensor() + "u");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DecodeStateDict("x", whole.substr(0, size)).ok()) << size;
  }
  for (const char* bad : {"t.", "u.", "s.", "a.", "R.", "Q.", "h\x01.", "q\x01.", "\x87.", "."}) {
    EXPECT_FALSE(DecodeStateDict("x", bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace rules_onnx::pt2
