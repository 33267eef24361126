#include "lab/plan_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <tuple>

#include <fmt/format.h>

#include "lab/library.h"
#include "lab/plan_parts.h"
#include "lab/validate.h"

namespace weft::lab {
namespace {

constexpr std::array<std::string_view, 7> kTopKeys{"experiment", "base", "quick", "sweep", "series", "plot", "claim"};
constexpr std::array<std::string_view, 5> kHeadKeys{"id", "title", "paper", "figure", "what"};
constexpr std::array<std::string_view, 5> kSeries{"name", "label", "profile", "set", "quick"};
constexpr std::size_t kMostPoints = 4096;

using Done = tl::expected<void, std::string>;

bool is_id(std::string_view id) {
  const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; };
  return std::all_of(id.begin(), id.end(), fits);
}
// What an expression can say.
bool is_name(std::string_view name) {
  return !name.empty() && is_id(name) && name.find('-') == std::string_view::npos &&
         !(name[0] >= '0' && name[0] <= '9');
}

class PlanReader {
 public:
  PlanReader(const FilePosition& place, const ProfileShelf& profiles, const std::filesystem::path& folder)
      : place_(place), profiles_(profiles), folder_(folder) {}

  tl::expected<Plan, std::string> read(const toml::table& file) {
    plan_.file = place_.file();
    Done done = check_keys(file, place_, kTopKeys);
    if (done) done = read_head(file);
    if (done) done = read_changes(file, "base", base_);
    if (done) done = read_changes(file, "quick", plan_.quick);
    if (done) done = each_table(file, "sweep", [this](const toml::table& t) { return read_axis(t, place_, plan_); });
    if (done) done = each_table(file, "series", [this](const toml::table& t) { return read_series(t); });
    if (done) done = check_points(file);
    if (done) done = each_table(file, "plot", [this](const toml::table& t) { return read_plot(t, place_, plan_); });
    if (done) done = each_table(file, "claim", [this](const toml::table& t) { return read_claim(t, place_, plan_); });
    if (!done) return Problem(done.error());
    if (plan_.series.empty() && plan_.claims.empty()) {
      return Problem(place_.file() + ":1:1: there is nothing to run: neither [[series]] nor [[claim]]");
    }
    return std::move(plan_);
  }

 private:
  Done read_head(const toml::table& file) {
    const toml::table* head = file["experiment"].as_table();
    if (head == nullptr) return Problem(place_.file() + ":1:1: [experiment] with id and title is missing");
    if (Done keys = check_keys(*head, place_, kHeadKeys); !keys) return keys;
    for (const auto& [key, target] :
         {std::pair("id", &plan_.id), std::pair("title", &plan_.title), std::pair("paper", &plan_.paper),
          std::pair("figure", &plan_.figure), std::pair("what", &plan_.what)}) {
      auto text = read_text(*head, key, place_);
      if (!text) return Problem(text.error());
      *target = std::move(*text);
    }
    if (plan_.id.empty() || plan_.title.empty()) return place_.problem(*head, "an experiment has an id and a title");
    if (!is_id(plan_.id)) {
      return place_.problem(*head->get("id"), fmt::format("an id is of letters, digits, - and _, not '{}'", plan_.id));
    }
    return {};
  }

  Done read_changes(const toml::table& file, std::string_view key, std::vector<Override>& out) {
    const toml::node* node = file.get(key);
    if (node == nullptr) return {};
    if (!node->is_table()) return place_.problem(*node, fmt::format("{} is a table of settings", key));
    auto changes = read_overrides(*node->as_table(), place_);
    if (!changes) return Problem(changes.error());
    out = std::move(*changes);
    return {};
  }

  template <class Read>
  Done each_table(const toml::table& file, std::string_view key, Read&& read) {
    const toml::node* node = file.get(key);
    if (node == nullptr) return {};
    const toml::array* array = node->as_array();
    if (array == nullptr) return place_.problem(*node, fmt::format("{0} is written [[{0}]]", key));
    for (const toml::node& element : *array) {
      if (!element.is_table()) return place_.problem(element, fmt::format("a {} is a table", key));
      if (Done done = read(*element.as_table()); !done) return done;
    }
    return {};
  }

