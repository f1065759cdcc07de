"""vLLM's kernels on a CPU: what its sampler and its model runner launch, by vLLM's own functions, compared with plain PyTorch."""

import importlib.metadata

real_version = importlib.metadata.version
importlib.metadata.version = lambda name: "0.33.0+cpu" if name == "vllm" else real_version(name)  # the wheel's name says that it is for GPUs

import types  # noqa: E402

import pytest  # noqa: E402
import torch  # noqa: E402
from vllm.v1.sample.ops import topk_topp_triton  # noqa: E402
from vllm.v1.worker.gpu import input_batch  # noqa: E402
from vllm.v1.worker.gpu.sample import gumbel, logprob, min_p, penalties  # noqa: E402

REQUESTS = 40  # slots for requests; a batch uses some of them in any order
BATCHES = pytest.mark.parametrize("batch", [1, 5, 33])
VOCABULARIES = pytest.mark.parametrize("vocabulary", [777, 8192, 32001])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def slots(batch):
    return torch.randperm(REQUESTS, dtype=torch.int32)[:batch]


def logits_of(batch, vocabulary):
    return torch.randn(batch, vocabulary) * 3


@BATCHES
@VOCABULARIES
def test_temperature(batch, vocabulary):
    logits, index, temperature = logits_of(batch, vocabulary), slots(batch), torch.rand(REQUESTS) + 0.1
    temperature[::3] = 0.0  # greedy: logits stay
    wanted = torch.where(temperature[index.long(), None] == 0, logits, logits / temperature[index.long(), None])
    gumbel.apply_temperature(logits, index, temperature)
    torch.testing.assert_close(logits, wanted)


@BATCHES
@VOCABULARIES
def test_min_p(batch, vocabulary):
    logits, index, minimum = logits_of(batch, vocabulary), slots(batch), torch.rand(REQUESTS) * 0.3
    minimum[::3] = 0.0
    threshold = logits.max(1, keepdim=True).values + minimum[index.long(), None].log()
    wanted = torch.where(logits < threshold, float("-inf"), logits)
    min_p.apply_min_p(logits, index, minimum)
    torch.testing.assert_close(logits, wanted)


@BATCHES
@VOCABULARIES
@pytest.mark.parametrize("count", [1, 5, 20])
def test_logprobs(batch, vocabulary, count):
    logits, tokens = logits_of(batch, vocabulary), torch.randint(0, vocabulary, (batch, count))
    torch.testing.assert_close(logprob.compute_token_logprobs(logits, tokens), logits.log_softmax(1).gather(1, tokens), rtol=1e-4, atol=1e-4)


@BATCHES
@VOCABULARIES
def test_greedy_tokens(batch, vocabulary):
    logits, index = logits_of(batch, vocabulary), slots(batch)
    tokens = gumbel.gumbel_sample(logits, index, torch.zeros(REQUESTS), torch.arange(REQUESTS), torch.arange(batch), True, False)
    assert tokens.view(-1).tolist() == logits.argmax(1).tolist()


@pytest.mark.parametrize("use_fp64", [False, True])
def test_sampled_tokens_follow_their_probabilities(use_fp64):
    batch, vocabulary = 4000, 9
    logits = torch.randn(vocabulary).expand(batch, vocabulary).contiguous()
    tokens = gumbel.gumbel_sample(logits, torch.zeros(batch, dtype=torch.int32), torch.ones(1), torch.tensor([7]), torch.arange(batch), True, False,
                                  use_fp64=use_fp64)
    frequencies = torch.bincount(tokens.view(-1), minlength=vocabulary) / batch
    assert (frequencies - logits[0].softmax(0)).abs().max() < 0.04  # five standard deviations


