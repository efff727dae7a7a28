#include "tests/unit/functions/tar_maker.h"

#include <memory>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include "base/check.h"

namespace millrace {
namespace {

constexpr size_t kBlock = 512;

/// Octal digits with a zero byte at the end, or the binary form of GNU tar if they do not fit.
std::string number(uint64_t value, size_t width) {
  const std::string octal = fmt::format("{:0{}o}", value, width - 1);
  if (octal.size() < width) return octal + '\0';
  std::string binary(width, '\0');
  binary[0] = '\x80';
  for (size_t i = width; value != 0; value >>= 8) binary[--i] = static_cast<char>(value & 0xff);
  return binary;
}

}  // namespace

TarMaker& TarMaker::header(const TarHeader& header) {
  std::string block(kBlock, '\0');
  const auto put = [&](size_t at, std::string_view text) { block.replace(at, text.size(), text); };
  put(0, header.name.substr(0, 100));
  put(100, number(header.mode, 8));
  put(108, number(0, 8));
  put(116, number(0, 8));
  put(124, number(header.size, 12));
  put(136, number(0, 12));
  put(148, "        ");
  block[156] = header.type;
  put(157, header.link.substr(0, 100));
  put(257, std::string_view("ustar\00000", 8));
  uint32_t sum = 0;
  for (const char byte : block) sum += static_cast<unsigned char>(byte);
  put(148, fmt::format("{:06o}", sum) + '\0' + ' ');
  bytes_ += block;
  return *this;
}

TarMaker& TarMaker::content(std::string_view bytes) {
  bytes_ += bytes;
  bytes_.append((kBlock - bytes.size() % kBlock) % kBlock, '\0');
  return *this;
}

TarMaker& TarMaker::file(const std::string& name, std::string_view bytes, uint32_t mode) {
  header({.name = name, .size = bytes.size(), .mode = mode});
  return content(bytes);
}

TarMaker& TarMaker::folder(const std::string& name) {
  return header({.name = name, .type = '5', .mode = 0755});
}

TarMaker& TarMaker::link(const std::string& name, char type, const std::string& target) {
  return header({.name = name, .type = type, .link = target});
}

TarMaker& TarMaker::pax(std::string_view key, std::string_view value, char type) {
  return pax({{key, value}}, type);
}

TarMaker& TarMaker::pax(
    const std::vector<std::pair<std::string_view, std::string_view>>& keys_and_values, char type) {
  std::string records;
  for (const auto& [key, value] : keys_and_values) {
    // A record begins with its length, which includes the digits of the length.
    size_t size = key.size() + value.size() + 3;
    size += std::to_string(size + std::to_string(size).size()).size();
    records += fmt::format("{} {}={}\n", size, key, value);
  }
  header({.name = "pax", .type = type, .size = records.size()});
  return content(records);
}

std::string gzip(std::string_view bytes) {
  std::string packed;
  const std::unique_ptr<archive, int (*)(archive*)> writer(archive_write_new(), archive_write_free);
  archive_write_set_format_raw(writer.get());
  archive_write_add_filter_gzip(writer.get());
  archive_write_set_bytes_in_last_block(writer.get(), 1);
  const auto write = [](archive*, void* text, const void* part, size_t size) -> la_ssize_t {
    static_cast<std::string*>(text)->append(static_cast<const char*>(part), size);
    return static_cast<la_ssize_t>(size);
  };
  archive_write_open(writer.get(), &packed, nullptr, write, nullptr);
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                       archive_entry_free);
  archive_entry_set_pathname(entry.get(), "raw");
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  CHECK(archive_write_header(writer.get(), entry.get()) == ARCHIVE_OK);
  while (!bytes.empty()) {
    const la_ssize_t count = archive_write_data(writer.get(), bytes.data(), bytes.size());
    CHECK(count > 0);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  CHECK(archive_write_close(writer.get()) == ARCHIVE_OK);
  return packed;
}

}  // namespace millrace
