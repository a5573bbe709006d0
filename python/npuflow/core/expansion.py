"""Named pipelines to passes: stages listed, cut, or replaced by a transform schedule; defaults filled in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from npuflow.core.apply_schedule import ApplySchedule
from npuflow.core.options import option_specs, print_value, split_assignments
from npuflow.core.passes import Pass
from npuflow.core.pipeline_text import NamedNode, Node, PassNest, PassNode, UpstreamNode, make_node, parse_elements
from npuflow.core.registry import NamedPipeline, Stage
from npuflow.errors import UsageError, unknown_name, with_hint

Leaf = PassNode | UpstreamNode

DEVICE_KEY = "device"


@dataclass(frozen=True)
class TransformSchedule:
    """A user's transform schedule: its file ("" for the module's own) and the last stage that it replaces."""

    file: str
    resume_after: str | None = None


@dataclass(frozen=True)
class Expansion:
    """How named pipelines become passes."""

    stop_after: str | None = None
    schedule: TransformSchedule | None = None
    device: str | None = None


def expand(nest: PassNest, how: Expansion | None = None) -> PassNest:
    """Replaces named pipelines by their passes; what is expanded already stays as it is."""
    expander = _Expander(how or Expansion())
    expanded = expander.nest(nest, expander.how.device)
    expander.check()
    return expanded


def expand_stage(stage: Stage) -> tuple[Node, ...]:
    """A stage's passes and named pipelines as nodes."""
    nodes: list[Node] = []
    for element in stage.elements:
        if isinstance(element, Pass):
            nodes.append(PassNode(element, str(element)))
        else:
            nodes += parse_elements(element)
    return tuple(nodes)


def leaves_of(nest: PassNest) -> Iterator[tuple[str, Leaf]]:
    """The passes of an expanded pipeline in order, each with the anchor it runs on."""
    for element in nest.elements:
        if isinstance(element, PassNest):
            yield from leaves_of(element)
        elif not isinstance(element, NamedNode):
            yield nest.anchor, element


def numbered(nest: PassNest, first: int = 1) -> Iterator[tuple[int, Node]]:
    """The elements of an expanded pipeline, each with its first pass's position in `leaves_of`."""
    for element in nest.elements:
        yield first, element
        first += sum(1 for _ in leaves_of(element)) if isinstance(element, PassNest) else 1


def _with_device(node: Node, device: str | None) -> Node:
    """The node with its `device` option set, if it has one that wasn't given."""
    if device is None or not isinstance(node, (PassNode, NamedNode)):
        return node
    options = node.text.partition("{")[2].removesuffix("}")
    given = {key for key, _ in split_assignments(options)}
    if DEVICE_KEY in given or not _has_device(node.instance):
        return node
    return make_node(node.name, f"{options} {DEVICE_KEY}={print_value(device)}")


def _has_device(owner: object) -> bool:
    kind: type = type(owner)
    return any(spec.key == DEVICE_KEY for spec in option_specs(kind))


@dataclass
class _Expander:
    how: Expansion
    stages_seen: list[str] = field(default_factory=list)
    stopped: bool = False
    schedule_placed: bool = False
    _inside: list[str] = field(default_factory=list, init=False)

    def nest(self, nest: PassNest, device: str | None) -> PassNest:
        return replace(nest, elements=self.nodes(nest.elements, device))

    def nodes(self, elements: Iterable[Node], device: str | None) -> tuple[Node, ...]:
        """The elements expanded, up to where the pipeline stops; those that have none yet get `device`."""
        nodes: list[Node] = []
        for element in elements:
            if self.stopped:
                break
            nodes += self.element(element, device)
        return tuple(nodes)

    def element(self, element: Node, device: str | None) -> tuple[Node, ...]:
        if isinstance(element, PassNest):
            return (self.nest(element, device),)
        element = _with_device(element, device)
        if isinstance(element, NamedNode):
            return self.named(element.instance)
        return (element,)

    def named(self, pipeline: NamedPipeline) -> tuple[Node, ...]:
        """A pipeline's passes; a pipeline in one of its stages has stages of its own, where one can stop as well."""
        if pipeline.name in self._inside:
            raise UsageError(with_hint(f"pipeline {pipeline.name} is a part of itself", "leave it out of its stages"))
        self._inside.append(pipeline.name)
        nodes: list[Node] = []
        stages = pipeline.stages()
        self.stages_seen += [stage.name for stage in stages]
        device = None if _has_device(pipeline) else self.how.device  # a pipeline that has one gives it to its passes
        for stage in self.scheduled(pipeline, stages):
            nodes += self.nodes(expand_stage(stage), device)
            self.stopped = self.stopped or stage.name == self.how.stop_after
            if self.stopped:
                break
        self._inside.pop()
        return tuple(nodes)

    def scheduled(self, pipeline: NamedPipeline, stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
        """The stages with their prefix replaced by the user's schedule, where there is one."""
        schedule = self.how.schedule
        if schedule is None or self.schedule_placed or not pipeline.takes_schedule:
            return stages
        self.schedule_placed = True
        cut = _resume_index(pipeline, stages, schedule.resume_after)
        kept = tuple(stage for stage in stages[:cut] if stage.name in pipeline.kept_stages)
        return (*kept, Stage("apply-schedule", (ApplySchedule(schedule.file),)), *stages[cut:])

    def check(self) -> None:
        """Everything that was asked for must have found its place."""
        if self.how.schedule is not None and not self.schedule_placed:
            hint = f"name one, or run the pass {ApplySchedule.name} itself"
            raise UsageError(with_hint("a transform schedule replaces stages of a named pipeline, but none runs", hint))
        if self.how.stop_after is None or self.stopped:
            return
        if not self.stages_seen:
            hint = "--list-passes shows the named pipelines and their stages"
            raise UsageError(with_hint(f"no named pipeline runs that could stop after '{self.how.stop_after}'", hint))
        raise UsageError(unknown_name("stage", self.how.stop_after, self.stages_seen))


def _resume_index(pipeline: NamedPipeline, stages: tuple[Stage, ...], resume_after: str | None) -> int:
    """How many leading stages a schedule replaces."""
    names = [stage.name for stage in stages]
    if resume_after is not None:
        if resume_after not in names:
            raise UsageError(unknown_name("stage", resume_after, names))
        return names.index(resume_after) + 1
    if not pipeline.default_resume:
        hint = f"give --resume-after=STAGE, one of {', '.join(names)}"
        raise UsageError(with_hint(f"{pipeline.name} does not say where a transform schedule hands over", hint))
    return names.index(pipeline.default_resume)
