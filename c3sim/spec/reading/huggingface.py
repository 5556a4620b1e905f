"""A Hugging Face ``config.json`` as the fields of a model.

A family (``model_type``) says which of its fields are which of ours, and what it has that its file
does not say, as configuration_*.py and modeling_*.py in src/transformers/models of
github.com/huggingface/transformers have it. A field that nothing is known of is named in
``left_out``, so that whoever reads a result sees it; one that is needed and missing is a mistake.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from c3sim.errors import InputError, InputErrors
from c3sim.spec.base import Reading
from c3sim.spec.models import Transformer
from c3sim.spec.reading.documents import Document, Place, Step
from c3sim.spec.reading.mistakes import read
from c3sim.spec.words import unknown

Fields = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """*renamed*: our field -> its own, beside those of all families; *fixed*: what every model of
    it has; *defaults*: of its fields; *made*: our fields that take more than one of its.
    """

    renamed: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    made: Callable[[_Given], dict[str, Any]] = lambda _: {}


#: Our field -> that of all families.
OF_ALL = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "head_dim": "head_dim",
    "ffn": "intermediate_size",
    "vocab": "vocab_size",
    "tied": "tie_word_embeddings",
}
#: Fields that change no time: tokens, scales, constants, how it is loaded, made or sampled.
IDLE = frozenset(
    re.findall(
        r"\w+",
        """
    _name_or_path architectures auto_map model_type transformers_version use_cache
    torch_dtype dtype bos_token_id eos_token_id pad_token_id boi_token_index eoi_token_index
    image_token_index initializer_range rms_norm_eps layer_norm_eps rope_theta rope_scaling
    rope_parameters rope_interleave rope_local_base_freq max_position_embeddings
    initial_context_length pretraining_tp cache_implementation query_pre_attn_scalar
    output_router_logits router_aux_loss_coef aux_loss_alpha seq_aux norm_topk_prob
    routed_scaling_factor topk_method ep_size swiglu_limit output_attentions
    output_hidden_states return_dict _attn_implementation attn_implementation
    is_encoder_decoder max_window_layers
        """,
    )
)
#: Fields that change something that is not counted, unless they have one of the values -> what.
NOT_COUNTED: dict[str, tuple[tuple[Any, ...], str]] = {
    "attention_dropout": ((0, 0.0), "dropout of attention scores"),
    "attn_logit_softcapping": ((None,), "the cap of attention scores"),
    "final_logit_softcapping": ((None,), "the cap of logits"),
    "num_nextn_predict_layers": ((0,), "the layer that predicts a further token"),
    "quantization_config": ((None,), "a product in fewer bits, unless precision: fp8 is said,"),
    "vision_config": ((None,), "the part that sees pictures"),
    "use_bidirectional_attention": ((False, None), "attention of both directions"),
}
#: Fields of which one value alone is modelled.
ONE_VALUE: dict[str, tuple[Any, ...]] = {
    "mlp_bias": (False,),
    "use_mla": (True,),
    "moe_layer_freq": (1,),
    "decoder_sparse_step": (1,),
    "mlp_only_layers": ((),),
    "use_sliding_window": (False, None),
}
#: Names of activation functions -> ours.
ACTIVATIONS = {"silu": "silu", "gelu": "gelu", "gelu_pytorch_tanh": "gelu"}


def is_config(data: object) -> bool:
    """True if *data* are the fields of a Hugging Face model."""
    return isinstance(data, Mapping) and ("model_type" in data or "architectures" in data)


class _Given(dict[str, Any]):
    """A config's fields, that knows which were *asked* for."""

    def __init__(self, fields: Fields) -> None:
        super().__init__(fields)
        self.asked: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        if super().get(key) is None:
            raise InputError("missing, or null; the model has no default for it", key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        found = super().get(key)
        return default if found is None else found

    def ignore(self, *keys: str) -> None:
        """Take note that *keys* say nothing further."""
        self.asked.update(keys)


def _window(given: _Given) -> dict[str, Any]:
    return {"window": given["sliding_window"]} if given.get("sliding_window") else {}


def _periodic(given: _Given) -> dict[str, Any]:
    """Windows in all layers but every so many-th, by ``layer_types`` or a pattern's length."""
    types, every = given.get("layer_types"), given.get("sliding_window_pattern")
    every = given.get("_sliding_window_pattern") or every
    if types is None:
        return _window(given) | ({"full_every": every} if every else {})
    full = [i for i, kind in enumerate(types) if kind == "full_attention"]
    if not full:
        return _window(given)
    every = full[0] + 1
    if full != list(range(full[0], len(types), every)):
        message = "these windows are no pattern that leaves out every so many-th layer"
        raise InputError(message, "layer_types")
    return {} if every == 1 else _window(given) | {"full_every": every}


def _own_bias(given: _Given) -> dict[str, Any]:
    given.ignore("sliding_window", "layer_types")  # use_sliding_window says no
    return {"biases": ("qkv", "o")} if given.get("attention_bias") else {}


def _gpt_oss(given: _Given) -> dict[str, Any]:
    given.ignore("attention_bias", "experts_per_token")  # said by others of its fields
    return _periodic(given)


def _latent(given: _Given) -> dict[str, Any]:
    plain, rotary = given["qk_nope_head_dim"], given["qk_rope_head_dim"]
    latent = {"rank": given["kv_lora_rank"], "plain": plain, "rotary": rotary}
    latent["value"] = given["v_head_dim"]
    if given.get("q_lora_rank"):
        latent["query_rank"] = given["q_lora_rank"]
    made: dict[str, Any] = {"latent": latent, "head_dim": plain + rotary}
    made["shared_ffn"] = given.get("n_shared_experts", 0) * given["moe_intermediate_size"]
    dense = given.get("first_k_dense_replace")
    if given.get("intermediate_size") and dense:
        made |= {"dense_layers": dense, "dense_ffn": given["intermediate_size"]}
    made["scoring"] = given.get("scoring_func", "softmax")
    made["expert_bias"] = given.get("topk_method") == "noaux_tc"
    groups = {"expert_groups": given.get("n_group"), "groups_per_token": given.get("topk_group")}
    made |= {} if given.get("topk_method") == "greedy" else groups
    return {name: value for name, value in made.items() if value not in (None, 0)}


def _shared(given: _Given) -> dict[str, Any]:
    given.ignore("sliding_window", "intermediate_size", "layer_types")
    return {"shared_ffn": given["shared_expert_intermediate_size"], "shared_gate": True}


def _qwen3_moe(given: _Given) -> dict[str, Any]:
    given.ignore("intermediate_size")  # of dense layers, which ONE_VALUE leaves out
    return _own_bias(given)


EXPERTS = {"experts": "num_experts", "experts_per_token": "num_experts_per_tok"}
OF_EXPERTS = EXPERTS | {"ffn": "moe_intermediate_size"}
LOCAL = EXPERTS | {"experts": "num_local_experts"}
ROUTED = OF_EXPERTS | {"experts": "n_routed_experts"}
QKV, ALL = ("qkv",), ("qkv", "o", "network", "router")
UNTIED, TIED = {"tie_word_embeddings": False}, {"tie_word_embeddings": True}
GEMMA = {"activation": "gelu"}
GEMMA_3 = {"vocab_size": 262_208, "head_dim": 256, "sliding_window_pattern": 6}
GEMMA_3 |= {"num_attention_heads": 8, "num_key_value_heads": 4}
DEEPSEEK = UNTIED | {"topk_method": "noaux_tc", "scoring_func": "sigmoid"}
#: model_type -> what is known of it. Defaults are those of its configuration_*.py.
FAMILIES: dict[str, Family] = {
    "llama": Family(defaults=UNTIED, made=_own_bias),
    "mistral": Family(defaults=UNTIED, made=_window),
    "mixtral": Family(renamed=LOCAL, defaults=UNTIED, made=_window),
    "qwen2": Family(fixed={"biases": QKV}, defaults=UNTIED, made=_own_bias),
    "qwen2_moe": Family(renamed=OF_EXPERTS, fixed={"biases": QKV}, defaults=UNTIED, made=_shared),
    "qwen3": Family(fixed={"head_norms": True}, defaults=UNTIED, made=_own_bias),
    "qwen3_moe": Family(
        renamed=OF_EXPERTS, fixed={"head_norms": True}, defaults=UNTIED, made=_qwen3_moe
    ),
    "gemma": Family(fixed=GEMMA, defaults=TIED),
    "gemma2": Family(
        fixed=GEMMA | {"norms": 4}, defaults=TIED | {"sliding_window_pattern": 2}, made=_periodic
    ),
    "gemma3_text": Family(
        fixed=GEMMA | {"norms": 4, "head_norms": True}, defaults=TIED | GEMMA_3, made=_periodic
    ),
    "gpt_oss": Family(
        renamed=LOCAL,
        fixed={"biases": ALL, "sinks": True},
        defaults=UNTIED | {"sliding_window_pattern": 2},
        made=_gpt_oss,
    ),
    "deepseek_v2": Family(
        renamed=ROUTED, defaults=UNTIED | {"topk_method": "greedy"}, made=_latent
    ),
    "deepseek_v3": Family(renamed=ROUTED, defaults=DEEPSEEK, made=_latent),
}
#: Families that are another one under their own name.
FAMILIES |= {"kimi_k2": FAMILIES["deepseek_v3"]}
DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
OURS = ("schema", "name", "description", "source")


def read_config(document: Document) -> Transformer:
    """The model that *document*, a config, describes. Raises InputErrors: what is missing, wrong,
    and not modelled, by its names.
    """
    data, where = dict(document.data), document.data
    if isinstance(inner := data.get("text_config"), Mapping):  # beside a part that sees pictures
        beside = {key: data[key] for key in ("vision_config", *OURS) if key in data}
        data, where = {"model_type": f"{data.get('model_type')}_text", **inner, **beside}, inner
    place = document.place
    kind = data.get("model_type")
    family = FAMILIES.get(kind) if isinstance(kind, str) else None
    if family is None:
        message = f"missing; must be one of {', '.join(FAMILIES)}"
        if kind is not None:
            message = unknown("model_type", str(kind), FAMILIES)
        errors = [InputError(message, "model_type")]
    else:
        given = _Given({**family.defaults, **data})
        names = {**OF_ALL, **family.renamed}
        made, errors = _made(given, family, names, _name_of(given, place.file))
    if errors:
        raise InputErrors(
            InputError(e.message, e.path, place.file, document.place_of(where, e.path, place).line)
            for e in errors
        )
    found = Document(made, place, errors=document.errors)
    lines: dict[Step, Place] = {
        name: document.place_of(where, names.get(name, name), place) for name in made
    }
    found.note(made, lines)
    try:
        return read(Transformer, found, Reading("text"))
    except InputErrors as wrong:
        raise InputErrors(_in_its_words(each, names, lines) for each in wrong.errors) from None


def _in_its_words(
    error: InputError, names: Mapping[str, str], lines: Mapping[Step, Place]
) -> InputError:
    """*error* by names of a config, and at the line of the first field that a rule of several has
    in its message.
    """
    message, path, line = error.message, names.get(error.path, error.path), error.line
    for ours, its in names.items():
        if not error.path and "_" in ours and re.search(rf"\b{ours}\b", message):
            message, line = re.sub(rf"\b{ours}\b", its, message), lines[ours].line
    return InputError(message, path, error.file, line)


def _name_of(given: _Given, file: str) -> str:
    """What it was saved as, or the name of *file* or of its folder."""
    path = Path(file)
    said = str(given.get("_name_or_path", "")).rstrip("/").rpartition("/")[2]
    return said or (path.stem if path.stem != "config" else path.parent.name) or "own model"


def _made(
    given: _Given, family: Family, names: Mapping[str, str], name: str
) -> tuple[dict[str, Any], list[InputError]]:
    """Our fields, and mistakes by its own names."""
    errors = list(_not_modelled(given))
    made: dict[str, Any] = {"schema": 1, "name": given.get("name", name)}
    made["source"] = given.get("source", "its config.json")
    made["description"] = given.get("description", "")
    try:
        heads = given["num_attention_heads"]
        given.setdefault("num_key_value_heads", heads)
        if heads and given.get("head_dim") is None:
            given["head_dim"] = given["hidden_size"] // heads
    except (InputError, TypeError):
        given["head_dim"] = given["num_key_value_heads"] = 1  # found to be wrong below
    made |= family.fixed
    try:
        made |= family.made(given)
    except InputError as error:
        errors.append(error)
    for ours, its in names.items():
        try:
            made.setdefault(ours, given[its])
        except InputError as error:
            errors.append(error)
    said = given.get("hidden_activation", given.get("hidden_act"))
    if said is not None:
        made["activation"] = ACTIVATIONS.get(said, said)
    dtype = given.get("dtype", given.get("torch_dtype", "bfloat16"))
    made["dtype"] = DTYPES.get(dtype, dtype)
    made["left_out"] = tuple(_left_out(given))
    return made, errors


def _as_written(value: object) -> str:
    """*value* as a config has it."""
    return json.dumps(value, default=str)


def _not_modelled(given: _Given) -> Iterator[InputError]:
    for name, values in ONE_VALUE.items():
        if name in given and (value := given.get(name)) not in values:
            allowed = " or ".join(map(_as_written, values))
            yield InputError(f"{_as_written(value)} is not modelled; must be {allowed}", name)


def _left_out(given: _Given) -> Iterator[str]:
    """A line for each thing of the model that is not counted."""
    for name, value in given.items():
        if name in NOT_COUNTED:
            values, what = NOT_COUNTED[name]
            if value not in values:
                yield f"{name}: {what} is not counted"
        elif name not in given.asked | IDLE | {*OURS} and value not in (None, False, ()):
            yield f"{name}: not known; what it changes is not counted"
