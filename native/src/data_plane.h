// A functional run's bytes: transfers copy them, kernels work on them, and every access is watched.

#pragma once

#include <vector>

#include "access.h"
#include "results.h"
#include "shadow.h"

namespace npuflow {

enum class KernelAbi : std::uint8_t {
  pointers,  // void f(void **args): args[i] is operand i's first byte
  memrefs,   // void f(void **args): args[i] points to a pointer to operand i's strided memref descriptor
};

struct KernelFunction {
  void (*call)(void** arguments) = nullptr;
  KernelAbi abi = KernelAbi::pointers;
};

// One end of a transfer in progress.
struct TransferEnd {
  Index op = 0;
  const Placed* placed = nullptr;
  Walker walker;
};

class DataPlane {
 public:
  // `images` are the memories' bytes, the caller's; `initialised` says which of them hold data from the start.
  DataPlane(const Program& program, std::vector<std::uint8_t*> images, const std::vector<bool>& initialised,
            std::vector<KernelFunction> kernels);

  Ordering& ordering() { return shadow_.ordering(); }

  // Copies elements from one end to the others, all of which stand at the same element of the stream.
  void move(TransferEnd& from, std::vector<TransferEnd*>& to, std::int64_t elements, Cycles now, Budget& budget);
  void finish_write(Index op, const Placed& placed, Cycles now);

  // A kernel reads its operands at its begin, as far as races go, and really runs at its end.
  void begin_kernel(Index op, const std::vector<Placed>& operands, Cycles now, Budget& budget);
  void end_kernel(Index op, const std::vector<Placed>& operands, Cycles now, Budget& budget);

  std::vector<Hazard> take_hazards() { return std::move(hazards_); }

 private:
  void report(const Hazard& hazard);
  void check_run(Index op, const Placed& placed, const Run& run) const;
  void note_read(Index op, const Placed& placed, const Run& run, Cycles now);
  void note_write(Index op, const Placed& placed, const Run& run, Cycles now);
  void gather(TransferEnd& from, std::int64_t elements, Cycles now);
  void scatter(TransferEnd& to, std::int64_t elements, Cycles now);
  void read_operand(Index op, const Placed& placed, Cycles now, Budget& budget);
  void write_operand(Index op, const Placed& placed, bool also_read, Cycles now, Budget& budget);
  void call(Index op, const std::vector<Placed>& operands);
  // An operand whole, with zeros for what is outside, as the kernel's engine makes it up.
  std::uint8_t* with_zeros(const Placed& placed, std::vector<std::uint8_t>& whole) const;
  // What a kernel wrote into such a copy, to where it belongs.
  void put_back(const Placed& placed, const std::vector<std::uint8_t>& whole);
  static std::vector<bool> kept_by_kernels(const Program& program);

  const Program& program_;
  std::vector<std::uint8_t*> images_;
  std::vector<KernelFunction> kernels_;
  Shadow shadow_;
  std::vector<bool> kept_by_kernels_;      // by buffer: whether kernels update it and nobody else reads it
  std::vector<std::int64_t> overwritten_;  // by op: unread bytes that the write in progress has covered
  std::vector<std::int64_t> covered_;      // by op: all bytes that it has covered
  std::vector<std::uint8_t> staged_;       // a piece of a stream, and its bytes' states
  std::vector<std::uint8_t> staged_states_;
  std::vector<std::vector<std::uint8_t>> padded_;  // a call's operands with zeros around them
  std::vector<Hazard> hazards_;
};

}  // namespace npuflow
