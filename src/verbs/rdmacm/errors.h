// How librdmacm says no: -1 or a null pointer, and errno.
#pragma once

#include <cerrno>
#include <exception>
#include <new>
#include <utility>

#include "cm/manager.h"

namespace weft::rdmacm {

inline int fail(int code) {
  errno = code;
  return -1;
}

// For what verbs returns: 0 or errno.
inline int minus_one_if(int code) { return code == 0 ? 0 : fail(code); }

constexpr int errno_of(cm::Answer answer) {
  switch (answer) {
    case cm::Answer::ok: return 0;
    case cm::Answer::no_such_connection:
    case cm::Answer::wrong_state:
    case cm::Answer::too_long: return EINVAL;
    case cm::Answer::too_many: return ENOMEM;
  }
  return EINVAL;
}

// Does something for a program that knows no exceptions: without memory it gets ENOMEM. Not noexcept: the cancelling of
// a thread that waits in here unwinds its stack.
template <class Deed>
int attempt(Deed&& deed) {
  try {
    return std::forward<Deed>(deed)();
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  } catch (const std::exception&) {  // the system gives no thread, no lock
    return fail(EAGAIN);
  }
}

}  // namespace weft::rdmacm
