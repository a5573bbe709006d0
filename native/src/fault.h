// The one exception of the core: a program that cannot be run to its end, with the reason in words.

#pragma once

#include <stdexcept>

namespace npuflow {

class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Deadlock : public Fault {
 public:
  using Fault::Fault;
};

}  // namespace npuflow
