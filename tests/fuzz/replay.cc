// Feeds files to a fuzz target, without libFuzzer: TARGET_replay FILE-OR-FOLDER…
// So that every input that was ever kept is tried with every compiler and in every build. Each file is named before it
// is tried: the last name is that of the input that failed.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace fs = std::filesystem;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

namespace {

std::vector<fs::path> files_in(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool replay(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) return false;
  std::fprintf(stderr, "%s\n", path.c_str());
  const std::vector<unsigned char> input(content.begin(), content.end());  // of this size, so that its end is known
  (void)LLVMFuzzerTestOneInput(input.data(), input.size());
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t tried = 0;
  for (int i = 1; i < count; ++i) {
    for (const fs::path& file : files_in(arguments[i])) {
      if (!replay(file)) {
        std::fprintf(stderr, "cannot read %s\n", file.c_str());
        return 1;
      }
      ++tried;
    }
  }
  std::fprintf(stderr, "%zu inputs\n", tried);
  return tried > 0 ? 0 : 1;
}
