"""Two runs side by side as JSON, for programs and for the page."""

from __future__ import annotations

import json
from collections.abc import Mapping

from npuflow.report.compare_differences import NumberChange, Pairing, RunPair
from npuflow.report.compare_read import ComparedReport, ComparedRun
from npuflow.report.compare_text import growth_text, summary, value_text

FORMAT = "npuflow compare"
VERSION = 1

Json = Mapping[str, object]


def comparison_json(first: ComparedReport, second: ComparedReport, pairing: Pairing) -> str:
    """Keys are documented in docs/run.md."""
    return json.dumps(comparison_dict(first, second, pairing), indent=2) + "\n"


def comparison_dict(first: ComparedReport, second: ComparedReport, pairing: Pairing) -> Json:
    return {
        "format": FORMAT,
        "version": VERSION,
        "first": _file(first),
        "second": _file(second),
        "summary": summary(pairing),
        **_pairing(pairing),
    }


def _file(report: ComparedReport) -> Json:
    return {"file": report.file, "device": report.device, "pipeline": report.pipeline}


def _pairing(pairing: Pairing) -> Json:
    return {
        "runs": [_pair(pair) for pair in pairing.pairs],
        "only_first": [_alone(run) for run in pairing.only_first],
        "only_second": [_alone(run) for run in pairing.only_second],
    }


def _alone(run: ComparedRun) -> Json:
    return {"name": run.name, "signature": run.signature, "time_us": run.time_us}


def _pair(pair: RunPair) -> Json:
    return {
        "name": pair.second.name,
        "signature": pair.second.signature,
        "is_change": pair.is_change,
        "texts": [{"name": text.name, "first": text.first, "second": text.second} for text in pair.texts],
        "numbers": [_number(number) for number in pair.numbers],
        "parts": None if pair.parts is None else _pairing(pair.parts),
    }


def _number(number: NumberChange) -> Json:
    """In seconds, bytes, joules and shares; `texts` are what a person reads: both, and by how much they differ."""
    texts = [*(value_text(value, number.unit) for value in (number.first, number.second)), growth_text(number)]
    return {
        "section": number.section,
        "name": number.name,
        "first": number.first,
        "second": number.second,
        "unit": number.unit.value,
        "texts": texts,
    }
