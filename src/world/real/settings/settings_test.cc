// What users write, in the environment and in weft.toml, and what they are told when it cannot be read.
#include "world/real/settings/settings.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "world/real/settings/setting_table.h"

namespace weft::real {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

class SettingsTest : public testing::Test {
 protected:
  SettingsTest() {
    std::string name = (fs::temp_directory_path() / "weft-settings-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~SettingsTest() override { fs::remove_all(folder_); }

  std::string file(const std::string& content) {
    const std::string path = (folder_ / "my.toml").string();
    std::ofstream(path) << content;
    return path;
  }
  static tl::expected<Settings, std::string> from(Variables variables) {
    variables.try_emplace("WEFT_CONFIG", "");  // no ./weft.toml
    return Settings::from([&](const char* name) -> const char* {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  }
  static Settings good(const Variables& variables) {
    const tl::expected<Settings, std::string> read = from(variables);
    EXPECT_TRUE(read) << read.error();
    return read.value_or(Settings{});
  }
  static std::string bad(const Variables& variables) {
    const tl::expected<Settings, std::string> read = from(variables);
    EXPECT_FALSE(read);
    return read ? "" : read.error();
  }

  fs::path folder_;
};

TEST_F(SettingsTest, NothingIsSetAtFirst) {
  const Settings usual = good({});
  EXPECT_TRUE(usual.addresses.empty());
  EXPECT_EQ(usual.wire, WireChoice::automatic);
  EXPECT_EQ(usual.transport, TransportChoice::automatic);
  EXPECT_TRUE(usual.impairments.empty());
  EXPECT_TRUE(usual.impair_outbound);
  EXPECT_FALSE(usual.impair_inbound);
  EXPECT_EQ(usual.seed, 1u);
  EXPECT_EQ(usual.pcap, "");
  EXPECT_FALSE(usual.stats);
  EXPECT_EQ(usual.max_qps, 16384u);
  EXPECT_EQ(usual.stateless_beyond, 10'000u);
  EXPECT_TRUE(usual.capabilities);
  EXPECT_EQ(usual.policy, nic::Policy::round_robin);
  EXPECT_EQ(usual.weights, nic::usual_weights());
  EXPECT_EQ(usual.works_per_turn, 8u);
  EXPECT_EQ(usual.burst_bytes, 16384u);
  EXPECT_EQ(usual.one_copy, OneCopy::measured);
  EXPECT_TRUE(usual.merge);
  EXPECT_EQ(usual.source_ports, 1u);
}

TEST_F(SettingsTest, EveryVariableIsRead) {
  const Settings set = good({{"WEFT_ADDR", "127.0.0.2, fd00::7"},
                             {"WEFT_TRANSPORT", "roce"},
                             {"WEFT_WIRE", "udp"},
                             {"WEFT_LOSS", "1%"},
                             {"WEFT_DUP", "0.02"},
                             {"WEFT_REORDER", "3%"},
                             {"WEFT_CORRUPT", "0.04"},
                             {"WEFT_ECN", "5%"},
                             {"WEFT_DROP_NTH", "7,3"},
                             {"WEFT_IMPAIR", "both"},
                             {"WEFT_SEED", "18446744073709551615"},
                             {"WEFT_PCAP", "x-%p.pcapng"},
                             {"WEFT_STATS", "1"},
                             {"WEFT_MAX_QPS", "100"},
                             {"WEFT_STATELESS_BEYOND", "0"},
                             {"WEFT_CAPABILITIES", "off"},
                             {"WEFT_POLICY", "weighted"},
                             {"WEFT_WEIGHTS", "5,1, 255"},
                             {"WEFT_WORKS_PER_TURN", "4"},
                             {"WEFT_BURST_BYTES", "65536"},
                             {"WEFT_ONE_COPY", "off"},
                             {"WEFT_MERGE", "off"},
                             {"WEFT_SOURCE_PORTS", "16"}});
  EXPECT_THAT(set.addresses, ElementsAre(wire::Address::v4(127, 0, 0, 2),
                                         wire::Address{{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}}));
  EXPECT_EQ(set.transport, TransportChoice::roce);
  EXPECT_EQ(set.wire, WireChoice::udp);
  EXPECT_EQ(set.impairments.text(),
            "loss=0.01,duplication=0.02,reordering=0.03,corruption=0.04,ecn=0.05,drop=7,drop=3");
  EXPECT_TRUE(set.impair_outbound && set.impair_inbound);
  EXPECT_EQ(set.seed, ~std::uint64_t{0});
  EXPECT_EQ(set.pcap, "x-%p.pcapng");
  EXPECT_TRUE(set.stats);
  EXPECT_EQ(set.max_qps, 100u);
  EXPECT_EQ(set.stateless_beyond, 0u);
  EXPECT_FALSE(set.capabilities);
  EXPECT_EQ(set.policy, nic::Policy::weighted);
  EXPECT_EQ(set.weights, (nic::Weights{5, 1, 255, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
  EXPECT_EQ(set.works_per_turn, 4u);
  EXPECT_EQ(set.burst_bytes, 65536u);
  EXPECT_EQ(set.one_copy, OneCopy::off);
  EXPECT_FALSE(set.merge);
  EXPECT_EQ(set.source_ports, 16u);
  EXPECT_THAT(bad({{"WEFT_SOURCE_PORTS", "17"}}), HasSubstr("is not a whole number from 1 to 16"));
}

TEST_F(SettingsTest, TheThresholdOfStatelessnessIsACountAndCapabilitiesAreOnOrOff) {
  EXPECT_EQ(good({{"WEFT_STATELESS_BEYOND", "131072"}}).stateless_beyond, 131072u);
  EXPECT_THAT(bad({{"WEFT_STATELESS_BEYOND", "131073"}}), HasSubstr("is not a whole number from 0 to 131072"));
  EXPECT_THAT(bad({{"WEFT_STATELESS_BEYOND", "-1"}}), HasSubstr("is not a whole number from 0 to 131072"));
  EXPECT_THAT(bad({{"WEFT_CAPABILITIES", "maybe"}}), HasSubstr("is none of on, off"));
}

TEST_F(SettingsTest, StarHasARoleAndARoleHasStar) {
  for (const auto& [word, role] :
       {std::pair{"stateless", host::StarRole::stateless}, {"stateful", host::StarRole::stateful}}) {
    const Settings set = good({{"WEFT_TRANSPORT", "star"}, {"WEFT_ROLE", word}});
    EXPECT_EQ(set.transport, TransportChoice::star);
    EXPECT_EQ(set.role, role);
    EXPECT_THAT(bad({{"WEFT_ROLE", word}}), HasSubstr("a role is for transport star only"));
  }
  EXPECT_THAT(bad({{"WEFT_TRANSPORT", "star"}}), HasSubstr("transport star needs a role"));
  EXPECT_THAT(bad({{"WEFT_TRANSPORT", "star"}, {"WEFT_ROLE", "both"}}),
              HasSubstr("'both' is none of stateless, stateful"));
  EXPECT_EQ(good({{"WEFT_CONFIG", file("transport = \"star\"\nrole = \"stateful\"\n")}}).role,
            host::StarRole::stateful);
  EXPECT_THAT(bad({{"WEFT_CONFIG", file("role = \"stateful\"\n")}}), HasSubstr("for transport star only"));
}

TEST_F(SettingsTest, AWholePlanComesFirstAndPartsChangeIt) {
  EXPECT_EQ(good({{"WEFT_FAULTS", "loss=5%,drop=1,delay=2"}, {"WEFT_LOSS", "0.5"}, {"WEFT_DROP_NTH", "9"}})
                .impairments.text(),
            "loss=0.5,delay=2,drop=9");
}

TEST_F(SettingsTest, InboundAlone) {
  const Settings set = good({{"WEFT_IMPAIR", "in"}});
  EXPECT_FALSE(set.impair_outbound);
  EXPECT_TRUE(set.impair_inbound);
}

TEST_F(SettingsTest, SetToNothingIsNotSet) {
  Variables empty;
  for (const SettingRow& one : all_settings()) empty[std::string(one.variable)] = "";
  EXPECT_EQ(good(empty).max_qps, 16384u);
}

TEST_F(SettingsTest, TheFileSaysTheSame) {
  const Settings set = good({{"WEFT_CONFIG", file("# a comment\n"
                                                  "addr = ['127.0.0.2', '127.0.0.3']\n"
                                                  "wire = 'shm'\n"
                                                  "loss = 0.01\n"
                                                  "dup = '2%'\n"
                                                  "drop_nth = [4, 5]\n"
                                                  "seed = 42\n"
                                                  "stats = true\n"
                                                  "max_qps = 65536\n"
                                                  "policy = 'strict'\n"
                                                  "weights = [2, 4]\n"
                                                  "works_per_turn = 1\n"
                                                  "burst_bytes = 4096\n"
                                                  "faults = 'delay=1'\n")}});
  EXPECT_EQ(set.addresses.size(), 2u);
  EXPECT_EQ(set.wire, WireChoice::shm);
  EXPECT_EQ(set.impairments.text(), "loss=0.01,duplication=0.02,delay=1,drop=4,drop=5");
  EXPECT_EQ(set.seed, 42u);
  EXPECT_TRUE(set.stats);
  EXPECT_EQ(set.max_qps, 65536u);
  EXPECT_EQ(set.policy, nic::Policy::strict);
  EXPECT_EQ(set.weights[1], 4u);
  EXPECT_EQ(set.works_per_turn, 1u);
  EXPECT_EQ(set.burst_bytes, 4096u);
}

TEST_F(SettingsTest, TheEnvironmentWins) {
  const std::string path = file("loss = 0.5\nseed = 3\nwire = 'shm'\ndrop_nth = 2\n");
  const Settings set = good({{"WEFT_CONFIG", path}, {"WEFT_LOSS", "0"}, {"WEFT_SEED", "4"}, {"WEFT_DROP_NTH", "8,9"}});
  EXPECT_EQ(set.impairments.text(), "drop=8,drop=9");
  EXPECT_EQ(set.seed, 4u);
  EXPECT_EQ(set.wire, WireChoice::shm);
  EXPECT_TRUE(good({{"WEFT_CONFIG", path}, {"WEFT_FAULTS", "none"}}).impairments.empty());
}

TEST_F(SettingsTest, TheUsualFileIsInTheFolderAtHand) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const auto nothing = [](const char*) -> const char* { return nullptr; };
  EXPECT_EQ(Settings::from(nothing)->seed, 1u);
  std::ofstream("weft.toml") << "seed = 77\n";
  EXPECT_EQ(Settings::from(nothing)->seed, 77u);
  EXPECT_EQ(good({{"WEFT_CONFIG", ""}}).seed, 1u);
  fs::current_path(before);
}

TEST_F(SettingsTest, ErrorsNameTheVariableTheValueAndWhatIsAccepted) {
  const auto says = [](const char* variable, const char* value, const char* accepted) {
    EXPECT_THAT(bad({{variable, value}}),
                AllOf(testing::StartsWith(std::string(variable) + ": "), HasSubstr(accepted)));
  };
  says("WEFT_LOSS", "2", "'2' is no probability: loss wants 0 ... 1, or 0% ... 100%");
  says("WEFT_LOSS", "1%,drop=3", "'1%,drop=3' is no probability");
  says("WEFT_DUP", "much", "'much' is no probability");
  says("WEFT_DROP_NTH", "1,x", "'x' is no packet's number");
  says("WEFT_DROP_NTH", "1,", "'' is no packet's number");
  says("WEFT_FAULTS", "los=1", "there is no fault called 'los'");
  says("WEFT_ADDR", "here", "'here' is no IP address, like 127.0.0.1 or fd00::1");
  says("WEFT_ADDR", "127.0.0.1,127.0.0.1", "'127.0.0.1' stands there twice");
  says("WEFT_ADDR", "fe80::1", "is of one link only");
  says("WEFT_ADDR", "0.0.0.0", "is no host's address");
  says("WEFT_ADDR", "224.0.0.1", "is a group's address");
  says("WEFT_ADDR", "::1,::2,::3,::4,::5,::6,::7,::8,::9", "more than 8 addresses");
  says("WEFT_TRANSPORT", "tcp", "'tcp' is none of auto, roce, srnic, star");
  says("WEFT_WIRE", "tcp", "'tcp' is none of auto, udp, shm");
  says("WEFT_IMPAIR", "up", "'up' is none of out, in, both");
  says("WEFT_SEED", "-1", "'-1' is not a whole number below 2^64");
  says("WEFT_STATS", "maybe", "'maybe' is none of 1, 0");
  says("WEFT_MAX_QPS", "0", "'0' is not a whole number from 1 to 131072");
  says("WEFT_MAX_QPS", "131073", "from 1 to 131072");
  says("WEFT_POLICY", "fair", "'fair' is none of round-robin, weighted, strict");
  says("WEFT_WEIGHTS", "1,0", "'0' is not a whole number from 1 to 255");
  says("WEFT_WEIGHTS", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "more than 16 weights");
  says("WEFT_WORKS_PER_TURN", "0", "'0' is not a whole number from 1 to 32768");
  says("WEFT_BURST_BYTES", "16K", "'16K' is not a whole number");
}

TEST_F(SettingsTest, ErrorsOfTheFileNameItsLine) {
  const auto says = [this](const std::string& content, const std::string& what) {
    EXPECT_THAT(bad({{"WEFT_CONFIG", file(content)}}), HasSubstr("my.toml:" + what)) << content;
  };
  says("\nloss = 7\n", "2: loss: '7' is no probability");
  says("los = 0.1\n", "1: there is no setting called 'los'; known are addr,");
  says("seed = 1\nseed = 2\n", "2: ");
  says("loss = \n", "1: ");
  says("[loss]\nx = 1\n", "1: loss wants a text");
  says("addr = [['a']]\n", "1: addr wants a text");
  EXPECT_THAT(bad({{"WEFT_CONFIG", "no-such-file.toml"}}), HasSubstr("cannot read no-such-file.toml: No such file"));
}

// Bug: toml++ took such a letter for one that cannot be there, and then anything could happen.
TEST_F(SettingsTest, LettersThatAreNotAsciiStandInTextsAndCommentsOnly) {
  EXPECT_THAT(bad({{"WEFT_CONFIG", file("seed = 1\n\xC3\xB6l = 1\n")}}),
              HasSubstr("my.toml:2: a character that may only stand in a text or a comment"));
  EXPECT_THAT(bad({{"WEFT_CONFIG", file("pcap = \"\"\"a\nb\\\"\"\"\"\n\xC3\xB6")}}),
              HasSubstr("my.toml:3: a character"));
  const std::string texts = "\xEF\xBB\xBF# \xC3\xB6l\npcap = '\xC3\xB6l'\naddr = \"\" # \xC3\xB6l\n";
  EXPECT_THAT(bad({{"WEFT_CONFIG", file(texts)}}), HasSubstr("my.toml:3: addr"));
}

// Bug: an assertion of toml++ ended the program.
TEST_F(SettingsTest, ATableWithoutANameIsRefused) {
  for (const char* const text : {"[!]\n", "[=a]\n", "[[\x1B]]\n", "[a.!]\n"}) {
    EXPECT_THAT(bad({{"WEFT_CONFIG", file(text)}}), HasSubstr("my.toml:1: ")) << text;
  }
}

// Whatever stands in a file is an error at its line, and none of the parser's assertions.
TEST_F(SettingsTest, MalformedFilesAreErrorsAtTheirLine) {
  using namespace std::string_literals;
  for (const std::string& line : {"[[[["s, "[="s, "[[="s, "[.a]"s, "[[a]"s, "a.=1"s, "a = ["s + std::string(999, '['),
                                  "a = {b = {"s, "a = \"\\"s, "a = '"s, "= 1"s, "a = 1_"s, "a = 0x"s, "a = 1979-13-99"s,
                                  "a = \"\\ud800\""s, "a\0b = 1"s, "\r"s, "a = \"\"\"x"s, "]"s}) {
    EXPECT_THAT(bad({{"WEFT_CONFIG", file("seed = 1\n\n" + line)}}), HasSubstr("my.toml:3: ")) << line;
  }
  EXPECT_THAT(bad({{"WEFT_CONFIG", file("seed = 1\n\xff\xfe")}}), HasSubstr("my.toml:2: "));
}

// The system ends a name at a NUL: what would be opened is not what stands there.
TEST_F(SettingsTest, NulsAreRefused) {
  EXPECT_THAT(bad({{"WEFT_CONFIG", file("pcap = \"/etc/passwd\\u0000.pcapng\"\n")}}),
              HasSubstr("my.toml:1: pcap: there is a NUL in it"));
  EXPECT_THAT(bad({{"WEFT_CONFIG", file("seed = 1\naddr = ['127.0.0.1', \"\\u0000\"]\n")}}),
              HasSubstr("my.toml:2: addr"));
  EXPECT_THAT(bad({{"WEFT_CONFIG", file("\"pcap\\u0000\" = 'x'\n")}}), HasSubstr("my.toml:1: there is a NUL"));
}

TEST_F(SettingsTest, OnlyRegularFilesOfSomeLengthAreRead) {
  EXPECT_THAT(bad({{"WEFT_CONFIG", folder_.string()}}), HasSubstr("it is no regular file"));
  EXPECT_THAT(bad({{"WEFT_CONFIG", "/dev/zero"}}), HasSubstr("it is no regular file"));
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(bad({{"WEFT_CONFIG", pipe}}), HasSubstr("it is no regular file"));
  EXPECT_THAT(bad({{"WEFT_CONFIG", file(std::string((1U << 20) + 1, '#'))}}), HasSubstr("it is longer than 1 MiB"));
  EXPECT_EQ(good({{"WEFT_CONFIG", file("seed = 5\n#" + std::string((1U << 20) - 10, '#'))}}).seed, 5u);
}

// The folder at hand may be everybody's. `distrust` makes the file in it one that anybody may have written.
class SettingsOfOthers : public SettingsTest {
 protected:
  using Distrust = void (*)(const char* path);

  // A program that asks for its settings twice in a folder with such a file has the usual ones, and says this. In a
  // process of its own, because it says it once.
  void expect_unread(Distrust distrust, const testing::Matcher<const std::string&>& said) {
    const std::string path = (folder_ / "weft.toml").string();
    std::ofstream(path) << "seed = 77\n";
    distrust(path.c_str());
    const auto ask_twice = [this] {
      fs::current_path(folder_);
      for (int i = 0; i < 2; ++i) {
        const auto read = Settings::from([](const char*) -> const char* { return nullptr; });
        if (!read || read->seed != 1 || !read->file.empty()) std::_Exit(1);
      }
      std::_Exit(0);
    };
    EXPECT_EXIT(ask_twice(), testing::ExitedWithCode(0), said);
    fs::remove(path);
  }
  std::string error_about(Distrust distrust) {
    const std::string path = file("seed = 77\n");
    distrust(path.c_str());
    return bad({{"WEFT_CONFIG", path}});
  }
};

void let_everybody_write(const char* path) { EXPECT_EQ(::chmod(path, 0666), 0); }
void let_another_group_write(const char* path) {
  EXPECT_EQ(::chown(path, ::geteuid(), 54321), 0);
  EXPECT_EQ(::chmod(path, 0664), 0);
}
void give_away(const char* path) { EXPECT_EQ(::chown(path, 54321, static_cast<gid_t>(-1)), 0); }

TEST_F(SettingsOfOthers, AreNotReadAndThatIsSaidOnce) {
  expect_unread(let_everybody_write, testing::Eq("weft: weft.toml is not read: everybody may write it\n"));
}

TEST_F(SettingsOfOthers, AreErrorsIfTheyAreNamed) {
  EXPECT_THAT(error_about(let_everybody_write), HasSubstr("my.toml is not read: everybody may write it"));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to others";
  EXPECT_THAT(error_about(give_away), HasSubstr("it belongs to user 54321, who is neither you nor root"));
  EXPECT_THAT(error_about(let_another_group_write), HasSubstr("group 54321, which is not yours, may write it"));
}

TEST_F(SettingsOfOthers, AreNotReachedByTheirLinks) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to others";
  const std::string mine = file("seed = 77\n"), link = (folder_ / "link.toml").string();
  fs::create_symlink(mine, link);
  EXPECT_EQ(good({{"WEFT_CONFIG", link}}).seed, 77u);
  ASSERT_EQ(::lchown(link.c_str(), 54321, 54321), 0);
  EXPECT_THAT(bad({{"WEFT_CONFIG", link}}),
              HasSubstr("is not read: it is a symbolic link, and it belongs to user 54321"));
}

// Nobody can keep programs from starting by what he puts into a folder.
TEST_F(SettingsOfOthers, NeedNotBeReadable) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to others";
  const auto replace_by_a_pipe = [](const char* path) {
    fs::remove(path);
    EXPECT_EQ(::mkfifo(path, 0666), 0);
    give_away(path);
  };
  const auto replace_by_a_folder = [](const char* path) {
    fs::remove(path);
    fs::create_directory(path);
    give_away(path);
  };
  const auto fill_with_rubbish = [](const char* path) {
    std::ofstream(path) << "[[[[";
    give_away(path);
  };
  const Distrust all[] = {replace_by_a_pipe, replace_by_a_folder, fill_with_rubbish};
  for (const Distrust distrust : all) expect_unread(distrust, HasSubstr("it belongs to user 54321"));
}

TEST_F(SettingsTest, ARootsFileAndOneThatTheOwnGroupMayWriteAreRead) {
  const std::string path = file("seed = 77\n");
  ASSERT_EQ(::chmod(path.c_str(), 0664), 0);
  const Settings set = good({{"WEFT_CONFIG", path}});
  EXPECT_EQ(set.seed, 77u);
  EXPECT_EQ(set.file, path);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  fs::permissions(folder_, fs::perms::all);
  ASSERT_EQ(::seteuid(54321), 0);
  EXPECT_EQ(good({{"WEFT_CONFIG", path}}).seed, 77u);
  ASSERT_EQ(::seteuid(0), 0);
}

TEST(SettingTable, EveryKeyHasItsVariable) {
  for (const SettingRow& one : all_settings()) {
    std::string variable = "WEFT_" + std::string(one.key);
    for (char& c : variable) c = static_cast<char>(std::toupper(c));
    EXPECT_EQ(variable, one.variable);
    EXPECT_EQ(find_setting(one.key), &one);
    EXPECT_FALSE(one.meaning.empty() || one.type.empty());
  }
  EXPECT_EQ(find_setting("nothing"), nullptr);
}

}  // namespace
}  // namespace weft::real
