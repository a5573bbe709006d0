"""Networks in: PyTorch modules, exported programs and ONNX models become `linalg` on tensors, by way of torch-mlir."""
