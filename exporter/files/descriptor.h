// Owner of a file descriptor.
#ifndef RULES_ONNX_EXPORTER_FILES_DESCRIPTOR_H_
#define RULES_ONNX_EXPORTER_FILES_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace rules_onnx::files {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }

  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }
  // close(2)'s result, which for a written file can be the first to tell of a full disk.
  int Close() { return close(std::exchange(fd_, -1)); }

 private:
  int fd_ = -1;
};

}  // namespace rules_onnx::files

#endif  // RULES_ONNX_EXPORTER_FILES_DESCRIPTOR_H_
