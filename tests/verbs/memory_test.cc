// Memory: regions, on-demand regions, device memory, windows.
#include <sys/mman.h>
#include <unistd.h>

#include "bed.h"

namespace weft::tests {
namespace {

class MemoryTest : public Bed {
 protected:
  void SetUp() override {
    Bed::SetUp();
    page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    pages = static_cast<char*>(::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(static_cast<void*>(pages), MAP_FAILED);
  }
  void TearDown() override {
    ::munmap(pages, 3 * page);
    Bed::TearDown();
  }
  std::size_t page = 0;
  char* pages = nullptr;
};

TEST_F(MemoryTest, OnlyMemoryThatIsThereCanBeRegistered) {
  ibv_mr* mr = ibv_reg_mr(pd, pages, 3 * page, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, pages);
  EXPECT_EQ(mr->length, 3 * page);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);

  ASSERT_EQ(::munmap(pages + page, page), 0);
  EXPECT_EQ(ibv_reg_mr(pd, pages, 3 * page, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(ibv_reg_mr(pd, pages, 3 * page, 0), nullptr);
  EXPECT_EQ(errno, EFAULT);

  ASSERT_EQ(::mprotect(pages, page, PROT_READ), 0);
  EXPECT_EQ(ibv_reg_mr(pd, pages, page, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EFAULT);
  mr = ibv_reg_mr(pd, pages, page, IBV_ACCESS_REMOTE_READ);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(MemoryTest, BadRegistrations) {
  EXPECT_EQ(ibv_reg_mr(pd, pages, 0, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_mr(pd, nullptr, 10, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_mr(pd, pages, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_mr(pd, pages, page, IBV_ACCESS_REMOTE_WRITE), nullptr);  // without local write
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_mr(pd, pages, page, 1 << 12), nullptr);
  EXPECT_EQ(errno, EINVAL);
  // Hints are ignored.
  ibv_mr* mr = ibv_reg_mr(pd, pages, page, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(MemoryTest, Reregistration) {
  ibv_mr* mr = ibv_reg_mr(pd, pages, page, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, pages + page, page, 0), 0);
  EXPECT_EQ(mr->addr, pages + page);
  ibv_pd* other = ibv_alloc_pd(context);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS, other, nullptr, 0,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
            0);
  EXPECT_EQ(mr->pd, other);
  EXPECT_EQ(ibv_dealloc_pd(other), EBUSY);
  EXPECT_EQ(ibv_rereg_mr(mr, 0, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(ibv_rereg_mr(mr, 1 << 7, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE),
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(errno, EINVAL);
  // The rights that stay decide what the new memory must bear.
  ASSERT_EQ(::mprotect(pages, page, PROT_READ), 0);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, pages, page, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(mr->addr, pages + page);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(other), 0);
}

TEST_F(MemoryTest, ImplicitRegionIsAllOfMemory) {
  ibv_qp *a = make_qp(), *b = make_qp();
  connect(a, b);
  ibv_mr* all =
      ibv_reg_mr(pd, nullptr, SIZE_MAX, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  ASSERT_NE(all, nullptr) << std::strerror(errno);
  std::vector<char> from(3000, 'x'), to(3000);
  ibv_sge sge{number(from.data()), 3000, all->lkey};
  EXPECT_EQ(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1), 0);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma = {number(to.data()), all->rkey};
  ASSERT_EQ(post(a, wr), 0);
  EXPECT_EQ(next().status, IBV_WC_SUCCESS);
  EXPECT_EQ(from, to);
  sge.lkey ^= 1;
  EXPECT_EQ(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EINVAL);
  EXPECT_EQ(ibv_dereg_mr(all), 0);
}

TEST_F(MemoryTest, ZeroBasedAndShiftedAddresses) {
  ibv_qp *a = make_qp(), *b = make_qp();
  connect(a, b);
  const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
  ibv_mr* zero = ibv_reg_mr(pd, pages, page, rights | IBV_ACCESS_ZERO_BASED);
  ibv_mr* shifted = ibv_reg_mr_iova(pd, pages + page, page, 0x1234'5678'0000, rights);
  ASSERT_NE(zero, nullptr);
  ASSERT_NE(shifted, nullptr);
  std::strcpy(pages + 100, "zero");
  std::strcpy(pages + page + 100, "shifted");
  const auto read = [&](std::uint64_t address, const ibv_mr* from, std::uint32_t length) {
    ibv_sge sge{number(pages + 2 * page), length, 0};
    ibv_mr* own = ibv_reg_mr(pd, pages + 2 * page, page, IBV_ACCESS_LOCAL_WRITE);
    sge.lkey = own->lkey;
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_READ;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {address, from->rkey};
    EXPECT_EQ(post(a, wr), 0);
    const ibv_wc_status status = next().status;
    EXPECT_EQ(ibv_dereg_mr(own), 0);
    return status;
  };
  EXPECT_EQ(read(100, zero, 5), IBV_WC_SUCCESS);
  EXPECT_STREQ(pages + 2 * page, "zero");
  EXPECT_EQ(read(0x1234'5678'0000 + 100, shifted, 8), IBV_WC_SUCCESS);
  EXPECT_STREQ(pages + 2 * page, "shifted");
  EXPECT_EQ(read(number(pages + page), shifted, 8), IBV_WC_REM_ACCESS_ERR);  // nobody calls it that
}

TEST_F(MemoryTest, DeviceMemory) {
  ibv_alloc_dm_attr attr{.length = 0, .log_align_req = 0, .comp_mask = 0};
  EXPECT_EQ(ibv_alloc_dm(context, &attr), nullptr);
  attr.length = 1U << 30;
  EXPECT_EQ(ibv_alloc_dm(context, &attr), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  attr.length = 1000;
  ibv_dm* dm = ibv_alloc_dm(context, &attr);
  ASSERT_NE(dm, nullptr);
  EXPECT_EQ(ibv_memcpy_to_dm(dm, 10, "hello", 6), 0);
  EXPECT_EQ(ibv_memcpy_to_dm(dm, 996, "hello", 6), EFAULT);
  std::array<char, 6> out{};
  EXPECT_EQ(ibv_memcpy_from_dm(out.data(), dm, 10, 6), 0);
  EXPECT_STREQ(out.data(), "hello");
  EXPECT_EQ(ibv_reg_dm_mr(pd, dm, 0, 1000, IBV_ACCESS_LOCAL_WRITE), nullptr);  // must be zero-based
  EXPECT_EQ(ibv_reg_dm_mr(pd, dm, 500, 501, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED), nullptr);
  ibv_mr* mr = ibv_reg_dm_mr(pd, dm, 0, 1000, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_free_dm(dm), EBUSY);
  // A receive into it.
  ibv_qp *a = make_qp(), *b = make_qp();
  connect(a, b);
  ibv_sge into{20, 100, mr->lkey};
  ibv_recv_wr receive{1, nullptr, &into, 1};
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_recv(b, &receive, &bad), 0);
  std::array<char, 8> text{"inside"};
  ibv_sge from{number(text.data()), 7, 0};
  ibv_send_wr wr{};
  wr.sg_list = &from;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_INLINE;
  ASSERT_EQ(post(a, wr), 0);
  EXPECT_EQ(next().opcode, IBV_WC_RECV);
  std::array<char, 7> seen{};
  EXPECT_EQ(ibv_memcpy_from_dm(seen.data(), dm, 20, 7), 0);
  EXPECT_STREQ(seen.data(), "inside");
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_free_dm(dm), 0);
}

class WindowTest : public MemoryTest {
 protected:
  void SetUp() override {
    MemoryTest::SetUp();
    a = make_qp();
    b = make_qp();
    connect(a, b);
    mr = ibv_reg_mr(pd, pages, 2 * page, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
    ASSERT_NE(mr, nullptr);
  }
  // A WRITE of four bytes by the peer, through the window.
  ibv_wc_status write(std::uint32_t rkey, std::uint64_t address) {
    std::array<char, 4> text{'d', 'a', 't', 'a'};
    ibv_sge sge{number(text.data()), 4, 0};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
    wr.wr.rdma = {address, rkey};
    EXPECT_EQ(post(a, wr), 0);
    return next().status;
  }
  ibv_qp *a = nullptr, *b = nullptr;
  ibv_mr* mr = nullptr;
};

TEST_F(WindowTest, TypeOneIsBoundByItsOwnCallAndChangesItsKey) {
  ibv_mw* mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
  ASSERT_NE(mw, nullptr);
  const std::uint32_t before = mw->rkey;
  ibv_mw_bind bind{};
  bind.wr_id = 77;
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = {.mr = mr, .addr = number(pages), .length = page, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  ASSERT_EQ(ibv_bind_mw(b, mw, &bind), 0);
  const ibv_wc done = next();
  EXPECT_EQ(done.status, IBV_WC_SUCCESS);
  EXPECT_EQ(done.opcode, IBV_WC_BIND_MW);
  EXPECT_EQ(done.wr_id, 77U);
  EXPECT_NE(mw->rkey, before);
  EXPECT_EQ(write(mw->rkey, number(pages) + 8), IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(pages + 8, "data", 4), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), EBUSY);
  bind.bind_info.mw_access_flags = IBV_ACCESS_LOCAL_WRITE;
  EXPECT_EQ(ibv_bind_mw(b, mw, &bind), EINVAL);
  EXPECT_EQ(write(mw->rkey, number(pages) + page), IBV_WC_REM_ACCESS_ERR);  // behind the window
  EXPECT_EQ(ibv_dealloc_mw(mw), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(WindowTest, TypeTwoIsBoundAndInvalidatedByWork) {
  ibv_mw* mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
  ASSERT_NE(mw, nullptr);
  for (int round = 1; round <= 2; ++round) {  // the second time with the key that the first one chose
    const std::uint32_t key = ibv_inc_rkey(mw->rkey) + static_cast<std::uint32_t>(round) * 4 % 16;
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_BIND_MW;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.bind_mw = {
        .mw = mw,
        .rkey = (mw->rkey & ~0xFFU) | (key & 0xFFU),
        .bind_info = {.mr = mr, .addr = number(pages), .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};
    ASSERT_EQ(post(b, wr), 0);
    EXPECT_EQ(next().status, IBV_WC_SUCCESS);
    EXPECT_EQ(write(wr.bind_mw.rkey, number(pages)), IBV_WC_SUCCESS);
    ibv_send_wr invalidate{};
    invalidate.opcode = IBV_WR_LOCAL_INV;
    invalidate.invalidate_rkey = wr.bind_mw.rkey;
    invalidate.send_flags = IBV_SEND_SIGNALED;
    ASSERT_EQ(post(b, invalidate), 0);
    const ibv_wc done = next();
    EXPECT_EQ(done.status, IBV_WC_SUCCESS);
    EXPECT_EQ(done.opcode, IBV_WC_LOCAL_INV);
  }
  ibv_mw_bind bind{};
  EXPECT_EQ(ibv_bind_mw(b, mw, &bind), EINVAL);  // that call is for type 1
  EXPECT_EQ(ibv_dealloc_mw(mw), 0);
}

}  // namespace
}  // namespace weft::tests
