// The Python face of the native core: npuflow._native.

#include <nanobind/nanobind.h>

namespace nb = nanobind;

NB_MODULE(_native, m) {
  m.doc() = "The native core of npuflow.";
  m.def(
      "version", [] { return NPUFLOW_VERSION; }, "The version of npuflow this module was built for.");
}
