// Where profiles are found by name: those that the program carries, and the user's own files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "lab/profile.h"

namespace weft::lab {

class ProfileShelf {
 public:
  ProfileShelf();  // with those that the program was built with

  // A file, or every *.toml of a folder: found by their names without .toml, before others of the same name.
  [[nodiscard]] tl::expected<void, std::string> add(const std::filesystem::path& path);

  // By name, or by the path of a file (with a '/' or .toml), which stands beside `folder` unless it is absolute.
  [[nodiscard]] tl::expected<Profile, std::string> find(const std::string& name,
                                                        const std::filesystem::path& folder = {}) const;
  [[nodiscard]] std::vector<std::string> names() const;  // in the order of the alphabet

 private:
  struct Book {
    std::string name, file, text;
  };
  [[nodiscard]] tl::expected<Profile, std::string> find(const std::string& name, const std::filesystem::path& folder,
                                                        int depth) const;
  std::vector<Book> books_;  // later ones are found first
};

// All of a file, or why it cannot be read.
[[nodiscard]] tl::expected<std::string, std::string> read_file(const std::filesystem::path& path);

}  // namespace weft::lab
