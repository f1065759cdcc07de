"""Models of transformers with random weights under torch.compile: results and gradients, compared with the eager model in float64.

A test records `compile_s`, and the milliseconds of a call: `eager_ms` and `compiled_ms`.
"""

import copy
import os
import statistics
import time

import pytest
import torch
import transformers

DEVICE = os.environ.get("CLIENTS_DEVICE", "cpu")
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32
BOUND = {torch.float32: 1e-4, torch.bfloat16: 2e-2}[DTYPE]  # what a compiled model may add to the eager model's own error
BATCH, LENGTH = 2, 64 if DEVICE == "cpu" else 256
WIDTH, LAYERS, HEADS = (128, 2, 4) if DEVICE == "cpu" else (512, 4, 8)
VOCABULARY = 1000


def tokens():
    return {"input_ids": torch.randint(0, VOCABULARY, (BATCH, LENGTH), device=DEVICE)}


def llama():
    config = transformers.LlamaConfig(vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=3 * WIDTH, num_hidden_layers=LAYERS,
                                      num_attention_heads=HEADS, num_key_value_heads=HEADS // 2, use_cache=False)
    return transformers.LlamaForCausalLM(config), tokens()


def bert():
    config = transformers.BertConfig(vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=4 * WIDTH, num_hidden_layers=LAYERS,
                                     num_attention_heads=HEADS, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return transformers.BertForMaskedLM(config), tokens()


def vit():
    config = transformers.ViTConfig(hidden_size=WIDTH, intermediate_size=4 * WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, image_size=64,
                                    patch_size=8, num_labels=50)
    return transformers.ViTForImageClassification(config), {"pixel_values": torch.randn(BATCH, 3, 64, 64, device=DEVICE, dtype=DTYPE)}


def gpt2():
    config = transformers.GPT2Config(vocab_size=VOCABULARY, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, use_cache=False, resid_pdrop=0.0, embd_pdrop=0.0,
                                     attn_pdrop=0.0)
    return transformers.GPT2LMHeadModel(config), tokens()


def qwen2_moe():
    config = transformers.Qwen2MoeConfig(vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=2 * WIDTH, num_hidden_layers=LAYERS,
                                         num_attention_heads=HEADS, num_key_value_heads=HEADS // 2, num_experts=4, num_experts_per_tok=4,
                                         moe_intermediate_size=WIDTH, shared_expert_intermediate_size=WIDTH, use_cache=False)
    return transformers.Qwen2MoeForCausalLM(config), tokens()  # all experts, so that no rounding changes which ones are chosen


def t5():
    config = transformers.T5Config(vocab_size=VOCABULARY, d_model=WIDTH, d_kv=WIDTH // HEADS, d_ff=2 * WIDTH, num_layers=LAYERS, num_heads=HEADS,
                                   dropout_rate=0.0, use_cache=False)
    return transformers.T5ForConditionalGeneration(config), tokens() | {"decoder_input_ids": tokens()["input_ids"]}


def error(values, references):
    """The largest difference over the largest number of the reference, of all tensors. Gradients that are zero but for rounding count as
    parts of the largest one."""
    sizes = [reference.abs().max().item() for reference in references]
    return max((value.double() - reference).abs().max().item() / max(size, 1e-3 * max(sizes))
               for value, reference, size in zip(values, references, sizes, strict=True))


def gradients(parameters, output):
    weights = torch.linspace(-1, 1, output.numel(), device=output.device, dtype=torch.float64).reshape(output.shape)
    grads = torch.autograd.grad((output.double() * weights).sum(), parameters, allow_unused=True)
    return [grad for grad in grads if grad is not None]


def milliseconds(call):
    def once():
        start = time.perf_counter()
        call()
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        return 1e3 * (time.perf_counter() - start)

    once(), once()
    return statistics.median(once() for _ in range(15))


def precise_inputs(inputs):
    return {name: value.double() if value.is_floating_point() else value for name, value in inputs.items()}


@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize("mode", ["default", "max-autotune-no-cudagraphs"])
@pytest.mark.parametrize("make", [llama, bert, vit, gpt2, qwen2_moe, t5], ids=lambda make: make.__name__)
def test_model(make, mode, training, record_property):
    torch.manual_seed(0)
    model, inputs = make()
    model = model.to(DEVICE, DTYPE).train(training)
    reference = copy.deepcopy(model).double()
    if hasattr(reference, "set_experts_implementation"):
        reference.set_experts_implementation("eager")  # PyTorch's grouped products have no float64
    compiled = torch.compile(model, mode=mode)

    def run(module, inputs):
        with torch.set_grad_enabled(training):
            output = module(**inputs).logits
        return [output.detach()] + (gradients(list(module.parameters()), output) if training else [])

    wanted = run(reference, precise_inputs(inputs))
    start = time.perf_counter()
    result = run(compiled, inputs)
    record_property("compile_s", time.perf_counter() - start)
    own = error(run(model, inputs), wanted)
    mine = error(result, wanted)
    record_property("error", mine)
    record_property("eager_error", own)
    assert mine <= 2 * own + BOUND, f"error {mine:.2e}, eager {own:.2e}"
    assert error(run(compiled, inputs), wanted) <= 2 * own + BOUND  # the second call, too
    record_property("eager_ms", milliseconds(lambda: run(model, inputs)))
    record_property("compiled_ms", milliseconds(lambda: run(compiled, inputs)))
