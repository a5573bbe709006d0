// A functional run's bytes: transfers copy them, kernels work on them, and every access is watched.

#pragma once

#include <functional>
#include <vector>

#include "access.h"
#include "results.h"

namespace npuflow {

enum class KernelAbi : std::uint8_t {
  pointers,  // void f(void **args): args[i] is operand i's first byte
  memrefs,   // void f(void **args): args[i] points to a pointer to operand i's strided memref descriptor
};

struct KernelFunction {
  void (*call)(void** arguments) = nullptr;
  KernelAbi abi = KernelAbi::pointers;
};

struct Image {
  std::uint8_t* bytes = nullptr;  // not owned: the caller's array, of the memory's size
  bool written = false;           // holds data from the start
};

// One end of a transfer in progress.
struct TransferEnd {
  Index op = 0;
  const Placed* placed = nullptr;
  Walker walker;
};

class DataPlane {
 public:
  DataPlane(const Program& program, std::vector<Image> images, std::vector<KernelFunction> kernels);

  // From `begin` to `end` the bytes of the access must not be touched against it by others.
  void begin(Index op, const Placed& placed, bool writes, Cycles now);
  void end(Index op, const Placed& placed);

  // Copies elements from one end to the others, all of which stand at the same element of the stream.
  void move(TransferEnd& from, std::vector<TransferEnd*>& to, std::int64_t elements, Budget& budget);
  void finish_write(Index op, const Placed& placed, Cycles now);

  // A kernel has its operands to itself from begin to end, and really runs at its end.
  void begin_kernel(Index op, const std::vector<Placed>& operands, Cycles now, Budget& budget);
  void end_kernel(Index op, const std::vector<Placed>& operands, Cycles now, Budget& budget);

  std::vector<Hazard> take_hazards() { return std::move(hazards_); }

 private:
  // Per byte: was it written, and has what was written been read?
  static constexpr std::uint8_t written = 1;
  static constexpr std::uint8_t unread = 2;

  struct Active {
    Index op = 0;
    bool writes = false;
    Placed placed;
    Cycles since = 0;
  };

  void report(const Hazard& hazard);
  void call(Index op, const std::vector<Placed>& operands);
  void gather(TransferEnd& from, std::int64_t elements);
  void scatter(TransferEnd& to, std::int64_t elements);
  void check_run(Index op, const Placed& placed, const Run& run) const;
  void check_read(Index op, const Placed& placed, Cycles now, Budget& budget);
  void mark_written(Index op, const Placed& placed, bool also_read, Cycles now, Budget& budget);

  const Program& program_;
  std::vector<Image> images_;
  std::vector<KernelFunction> kernels_;
  std::vector<std::vector<std::uint8_t>> states_;  // of each memory's bytes
  std::vector<std::vector<Active>> active_;        // in each memory
  std::vector<std::int64_t> overwritten_;          // by op: unread bytes that the write in progress has covered
  std::vector<std::int64_t> covered_;              // by op: all bytes that it has covered
  std::vector<std::uint8_t> staged_;               // a piece of a stream, and its bytes' states
  std::vector<std::uint8_t> staged_states_;
  std::vector<Hazard> hazards_;
};

}  // namespace npuflow
