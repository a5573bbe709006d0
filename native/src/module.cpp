// The Python face of the native core: npuflow._native.

#include <nanobind/nanobind.h>

#include "bind_homes.h"
#include "bind_mapped.h"
#include "bind_order.h"
#include "bind_packing.h"
#include "bind_simulator.h"

namespace nb = nanobind;

NB_MODULE(_native, m) {
  m.doc() = "The native core of npuflow.";
  npuflow::bind_simulator(m);
  npuflow::bind_packing(m);
  npuflow::bind_order(m);
  npuflow::bind_homes(m);
  npuflow::bind_mapped(m);
  m.def("version", [] { return NPUFLOW_VERSION; }, "The version of npuflow this module was built for.");
}
