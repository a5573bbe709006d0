#include "pattern_fit.h"

#include <algorithm>

namespace npuflow::mapped {

namespace {

Size product(const Step* from, const Step* to) {
  Size found = 1;
  for (; from != to; ++from) found *= from->size;
  return found;
}

// Appends a dimension in granules, as two where it is too long; returns the descriptors that it takes where it has no
// factor to be parted by.
Size append(Pattern& pattern, const Step& step, Size most) {
  if (step.size <= most) {
    pattern.push_back(step);
    return 1;
  }
  Size inner = most;
  while (step.size % inner != 0) --inner;
  if (step.size / inner <= most) {
    pattern.push_back({step.size / inner, step.stride * inner});
    pattern.push_back({inner, step.stride});
    return 1;
  }
  pattern.push_back({most, step.stride});
  return parts_of(step.size, most);
}

Size count(const Pattern& whole, const PatternLimits& limits) {
  Size found = 1;
  Pattern near;
  for (const Step& step : whole) {
    if (step.stride > limits.stride_max) {
      found *= step.size;
    } else if (near.empty()) {
      near.push_back(step);
    } else {
      found *= append(near, step, limits.size_max);
    }
  }
  if (near.empty()) near.push_back({1, 1});
  Size iterations = limits.iteration_max;
  const Step* first = near.begin();
  const auto fits = [&] {
    return near.end() - first <= limits.dims && product(first, near.end()) <= limits.length_max;
  };
  for (; near.end() - first > 1 && !fits(); ++first) {
    found *= iterations > 0 ? parts_of(first->size, iterations) : first->size;
    iterations = 0;
  }
  return found * parts_of(product(first, near.end()), limits.length_max);
}

}  // namespace

Pattern merged(const Pattern& pattern) {
  Pattern found;
  for (const Step& step : pattern) {
    if (step.size == 1) continue;
    if (!found.empty() && found.back().stride == step.size * step.stride) {
      found.back() = {found.back().size * step.size, step.stride};
    } else {
      found.push_back(step);
    }
  }
  return found;
}

Fit fit(const Pattern& pattern, Size element_bytes, const PatternLimits& limits) {
  const Pattern outer = merged(pattern);
  const Size granule = limits.granule_bytes;
  const bool has_run = !outer.empty() && outer.back().stride == 1;
  const Size run_bytes = (has_run ? outer.back().size : 1) * element_bytes;
  bool is_sub_granule = run_bytes % granule != 0;
  Pattern granules;
  for (std::size_t at = 0; at + (has_run ? 1 : 0) < outer.size(); ++at) {
    const Size stride_bytes = outer[at].stride * element_bytes;
    is_sub_granule = is_sub_granule || stride_bytes % granule != 0;
    granules.push_back({outer[at].size, parts_of(stride_bytes, granule)});
  }
  const Size length = parts_of(run_bytes, granule);
  if (length > 1 || granules.empty()) granules.push_back({length, 1});
  return {count(granules, limits), is_sub_granule};
}

}  // namespace npuflow::mapped
