"""The whole way from Python: `npuflow.compile(source, device="npu2").run()`.

compiled = npuflow.compile(Path("matmul.mlir"), "npuflow-stream-k{grid=2,2}", device="npu2")
report = compiled.run()                         # times it, verifies it, says what limits it
print(report.text())                            # or report.functions[0].time_us; report.save("report.html")
outputs = compiled["matmul"].execute(a, b)      # numpy arrays through the simulated array

A schedule, by hand or from npuflow-opt, is taken as it is; for a function to be compiled, its schedule is made first.
A function that doesn't fit the array as a whole becomes a sequence of functions that do.
"""
