#include "harness/cli.hpp"

int main(int argc, char** argv) {
  return ulpscope::run_cli(argc, argv);
}
