// The memory that the system has, and the budget of it that all processes of a server share.
#include "core/base/memory_budget.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/base/available_memory.hpp"

namespace simjoin {
namespace {

constexpr size_t megabyte = size_t{1} << 20, gigabyte = size_t{1} << 30;

// A folder with files as the system has them.
class System : public testing::Test {
 protected:
  System() {
    write("proc/meminfo", "MemTotal:       4096 kB\nMemFree: 9 kB\nMemAvailable:   1024 kB\nBuffers: 1 kB\n");
  }
  ~System() override { std::filesystem::remove_all(root_); }

  void write(const std::string &path, const std::string &text) const {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void write_group(const std::string &folder, const std::string &limit, const std::string &used) const {
    write(folder + "/memory.max", limit + "\n");
    write(folder + "/memory.current", used + "\n");
  }
  size_t available() const { return available_memory(root_.string()).value_or(0); }

  const std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / ("simjoin_memory_budget_test." + std::to_string(getpid()));
};

TEST_F(System, TellsWhatIsAvailable) {
  EXPECT_EQ(available(), 1024u * 1024);
  EXPECT_GT(available_memory().value_or(1), 0u);
}

TEST_F(System, MayNotTell) {
  EXPECT_FALSE(available_memory((root_ / "elsewhere").string()).has_value());
  write("proc/meminfo", "MemTotal: 4096 kB\nMemFree: 1024 kB\n");
  EXPECT_FALSE(available_memory(root_.string()).has_value());
  write("proc/meminfo", "MemAvailable: much kB\n");
  EXPECT_FALSE(available_memory(root_.string()).has_value());
}

TEST_F(System, HasGroupsOfVersion2) {
  write("proc/self/cgroup", "0::/a/b\n");
  write_group("sys/fs/cgroup/a/b", "max", "5");
  EXPECT_EQ(available(), 1024u * 1024);
  write_group("sys/fs/cgroup/a", "5000", "1500");
  EXPECT_EQ(available(), 3500u) << "a group above";
  write_group("sys/fs/cgroup/a/b", "2000", "1500");
  EXPECT_EQ(available(), 500u);
  write("sys/fs/cgroup/a/b/memory.stat", "anon 900\nfile 600\ninactive_file 400\nactive_file 200\n");
  EXPECT_EQ(available(), 900u) << "pages of files";
  write("sys/fs/cgroup/a/b/memory.high", "1800\n");
  EXPECT_EQ(available(), 700u);
  write_group("sys/fs/cgroup/a/b", "1000", "1500");
  EXPECT_EQ(available(), 0u) << "more than the limit";
  write("sys/fs/cgroup/a/b/memory.current", "\n");
  EXPECT_EQ(available(), 3500u) << "nothing is known of the group";
}

TEST_F(System, HasGroupsOfVersion1) {
  write("proc/self/cgroup", "9:name=systemd:/\n5:cpu,memory:/job\nnonsense\n0::/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "100\n");
  EXPECT_EQ(available(), 1024u * 1024);
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4000\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "3000\n");
  write("sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n");
  EXPECT_EQ(available(), 1500u);
}

TEST_F(System, TellsContainersOfTheirOwnGroup) {
  write("proc/self/cgroup", "0::/host/path/of/the/container\n");
  write_group("sys/fs/cgroup", "3000", "1000");
  EXPECT_EQ(available(), 2000u);
  write("proc/self/cgroup", "0::/../..\n");
  EXPECT_EQ(available(), 2000u);
}

class MemoryBudget : public testing::Test {
 protected:
  MemoryBudget() { set_memory_account(&account_); }
  ~MemoryBudget() override {
    set_memory_account(nullptr);
    set_server_memory(0);
  }

  MemoryAccount account_ = {};
};

TEST_F(MemoryBudget, GivesHalfOfWhatIsLeft) {
  {
    const DrawnMemory first(100 * gigabyte, 64 * gigabyte), second(100 * gigabyte, 64 * gigabyte);
    EXPECT_EQ(first.bytes(), 32 * gigabyte);
    EXPECT_EQ(second.bytes(), 16 * gigabyte);
    const DrawnMemory third(gigabyte + 1, 64 * gigabyte);
    EXPECT_EQ(third.bytes(), gigabyte + 1) << "no more than it asks for";
    EXPECT_EQ(account_.drawn, 49 * gigabyte + 1);
  }
  EXPECT_EQ(account_.drawn, 0u);
  EXPECT_EQ(DrawnMemory(100 * gigabyte, 10 * gigabyte).bytes(), 5 * gigabyte) << "what there is has changed";
}

TEST_F(MemoryBudget, KnowsWhatIsInUse) {
  const DrawnMemory first(100 * gigabyte, 64 * gigabyte);
  EXPECT_EQ(DrawnMemory(100 * gigabyte, 32 * gigabyte).bytes(), 16 * gigabyte)
      << "the first uses what it drew";
  EXPECT_EQ(DrawnMemory(100 * gigabyte, 8 * gigabyte).bytes(), 4 * gigabyte) << "others have grown";
  EXPECT_EQ(DrawnMemory(100 * gigabyte, 40 * gigabyte).bytes(), 4 * gigabyte) << "and may grow again";
}

TEST_F(MemoryBudget, IsNeverMoreThanTheSystemHas) {
  std::vector<std::unique_ptr<DrawnMemory>> sessions;
  for (int i = 0; i < 64; ++i) sessions.push_back(std::make_unique<DrawnMemory>(SIZE_MAX, 64 * gigabyte));
  EXPECT_LE(account_.drawn, 64 * gigabyte + 64 * least_draw);
  EXPECT_EQ(sessions.back()->bytes(), least_draw);
  sessions.clear();
  set_server_memory(8 * gigabyte);
  for (int i = 0; i < 64; ++i) sessions.push_back(std::make_unique<DrawnMemory>(SIZE_MAX, 64 * gigabyte));
  EXPECT_LE(account_.drawn, 8 * gigabyte);
  EXPECT_EQ(sessions.front()->bytes(), 7 * gigabyte / 2);
}

TEST_F(MemoryBudget, GivesTheLeastToAll) {
  set_server_memory(megabyte);
  const DrawnMemory first(gigabyte, gigabyte), second(gigabyte, 0), capped(megabyte, gigabyte);
  EXPECT_EQ(first.bytes(), least_draw);
  EXPECT_EQ(second.bytes(), least_draw);
  EXPECT_EQ(capped.bytes(), megabyte);
}

TEST_F(MemoryBudget, TakesBackOnce) {
  const DrawnMemory other(gigabyte, 64 * gigabyte);
  {
    DrawnMemory memory(gigabyte, 64 * gigabyte);
    memory.give_back();
    EXPECT_EQ(account_.drawn, gigabyte);
  }
  EXPECT_EQ(account_.drawn, gigabyte);
}

TEST(MemoryBudgetOfOneProcess, IsAnEighth) {
  const DrawnMemory first(SIZE_MAX, 64 * gigabyte), second(SIZE_MAX, 64 * gigabyte);
  EXPECT_EQ(first.bytes(), 8 * gigabyte);
  EXPECT_EQ(second.bytes(), 7 * gigabyte);
}

}  // namespace
}  // namespace simjoin
