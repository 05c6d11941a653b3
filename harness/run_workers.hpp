#pragma once
// Cases shared out among processes, one for each GPU of this host: each takes the next case when it is done
// with one. A case stays whole: its exact result is computed once, for all variants.
#include "harness/run.hpp"

namespace ulpscope {

/// run_cases for options.workers: the same `results` as from one process, byte for byte. The environment is
/// that of one worker, with `workers` [{name, threads, cases, started}] and for GPUs `devices` [{index, name,
/// uuid, pci, arithmetic_agrees, arithmetic_reason}] beside it. A worker that ends is replaced and its case
/// given out once more; a case that two workers ended on gets `error` results. Throws Error if a GPU is not
/// there, if GPUs differ in anything that may change a result, or if no worker can start.
Record run_on_workers(const std::vector<Case>& cases, const RunOptions& options);

}  // namespace ulpscope