  Done read_series(const toml::table& table) {
    if (Done keys = check_keys(table, place_, kSeries); !keys) return keys;
    const auto name = read_text(table, "name", place_);
    const auto label = read_text(table, "label", place_);
    const auto profile = read_text(table, "profile", place_);
    for (const auto* text : {&name, &label, &profile}) {
      if (!*text) return Problem(text->error());
    }
    if (!is_name(*name) || *name == "card") {
      return place_.problem(table, fmt::format("a series has a name of letters, digits and _, not '{}'", *name));
    }
    for (const Series& other : plan_.series) {
      if (other.name == *name) return place_.problem(table, fmt::format("there are two series '{}'", *name));
    }
    if (profile->empty()) return place_.problem(table, fmt::format("series '{}' has no profile", *name));
    auto found = profiles_.find(*profile, folder_);
    if (!found) return place_.problem(*table.get("profile"), found.error());
    const toml::node* set = table.get("set");
    if (set != nullptr && !set->is_table()) return place_.problem(*set, "set is a table of settings");
    auto own = set != nullptr ? read_overrides(*set->as_table(), place_) : std::vector<Override>();
    if (!own) return Problem(own.error());
    const auto quick = read_truth(table, "quick", true, place_);
    if (!quick) return Problem(quick.error());
    const std::string shown = label->empty() ? found->title : *label;
    add_series(*name, shown, std::move(*found), *own, *quick);
    series_.push_back(&table);
    return {};
  }

  void add_series(const std::string& name, const std::string& label, Profile profile, const std::vector<Override>& own,
                  bool quick) {
    Series series{.name = name, .label = label, .setting = {}, .changes = {}, .quick = quick};
    series.setting.profile = std::move(profile);
    for (const Override& change : base_) {
      change.field.set(series.setting, change.value);
      if (change.field.is_of_profile()) series.changes.push_back(change);
    }
    for (const Override& change : own) {
      change.field.set(series.setting, change.value);
      series.changes.push_back(change);
    }
    plan_.series.push_back(std::move(series));
  }

  // What only shows with all that is set: too many runs, and settings that do not go together.
  Done check_points(const toml::table& file) {
    std::size_t count = plan_.series.size();
    for (const Axis& axis : plan_.axes) count *= std::min(axis.points.size(), kMostPoints + 1);
    const toml::node& at = file.contains("sweep") ? *file.get("sweep") : static_cast<const toml::node&>(file);
    if (count > kMostPoints) return place_.problem(at, fmt::format("{} runs, {} are allowed", count, kMostPoints));
    for (const Extent extent : {Extent::full, Extent::quick}) {
      for (const Point& point : points_of(plan_, extent)) {
        const std::string reason = validate(point.setting);
        if (reason.empty()) continue;
        const std::string where = point.at.empty() ? "" : " at " + where_text(plan_, point);
        return place_.problem(*series_[point.series],
                              fmt::format("{}{}: {}", plan_.series[point.series].name, where, reason));
      }
    }
    return {};
  }

  const FilePosition& place_;
  const ProfileShelf& profiles_;
  const std::filesystem::path& folder_;
  Plan plan_;
  std::vector<Override> base_;
  std::vector<const toml::table*> series_;  // where each stands
};

bool has_only_absent(const Plan& plan) {
  return std::all_of(plan.claims.begin(), plan.claims.end(), [](const Claim& c) { return !c.absent.empty(); });
}

// As they are read: what has claims before studies, and those before what nothing measures yet; a paper's figures
// before the rest of it, fig2 before fig10.
bool stands_before(const Plan& a, const Plan& b) {
  const auto rank = [](const Plan& plan) {
    const std::size_t figure = plan.id.find("-fig");
    const bool is_figure = figure != std::string::npos;
    const int number = is_figure ? std::atoi(plan.id.c_str() + figure + 4) : 0;
    const int kind = plan.series.empty() && has_only_absent(plan) ? 2 : plan.claims.empty() ? 1 : 0;
    return std::tuple(kind, plan.id.substr(0, plan.id.find('-')), !is_figure, number, plan.id);
  };
  return rank(a) < rank(b);
}

}  // namespace

tl::expected<Plan, std::string> read_plan(std::string_view text, const std::string& file, const ProfileShelf& profiles,
                                          const std::filesystem::path& folder) {
  const FilePosition place(file);
  const auto table = parse_toml(text, place);
  if (!table) return Problem(table.error());
  return PlanReader(place, profiles, folder).read(*table);
}

tl::expected<std::vector<Plan>, std::string> library_plans(const ProfileShelf& profiles) {
  std::vector<Plan> plans;
  for (const LibraryFile& file : kExperiments) {
    auto plan = read_plan(file.text, fmt::format("experiments/{}.toml", file.name), profiles);
    if (!plan) return Problem(plan.error());
    plans.push_back(std::move(*plan));
  }
  std::stable_sort(plans.begin(), plans.end(), stands_before);
  return plans;
}

}  // namespace weft::lab
