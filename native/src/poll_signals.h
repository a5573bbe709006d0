#pragma once

namespace npuflow {

// Lets Ctrl-C stop what runs without the interpreter's lock.
void poll_signals();

}  // namespace npuflow
