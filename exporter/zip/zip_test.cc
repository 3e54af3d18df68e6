#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minizip/zip.h>
#include <zlib.h>

#include "absl/strings/str_cat.h"
#include "exporter/files/atomic_file.h"
#include "exporter/files/input_file.h"
#include "exporter/files/test_folder.h"
#include "exporter/zip/zip_reader.h"

namespace rules_onnx::zip {
namespace {

using ::testing::HasSubstr;

struct Content {
  std::string name, bytes;
  bool deflate = false;
  bool zip64 = false;
  const char* password = nullptr;
};

void WriteZip(const std::string& path, const std::vector<Content>& contents) {
  zipFile archive = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  for (const Content& content : contents) {
    const uLong crc =
        crc32(0, reinterpret_cast<const Bytef*>(content.bytes.data()), content.bytes.size());
    ASSERT_EQ(zipOpenNewFileInZip3_64(archive, content.name.c_str(), nullptr, nullptr, 0, nullptr,
                                      0, nullptr, content.deflate ? Z_DEFLATED : 0, 6, 0,
                                      -MAX_WBITS, DEF_MEM_LEVEL, Z_DEFAULT_STRATEGY,
                                      content.password, crc, content.zip64),
              ZIP_OK);
    ASSERT_EQ(zipWriteInFileInZip(archive, content.bytes.data(), content.bytes.size()), ZIP_OK);
    ASSERT_EQ(zipCloseFileInZip(archive), ZIP_OK);
  }
  ASSERT_EQ(zipClose(archive, nullptr), ZIP_OK);
}

class ZipReaderTest : public ::testing::Test {
 protected:
  std::string path() const { return folder_.File("x.pt"); }
  std::string Message() const { return std::string(ZipReader::Open(path()).status().message()); }
  std::string MessageFor(absl::string_view content) {
    EXPECT_TRUE(files::WriteFile(path(), content).ok());
    return Message();
  }

  files::TestFolder folder_;
};

TEST_F(ZipReaderTest, AnArchiveInAnArchive) {
  WriteZip(path(), {{"a", "first"}, {"m/b", "second"}});
  const std::string inner = *files::ReadFile(path());
  WriteZip(path(), {{"text", std::string(500, 'x')}, {"inner", inner}, {"packed", inner, true}});
  const absl::StatusOr<ZipReader> outer = ZipReader::Open(path());
  ASSERT_TRUE(outer.ok()) << outer.status();
  const absl::StatusOr<ZipReader> zip = outer->OpenInside(*outer->Find("inner"));
  ASSERT_TRUE(zip.ok()) << zip.status();
  ASSERT_EQ(zip->entries().size(), 2);
  EXPECT_EQ(*zip->Read("m/b"), "second");
  const Entry& entry = *zip->Find("m/b");
  EXPECT_EQ(files::ReadFile(path())->substr(entry.offset, entry.size), "second");

  EXPECT_THAT(std::string(outer->OpenInside(*outer->Find("packed")).status().message()),
              HasSubstr("packed in it is compressed"));
  EXPECT_THAT(std::string(outer->OpenInside(*outer->Find("text")).status().message()),
              HasSubstr("is not a zip file"));
}

TEST_F(ZipReaderTest, ListsAndReads) {
  const std::string long_text(10000, 'a');
  WriteZip(path(), {{"m/data.pkl", "pickle"}, {"m/text", long_text, true}, {"m/empty", ""}});
  const absl::StatusOr<ZipReader> zip = ZipReader::Open(path());
  ASSERT_TRUE(zip.ok()) << zip.status();
  ASSERT_EQ(zip->entries().size(), 3);
  EXPECT_EQ(zip->entries()[1].name, "m/text");
  EXPECT_FALSE(zip->entries()[1].stored());
  EXPECT_EQ(zip->entries()[1].size, 10000);
  EXPECT_EQ(*zip->Read("m/data.pkl"), "pickle");
  EXPECT_EQ(*zip->Read("m/text"), long_text);
  EXPECT_EQ(*zip->Read("m/empty"), "");
}

TEST_F(ZipReaderTest, OffsetsOfStoredEntriesPointAtTheirBytes) {
  WriteZip(path(), {{"a", "first"}, {"b", "second", false, true}, {"c", "third"}});
  const absl::StatusOr<ZipReader> zip = ZipReader::Open(path());
  ASSERT_TRUE(zip.ok()) << zip.status();
  const std::string raw = *files::ReadFile(path());
  for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"a", "first"}, {"b", "second"}, {"c", "third"}}) {
    const Entry* entry = zip->Find(name);
    ASSERT_NE(entry, nullptr);
    EXPECT_TRUE(entry->stored());
    EXPECT_EQ(raw.substr(entry->offset, entry->size), bytes);
  }
}