@BATCHES
@VOCABULARIES
@pytest.mark.parametrize("which", ["k", "p", "both"])
def test_top_k_top_p(batch, vocabulary, which):
    logits = logits_of(batch, vocabulary)
    k = torch.randint(1, 60, (batch,), dtype=torch.int32) if which != "p" else None
    p = torch.rand(batch) * 0.8 + 0.1 if which != "k" else None
    ordered, places = logits.sort(1)
    if k is not None:
        minimum = ordered.gather(1, (vocabulary - k.long())[:, None])
        ordered = ordered.masked_fill(ordered < minimum, float("-inf"))
    if p is not None:
        out = ordered.softmax(1).cumsum(1) <= 1 - p[:, None]
        out[:, -1] = False
        ordered = ordered.masked_fill(out, float("-inf"))
    wanted = torch.empty_like(logits).scatter_(1, places, ordered)
    result = topk_topp_triton.apply_top_k_top_p_triton(logits.clone(), k, p)
    different = (result != wanted).sum(1)
    assert (different <= (0 if which == "k" else 1)).all()  # the sum at the border of top-p is rounded in another order


@BATCHES
@VOCABULARIES
def test_penalties(batch, vocabulary):
    index = slots(batch)
    lengths = torch.randint(2, 50, (REQUESTS,), dtype=torch.int32)
    prompts = (lengths // 2).to(torch.int32)
    tokens = torch.randint(0, vocabulary, (REQUESTS, 64), dtype=torch.int32)
    mask = torch.zeros(REQUESTS, (vocabulary + 31) // 32, dtype=torch.int32)
    counts = torch.zeros(REQUESTS, vocabulary, dtype=torch.int32)
    penalties.bincount(index, tokens, prompts, lengths, mask, counts, int(lengths.max()))
    logits, repetition, frequency, presence = logits_of(batch, vocabulary), torch.rand(REQUESTS) + 0.5, torch.rand(REQUESTS), torch.rand(REQUESTS)
    wanted = logits.clone()
    for row, slot in enumerate(index.tolist()):
        prompt, output = tokens[slot, :prompts[slot]].long(), tokens[slot, prompts[slot]:lengths[slot]].long()
        numbers = torch.bincount(output, minlength=vocabulary)
        assert counts[slot].tolist() == numbers.tolist()
        seen = torch.zeros(vocabulary, dtype=torch.bool)
        seen[prompt] = True
        scale = torch.where(seen | (numbers > 0), repetition[slot], 1.0)
        wanted[row] = torch.where(wanted[row] > 0, wanted[row] / scale, wanted[row] * scale)
        wanted[row] -= frequency[slot] * numbers + presence[slot] * (numbers > 0)
    penalties.apply_penalties(logits, index, torch.zeros(batch, dtype=torch.int32), torch.zeros(batch, dtype=torch.int32), repetition, frequency, presence, mask, counts)
    torch.testing.assert_close(logits, wanted)


@BATCHES
def test_positions_and_lengths(batch):
    index, counts = slots(batch), torch.randint(1, 3000, (batch,))
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)]).to(torch.int32)
    computed = torch.randint(0, 1000, (REQUESTS,), dtype=torch.int32)
    positions, lengths = torch.full((int(counts.sum()),), -1), torch.full((REQUESTS,), -1, dtype=torch.int32)
    input_batch.prepare_pos_seq_lens(index, starts, computed, positions, lengths)
    before = computed[index.long()].long()
    assert positions.tolist() == torch.cat([first + torch.arange(count) for first, count in zip(before, counts)]).tolist()
    assert lengths.tolist() == (before + counts).tolist() + [0] * (REQUESTS - batch)


@BATCHES
def test_expanded_index(batch):
    index, counts = slots(batch), torch.randint(1, 9, (batch,))
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)]).to(torch.int32)
    expanded, positions = input_batch.expand_idx_mapping(index, int(counts.sum()), starts, 8)
    assert expanded.tolist() == index.repeat_interleave(counts).tolist()
    assert positions.tolist() == torch.cat([torch.arange(count) for count in counts]).tolist()


@pytest.mark.parametrize("name", ["_topk_topp", "_topp_split_stats", "_topp_split_step", "_topp_split_mask"])
def test_warm_up(name):
    """What vLLM compiles at its start, before it knows a tensor."""
    dispatcher = getattr(topk_topp_triton, name)
    config = types.SimpleNamespace(scheduler_config=types.SimpleNamespace(max_num_seqs=4), num_speculative_tokens=0,
                                   model_config=types.SimpleNamespace(get_vocab_size=lambda: 8192))
    keys = dispatcher.get_warmup_keys(vllm_config=config)
    assert keys or name != "_topk_topp"  # the split form is for GPUs
    for key in keys:
        dispatcher.compile(key)
