// The functions of the C library that take a path: each is answered by the next one of its name, with a path of RDMA
// devices written as one of our folder's. Declared under names of our own with the C library's symbols, so that no
// header's macros, redirections and inline variants are in the way.
//
// Programs that make system calls themselves (Go, static ones) do not come by here.
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <type_traits>

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/types.h>

#include "sysfs/redirect.h"

namespace weft::sysfs {
namespace {

// What a function answers that does not exist.
template <class Result>
Result failure() {
  errno = ENOSYS;
  if constexpr (std::is_pointer_v<Result>)
    return nullptr;
  else
    return static_cast<Result>(-1);
}

// Apart, so that the buffer is on the stack only of those who need it.
template <class Call>
[[gnu::noinline]] auto call_in_folder(const char* path, Call& call) {
  char buffer[PATH_MAX];
  return call(into_folder(path, buffer));
}

template <class Call>
auto redirected(const char* path, Call call) {
  return is_ours(path) ? call_in_folder(path, call) : call(path);
}

// Looked up when it is first called: constructors of other libraries may call before any of ours has run.
template <class Function>
Function* next_of(std::atomic<void*>& known, const char* name) {
  void* found = known.load(std::memory_order_relaxed);
  if (found == nullptr) known.store(found = ::dlsym(RTLD_NEXT, name), std::memory_order_relaxed);
  return std::bit_cast<Function*>(found);
}

bool needs_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

}  // namespace

#define WEFT_EXPORT(result, name, parameters)                                                          \
  extern "C" [[gnu::visibility("default")]] result hook_##name parameters __asm__(#name); /* NOLINT */ \
  extern "C" result hook_##name parameters

// `arguments` say `path` where `parameters` say `given`.
#define WEFT_HOOK(result, name, parameters, arguments)                          \
  WEFT_EXPORT(result, name, parameters) {                                       \
    static std::atomic<void*> known;                                            \
    auto* const next = next_of<result parameters>(known, #name);                \
    if (next == nullptr) return failure<result>();                              \
    return redirected(given, [&](const char* path) { return next arguments; }); \
  }

using Compare = int(const void*, const void*);
using Filter = int(const void*);

// ---- what is there --------------------------------------------------------------------------------------------------

WEFT_HOOK(int, stat, (const char* given, void* out), (path, out))
WEFT_HOOK(int, stat64, (const char* given, void* out), (path, out))
WEFT_HOOK(int, lstat, (const char* given, void* out), (path, out))
WEFT_HOOK(int, lstat64, (const char* given, void* out), (path, out))
WEFT_HOOK(int, fstatat, (int folder, const char* given, void* out, int flags), (folder, path, out, flags))
WEFT_HOOK(int, fstatat64, (int folder, const char* given, void* out, int flags), (folder, path, out, flags))
WEFT_HOOK(int, statx, (int folder, const char* given, int flags, unsigned mask, void* out),
          (folder, path, flags, mask, out))
// Programs that were built with a C library before 2.33.
WEFT_HOOK(int, __xstat, (int version, const char* given, void* out), (version, path, out))
WEFT_HOOK(int, __xstat64, (int version, const char* given, void* out), (version, path, out))
WEFT_HOOK(int, __lxstat, (int version, const char* given, void* out), (version, path, out))
WEFT_HOOK(int, __lxstat64, (int version, const char* given, void* out), (version, path, out))
WEFT_HOOK(int, __fxstatat, (int version, int folder, const char* given, void* out, int flags),
          (version, folder, path, out, flags))
WEFT_HOOK(int, __fxstatat64, (int version, int folder, const char* given, void* out, int flags),
          (version, folder, path, out, flags))

WEFT_HOOK(int, access, (const char* given, int mode), (path, mode))
WEFT_HOOK(int, eaccess, (const char* given, int mode), (path, mode))
WEFT_HOOK(int, euidaccess, (const char* given, int mode), (path, mode))
WEFT_HOOK(int, faccessat, (int folder, const char* given, int mode, int flags), (folder, path, mode, flags))
WEFT_HOOK(int, statfs, (const char* given, void* out), (path, out))
WEFT_HOOK(int, statfs64, (const char* given, void* out), (path, out))
WEFT_HOOK(int, statvfs, (const char* given, void* out), (path, out))
WEFT_HOOK(int, statvfs64, (const char* given, void* out), (path, out))

// `ls -l` asks for these.
WEFT_HOOK(ssize_t, getxattr, (const char* given, const char* name, void* value, size_t size), (path, name, value, size))
WEFT_HOOK(ssize_t, lgetxattr, (const char* given, const char* name, void* value, size_t size),
          (path, name, value, size))
WEFT_HOOK(ssize_t, listxattr, (const char* given, char* list, size_t size), (path, list, size))
WEFT_HOOK(ssize_t, llistxattr, (const char* given, char* list, size_t size), (path, list, size))

// ---- where links lead -----------------------------------------------------------------------------------------------

WEFT_HOOK(ssize_t, readlink, (const char* given, char* out, size_t size), (path, out, size))
WEFT_HOOK(ssize_t, readlinkat, (int folder, const char* given, char* out, size_t size), (folder, path, out, size))
WEFT_HOOK(ssize_t, __readlink_chk, (const char* given, char* out, size_t size, size_t room), (path, out, size, room))
WEFT_HOOK(ssize_t, __readlinkat_chk, (int folder, const char* given, char* out, size_t size, size_t room),
          (folder, path, out, size, room))

// What these find is called as it would be in /sys.
#define WEFT_HOOK_RESOLVING(name, parameters, arguments)                                     \
  WEFT_EXPORT(char*, name, parameters) {                                                     \
    static std::atomic<void*> known;                                                         \
    auto* const next = next_of<char * parameters>(known, #name);                             \
    if (next == nullptr) return failure<char*>();                                            \
    char* const found = redirected(given, [&](const char* path) { return next arguments; }); \
    out_of_folder(found);                                                                    \
    return found;                                                                            \
  }

WEFT_HOOK_RESOLVING(realpath, (const char* given, char* out), (path, out))
WEFT_HOOK_RESOLVING(__realpath_chk, (const char* given, char* out, size_t room), (path, out, room))
WEFT_HOOK_RESOLVING(canonicalize_file_name, (const char* given), (path))

// ---- opening --------------------------------------------------------------------------------------------------------

#define WEFT_HOOK_OPEN(name)                                                             \
  WEFT_EXPORT(int, name, (const char* given, int flags, ...)) {                          \
    static std::atomic<void*> known;                                                     \
    auto* const next = next_of<int(const char*, int, ...)>(known, #name);                \
    if (next == nullptr) return failure<int>();                                          \
    va_list rest;                                                                        \
    va_start(rest, flags);                                                               \
    const mode_t mode = needs_mode(flags) ? va_arg(rest, mode_t) : 0;                    \
    va_end(rest);                                                                        \
    return redirected(given, [&](const char* path) { return next(path, flags, mode); }); \
  }
#define WEFT_HOOK_OPENAT(name)                                                                   \
  WEFT_EXPORT(int, name, (int folder, const char* given, int flags, ...)) {                      \
    static std::atomic<void*> known;                                                             \
    auto* const next = next_of<int(int, const char*, int, ...)>(known, #name);                   \
    if (next == nullptr) return failure<int>();                                                  \
    va_list rest;                                                                                \
    va_start(rest, flags);                                                                       \
    const mode_t mode = needs_mode(flags) ? va_arg(rest, mode_t) : 0;                            \
    va_end(rest);                                                                                \
    return redirected(given, [&](const char* path) { return next(folder, path, flags, mode); }); \
  }

WEFT_HOOK_OPEN(open)
WEFT_HOOK_OPEN(open64)
WEFT_HOOK_OPENAT(openat)
WEFT_HOOK_OPENAT(openat64)
// The variants that _FORTIFY_SOURCE calls, without a mode.
WEFT_HOOK(int, __open_2, (const char* given, int flags), (path, flags))
WEFT_HOOK(int, __open64_2, (const char* given, int flags), (path, flags))
WEFT_HOOK(int, __openat_2, (int folder, const char* given, int flags), (folder, path, flags))
WEFT_HOOK(int, __openat64_2, (int folder, const char* given, int flags), (folder, path, flags))

WEFT_HOOK(void*, fopen, (const char* given, const char* mode), (path, mode))
WEFT_HOOK(void*, fopen64, (const char* given, const char* mode), (path, mode))
WEFT_HOOK(void*, freopen, (const char* given, const char* mode, void* stream), (path, mode, stream))
WEFT_HOOK(void*, freopen64, (const char* given, const char* mode, void* stream), (path, mode, stream))

// ---- folders --------------------------------------------------------------------------------------------------------

WEFT_HOOK(void*, opendir, (const char* given), (path))
WEFT_HOOK(int, scandir, (const char* given, void* out, Filter* filter, Compare* compare), (path, out, filter, compare))
WEFT_HOOK(int, scandir64, (const char* given, void* out, Filter* filter, Compare* compare),
          (path, out, filter, compare))
WEFT_HOOK(int, scandirat, (int folder, const char* given, void* out, Filter* filter, Compare* compare),
          (folder, path, out, filter, compare))
WEFT_HOOK(int, scandirat64, (int folder, const char* given, void* out, Filter* filter, Compare* compare),
          (folder, path, out, filter, compare))
WEFT_HOOK(int, chdir, (const char* given), (path))

namespace {

void all_out_of_folder(int outcome, glob_t* found) {
  if (outcome != 0 || found == nullptr || found->gl_pathv == nullptr) return;
  for (std::size_t i = 0; i < found->gl_pathc; ++i) out_of_folder(found->gl_pathv[found->gl_offs + i]);
}

}  // namespace

#define WEFT_HOOK_GLOB(name)                                                                                     \
  WEFT_EXPORT(int, name, (const char* given, int flags, int (*on_error)(const char*, int), glob_t* found)) {     \
    static std::atomic<void*> known;                                                                             \
    auto* const next = next_of<int(const char*, int, int (*)(const char*, int), glob_t*)>(known, #name);         \
    if (next == nullptr) return failure<int>();                                                                  \
    const int outcome = redirected(given, [&](const char* path) { return next(path, flags, on_error, found); }); \
    all_out_of_folder(outcome, found);                                                                           \
    return outcome;                                                                                              \
  }

WEFT_HOOK_GLOB(glob)
WEFT_HOOK_GLOB(glob64)

}  // namespace weft::sysfs
