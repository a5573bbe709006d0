"""Agreement with hardware: published measurements, the designs behind them, predictions, errors, and fitted constants."""
