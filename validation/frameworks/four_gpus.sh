#!/usr/bin/env bash
# Measure what docs/predictions says of four GPUs, then compare, from the repository's root.
#
#   validation/frameworks/four_gpus.sh measure FOLDER    on four H200: PyTorch, ten minutes at most
#   validation/frameworks/four_gpus.sh compare FOLDER    anywhere: c3sim
set -euo pipefail
plans=validation/frameworks
said=docs/predictions
folder=$2
case $1 in
  measure)
    python -m validation.frameworks.turns $plans/groups-four-gpus.yaml --out "$folder/turns"
    for plan in iterations-mesh-four-gpus iterations-four-gpus; do
      python -m validation.frameworks.iterations $plans/$plan.yaml --out "$folder/$plan"
    done
    ;;
  compare)
    c3sim import "$folder"/turns/*.json.gz --node h200-4 --out "$folder/loops.jsonl"
    python tools/compare.py records $said/h200-4-groups.jsonl "$folder/loops.jsonl"
    python tools/compare.py iterations $said/h200-4-mesh.jsonl "$folder/iterations-mesh-four-gpus/iterations.jsonl"
    python tools/compare.py iterations $said/h200-4-iterations.jsonl "$folder/iterations-four-gpus/iterations.jsonl"
    ;;
  *)
    echo "$0 measure|compare FOLDER" >&2
    exit 2
    ;;
esac