TEST_F(ZipReaderTest, MissingEntry) {
  WriteZip(path(), {{"a", "first"}});
  const absl::StatusOr<ZipReader> zip = ZipReader::Open(path());
  ASSERT_TRUE(zip.ok()) << zip.status();
  EXPECT_EQ(zip->Find("b"), nullptr);
  const absl::Status status = zip->Read("b").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), path() + " holds no entry b");
}

TEST_F(ZipReaderTest, ChangedByteIsFoundOnRead) {
  WriteZip(path(), {{"a", "first"}});
  std::string raw = *files::ReadFile(path());
  raw[raw.find("first")] ^= 1;
  ASSERT_TRUE(files::WriteFile(path(), raw).ok());
  const absl::StatusOr<ZipReader> zip = ZipReader::Open(path());
  ASSERT_TRUE(zip.ok()) << zip.status();
  EXPECT_EQ(zip->Read("a").status().message(),
            path() + " is a damaged zip file: entry a has a wrong checksum");
}

TEST_F(ZipReaderTest, EveryTruncationIsRefusedAsDamage) {
  WriteZip(path(), {{"a", "first"}, {"b", std::string(1000, 'b'), true}});
  const std::string raw = *files::ReadFile(path());
  for (size_t length = 4; length < raw.size(); ++length) {
    EXPECT_THAT(MessageFor(raw.substr(0, length)),
                HasSubstr("is not a zip file (it begins as one, but is cut off or damaged)"));
  }
}

TEST_F(ZipReaderTest, CutInTheMiddleIsRefused) {
  WriteZip(path(), {{"a", std::string(1000, 'a')}, {"b", "second"}});
  const std::string raw = *files::ReadFile(path());
  EXPECT_THAT(MessageFor(raw.substr(0, 100) + raw.substr(900)),
              ::testing::AnyOf(HasSubstr("is a damaged zip file"), HasSubstr("is not a zip file")));
}

TEST_F(ZipReaderTest, ImpossibleSizeIsRefusedBeforeMemoryIsTaken) {
  WriteZip(path(), {{"a", std::string(1000, 'a'), true}});
  std::string raw = *files::ReadFile(path());
  const size_t record = raw.find("PK\x01\x02");
  raw.replace(record + 24, 4, "\xff\xff\xff\x7f");
  ASSERT_TRUE(files::WriteFile(path(), raw).ok());
  const absl::StatusOr<ZipReader> zip = ZipReader::Open(path());
  const std::string message(zip.ok() ? zip->Read("a").status().message() : zip.status().message());
  EXPECT_THAT(message, HasSubstr(path() + " is a damaged zip file"));
}

TEST_F(ZipReaderTest, EncryptedEntryIsRefused) {
  WriteZip(path(), {{"a", "first", false, false, "secret"}});
  const absl::StatusOr<ZipReader> zip = ZipReader::Open(path());
  ASSERT_TRUE(zip.ok()) << zip.status();
  EXPECT_FALSE(zip->Find("a")->stored());
  EXPECT_THAT(std::string(zip->Read("a").status().message()), HasSubstr("is encrypted"));
}

TEST_F(ZipReaderTest, MissingFileAndFolder) {
  EXPECT_EQ(Message(), "cannot read " + path() + ": no such file");
  EXPECT_THAT(std::string(ZipReader::Open(folder_.path()).status().message()),
              HasSubstr("it is a directory"));
}

TEST_F(ZipReaderTest, SaysWhatAForeignFileIs) {
  EXPECT_EQ(MessageFor("import torch\n"), path() + " is not a zip file (it is a plain text file)");
  EXPECT_EQ(MessageFor(""), path() + " is not a zip file (it is empty)");
  EXPECT_THAT(
      MessageFor(absl::string_view("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.\x80", 16)),
      HasSubstr("from before PyTorch 1.6"));
  EXPECT_THAT(MessageFor("\x80\x04\x95\x10"), HasSubstr("it is a Python pickle"));
  EXPECT_THAT(MessageFor("version https://git-lfs.github.com/spec/v1\n"),
              HasSubstr("git lfs pull"));
  EXPECT_THAT(MessageFor(std::string(257, '\0') + "ustar" + std::string(100, '\0')),
              HasSubstr("it is a tar file"));
  EXPECT_THAT(MessageFor("\x1f\x8b\x08\x01"), HasSubstr("it is a gzip file"));
  EXPECT_EQ(MessageFor("\x01\x02\x03\x04"), path() + " is not a zip file");
}

}  // namespace
}  // namespace rules_onnx::zip
