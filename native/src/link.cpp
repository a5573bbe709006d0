#include "link.h"

#include <string_view>
#include <unordered_map>

namespace npuflow {

namespace {

// Numbers by names, which stay where they are as long as nothing is added.
class Numbers {
 public:
  template <typename T>
  explicit Numbers(const std::vector<T>& things) {
    for (const T& thing : things) known_.try_emplace(thing.name, static_cast<Index>(known_.size()));
  }

  // The numbers here of what an engine names; of what there is none of, 0.
  template <typename T>
  std::vector<Index> of(const std::vector<T>& named, const char* kind, std::size_t engine,
                        std::vector<Missing>& missing) const {
    std::vector<Index> found;
    found.reserve(named.size());
    for (const T& thing : named) {
      const auto own = known_.find(thing.name);
      if (own == known_.end()) missing.emplace_back(engine, kind, thing.name);
      found.push_back(own == known_.end() ? 0 : own->second);
    }
    return found;
  }

 private:
  std::unordered_map<std::string_view, Index> known_;
};

}  // namespace

std::vector<Missing> link(ProgramBuilder& program, const std::vector<const ProgramBuilder*>& engines) {
  const Numbers buffers(program.program().buffers);
  const Numbers semaphores(program.program().semaphores);
  const Numbers resources(program.program().resources);
  const Numbers streams(program.program().streams);
  std::unordered_map<std::string, Index> kernels;
  for (const std::string& name : program.program().kernels)
    kernels.try_emplace(name, static_cast<Index>(kernels.size()));
  std::vector<Missing> missing;
  for (std::size_t number = 0; number < engines.size(); ++number) {
    const Program& other = engines[number]->program();
    std::vector<Index> own_kernels;
    for (const std::string& name : other.kernels) {
      const auto [known, is_new] = kernels.try_emplace(name, none);
      if (is_new) known->second = program.add_kernel(name);
      own_kernels.push_back(known->second);
    }
    program.add_engine_of(other, {buffers.of(other.buffers, "buffer", number, missing),
                                  semaphores.of(other.semaphores, "semaphore", number, missing),
                                  resources.of(other.resources, "resource", number, missing),
                                  streams.of(other.streams, "stream", number, missing), std::move(own_kernels)});
  }
  return missing;
}

}  // namespace npuflow
