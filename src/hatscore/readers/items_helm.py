"""Items of runs of HELM: prompts and completions stand in ``scenario_state.json``.

That file holds every token with its probability and may be larger than memory, so it is read
request by request.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from hatscore.errors import ReaderError
from hatscore.readers import helm
from hatscore.readers.helm_files import INSTANCES, is_right, load, text_of
from hatscore.readers.inspect_json import Document, elements, fields
from hatscore.readers.items_scored import Scored, conversation, merged, shown_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hatscore.readers.helm_files import HelmRun
    from hatscore.readers.items import ItemRecord, ItemReply, Keep

__all__ = ["collect"]

STATE = "scenario_state.json"
_FAILED = "failed requests"  # counted with what is lacking, and said in its own way
_LONGEST = 1 << 28

_Mine = dict[tuple[str, int], Scored]


def collect(
    paths: Sequence[Path],
    options: Mapping[str, Any],
    *,
    keep: Keep,
    notes: list[str],
) -> Iterator[ItemRecord]:
    """Yield the items of run directories, run after run; see `items_run` for the parameters.

    Of a run one request is in memory at a time, of pooled trials all items that are wanted.
    """
    said: dict[Path, _Mine] = {}

    def listen(run: HelmRun, row: Mapping[str, Any], entry: tuple[str, int], metric: str) -> None:
        if keep(row["benchmark"], row["item"]):
            said.setdefault(run.path, {})[entry] = Scored.of(row, metric)

    helm.read_many(paths, **options, listen=listen)
    found = _items(said, notes)
    yield from merged(found) if options.get("pool") else found


def _items(said: Mapping[Path, _Mine], notes: list[str]) -> Iterator[ItemRecord]:
    lacks: Counter[str] = Counter()
    without = []
    for path, mine in said.items():
        if (path / STATE).is_file():
            try:
                yield from _with_requests(path, mine, lacks)
            except ReaderError as err:
                # the scores come from other files: they stand without these texts
                notes.append(str(err))
            lacks[f"a request in HELM's {STATE}, and so without replies"] += len(mine)
        else:
            without.append(path.name)
        if mine:
            yield from _without_requests(path, mine)
    if without:
        more = f" and {len(without) - 1} more" if len(without) > 1 else ""
        notes.append(f"{without[0]}{more}: no {STATE}, so HELM's prompts and replies are missing")
    failed = lacks.pop(_FAILED, 0)
    if failed:
        notes.append(
            f"HELM's requests of {failed} items have failed, and its statistics count them as any "
            "other reply: they are in the scores"
        )
    notes += [f"Items without {what}: {count}" for what, count in lacks.items() if count]


def _with_requests(path: Path, mine: _Mine, lacks: Counter[str]) -> Iterator[ItemRecord]:
    for scored, state in _requests(path / STATE, mine):
        record = _record(scored, state)
        if state.get("reference_index") is not None:
            lacks["replies, as HELM scored their options one by one"] += 1
        elif not record.replies:
            lacks["a completion of HELM's request"] += 1
        elif _dict(state.get("result")).get("success") is False:
            lacks[_FAILED] += 1
        yield record


def _requests(path: Path, mine: _Mine) -> Iterator[tuple[Scored, dict[str, Any]]]:
    """Yield the wanted requests, taking each out of `mine`; of an item's several the first."""
    # what is wrong with the file is said on a page that others read: no way to it on this machine
    name = f"{path.parent.name}/{path.name}"
    with path.open("rb") as stream:
        document = Document(stream, name, limit=_LONGEST)
        for key in fields(document):
            if key != "request_states":
                document.value()
                continue
            for number, state in enumerate(elements(document), start=1):
                try:
                    instance = state["instance"]
                    entry = (str(instance["id"]), int(state["train_trial_index"]))
                    perturbed = instance.get("perturbation")
                except (KeyError, TypeError, ValueError, AttributeError) as err:
                    raise ReaderError(
                        f"{name}, request {number}: expected instance with an id and "
                        f"train_trial_index; {type(err).__name__}: {err}"
                    ) from err
                scored = None if perturbed else mine.pop(entry, None)
                if scored is not None:
                    yield scored, state


def _without_requests(path: Path, mine: _Mine) -> Iterator[ItemRecord]:
    by_instance: dict[str, list[Scored]] = {}
    for (instance, _), scored in mine.items():
        by_instance.setdefault(instance, []).append(scored)
    for instance in load(path / INSTANCES, list):
        if not instance.get("perturbation"):
            for scored in by_instance.pop(str(instance["id"]), ()):
                yield scored.record(**_asked(instance, ()))


def _record(scored: Scored, state: Mapping[str, Any]) -> ItemRecord:
    instance, request = state["instance"], _dict(state.get("request"))
    mapping = _dict(state.get("output_mapping"))
    apart = state.get("reference_index") is not None
    # asked option by option, the prompt is that of one option
    prompt = "" if apart else text_of(request.get("prompt")) or ""
    return scored.record(
        **_asked(instance, tuple(mapping)),
        prompt=prompt or ("" if apart else conversation(request.get("messages"))),
        replies=() if apart else tuple(_replies(scored, state, mapping)),
    )


def _asked(instance: Mapping[str, Any], labels: tuple[str, ...]) -> dict[str, Any]:
    listed = instance.get("references")
    references = (
        [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    )
    texts = [text_of(one.get("output")) or "" for one in references]
    right = [i for i, one in enumerate(references) if is_right(one.get("tags"))]
    return {
        "question": text_of(instance.get("input")) or "",
        **shown_options(texts, right, labels if len(labels) == len(texts) else ()),
    }


def _replies(
    scored: Scored, state: Mapping[str, Any], mapping: Mapping[str, Any]
) -> Iterator[ItemReply]:
    result = _dict(state.get("result"))
    listed = result.get("completions")
    completions = (
        [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    )
    says = f"the run's statistics give {scored.metric} {scored.k:g}"
    if result.get("success") is False:
        error = text_of(result.get("error")) or "no reason given"
        yield scored.reply(
            "", 0, of=1, why=f"the request failed ({error}), and {says}", error=error
        )
        return
    for number, one in enumerate(completions):
        text = text_of(one) or ""
        label = text.strip()
        why, read = says, {}
        if mapping and label in mapping:
            begin = len(text) - len(text.lstrip())
            read = {"answer": label, "place": (begin, begin + len(label))}
            why = f"the label of an option; {says}"
        elif mapping:
            why = f"the reply is no label of an option; {says}"
        reason = _dict(one.get("finish_reason")).get("reason")
        yield scored.reply(
            text, number, of=len(completions), why=why,
            finish=reason if isinstance(reason, str) else None, **read,
        )  # fmt: skip


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
