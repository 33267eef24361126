#include <string>

#include <dlfcn.h>
#include <unistd.h>

#include "bytecode/engine.h"

namespace weft::bytecode {
namespace {

constexpr char kHere = 0;  // its address tells in which library or program this file is

const Engine* open_engine(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : static_cast<const Engine*>(dlsym(library, kEngineSymbol));
}

// Beside the library that this is part of, or where a program's libraries are; else wherever the system looks.
const Engine* search() {
  Dl_info where{};
  if (dladdr(static_cast<const void*>(&kHere), &where) != 0 && where.dli_fname != nullptr) {
    const std::string self = where.dli_fname;
    const std::string folder = self.substr(0, self.rfind('/') + 1);
    for (const char* beside : {"", "../lib/weft/"}) {
      const std::string path = folder + beside + kEngineLibrary;
      if (folder.empty() || access(path.c_str(), R_OK) != 0) continue;
      if (const Engine* engine = open_engine(path.c_str())) return engine;
    }
  }
  return open_engine(kEngineLibrary);
}

}  // namespace

const Engine* find_engine() {
  static const Engine* const engine = search();
  return engine;
}

}  // namespace weft::bytecode
