#include "bind_simulator.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>

#include "builder.h"
#include "link.h"
#include "poll_signals.h"
#include "simulator.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace npuflow {

namespace {

using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Counter = nb::ndarray<std::int64_t, nb::shape<1>, nb::c_contig, nb::device::cpu>;
using OperandParts = std::tuple<Index, bool, bool, bool>;  // access, reads, writes, apart
using KernelParts = std::pair<std::uintptr_t, bool>;       // address, takes memrefs

// What a functional run works on: an array per memory, whether it holds data from the start, a function per kernel; and
// where it says how many operations it has done, for others to see.
struct Data {
  std::vector<Bytes> memories;
  std::vector<bool> written;
  std::vector<KernelFunction> kernels;
  std::optional<Counter> done;
};

Data make_data(std::vector<Bytes> memories, std::vector<bool> written, const std::vector<KernelParts>& kernels,
               std::optional<Counter> done) {
  Data data{std::move(memories), std::move(written), {}, std::move(done)};
  for (const auto& [address, takes_memrefs] : kernels) {
    if (address == 0) throw nb::value_error("a kernel's address is 0");
    // The address of a compiled function arrives as a number, as every JIT hands it out.
    data.kernels.push_back(
        {reinterpret_cast<void (*)(void**)>(address), takes_memrefs ? KernelAbi::memrefs : KernelAbi::pointers});
  }
  return data;
}

DataPlane make_plane(const Program& program, const Data& data) {
  const bool complete = data.memories.size() == program.memories.size() &&
                        data.written.size() == program.memories.size() && data.kernels.size() == program.kernels.size();
  if (!complete)
    throw nb::value_error("a functional run needs an array for each memory and a function for each kernel");
  std::vector<std::uint8_t*> images;
  for (std::size_t m = 0; m < data.memories.size(); ++m) {
    if (static_cast<std::int64_t>(data.memories[m].size()) != program.memories[m].bytes) {
      throw nb::value_error("an array differs in size from its memory");
    }
    images.push_back(data.memories[m].data());
  }
  return DataPlane(program, std::move(images), data.written, data.kernels);
}

Results simulate(const ProgramBuilder& builder, std::int64_t most_steps, std::int64_t most_trace_events,
                 const Data* data, bool skips_repeats) {
  const Program& program = builder.program();
  if (!builder.problems().empty()) throw Fault(builder.problems().front());
  std::optional<DataPlane> plane;
  if (data != nullptr) plane.emplace(make_plane(program, *data));
  std::int64_t* done = data != nullptr && data->done ? data->done->data() : nullptr;
  const RunOptions options{most_steps, most_trace_events, poll_signals, done, skips_repeats};
  const nb::gil_scoped_release released;
  return Simulator(program, options, plane ? &*plane : nullptr).run();
}

// The trace as rows of (engine, op, begin, end).
nb::ndarray<nb::numpy, std::int64_t> trace_rows(const Results& results) {
  auto rows = std::make_unique<std::vector<std::int64_t>>();
  rows->reserve(4 * results.trace.size());
  for (const TraceEvent& event : results.trace)
    rows->insert(rows->end(), {event.engine, event.op, event.begin, event.end});
  const std::size_t shape[2] = {results.trace.size(), 4};
  std::int64_t* first = rows->data();
  const nb::capsule owner(rows.release(), [](void* p) noexcept {
    const std::unique_ptr<std::vector<std::int64_t>> gone(static_cast<std::vector<std::int64_t>*>(p));
  });
  return {first, 2, shape, owner};
}

// Results go from a child process to its parent, which is the same program: bytes as they are in memory will do.
template <typename T>
nb::bytes packed(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  return nb::bytes(static_cast<const void*>(values.data()), values.size() * sizeof(T));
}

template <typename T>
std::vector<T> unpacked(const nb::bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.c_str(), bytes.size());
  return values;
}

using ResultsState = std::tuple<Cycles, std::int64_t, bool, std::vector<nb::bytes>>;

ResultsState state_of(const Results& r) {
  return {r.cycles,
          r.operations,
          r.trace_is_cut,
          {packed(r.engines), packed(r.resource_bytes), packed(r.stream_bytes), packed(r.buffers),
           packed(r.semaphore_waits), packed(r.semaphore_values), packed(r.trace), packed(r.hazards)}};
}

Results results_of(const ResultsState& state) {
  const auto& [cycles, operations, is_cut, parts] = state;
  return {cycles,
          operations,
          unpacked<EngineTime>(parts.at(0)),
          unpacked<double>(parts.at(1)),
          unpacked<std::int64_t>(parts.at(2)),
          unpacked<Traffic>(parts.at(3)),
          unpacked<Cycles>(parts.at(4)),
          unpacked<std::int64_t>(parts.at(5)),
          unpacked<TraceEvent>(parts.at(6)),
          is_cut,
          unpacked<Hazard>(parts.at(7))};
}

std::int64_t watching_bytes(const ProgramBuilder& builder) {
  if (!builder.problems().empty()) throw Fault(builder.problems().front());
  return Shadow::bytes_of(builder.program());
}

std::vector<Missing> link_engines(ProgramBuilder& program, const std::vector<const ProgramBuilder*>& engines) {
  for (const ProgramBuilder* engine : engines) {
    if (engine == nullptr || engine == &program) throw nb::value_error("an engine is linked from a program of its own");
  }
  return link(program, engines);
}

