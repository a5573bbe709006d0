"""Named pipelines: lists of passes, nothing else. Importing this registers every pass of ours."""

from __future__ import annotations
