#include "mapped_group.h"

#include <algorithm>

namespace npuflow::mapped {

Size Dim::extent(const Sizes& tiles) const {
  Size span = 1;
  for (const Term& term : terms) span += term.coefficient * (tiles[term.loop] - 1);
  return span;
}

double Tensor::bytes(const Sizes& tiles) const {
  auto found = static_cast<double>(element_bytes);
  for (const Dim& dim : dims) found *= static_cast<double>(dim.extent(tiles));
  return found;
}

double Tensor::stored_bytes(const Sizes& tiles) const {
  auto found = static_cast<double>(element_bytes);
  for (const Dim& dim : dims) found *= static_cast<double>(std::min(dim.extent(tiles), dim.size));
  return found;
}

double Tensor::l1_bytes(const Sizes& tiles) const {
  if (!is_gathered) return is_padded ? stored_bytes(tiles) : bytes(tiles);
  auto found = static_cast<double>(element_bytes);
  for (std::size_t loop = 0; loop < follows.size(); ++loop) {
    if (follows[loop] != 0) found *= static_cast<double>(tiles[loop]);
  }
  return found;
}

Size Tensor::run_bytes(const Sizes& tiles) const {
  Size run = element_bytes;
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    const Size extent = std::min(dim->extent(tiles), dim->size);
    run *= extent;
    if (extent < dim->size) break;
  }
  return run;
}

namespace {

void complete_tensor(Tensor& tensor, const Group& group) {
  const std::size_t loops = group.sizes.size();
  tensor.follows.assign(loops, 0);
  tensor.cut_off.assign(loops, 0);
  tensor.strides = Sizes(loops, 0);
  Size pitch = tensor.element_bytes;
  for (auto dim = tensor.dims.rbegin(); dim != tensor.dims.rend(); ++dim) {
    dim->pitch = pitch;
    dim->whole = dim->extent(group.sizes);
    dim->is_cut_off = dim->whole > dim->size;
    pitch *= dim->size;
    for (const Term& term : dim->terms) {
      tensor.follows[term.loop] = 1;
      tensor.strides[term.loop] += term.coefficient * dim->pitch;
      if (dim->is_cut_off) tensor.cut_off[term.loop] = 1;
    }
  }
  tensor.streams = std::any_of(group.streamed.begin(), group.streamed.end(),
                               [&](std::size_t loop) { return tensor.follows[loop] != 0; });
}

}  // namespace

void Group::complete() {
  inputs.clear();
  outputs.clear();
  for (std::size_t number = 0; number < tensors.size(); ++number) {
    complete_tensor(tensors[number], *this);
    if (tensors[number].role == Role::input) inputs.push_back(number);
    if (tensors[number].role == Role::output) outputs.push_back(number);
  }
}

}  // namespace npuflow::mapped
