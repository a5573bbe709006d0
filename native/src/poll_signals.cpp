#include "poll_signals.h"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace npuflow {

void poll_signals() {
  const nb::gil_scoped_acquire acquired;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace npuflow
