// A program that has used up its descriptors.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace weft::real {

// As long as it lives, no more than so many descriptors can be opened.
class FewDescriptors {
 public:
  explicit FewDescriptors(int few) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit now = before_;
    const auto is_free = [](rlim_t fd) { return fcntl(static_cast<int>(fd), F_GETFD) < 0; };
    for (now.rlim_cur = 0; !is_free(now.rlim_cur) || few-- > 0;) ++now.rlim_cur;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

}  // namespace weft::real
