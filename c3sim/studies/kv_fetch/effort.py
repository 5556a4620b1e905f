"""What serving all requests of a case takes of this computer, before any is served.

A step of the scheduler takes STEP_S, and TOKEN_S for each request in it; SIMULATED_S is what the
simulations of a layer and of fetches take for a case. Measured on the packaged study and one core.
"""

from __future__ import annotations

from c3sim.evaluation.effort import Effort
from c3sim.inference.kv import METHODS
from c3sim.specs.serving import Serving

STEP_S, TOKEN_S, SIMULATED_S = 20e-6, 0.25e-6, 0.1
REQUEST_BYTES = 500.0
STEP = 0.01  # s that a step of a server takes, about: how many requests arrive meanwhile


def effort_of_serving(serving: Serving) -> Effort:
    """Of one case, by all methods. Requests that all wait at the start go together, as many as are
    admitted; those that arrive by and by, as many as arrive while one is served.
    """
    together = float(min(serving.requests, serving.max_sequences))
    if serving.arrivals_per_second is not None:
        meanwhile = serving.arrivals_per_second * serving.output_tokens * STEP
        together = min(together, max(1.0, meanwhile))
    tokens = float(serving.requests * serving.output_tokens)
    prompts = serving.requests * (1 + serving.prompt_tokens / serving.batch_tokens)
    served = (tokens / together + prompts) * STEP_S + tokens * TOKEN_S
    return Effort(len(METHODS) * served + SIMULATED_S, serving.requests * REQUEST_BYTES)
