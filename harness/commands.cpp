#include "harness/commands.hpp"

#include <map>
#include <utility>

namespace ulpscope {
namespace {
std::multimap<int, AddCommand>& by_position() {
  static std::multimap<int, AddCommand> list;
  return list;
}
}  // namespace

RegisterCommand::RegisterCommand(int position, AddCommand add) {
  by_position().emplace(position, std::move(add));
}

const std::vector<AddCommand>& commands() {
  static const std::vector<AddCommand> list = [] {
    std::vector<AddCommand> l;
    for (auto& [position, add] : by_position()) l.push_back(add);
    return l;
  }();
  return list;
}

}  // namespace ulpscope