void bind_program(nb::module_& m) {
  nb::class_<ProgramBuilder>(m, "ProgramBuilder", "A program for the simulator, built piece by piece.")
      .def(nb::init<>())
      .def("add_memory", &ProgramBuilder::add_memory, "name"_a, "size"_a, "is_near"_a = false)
      .def("add_buffer", &ProgramBuilder::add_buffer)
      .def("add_semaphore",
           [](ProgramBuilder& self, std::string name, std::int64_t initial, std::int64_t maximum, std::uint8_t cause) {
             if (cause >= spent_kinds) throw nb::value_error("a semaphore's cause is out of range");
             return self.add_semaphore(std::move(name), initial, maximum, static_cast<Spent>(cause));
           })
      .def("add_resource", &ProgramBuilder::add_resource)
      .def("add_kernel", &ProgramBuilder::add_kernel)
      .def("add_stream", &ProgramBuilder::add_stream)
      .def("add_access", &ProgramBuilder::add_access)
      .def("add_engine", &ProgramBuilder::add_engine)
      .def("begin_loop", &ProgramBuilder::begin_loop)
      .def("end_loop", &ProgramBuilder::end_loop)
      .def("acquire", &ProgramBuilder::add_acquire)
      .def("release", &ProgramBuilder::add_release)
      .def("send", &ProgramBuilder::add_send)
      .def("receive", &ProgramBuilder::add_receive)
      .def("compute",
           [](ProgramBuilder& self, std::string name, Index kernel, Cycles cycles,
              const std::vector<OperandParts>& parts) {
             std::vector<Operand> operands;
             for (const auto& [access, reads, writes, apart] : parts)
               operands.push_back({access, reads, writes, apart});
             self.add_compute(std::move(name), kernel, cycles, operands);
           })
      .def("control", &ProgramBuilder::add_control)
      .def("link", &link_engines, "Adds engines; returns what they name that isn't there.")
      .def_prop_ro("kernels", [](const ProgramBuilder& self) { return self.program().kernels; })
      .def("watching_bytes", &watching_bytes, "What a functional run takes beside its memories.")
      .def("problems", &ProgramBuilder::problems)
      .def("copied", [](const ProgramBuilder& self) { return self; })
      .def("set_memory", &ProgramBuilder::set_memory)
      .def("set_buffer", &ProgramBuilder::set_buffer)
      .def("set_semaphore", &ProgramBuilder::set_semaphore)
      .def("set_resource", &ProgramBuilder::set_resource)
      .def("set_stream", &ProgramBuilder::set_stream)
      .def("set_engine", &ProgramBuilder::set_engine)
      .def("set_cycles", &ProgramBuilder::set_cycles)
      .def("set_run_overhead", &ProgramBuilder::set_run_overhead);
}

void bind_results(nb::module_& m) {
  nb::class_<EngineTime>(m, "RawEngineTime")
      .def_ro("spent", &EngineTime::spent)
      .def_ro("finished", &EngineTime::finished);
  nb::class_<Traffic>(m, "RawTraffic")
      .def_ro("read_bytes", &Traffic::read_bytes)
      .def_ro("written_bytes", &Traffic::written_bytes);
  nb::class_<Hazard>(m, "RawHazard")
      .def_prop_ro("kind", [](const Hazard& self) { return static_cast<int>(self.kind); })
      .def_ro("op", &Hazard::op)
      .def_prop_ro("other", [](const Hazard& self) { return self.other == none ? std::int64_t{-1} : self.other; })
      .def_ro("memory", &Hazard::memory)
      .def_ro("low_byte", &Hazard::low_byte)
      .def_ro("high_byte", &Hazard::high_byte)
      .def_ro("cycle", &Hazard::cycle);
  nb::class_<Results>(m, "RawResults")
      .def_ro("cycles", &Results::cycles)
      .def_ro("operations", &Results::operations)
      .def_ro("engines", &Results::engines)
      .def_ro("resource_bytes", &Results::resource_bytes)
      .def_ro("stream_bytes", &Results::stream_bytes)
      .def_ro("buffers", &Results::buffers)
      .def_ro("semaphore_waits", &Results::semaphore_waits)
      .def_ro("semaphore_values", &Results::semaphore_values)
      .def_ro("trace_is_cut", &Results::trace_is_cut)
      .def_ro("hazards", &Results::hazards)
      .def("trace", &trace_rows)
      .def("__getstate__", &state_of)
      .def("__setstate__", [](Results* self, const ResultsState& state) { new (self) Results(results_of(state)); });
}

}  // namespace

void bind_simulator(nb::module_& m) {
  const nb::exception<Fault> fault(m, "Fault");
  const nb::exception<Deadlock> deadlock(m, "Deadlock", fault.ptr());
  bind_program(m);
  bind_results(m);
  nb::class_<Data>(m, "Data", "The memories and kernels of a functional run.")
      .def(
          "__init__",
          [](Data* self, std::vector<Bytes> memories, std::vector<bool> written,
             const std::vector<KernelParts>& kernels, std::optional<Counter> done) {
            new (self) Data(make_data(std::move(memories), std::move(written), kernels, std::move(done)));
          },
          "memories"_a, "written"_a, "kernels"_a, "done"_a.none() = nb::none());
  m.def("simulate", &simulate, "program"_a, "most_steps"_a, "most_trace_events"_a, "data"_a.none(),
        "skips_repeats"_a = true, "Runs a program to its end; with data, its transfers and kernels really happen.");
}

}  // namespace npuflow
