"""Agreement with hardware: published measurements, the designs behind them, errors, and fitted constants."""
