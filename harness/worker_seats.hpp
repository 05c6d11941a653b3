#pragma once
// The places of workers: a GPU each, or none.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/device_choice.hpp"

namespace ulpscope {

struct Seat {
  std::string name;     // "GPU 1", "worker 2"
  int gpu = -1;         // its number among those this process may use; -1: none
  std::string visible;  // the CUDA_VISIBLE_DEVICES that leaves it alone
};

/// One for each worker. GPUs are counted in a process of its own, so that this one may still fork. Throws
/// Error, one line, if a GPU that was asked for is not there, or none is.
std::vector<Seat> seats_of(const Workers& workers);

/// The same with the number of GPUs given, and what CUDA_VISIBLE_DEVICES is now.
std::vector<Seat> gpu_seats(const Workers& workers, int gpus, const std::string& visible);

/// Makes this process use the seat's GPU and no other; before it asks for any.
void take_seat(const Seat& seat);

/// Turns the environment of a worker into that of the process that started it: the GPU's number and the
/// variables are those seen from there.
void leave_seat(const Seat& seat, nlohmann::json& environment);

/// {index, name, uuid, pci, arithmetic_agrees, arithmetic_reason} of a worker's GPU.
nlohmann::json device_entry(const Seat& seat, const nlohmann::json& environment);

}  // namespace ulpscope
