"""How functions are compiled where nobody says how; imports nothing, so that help texts may say it."""

DEFAULT_PIPELINE = "npuflow-stream-k{bundle-matmuls=true}"
