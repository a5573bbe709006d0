// Short vectors as lists to Python, like vectors.

#pragma once

#include <nanobind/stl/detail/nb_list.h>

#include "short_vector.h"

namespace nanobind::detail {

template <typename T, std::size_t inside>
struct type_caster<npuflow::ShortVector<T, inside>> : list_caster<npuflow::ShortVector<T, inside>, T> {};

}  // namespace nanobind::detail
